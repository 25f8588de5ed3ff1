//! The directory of one session, `<state>/sessions/<worker>-<number>/`: the claim and the exit record of its pane-exec,
//! as a turn's directory has them, what is known of the session besides, and a note of each turn whose text may have
//! been typed.
//!
//! The note is made before the first key and can be made only once: that is what keeps a text from being typed twice.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::ports::Source;
use crate::fleet::ids::TurnId;
use crate::launch::guard::Found;
use crate::launch::turn_dir::{Claim, Ended, ExitRecord, Started, TurnDir, TurnDirError};
use crate::process::ProcessId;

/// The file with what is known of a session.
const FACTS: &str = "facts.json";

/// The directory of one session.
#[derive(Clone, Debug)]
pub(in crate::launch) struct SessionDir {
    dir: TurnDir,
}

/// What was settled when the session was started, and what its program has told since. It outlives the daemon.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(in crate::launch) struct Facts {
    /// The directory in which it works.
    pub cwd: PathBuf,
    /// The UUID of the session.
    #[serde(default)]
    pub id: String,
    /// Where the doors were when it was started: its hooks and tools look for them there.
    #[serde(default)]
    pub url: String,
    /// By what its hooks are known besides their process.
    #[serde(default)]
    pub token: String,
    /// Where its program listens on loopback, if it is called over HTTP.
    #[serde(default)]
    pub port: Option<u16>,
    /// By what it knows who calls.
    #[serde(default)]
    pub password: String,
    /// Where the program of somebody else is that it is attached to.
    #[serde(default)]
    pub server: Option<String>,
    /// What it calls its conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// What stood at the guarded places at the start.
    #[serde(default)]
    pub found: Found,
    /// Whether its program has listed the fleet's tools.
    #[serde(default)]
    pub listed: bool,
    /// Where its program writes down what it does.
    #[serde(default)]
    pub transcript: Option<PathBuf>,
    /// How far its output was read to the end of a turn.
    #[serde(default)]
    pub read: u64,
    /// How much of the beginning of its output was taken off the disk.
    #[serde(default)]
    pub punched: u64,
    /// What the session had cost at that place.
    #[serde(default)]
    pub cost: f64,
}

/// How a session stands.
#[derive(Clone, Debug)]
pub(in crate::launch) enum Standing {
    /// Nobody has started it.
    Unclaimed,
    /// Its pane-exec runs.
    Running(ProcessId),
    /// Its pane-exec is gone, with its record if it left one.
    Ended(Started, Option<Box<ExitRecord>>),
}

impl SessionDir {
    pub(in crate::launch) fn new(path: PathBuf) -> Self {
        Self { dir: TurnDir::new(path) }
    }

