//! The launcher of workers that are typed to: a session is a program in a pane, and lives between turns.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, its pane and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here: how one is
//! read stands in its profile. No rule about turns may come in.

mod ends;
mod hand;
mod keeper;
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
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::engine::panes::PaneHost;
use crate::engine::ports::{Boxed, Journal, Launchers, Report, Source};
use crate::fleet::ids::WorkerName;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::typing::Typing;
use crate::fleet::worker::Worker;
use crate::launch::policy::Policy;
use crate::launch::session::handed::HandedOn;

/// How long a report waits for its answer.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(4);

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
    /// How the leader's screen is read; none if it is not to be told anything in its pane.
    pub leader: Option<Typing>,
    /// Where prompts are read.
    pub journal: Arc<dyn Journal>,
    /// Where sightings go.
    pub sightings: mpsc::Sender<Sighting>,
}

/// The engine's way to the launcher.
pub struct Typed {
    orders: mpsc::UnboundedSender<Told>,
    desk: Arc<Desk>,
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
        let desk = Arc::new(Desk { options, paused: AtomicBool::new(false), handed_on: HandedOn::default() });
        (Self { orders, desk: desk.clone() }, sessions::Sessions::new(desk).run(taken))
    }
}

impl Launchers for Typed {
    fn carry_out(&self, order: WorkEffect) {
        if let WorkEffect::Pause(paused) = order {
            // Not by way of the task: who is told that it is paused is told after this.
            self.desk.paused.store(paused, Ordering::SeqCst);
        }
        // The task is gone only when the daemon is going down; the next one is given the order again.
        let _ = self.orders.send(Told::Order(order));
    }

    fn report(&self, worker: Arc<Worker>, report: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        let (reply, answer) = oneshot::channel();
        let _ = self.orders.send(Told::Report(worker, report, reply));
        Box::pin(async move {
            // Who reports waits for the answer, and the agent's turn with it.
            match tokio::time::timeout(ANSWER, answer).await {
                Ok(Ok(answer)) => answer,
                _ => Err(Refusal::new(RefusalKind::Unavailable, "nobody keeps this session just now")),
            }
        })
    }

    fn listed(&self, worker: &WorkerName, source: Source) {
        let _ = self.orders.send(Told::Listed(worker.clone(), source));
    }

    fn trouble(&self) -> Option<String> {
        self.desk.host().down().map(|why| format!("panes: {why}"))
    }
}

/// What the launcher's task is told.
enum Told {
    /// By the engine: what is to be done.
    Order(WorkEffect),
    /// By a worker's own program, which waits for the answer.
    Report(Arc<Worker>, Report, Reply),
    /// By a process of a worker: it has listed the fleet's tools.
    Listed(WorkerName, Source),
}

/// Where the answer to a report goes.
type Reply = oneshot::Sender<Result<Option<Value>, Refusal>>;

/// What every keeper shares.
struct Desk {
    options: Options,
    /// Whether nothing may be typed.
    paused: AtomicBool,
    /// Sessions whose worktree is not put away at their end: another takes it over.
    handed_on: HandedOn,
}

/// What is in the way of a text while fleetd is paused.
const PAUSED: &str = "fleetd is paused";

impl Desk {
    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    fn host(&self) -> &dyn PaneHost {
        &*self.options.host
    }

    async fn tell(&self, sighting: Sighting) {
        // Nobody listens any more only when the daemon is going down.
        let _ = self.options.sightings.send(sighting).await;
    }
}
