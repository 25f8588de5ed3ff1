//! A run: one execution of a recipe, as records. How the Lua goes on is the charter's matter.
//!
//! Every `run:` step has a path; a path is recorded once and answered once, in journal order (`seq`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::caller::Sender;
use super::ids::{Key, MessageId, QuestionId, RecipeName, RunId, StepPath, TurnId};
use super::routing::Decision;
use super::team::{Address, Generation};
use super::time::{Span, Time};
use super::turn::Priority;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It ended with a value.
    Done,
    /// It ended with a value, and something is missing.
    Partial,
    /// The recipe said that it failed, or its code did.
    Failed,
    /// It was ended by a caller.
    Cancelled,
    /// Its deadline passed.
    TimedOut,
}

impl RunOutcome {
    /// Returns the word that people and programs see.
    pub fn word(self) -> &'static str {
        match self {
            RunOutcome::Done => "done",
            RunOutcome::Partial => "partial",
            RunOutcome::Failed => "failed",
            RunOutcome::Cancelled => "cancelled",
            RunOutcome::TimedOut => "timed_out",
        }
    }
}

/// One execution of a recipe, without its job and value, which lie beside it in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The recipe's name.
    pub recipe: RecipeName,
    /// Who started it, and gets its end and its questions.
    pub owner: Sender,
    /// The owner's idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The charter generation that it began with and goes on with.
    pub generation: Generation,
    /// When it was accepted.
    pub started: Time,
    /// When it must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// How many of its steps are finished.
    pub finished_steps: u64,
    /// How many turns it sent.
    pub sent: u64,
    /// How many of them ended.
    pub settled: u64,
    /// What the recipe last said about its progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// Why it ended so, unless it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
    /// True once its owner acknowledged the end.
    #[serde(default)]
    pub collected: bool,
    /// The message that tells its owner of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// What a step of a recipe wants from the fleet.
#[derive(Clone, Debug, PartialEq)]
pub enum StepRequest {
    /// `run:send`.
    Send(StepSend),
    /// `run:sleep`.
    Sleep(Span),
    /// `run:now`.
    Now,
    /// A value that the executor drew or made, such as `run:random`; the first one recorded counts.
    Value(Value),
    /// `run:note(name, value)`: sets with a value, reads without one.
    Note {
        /// The note's name.
        name: String,
        /// What to set.
        value: Option<Value>,
    },
    /// `run:ask_leader`.
    Ask(Arc<str>),
    /// `run:progress`.
    Progress(String),
    /// What the function beside a send (`on_ask`) came to; the fleet takes it at once, and whatever the limit of steps.
    Answer(RunAnswer),
}

/// What a run says to a question that a worker asked in the turn of one of its sends.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAnswer {
    /// The question.
    pub question: QuestionId,
    /// The answer; without one the question goes on to the run's owner.
    pub text: Option<Arc<str>>,
    /// Why there is no answer though there should be one: a mistake in the function, with file and line.
    pub fault: Option<String>,
}

/// What `run:send` was given, with the address already found.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSend {
    /// Where it goes; `None` = the rubrics decide (resolved before it reaches the fleet).
    pub to: Option<Address>,
    /// Why the rubrics sent it there.
    pub because: Option<String>,
    /// The prompt.
    pub prompt: Arc<str>,
    /// What the rubrics said, if they were asked.
    pub routed: Option<Box<Decision>>,
    /// A free word for the kind of work.
    pub kind: Option<String>,
    /// The files that it is about.
    pub files: Vec<String>,
    /// From acceptance to settlement, each try anew.
    pub deadline: Option<Span>,
    /// How often a timed out or lost turn is tried again.
    pub retries: u32,
    /// Whether it goes first.
    pub priority: Priority,
    /// Whether what is asked in its turns is brought to the run first.
    pub on_ask: bool,
}

/// A step as stored; its value lies beside it in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The run.
    pub run: RunId,
    /// Its path in the run.
    pub path: StepPath,
    /// The verb: `send`, `sleep`, `now`, `random`, `note`, `ask_leader`, `progress`; `asked` and `over`, which the fleet
    /// makes itself; `answer`.
    pub verb: String,
    /// Hex hash of what it asked for, by which a run that leaves its recorded path is noticed.
    pub hash: String,
    /// What it asked for, in a few words.
    pub what: String,
    /// Where in the charter it was called, such as `recipes/x.lua:12`.
    pub at: String,
    /// When it began.
    pub began: Time,
    /// Its latest turn, for a send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// How often its turn may still be tried again.
    #[serde(default)]
    pub retries: u32,
    /// How long each try may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// When it wakes, for a sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Its question, for `ask_leader` and `asked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// How many questions were brought to the run so far, for a send that answers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u32>,
    /// Its number among the run's finished steps, once it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// A step with what it answered, as a replay reads it; ordered by `seq`.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedStep {
    /// The step; its `seq` is set.
    pub step: Arc<Step>,
    /// What it answered.
    pub value: Arc<Value>,
}

/// How a run's code ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// How.
    pub outcome: RunOutcome,
    /// Why, unless it is done.
    pub why: Option<String>,
    /// Its value.
    pub value: Value,
}

/// One input from the executor of runs.
#[derive(Clone, Debug, PartialEq)]
pub enum RunInput {
    /// The code reached a step.
    Step {
        /// The run.
        run: RunId,
        /// Where.
        path: StepPath,
        /// The verb, for the journal.
        verb: &'static str,
        /// The hash of the request.
        hash: String,
        /// The request in a few words.
        what: String,
        /// Where in the charter, `recipes/x.lua:12`.
        at: String,
        /// What it wants.
        request: Box<StepRequest>,
    },
    /// The code ended.
    Ended {
        /// The run.
        run: RunId,
        /// How.
        end: RunEnd,
    },
}

/// One order to the executor of runs.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEffect {
    /// Begin or go on: replay what is finished (the executor reads it from the journal), then go on live.
    Start {
        /// The run.
        run: Arc<Run>,
    },
    /// A step was answered; told in the order of `seq` within a run.
    Answer(RunId, FinishedStep),
    /// A step cannot be taken as asked; the recipe sees an error at that line.
    Refuse {
        /// The run.
        run: RunId,
        /// The step.
        path: StepPath,
        /// Why.
        refusal: super::refusal::Refusal,
    },
    /// The run was ended from outside; forget it.
    Drop(RunId),
}
