//! The launcher of `exec` workers: each turn is one process under pane-exec, and between turns there is none.
//!
//! Orders come from the engine, sightings go back. What a turn came to is read from its directory and from living
//! processes alone, so an order may be given twice, also after a restart. No rule about turns may come in here.

mod finish;
mod orders;
mod sweep;
mod watch;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::engine::ports::{Journal, Launchers};
use crate::fleet::ids::TurnId;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::launch::policy::Policy;
use crate::launch::turn_dir::TurnDir;

/// The running daemon's own program. Unlike its path, this is right after the file was replaced by a newer one.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// How often files are looked for whose turns the store has dropped.
const SWEEP: Duration = Duration::from_secs(3_600);

/// What the launcher works with.
pub struct Options {
    /// The directory in which each turn has its own.
    pub turns: PathBuf,
    /// What the operator allows.
    pub policy: Arc<Policy>,
    /// Where prompts are read.
    pub journal: Arc<dyn Journal>,
    /// Where sightings go.
    pub sightings: mpsc::Sender<Sighting>,
}

/// The engine's way to the launcher.
pub struct Exec {
    orders: mpsc::UnboundedSender<WorkEffect>,
}

impl Exec {
    /// Returns the launcher and the task that carries its orders out. When the task is dropped, processes go on and
    /// the next daemon adopts them.
    pub fn new(options: Options) -> (Self, impl Future<Output = ()> + Send + 'static) {
        Self::with(options, OWN_PROGRAM.into(), SWEEP)
    }

    /// As [`Exec::new`], with another program that has `pane-exec`, and another time between two sweeps.
    #[expect(
        clippy::disallowed_methods,
        reason = "an order must neither block the engine nor be lost; the fleet bounds them: a worker has one turn, a turn few orders"
    )]
    pub fn with(
        options: Options,
        program: PathBuf,
        sweep: Duration,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (orders, taken) = mpsc::unbounded_channel();
        let desk = Arc::new(Desk { options, program, sweep });
        (Self { orders }, orders::Orders::new(desk).run(taken))
    }
}

impl Launchers for Exec {
    fn carry_out(&self, order: WorkEffect) {
        // The task is gone only when the daemon is going down; the next one is given the order again.
        let _ = self.orders.send(order);
    }
}

/// What every watch shares.
struct Desk {
    options: Options,
    program: PathBuf,
    sweep: Duration,
}

impl Desk {
    fn dir(&self, turn: TurnId) -> TurnDir {
        TurnDir::new(self.options.turns.join(turn.to_string()))
    }

    async fn tell(&self, sighting: Sighting) {
        // Nobody listens any more only when the daemon is going down.
        let _ = self.options.sightings.send(sighting).await;
    }
}
