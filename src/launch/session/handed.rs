//! Which sessions leave their worktree to the one that takes their place: told at their stop, asked at their end.
//! Why a worker gets a fresh session is the fleet's matter.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::fleet::ids::WorkerName;
use crate::fleet::worker::Worker;

/// Sessions whose worktree is not put away at their end: another takes it over.
#[derive(Default)]
pub(in crate::launch) struct HandedOn(Mutex<HashSet<(WorkerName, u64)>>);

impl HandedOn {
    /// Notes at the stop of a session whether its worktree is handed on. Returns whether it was to be, and is not now.
    pub(in crate::launch) fn note(&self, worker: &Worker) -> bool {
        let session = (worker.name.clone(), worker.session);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.hands_tree_on() {
            sessions.insert(session);
            return false;
        }
        sessions.remove(&session)
    }

    /// Returns whether the worktree of a session that ends is handed on.
    pub(in crate::launch) fn has(&self, worker: &Worker) -> bool {
        let session = (worker.name.clone(), worker.session);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&session)
    }

    /// A session has ended.
    pub(in crate::launch) fn forget(&self, session: &(WorkerName, u64)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
