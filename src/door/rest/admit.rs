//! Before every handler: who calls, by the connection alone (and the token, where one is wanted), whether the rules
//! let them, and the line that the audit gets of it. And the count of what was answered.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::super::audit::{About, Audit, Decision, DoorName, Noted, Outcome, Who};
use super::super::auth;
use super::super::conn::Conn;
use super::super::guard::Stopped;
use super::super::metrics::Metrics;
use super::super::refused::Refused;
use super::{Door, paths};
use crate::config::Auth;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{self, Verb};

/// How long the audit waits for the answer, so that a line tells what came of a request; a call that waits for a reply
/// is told of before it has one.
const SOON: Duration = Duration::from_secs(1);

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
    // Open to everybody: a probe costs no look at the processes, and is no decision.
    if is_probe(verb) {
        return match verb == Verb::Metrics && !door.may_scrape(&conn, request.headers()) {
            true => Refused::from(elsewhere()).into_response(),
            false => next.run(request).await,
        };
    }
    let fleet = door.engine.fleet();
    let roots = fleet.workers().filter_map(|w| Some((w.process?, w.name.clone()))).collect();
    let caller = conn.caller(request.headers(), &roots, &door.auth).await;
    let decision = door.decision(Who::of(&caller, &conn), verb);
    let noted = Noted::default();
    noted.add(About::default().ids(paths::id(request.uri().path())));
    if let Err(refusal) = rules::check(&caller, verb) {
        let (target, _) = noted.told(&fleet);
        door.audit.decided(Decision { target, allowed: false, refusal: Some(refusal.kind), ..decision });
        let refusal = if auth::lacks_token(&caller) { refusal.hint(auth::HOW) } else { refusal };
        return Refused::from(refusal).into_response();
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(noted.clone());
    let mut line = Line { open: Some((door.audit.clone(), decision)), noted, door };
    let mut answer = pin!(next.run(request));
    match tokio::time::timeout(SOON, answer.as_mut()).await {
        Ok(response) => {
            line.write(response.extensions().get().copied().map(Outcome::Refused));
            response
        }
        Err(_) => {
            line.write(Some(Outcome::Open));
            answer.await
        }
    }
}

/// Tells the audit of what the layer over all paths refused, which no handler and no rule ever saw.
pub(super) async fn strangers(
    State(door): State<Door>,
    ConnectInfo(conn): ConnectInfo<Conn>,
    request: Request,
    next: Next,
) -> Response {
    let verb = paths::verb(request.method(), request.uri().path());
    let response = next.run(request).await;
    if response.extensions().get::<Stopped>().is_some()
        && let Some(verb) = verb.filter(|verb| !is_probe(*verb))
    {
        let nobody = Caller::Anonymous { why: String::new() };
        let decision = door.decision(Who::of(&nobody, &conn), verb);
        door.audit.decided(Decision { allowed: false, refusal: Some(RefusalKind::NotAllowed), ..decision });
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

/// The line of a request that was let in. It is written once, also where the request ends without an answer.
struct Line {
    open: Option<(Audit, Decision)>,
    noted: Noted,
    door: Door,
}

impl Line {
    fn write(&mut self, outcome: Option<Outcome>) {
        let Some((audit, decision)) = self.open.take() else { return };
        // The newest snapshot: a worker or a run may be known only since the request.
        let (target, bytes) = self.noted.told(&self.door.engine.fleet());
        audit.decided(Decision { target, bytes, outcome, ..decision });
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.write(Some(match std::thread::panicking() {
            true => Outcome::Refused(RefusalKind::Internal),
            false => Outcome::Left,
        }));
    }
}

impl Door {
    /// Returns whether the metrics may be read: on this machine by everybody, from elsewhere by the token.
    fn may_scrape(&self, conn: &Conn, headers: &HeaderMap) -> bool {
        match &*self.auth {
            Auth::LoopbackTrust => true,
            Auth::Token(of) => conn.is_direct(headers) || auth::proof(headers, &of.token) == auth::Proof::Valid,
        }
    }

    /// Returns what is known of a decision before it is made: that it is let in.
    fn decision(&self, who: Who, verb: Verb) -> Decision {
        Decision {
            at: self.engine.now(),
            door: DoorName::Rest,
            who,
            verb,
            target: Vec::new(),
            allowed: true,
            refusal: None,
            outcome: None,
            bytes: None,
            generation: self.engine.fleet().team().map_or(0, |team| team.generation.number),
        }
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
