//! `/healthz` and `/metrics`: open to everybody on this machine.
//! So no task, no file's text and no name of a caller may come in here.

use std::sync::Arc;

use axum::Json as Out;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::refused::Refused;
use super::Door;

/// How the daemon does.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Health {
    /// True: it answers.
    pub(super) live: bool,
    /// True while it takes work.
    pub(super) ready: bool,
    /// Why it does not work as it should; empty when all is well.
    pub(super) degraded: Vec<String>,
    /// The charter generation in force; 0 = none.
    pub(super) generation: u64,
    /// The program's version.
    pub(super) version: &'static str,
}

/// 200 while it takes work (also degraded, with the reasons), 503 when it does not.
pub(super) async fn healthz(State(door): State<Arc<Door>>) -> Response {
    let health = door.health();
    let status = if health.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Out(health)).into_response()
}

impl Door {
    /// Returns how the daemon does.
    pub(super) fn health(&self) -> Health {
        let closing = self.closing.is_cancelled().then(|| "fleetd is shutting down".to_owned());
        // Only the first line of a reason: what follows may quote a source file.
        let first = |reason: String| reason.lines().next().unwrap_or_default().to_owned();
        Health {
            live: true,
            ready: closing.is_none(),
            degraded: closing.into_iter().chain(self.shared.degraded().into_iter().map(first)).collect(),
            generation: self.engine.fleet().team().map_or(0, |team| team.generation.number),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The metrics as Prometheus text.
pub(super) async fn metrics(State(door): State<Arc<Door>>) -> Result<Response, Refused> {
    let text = door.metrics.render()?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
