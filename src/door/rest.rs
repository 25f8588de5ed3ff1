//! The REST door: `/message` and `/v1`, health and metrics. Each handler reads a request, asks the engine's desk and
//! gives its answer back; nothing is decided here and no state is kept.
//!
//! Wrong paths, wrong methods and panics get the same `Refusal` as everything else.

mod admit;
mod charter;
mod entrance;
mod health;
mod mail;
mod openapi;
mod paths;
mod runs;
mod team;
#[cfg(test)]
mod tests;
mod turns;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use super::refused::Refused;
use super::shared::Shared;
use crate::engine::handle::Handle;
use crate::fleet::refusal::{Refusal, RefusalKind, nearest};

/// What the handlers work with.
pub struct Door {
    engine: Handle,
    metrics: Metrics,
    closing: CancellationToken,
    shared: Shared,
}

impl Door {
    /// Returns the door. Once the daemon goes down, calls that wait answer with where things stand.
    pub fn new(shared: Shared) -> Self {
        let metrics = Metrics::new(shared.engine.clone(), shared.audit.clone());
        Self { engine: shared.engine.clone(), metrics, closing: shared.closing.clone(), shared }
    }

    /// Returns the routes, those of other doors among them, with everything that stands before all of them.
    pub fn router(self, others: Router) -> Router {
        let door = Arc::new(self);
        Router::new()
            .route("/message", post(turns::message))
            .route("/v1/send", post(turns::send))
            .route("/v1/reply", post(turns::reply))
            .route("/v1/ask", post(turns::ask))
            .route("/v1/cancel", post(turns::cancel))
            .route("/v1/status", get(turns::status))
            .route("/v1/runs/{id}/replay", get(runs::replay))
            .route("/v1/runs/{id}/resume", post(runs::resume))
            .route("/v1/turns/{id}", get(turns::turn))
            .route("/v1/turns/{id}/wait", get(turns::turn_wait))
            .route("/v1/runs/{id}", get(runs::one))
            .route("/v1/runs/{id}/wait", get(runs::one_wait))
            .route("/v1/poll", get(mail::poll))
            .route("/v1/ack", post(mail::ack))
            .route("/v1/whoami", get(team::whoami))
            .route("/v1/list", get(team::list))
            .route("/v1/spawn", post(team::spawn))
            .route("/v1/stop", post(team::stop))
            .route("/v1/run", post(runs::run))
            .route("/v1/runs", get(runs::runs))
            .route("/v1/recipes", get(runs::recipes))
            .route("/v1/route", post(charter::route))
            .route("/v1/charter", get(charter::charter))
            .route("/v1/charter/diff", post(charter::difference))
            .route("/v1/charter/reload", post(charter::reload))
            .route("/v1/worktrees", get(team::worktrees))
            .route("/v1/worktrees/remove", post(team::remove_worktree))
            .route("/v1/seat", get(team::seat))
            .route("/v1/seat/release", post(team::release))
            .route("/v1/pause", post(team::pause))
            .route("/v1/resume", post(team::resume))
            .route("/v1/openapi.json", get(openapi::openapi))
            .route("/healthz", get(health::healthz))
            .route("/metrics", get(health::metrics))
            .route_layer(admit::Admission(door.clone()))
            .with_state(door.clone())
            .merge(others)
            .method_not_allowed_fallback(wrong_method)
            .fallback(|uri: Uri, method: Method| async move { wrong_path(&uri, &method) })
            .layer(entrance::Entrance(door))
    }
}

fn wrong_path(uri: &Uri, method: &Method) -> Refused {
    let refusal = Refusal::new(RefusalKind::Unknown, format!("there is no path '{}'", uri.path()));
    let all = paths::PATHS.iter().map(|p| p.path).chain(paths::OTHER_DOORS);
    let near = nearest(uri.path(), all).map(|near| format!("did you mean '{near}'?"));
    let refusal = near.into_iter().fold(refusal, Refusal::hint);
    let fitting: Vec<&str> = paths::PATHS.iter().filter(|p| p.method == *method).map(|p| p.path).collect();
    let refusal = match fitting.is_empty() {
        true => refusal.hint(format!("no path takes {method}; GET and POST are what most take")),
        false => refusal.hint(format!("{method} is taken by: {}", fitting.join(", "))),
    };
    refusal.hint("MCP clients are to be given /mcp").into()
}

async fn wrong_method(request: Request) -> Response {
    let path = request.uri().path();
    let valid: Vec<String> = paths::methods(path).map(|m| m.to_string()).collect();
    let refusal = Refusal::invalid(format!("'{path}' does not take {}", request.method()))
        .hint(format!("it takes {}", valid.join(" and ")));
    let mut response = Refused::with_status(StatusCode::METHOD_NOT_ALLOWED, refusal).into_response();
    if let Ok(allow) = HeaderValue::from_str(&valid.join(", ")) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}
