//! The demo's own daemon: a child process with its own state and a free port, and the end of everything below it.
//!
//! Whatever happens, nothing of it outlives the demo: orphans come to the demo as their subreaper, and are ended.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::scratch::{MARK, Scratch};
use crate::cli::client::Client;
use crate::cli::exit::Failure;
use crate::cli::find::Place;
use crate::cli::interrupt;
use crate::fleet::time::Span;
use crate::process::descendants;

/// How long the daemon may take to open its doors; a slow machine needs one of these seconds.
const READY: Duration = Duration::from_secs(30);
/// How long it may take to close them when all is done.
const CLOSED: Duration = Duration::from_secs(3);
/// How long its workers have between TERM and KILL; pane-exec ends its tree in 0.4 s.
const GRACE: Duration = Duration::from_millis(600);
const TICK: Duration = Duration::from_millis(10);

/// A running daemon of the demo's own.
#[derive(Debug)]
pub struct Private<'a> {
    child: Child,
    scratch: &'a Scratch,
}

impl Private<'_> {
    /// Starts it in the directory of its charter.
    pub fn start(scratch: &Scratch) -> Result<Private<'_>, Failure> {
        adopt_orphans();
        let program = std::env::current_exe().map_err(|error| Failure::io("cannot find the fleetd program", error))?;
        let log = File::create(scratch.log());
        let log = log.map_err(|error| Failure::io(format!("cannot write {}", scratch.log().display()), error))?;
        let errors = log.try_clone().map_err(|error| Failure::io("cannot share the daemon's log", error))?;
        let child = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .arg("--config")
            .arg(scratch.config())
            .arg("--charter")
            .arg(scratch.charter())
            .arg("--state")
            .arg(scratch.state())
            .current_dir(scratch.charter())
            .env(MARK, scratch.mark())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // Ctrl-C on the terminal is for the demo alone; it ends the daemon in its own order.
            .process_group(0)
            .spawn()
            .map_err(|error| Failure::io(format!("cannot start {}", program.display()), error))?;
        Ok(Private { child, scratch })
    }

    /// Waits until it answers.
    pub fn client(&mut self) -> Result<Client, Failure> {
        let end = Instant::now() + READY;
        loop {
            if interrupt::pressed() {
                return Err(Failure::Interrupted { goes_on: None });
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.failed(&format!("ended at its start, {}", how(status))));
            }
            if let Ok(place) = Place::find(None, Some(&self.scratch.state())) {
                let client = Client::new(place);
                if client.get("/healthz", Span(0)).is_ok() {
                    return Ok(client);
                }
            }
            if Instant::now() > end {
                return Err(self.failed(&format!("did not open its doors within {} s", READY.as_secs())));
            }
            rest();
        }
    }

    /// Ends it as one ends a daemon, when all its work is done.
    pub fn close(mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        let end = Instant::now() + CLOSED;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            rest();
        }
        // The rest is done by `drop`.
    }

    /// Returns a failure that shows what the daemon said last.
    pub fn failed(&self, what: &str) -> Failure {
        let log = fs::read(self.scratch.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(8)..].iter().map(|line| format!("it said: {line}"));
        Failure::Other { message: format!("the demo's own fleetd {what}"), hints: last.collect() }
    }
}

impl Drop for Private<'_> {
    fn drop(&mut self) {
        // First the daemon, so that it starts nothing new; its state is thrown away with the rest.
        drop(self.child.kill());
        drop(self.child.wait());
        let me = std::process::id();
        signal(me, Signal::TERM);
        let grace = Instant::now() + GRACE;
        while !descendants(me).is_empty() && Instant::now() < grace {
            rest();
        }
        let end = Instant::now() + CLOSED;
        while !descendants(me).is_empty() && Instant::now() < end {
            signal(me, Signal::KILL);
            rest();
        }
    }
}

fn signal(root: u32, signal: Signal) {
    for process in descendants(root) {
        // One that has gone in between needs no signal.
        drop(process.signal(signal));
    }
}

fn how(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"))
}

#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // Without it what the daemon left would be found no more; the demo works all the same.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

#[allow(
    clippy::disallowed_methods,
    reason = "another process is waited for that is no child or tells nothing when it is ready"
)]
fn rest() {
    std::thread::sleep(TICK);
}
