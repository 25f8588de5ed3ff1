//! The launcher of workers that read and write lines of JSON: a session is a program without a screen, and lives between
//! turns and daemons.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, what it wrote and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here.

mod hearing;
mod keeper;
mod output;
mod pipe;
mod sessions;
mod start;
mod stop;
mod story;
mod text;
mod work;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::engine::ports::{Boxed, Journal, Launchers, Report, Source};
use crate::fleet::ids::WorkerName;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::refusal::Refusal;
use crate::fleet::worker::Worker;
use crate::launch::policy::Policy;
use crate::launch::session::front::{Front, Pause};
use crate::launch::session::handed::HandedOn;

/// What the launcher works with.
pub struct Options {
    /// The directory in which each session has its own.
    pub sessions: PathBuf,
    /// A program that has `pane-exec`.
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

/// The engine's way to the launcher.
pub struct Lines {
    front: Front,
}

impl Lines {
    /// Returns the launcher and the task that carries its orders out. When the task is dropped, sessions go on and the
    /// next daemon adopts them.
    pub fn new(options: Options) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (front, told) = Front::new();
        let desk = Arc::new(Desk { options, pause: front.pause(), handed_on: HandedOn::default() });
        (Self { front }, sessions::run(desk, told))
    }
}

impl Launchers for Lines {
    fn carry_out(&self, order: WorkEffect) {
        self.front.carry_out(order);
    }

    fn report(&self, worker: Arc<Worker>, report: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        self.front.report(worker, report)
    }

    fn listed(&self, worker: &WorkerName, source: Source) {
        self.front.listed(worker, source);
    }
}

/// What every keeper shares.
struct Desk {
    options: Options,
    /// Whether nothing may be written.
    pause: Pause,
    handed_on: HandedOn,
}

impl Desk {
    async fn tell(&self, sighting: Sighting) {
        // Nobody listens any more only when the daemon is going down.
        let _ = self.options.sightings.send(sighting).await;
    }
}
