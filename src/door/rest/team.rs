//! Callers and workers: `whoami`, `list`, `spawn`, `stop`; the seat, the pause, the worktrees.
//! How a worker is started is the launchers' matter.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::audit::{About, Noted, Subject};
use super::super::intake::{Json, Nothing, Query};
use super::super::refused::Refused;
use super::super::whoami::Whoami;
use super::Door;
use crate::engine::requests::{Origin, SpawnRequest};
use crate::engine::worktrees::RemoveWorktreeRequest;
use crate::fleet::caller::Caller;
use crate::fleet::rules::Door as Way;

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

impl Subject for StopRequest {
    fn subject(&self) -> About {
        About::default().name(&self.worker)
    }
}

impl Subject for RemoveWorktreeRequest {
    fn subject(&self) -> About {
        About::default().name(&self.name)
    }
}

/// Who the caller is and what it may do; open to everybody.
pub(super) async fn whoami(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Response {
    Out(Whoami::of(&caller, Way::Rest, &door.engine)).into_response()
}

/// Everybody: roles with their load, workers, what waits.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.roster(&caller)?).into_response())
}

/// Starts a worker; answers when it is ready.
pub(super) async fn spawn(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Extension(noted): Extension<Noted>,
    Json(request): Json<SpawnRequest>,
) -> Result<Response, Refused> {
    let worker = door.engine.spawn(&caller, request, &Origin::default()).await?;
    noted.add(About::default().id(&worker.name));
    Ok(Out(worker).into_response())
}

/// Stops a worker.
pub(super) async fn stop(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<StopRequest>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.stop(&caller, &request.worker, request.kill).await?).into_response())
}

/// The worktrees of workers.
pub(super) async fn worktrees(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.worktrees(&caller).await?).into_response())
}

/// Moves a worktree to the trash.
pub(super) async fn remove_worktree(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<RemoveWorktreeRequest>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.remove_worktree(&caller, request).await?).into_response())
}

/// Who sits in the seat.
pub(super) async fn seat(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.seat(&caller)?).into_response())
}

/// Frees the seat. Takes no body.
pub(super) async fn release(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.release_seat(&caller).await?).into_response())
}

/// Hands out nothing from now on. Takes no body.
pub(super) async fn pause(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.pause(&caller).await?).into_response())
}

/// Hands out again. Takes no body.
pub(super) async fn resume(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.unpause(&caller).await?).into_response())
}
