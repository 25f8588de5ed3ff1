//! The sessions of clients as they are kept in the store: who opened each, and what its client said at the start, from
//! which the library takes it up again after a restart.
//!
//! A copy of what was looked up stays in memory, since every request asks for it; whoever opened a session never
//! changes. What happens in a session is not kept.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, RwLock};

use async_trait::async_trait;
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use serde::{Deserialize, Serialize};

use super::super::conn::Identity;
use super::admit::SENDER;
use crate::engine::handle::Handle;
use crate::engine::ports::Sessions;
use crate::fleet::caller::Caller;
use crate::fleet::ids::WorkerName;
use crate::fleet::time::{Span, Time};
use crate::fleet::worker::Process;

/// How long after our start a client may take to listen again. One that comes later has given up listening, and only
/// begins anew with its first messages when it is told that its session is gone.
const PATIENCE: Span = Span::seconds(4);

/// How often the last use of a session is written down.
const STAMP: Span = Span::minutes(60);

/// Who opened a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Opener {
    /// A worker.
    Worker(WorkerName),
    /// A process of this machine.
    Process(Process),
    /// Whoever shows the token.
    Token,
    /// Somebody who was not recognised, and may do nothing with it.
    Nobody,
}

impl Opener {
    fn of(identity: &Identity) -> Opener {
        match (&identity.caller, identity.token, identity.process) {
            (Caller::Worker { name, .. }, ..) => Opener::Worker(name.clone()),
            (Caller::Anonymous { .. }, ..) => Opener::Nobody,
            (_, true, _) => Opener::Token,
            (_, false, Some(process)) => Opener::Process(process),
            (_, false, None) => Opener::Nobody,
        }
    }
}

/// A session as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    opener: Opener,
    /// Whether its client has ever listened for what the server says by itself.
    listens: bool,
    /// In which boot of ours it was last opened or listened to; it is back if that is this one.
    #[serde(default)]
    boot: u64,
    state: SessionState,
}

/// A session that was looked up.
#[derive(Clone, Debug)]
struct Known {
    row: Arc<Row>,
    stamped: Time,
}

/// What a session's id is worth to whoever shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is theirs.
    Fine,
    /// There is none, or none of theirs.
    Unknown,
    /// It is theirs, but its client does not listen any more and has to begin anew.
    Stale,
}

/// The sessions of all clients.
pub(super) struct Kept {
    store: Arc<dyn Sessions>,
    engine: Handle,
    born: Time,
    /// No other boot has the same.
    boot: u64,
    known: RwLock<HashMap<String, Known>>,
}

impl Kept {
    pub(super) fn new(store: Arc<dyn Sessions>, engine: Handle) -> Kept {
        let boot = RandomState::new().hash_one(std::process::id());
        Kept { store, born: engine.now(), boot, engine, known: RwLock::default() }
    }

    /// Returns what a session's id is worth to a caller, who may begin to listen with this request.
    pub(super) async fn standing(&self, id: &str, identity: &Identity, listens: bool) -> Standing {
        let Some(mut known) = self.look_up(id).await else { return Standing::Unknown };
        if known.row.opener != Opener::of(identity) {
            return Standing::Unknown;
        }
        let now = self.engine.now();
        let back = known.row.boot == self.boot;
        if !listens && !back && known.row.listens && now.since(self.born) > PATIENCE {
            self.drop_session(id).await;
            return Standing::Stale;
        }
        let news = listens && (!back || !known.row.listens);
        if news {
            // Stored, since it may rest, and is then looked up anew in the same boot.
            known.row = Arc::new(Row { listens: true, boot: self.boot, ..(*known.row).clone() });
        }
        if news || now.since(known.stamped) > STAMP {
            known.stamped = now;
            self.save(id, &known.row, now).await;
            self.remember(id, known);
        }
        Standing::Fine
    }

    /// Forgets a session that is no longer in memory elsewhere; it may come back from the store.
    pub(super) fn rest(&self, id: &str) {
        self.known.write().expect("nobody panics while holding it").remove(id);
    }

    async fn look_up(&self, id: &str) -> Option<Known> {
        if let Some(known) = self.known.read().expect("nobody panics while holding it").get(id).cloned() {
            return Some(known);
        }
        let row = self.store.session(id.to_string()).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a session could not be read; its client has to begin anew");
            None
        })?;
        let row: Row = serde_json::from_str(&row).ok()?;
        // When it was last used is not read: it is at most an hour too old.
        let known = Known { row: Arc::new(row), stamped: Time(0) };
        self.remember(id, known.clone());
        Some(known)
    }

    fn remember(&self, id: &str, known: Known) {
        self.known.write().expect("nobody panics while holding it").insert(id.to_string(), known);
    }

    async fn save(&self, id: &str, row: &Row, now: Time) {
        let text = match serde_json::to_string(row) {
            Ok(text) => text,
            Err(error) => return tracing::error!(%error, "a session has no JSON form"),
        };
        if let Err(error) = self.store.save_session(id.to_string(), now, Some(text.into())).await {
            tracing::warn!(%error, "a session could not be stored; it would not outlive this daemon");
        }
    }

    async fn drop_session(&self, id: &str) {
        self.rest(id);
        if let Err(error) = self.store.save_session(id.to_string(), self.engine.now(), None).await {
            tracing::warn!(%error, "an ended session could not be dropped");
        }
    }
}

#[async_trait]
impl SessionStore for Kept {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        Ok(self.look_up(id).await.map(|known| known.row.state.clone()))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        // The library stores a session in the task of the request that opened it.
        let opener = SENDER.try_with(Opener::of).unwrap_or(Opener::Nobody);
        let row = Arc::new(Row { opener, listens: false, boot: self.boot, state: state.clone() });
        let now = self.engine.now();
        self.remember(id, Known { row: row.clone(), stamped: now });
        self.save(id, &row, now).await;
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.drop_session(id).await;
        Ok(())
    }
}
