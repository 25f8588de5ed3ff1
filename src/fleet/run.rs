//! A run: one execution of a recipe, as records. How the Lua goes on is the charter's matter.
//!
//! Every `run:` step has a path; a path is recorded once and answered once, in journal order (`seq`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::{Closing, RunBudget};
use super::caller::Sender;
use super::commands::Command;
use super::envelope::Usage;
use super::ids::{Key, MessageId, QuestionId, RecipeName, RunId, StepPath, TurnId};
use super::routing::Decision;
use super::shape::Shape;
use super::team::{Address, Generation};
use super::time::{Span, Time};
use super::turn::{Priority, StepRef};

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
    /// Its budget was used up.
    Budget,
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
            RunOutcome::Budget => "budget",
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
    /// What it may use at most, with the runs below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// The step of the run that began it, unless a caller did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<StepRef>,
    /// How many runs stand above it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// How many of its steps are finished.
    pub finished_steps: u64,
    /// How many turns it and the runs below it sent.
    pub sent: u64,
    /// How many of them ended.
    pub settled: u64,
    /// What these turns used, as far as agents tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Set once it reached a bound: it begins nothing more and comes to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
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

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Run {
    /// Returns a run that begins now.
    pub fn begun(id: RunId, recipe: RecipeName, owner: Sender, generation: Generation, started: Time) -> Run {
        Run {
            id,
            recipe,
            owner,
            key: None,
            generation,
            started,
            deadline: None,
            budget: None,
            parent: None,
            depth: 0,
            finished_steps: 0,
            sent: 0,
            settled: 0,
            usage: None,
            closing: None,
            progress: None,
            outcome: None,
            why: None,
            ended: None,
            collected: false,
            message: None,
        }
    }
}

/// What a step of a recipe wants from the fleet.
#[derive(Clone, Debug, PartialEq)]
pub enum StepRequest {
    /// `run:send`.
    Send(StepSend),
    /// `run:recipe`.
    Recipe(StepRecipe),
    /// `run:command`.
    Command(StepCommand),
    /// `run:sleep`.
    Sleep(Span),
    /// `run:now`.
    Now,
    /// A value that the executor drew or made, such as `run:random`; the first one recorded counts.
    Value(Value),
    /// `run:note(name, value)`: sets with a value, removes with null, reads without any.
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
    /// Nobody waits any more for what was begun below this step's path, and why: the rest of a race that was won, of a
    /// vote that is decided, of parts of which one failed. Taken at once, and whatever the limit of steps.
    GiveUp(String),
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
    /// From hand-over to settlement, each hand-over anew.
    pub timeout: Option<Span>,
    /// How often a timed out or lost turn is tried again.
    pub retries: u32,
    /// Whether it goes first.
    pub priority: Priority,
    /// What the answer must be, if anything.
    pub shape: Option<Arc<Shape>>,
    /// Whether what is asked in its turns is brought to the run first.
    pub on_ask: bool,
}

/// What `run:recipe` was given, checked by the charter that the parent began with, which is the child's as well.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecipe {
    /// The recipe.
    pub recipe: RecipeName,
    /// Its job.
    pub job: Arc<Value>,
    /// How long it may take; its parent's deadline still holds.
    pub deadline: Option<Span>,
    /// What it may use at most; its parent's budget still holds.
    pub budget: Option<RunBudget>,
}

/// What `run:command` was given.
#[derive(Clone, Debug, PartialEq)]
pub struct StepCommand {
    /// What is started.
    pub command: Command,
    /// What it reads.
    pub stdin: Arc<str>,
}

/// A step as stored; its value lies beside it in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The run.
    pub run: RunId,
    /// Its path in the run.
    pub path: StepPath,
    /// The verb: `send`, `recipe`, `command`, `sleep`, `now`, `random`, `note`, `ask_leader`, `progress`; `asked` and `over`, which the fleet
    /// makes itself; `answer`; `race`, `vote` and `each` where the rest of the parts was given up.
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
    /// Its run, for `recipe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<RunId>,
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

impl Step {
    /// Returns a step that begins now and has nothing yet.
    pub fn begun(run: RunId, path: StepPath, verb: &str, at: String, began: Time) -> Step {
        Step {
            run,
            path,
            verb: verb.to_string(),
            hash: String::new(),
            what: String::new(),
            at,
            began,
            turn: None,
            child: None,
            retries: 0,
            deadline: None,
            until: None,
            question: None,
            asked: None,
            seq: None,
        }
    }
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
