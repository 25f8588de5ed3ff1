//! What the fleet writes: whole rows, texts beside them, and events.
//!
//! A row is written as the fleet holds it, so the store folds nothing: what was last written is what is read at the
//! next start. Texts are written once and never held in memory. No SQL here.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::Budget;
use super::caller::Sender;
use super::envelope::Envelope;
use super::ids::{Key, MessageId, QuestionId, RoleName, RunId, StepPath, TurnId, WorkerName};
use super::mail::{Message, Question};
use super::pause::Pause;
use super::run::{Run, Step};
use super::seat::Seat;
use super::time::Time;
use super::turn::Turn;
use super::worker::Worker;

/// One thing to write. The records of one step are written together or not at all, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The next free number for ids.
    Next(u64),
    /// The number of the charter generation in force.
    Generation(u64),
    /// A turn as it is now; a collected one is kept for history but not read at the next start.
    Turn(Arc<Turn>),
    /// The exact prompt of a turn; once.
    Prompt(TurnId, Arc<str>),
    /// The envelope of a settled turn, text included; once.
    Envelope(Arc<Envelope>),
    /// A worker as it is now.
    Worker(Arc<Worker>),
    /// A worker that is gone.
    WorkerGone(WorkerName),
    /// A message that waits.
    Message(Arc<Message>),
    /// A message that was collected.
    MessageGone(MessageId),
    /// A question as it is now.
    Question(Arc<Question>),
    /// A question that is of no more use.
    QuestionGone(QuestionId),
    /// A run as it is now; a collected one is kept for history but not read at the next start.
    Run(Arc<Run>),
    /// The job of a run; once.
    Job(RunId, Arc<Value>),
    /// The value of an ended run; once.
    RunValue(RunId, Arc<Value>),
    /// A step as it is now.
    Step(Arc<Step>),
    /// A step that is as if it had never begun, of a run that goes on without it.
    StepGone(RunId, StepPath),
    /// What a finished step answered; once.
    StepValue(RunId, StepPath, Arc<Value>),
    /// An idempotency key in use.
    Key(Arc<KeyUse>),
    /// A key that is too old.
    KeyGone(Sender, Key),
    /// A note of the charter, or that it is removed.
    Note(Arc<str>, Option<Arc<Value>>),
    /// A role that is parked until a moment, or no longer.
    Parked(RoleName, Option<Time>),
    /// What went wrong with the sessions of a role lately, if anything.
    Budget(RoleName, Option<Arc<Budget>>),
    /// That nothing is handed out, if so.
    Paused(Option<Pause>),
    /// Something that happened; never read back by the fleet.
    Event(Event),
    /// Who sits in the seat, if anybody.
    Seat(Option<Arc<Seat>>),
    /// What a worker gave as its reply to the turn that it has; absent once the turn has ended.
    Draft(TurnId, Option<Arc<str>>),
    /// A reply that came after the end of its turn; absent once it was collected.
    Late(TurnId, Option<Arc<Envelope>>),
}

/// One use of an idempotency key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyUse {
    /// Whose key; keys are per sender.
    pub sender: Sender,
    /// The key.
    pub key: Key,
    /// Hex hash of the verb and the body it came with.
    pub body: String,
    /// What came of it.
    pub made: Made,
    /// What tells the worker that it made (`Worker::born`) from another one that may have its name by now.
    #[serde(default)]
    pub born: u64,
    /// When.
    pub at: Time,
}

/// What a keyed call made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// A turn.
    Turn(TurnId),
    /// A run.
    Run(RunId),
    /// A worker.
    Worker(WorkerName),
}

/// Something that happened to a turn, a run or a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When it happened.
    pub at: Time,
    /// The turn it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The run it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The worker it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// What happened, in a few words; never message text.
    pub what: String,
}

impl Saved {
    /// Returns the last moment that is known of anything that is open and timed. Time goes on from there: a clock that was
    /// put back meanwhile would make every deadline and every sleep longer by so much.
    pub fn last_moment(&self) -> Time {
        let turns = self.turns.iter().filter(|turn| !turn.state.is_settled()).map(Turn::since);
        let runs = self.runs.iter().filter(|run| run.outcome.is_none()).map(|run| run.started);
        let steps = self.steps.iter().map(|step| step.began);
        let workers = self.workers.iter().map(|worker| worker.since);
        let failures = self.budgets.iter().filter_map(|(_, budget)| budget.failures.last().copied());
        let seat = self.seat.iter().map(|seat| seat.since);
        turns.chain(runs).chain(steps).chain(workers).chain(failures).chain(seat).max().unwrap_or_default()
    }
}

/// Everything that is read back at a start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// The next free number for ids.
    pub next: u64,
    /// The number of the last accepted charter generation.
    pub generation: u64,
    /// Turns that are not collected.
    pub turns: Vec<Turn>,
    /// Workers that are not gone.
    pub workers: Vec<Worker>,
    /// Messages that wait.
    pub messages: Vec<Message>,
    /// Questions in use.
    pub questions: Vec<Question>,
    /// Runs that are not collected.
    pub runs: Vec<Run>,
    /// Steps of the runs that have not ended.
    pub steps: Vec<Step>,
    /// Keys in use.
    pub keys: Vec<KeyUse>,
    /// Notes of the charter.
    pub notes: Vec<(Arc<str>, Arc<Value>)>,
    /// Roles that are parked, and until when.
    pub parked: Vec<(RoleName, Time)>,
    /// What went wrong with the sessions of roles lately.
    pub budgets: Vec<(RoleName, Budget)>,
    /// That nothing is handed out, if so.
    pub paused: Option<Pause>,
    /// Who sits in the seat, if anybody.
    pub seat: Option<Seat>,
    /// What workers gave as replies to turns that have not ended.
    pub drafts: Vec<(TurnId, Arc<str>)>,
}
