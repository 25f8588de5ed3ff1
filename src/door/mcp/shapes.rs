//! What the tools give, as types: each is what the engine's desk answers, or one of two where a call may end in two ways.
//! The same values leave by the REST door.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::requests::{Noted, Pending, RunDetail, RunResult, Trace};
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::{ProfileName, QuestionId};
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Span;
use crate::fleet::view::{RoleView, WorkerView};

pub(super) use super::super::whoami::Whoami;
pub(super) use crate::engine::ports::CharterStatus as Charter;
pub(super) use crate::engine::requests::{Acked, Asked, Mail, Recipes};
pub(super) use crate::fleet::team::Routed;
pub(super) use crate::fleet::view::{Roster, WorkerView as Worker};

/// What a tool gives: its answer, or why it was refused. Clients hold a refusal against the schema as well, and hide
/// one that does not fit from their models.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only says what may come; nothing makes one")]
pub(super) enum Given<T> {
    /// The answer.
    Answer(T),
    /// Why the call was refused, and what would be right.
    Refused(Refusal),
}

/// The roles with their load, and the profiles.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Profiles {
    /// The charter generation in force; 0 = none.
    pub generation: u64,
    /// The roles by name.
    pub roles: Vec<RoleView>,
    /// The profiles by name.
    pub profiles: Vec<ProfileView>,
}

/// A profile without what is nobody's matter but the launcher's.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProfileView {
    /// Its name.
    pub name: ProfileName,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What starts and watches its workers.
    pub launcher: String,
    /// How long one turn may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

/// What a send came to: the reply, or that it is still open.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Sent {
    Reply(Arc<Envelope>),
    Pending(Pending),
}

/// What a start of a recipe came to: the ended run with its value, or that it is still open.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Ran {
    Ended(Box<RunResult>),
    Pending(Pending),
}

/// What was ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Cancelled {
    Turn(Arc<Envelope>),
    Run(Box<RunResult>),
}

/// What became of an answer or a reply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Replied {
    /// The question is answered, and its turn or run goes on.
    Answered { question: QuestionId, answered: bool },
    /// A worker's reply is kept for the end of its turn.
    Noted(Noted),
}

/// How something stands: a turn, a run, a worker, or everybody; with `wait` as after a send or a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Status {
    Turn(Box<Trace>),
    Run(Box<RunDetail>),
    Worker(Box<WorkerView>),
    Everybody { roster: Roster, degraded: Vec<String> },
    Reply(Arc<Envelope>),
    Ended(Box<RunResult>),
    Pending(Pending),
}
