//! The listener: our own accept loop, so that a slow client cannot hold a connection without ever sending a request,
//! and so that every connection carries its own `Conn`.
//!
//! No paths and no handlers here; whatever router is handed in is served.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::conn::Conn;
use super::peer::Resolver;

/// How long a client may take to send the head of a request, and how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(30);

/// How long the accept loop rests when the process has no file descriptor left.
const REST: Duration = Duration::from_millis(50);

/// Files that are kept for the rest of the daemon: its store, its turns' directories and processes.
const RESERVE: usize = 256;

/// Connections that are served however low the limit of open files is.
const LEAST: usize = 64;

/// A bound listener that does not accept yet; what connects meanwhile waits.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    local: SocketAddr,
    patience: Duration,
    places: Option<usize>,
}

impl Listener {
    /// Binds the address; the error says which.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let said = |e: io::Error| io::Error::new(e.kind(), format!("cannot listen on {address}: {e}"));
        let socket = TcpListener::bind(address).await.map_err(said)?;
        let local = socket.local_addr().map_err(said)?;
        Ok(Self { socket, local, patience: HEAD, places: None })
    }

    /// Returns the address that was bound, with the real port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Changes how long the head of a request may take, and how long an idle connection is kept (30 s).
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Changes how many connections are served at once (as many as the limit of open files allows, with a reserve).
    /// Further ones wait until one of them ends.
    pub fn places(mut self, places: usize) -> Self {
        self.places = Some(places);
        self
    }

    /// Serves until `stop`, then lets open requests end within `grace` and cuts what is left.
    ///
    /// Owns every task that it starts: when this returns, none of them runs any more.
    pub async fn serve(self, router: Router, stop: CancellationToken, grace: Duration) {
        let (resolver, ears) = Resolver::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(ears.run());
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(self.places.unwrap_or_else(places)));
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = tasks.join_next() => {}
                accepted = accept(&self.socket, &places) => match accepted {
                    Ok((stream, peer, place)) => {
                        // The address of this very connection: a listener on all addresses has many.
                        let Ok(local) = stream.local_addr() else { continue };
                        let conn = Conn::new(local, peer, resolver.clone());
                        let watcher = graceful.watcher();
                        let (router, patience) = (router.clone(), self.patience);
                        tasks.spawn(async move {
                            connection(stream, conn, router, watcher, patience).await;
                            drop(place);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(REST).await;
                    }
                },
            }
        }
        drop(self.socket);
        if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
            tracing::warn!("open requests were cut at shutdown");
        }
        tasks.shutdown().await;
    }
}

/// Accepts a connection once there is a place for it; until then it waits where the kernel keeps it.
async fn accept(
    socket: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.expect("nobody closes it");
    let (stream, peer) = socket.accept().await?;
    Ok((stream, peer, place))
}

/// Returns how many connections leave enough files for everything else: without them no turn could be started or ended.
fn places() -> usize {
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
    let files = files.unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
    files.saturating_sub(RESERVE).max(LEAST)
}

/// One connection, from its first byte to its end. When the client goes away the handler is dropped with it.
async fn connection(stream: TcpStream, conn: Conn, router: Router, watcher: Watcher, patience: Duration) {
    let service = tower::service_fn(move |request: Request<_>| {
        let mut request: Request<_> = request;
        request.extensions_mut().insert(ConnectInfo(conn.clone()));
        router.clone().oneshot(request)
    });
    // Small answers to waiting callers must not wait for more to send; a socket that refuses is already closed.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(%error, "a connection broke off");
    }
}
