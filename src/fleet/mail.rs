//! What waits for a sender: replies, questions, ended runs, notices. And the questions themselves.
//! Rows only: when one is laid down, shown and collected is decided beside this file, and envelopes lie in the store.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::ids::{Key, MessageId, QuestionId, RunId, StepPath, TurnId};
use super::time::Time;

/// One thing in a mailbox, without its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id; ids grow, so the last one seen is a cursor.
    pub id: MessageId,
    /// Whose mailbox it lies in; never a run's.
    pub to: Sender,
    /// When it came.
    pub at: Time,
    /// What it is about.
    pub about: About,
    /// True once a waiting caller got it as an answer: no nudge for it, a poll still shows it.
    #[serde(default)]
    pub shown: bool,
    /// When it goes by itself: a notice, or what was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
}

/// What a message is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A turn was settled.
    Reply(TurnId),
    /// Somebody asks.
    Question(QuestionId),
    /// A run ended.
    Run(RunId),
    /// A reply came after its turn had ended.
    Late(TurnId),
    /// Something the fleet or a charter wants known.
    Notice(String),
}

/// Who asks a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// A worker, inside this turn.
    Turn(TurnId),
    /// A recipe, at this step.
    Step {
        /// The run.
        run: RunId,
        /// The step.
        path: StepPath,
    },
}

/// A question of a worker or a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// Who asks.
    pub asker: Asker,
    /// Who should answer: a run first if it has a function for it (then nobody is shown it), else its owner.
    pub to: Sender,
    /// What is asked.
    pub text: Arc<str>,
    /// When it was asked.
    pub at: Time,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<str>>,
    /// Its id in the mailbox of who should answer, for `ack`; m0 while nobody is shown it.
    pub message: MessageId,
    /// The request of a session by which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Key>,
}

impl Question {
    /// Returns whether a run has it first, so that nobody else is to answer it yet.
    pub fn is_with_a_run(&self) -> bool {
        matches!(self.to, Sender::Run(_))
    }
}
