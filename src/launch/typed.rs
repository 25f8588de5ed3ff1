//! The launcher of workers that are typed to: a session is a program in a pane, and lives between turns.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, its pane and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here: how one is
//! read stands in its profile. No rule about turns may come in.

mod ends;
mod hand;
mod keeper;
mod leaders;
mod look;
mod nudge;
mod prompt_file;
mod report;
mod sessions;
mod settle;
mod start;
mod stop;
mod submit;
mod text;
mod transcript;
mod work;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::config::ScreenWords;
use crate::engine::panes::PaneHost;
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
    /// A program that has `pane-exec`, by a path that the pane host can start.
    pub program: PathBuf,
    /// What the operator allows.
    pub policy: Arc<Policy>,
    /// Where the doors are, for the programs of workers.
    pub url: String,
    /// Where panes are.
    pub host: Arc<dyn PaneHost>,
    /// What the operator says of the leader's screen; none if it is not to be told anything in its pane.
    pub leader: Option<ScreenWords>,
    /// Where prompts are read.
    pub journal: Arc<dyn Journal>,
    /// Where sightings go.
    pub sightings: mpsc::Sender<Sighting>,
}

/// The engine's way to the launcher.
pub struct Typed {
    front: Front,
    desk: Arc<Desk>,
}

impl Typed {
    /// Returns the launcher and the task that carries its orders out. When the task is dropped, sessions go on and the
    /// next daemon adopts them.
    pub fn new(options: Options) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (front, told) = Front::new();
        let desk = Arc::new(Desk { options, pause: front.pause(), handed_on: HandedOn::default() });
        (Self { front, desk: desk.clone() }, sessions::Sessions::new(desk).run(told))
    }
}

impl Launchers for Typed {
    fn carry_out(&self, order: WorkEffect) {
        self.front.carry_out(order);
    }

    fn report(&self, worker: Arc<Worker>, report: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        self.front.report(worker, report)
    }

    fn listed(&self, worker: &WorkerName, source: Source) {
        self.front.listed(worker, source);
    }

    fn trouble(&self) -> Option<String> {
        self.desk.host().down().map(|why| format!("panes: {why}"))
    }
}

/// What every keeper shares.
struct Desk {
    options: Options,
    /// Whether nothing may be typed.
    pause: Pause,
    /// Sessions whose worktree is not put away at their end: another takes it over.
    handed_on: HandedOn,
}

impl Desk {
    fn host(&self) -> &dyn PaneHost {
        &*self.options.host
    }

    async fn tell(&self, sighting: Sighting) {
        // Nobody listens any more only when the daemon is going down.
        let _ = self.options.sightings.send(sighting).await;
    }
}
