//! Before every handler: who calls, by the connection alone, and whether the rules let them.
//! And the count of what was answered.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::super::conn::Conn;
use super::super::metrics::Metrics;
use super::super::refused::Refused;
use super::{Door, paths};
use crate::fleet::rules::{self, Door as Way, Verb};

/// Finds the caller, refuses what it may not do, and hands the caller on to the handler.
pub(super) async fn admit(
    State(door): State<Door>,
    ConnectInfo(conn): ConnectInfo<Conn>,
    mut request: Request,
    next: Next,
) -> Response {
    // A path with another method goes on to the refusal that names the right one.
    let Some(verb) = paths::verb(request.method(), request.uri().path()) else {
        return next.run(request).await;
    };
    // Open to everybody: a probe costs no look at the processes.
    if matches!(verb, Verb::Health | Verb::Metrics) {
        return next.run(request).await;
    }
    let identity = conn.identity(request.headers(), &door.engine.fleet()).await;
    let caller = identity.caller;
    let verb = paths::verb_of(verb, &caller);
    let checked = rules::check_at(&caller, verb, Way::Rest);
    tracing::debug!(door = "rest", caller = ?caller, verb = verb.word(), allowed = checked.is_ok(), "decided");
    match checked {
        Ok(_) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => Refused::from(refusal).into_response(),
    }
}

/// Counts a request, also one that is refused or whose client goes away.
pub(super) async fn tally(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let path = paths::label(request.uri().path());
    let _open = metrics.open();
    let response = next.run(request).await;
    metrics.answered(path, response.status().as_u16());
    response
}
