//! What the engine needs from the rooms above it, as traits. They implement, it calls; it never imports them.
//! No type of a store, a process or a VM may stand in a signature here: only the fleet's own words and plain JSON.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::requests::Replayed;
use super::worktrees::{TrashView, Worktrees};
use crate::fleet::difference::{Change, Difference};
use crate::fleet::envelope::Envelope;
use crate::fleet::events::FleetEvent;
use crate::fleet::ids::{RecipeName, RunId, TurnId, WorkerName};
use crate::fleet::input::WorkEffect;
use crate::fleet::record::{Event, Record, Saved};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::{FinishedStep, Run, RunEffect, Step};
use crate::fleet::team::{Generation, Routed, Task, TeamLoad};
use crate::fleet::time::Time;
use crate::fleet::turn::Turn;
use crate::fleet::worker::{Process, Worker};

/// A future behind a trait object.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Where records are kept. Reads see everything that was committed.
pub trait Journal: Send + Sync + 'static {
    /// Stores the records of one or more steps, in order, all or nothing; returns once they are durable.
    fn commit(&self, records: Vec<Record>) -> Boxed<Result<(), JournalError>>;
    /// Returns everything that is needed to go on.
    fn load(&self) -> Boxed<Result<Saved, JournalError>>;
    /// Returns the exact prompt of a turn.
    fn prompt(&self, turn: TurnId) -> Boxed<Result<Option<Arc<str>>, JournalError>>;
    /// Returns the envelope of a settled turn.
    fn envelope(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>>;
    /// Returns the reply that came after the end of a turn, until it is collected.
    fn late(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>>;
    /// Returns a turn, also a collected one.
    fn turn(&self, turn: TurnId) -> Boxed<Result<Option<Turn>, JournalError>>;
    /// Returns a run, also a collected one.
    fn run(&self, run: RunId) -> Boxed<Result<Option<Run>, JournalError>>;
    /// Returns the newest runs, newest first.
    fn runs(&self, limit: usize) -> Boxed<Result<Vec<Run>, JournalError>>;
    /// Returns the job of a run.
    fn job(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>>;
    /// Returns the value of an ended run.
    fn run_value(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>>;
    /// Returns the finished steps of a run with their values, ordered by `seq`.
    fn finished_steps(&self, run: RunId) -> Boxed<Result<Vec<FinishedStep>, JournalError>>;
    /// Returns all steps of a run without values, in the order in which they began.
    fn steps(&self, run: RunId) -> Boxed<Result<Vec<Step>, JournalError>>;
    /// Returns the events of a turn, oldest first.
    fn events(&self, turn: TurnId) -> Boxed<Result<Vec<Event>, JournalError>>;
    /// Keeps the sources of a charter under their hash, as one opaque text.
    fn save_sources(&self, hash: String, sources: Arc<str>) -> Boxed<Result<(), JournalError>>;
    /// Returns the sources that were kept under a hash.
    fn sources(&self, hash: String) -> Boxed<Result<Option<Arc<str>>, JournalError>>;
    /// Drops history older than a moment: collected turns and runs, their texts, events; but nothing of the turns that are
    /// kept, since somebody is still to read their replies.
    fn prune(&self, before: Time, keep: Vec<TurnId>) -> Boxed<Result<u64, JournalError>>;
}

/// Where the sessions of clients are kept, so that a restart of the daemon is a pause for them and no end. What a
/// session's row says is the door's matter.
pub trait Sessions: Send + Sync + 'static {
    /// Returns the row of a session.
    fn session(&self, id: String) -> Boxed<Result<Option<Arc<str>>, JournalError>>;
    /// Stores the row of a session, or drops it; `at` is when it was last used, by which old ones are dropped.
    fn save_session(&self, id: String, at: Time, row: Option<Arc<str>>) -> Boxed<Result<(), JournalError>>;
}

/// Why the store did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The disk has no room.
    #[error("the disk is full: {0}")]
    Full(String),
    /// Anything else: the text says what was tried and what the store answered.
    #[error("{0}")]
    Failed(String),
}

/// Who starts workers and gives them their turns. Orders must not block; what comes of them is told to the engine as
/// a `Sighting`.
pub trait Launchers: Send + Sync + 'static {
    /// Carries out one order.
    fn carry_out(&self, order: WorkEffect);
    /// Returns why sessions cannot be started or reached now, if so.
    fn trouble(&self) -> Option<String> {
        None
    }
    /// Takes what a worker's own program reports by a hook; the answer is what the program is told, if anything.
    fn report(&self, worker: Arc<Worker>, _: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        let message = format!(
            "worker {} was started by the launcher '{}', which takes no hooks",
            worker.name, worker.profile.launcher
        );
        let refusal = Refusal::new(RefusalKind::Conflict, message);
        let refusal = refusal.hint("a turn ends by the proof that its launcher has; report nothing");
        Box::pin(std::future::ready(Err(refusal)))
    }
    /// Hears that a process of a worker has listed the fleet's tools. Must not block.
    fn listed(&self, _: &WorkerName, _: Source) {}
    /// Returns the worktrees of workers.
    fn worktrees(&self) -> Boxed<Result<Worktrees, Refusal>> {
        Box::pin(async { Ok(Worktrees::default()) })
    }
    /// Moves a worktree to the trash that no living worker has, unless work would be lost.
    fn remove_worktree(&self, name: String) -> Boxed<Result<TrashView, Refusal>> {
        Box::pin(async move { Err(Refusal::new(RefusalKind::Unknown, format!("there is no worktree '{name}'"))) })
    }
}

