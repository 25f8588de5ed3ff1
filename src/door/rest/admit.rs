//! Before every handler: who calls, by the connection alone (and the token, where one is wanted), whether the rules
//! let them, and the line that the audit gets of it.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use tower::{Layer, Service};

use super::super::audit::{About, Outcome};
use super::super::auth;
use super::super::conn::Conn;
use super::super::refused::Refused;
use super::super::shared::Shared;
use super::{Door, paths, wrong_path};
use crate::config::Auth;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{Door as Way, Verb};

/// The layer before all handlers.
#[derive(Clone)]
pub(super) struct Admission(pub Arc<Door>);

/// A handler with the admission before it.
#[derive(Clone)]
pub(super) struct Admitted<S> {
    door: Arc<Door>,
    inner: S,
}

impl<S> Layer<S> for Admission {
    type Service = Admitted<S>;

    fn layer(&self, inner: S) -> Admitted<S> {
        Admitted { door: self.0.clone(), inner }
    }
}

impl<S> Service<Request> for Admitted<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    /// Finds the caller, refuses what it may not do, and hands the caller on to the handler.
    fn call(&mut self, mut request: Request) -> Self::Future {
        let Some(verb) = paths::verb(request.method(), request.uri().path()) else {
            // It goes on to the refusal that names the right method.
            if paths::methods(request.uri().path()).next().is_some() {
                return self.inner.call(request).boxed();
            }
            // What only the router takes for one of ours, as it does an empty name: no handler without a verb.
            return ready(Ok(wrong_path(request.uri(), request.method()).into_response())).boxed();
        };
        let conn = match Conn::of(&request) {
            Ok(conn) => conn.clone(),
            Err(refusal) => return ready(Ok(Refused::from(refusal).into_response())).boxed(),
        };
        // Open to everybody: a probe costs no look at the processes, and is no decision.
        if is_probe(verb) {
            return match verb == Verb::Metrics && !may_scrape(&self.door.shared, &conn, request.headers()) {
                true => ready(Ok(Refused::from(elsewhere()).into_response())).boxed(),
                false => self.inner.call(request).boxed(),
            };
        }
        // The one that was asked whether it is ready.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let door = self.door.clone();
        Box::pin(async move {
            let shared = &door.shared;
            let identity = shared.identity(&conn, request.headers(), None).await;
            let verb = paths::verb_of(verb, &identity.caller);
            let mut line = shared.begin(&identity, Way::Rest, verb);
            line.note(About::default().ids(paths::id(request.uri().path())));
            if let Err(refusal) = shared.judged(&identity, Way::Rest, verb, &mut line) {
                return Ok(Refused::from(refusal).into_response());
            }
            if identity.token
                && identity.caller == Caller::Leader
                && let Err(refusal) = Box::pin(shared.sit(&identity, None)).await
            {
                return Ok(Refused::from(refusal).into_response());
            }
            request.extensions_mut().insert(identity.caller);
            request.extensions_mut().insert(line.noted());
            let answer = pin!(inner.call(request));
            let outcome = |answer: &Result<Response, _>| {
                answer.as_ref().ok().and_then(|answer| answer.extensions().get().copied()).map(Outcome::Refused)
            };
            line.answered(answer, outcome).await
        })
    }
}

fn elsewhere() -> Refusal {
    let refusal = Refusal::new(RefusalKind::NotAllowed, "the metrics are open on this machine only");
    refusal.hint(auth::HOW)
}

pub(super) fn is_probe(verb: Verb) -> bool {
    matches!(verb, Verb::Health | Verb::Metrics)
}

/// Returns whether the metrics may be read: on this machine by everybody, from elsewhere by the token.
fn may_scrape(shared: &Shared, conn: &Conn, headers: &HeaderMap) -> bool {
    match &*shared.auth {
        Auth::LoopbackTrust => true,
        Auth::Token(of) => conn.is_direct(headers) || auth::proof(headers, &of.token) == auth::Proof::Valid,
    }
}
