//! The launcher of workers that are typed to: a session is a program in a pane, and lives between turns.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, its pane and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here: how one is
//! read stands in its profile. No rule about turns may come in.

mod files;
mod keeper;
mod look;
mod nudge;
mod sessions;
mod start;
mod submit;
mod sweep;
mod text;
mod tree;
mod work;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::engine::panes::PaneHost;
use crate::engine::ports::{Journal, Launchers};
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::typing::Typing;

/// What the launcher works with.
pub struct Options {
    /// The directory in which each session has its own.
    pub sessions: PathBuf,
    /// A program that has `pane-exec`, by a path that the pane host can start.
    pub program: PathBuf,
    /// Programs that a profile may start; empty = whatever it names.
    pub executables: Vec<String>,
    /// Where panes are.
    pub host: Arc<dyn PaneHost>,
    /// How the leader's screen is read; none if it is not to be told anything in its pane.
    pub leader: Option<Typing>,
    /// Where prompts are read.
    pub journal: Arc<dyn Journal>,
    /// Where sightings go.
    pub sightings: mpsc::Sender<Sighting>,
}

/// The engine's way to the launcher.
pub struct Typed {
    orders: mpsc::UnboundedSender<WorkEffect>,
    host: Arc<dyn PaneHost>,
}

impl Typed {
    /// Returns the launcher and the task that carries its orders out. When the task is dropped, sessions go on and the
    /// next daemon adopts them.
    #[expect(
        clippy::disallowed_methods,
        reason = "an order must neither block the engine nor be lost; the fleet bounds them: a worker has one turn, a turn few orders"
    )]
    pub fn new(options: Options) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (orders, taken) = mpsc::unbounded_channel();
        let host = options.host.clone();
        (Self { orders, host }, sessions::Sessions::new(Arc::new(Desk { options })).run(taken))
    }
}

impl Launchers for Typed {
    fn carry_out(&self, order: WorkEffect) {
        // The task is gone only when the daemon is going down; the next one is given the order again.
        let _ = self.orders.send(order);
    }

    fn trouble(&self) -> Option<String> {
        self.host.down().map(|why| format!("panes: {why}"))
    }
}

/// What every keeper shares.
struct Desk {
    options: Options,
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
