//! The charter: what the rubrics would say, what is in force, and loading it anew.
//! No Lua and no files: the engine's desk is asked.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::audit::{About, Subject};
use super::super::intake::{Json, Nothing, Query};
use super::super::refused::Refused;
use super::Door;
use crate::engine::ports::Files;
use crate::engine::requests::RouteRequest;
use crate::fleet::caller::Caller;

/// Where a message would go and why; without effect.
pub(super) async fn route(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<RouteRequest>,
) -> Result<Response, Refused> {
    let routed = door.engine.route(&caller, request).await?;
    Ok(Out(routed).into_response())
}

/// What is wanted of the charter's state.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CharterQuery {
    /// Also what the files that lie in the directory would change, in words: they are read and loaded for it, without
    /// their tests and without effect.
    #[serde(default)]
    diff: bool,
}

impl Subject for CharterQuery {}

/// The generation in force, its files, what it changed, and why newer ones were not taken.
pub(super) async fn charter(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<CharterQuery>,
) -> Result<Response, Refused> {
    let status = match query.diff {
        true => door.engine.charter_with_difference(&caller).await?,
        false => door.engine.charter(&caller)?,
    };
    Ok(Out(status).into_response())
}

/// Files that are compared with the charter in force.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DifferenceRequest {
    /// The text of each Lua file, by its path below the charter's directory.
    files: Files,
}

impl Subject for DifferenceRequest {
    fn subject(&self) -> About {
        About::default().bytes(self.files.values().map(String::len).sum())
    }
}

/// What files would change if they were the charter's.
pub(super) async fn difference(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<DifferenceRequest>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.difference(&caller, Some(request.files)).await?).into_response())
}

/// Loads the charter anew if it changed. Takes no body.
pub(super) async fn reload(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.reload(&caller).await?).into_response())
}
