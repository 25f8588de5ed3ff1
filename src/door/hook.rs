//! The hook door, `POST /hook`: where an agent would report what it did, by hooks of its own program.
//!
//! Who reports is found out, judged by the rules and audited as at every door. No launcher of this version takes
//! hooks, so a worker is told that; nothing of what it sends is read or kept.

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use super::audit::Outcome;
use super::conn::Conn;
use super::refused::Refused;
use super::shared::Shared;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{Door, Verb};

/// The path.
pub const PATH: &str = "/hook";

/// Returns the one path.
pub fn router(shared: Shared) -> Router {
    Router::new().route(PATH, post(report).fallback(wrong_method)).with_state(shared)
}

async fn report(State(shared): State<Shared>, ConnectInfo(conn): ConnectInfo<Conn>, request: Request) -> Refused {
    let identity = shared.identity(&conn, request.headers(), None).await;
    let mut line = shared.begin(&identity, Door::Hook, Verb::Hook);
    let refusal = match shared.judged(&identity, Door::Hook, Verb::Hook, &mut line) {
        Err(refusal) => refusal,
        Ok(_) => no_hooks(&shared, &identity.caller),
    };
    // What was denied stands in its line already.
    line.write(Some(Outcome::Refused(refusal.kind)));
    refusal.into()
}

fn no_hooks(shared: &Shared, caller: &Caller) -> Refusal {
    let fleet = shared.engine.fleet();
    let of = match caller {
        Caller::Worker { name, .. } => fleet.worker(name).map(|worker| (name, worker.profile.launcher.clone())),
        _ => None,
    };
    let message = match of {
        Some((name, launcher)) => {
            format!("worker {name} was started by the launcher '{launcher}', which takes no hooks")
        }
        None => "this worker takes no hooks".into(),
    };
    Refusal::new(RefusalKind::Conflict, message).hint("a turn ends by the proof that its launcher has; report nothing")
}

async fn wrong_method(request: Request) -> Response {
    let refusal = Refusal::invalid(format!("'{PATH}' does not take {}", request.method())).hint("it takes POST");
    let mut response = Refused::with_status(StatusCode::METHOD_NOT_ALLOWED, refusal).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}
