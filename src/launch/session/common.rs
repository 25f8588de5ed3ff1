//! What launchers of sessions have in common, whatever their programs are given texts by: where files are, what the
//! operator allows, where prompts are read and sightings go. What a launcher needs besides stands with it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::dir::SessionDir;
use super::place::Site;
use super::sweep::Kind;
use super::tree::Tree;
use crate::engine::ports::Journal;
use crate::fleet::input::Sighting;
use crate::fleet::worker::Worker;
use crate::launch::policy::Policy;

/// What each launcher of sessions works with.
#[derive(Clone)]
pub struct Common {
    /// The directory in which each session has its own.
    pub sessions: PathBuf,
    /// A program that has `pane-exec`, by a path that a pane host can start.
    pub program: PathBuf,
    /// What the operator allows.
    pub policy: Arc<Policy>,
    /// Where the doors are, for the programs of workers.
    pub url: String,
    /// Where prompts are read.
    pub journal: Arc<dyn Journal>,
    /// Where sightings go.
    pub sightings: mpsc::Sender<Sighting>,
}

impl Common {
    /// Tells the engine what was seen.
    pub(in crate::launch) async fn tell(&self, sighting: Sighting) {
        // Nobody listens any more only when the daemon is going down.
        let _ = self.sightings.send(sighting).await;
    }

    /// Returns the directory of a worker's session.
    pub(in crate::launch) fn dir_of(&self, kind: Kind, worker: &Worker) -> SessionDir {
        SessionDir::new(self.sessions.join(kind.dir_name(&worker.name, worker.session)))
    }

    /// Returns where a session is made.
    pub(in crate::launch) fn site<'a>(&'a self, worker: &'a Worker, dir: &'a SessionDir) -> Site<'a> {
        Site { worker, dir, policy: &self.policy, url: &self.url, program: &self.program }
    }

    /// Returns the worktree of a session, which there may be.
    pub(in crate::launch) fn tree<'a>(
        &'a self,
        worker: &'a Worker,
        dir: &'a SessionDir,
        stop: &'a CancellationToken,
        is_handed_on: bool,
    ) -> Tree<'a> {
        Tree { worker, dir, policy: &self.policy, stop, is_handed_on }
    }
}
