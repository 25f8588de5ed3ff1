//! A session's program on the terminal of its pane: it gets a group of its own in the foreground, so that keys, signals
//! and the window's size reach it as if a shell had started it.
//!
//! There is no shell that could wake a program which stopped, so it is woken here. Nothing is read or written.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::tcsetpgrp;

use super::tree::Tree;
use super::wake::Wake;
use super::{Args, ended_by, spawn_with};
use crate::launch::turn_dir::{Ended, ExitRecord, Kept, now};
use crate::process::ProcessId;

/// How long a program that stops again and again stays so at least.
const REST: Duration = Duration::from_millis(50);

/// Runs the program to its end, and ends what it leaves behind.
pub(super) fn run(args: &Args, me: ProcessId, wake: &Wake) -> Result<ExitRecord, String> {
    let started_at = now();
    let child = spawn_with(args, me, |command| command)?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("the program has no usable pid")?;
    let mut tree = Tree::of(child.id());
    // It may have touched the terminal before this, and was stopped for it: it is woken below and tries again.
    if let Err(error) = tcsetpgrp(io::stdin(), group) {
        tree.kill_at_once();
        return Err(format!("the program cannot be brought to the foreground of its terminal: {error}"));
    }
    let ended = until_end(&mut tree, group, args.timeout, wake);
    let left = tree.clear(wake);
    let (stdout, stderr) = (Kept::default(), Kept::default());
    Ok(ExitRecord { ended, started_at, ended_at: now(), stdout, stderr, left })
}

fn until_end(tree: &mut Tree, group: Pid, timeout: Option<Duration>, wake: &Wake) -> Ended {
    let began = Instant::now();
    let (mut is_stopped, mut woken) = (false, None);
    loop {
        if let Some(status) = tree.reap() {
            return ended_by(status);
        }
        if wake.told_to_end() {
            return Ended::Killed;
        }
        let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        if left == Some(Duration::ZERO) {
            return Ended::TimedOut;
        }
        is_stopped |= tree.take_stopped();
        if is_stopped && woken.is_none_or(|woken: Instant| woken.elapsed() >= REST) {
            // Whoever is gone in this moment is seen by the next look.
            let _ = kill_process_group(group, Signal::CONT);
            (is_stopped, woken) = (false, Some(Instant::now()));
        }
        let rest = is_stopped.then_some(REST);
        wake.wait(left.into_iter().chain(rest).min());
    }
}
