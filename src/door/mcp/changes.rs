//! Telling clients that their lists have changed: the charter's recipes are prompts, and who sits in the seat decides
//! what a session may call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::{Peer, RoleServer};
use tokio::sync::watch;

use crate::engine::handle::Handle;
use crate::fleet::Fleet;

/// How long telling one client may take; one that does not read is told nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who is told.
#[derive(Clone)]
pub(super) struct Changes {
    /// A lock and no task: sessions come by themselves, and the list is held for a moment only.
    peers: Arc<Mutex<Vec<Peer<RoleServer>>>>,
    count: watch::Sender<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        Changes { peers: Arc::default(), count: watch::Sender::new(0) }
    }
}

impl Changes {
    /// Tells this client of a session from now on; and at once, which it hears when it listens: its lists may be those
    /// of a session before, or of an earlier daemon.
    pub(super) async fn add(&self, peer: Peer<RoleServer>) {
        {
            let mut peers = self.peers.lock().expect("nobody panics while holding it");
            peers.retain(|peer| !peer.is_transport_closed());
            peers.push(peer.clone());
        }
        tell(&peer).await;
    }

    /// Returns a number that grows with each change.
    pub(super) fn count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Tells everybody, for as long as the engine lives.
    pub(super) async fn tell(self, engine: Handle) {
        let mut published = engine.watch();
        let mut known = lists(&published.borrow_and_update());
        while published.changed().await.is_ok() {
            let now = lists(&published.borrow_and_update());
            if now == known {
                continue;
            }
            known = now;
            self.count.send_modify(|count| *count += 1);
            let peers = self.peers.lock().expect("nobody panics while holding it").clone();
            futures_util::future::join_all(peers.iter().map(tell)).await;
        }
    }
}

async fn tell(peer: &Peer<RoleServer>) {
    let both = async {
        // One whose client is gone is taken out when the next one comes.
        let _ = peer.notify_tool_list_changed().await;
        let _ = peer.notify_prompt_list_changed().await;
    };
    let _ = tokio::time::timeout(PATIENCE, both).await;
}

/// What the lists of all clients depend on.
fn lists(fleet: &Fleet) -> (u64, Option<String>) {
    let generation = fleet.team().map_or(0, |team| team.generation.number);
    (generation, fleet.seat().map(|seat| format!("{:?}", seat.sitter)))
}
