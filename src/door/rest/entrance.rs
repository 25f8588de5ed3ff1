//! What every request passes, also one for a path that is not there: it is counted, even if its client goes away; what
//! comes by a foreign name or page is kept out; and a panic becomes an answer.
//!
//! A service by hand and one for all of it: each layer that the web library makes of a function copies the whole rest of
//! the way for every request, and ten thousand held calls keep each copy.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use tower::{Layer, Service};

use super::super::audit::Who;
use super::super::conn::{Conn, Identity};
use super::super::guard;
use super::super::refused::Refused;
use super::super::shared::Shared;
use super::admit::is_probe;
use super::{Door, paths};
use crate::fleet::caller::Caller;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::rules::{Door as Way, Verb};

/// The layer over all paths.
#[derive(Clone)]
pub(super) struct Entrance(pub Arc<Door>);

/// A path with the entrance before it.
#[derive(Clone)]
pub(super) struct Entered<S> {
    door: Arc<Door>,
    inner: S,
}

impl<S> Layer<S> for Entrance {
    type Service = Entered<S>;

    fn layer(&self, inner: S) -> Entered<S> {
        Entered { door: self.0.clone(), inner }
    }
}

impl<S> Service<Request> for Entered<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let door = self.door.clone();
        let label = paths::label(request.uri().path());
        let open = door.metrics.open();
        let answered = move |response: Response| {
            door.metrics.answered(label, response.status().as_u16());
            drop(open);
            Ok(response)
        };
        let checked = Conn::of(&request).and_then(|conn| {
            let refused = guard::check(&self.door.shared.auth, conn, &request);
            refused.inspect_err(|_| tell_stranger(&self.door.shared, conn, &request))
        });
        if let Err(refusal) = checked {
            return ready(answered(Refused::from(refusal).into_response())).boxed();
        }
        let path = request.uri().path().to_owned();
        match catch_unwind(AssertUnwindSafe(|| self.inner.call(request))) {
            // One future around the other and no function: each is kept only once.
            Ok(answer) => AssertUnwindSafe(answer).catch_unwind().map(move |done| answered(of(&path, done))).boxed(),
            Err(panic) => ready(answered(of(&path, Err(panic)))).boxed(),
        }
    }
}

fn of(path: &str, done: Result<Result<Response, Infallible>, Box<dyn Any + Send>>) -> Response {
    match done {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(panic) => guard::broken(path, panic.as_ref()),
    }
}

/// Tells the audit of what was refused here, which no rule ever saw.
fn tell_stranger(shared: &Shared, conn: &Conn, request: &Request) {
    // At the other doors what was wanted stands in a body that nobody has read.
    let wanted = match request.uri().path() {
        "/mcp" => Some((Way::Mcp, Verb::Whoami)),
        "/hook" => Some((Way::Hook, Verb::Hook)),
        path => paths::verb(request.method(), path).map(|verb| (Way::Rest, verb)),
    };
    if let Some((way, verb)) = wanted.filter(|(_, verb)| !is_probe(*verb)) {
        let caller = Caller::Anonymous { why: String::new() };
        let who = Who::of(&caller, conn);
        let nobody = Identity { caller, process: None, token: false, who };
        shared.begin(&nobody, way, verb).denied(RefusalKind::NotAllowed);
    }
}
