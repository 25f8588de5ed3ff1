//! The hook door, `POST /hook`: where an agent reports what it did, by hooks of its own program.
//!
//! Who reports is found out, judged by the rules and audited as at every door. What a report means, the launch room
//! reads by the worker's plan; nothing of it is kept here.

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::audit::Outcome;
use super::conn::{Conn, Identity};
use super::intake;
use super::refused::Refused;
use super::shared::Shared;
use crate::engine::ports::{Report, Source};
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{Door, Verb};

/// The path.
pub const PATH: &str = "/hook";

/// The header with the secret of the session.
pub const TOKEN: &str = "x-fleet-token";

/// Returns the one path.
pub fn router(shared: Shared) -> Router {
    Router::new().route(PATH, post(report).fallback(wrong_method)).with_state(shared)
}

async fn report(State(shared): State<Shared>, ConnectInfo(conn): ConnectInfo<Conn>, request: Request) -> Response {
    let identity = shared.identity(&conn, request.headers(), None).await;
    let mut line = shared.begin(&identity, Door::Hook, Verb::Hook);
    let heard = match shared.judged(&identity, Door::Hook, Verb::Hook, &mut line) {
        Err(refusal) => Err(refusal.into()),
        Ok(_) => hear(&shared, &identity, request).await,
    };
    // What was denied stands in its line already.
    line.write(heard.as_ref().err().map(|refused| Outcome::Refused(refused.kind())));
    match heard {
        // Agents read an empty object as "go on".
        Ok(answer) => Json(answer.unwrap_or_else(|| json!({}))).into_response(),
        Err(refused) => refused.into_response(),
    }
}

async fn hear(shared: &Shared, identity: &Identity, request: Request) -> Result<Option<Value>, Refused> {
    let Caller::Worker { name, via_child } = &identity.caller else {
        return Err(Refusal::new(RefusalKind::NotAllowed, "only a worker's own program has hooks here").into());
    };
    let token = request.headers().get(TOKEN).and_then(|token| token.to_str().ok()).map(str::to_owned);
    // A report holds a whole reply, so it may be as long as any body.
    let body = intake::whole(request.into_body()).await?;
    let payload = serde_json::from_slice(&body)
        .map_err(|error| Refusal::invalid(format!("a report is a JSON object, and this is none: {error}")))?;
    let source = Source { process: identity.process, via_child: *via_child };
    Ok(shared.engine.report(name, Report { payload, token, source }).await?)
}

async fn wrong_method(request: Request) -> Response {
    let refusal = Refusal::invalid(format!("'{PATH}' does not take {}", request.method())).hint("it takes POST");
    let mut response = Refused::with_status(StatusCode::METHOD_NOT_ALLOWED, refusal).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}
