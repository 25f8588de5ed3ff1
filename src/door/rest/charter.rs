//! The charter: what the rubrics would say, what is in force, and loading it anew.
//! No Lua and no files: the engine's desk is asked.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Out};

use super::super::intake::{Json, Nothing, Query};
use super::super::refused::Refused;
use super::Door;
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

/// The generation in force, its files, and why newer ones were not taken.
pub(super) async fn charter(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.charter(&caller)?).into_response())
}

/// Loads the charter anew if it changed. Takes no body.
pub(super) async fn reload(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, Refused> {
    Ok(Out(door.engine.reload(&caller).await?).into_response())
}
