//! One TCP connection: its two ends, and who is on the other one, found out at its first request and then kept.
//! No name in a request may ever count here.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use tokio::sync::OnceCell;

use super::audit::Who;
use super::auth::{self, Proof};
use super::peer::{self, Ends, Owner, Resolver};
use crate::config::Auth;
use crate::fleet::Fleet;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::seat::Sitter;
use crate::fleet::worker::Process;

/// An accepted connection; every request on it carries a clone.
#[derive(Debug, Clone)]
pub struct Conn {
    ends: Ends,
    resolver: Resolver,
    owner: Arc<OnceCell<Owner>>,
}

/// Who sends a request, as its connection shows.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What that makes of them.
    pub caller: Caller,
    /// The process that owns the connection, if it is one of this machine; of several the eldest.
    pub process: Option<Process>,
    /// Whether it is known by the token that it showed.
    pub token: bool,
    /// What the audit says of them.
    pub who: Who,
}

impl Identity {
    /// Returns what would sit in the seat if this caller took it by a request of this session.
    pub fn sitter(&self, session: Option<&str>) -> Option<Sitter> {
        match (self.token, session) {
            (true, Some(session)) => Some(Sitter::Session(session.into())),
            (true, None) => Some(Sitter::Token),
            (false, _) => self.process.map(Sitter::Process),
        }
    }
}

impl Conn {
    /// Returns the connection between these two addresses.
    pub fn new(local: SocketAddr, peer: SocketAddr, resolver: Resolver) -> Self {
        Self { ends: Ends::new(local, peer), resolver, owner: Arc::default() }
    }

    /// Returns the connection that a request came by.
    pub fn of(request: &Request) -> Result<&Conn, Refusal> {
        let found = request.extensions().get::<ConnectInfo<Conn>>().map(|ConnectInfo(conn)| conn);
        // The listener puts it into every one.
        found.ok_or_else(|| Refusal::new(RefusalKind::Internal, "the connection of the request is not known"))
    }

    /// Returns the address at which the connection was accepted; a listener on all addresses has many.
    pub fn local(&self) -> SocketAddr {
        self.ends.local
    }

    /// Returns the address that the connection comes from.
    pub fn peer(&self) -> SocketAddr {
        self.ends.peer
    }

    /// Returns whether a request comes from a process of this machine, and not through a proxy on it.
    pub fn is_direct(&self, headers: &HeaderMap) -> bool {
        self.ends.of_this_machine() && !peer::proxied(headers.keys().map(|name| name.as_str()))
    }

    /// Returns the process on the other end, once a caller was asked for and where it could be found.
    pub fn pid(&self) -> Option<i32> {
        self.owner.get().and_then(|owner| owner.holders.first()).map(|holder| holder.process.pid)
    }

    /// Returns who sends a request of a session, judged anew for each: workers come and go, and the seat changes, while
    /// a connection stays.
    pub async fn identity(&self, headers: &HeaderMap, session: Option<&str>, fleet: &Fleet, auth: &Auth) -> Identity {
        // "Cannot tell" is not kept: it may have been a moment's trouble, and it gives no rights meanwhile.
        let find = || async { self.resolver.owner(self.ends).await.ok_or(()) };
        let owner = self.owner.get_or_try_init(find).await.ok();
        let roots: Vec<_> = fleet.workers().filter_map(|worker| Some((worker.process?, &worker.name))).collect();
        let root = |process: &Process| roots.iter().find(|(root, _)| root == process).map(|(_, name)| *name);
        let seat = fleet.seat().map(|seat| &seat.sitter);
        let sitting = match seat {
            Some(Sitter::Process(process)) => Some(*process),
            _ => None,
        };
        let proxied = peer::proxied(headers.keys().map(|name| name.as_str()));
        let shown = peer::classify(owner, self.resolver.our_uid(), root, sitting, proxied);
        let process = owner.and_then(|owner| owner.holders.iter().map(|h| h.process).min_by_key(|p| (p.start, p.pid)));
        let (caller, token) = match auth {
            Auth::LoopbackTrust => (shown, false),
            Auth::Token(of) => {
                let proof = auth::proof(headers, &of.token);
                (auth::by_token(shown, proof), proof == Proof::Valid)
            }
        };
        let who = Who::of(&caller, self);
        let mut identity = Identity { caller, process, token, who };
        if identity.caller == Caller::Operator && token && seat == identity.sitter(session).as_ref() {
            identity.caller = Caller::Leader;
            identity.who = Who::of(&identity.caller, self);
        }
        identity
    }
}
