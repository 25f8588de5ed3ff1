//! The launcher of `exec` workers: each turn is one process under a pane-exec of its own.
//!
//! Orders come in from the engine and never block it; one task watches each turn and reports what it sees. Every
//! order may be given again after a restart: the turn's directory tells what was done already.

mod watch;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::watch::Watch;
use super::turn_dir::TurnDir;
use crate::engine::ports::{Boxed, Journal, Launchers};
use crate::fleet::ids::TurnId;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::worker::Worker;

/// What the launcher works with.
#[derive(Clone)]
pub struct Options {
    /// Where each turn has its directory.
    pub turns: PathBuf,
    /// Programs that a profile may start; empty = whatever it names.
    pub executables: Vec<String>,
    /// Where prompts are read.
    pub journal: Arc<dyn Journal>,
    /// Where sightings go.
    pub sightings: mpsc::Sender<Sighting>,
}

/// The engine's side: takes orders.
pub struct Exec {
    orders: UnboundedSender<WorkEffect>,
}

impl Exec {
    /// Returns the launcher and the task that does its work; the task ends with the launcher.
    #[expect(clippy::disallowed_methods, reason = "bounded by the fleet: a worker has one turn, and a turn few orders")]
    pub fn new(options: Options) -> (Exec, Boxed<()>) {
        let (orders, inbox) = mpsc::unbounded_channel();
        (Exec { orders }, Box::pin(Floor { options, watched: HashMap::new(), tasks: JoinSet::new() }.run(inbox)))
    }
}

impl Launchers for Exec {
    fn carry_out(&self, order: WorkEffect) {
        // Nobody listens only while the daemon goes down; the next one finds the turn's directory.
        let _ = self.orders.send(order);
    }
}

/// All turns under way; owns their tasks.
struct Floor {
    options: Options,
    watched: HashMap<TurnId, CancellationToken>,
    tasks: JoinSet<TurnId>,
}

impl Floor {
    async fn run(mut self, mut orders: UnboundedReceiver<WorkEffect>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return,
                },
                Some(ended) = self.tasks.join_next() => match ended {
                    Ok(turn) => drop(self.watched.remove(&turn)),
                    // What it watched is found again at the next start; the turn's deadline bounds it until then.
                    Err(error) => tracing::error!(%error, "the watch of a turn broke"),
                },
            }
        }
    }

    async fn take(&mut self, order: WorkEffect) {
        match order {
            WorkEffect::Hand(worker, turn) => {
                let watch = self.watch(&worker, turn.id);
                self.start(turn.id, |stop| watch.hand(worker, turn, stop));
            }
            WorkEffect::Interrupt(worker, turn) => self.interrupt(&worker, turn),
            WorkEffect::Stop(worker) => match worker.turn {
                Some(turn) => self.interrupt(&worker, turn),
                None => self.report(Sighting::Gone { worker: worker.name.clone(), why: "stopped".into() }).await,
            },
            WorkEffect::Forget(turn) => {
                if let Err(error) = self.dir(turn).remove() {
                    tracing::warn!(%turn, %error, "the files of a settled turn stay");
                }
            }
            // Only a worker with a session is started before its first turn, and this launcher has none.
            WorkEffect::Start(worker) => {
                let why = format!("launcher '{}' is not in this version", worker.profile.launcher);
                self.report(Sighting::NotUp { worker: worker.name.clone(), why }).await;
            }
        }
    }

    fn interrupt(&mut self, worker: &Arc<Worker>, turn: TurnId) {
        match self.watched.get(&turn) {
            Some(stop) => stop.cancel(),
            // After a restart nobody watches it yet.
            None => {
                let watch = self.watch(worker, turn);
                self.start(turn, |stop| {
                    stop.cancel();
                    watch.end(stop)
                });
            }
        }
    }

    fn start<F>(&mut self, turn: TurnId, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // An order that comes twice finds its turn watched.
        if !self.watched.contains_key(&turn) {
            let stop = CancellationToken::new();
            self.watched.insert(turn, stop.clone());
            let task = task(stop);
            self.tasks.spawn(async move {
                task.await;
                turn
            });
        }
    }

    fn watch(&self, worker: &Arc<Worker>, turn: TurnId) -> Watch {
        Watch { worker: worker.name.clone(), turn, dir: self.dir(turn), options: self.options.clone() }
    }

    fn dir(&self, turn: TurnId) -> TurnDir {
        TurnDir::new(self.options.turns.join(turn.to_string()))
    }

    async fn report(&self, sighting: Sighting) {
        let _ = self.options.sightings.send(sighting).await;
    }
}
