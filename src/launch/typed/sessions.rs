//! The launcher's one task: takes orders and gives each session a keeper, which does what the order says.
//! Here it is decided which session is kept by whom, nothing else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::keeper::{Keeper, Order};
use super::{Desk, files, nudge, sweep};
use crate::fleet::ids::WorkerName;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::worker::Worker;

/// How long after the start it is looked for sessions that nobody knows: by then the engine has given its orders again.
const SWEEP: Duration = Duration::from_secs(10);

pub(super) struct Sessions {
    desk: Arc<Desk>,
    kept: HashMap<WorkerName, Kept>,
    keepers: JoinSet<()>,
    names: HashMap<Id, WorkerName>,
    chores: JoinSet<()>,
}

/// A session that has a keeper.
struct Kept {
    session: u64,
    orders: UnboundedSender<Order>,
    stop: CancellationToken,
}

impl Sessions {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        let (keepers, chores) = (JoinSet::new(), JoinSet::new());
        Self { desk, kept: HashMap::new(), keepers, names: HashMap::new(), chores }
    }

    pub(super) async fn run(mut self, mut orders: UnboundedReceiver<WorkEffect>) {
        let sweep = tokio::time::sleep(SWEEP);
        tokio::pin!(sweep);
        let mut is_swept = false;
        loop {
            tokio::select! {
                () = &mut sweep, if !is_swept => {
                    is_swept = true;
                    let kept = self.kept.iter().map(|(name, kept)| dir_name(name, kept.session)).collect();
                    self.chores.spawn(sweep::leftovers(self.desk.clone(), kept));
                }
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order).await,
                    None => return,
                },
                Some(ended) = self.keepers.join_next_with_id() => self.keeper_ended(ended).await,
                Some(_) = self.chores.join_next() => {}
            }
        }
    }

    async fn carry_out(&mut self, order: WorkEffect) {
        match order {
            WorkEffect::Start(worker) => self.keeper_of(&worker, true),
            WorkEffect::Watch(worker) => self.keeper_of(&worker, false),
            WorkEffect::Hand(worker, turn) => self.give(&worker, Order::Hand(turn)),
            WorkEffect::Interrupt(worker, turn) => self.give(&worker, Order::Interrupt(turn)),
            WorkEffect::Replied(worker, turn) => self.give(&worker, Order::Replied(turn)),
            WorkEffect::Stop(worker) => {
                self.keeper_of(&worker, false);
                if let Some(kept) = self.kept.get(&worker.name) {
                    kept.stop.cancel();
                }
            }
            WorkEffect::Forget(turn) => {
                for kept in self.kept.values() {
                    let _ = kept.orders.send(Order::Forget(turn));
                }
            }
            WorkEffect::Nudge(leader, waiting) => {
                self.chores.spawn(nudge::tell(self.desk.clone(), leader, waiting));
            }
        }
    }

    fn give(&mut self, worker: &Arc<Worker>, order: Order) {
        self.keeper_of(worker, false);
        if let Some(kept) = self.kept.get(&worker.name) {
            // A keeper that ends in this moment has reported what became of its session, and that answers the order.
            let _ = kept.orders.send(order);
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an order must neither block the others nor be lost; a session has one turn, and a turn few orders"
    )]
    fn keeper_of(&mut self, worker: &Arc<Worker>, may_start: bool) {
        if self.kept.get(&worker.name).is_some_and(|kept| kept.session == worker.session) {
            return;
        }
        let (orders, taken) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let keeper = Keeper::new(self.desk.clone(), worker.clone(), taken, stop.clone());
        let task = self.keepers.spawn(keeper.run(may_start));
        self.names.insert(task.id(), worker.name.clone());
        self.kept.insert(worker.name.clone(), Kept { session: worker.session, orders, stop });
    }

    async fn keeper_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let Some(name) = self.names.remove(&id) else { return };
        self.kept.remove(&name);
        if let Err(error) = ended {
            // Not its text: a panic may quote what it worked on. Its session may live, so nobody says that it is gone.
            tracing::error!(worker = %name, panicked = error.is_panic(), "the keeper of a session broke");
            let why = "fleetd's keeper of its session broke; stop it, or restart fleetd".to_string();
            self.desk.tell(Sighting::Unreachable { worker: name, why }).await;
        }
    }
}

/// Returns the directory of a session.
pub(super) fn dir_of(desk: &Desk, worker: &Worker) -> files::SessionDir {
    files::SessionDir::new(desk.options.sessions.join(dir_name(&worker.name, worker.session)))
}

fn dir_name(name: &WorkerName, session: u64) -> String {
    format!("{name}-{session}")
}
