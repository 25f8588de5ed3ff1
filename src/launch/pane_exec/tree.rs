//! The tree under pane-exec: reaped, ended, and shown to be empty.
//!
//! As the subreaper, pane-exec becomes the parent of every orphan below it, whatever sessions and forks lie between.
//! So "I have no child" is the proof that no descendant is left. What the ending means is not known here.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use super::wake::Wake;
use crate::process::{ProcessId, descendants};

/// How long a tree has after TERM. The whole ending must take less than 0.4 s.
const GRACE: Duration = Duration::from_millis(200);
/// How long the dead may take to be gone after KILL, before they are reported as left.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How long to rest between two rounds of KILL, when no child ends in between.
const ROUND: Duration = Duration::from_millis(5);

/// The main process and all that comes from it.
pub(super) struct Tree {
    main: u32,
    status: Option<WaitStatus>,
    is_empty: bool,
    has_stopped: bool,
}

impl Tree {
    /// Returns the tree of a child that was just spawned.
    pub(super) fn of(main: u32) -> Self {
        Self { main, status: None, is_empty: false, has_stopped: false }
    }

    /// Buries whoever is dead, and returns how the main process ended, if it did.
    pub(super) fn reap(&mut self) -> Option<WaitStatus> {
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) if status.stopped() => self.has_stopped |= self.is_main(pid),
                Ok(Some((pid, status))) if self.is_main(pid) => self.status = Some(status),
                Ok(Some(_)) => {}
                Ok(None) => return self.status,
                Err(error) => {
                    self.is_empty = error == rustix::io::Errno::CHILD;
                    return self.status;
                }
            }
        }
    }

    /// Tells whether the main process was seen to have stopped since this was last asked.
    pub(super) fn take_stopped(&mut self) -> bool {
        std::mem::take(&mut self.has_stopped)
    }

    /// Ends all that is left: TERM, a short grace, KILL until nobody is there. Returns those whom even KILL did not end.
    pub(super) fn clear(&mut self, wake: &Wake) -> Vec<ProcessId> {
        self.reap();
        if self.is_empty {
            return Vec::new();
        }
        signal_all(Signal::TERM);
        let grace = Instant::now() + GRACE;
        while self.is_waiting_until(grace) {
            wake.wait(Some(grace.saturating_duration_since(Instant::now())));
        }
        let end = Instant::now() + GIVE_UP;
        while self.is_waiting_until(end) {
            // Each round looks anew, for one that is forking may have a child that the last look did not see.
            signal_all(Signal::KILL);
            wake.wait(Some(ROUND));
        }
        if self.is_empty { Vec::new() } else { descendants(std::process::id()) }
    }

    /// Ends all without grace and without looking for the end, where no record can be kept.
    #[expect(clippy::disallowed_methods, reason = "the bell is not at hand here, and a round is only a pause")]
    pub(super) fn kill_at_once(mut self) {
        let end = Instant::now() + GIVE_UP;
        while self.is_waiting_until(end) {
            signal_all(Signal::KILL);
            std::thread::sleep(ROUND);
        }
    }

    fn is_waiting_until(&mut self, end: Instant) -> bool {
        self.reap();
        !self.is_empty && Instant::now() < end
    }

    fn is_main(&self, pid: Pid) -> bool {
        u32::try_from(pid.as_raw_nonzero().get()) == Ok(self.main)
    }
}

/// One that may not be signalled is seen to be left at the end.
fn signal_all(signal: Signal) {
    for process in descendants(std::process::id()) {
        drop(process.signal(signal));
    }
}
