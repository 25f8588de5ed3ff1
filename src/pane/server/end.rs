//! Ending all that runs in a pane: HUP as a terminal gives it when it is closed, then KILL for whoever ignores that.
//!
//! Looking through `/proc` and waiting take time, so each ending has a thread of its own, which the loop joins when it
//! rings. Whose pane it is and who asked for its end is not known here.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::wake::Button;
use crate::process::{ProcessId, descendants, session_of};

/// How long whoever is told to hang up has for it. A parent that ends its tree first needs 0.4 s.
const GRACE: Duration = Duration::from_secs(1);
/// How long the killed may take to be gone.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How long to rest between two looks.
const ROUND: Duration = Duration::from_millis(10);

/// An ending that is under way.
pub struct Ending {
    thread: JoinHandle<()>,
    done: Arc<AtomicBool>,
}

/// Ends everything in the session of this process and below it; rings when it is done.
pub fn begin(root: ProcessId, button: Button) -> io::Result<Ending> {
    let done = Arc::new(AtomicBool::new(false));
    let when_done = done.clone();
    let thread = Builder::new().name("end".into()).stack_size(256 * 1024).spawn(move || {
        end(root);
        // In this order: whoever is woken must find that it is done.
        when_done.store(true, Ordering::SeqCst);
        button.ring();
    })?;
    Ok(Ending { thread, done })
}

impl Ending {
    /// Tells whether it is done.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst) || self.thread.is_finished()
    }

    /// Waits for the last instructions of its thread.
    pub fn join(self) {
        // It holds nothing that could be lost with it.
        let _ = self.thread.join();
    }
}

fn end(root: ProcessId) {
    // Those that leave the tree when their parent dies are still known by then.
    let mut known = HashSet::new();
    look(root, &mut known);
    for signal in [Signal::HUP, Signal::CONT] {
        known.iter().for_each(|process| drop(process.signal(signal)));
    }
    wait(root, &mut known, Instant::now() + GRACE, None);
    wait(root, &mut known, Instant::now() + GIVE_UP, Some(Signal::KILL));
    for left in known {
        tracing::warn!(pid = left.pid, "it could not be ended");
    }
}

/// Waits until nobody is left, and signals those who are, round after round: one that forks has children that no
/// earlier look saw.
#[expect(clippy::disallowed_methods, reason = "the end of a process that is not our child is told to nobody")]
fn wait(root: ProcessId, known: &mut HashSet<ProcessId>, until: Instant, signal: Option<Signal>) {
    loop {
        look(root, known);
        known.retain(|process| process.is_alive());
        if known.is_empty() || Instant::now() >= until {
            return;
        }
        if let Some(signal) = signal {
            known.iter().for_each(|process| drop(process.signal(signal)));
        }
        std::thread::sleep(ROUND);
    }
}

fn look(root: ProcessId, known: &mut HashSet<ProcessId>) {
    known.extend(session_of(root.pid));
    // A dead root has no children, and its pid may soon be another's.
    if root.is_alive() {
        known.insert(root);
        known.extend(descendants(root.pid));
    }
}
