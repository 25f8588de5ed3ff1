//! The MCP door, `/mcp`: the fleet's tools for leaders and workers, by the session protocol of 2025-11-25 and the
//! stateless one of 2026-07-28 side by side.
//!
//! The protocol itself is the library's (`rmcp`). Here is what it cannot know: who calls, what they may call, what a
//! call comes to, and what outlives the daemon. Nothing is decided here; the engine's desk is asked.

mod admit;
mod args;
mod beat;
mod calls;
mod changes;
mod glance;
mod handler;
mod kept;
mod prompts;
mod sessions;
mod shapes;
mod stays;
mod tools;

use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use self::changes::Changes;
use self::handler::Handler;
use self::kept::Kept;
use self::sessions::Sessions;
use super::intake;
use super::shared::Shared;
use crate::engine::handle::Handle;
use crate::engine::ports;

/// What everything here works with.
pub struct Mcp {
    engine: Handle,
    shared: Shared,
    kept: Arc<Kept>,
    changes: Changes,
}

impl Mcp {
    /// Returns the door, and the task that tells clients of changes; it ends with the engine.
    pub fn new(
        shared: Shared,
        sessions: Arc<dyn ports::Sessions>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let engine = shared.engine.clone();
        let kept = Arc::new(Kept::new(sessions, engine.clone()));
        let changes = Changes::default();
        let telling = changes.clone().tell(engine.clone());
        (Self { engine, shared, kept, changes }, telling)
    }

    /// Returns the one path with everything that stands before it.
    pub fn router(self) -> Router {
        let door = Arc::new(self);
        let sessions = Arc::new(Sessions::new(door.clone()));
        let mut config = StreamableHttpServerConfig::default();
        // Host and Origin are looked at by the one layer over all doors.
        config.allowed_hosts = Vec::new();
        config.max_request_body_bytes = intake::MOST;
        config.sse_retry = Some(sessions::RETRY);
        config.session_store = Some(door.kept.clone());
        // Not `closing`: a stream that is cut there could not tell its caller where things stand.
        config.cancellation_token = CancellationToken::new();
        let handler = Handler::new(door.clone());
        let library = StreamableHttpService::new(move || Ok(handler.clone()), sessions.clone(), config);
        let gate = admit::Gate { door, sessions, library };
        Router::new().route_service("/mcp", admit::Admitted(Arc::new(gate)))
    }
}