/// What a program reports by a hook of its own.
#[derive(Clone)]
pub struct Report {
    /// What it says.
    pub payload: Value,
    /// The secret that it was started with, if it gave one.
    pub token: Option<String>,
    /// Which process of the worker it came from.
    pub source: Source,
}

/// A process of a worker, as the connection shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which, if it could be told.
    pub process: Option<Process>,
    /// Whether its place in the tree says that the program has started it. An orphan's says nothing.
    pub via_child: bool,
}

/// Who decides where a task goes, and executes recipes.
pub trait Policy: Send + Sync + 'static {
    /// Asks the rubrics of the newest generation.
    fn route(&self, task: Task, team: TeamLoad) -> Boxed<Result<Routed, Refusal>>;
    /// Checks a job against the recipe's input; the error names the field, what was wanted and what came.
    fn check_job(&self, recipe: &RecipeName, job: &Value) -> Result<(), Refusal>;
    /// Begins, goes on with or drops a run. Must not block; the run's steps come back as `RunInput`.
    fn run(&self, order: RunEffect);
    /// Goes through the journal of a run without doing anything, by the charter that it began with or the one in force.
    fn replay(&self, run: Run, _current: bool) -> Boxed<Result<Replayed, Refusal>> {
        let message = format!("nobody here can replay {}", run.id);
        Box::pin(std::future::ready(Err(Refusal::new(RefusalKind::Unavailable, message))))
    }
    /// Tells the charter's handlers of an event; must not block. What they answer comes back as `Action`.
    fn event(&self, event: FleetEvent);
    /// Returns the state of the charter.
    fn status(&self) -> CharterStatus;
    /// Tells what files would change, without any effect: these, or those that lie in the charter directory.
    fn difference(&self, files: Option<Files>) -> Boxed<Difference>;
    /// Reads the charter directory now and loads it if it changed; the error is the refusal of the new files.
    fn reload(&self) -> Boxed<Result<CharterStatus, Refusal>>;
}

/// Files of a charter: their texts by their names.
pub type Files = BTreeMap<String, String>;

/// The state of the charter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CharterStatus {
    /// The directory that it is read from.
    pub dir: String,
    /// The generation in force.
    pub generation: Generation,
    /// When that came into force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The names of its files.
    pub files: Vec<String>,
    /// True when the files in force are the copy of the last good ones and not what lies in the directory.
    pub last_good: bool,
    /// Why the newest files were not taken, as `file:line: message` with the source line; absent when they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Since when newer files lie there that were not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<Time>,
    /// What the generation in force changed against the one before it, in words.
    pub last_change: Vec<Change>,
    /// What the newest files would change, where they were not taken; of files that do not load, only which differ.
    pub refused_change: Vec<Change>,
    /// What lies in the directory against what is in force; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// How many loads were refused since the daemon started.
    pub rejected: u64,
    /// How often a rubric was skipped because of an error since the daemon started.
    pub rubric_errors: u64,
    /// How often a handler of an event failed since the daemon started.
    pub handler_errors: u64,
    /// What the handler said that failed last, as `file:line: message`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler_error: Option<String>,
    /// The file and line of that, if the handler is one of the generation in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler_place: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler_failed_at: Option<Time>,
    /// The rubrics in force, in the order in which they are asked, with what came of asking them.
    pub rubrics: Vec<RubricStatus>,
    /// How long they took, once they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric_times: Option<RubricTimes>,
}

/// How long the rubrics of the charter in force took, each time all that were asked together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RubricTimes {
    /// How often they were asked.
    pub asked: u64,
    /// Within how many microseconds every second answer was there.
    pub half_us: u64,
    /// Within how many microseconds 99 of 100 answers were there.
    pub most_us: u64,
    /// How many microseconds the slowest one took.
    pub slowest_us: u64,
}

/// One rubric of the charter in force, and what came of it since that came into force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RubricStatus {
    /// The rubric, by its reason text.
    pub rubric: String,
    /// How often it was asked.
    pub asked: u64,
    /// How often it decided.
    pub decided: u64,
    /// How often it was skipped, for an error or for running too long.
    pub failed: u64,
    /// The last reason for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The file and line of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Time>,
}

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// Returns the present moment; never goes back while the process lives.
    fn now(&self) -> Time;

    /// Returns what the clock on the wall shows, which may be set, and goes on while the machine sleeps.
    fn wall(&self) -> Time {
        self.now()
    }

    /// Returns after how long that is looked at again where a charter goes by it: nobody tells that it was set, or that
    /// the machine slept, which no timer counts.
    fn trusted(&self) -> Duration {
        Duration::from_secs(30)
    }
}
