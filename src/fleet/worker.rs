//! A worker: a spawned session with a name, a profile and a role.
//! Only the row and its words; the rules that move it from state to state stand in the files beside this one.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commands::COMMAND;
use super::ids::{RoleName, RunId, TurnId, WorkerName};
use super::late::Late;
use super::life::{Life, Renewal};
use super::team::Profile;
use super::time::Time;

/// What a worker is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// Was started, has not called in yet.
    Starting,
    /// Idle, can take a turn.
    Ready,
    /// Has a turn.
    Busy,
    /// Its turn was ended from outside; it takes no text before it was seen idle.
    Clearing,
    /// Takes no new turn and goes when the present one ends.
    Draining,
    /// A dialog is open.
    Blocked(String),
    /// Its usage limit is reached.
    Parked(Time),
    /// Its session lives, as far as is known, but nothing can be typed to it now, and why.
    Unreachable(String),
    /// It did not come up or broke.
    Failed(String),
    /// It is gone; such a row is only recorded, never kept.
    Gone,
}

impl WorkerState {
    /// Returns the word for this state.
    pub fn word(&self) -> &'static str {
        match self {
            WorkerState::Starting => "starting",
            WorkerState::Ready => "ready",
            WorkerState::Busy => "busy",
            WorkerState::Clearing => "clearing",
            WorkerState::Draining => "draining",
            WorkerState::Blocked(_) => "blocked",
            WorkerState::Parked(_) => "parked",
            WorkerState::Unreachable(_) => "unreachable",
            WorkerState::Failed(_) => "failed",
            WorkerState::Gone => "gone",
        }
    }
}

/// One process, told apart from a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its pid.
    pub pid: i32,
    /// When it started, in the kernel's clock ticks since boot.
    pub start: u64,
}

/// A spawned session with a name, a profile and a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// Its name.
    pub name: WorkerName,
    /// Its role.
    pub role: RoleName,
    /// How it was started; kept with the worker, so that it stays deliverable when the charter is broken.
    pub profile: Arc<Profile>,
    /// The charter generation that it was started under.
    pub generation: u64,
    /// What it is doing.
    pub state: WorkerState,
    /// Since when.
    pub since: Time,
    /// The turn it has, also while clearing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Started by its role and not by a caller; goes by itself when idle.
    pub elastic: bool,
    /// The pane-exec above its processes, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Turns that it ended.
    pub turns: u32,
    /// The number of its session, which no other worker ever had; 0 for one that lives only inside its turns.
    #[serde(default)]
    pub session: u64,
    /// The number of the first session under this name, which a fresh one in its place keeps; without sessions the moment
    /// at which it began.
    #[serde(default)]
    pub born: u64,
    /// Who gets its reply should it still come, to the turn that it has and that ended without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Box<Late>>,
    /// What is kept of the turn that it has, where that was ended over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Box<Cut>>,
    /// What is kept of its present session.
    #[serde(default)]
    pub life: Life,
}

/// What is kept of a turn that was ended over its worker, until that is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// How often it had been handed out.
    pub hand: usize,
    /// The runs that pay for what it took, if it was a run's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pay: Vec<RunId>,
}

impl Worker {
    /// Returns whether it is a command of a run and lives for that alone.
    pub fn is_command(&self) -> bool {
        self.role.as_str() == COMMAND
    }

    /// Returns whether it takes up one of its role's `max_busy` places.
    pub fn is_occupied(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns whether it is up and has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.state == WorkerState::Ready && self.turn.is_none()
    }

    /// Returns whether it can take a turn now.
    pub fn is_free(&self) -> bool {
        self.is_idle() && !self.life.is_ending()
    }

    /// Returns it as one that takes no new turn and goes when the present one ends.
    pub fn draining(&self, now: Time) -> Worker {
        let mut worker = Worker { state: WorkerState::Draining, since: now, ..self.clone() };
        if let WorkerState::Blocked(why) | WorkerState::Unreachable(why) = &self.state {
            worker.life.barred = Some(why.clone());
        }
        worker
    }

    /// Returns whether its worktree waits for the session that takes the place of this one.
    pub fn hands_tree_on(&self) -> bool {
        self.profile.worktree.is_some() && matches!(self.life.renewal, Some(Renewal::Ending(_)))
    }
}
