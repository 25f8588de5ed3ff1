//! One TCP connection: its two ends, and who is on the other one, found out at its first request and then kept.
//! No name in a request may ever count here.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use tokio::sync::OnceCell;

use super::peer::{self, Ends, Owner, Resolver};
use crate::fleet::Fleet;
use crate::fleet::caller::Caller;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What that makes of them.
    pub caller: Caller,
    /// The process that owns the connection, if it is one of this machine; of several the eldest.
    pub process: Option<Process>,
    /// Whether it is known by the token that it showed.
    pub token: bool,
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

    /// Returns the port on which the connection was accepted.
    pub fn port(&self) -> u16 {
        self.ends.local.port()
    }

    /// Returns who is calling, judged anew for each request: workers come and go while a connection stays.
    pub async fn identity(&self, headers: &HeaderMap, fleet: &Fleet) -> Identity {
        // "Cannot tell" is not kept: it may have been a moment's trouble, and it gives no rights meanwhile.
        let find = || async { self.resolver.owner(self.ends).await.ok_or(()) };
        let owner = self.owner.get_or_try_init(find).await.ok();
        let roots = fleet.workers().filter_map(|w| Some((w.process?, w.name.clone()))).collect();
        let seat = fleet.seat().and_then(|seat| match seat.sitter {
            Sitter::Process(process) => Some(process),
            Sitter::Session(_) | Sitter::Token => None,
        });
        let proxied = peer::proxied(headers.keys().map(|name| name.as_str()));
        Identity {
            caller: peer::classify(owner, self.resolver.our_uid(), &roots, seat, proxied),
            process: owner.and_then(|owner| owner.holders.iter().map(|h| h.process).min_by_key(|p| (p.start, p.pid))),
            token: false,
        }
    }
}
