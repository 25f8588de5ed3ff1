//! Recipes and their runs: `run`, `runs`, `recipes`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use serde::{Deserialize, Serialize};

use super::super::intake::{Json, Query};
use super::super::refused::Refused;
use super::Door;
use crate::engine::requests::RunRequest;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::Refusal;
use crate::fleet::run::Run;

/// Runs of one answer at most.
const MOST: usize = 1_000;

/// Which runs to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsQuery {
    /// How many at most.
    #[serde(default = "some")]
    limit: usize,
}

/// The newest runs.
#[derive(Debug, Serialize)]
struct Runs {
    runs: Vec<Run>,
}

/// Starts a recipe: 202 with the run; with `wait` 200 with its value, or 202 if it asks or the wait is over.
pub(super) async fn run(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<RunRequest>,
) -> Result<Response, Refused> {
    let wait = request.wait;
    let started = door.engine.start_run(&caller, request).await?;
    match wait {
        Some(wait) => door.wait_run(&caller, started.id, wait).await,
        None => Ok((StatusCode::ACCEPTED, Out(started)).into_response()),
    }
}

/// The newest runs, newest first.
pub(super) async fn runs(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<RunsQuery>,
) -> Result<Response, Refused> {
    if !(1..=MOST).contains(&query.limit) {
        return Err(Refusal::invalid(format!("limit is {}; give 1 to {MOST}", query.limit)).into());
    }
    let runs = door.engine.runs(&caller, query.limit).await?;
    Ok(Out(Runs { runs }).into_response())
}

/// The recipes of the charter in force.
pub(super) async fn recipes(
    State(door): State<Door>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.recipes(&caller)?).into_response())
}

fn some() -> usize {
    20
}
