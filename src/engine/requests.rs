//! What doors are asked and what they answer, as plain data: the same types for REST, MCP and the command line.
//! Field names here are a promise to every client. Nothing is decided and no HTTP is known here.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fleet::envelope::Envelope;
use crate::fleet::ids::{Key, MessageId, QuestionId, RunId, TurnId};
use crate::fleet::record::Event;
use crate::fleet::run::{Run, Step};
use crate::fleet::team::RecipeSpec;
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::Priority;
use crate::fleet::view::{QuestionView, TurnView, WorkerView};
use crate::fleet::worker::Process;

/// A message to a worker, a role or the rubrics. `to` and `role` are two words for the same; exactly one is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendRequest {
    /// A role, a worker, or `auto` for the rubrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// A role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What the worker is asked to do; at most 1 MiB.
    pub prompt: String,
    /// A free word for the rubrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `now` goes before everything that waits at the same address.
    #[serde(default)]
    pub priority: Priority,
    /// From acceptance to settlement; `"8m"` or seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// How long the call waits for the reply; `POST /message` waits 10 minutes unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// Idempotency key: same key and body, same turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// A start of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The recipe.
    pub recipe: String,
    /// Its job; an object with the fields of the recipe's `input`.
    #[serde(default)]
    pub job: Value,
    /// Shorter than the recipe's own, if wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// How long the call waits for the end; absent = answer at once with the run's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// Idempotency key: same key and body, same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// What came of a wait for a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    /// The turn ended.
    Settled(Arc<Envelope>),
    /// The turn is open.
    Open(Pending),
}

/// An open turn or run, and why the wait for it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// `accepted`, `question` or `wait_over`.
    pub pending: PendingKind,
    /// The turn, for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The run, for a recipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Where it stands.
    pub state: String,
    /// Why it is not going on, if it waits for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// Its open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
}

/// Why a wait ended before what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// It is stored; nobody waited for it.
    Accepted,
    /// It asks something.
    Question,
    /// The bound of the wait was reached.
    WaitOver,
}

/// An ended run with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What it returned; null while it runs.
    pub value: Arc<Value>,
}

/// What came of a wait for a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunWaited {
    /// The run ended.
    Ended(Box<RunResult>),
    /// The run is open.
    Open(Pending),
}

/// What waits for the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    /// Oldest first.
    pub messages: Vec<MailItem>,
    /// True when the limit cut the list.
    pub more: bool,
    /// Give this as `after` to see only what comes later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<MessageId>,
}

/// One thing that waits for the caller. Exactly one of `reply`, `question`, `run`, `notice` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MailItem {
    /// Its id, for `ack`.
    pub message: MessageId,
    /// When it came.
    pub at: Time,
    /// True when a waiting call was given it already.
    pub shown: bool,
    /// A settled turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Arc<Envelope>>,
    /// An open question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    /// An ended run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunResult>,
    /// Anything else worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What `ack` did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acked {
    /// Collected now.
    pub acked: Vec<MessageId>,
    /// Nothing waits under these: collected before, or never there.
    pub unknown: Vec<MessageId>,
}

/// An answer to a question; exactly one of `question` and `turn` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyRequest {
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// A turn with exactly one open question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The answer.
    pub text: String,
}

/// A start of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpawnRequest {
    /// Its role.
    pub role: String,
    /// One of the role's profiles; the first if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Idempotency key: same key and body, same worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// Everything known of a turn: its receipt and its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The turn with its receipt.
    #[serde(flatten)]
    pub turn: TurnView,
    /// What happened, oldest first.
    pub events: Vec<Event>,
    /// The end of what the process wrote to stderr, of a turn that ended without a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

/// Everything known of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDetail {
    /// The run with its value.
    #[serde(flatten)]
    pub result: RunResult,
    /// Its steps, in the order in which they began.
    pub steps: Vec<Step>,
    /// Its open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
}

/// The recipes of the charter in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipes {
    /// The generation.
    pub generation: u64,
    /// By name.
    pub recipes: Vec<RecipeSpec>,
}

/// By which request a call came, of a client that names its requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The idempotency key where the request brings none of its own.
    pub key: Option<Key>,
    /// The request of a session: a second key, under which a client that was cut off finds what it began.
    pub request: Option<Key>,
}

/// A question of a worker inside its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// What is asked. The same text in the same turn is the same question.
    pub text: String,
    /// The turn; the one that the worker has if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// How long to wait for the answer; 10 minutes unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
}

/// A question and its answer, if there is one yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The question.
    pub question: QuestionId,
    /// The turn in which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The answer; absent when the wait was over first. Asking the same again waits on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<str>>,
}

/// What became of a worker's reply: it is kept, and is the reply's text when the turn ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// The turn.
    pub turn: TurnId,
    /// The length of what is kept.
    pub bytes: usize,
    /// True when it took the place of an earlier reply.
    pub replaced: bool,
}

/// Who sits in the seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeatView {
    /// Whether anybody does.
    pub taken: bool,
    /// Who, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The process, if it is one of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When it is free again unless it is used before; only for a seat held by a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Milliseconds since it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
}

/// What a request that was cut off came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Resumed {
    /// Its turn ended.
    Settled(Arc<Envelope>),
    /// Its run ended.
    Ended(Box<RunResult>),
    /// Its turn or run is open.
    Open(Pending),
    /// Its worker.
    Worker(Box<WorkerView>),
    /// Its question.
    Asked(Asked),
}
