//! Before the library sees a request: who sends it, whether the session that it names is theirs, and that its body
//! has come whole.
//!
//! A session's id is no proof of anything: to everybody but its opener it is as unknown as one that never was. What a
//! caller may do with a tool is looked at where the tool is called.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::super::conn::{Conn, Identity};
use super::super::intake;
use super::Mcp;
use super::kept::Standing;
use super::sessions::Sessions;

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

tokio::task_local! {
    /// Who sends the request that the library works on in this task, for those of its hooks that are not told.
    pub(super) static SENDER: Identity;
}

/// What the layer works with.
#[derive(Clone)]
pub(super) struct Gate {
    pub door: Mcp,
    pub sessions: Arc<Sessions>,
}

/// Lets a request in with its sender's identity, or answers that there is no such session.
pub(super) async fn admit(
    State(gate): State<Gate>,
    ConnectInfo(conn): ConnectInfo<Conn>,
    request: Request,
    next: Next,
) -> Response {
    // To the library a body that breaks off is a fault of the server's, one that never comes is waited for, and one
    // that is too large is not read, so that its sender never reads the answer.
    let (parts, body) = request.into_parts();
    let mut request = match intake::whole(body).await {
        Ok(body) => Request::from_parts(parts, body.into()),
        Err(refused) => return refused.into_response(),
    };
    let session = session_of(request.headers());
    let identity = gate.door.shared.identity(&conn, request.headers(), session).await;
    if request.headers().contains_key(SESSION) {
        // One that is no text was never given to anybody.
        let Some(id) = session else { return unknown() };
        let listens = request.method() == Method::GET;
        match gate.door.kept.standing(id, &identity, listens).await {
            Standing::Fine => {}
            Standing::Unknown => return unknown(),
            Standing::Stale => {
                gate.sessions.forget(id).await;
                return unknown();
            }
        }
    }
    let ends = request.method() == Method::DELETE;
    request.extensions_mut().insert(identity.clone());
    let mut answer = SENDER.scope(identity, next.run(request)).await;
    if ends && answer.status() == StatusCode::ACCEPTED {
        // It has ended, and is not only going to; some clients take 202 for a failure.
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    answer
}

/// Returns the session that a request names.
pub(super) fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|id| id.to_str().ok())
}

/// The library's own answer for a session that it does not know.
fn unknown() -> Response {
    (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response()
}
