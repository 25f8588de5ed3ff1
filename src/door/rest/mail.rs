//! The caller's mailbox: `poll` and `ack`.
//! Nobody else's mailbox can be named.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::audit::{About, Subject};
use super::super::intake::{Json, Query, wait};
use super::super::refused::Refused;
use super::Door;
use crate::engine::desk::MOST_MAIL;
use crate::fleet::caller::Caller;
use crate::fleet::ids::MessageId;
use crate::fleet::time::Span;

/// What to read of the mailbox.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PollQuery {
    /// Only what came after this message.
    #[serde(default)]
    after: Option<MessageId>,
    /// How many messages at most.
    #[serde(default = "some")]
    #[schemars(range(min = 1, max = MOST_MAIL))]
    limit: usize,
    /// How long to wait while there is nothing, as `30s` or a number of seconds, 60 minutes at most.
    #[serde(default, deserialize_with = "wait")]
    wait: Option<Span>,
}

/// What to collect.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AckRequest {
    /// The messages that are done with.
    messages: Vec<MessageId>,
}

impl Subject for PollQuery {
    fn subject(&self) -> About {
        About::default().ids(self.after)
    }
}

impl Subject for AckRequest {
    fn subject(&self) -> About {
        About::default().ids(&self.messages)
    }
}

/// What waits for the caller; with `wait` a long poll.
pub(super) async fn poll(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<PollQuery>,
) -> Result<Response, Refused> {
    let PollQuery { after, limit, wait } = query;
    let mail = tokio::select! {
        mail = door.engine.poll(&caller, after, limit, wait) => mail,
        () = door.closing.cancelled() => door.engine.poll(&caller, after, limit, None).await,
    };
    Ok(Out(mail?).into_response())
}

/// Collects messages.
pub(super) async fn ack(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<AckRequest>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.ack(&caller, request.messages).await?).into_response())
}

fn some() -> usize {
    50
}
