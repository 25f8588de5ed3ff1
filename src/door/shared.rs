//! What all doors share: the engine behind them, how callers are known, where decisions are written, and whether the
//! daemon is going down. No door's own matter stands here.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::audit::{Audit, Begun};
use super::auth;
use super::conn::{Conn, Identity};
use super::peer::Doubt;
use crate::config::Auth;
use crate::engine::handle::Handle;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{self, Door, Verb, Verdict};
use crate::fleet::worker::{Worker, WorkerState};

/// How long the fleet may take to hear of a worker that runs.
const ARRIVAL: Duration = Duration::from_secs(5);

/// What every door is built from. Clones are cheap.
#[derive(Clone)]
pub struct Shared {
    /// The engine.
    pub engine: Handle,
    /// How callers are known.
    pub auth: Arc<Auth>,
    /// Where decisions are written.
    pub audit: Audit,
    /// Cancelled when the daemon goes down: calls that wait then answer with where things stand.
    pub closing: CancellationToken,
}

impl Shared {
    /// Returns what doors to an engine share: callers are known by their connection, and no audit is kept.
    pub fn new(engine: Handle, closing: CancellationToken) -> Shared {
        Shared { engine, auth: Arc::default(), audit: Audit::none(), closing }
    }

    /// Changes how callers are known.
    pub fn auth(self, auth: Auth) -> Shared {
        Shared { auth: Arc::new(auth), ..self }
    }

    /// Changes where decisions are written.
    pub fn audit(self, audit: Audit) -> Shared {
        Shared { audit, ..self }
    }

    /// Returns every reason for which fleetd does not work as it should; empty = all is well.
    pub fn degraded(&self) -> Vec<String> {
        self.engine.degraded().into_iter().chain(self.audit.trouble()).collect()
    }

    /// Returns who sends a request, by its connection and, where one is wanted, the token.
    ///
    /// A worker may speak before the fleet has heard that it runs: while one is on its way, what carries a worker's mark
    /// and is below none is looked at again.
    pub async fn identity(&self, conn: &Conn, headers: &HeaderMap, session: Option<&str>) -> Identity {
        let identity = conn.identity(headers, session, &self.engine.fleet(), &self.auth).await;
        match is_stray(&identity.caller) {
            true => Box::pin(self.identity_of_a_stray(conn, headers, session)).await,
            false => identity,
        }
    }

    async fn identity_of_a_stray(&self, conn: &Conn, headers: &HeaderMap, session: Option<&str>) -> Identity {
        let mut published = self.engine.watch();
        let end = Instant::now() + ARRIVAL;
        loop {
            let fleet = published.borrow_and_update().clone();
            let identity = conn.identity(headers, session, &fleet, &self.auth).await;
            let is_new = |worker: &Worker| worker.turn.is_some() || worker.state == WorkerState::Starting;
            let on_its_way = || fleet.workers().any(|worker| is_new(worker) && worker.process.is_none());
            if !is_stray(&identity.caller) || !on_its_way() {
                return identity;
            }
            if !matches!(timeout_at(end, published.changed()).await, Ok(Ok(()))) {
                return identity;
            }
        }
    }

    /// Begins the audit's line of a request.
    pub fn begin(&self, identity: &Identity, door: Door, verb: Verb) -> Begun {
        Begun::new(self.audit.clone(), self.engine.clone(), identity.who.clone(), door, verb)
    }

    /// Returns what the rules, and for a worker its grants, say of a request; a refusal is written down and tells how to be somebody.
    pub fn judged(&self, identity: &Identity, door: Door, verb: Verb, begun: &mut Begun) -> Result<Verdict, Refusal> {
        let (fleet, caller) = (self.engine.fleet(), &identity.caller);
        let verdict = rules::check_with(caller, verb, door, |verb| fleet.is_granted(caller, verb));
        let granted = verdict.and_then(|verdict| fleet.check_grant(caller, verb).map(|()| verdict));
        granted.map_err(|refusal| {
            begun.denied(refusal.kind);
            match auth::lacks_token(caller) {
                true => refusal.hint(auth::HOW),
                false => refusal,
            }
        })
    }

    /// Takes the seat for a session that could be the leader, or keeps it: a seat that is held by a token is held by
    /// being used.
    pub async fn sit(&self, identity: &Identity, session: Option<&str>) -> Result<(), Refusal> {
        let sitter = identity.sitter(session).ok_or_else(|| {
            Refusal::new(RefusalKind::NotAllowed, "nothing shows which session this is, so it cannot be the leader")
        })?;
        self.engine.take_seat(&identity.caller, sitter).await.map(drop)
    }
}

fn is_stray(caller: &Caller) -> bool {
    matches!(caller, Caller::Anonymous { .. }) && *caller == Doubt::Stray.into()
}
