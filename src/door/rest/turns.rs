//! Messages and their turns: `/message`, `send`, `reply`, `cancel`, `status`, one turn in full and the wait for it.
//! A handler that goes away ends a wait, never a turn.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::audit::{About, Noted, Subject};
use super::super::intake::{Json, Nothing, Query, wait};
use super::super::refused::Refused;
use super::Door;
use super::health::Health;
use crate::engine::requests::{AskRequest, Origin, ReplyRequest, RunWaited, SendRequest, Waited};
use crate::fleet::caller::Caller;
use crate::fleet::ids::{RunId, TurnId, WorkerName};
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Span;
use crate::fleet::view::Roster;

/// How long a call that is there to wait does so unless told otherwise.
pub(super) const WAIT: Span = Span::minutes(10);

/// A turn or a run to be ended; exactly one is given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["turn", "run"]))]
pub(super) struct CancelRequest {
    /// The turn: withdrawn if it waits, interrupted if it runs.
    #[serde(default)]
    turn: Option<TurnId>,
    /// The run: ended with all its open turns.
    #[serde(default)]
    run: Option<RunId>,
}

/// What to look at; nothing given = everybody.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusQuery {
    /// This turn.
    #[serde(default)]
    turn: Option<TurnId>,
    /// This run.
    #[serde(default)]
    run: Option<RunId>,
    /// This worker.
    #[serde(default)]
    worker: Option<String>,
    /// How long to wait for the end of the turn or run, as `60s` or a number of seconds, 60 minutes at most.
    #[serde(default, deserialize_with = "wait")]
    wait: Option<Span>,
}

/// Everybody, and how the daemon does.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Everything {
    #[serde(flatten)]
    pub(super) roster: Roster,
    /// How the daemon does.
    pub(super) health: Health,
}

/// How long to wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// How long to wait, as `60s` or a number of seconds; 10 minutes if absent, 60 at most.
    #[serde(default, deserialize_with = "wait")]
    pub wait: Option<Span>,
}

impl Subject for CancelRequest {
    fn subject(&self) -> About {
        About::default().ids(self.turn).ids(self.run)
    }
}

impl Subject for StatusQuery {
    fn subject(&self) -> About {
        About::default().names(&self.worker).ids(self.turn).ids(self.run)
    }
}

impl Subject for WaitQuery {}

/// Sends and waits for the reply: 200 with the envelope, 202 if it asks or the wait is over.
pub(super) async fn message(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Extension(noted): Extension<Noted>,
    Json(request): Json<SendRequest>,
) -> Result<Response, Refused> {
    let wait = request.wait.unwrap_or(WAIT);
    // Boxed, so that a call that waits for the reply holds no room for what is over.
    let turn = Box::pin(door.engine.send(&caller, request, &Origin::default())).await?.turn.id;
    noted.add(About::default().id(turn));
    door.wait_turn(&caller, turn, wait).await
}

/// Sends and answers at once, 202 with the turn and why it waits; with `wait` as `/message`.
pub(super) async fn send(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Extension(noted): Extension<Noted>,
    Json(request): Json<SendRequest>,
) -> Result<Response, Refused> {
    let wait = request.wait;
    let accepted = Box::pin(door.engine.send(&caller, request, &Origin::default())).await?;
    noted.add(About::default().id(accepted.turn.id));
    match wait {
        Some(wait) => door.wait_turn(&caller, accepted.turn.id, wait).await,
        None => Ok((StatusCode::ACCEPTED, Out(accepted)).into_response()),
    }
}

/// Answers a question; from a worker, replies to the turn that it has.
pub(super) async fn reply(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<ReplyRequest>,
) -> Result<Response, Refused> {
    match caller {
        Caller::Worker { .. } if request.question.is_some() => Err(Refusal::invalid("a worker answers no question")
            .hint("leave 'question' out to reply to your turn")
            .into()),
        Caller::Worker { .. } => Ok(Out(door.engine.reply(&caller, request.turn, request.text).await?).into_response()),
        _ => Ok(Out(door.engine.answer(&caller, request).await?).into_response()),
    }
}

/// Asks inside the turn that a worker has: 200 with the answer, 202 if the wait is over first.
pub(super) async fn ask(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<AskRequest>,
) -> Result<Response, Refused> {
    let wait = request.wait.unwrap_or(WAIT);
    let origin = Origin::default();
    let asked = tokio::select! {
        asked = door.engine.ask(&caller, request.clone(), &origin, wait) => asked,
        () = door.closing.cancelled() => door.engine.ask(&caller, request, &origin, Span(0)).await,
    }?;
    let status = if asked.answer.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Out(asked)).into_response())
}

