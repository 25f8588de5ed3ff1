//! The engine's way to a launcher of sessions: orders, reports and pauses, passed on to its one task. And what that task
//! tells the keeper of a session. Who keeps which session is in `roster`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::engine::ports::{Boxed, Launchers, Report, Source};
use crate::fleet::ids::{TurnId, WorkerName};
use crate::fleet::input::WorkEffect;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::turn::Turn;
use crate::fleet::worker::Worker;

/// How long a report waits for its answer.
const ANSWER: Duration = Duration::from_secs(4);

/// What is in the way of a text while fleetd is paused.
pub(in crate::launch) const PAUSED: &str = "fleetd is paused";

/// What a launcher's task is told.
pub(in crate::launch) enum Told {
    /// By the engine: what is to be done.
    Order(WorkEffect),
    /// By a worker's own program, which waits for the answer.
    Report(Arc<Worker>, Report, Reply),
    /// By a process of a worker: it has listed the fleet's tools.
    Listed(WorkerName, Source),
}

/// Where the answer to a report goes.
pub(in crate::launch) type Reply = oneshot::Sender<Result<Option<Value>, Refusal>>;

/// What a keeper is told.
pub(in crate::launch) enum Order {
    /// Give it this turn; the note of its session before goes first.
    Hand(Arc<Turn>, Option<TurnId>),
    /// Make it stop this turn.
    Interrupt(TurnId),
    /// The worker has given its reply to this turn by a call.
    Replied(TurnId),
    /// This turn is over and stored.
    Forget(TurnId),
    /// Its program reports something.
    Report(Report, Reply),
    /// A process of it has listed the fleet's tools.
    Listed(Source),
}

/// Whether nothing may be given to any session.
#[derive(Clone, Default)]
pub(in crate::launch) struct Pause(Arc<AtomicBool>);

impl Pause {
    /// Tells whether it is so now.
    pub(in crate::launch) fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The engine's way to a launcher of sessions.
pub struct Front {
    told: mpsc::UnboundedSender<Told>,
    pause: Pause,
}

impl Front {
    /// Returns the way and its other end.
    #[expect(
        clippy::disallowed_methods,
        reason = "an order must neither block the engine nor be lost; the fleet bounds them: a worker has one turn, a turn few orders"
    )]
    pub(in crate::launch) fn new() -> (Front, mpsc::UnboundedReceiver<Told>) {
        let (told, taken) = mpsc::unbounded_channel();
        (Front { told, pause: Pause::default() }, taken)
    }

    /// Returns the pause, which everybody sees who gives texts.
    pub(in crate::launch) fn pause(&self) -> Pause {
        self.pause.clone()
    }

    fn tell(&self, told: Told) {
        // The task is gone only when the daemon is going down; the next one is given the order again.
        let _ = self.told.send(told);
    }
}

impl Launchers for Front {
    fn carry_out(&self, order: WorkEffect) {
        if let WorkEffect::Pause(paused) = order {
            // Not by way of the task: who is told that it is paused is told after this.
            self.pause.0.store(paused, Ordering::SeqCst);
        }
        self.tell(Told::Order(order));
    }

    fn report(&self, worker: Arc<Worker>, report: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        let (reply, answer) = oneshot::channel();
        self.tell(Told::Report(worker, report, reply));
        Box::pin(async move {
            // Who reports waits for the answer, and the agent's turn with it.
            match tokio::time::timeout(ANSWER, answer).await {
                Ok(Ok(answer)) => answer,
                _ => Err(Refusal::new(RefusalKind::Unavailable, "nobody keeps this session just now")),
            }
        })
    }

    fn listed(&self, worker: &WorkerName, source: Source) {
        self.tell(Told::Listed(worker.clone(), source));
    }
}