    pub(in crate::launch) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Works on the directory where blocking is allowed: what is made durable may take the disk's time.
    pub(in crate::launch) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let dir = self.clone();
        match tokio::task::spawn_blocking(move || work(&dir)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime goes down with the daemon.
                Err(_) => std::future::pending().await,
            },
        }
    }

    pub(in crate::launch) fn create(&self) -> Result<(), TurnDirError> {
        self.dir.create()
    }

    /// Returns its private folder.
    pub(in crate::launch) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Returns whether a process is the session's own program, and nothing that it has started.
    pub(in crate::launch) fn is_program(&self, source: Source) -> bool {
        match self.dir.program() {
            Ok(Some(program)) => source.process == Some(program.into()),
            // Of a session of an older version only the place in the tree is known.
            Ok(None) => !source.via_child,
            Err(_) => false,
        }
    }

    /// Returns what is known of it; of a session of an older version nothing.
    pub(in crate::launch) fn facts(&self) -> Option<Facts> {
        serde_json::from_slice(&fs::read(self.path().join(FACTS)).ok()?).ok()
    }

    /// Writes down what is known of it.
    pub(in crate::launch) fn write_facts(&self, facts: &Facts) -> io::Result<()> {
        let (new, path) = (self.path().join("facts.new"), self.path().join(FACTS));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(facts)?)?;
        fs::rename(new, path)
    }

    /// Tells how the session stands.
    pub(in crate::launch) fn standing(&self) -> Result<Standing, TurnDirError> {
        // The record is read after it was seen that nobody runs: it is written before pane-exec ends.
        match self.dir.started()? {
            None => Ok(Standing::Unclaimed),
            Some(started) if started.process != ProcessId::NOBODY && started.is_alive() => {
                Ok(Standing::Running(started.process))
            }
            Some(started) => Ok(Standing::Ended(started, self.dir.exit()?.map(Box::new))),
        }
    }

    /// Claims the session for nobody, so that no pane-exec that is still on its way can start it. Returns false if one
    /// was faster.
    pub(in crate::launch) fn seal(&self) -> Result<bool, TurnDirError> {
        self.dir.create()?;
        match self.dir.claim(&Started::by(ProcessId::NOBODY))? {
            Claim::Won => self.dir.write_exit(&ExitRecord::without_a_run(Ended::Killed)).map(|()| true),
            Claim::Lost => Ok(self.dir.started()?.is_some_and(|started| started.process == ProcessId::NOBODY)),
        }
    }

    /// Notes that the text of a turn is about to be typed. Returns false if that was noted before.
    pub(in crate::launch) fn note_typed(&self, turn: TurnId) -> io::Result<bool> {
        self.note_given(turn, &[])
    }

    /// As [`SessionDir::note_typed`], with something to remember.
    pub(in crate::launch) fn note_given(&self, turn: TurnId, what: &[u8]) -> io::Result<bool> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.note(turn)) {
            Ok(mut note) => {
                note.write_all(what).and_then(|()| note.sync_all()).and_then(|()| self.sync()).map(|()| true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Tells whether the text of a turn may have been typed.
    pub(in crate::launch) fn is_typed(&self, turn: TurnId) -> io::Result<bool> {
        self.note(turn).try_exists()
    }

    /// Returns what was noted of a turn besides.
    pub(in crate::launch) fn noted(&self, turn: TurnId) -> io::Result<Vec<u8>> {
        fs::read(self.note(turn))
    }

    /// Returns the FIFO from which a program that reads lines has them.
    pub(in crate::launch) fn input(&self) -> PathBuf {
        self.dir.input()
    }

    /// Returns where such a program writes its lines.
    pub(in crate::launch) fn output(&self) -> PathBuf {
        self.dir.stdout()
    }

    /// Returns where its pane-exec says why it could not do its work.
    pub(in crate::launch) fn trouble(&self) -> PathBuf {
        self.dir.trouble()
    }

    /// Returns the end of what such a program said on stderr.
    pub(in crate::launch) fn stderr_tail(&self) -> String {
        self.dir.stderr_tail()
    }

    /// Takes the note back, when it is shown that nothing was typed, or when the turn is over and stored.
    pub(in crate::launch) fn forget(&self, turn: TurnId) -> io::Result<()> {
        match fs::remove_file(self.note(turn)) {
            Ok(()) => self.sync(),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes the directory with all it holds.
    pub(in crate::launch) fn remove(&self) -> Result<(), TurnDirError> {
        self.dir.remove()
    }

    fn note(&self, turn: TurnId) -> PathBuf {
        self.path().join(format!("{turn}.typed"))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.path())?.sync_all()
    }
}

/// Says how a session's program ended, for people.
pub(in crate::launch) fn said(record: Option<&ExitRecord>) -> String {
    match record.map(|record| &record.ended) {
        Some(Ended::Code(code)) => format!("its program ended with exit code {code}"),
        Some(Ended::Signal(signal)) => format!("its program was ended by signal {signal}"),
        Some(Ended::TimedOut) => "its time was over".into(),
        Some(Ended::Killed) => "it was told to end".into(),
        Some(Ended::NotStarted(why)) => why.clone(),
        None => "its pane-exec was killed".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_noted_once_and_a_session_sealed_for_good() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let dir = SessionDir::new(place.path().join("w-1-5"));
        dir.create().expect("it is made");
        let turn = TurnId(3);
        assert!(!dir.is_typed(turn).expect("it can be looked at"));
        assert!(dir.note_typed(turn).expect("it is written"));
        assert!(!dir.note_typed(turn).expect("it is there"), "somebody may have typed it");
        assert!(dir.is_typed(turn).expect("it can be looked at"));
        dir.forget(turn).expect("it is removed");
        dir.forget(turn).expect("twice is fine");
        assert!(dir.note_typed(turn).expect("it is written"));
        assert!(matches!(dir.standing(), Ok(Standing::Unclaimed)));
        assert!(dir.seal().expect("it is sealed"));
        assert!(dir.seal().expect("it stays so"));
        assert!(matches!(dir.standing(), Ok(Standing::Ended(_, Some(_)))));
    }
}
