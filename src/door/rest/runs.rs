//! Recipes and their runs: `run`, `runs`, `recipes`, one run in full and the wait for it.
//! What a recipe does is the charter's matter.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::audit::{About, Noted, Subject};
use super::super::intake::{Json, Nothing, Query};
use super::super::refused::Refused;
use super::Door;
use super::turns::{Id, WAIT, WaitQuery};
use crate::engine::requests::{Origin, ResumeRequest, RunRequest, WhichCharter};
use crate::fleet::caller::Caller;
use crate::fleet::ids::RunId;
use crate::fleet::refusal::Refusal;
use crate::fleet::run::Run;

/// Runs of one answer at most.
const MOST: usize = 1_000;

/// Which runs to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsQuery {
    /// How many runs at most.
    #[serde(default = "some")]
    #[schemars(range(min = 1, max = MOST))]
    limit: usize,
}

/// The newest runs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Runs {
    /// Newest first.
    pub(super) runs: Vec<Run>,
}

impl Subject for RunsQuery {}

/// Starts a recipe: 202 with the run; with `wait` 200 with its value, or 202 if it asks or the wait is over.
pub(super) async fn run(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Extension(noted): Extension<Noted>,
    Json(request): Json<RunRequest>,
) -> Result<Response, Refused> {
    let wait = request.wait;
    let started = door.engine.start_run(&caller, request, &Origin::default()).await?;
    noted.add(About::default().id(started.id));
    match wait {
        Some(wait) => door.wait_run(&caller, started.id, wait).await,
        None => Ok((StatusCode::ACCEPTED, Out(started)).into_response()),
    }
}

/// The newest runs, newest first.
pub(super) async fn runs(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<RunsQuery>,
) -> Result<Response, Refused> {
    if !(1..=MOST).contains(&query.limit) {
        return Err(Refusal::invalid(format!("limit is {}; give 1 to {MOST}", query.limit)).into());
    }
    let runs = door.engine.runs(&caller, query.limit).await?;
    Ok(Out(Runs { runs }).into_response())
}

/// One run in full, as by `status`.
pub(super) async fn one(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id<RunId>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.run_detail(&caller, id).await?).into_response())
}

/// By which charter a run is replayed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayQuery {
    /// The one that it began with if absent, or the one in force.
    #[serde(default = "begun")]
    charter: WhichCharter,
}

impl Subject for ReplayQuery {}
impl Subject for ResumeRequest {}

fn begun() -> WhichCharter {
    WhichCharter::Begun
}

/// Goes through the journal of a run without doing anything.
pub(super) async fn replay(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id<RunId>,
    Query(query): Query<ReplayQuery>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.replay_run(&caller, id, query.charter).await?).into_response())
}

/// Lets a run go on that failed.
pub(super) async fn resume(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id<RunId>,
    Json(request): Json<ResumeRequest>,
) -> Result<Response, Refused> {
    let run = door.engine.resume_run(&caller, id, request).await?;
    Ok((StatusCode::ACCEPTED, Out(run)).into_response())
}

/// Waits for a run to end or to ask.
pub(super) async fn one_wait(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id<RunId>,
    Query(query): Query<WaitQuery>,
) -> Result<Response, Refused> {
    door.wait_run(&caller, id, query.wait.unwrap_or(WAIT)).await
}

/// The recipes of the charter in force.
pub(super) async fn recipes(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.recipes(&caller)?).into_response())
}

fn some() -> usize {
    20
}
