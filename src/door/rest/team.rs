//! Callers and workers: `whoami`, `list`, `spawn`, `stop`.
//! How a worker is started is the launchers' matter.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::intake::{Json, Nothing, Query};
use super::super::refused::Refused;
use super::Door;
use crate::engine::requests::SpawnRequest;
use crate::fleet::caller::{Caller, CallerKind};
use crate::fleet::ids::WorkerName;
use crate::fleet::rules::{self, Verb};

/// Who the caller is, as its connection shows.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Whoami {
    /// What kind of caller it is.
    pub(super) caller: CallerKind,
    /// The worker's name, for a worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<WorkerName>,
    /// For a worker: true for a process that its agent started, false for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) via_child: Option<bool>,
    /// Why the caller was not recognised, for an anonymous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// What the caller may do, as words such as `send` and `poll`.
    pub(super) may: Vec<&'static str>,
    /// The charter generation in force; 0 = none.
    pub(super) generation: u64,
}

/// A worker to be stopped.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StopRequest {
    /// The worker's name.
    worker: String,
    /// True stops it at once, false after its present turn.
    #[serde(default)]
    kill: bool,
}

/// Who the caller is and what it may do; open to everybody.
pub(super) async fn whoami(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Response {
    let kind = caller.kind();
    let may = Verb::ALL.into_iter().filter(|v| rules::allowed(kind, *v)).map(Verb::word).collect();
    let generation = door.engine.fleet().team().map_or(0, |team| team.generation.number);
    let (name, via_child, why) = match caller {
        Caller::Worker { name, via_child } => (Some(name), Some(via_child), None),
        Caller::Anonymous { why } => (None, None, Some(why)),
        Caller::Leader | Caller::Operator => (None, None, None),
    };
    Out(Whoami { caller: kind, name, via_child, why, may, generation }).into_response()
}

/// Everybody: roles with their load, workers, what waits.
pub(super) async fn list(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.roster(&caller)?).into_response())
}

/// Starts a worker; answers when it is ready.
pub(super) async fn spawn(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<SpawnRequest>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.spawn(&caller, request).await?).into_response())
}

/// Stops a worker.
pub(super) async fn stop(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<StopRequest>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.stop(&caller, &request.worker, request.kill).await?).into_response())
}
