//! The directory of one `exec` turn, `<state>/turns/<turn>/`: all that the daemon and pane-exec say to each other.
//!
//! `prompt` is written by the daemon before anything runs; `started`, `stdout`, `stderr` and, last, `exit` by
//! pane-exec. A file is there whole or not at all, and `started` can be made only once. Nothing is decided here.

pub(super) mod durable;
mod record;
mod text;

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::process::ProcessId;

pub use record::{Ended, ExitRecord, Kept, Started, now};
pub(super) use text::tail_text;
pub use text::{TEXT_LIMIT, Text};

/// How much of the end of stderr is shown.
pub const STDERR_TAIL: usize = 4 * 1024;

/// The directory of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnDir {
    path: PathBuf,
}

/// Whether a claim was the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The caller is the only one who may run the turn.
    Won,
    /// Somebody claimed it before.
    Lost,
}

/// A file of a turn that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {did} {}: {source}", path.display())]
pub struct TurnDirError {
    /// What was tried.
    pub did: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

impl TurnDir {
    /// How the name of a directory begins whose removal was not finished.
    pub const REMOVED: &str = ".removed-";

    /// Names the directory; nothing is made.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns where the directory is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory, readable by its owner only. One that is there is kept with what it holds.
    ///
    /// # Errors
    ///
    /// Fails when the state directory cannot be written.
    pub fn create(&self) -> Result<(), TurnDirError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        // Durable before anything runs: a claim in a directory that a power cut takes away protects nothing.
        let made = made.and_then(|()| self.path.parent().map_or(Ok(()), durable::sync));
        made.map_err(|source| self.failed("make the directory", "", source))
    }

    /// Writes the exact bytes that the process gets on stdin. They need not survive a power cut: the store has them.
    ///
    /// # Errors
    ///
    /// Fails when the directory cannot be written, or the disk is full.
    pub fn write_prompt(&self, prompt: &[u8]) -> Result<(), TurnDirError> {
        durable::replace_softly(&self.path, "prompt", prompt).map_err(|source| self.failed("write", "prompt", source))
    }

    /// Returns where the prompt is.
    pub fn prompt(&self) -> PathBuf {
        self.path.join("prompt")
    }

    /// Returns the FIFO from which a session's program reads its lines.
    pub fn input(&self) -> PathBuf {
        self.path.join("in")
    }

    /// Returns where stdout is kept.
    pub fn stdout(&self) -> PathBuf {
        self.path.join("stdout")
    }

    /// Returns where stderr is kept.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr")
    }

    /// Returns where pane-exec writes why it could not do its work.
    pub fn trouble(&self) -> PathBuf {
        self.path.join("trouble")
    }

    /// Claims the turn. Of all who ever try, on this or any later day, exactly one wins.
    ///
    /// # Errors
    ///
    /// Fails when the claim could not be made durable; then nobody has the right to run the turn yet, or the claim stands and its owner never ran it.
    pub fn claim(&self, started: &Started) -> Result<Claim, TurnDirError> {
        let bytes = serde_json::to_vec(started).expect("a claim is plain data");
        match durable::create_once(&self.path, "started", &bytes) {
            Ok(()) => Ok(Claim::Won),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Claim::Lost),
            Err(source) => Err(self.failed("claim the turn by", "started", source)),
        }
    }

    /// Returns who claimed the turn, if somebody did.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be read or understood.
    pub fn started(&self) -> Result<Option<Started>, TurnDirError> {
        self.read("started")
    }

    /// Writes which process pane-exec has started; everything else below it is not the program itself.
    ///
    /// # Errors
    ///
    /// Fails when the directory cannot be written.
    pub fn write_program(&self, program: ProcessId) -> Result<(), TurnDirError> {
        let bytes = serde_json::to_vec(&program).expect("an identity is plain data");
        durable::replace_softly(&self.path, "program", &bytes).map_err(|source| self.failed("write", "program", source))
    }

    /// Returns the process that pane-exec has started, once it did.
    ///
    /// # Errors
    ///
    /// Fails when the file is there and cannot be read.
    pub fn program(&self) -> Result<Option<ProcessId>, TurnDirError> {
        self.read("program")
    }

    /// Writes the record that ends the turn. Everything before it is on disk when this is.
    ///
    /// # Errors
    ///
    /// Fails when the directory cannot be written, or the disk is full.
    pub fn write_exit(&self, record: &ExitRecord) -> Result<(), TurnDirError> {
        let bytes = serde_json::to_vec(record).expect("a record is plain data");
        durable::replace(&self.path, "exit", &bytes).map_err(|source| self.failed("write", "exit", source))
    }

    /// Returns how the turn ended, if it did.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be read or understood.
    pub fn exit(&self) -> Result<Option<ExitRecord>, TurnDirError> {
        self.read("exit")
    }

    /// Returns stdout as text of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Fails when the file is there and cannot be read.
    pub fn text(&self, limit: usize) -> Result<Text, TurnDirError> {
        match File::open(self.stdout()) {
            Ok(file) => Text::of(file, limit).map_err(|source| self.failed("read", "stdout", source)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Text::default()),
            Err(source) => Err(self.failed("open", "stdout", source)),
        }
    }

    /// Returns the end of stderr. A record that kept the end of a stream too long for its file goes first.
    pub fn stderr_tail(&self) -> String {
        let kept = self.exit().ok().flatten().and_then(|record| record.stderr.tail);
        kept.unwrap_or_else(|| text::tail_of(&self.stderr(), STDERR_TAIL).unwrap_or_default())
    }

    /// Removes the directory with all it holds. One that is gone is no error.
    ///
    /// # Errors
    ///
    /// Fails when a file cannot be removed.
    pub fn remove(&self) -> Result<(), TurnDirError> {
        // Moved away first: nobody may ever see a claim without its record because the record was removed before it.
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let aside = self.path.with_file_name(format!("{}{name}", Self::REMOVED));
        let removed = match fs::rename(&self.path, &aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            moved => moved.and_then(|()| fs::remove_dir_all(&aside)),
        };
        removed.map_err(|source| self.failed("remove", "", source))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, TurnDirError> {
        match fs::read(self.path.join(name)) {
            Ok(bytes) => {
                let read = serde_json::from_slice(&bytes);
                read.map(Some).map_err(|error| self.failed("understand", name, io::Error::from(error)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed("read", name, source)),
        }
    }

    fn failed(&self, did: &'static str, name: &str, source: io::Error) -> TurnDirError {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        TurnDirError { did, path, source }
    }
}
