//! Before the library sees a request: who sends it, whether the session that it names is theirs, and that its body
//! has come whole.
//!
//! A session's id is no proof of anything: to everybody but its opener it is as unknown as one that never was. What a
//! caller may do with a tool is looked at where the tool is called.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{self, HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use http_body_util::Full;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use serde_json::json;
use tower::Service;

use super::super::conn::{Conn, Identity};
use super::super::intake;
use super::super::refused::Refused;
use super::Mcp;
use super::handler::Handler;
use super::kept::Standing;
use super::sessions::Sessions;

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

tokio::task_local! {
    /// Who sends the request that the library works on in this task, for those of its hooks that are not told.
    pub(super) static SENDER: Identity;
}

/// What stands before the library.
pub(super) struct Gate {
    pub door: Arc<Mcp>,
    pub sessions: Arc<Sessions>,
    pub library: StreamableHttpService<Handler, Sessions>,
}

/// The gate with the library behind it.
#[derive(Clone)]
pub(super) struct Admitted(pub Arc<Gate>);

impl Service<Request> for Admitted {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let gate = self.0.clone();
        Box::pin(async move { Ok(gate.admit(request).await) })
    }
}

impl Gate {
    /// Lets a request in with its sender's identity, or answers that there is no such session.
    async fn admit(&self, request: Request) -> Response {
        let conn = match Conn::of(&request) {
            Ok(conn) => conn.clone(),
            Err(refusal) => return Refused::from(refusal).into_response(),
        };
        // To the library a body that breaks off is a fault of the server's, one that never comes is waited for, and one
        // that is too large is not read, so that its sender never reads the answer.
        let (parts, body) = request.into_parts();
        let body = match intake::whole(body).await {
            Ok(body) => body,
            Err(refused) => return refused.into_response(),
        };
        // The library would take the last one.
        if let Some(name) = intake::twice(&body) {
            return no_request(&format!("Invalid Request: the field '{name}' is there twice in one object"));
        }
        let mut request = http::Request::from_parts(parts, Full::new(body));
        let session = session_of(request.headers());
        let identity = self.door.shared.identity(&conn, request.headers(), session).await;
        if request.headers().contains_key(SESSION) {
            // One that is no text was never given to anybody.
            let Some(id) = session else { return unknown() };
            let listens = request.method() == Method::GET;
            match self.door.kept.standing(id, &identity, listens).await {
                Standing::Fine => {}
                Standing::Unknown => return unknown(),
                Standing::Stale => {
                    self.sessions.forget(id).await;
                    return unknown();
                }
            }
        }
        // Until its answer begins, and is then read from.
        let underway = session.map(|id| self.sessions.underway(id));
        let ends = request.method() == Method::DELETE;
        request.extensions_mut().insert(identity.clone());
        let mut answer = SENDER.scope(identity, self.library.handle(request)).await.map(Body::new);
        drop(underway);
        if ends && answer.status() == StatusCode::ACCEPTED {
            // It has ended, and is not only going to; some clients take 202 for a failure.
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        answer
    }
}

/// Returns the session that a request names.
pub(super) fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|id| id.to_str().ok())
}

/// A message that is none, as the protocol tells it: of its id nobody can be sure.
fn no_request(why: &str) -> Response {
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": why } });
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

/// The library's own answer for a session that it does not know.
fn unknown() -> Response {
    (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response()
}