/// Withdraws a queued turn, interrupts a running one, or ends a run.
pub(super) async fn cancel(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<CancelRequest>,
) -> Result<Response, Refused> {
    match (request.turn, request.run) {
        (Some(turn), None) => Ok(Out(door.engine.cancel_turn(&caller, turn).await?).into_response()),
        (None, Some(run)) => Ok(Out(door.engine.cancel_run(&caller, run).await?).into_response()),
        _ => Err(Refusal::invalid("give exactly one of 'turn' and 'run'").into()),
    }
}

/// One turn, run or worker in full, or everybody. With `wait`, a turn or run is waited for as by `/message`.
pub(super) async fn status(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<StatusQuery>,
) -> Result<Response, Refused> {
    match (query.turn, query.run, query.worker, query.wait) {
        (Some(turn), None, None, None) => Ok(Out(door.engine.trace(&caller, turn).await?).into_response()),
        (Some(turn), None, None, Some(wait)) => door.wait_turn(&caller, turn, wait).await,
        (None, Some(run), None, None) => Ok(Out(door.engine.run_detail(&caller, run).await?).into_response()),
        (None, Some(run), None, Some(wait)) => door.wait_run(&caller, run, wait).await,
        (None, None, Some(name), None) => door.worker(&caller, &name),
        (None, None, None, None) => {
            let (roster, health) = (door.engine.roster(&caller)?, door.health());
            Ok(Out(Everything { roster, health }).into_response())
        }
        (_, _, _, Some(_)) => Err(Refusal::invalid("'wait' needs exactly one of 'turn' and 'run'").into()),
        _ => Err(Refusal::invalid("give one of 'turn', 'run' and 'worker', or none").into()),
    }
}

/// One turn in full, as by `status`.
pub(super) async fn turn(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id<TurnId>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.trace(&caller, id).await?).into_response())
}

/// Waits for a turn as `/message` does.
pub(super) async fn turn_wait(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id<TurnId>,
    Query(query): Query<WaitQuery>,
) -> Result<Response, Refused> {
    door.wait_turn(&caller, id, query.wait.unwrap_or(WAIT)).await
}

/// The id in a path; the error says which form it has.
pub(super) struct Id<T>(pub T);

impl<S: Send + Sync, T: FromStr<Err = String>> FromRequestParts<S> for Id<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let id = match Path::from_request_parts(parts, state).await {
            Ok(Path(id)) => id,
            // Its percent signs make no text: it is told as it came.
            Err(_) => parts.uri.path().to_owned(),
        };
        id.parse().map(Id).map_err(|wrong: String| Refusal::invalid(wrong).into())
    }
}

impl Door {
    /// Waits for a turn; when the daemon goes down the caller is told where the turn stands, and it goes on.
    pub(super) async fn wait_turn(&self, caller: &Caller, turn: TurnId, wait: Span) -> Result<Response, Refused> {
        let waited = tokio::select! {
            waited = self.engine.wait_turn(caller, turn, wait) => waited,
            () = self.closing.cancelled() => self.engine.wait_turn(caller, turn, Span(0)).await,
        };
        Ok(match waited? {
            Waited::Settled(envelope) => Out(envelope).into_response(),
            Waited::Open(pending) => (StatusCode::ACCEPTED, Out(pending)).into_response(),
        })
    }

    /// Waits for a run, likewise.
    pub(super) async fn wait_run(&self, caller: &Caller, run: RunId, wait: Span) -> Result<Response, Refused> {
        let waited = tokio::select! {
            waited = self.engine.wait_run(caller, run, wait) => waited,
            () = self.closing.cancelled() => self.engine.wait_run(caller, run, Span(0)).await,
        };
        Ok(match waited? {
            RunWaited::Ended(result) => Out(result).into_response(),
            RunWaited::Open(pending) => (StatusCode::ACCEPTED, Out(pending)).into_response(),
        })
    }

    fn worker(&self, caller: &Caller, name: &str) -> Result<Response, Refused> {
        let wanted = WorkerName::from(name);
        let roster = self.engine.roster(caller)?;
        match roster.workers.iter().find(|w| w.name == wanted) {
            Some(worker) => Ok(Out(worker).into_response()),
            None => {
                let names = roster.workers.iter().map(|w| w.name.as_str());
                Err(Refusal::unknown("worker", name, names).into())
            }
        }
    }
}
