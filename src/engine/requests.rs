//! What doors are asked and what they answer, as plain data: the same types for REST, MCP and the command line.
//! Field names here are a promise to every client. Nothing is decided and no HTTP is known here.

mod runs;

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::fleet::caller::Sender;
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::{Key, MessageId, QuestionId, RunId, TurnId};
use crate::fleet::record::Event;
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::Priority;
use crate::fleet::view::{QuestionView, TurnView, WorkerView};
use crate::fleet::worker::Process;

pub use runs::*;

/// A message to a worker, a role or the rubrics. `to` and `role` are two words for the same; exactly one is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["to", "role"]))]
pub struct SendRequest {
    /// The address: a role, a worker, or `auto` to let the charter's rubrics decide. Give this or `role`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The same as `to`, for when it is a role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What the worker is asked to do: not only white space, and at most 1 MiB unless the settings say otherwise.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub prompt: String,
    /// A free word for the kind of work; the charter's rubrics may look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub kind: Option<String>,
    /// The files that it is about, as paths in the repository; the charter's rubrics may send it to the worker that knows
    /// them. They are not opened: what the worker is to do with them stands in the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "files")]
    pub files: Vec<String>,
    /// `now` goes before everything that waits at the same address; `normal` waits its turn.
    #[serde(default)]
    pub priority: Priority,
    /// How long it may take from acceptance to its end, as `"8m"` or a number of seconds; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// How long the call waits for the reply, as `"8m"` or a number of seconds, 60 minutes at most. If absent,
    /// `POST /message` waits 10 minutes, and `POST /v1/send` answers at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// What the reply must be: a JSON Schema, or the short form of one: `"string[]"`, the name of a shape of the charter,
    /// `{"file": "string", "line": "integer?"}`. The worker is told, and `data` of the reply is the checked JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SchemaArgument>")]
    pub schema: Option<Value>,
    /// How often a reply that does not fit `schema` is sent back to the worker with what is wrong, 0 to 10; 2 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 0, max = 10))]
    pub corrections: Option<u32>,
    /// Idempotency key: the same key and body is the same turn; another body is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// A message as the rubrics see it; nothing is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteRequest {
    /// What the worker would be asked to do.
    pub prompt: String,
    /// A free word for the kind of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub kind: Option<String>,
    /// The files that it is about, as paths in the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "files")]
    pub files: Vec<String>,
    /// `now` if it would go before others.
    #[serde(default)]
    pub priority: Priority,
}

/// The schema of files that a message names: what `check_files` takes.
fn files(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": 512,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
        },
        "maxItems": 64
    })
}

/// Reads a whole number as JSON Schema has it: 5.0 is one.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    match Option::<f64>::deserialize(from)? {
        None => Ok(None),
        Some(n) if n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&n) => Ok(Some(n as u32)),
        Some(n) => Err(D::Error::custom(format!("it is {n}, wanted a whole number from 0"))),
    }
}

/// What `schema` of a message may be.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only says what may come; nothing makes one")]
enum SchemaArgument {
    /// A type of the short form.
    Short(String),
    /// A JSON Schema, or the fields of an object in the short form.
    Whole(serde_json::Map<String, Value>),
}

/// What came of a wait for a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    /// The turn ended.
    Settled(Arc<Envelope>),
    /// The turn is open.
    Open(Pending),
}

/// A turn or run that has not ended, and why the wait for it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pending {
    /// Why nothing has ended yet: nobody waited, it asks something, or the time was over.
    pub pending: PendingKind,
    /// The turn, if that was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The run, if that was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Where it stands: the state of the turn, or `running`.
    pub state: String,
    /// What it waits for, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// How many of the same sender's turns go first, while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<usize>,
    /// Its open questions; answer them with `reply`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
}

/// Why a wait ended before what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// It is stored; nobody waited for it.
    Accepted,
    /// It asks something; see `questions`.
    Question,
    /// The time of the wait is over; it goes on.
    WaitOver,
}

/// What waits in the caller's mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mail {
    /// Oldest first.
    pub messages: Vec<MailItem>,
    /// True when there is more than fits into this answer.
    pub more: bool,
    /// The id of the last message here; give it as `after` to see only what comes later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<MessageId>,
}

/// One message of a mailbox. Exactly one of `reply`, `question`, `run` and `notice` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailItem {
    /// Its id, for `ack`.
    pub message: MessageId,
    /// When it came.
    pub at: Time,
    /// True when it was given to a call that waited for it.
    pub shown: bool,
    /// The reply of a turn that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Arc<Envelope>>,
    /// An open question; answer it with `reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    /// A run that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunResult>,
    /// Something else worth knowing, as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What `ack` did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Acked {
    /// Messages that were collected by this call.
    pub acked: Vec<MessageId>,
    /// Messages that do not wait: collected before, or never there.
    pub unknown: Vec<MessageId>,
}

/// An answer to a question, with exactly one of `question` and `turn`; from a worker its reply, with neither or `turn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyRequest {
    /// The question. Give this or `turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// The turn that asks, if exactly one of its questions is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The answer: not only white space, and at most 1 MiB unless the settings say otherwise.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub text: String,
}

/// A start of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnRequest {
    /// The role that it joins.
    pub role: String,
    /// One of the role's profiles; the role's first one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Idempotency key: the same key and body is the same worker; another body is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// Everything known of a turn but its texts: its receipt and its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The turn with its receipt.
    #[serde(flatten)]
    pub turn: TurnView,
    /// What happened, oldest first.
    pub events: Vec<Event>,
    /// The end of what the worker's process wrote to stderr, if the turn ended without a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// What is asked. The same text in the same turn is the same question.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub text: String,
    /// The turn; the one that the worker has if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// How long to wait for the answer; 10 minutes unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
}

/// A question and its answer, if there is one yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AskedQuestion")]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    /// The turn.
    pub turn: TurnId,
    /// The length of what is kept.
    pub bytes: usize,
    /// True when it took the place of an earlier reply.
    pub replaced: bool,
}

/// Who sits in the seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How often it was told in its pane that something waits, since it last looked; absent when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<usize>,
    /// Why the last try to tell it came to nothing, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_told: Option<String>,
}

/// Whether nothing is handed out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PauseView {
    /// Whether it is so.
    pub paused: bool,
    /// Who wanted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Sender>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Milliseconds since then.
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
