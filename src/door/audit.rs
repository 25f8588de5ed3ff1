//! The audit: one line of JSON for each decision of a door. Who wanted what of whom, and whether it was let in.
//!
//! Here is the handle that doors have; `scribe` writes the file, `line` is what stands in it, `subject` what a request
//! tells about itself. Nobody waits for the file, and no text of a message, no header and no secret ever comes in.

mod begun;
mod line;
mod rotation;
mod scribe;
mod subject;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

pub use self::begun::Begun;
pub use self::line::{Decision, Outcome, Who};
pub use self::rotation::Rotation;
pub use self::scribe::Scribe;
pub use self::subject::{About, Noted, Subject};

/// Lines that may wait for the disk; further ones are lost, and counted.
const WAITING: usize = 4_096;

/// A door's way to the audit. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Audit {
    /// None where nobody keeps an audit.
    lines: Option<SyncSender<Order>>,
    losses: Arc<Losses>,
    ending: Arc<Ending>,
}

/// What the scribe is told.
#[derive(Debug)]
enum Order {
    Write(Box<Decision>),
    End,
}

/// Whether the scribe shall end, for one that rests.
#[derive(Debug, Default)]
struct Ending {
    now: Mutex<bool>,
    bell: Condvar,
}

/// What could not be written, shared by the doors and the scribe.
#[derive(Debug, Default)]
struct Losses {
    troubled: AtomicBool,
    total: AtomicU64,
    now: Mutex<Option<Trouble>>,
}

/// Why nothing is written at the moment, and how much was lost by it so far.
#[derive(Clone, Debug)]
struct Trouble {
    why: String,
    lost: u64,
}

impl Audit {
    /// Returns the audit that keeps nothing.
    pub fn none() -> Audit {
        Audit { lines: None, losses: Arc::default(), ending: Arc::default() }
    }

    /// Returns the audit in a file, and the scribe who writes it on a thread of its own until `end` was called.
    /// What is wrong with the file is told by `trouble` and by nothing else.
    pub fn to(file: PathBuf, rotation: Rotation) -> (Audit, Scribe) {
        let (lines, orders) = sync_channel(WAITING);
        let audit = Audit { lines: Some(lines), ..Audit::none() };
        let scribe = Scribe::new(file, rotation, orders, &audit);
        (audit, scribe)
    }

    /// Keeps a decision. Never waits: what finds no place is lost and counted.
    pub fn decided(&self, decision: Decision) {
        let Some(lines) = &self.lines else { return };
        match lines.try_send(Order::Write(Box::new(decision))) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.losses.lose(|| "the disk is too slow for it".into()),
            Err(TrySendError::Disconnected(_)) => self.losses.lose(|| "its writer has ended".into()),
        }
    }

    /// Returns why the audit is not whole at the moment, and how many lines that cost.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.losses.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        trouble.map(|Trouble { why, lost }| format!("audit: {why}; lines lost since: {lost}"))
    }

    /// Returns how many lines were lost since the start.
    pub fn lost(&self) -> u64 {
        self.losses.total.load(Ordering::Relaxed)
    }

    /// Tells the scribe to end once everything is written that was decided before.
    pub fn end(&self) {
        self.ending.tell();
        if let Some(lines) = &self.lines {
            // A scribe that is gone has ended.
            let _ = lines.send(Order::End);
        }
    }
}

impl Ending {
    fn tell(&self) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }

    /// Returns after so long, or at once when there is an end to come to.
    fn rest(&self, time: Duration) {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it was time or the bell makes no difference to who rests.
        drop(self.bell.wait_timeout_while(now, time, |now| !*now));
    }
}

impl Losses {
    fn is_troubled(&self) -> bool {
        self.troubled.load(Ordering::Acquire)
    }

    fn lose(&self, why: impl FnOnce() -> String) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *now {
            Some(trouble) => trouble.lost += 1,
            none => *none = Some(Trouble { why: why(), lost: 1 }),
        }
        self.troubled.store(true, Ordering::Release);
    }

    /// Returns the trouble there is, and forgets it: a line could be written again.
    fn end(&self) -> Option<Trouble> {
        if !self.is_troubled() {
            return None;
        }
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        self.troubled.store(false, Ordering::Release);
        now.take()
    }
}
