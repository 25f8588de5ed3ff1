//! What pane-exec writes into a turn's directory, as types: the claim at the start, the record at the end.
//!
//! These are the words between two versions of one binary: a field may be added with a default, none may
//! change its meaning. No file is opened here.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::process::{ProcessId, boot_id};

/// Who claimed the turn: the one pane-exec that may run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The pane-exec process.
    #[serde(flatten)]
    pub process: ProcessId,
    /// The boot in which the pid and its start time mean something.
    #[serde(default)]
    pub boot: Option<String>,
    /// When it claimed the turn, in milliseconds since 1970.
    pub at: u64,
}

impl Started {
    /// Returns a claim by this process, now.
    pub fn by(process: ProcessId) -> Self {
        Self { process, boot: boot_id(), at: now() }
    }

    /// Tells whether the pane-exec that claimed the turn still runs.
    pub fn is_alive(&self) -> bool {
        self.is_this_boot() && self.process.is_alive()
    }

    /// Tells whether the claim was made since this machine was last booted.
    pub fn is_this_boot(&self) -> bool {
        self.boot.is_none() || self.boot == boot_id()
    }
}

/// How a turn's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It exited by itself with this code.
    Code(i32),
    /// A signal that pane-exec did not send ended it.
    Signal(i32),
    /// Its timeout passed and its tree was killed.
    TimedOut,
    /// pane-exec was told to end it (TERM or HUP) and killed its tree.
    Killed,
    /// It could not be started, for this reason.
    NotStarted(String),
}

/// The last file of a turn: how its process ended and what became of its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// How it ended.
    pub ended: Ended,
    /// When the process was started, in milliseconds since 1970.
    pub started_at: u64,
    /// When it was seen to have ended, in milliseconds since 1970.
    pub ended_at: u64,
    /// What it wrote to stdout.
    pub stdout: Kept,
    /// What it wrote to stderr.
    pub stderr: Kept,
    /// Processes of its tree that even KILL did not end within the limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<ProcessId>,
}

impl ExitRecord {
    /// Returns the record of a turn of which nothing was run.
    pub fn without_a_run(ended: Ended) -> Self {
        let at = now();
        let (stdout, stderr) = (Kept::default(), Kept::default());
        Self { ended, started_at: at, ended_at: at, stdout, stderr, left: Vec::new() }
    }
}

/// How much of one output stream is in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Bytes in the file.
    pub bytes: u64,
    /// Bytes that were read and thrown away: over the limit, or not writable.
    #[serde(default)]
    pub dropped: u64,
    /// Why the file could not be written, when that is the reason (a full disk, say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The last bytes of the stream, when they are not in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

/// Returns the present moment, in milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
