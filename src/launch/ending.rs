//! Ending a pane-exec with its tree from outside, be it that of a turn or of a session.
//!
//! Asked nicely first, since only pane-exec sees its whole tree and writes the record. What it can no longer do is
//! done here. What that ends is unknown here.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::ended::gone;
use super::env::root_mark;
use crate::process::{ProcessId, descendants, marked_with};

/// How long pane-exec has after TERM: it needs less than 0.4 s for its tree, and the record goes to the disk.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the dead may take to be gone.
const GIVE_UP: Duration = Duration::from_secs(5);

/// Ends a pane-exec and all below it.
pub(super) async fn end(root: ProcessId) {
    if let Err(error) = root.signal(Signal::TERM) {
        tracing::warn!(pid = root.pid, %error, "a pane-exec cannot be told to end");
    }
    if tokio::time::timeout(PATIENCE, gone(root)).await.is_err() {
        tracing::warn!(pid = root.pid, "a pane-exec did not end by itself and is killed");
        drop(tokio::task::spawn_blocking(move || kill(root)).await);
    }
}

/// Kills a pane-exec and whatever comes from it, also what has left its tree. Returns those whom even KILL did not end.
pub(super) fn kill(root: ProcessId) -> Vec<ProcessId> {
    kill_for(root, GIVE_UP)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the dead of another process tell nobody; the thread is one for blocking"
)]
fn kill_for(root: ProcessId, patience: Duration) -> Vec<ProcessId> {
    // Looked for before anybody is killed: an orphan is found by its mark alone, and one may have changed that.
    let mut known: HashSet<ProcessId> = HashSet::from([root]);
    if root.is_alive() {
        known.extend(descendants(root.pid));
    }
    let end = Instant::now() + patience;
    loop {
        known.extend(marked_with(&root_mark(root)));
        let below: Vec<ProcessId> =
            known.iter().filter(|process| process.is_alive()).flat_map(|process| descendants(process.pid)).collect();
        known.extend(below);
        let alive: Vec<ProcessId> = known.iter().copied().filter(|process| process.is_alive()).collect();
        if alive.is_empty() {
            return alive;
        }
        if Instant::now() >= end {
            tracing::error!(pid = root.pid, "processes of a killed pane-exec are still there");
            return alive;
        }
        for process in alive {
            drop(process.signal(Signal::KILL));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn whoever_is_still_there_is_named() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep is there");
        let root = ProcessId::of(child.id()).expect("it lives");
        assert_eq!(kill_for(root, Duration::ZERO), [root]);
        assert_eq!(kill_for(root, Duration::from_secs(60)), []);
        child.wait().expect("it is our child");
    }
}
