//! Before every handler: who calls, by the connection alone (and the token, where one is wanted), whether the rules
//! let them, and the line that the audit gets of it. And the count of what was answered.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::super::audit::{About, Outcome, Who};
use super::super::auth;
use super::super::conn::{Conn, Identity};
use super::super::guard::Stopped;
use super::super::metrics::Metrics;
use super::super::refused::Refused;
use super::super::shared::Shared;
use super::{Door, paths};
use crate::config::Auth;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{Door as Way, Verb};

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
    let shared = &door.shared;
    // Open to everybody: a probe costs no look at the processes, and is no decision.
    if is_probe(verb) {
        return match verb == Verb::Metrics && !may_scrape(shared, &conn, request.headers()) {
            true => Refused::from(elsewhere()).into_response(),
            false => next.run(request).await,
        };
    }
    let identity = shared.identity(&conn, request.headers(), None).await;
    let verb = paths::verb_of(verb, &identity.caller);
    let mut line = shared.begin(&identity, Way::Rest, verb);
    line.note(About::default().ids(paths::id(request.uri().path())));
    if let Err(refusal) = shared.judged(&identity, Way::Rest, verb, &mut line) {
        return Refused::from(refusal).into_response();
    }
    if identity.token
        && identity.caller == Caller::Leader
        && let Err(refusal) = shared.sit(&identity, None).await
    {
        return Refused::from(refusal).into_response();
    }
    request.extensions_mut().insert(identity.caller);
    request.extensions_mut().insert(line.noted());
    line.answered(next.run(request), |answer| answer.extensions().get().copied().map(Outcome::Refused)).await
}

/// Tells the audit of what the layer over all paths refused, which no handler and no rule ever saw.
pub(super) async fn strangers(
    State(door): State<Door>,
    ConnectInfo(conn): ConnectInfo<Conn>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    // At the other doors what was wanted stands in a body that nobody has read.
    let wanted = match path {
        "/mcp" => Some((Way::Mcp, Verb::Whoami)),
        "/hook" => Some((Way::Hook, Verb::Hook)),
        path => paths::verb(request.method(), path).map(|verb| (Way::Rest, verb)),
    };
    let response = next.run(request).await;
    if response.extensions().get::<Stopped>().is_some()
        && let Some((way, verb)) = wanted.filter(|(_, verb)| !is_probe(*verb))
    {
        let caller = Caller::Anonymous { why: String::new() };
        let who = Who::of(&caller, &conn);
        let nobody = Identity { caller, process: None, token: false, who };
        door.shared.begin(&nobody, way, verb).denied(RefusalKind::NotAllowed);
    }
    response
}

fn elsewhere() -> Refusal {
    let refusal = Refusal::new(RefusalKind::NotAllowed, "the metrics are open on this machine only");
    refusal.hint(auth::HOW)
}

fn is_probe(verb: Verb) -> bool {
    matches!(verb, Verb::Health | Verb::Metrics)
}

/// Returns whether the metrics may be read: on this machine by everybody, from elsewhere by the token.
fn may_scrape(shared: &Shared, conn: &Conn, headers: &HeaderMap) -> bool {
    match &*shared.auth {
        Auth::LoopbackTrust => true,
        Auth::Token(of) => conn.is_direct(headers) || auth::proof(headers, &of.token) == auth::Proof::Valid,
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
