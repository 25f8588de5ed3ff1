//! One TCP connection: its two ends, and who is on the other one, found out at its first request and then kept.
//! No name in a request may ever count here.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use tokio::sync::OnceCell;

use super::auth;
use super::peer::{self, Ends, Owner, Resolver};
use crate::config::Auth;
use crate::fleet::caller::Caller;
use crate::fleet::ids::WorkerName;
use crate::fleet::worker::Process;

/// An accepted connection; every request on it carries a clone.
#[derive(Debug, Clone)]
pub struct Conn {
    ends: Ends,
    resolver: Resolver,
    owner: Arc<OnceCell<Owner>>,
}

impl Conn {
    /// Returns the connection between these two addresses.
    pub fn new(local: SocketAddr, peer: SocketAddr, resolver: Resolver) -> Self {
        Self { ends: Ends::new(local, peer), resolver, owner: Arc::default() }
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

    /// Returns who is calling, judged anew for each request: workers come and go while a connection stays.
    pub async fn caller(&self, headers: &HeaderMap, roots: &HashMap<Process, WorkerName>, auth: &Auth) -> Caller {
        // "Cannot tell" is not kept: it may have been a moment's trouble, and it gives no rights meanwhile.
        let find = || async { self.resolver.owner(self.ends).await.ok_or(()) };
        let owner = self.owner.get_or_try_init(find).await.ok();
        let proxied = peer::proxied(headers.keys().map(|name| name.as_str()));
        let shown = peer::classify(owner, self.resolver.our_uid(), roots, proxied);
        match auth {
            Auth::LoopbackTrust => shown,
            Auth::Token(of) => auth::by_token(shown, auth::proof(headers, &of.token)),
        }
    }
}
