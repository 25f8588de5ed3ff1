//! The reply with its metadata: what a sender gets for a turn.
//! It is written once, when the turn ends, and not changed after. How a turn gets its outcome is not known here.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::{MessageId, ProfileName, RoleName, TurnId, WorkerName};
use super::time::Time;
use super::turn::Outcome;
use super::work::Work;

/// The reply to a turn with its metadata: how the turn ended, who answered, what it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// The turn.
    pub turn: TurnId,
    /// Its id in the sender's mailbox, for `ack`; absent for a turn that a run sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Who answered.
    pub from: From,
    /// True exactly when the outcome is `replied`.
    pub ok: bool,
    /// How the turn ended.
    pub outcome: Outcome,
    /// The outcome's word when it is not `replied`; `schema` when the reply
    /// does not fit the schema that was asked for; in a run `busy` when it timed out before any worker took it, and `lost`
    /// when the one worker that it was for went before it had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it ended so, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The reply text; empty when there is none. One that does not fit its schema is kept here as well.
    pub text: Arc<str>,
    /// The reply as JSON that fits, when a schema was asked for; in `truncated.data` where it has more than 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Tokens and cost, where the agent tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// When what happened.
    pub times: Times,
    /// What showed how the turn ended, such as `exit_status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// How the process ended, for workers that are one process a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The end of what the process wrote to stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The charter generation when the turn was accepted.
    pub generation: u64,
    /// Where the whole text lies, if it was too long for here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// What was done in the worker's worktree so far, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// The turn that this one tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TurnId>,
    /// The turn that its sender knows, where this one asked for a reply again that did not fit its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amends: Option<TurnId>,
    /// Set on a reply that came after its turn had ended: how that had ended. The turn's own end stays what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<String>,
}

/// Who answered a turn; all absent when no worker ever had it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnsweredBy")]
pub struct From {
    /// The worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// Its profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// Its launcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// The model, as the agent named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What a turn cost, in tokens and, where known, in money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from the model's cache.
    pub cache_read: u64,
    /// Tokens written to the model's cache.
    pub cache_write: u64,
    /// How full the model's context was at its last message, in tokens, where the agent tells that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// US dollars, if the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Usage {
    /// Returns what counts as used: all but what was read from a cache.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_write)
    }

    /// Returns what all of these took together; nothing if there are none.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Usage>) -> Option<Usage> {
        all.copied().reduce(|a, b| Usage {
            input: a.input.saturating_add(b.input),
            output: a.output.saturating_add(b.output),
            cache_read: a.cache_read.saturating_add(b.cache_read),
            cache_write: a.cache_write.saturating_add(b.cache_write),
            // Of several messages the last one's counts, and which that is is not known here.
            context: None,
            cost: match (a.cost, b.cost) {
                (None, None) => None,
                // An agent that tells of a gain would pay for others: nothing gives a budget back.
                (a, b) => Some(a.unwrap_or_default().max(0.0) + b.unwrap_or_default().max(0.0)),
            },
        })
    }
}

/// When what happened to a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// When it was accepted and stored.
    pub accepted: Time,
    /// When it was given to a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed: Option<Time>,
    /// When it was proven that the worker took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// When it ended.
    pub settled: Time,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Where the whole of a cut text lies: in a file of its turn, which goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncated {
    /// The file with the whole text.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The file with its JSON, when a schema was asked for, it fits, and is too long for `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// What a launcher reports when a turn has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, unless it was replied to.
    pub why: Option<String>,
    /// The reply text.
    pub text: Arc<str>,
    /// Present when the text was cut.
    pub truncated: Option<Truncated>,
    /// How the process ended.
    pub exit: Option<Exit>,
    /// The end of its stderr.
    pub stderr: Option<String>,
    /// Tokens and cost.
    pub usage: Option<Usage>,
    /// The model that the agent named.
    pub model: Option<String>,
    /// What showed it.
    pub proof: Option<String>,
    /// What was done in the worker's worktree.
    pub work: Option<Work>,
    /// The JSON of the reply, once it is checked. Of a text that was cut the fleet has not all, so whoever cut it has
    /// checked it.
    pub data: Option<Value>,
    /// What does not fit in a reply that was cut.
    pub complaint: Option<String>,
    /// Whether the reply does not fit the shape that was wanted; no launcher says so.
    pub misfit: bool,
}

impl Finish {
    /// Returns an ending without a reply.
    pub fn without_reply(outcome: Outcome, why: impl Into<String>) -> Finish {
        Finish {
            outcome,
            why: Some(why.into()),
            text: "".into(),
            truncated: None,
            exit: None,
            stderr: None,
            usage: None,
            model: None,
            proof: None,
            work: None,
            data: None,
            complaint: None,
            misfit: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_cannot_have_used_breaks_no_sum_and_gives_nothing_back() {
        let much = Usage { input: u64::MAX, output: 1, cost: Some(-5.0), ..Usage::default() };
        let little = Usage { input: 2, cache_write: 3, cost: Some(0.5), ..Usage::default() };
        let sum = Usage::sum([much, little].iter()).expect("there are two");
        assert_eq!((sum.input, sum.tokens(), sum.cost), (u64::MAX, u64::MAX, Some(0.5)));
    }
}
