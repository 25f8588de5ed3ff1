//! A turn: one message to a worker and everything until its reply is collected.
//!
//! This is the row that is stored; the prompt and the reply text lie beside it in the store and are never held
//! here, so that ten thousand waiting turns stay small. How a turn moves is decided elsewhere in `fleet/`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amend::Amends;
use super::caller::Sender;
use super::commands::Command;
use super::ids::{Key, MessageId, QuestionId, RunId, StepPath, TurnId, WorkerName};
use super::routing::Decision;
use super::shape::Shape;
use super::team::Address;
use super::time::{Span, Time};

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// It is stored and waits for a worker.
    Queued,
    /// It was given to a worker.
    Handed,
    /// It is proven that the worker took it.
    Submitted,
    /// The worker is at it.
    Working,
    /// The worker asked something and waits for the answer.
    Asking,
    /// It ended; see the outcome.
    Settled,
    /// Its reply was acknowledged by the sender.
    Collected,
}

impl TurnState {
    /// Returns the word that people and programs see.
    pub fn word(self) -> &'static str {
        match self {
            TurnState::Queued => "queued",
            TurnState::Handed => "handed",
            TurnState::Submitted => "submitted",
            TurnState::Working => "working",
            TurnState::Asking => "asking",
            TurnState::Settled => "settled",
            TurnState::Collected => "collected",
        }
    }

    /// Returns whether the turn has ended.
    pub fn is_settled(self) -> bool {
        self >= TurnState::Settled
    }

    /// Returns whether a worker has the turn now.
    pub fn is_in_flight(self) -> bool {
        (TurnState::Handed..TurnState::Settled).contains(&self)
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was replied to.
    Replied,
    /// The worker tried and failed.
    Failed,
    /// It was withdrawn or interrupted by a caller, or by the end of its run.
    Cancelled,
    /// Its deadline or the timeout of its worker's profile passed.
    TimedOut,
    /// The worker died after it had taken the text.
    Lost,
    /// It was not shown how it ended; never sent again by itself.
    Unknown,
}

impl Outcome {
    /// Returns the word that envelopes, recipes and people see.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Replied => "replied",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
            Outcome::TimedOut => "timed_out",
            Outcome::Lost => "lost",
            Outcome::Unknown => "unknown",
        }
    }

    /// Returns whether a new turn on another worker may be tried after this.
    pub fn may_retry(self) -> bool {
        matches!(self, Outcome::TimedOut | Outcome::Lost)
    }
}

/// Whether a message goes before others that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before everything that waits at the same address.
    Now,
    /// In order.
    #[default]
    Normal,
}

/// One dated line of a turn's receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stamp {
    /// When the state began.
    pub at: Time,
    /// The state.
    pub state: TurnState,
    /// What else is known: worker, reason, outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Which step of which run a turn belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepRef {
    /// The run.
    pub run: RunId,
    /// The step's path in the run.
    pub path: StepPath,
}

/// One message to a worker and everything until its reply is collected, without the texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// Who sent it, and gets the reply.
    pub sender: Sender,
    /// What it is addressed to.
    pub to: Address,
    /// Why the rubrics sent it there, if they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The sender's free word for the kind of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The files that it is about, as its sender named them: for rubrics, and never opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What the rubrics said, if they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routed: Option<Box<Decision>>,
    /// Whether it goes before others.
    #[serde(default)]
    pub priority: Priority,
    /// Length of the prompt in bytes.
    pub prompt_bytes: u64,
    /// The turn under which the prompt's text is stored; another one for a retry.
    pub prompt_of: TurnId,
    /// The sender's idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// When it was accepted.
    pub accepted: Time,
    /// When it must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// How long whoever has it may take, from its hand-over to its end, where its sender said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_take: Option<Span>,
    /// When that has passed, or the timeout of its worker's profile, once somebody has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
    /// The turn that this one tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TurnId>,
    /// The turn that tries this one again by the word of a handler; there is one at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_as: Option<TurnId>,
    /// Who had the turns that this one tries again; it goes to another worker where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<WorkerName>,
    /// What its answer must be, where a shape was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Arc<Shape>>,
    /// What it asks again, since the answer to another turn did not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amends: Option<Box<Amends>>,
    /// What is started for it, where it is a command of a run and no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Arc<Command>>,
    /// The step of a run that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepRef>,
    /// The charter generation when it was accepted.
    pub generation: u64,
    /// Where it stands.
    pub state: TurnState,
    /// The dated states it went through.
    pub receipt: Vec<Stamp>,
    /// Who has or had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// Its open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionId>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why it ended so, unless it was replied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The message that carries its reply to the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

impl Turn {
    /// Returns a turn that is accepted now and was handed to nobody yet.
    pub fn accepted(id: TurnId, sender: Sender, to: Address, now: Time, generation: u64) -> Turn {
        Turn {
            id,
            sender,
            to,
            because: None,
            kind: None,
            files: Vec::new(),
            routed: None,
            priority: Priority::Normal,
            prompt_bytes: 0,
            prompt_of: id,
            key: None,
            accepted: now,
            deadline: None,
            may_take: None,
            timeout: None,
            retry_of: None,
            retried_as: None,
            tried: Vec::new(),
            shape: None,
            amends: None,
            command: None,
            step: None,
            generation,
            state: TurnState::Queued,
            receipt: Vec::new(),
            worker: None,
            questions: Vec::new(),
            outcome: None,
            why: None,
            message: None,
        }
    }

    /// Returns when the present state began.
    pub fn since(&self) -> Time {
        self.receipt.last().map_or(self.accepted, |stamp| stamp.at)
    }

    /// Returns when the turn entered a state, if it did.
    pub fn at(&self, state: TurnState) -> Option<Time> {
        self.receipt.iter().find(|stamp| stamp.state == state).map(|stamp| stamp.at)
    }

    /// Returns where its sender sent it: a correction goes to who gave the answer.
    pub fn sent_to(&self) -> &Address {
        self.amends.as_ref().map_or(&self.to, |amends| &amends.sent_to)
    }

    /// Returns when whoever has it must have ended it, by what its sender allows.
    pub fn must_end(&self) -> Option<Time> {
        let handed = self.receipt.iter().rev().find(|stamp| stamp.state == TurnState::Handed)?;
        Some(handed.at + self.may_take?)
    }

    /// Returns how often it was handed to a worker; more than once only if nothing of it was typed before.
    pub fn hands(&self) -> usize {
        self.receipt.iter().filter(|stamp| stamp.state == TurnState::Handed).count()
    }

    /// Enters a state and stamps the receipt.
    pub fn enter(&mut self, state: TurnState, at: Time, note: Option<String>) {
        self.state = state;
        self.receipt.push(Stamp { at, state, note });
    }
}
