//! What a look comes to: one finding a fact, how bad it is, and what to do about it. Nothing is looked at here, and no
//! finding holds the value of a variable or a key.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// What was looked at. The words are part of what scripts read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// fleetd.toml.
    Config,
    /// The state directory.
    State,
    /// The file in it.
    Store,
    /// The room that is left for it.
    Disk,
    /// Whether one runs, where, and how it does.
    Daemon,
    /// Who is the leader.
    Seat,
    /// The policy, and what its profiles start.
    Charter,
    /// A model address of fleetd.toml.
    Endpoint,
    /// An agent program.
    Agent,
    /// The program and the repository.
    Git,
    /// The other pane host.
    Herdr,
    /// What would take the leader off its subscription.
    Leader,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// It may go wrong.
    Warning,
    /// Something does not work.
    Problem,
}

/// One finding. All its fields are always there in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// How bad it is.
    pub level: Level,
    /// Which one of several: an endpoint, an agent, a profile, a variable.
    pub subject: Option<String>,
    /// What was found, in one sentence that says where.
    pub what: String,
    /// What to do about it, in one line.
    pub fix: Option<String>,
    /// The file that it stands in.
    pub file: Option<PathBuf>,
    /// The line in it, from 1.
    pub line: Option<usize>,
}

// === impl Finding ===

impl Finding {
    /// Returns a finding of a level.
    pub fn new(check: Check, level: Level, what: impl Into<String>) -> Finding {
        Finding { check, level, subject: None, what: what.into(), fix: None, file: None, line: None }
    }

    /// Returns the finding that all is well.
    pub fn ok(check: Check, what: impl Into<String>) -> Finding {
        Finding::new(check, Level::Ok, what)
    }

    /// Returns something worth knowing.
    pub fn note(check: Check, what: impl Into<String>) -> Finding {
        Finding::new(check, Level::Note, what)
    }

    /// Returns something that may go wrong.
    pub fn warning(check: Check, what: impl Into<String>) -> Finding {
        Finding::new(check, Level::Warning, what)
    }

    /// Returns something that does not work.
    pub fn problem(check: Check, what: impl Into<String>) -> Finding {
        Finding::new(check, Level::Problem, what)
    }

    /// Adds which one of several it is about.
    pub fn about(self, subject: impl Into<String>) -> Finding {
        Finding { subject: Some(subject.into()), ..self }
    }

    /// Adds what to do about it.
    pub fn fix(self, fix: impl Into<String>) -> Finding {
        Finding { fix: Some(fix.into()), ..self }
    }

    /// Adds where it stands.
    pub fn at(self, file: &Path, line: Option<usize>) -> Finding {
        Finding { file: Some(file.to_path_buf()), line, ..self }
    }

    /// Returns what to tell of a look that came to no end.
    pub fn late(check: Check, what: &str) -> Finding {
        Finding::warning(check, format!("{what} did not answer in time, so nothing is known of it"))
            .fix("look again when the machine is less busy; a disk or a name server may be away")
    }
}

// === impl Check ===

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Config => "config",
            Check::State => "state",
            Check::Store => "store",
            Check::Disk => "disk",
            Check::Daemon => "daemon",
            Check::Seat => "seat",
            Check::Charter => "charter",
            Check::Endpoint => "endpoint",
            Check::Agent => "agent",
            Check::Git => "git",
            Check::Herdr => "herdr",
            Check::Leader => "leader",
        })
    }
}

// === impl Level ===

impl Level {
    /// Returns its word.
    pub const fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Problem => "problem",
        }
    }
}
