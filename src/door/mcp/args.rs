//! What the tools take that have no request of their own at the engine's desk.
//! The comments here are read by models: they are the descriptions in the tools' schemas.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::audit::{About, Subject};
use crate::fleet::ids::{MessageId, RunId, TurnId};
use crate::fleet::time::Span;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// What to look at; give at most one of turn, run and worker. Nothing given = how the whole fleet does.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    /// A turn: its receipt, what it waits for, its events.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// A run: its value, steps and open questions.
    #[serde(default)]
    pub run: Option<RunId>,
    /// A worker, by name.
    #[serde(default)]
    pub worker: Option<String>,
    /// Wait so long for the turn or the run to end or to ask; the answer is then the reply, the run's value, or pending.
    #[serde(default)]
    pub wait: Option<Span>,
}

/// What to read of your mailbox.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Poll {
    /// Only what came after this message: the cursor of the last poll.
    #[serde(default)]
    pub after: Option<MessageId>,
    /// How many at most, 1 to 500; 20 unless told otherwise.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Wait so long if there is nothing.
    #[serde(default)]
    pub wait: Option<Span>,
}

/// What you have read and dealt with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ack {
    /// The message ids of a poll, or of a reply that a waiting call gave you.
    pub messages: Vec<MessageId>,
}

/// What to end; give exactly one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancel {
    /// A turn: withdrawn if it is queued, interrupted if it runs.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// A run: its open turns are cancelled too.
    #[serde(default)]
    pub run: Option<RunId>,
}

/// Which worker goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    /// The worker, by name.
    pub worker: String,
    /// At once; otherwise it ends its present turn first.
    #[serde(default)]
    pub kill: bool,
}

/// What to do with the charter.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Charter {
    /// Read the files anew and load them if they changed.
    #[serde(default)]
    pub reload: bool,
    /// Tell in words what the files that lie in the directory would change, without effect.
    #[serde(default)]
    pub diff: bool,
}

/// An answer to a question, or a worker's reply to its turn.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// The leader: the question that is answered.
    #[serde(default)]
    pub question: Option<crate::fleet::ids::QuestionId>,
    /// The leader: a turn with exactly one open question. A worker: its turn; the one it has if absent.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// The answer, or the reply.
    pub text: String,
}

impl Subject for Nothing {}

impl Subject for Status {
    fn subject(&self) -> About {
        About::default().ids(self.turn).ids(self.run).names(&self.worker)
    }
}

impl Subject for Poll {}

impl Subject for Ack {
    fn subject(&self) -> About {
        About::default().ids(&self.messages)
    }
}

impl Subject for Cancel {
    fn subject(&self) -> About {
        About::default().ids(self.turn).ids(self.run)
    }
}

impl Subject for Stop {
    fn subject(&self) -> About {
        About::default().name(&self.worker)
    }
}

impl Subject for Charter {}

impl Subject for Reply {
    fn subject(&self) -> About {
        About::default().ids(self.question).ids(self.turn).bytes(self.text.len())
    }
}
