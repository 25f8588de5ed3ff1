//! One TCP connection: its two ends, and who is on the other one, found out at its first request and then kept.
//! No name in a request may ever count here.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use tokio::sync::OnceCell;

use super::peer::{self, Ends, Owner, Resolver};
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

    /// Returns the port on which the connection was accepted.
    pub fn port(&self) -> u16 {
        self.ends.local.port()
    }

    /// Returns who is calling, judged anew for each request: workers come and go while a connection stays.
    pub async fn caller(&self, headers: &HeaderMap, roots: &HashMap<Process, WorkerName>) -> Caller {
        // "Cannot tell" is not kept: it may have been a moment's trouble, and it gives no rights meanwhile.
        let find = || async { self.resolver.owner(self.ends).await.ok_or(()) };
        let owner = self.owner.get_or_try_init(find).await.ok();
        let proxied = peer::proxied(headers.keys().map(|name| name.as_str()));
        peer::classify(owner, self.resolver.our_uid(), roots, proxied)
    }
}
