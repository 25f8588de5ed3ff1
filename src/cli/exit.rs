//! How a command ends: the exit codes, in one place, and everything that can go wrong on the way to one.
//! How a failure looks on the terminal is `look::failure`'s matter.

use std::io;
use std::path::PathBuf;

use crate::config::ConfigError;
use crate::fleet::refusal::{Refusal, RefusalKind};

/// The exit codes of every command, as `fleetd --help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it was asked for.
    Ok,
    /// The thing itself failed: a turn without a reply, a run that is not done, a charter that does not pass.
    Failed,
    /// The command line is wrong.
    Usage,
    /// It is open: a question waits for an answer, or the wait is over.
    Pending,
    /// fleetd refused the request.
    Refused,
    /// No fleetd could be reached.
    NoDaemon,
    /// Ended by Ctrl-C.
    Interrupted,
}

impl Exit {
    /// Returns the number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Pending => 3,
            Exit::Refused => 4,
            Exit::NoDaemon => 5,
            Exit::Interrupted => 130,
        }
    }
}

/// Returns how a command ended once its result was shown. A reader that went away changes nothing about that.
pub fn shown(shown: Result<(), Failure>, exit: Exit) -> Result<Exit, Failure> {
    match shown {
        Ok(()) | Err(Failure::Closed) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

/// What the help of `fleetd` says about exit codes.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    it failed: a turn without a reply, a run that is not wholly done,
       a charter that does not pass
  2    the command line is wrong
  3    still open: a question waits for an answer, or the wait is over
  4    fleetd refused; the reason and what would be right are on stderr
  5    no fleetd could be reached
  130  ended by Ctrl-C; what fleetd accepted goes on";

/// Why a command did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// fleetd said no.
    #[error("{refusal}")]
    Refused {
        /// What it said.
        refusal: Refusal,
        /// Exactly as it said it, for `--json`.
        json: String,
    },
    /// The words of the command do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A setting is wrong.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// No daemon writes its address there.
    #[error("no fleetd is running for state {}", .0.display())]
    NotRunning(PathBuf),
    /// No pane server runs there.
    #[error("no pane server runs for state {}: no worker has a pane there", .0.display())]
    NoPanes(PathBuf),
    /// Nobody answers at the address.
    #[error("no fleetd answers at {url}: {why}")]
    Unreachable {
        /// The address.
        url: String,
        /// What happened instead.
        why: String,
    },
    /// Somebody answers who is not fleetd, or not this version of it.
    #[error("what answers at {url} is not this version of fleetd: {why}")]
    Stranger {
        /// The address.
        url: String,
        /// What it said instead.
        why: String,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted {
        /// What goes on all the same, and how to see it.
        goes_on: Option<String>,
    },
    /// The reader of our output went away; nobody is left to tell.
    #[error("the output was closed")]
    Closed,
    /// A file or stream of this machine.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, with what.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else, with what would help.
    #[error("{message}")]
    Other {
        /// What was tried and why it failed.
        message: String,
        /// What would help.
        hints: Vec<String>,
    },
}

impl Failure {
    /// Returns a failure of a file or stream.
    pub fn io(what: impl Into<String>, source: io::Error) -> Failure {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Io { what: what.into(), source },
        }
    }

    /// Adds what would help to a refusal of this kind that says nothing about that.
    pub fn or_hint(mut self, kind: RefusalKind, hint: &str) -> Failure {
        if let Failure::Refused { refusal, .. } = &mut self
            && refusal.kind == kind
            && refusal.hints.is_empty()
        {
            refusal.hints.push(hint.to_string());
        }
        self
    }

    /// Returns the exit code that belongs to it.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Refused { .. } => Exit::Refused,
            Failure::Usage(_) | Failure::Config(ConfigError { file: None, .. }) => Exit::Usage,
            Failure::NotRunning(_) | Failure::NoPanes(_) | Failure::Unreachable { .. } | Failure::Stranger { .. } => {
                Exit::NoDaemon
            }
            Failure::Interrupted { .. } => Exit::Interrupted,
            Failure::Closed => Exit::Ok,
            Failure::Config(_) | Failure::Io { .. } | Failure::Other { .. } => Exit::Failed,
        }
    }

    /// Returns what would help, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Failure::Refused { refusal, .. } => refusal.hints.clone(),
            Failure::NotRunning(_) => {
                vec!["start one: fleetd serve".into(), "another state directory: --state DIR, or --url URL".into()]
            }
            Failure::NoPanes(_) => vec![
                "a worker with a session gets a pane when it is started: fleetd spawn".into(),
                "panes of another host, such as herdr, are shown by that host".into(),
                "another state directory: --state DIR".into(),
            ],
            Failure::Config(error) => error.hint.iter().cloned().collect(),
            Failure::Unreachable { .. } => vec!["start one: fleetd serve".into()],
            Failure::Other { hints, .. } => hints.clone(),
            Failure::Usage(_)
            | Failure::Interrupted { .. }
            | Failure::Stranger { .. }
            | Failure::Closed
            | Failure::Io { .. } => Vec::new(),
        }
    }
}
