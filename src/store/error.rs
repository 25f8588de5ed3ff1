//! Why the store could not be opened, each reason with what a person can do about it; and how an answer of SQLite
//! becomes a `JournalError`. Nothing here opens, moves or deletes a file.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::engine::ports::JournalError;

/// Why the state of a fleet could not be opened. Nothing was changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The directory cannot be made, read or written.
    #[error("state directory {} cannot be written: {why}", dir.display())]
    NotWritable {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The directory belongs to somebody else.
    #[error("state directory {} belongs to uid {owner}, and this is uid {me}", dir.display())]
    OtherOwner {
        /// The directory.
        dir: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        me: u32,
    },
    /// Others may enter the directory, and it holds things that are not a fleet's.
    #[error("state directory {} holds other files and is open to other users (mode {mode:04o})", dir.display())]
    OpenToOthers {
        /// The directory.
        dir: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another daemon has it.
    #[error("state directory {} is in use by the daemon with {}", dir.display(), holder_of(*.pid, listen.as_deref()))]
    Held {
        /// The directory.
        dir: PathBuf,
        /// The pid of the holder, if it has written it already.
        pid: Option<i32>,
        /// Where the holder listens, if it has said so already.
        listen: Option<String>,
    },
    /// A later fleetd wrote the file.
    #[error("{} was written by a newer fleetd: its schema is version {found}, this one knows up to {known}", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// The version that the file names.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is no store of a fleet.
    #[error("{} is not a fleetd store: {why}", file.display())]
    NotOurs {
        /// The file.
        file: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// The file is damaged.
    #[error("{} is damaged: {found}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What the integrity check found first.
        found: String,
    },
    /// There is no room to open it.
    #[error("the disk is full: {} could not be opened", file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("{} cannot be opened: {why}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system or SQLite said.
        why: String,
    },
}

impl StoreError {
    /// Returns what a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            StoreError::NotWritable { .. } => {
                "name a directory that this user can write with --state DIR, or set XDG_STATE_HOME".into()
            }
            StoreError::OtherOwner { .. } => {
                "start fleetd as that user, or name another directory with --state DIR".into()
            }
            StoreError::OpenToOthers { dir, .. } => {
                format!("name a directory of its own with --state DIR, or close this one: chmod 700 {}", dir.display())
            }
            StoreError::Held { pid: Some(pid), .. } => {
                format!("use that daemon, stop it (kill {pid}), or name another directory with --state DIR")
            }
            StoreError::Held { pid: None, .. } => "use that daemon, or name another directory with --state DIR".into(),
            StoreError::Newer { .. } => {
                "start the newer fleetd, or name another directory with --state DIR; the file was not touched".into()
            }
            StoreError::NotOurs { file, .. } | StoreError::Damaged { file, .. } => {
                let file = file.display();
                format!(
                    "to begin anew and keep it for a rescue, move it aside with its companions: \
                     for f in {file} {file}-wal {file}-shm; do [ -e \"$f\" ] && mv \"$f\" \"$f.aside\"; done"
                )
            }
            StoreError::Full { .. } => "make room on that disk, or name another directory with --state DIR".into(),
            StoreError::Unreadable { file, .. } => {
                format!("look at its owner and mode: ls -l {}", file.display())
            }
        }
    }

    /// Returns the reason for a failed access to the directory itself.
    pub(super) fn of_dir(dir: &Path, error: &io::Error) -> StoreError {
        if is_full(error) {
            return StoreError::Full { file: dir.into() };
        }
        StoreError::NotWritable { dir: dir.into(), why: plain(error) }
    }

    /// Returns the reason for a failed access to the file.
    pub(super) fn of_file(file: &Path, error: &io::Error) -> StoreError {
        if is_full(error) {
            return StoreError::Full { file: file.into() };
        }
        StoreError::Unreadable { file: file.into(), why: plain(error) }
    }

    /// Returns the reason for an answer of SQLite while opening.
    pub(super) fn of_sqlite(file: &Path, error: &rusqlite::Error) -> StoreError {
        let file = file.to_path_buf();
        match error.sqlite_error_code() {
            _ if means_full(&file, error) => StoreError::Full { file },
            Some(ErrorCode::NotADatabase) => StoreError::NotOurs { file, why: error.to_string() },
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { file, found: error.to_string() },
            _ => StoreError::Unreadable { file, why: error.to_string() },
        }
    }
}

/// Returns the journal's word for an answer of SQLite.
pub(super) fn journal_error(file: &Path, tried: &str, error: &rusqlite::Error) -> JournalError {
    if means_full(file, error) {
        return JournalError::Full(format!("{} could not {tried}", file.display()));
    }
    JournalError::Failed(format!("the store {} could not {tried}: {error}", file.display()))
}

/// Tells whether SQLite found no room. Some of its I/O errors (a quota, the shared index) do not say so themselves,
/// so the disk is asked.
fn means_full(file: &Path, error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => has_no_room(file),
        _ => false,
    }
}

fn has_no_room(file: &Path) -> bool {
    const LEAST: u64 = 64 * 1024;
    let dir = file.parent().unwrap_or(file);
    rustix::fs::statvfs(dir).is_ok_and(|fs| fs.f_bavail.saturating_mul(fs.f_frsize) < LEAST)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns the system's words without the number that only programmers read.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    text.to_lowercase()
}

fn holder_of(pid: Option<i32>, listen: Option<&str>) -> String {
    match (pid, listen) {
        (Some(pid), Some(listen)) => format!("pid {pid}, which listens on {listen}"),
        (Some(pid), None) => format!("pid {pid}"),
        (None, _) => "an unknown pid".into(),
    }
}
