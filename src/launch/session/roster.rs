//! Which session is kept by whom: each has one keeper, which is given every order for it until it has ended.
//! What a keeper does, and how its launcher reaches the world, is not known here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::front::{Order, Told};
use super::handed::HandedOn;
use crate::engine::ports::Boxed;
use crate::fleet::ids::{TurnId, WorkerName};
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::worker::Worker;

/// What a roster needs of its launcher.
pub(in crate::launch) trait Keeping {
    /// What the launcher knows of a session besides.
    type More;
    /// Returns a keeper, which takes orders until it is stopped or its session has ended.
    fn keeper(
        &self,
        worker: Arc<Worker>,
        orders: UnboundedReceiver<Order>,
        stop: CancellationToken,
        may_start: bool,
    ) -> (Boxed<()>, Self::More);
    /// Returns the sessions that leave their worktree to the next one.
    fn handed_on(&self) -> &HandedOn;
    /// Tells the engine what was seen.
    fn tell(&self, sighting: Sighting) -> impl Future<Output = ()> + Send;
}

/// All sessions of one launcher.
pub(in crate::launch) struct Roster<K: Keeping> {
    keeping: K,
    kept: HashMap<WorkerName, Kept<K::More>>,
    keepers: JoinSet<()>,
    /// Whose session a keeper has.
    names: HashMap<Id, (WorkerName, u64)>,
    /// Which session has or had a turn, until that is forgotten.
    turns: HashMap<TurnId, WorkerName>,
}

/// A session that has a keeper.
pub(in crate::launch) struct Kept<M> {
    pub session: u64,
    pub more: M,
    /// The session whose worktree it goes on in.
    tree: Option<u64>,
    orders: UnboundedSender<Order>,
    stop: CancellationToken,
    /// The same session, if its end is to be gone through once more.
    again: Option<Arc<Worker>>,
}

/// How a keeper ended.
pub(in crate::launch) type Ended = Result<(Id, ()), JoinError>;

impl<K: Keeping> Roster<K> {
    pub(in crate::launch) fn new(keeping: K) -> Self {
        let (kept, keepers) = (HashMap::new(), JoinSet::new());
        Self { keeping, kept, keepers, names: HashMap::new(), turns: HashMap::new() }
    }

    /// Passes on what was told; returns an order that is for no session.
    pub(in crate::launch) fn hear(&mut self, told: Told) -> Option<WorkEffect> {
        match told {
            Told::Order(order) => return self.carry_out(order),
            Told::Report(worker, report, reply) => self.give(&worker, Order::Report(report, reply)),
            Told::Listed(worker, source) => {
                if let Some(kept) = self.kept.get(&worker) {
                    let _ = kept.orders.send(Order::Listed(source));
                }
            }
        }
        None
    }

    fn carry_out(&mut self, order: WorkEffect) -> Option<WorkEffect> {
        match order {
            WorkEffect::Start(worker) => self.keeper_of(&worker, true),
            WorkEffect::Watch(worker) => self.keeper_of(&worker, false),
            WorkEffect::Hand(worker, turn) => {
                self.turns.insert(turn.id, worker.name.clone());
                self.give(&worker, Order::Hand(turn, worker.life.note()));
            }
            WorkEffect::Interrupt(worker, turn) => {
                self.turns.insert(turn, worker.name.clone());
                self.give(&worker, Order::Interrupt(turn));
            }
            WorkEffect::Replied(worker, turn) => self.give(&worker, Order::Replied(turn)),
            WorkEffect::Stop(worker) => self.stop(worker),
            WorkEffect::Forget(turn) => {
                // Turns of other launchers are forgotten too, and most turns are another session's.
                if let Some(kept) = self.turns.remove(&turn).and_then(|worker| self.kept.get(&worker)) {
                    let _ = kept.orders.send(Order::Forget(turn));
                }
            }
            other => return Some(other),
        }
        None
    }

    fn stop(&mut self, worker: Arc<Worker>) {
        let is_given_up = self.keeping.handed_on().note(&worker);
        self.keeper_of(&worker, false);
        if let Some(kept) = self.kept.get_mut(&worker.name) {
            if is_given_up && kept.stop.is_cancelled() {
                // Its keeper may have left the tree where it is by now: another one puts it away.
                kept.again = Some(worker);
            }
            kept.stop.cancel();
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
        let (keeper, more) = self.keeping.keeper(worker.clone(), taken, stop.clone(), may_start);
        let task = self.keepers.spawn(keeper);
        let (session, tree) = (worker.session, worker.life.tree);
        self.names.insert(task.id(), (worker.name.clone(), session));
        self.kept.insert(worker.name.clone(), Kept { session, more, tree, orders, stop, again: None });
    }

    /// Waits until a keeper has ended; never, while there is none. May be given up at any time.
    pub(in crate::launch) async fn next(&mut self) -> Ended {
        match self.keepers.join_next_with_id().await {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }

    /// Takes note of a keeper's end.
    pub(in crate::launch) async fn ended(&mut self, ended: Ended) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let Some((name, session)) = self.names.remove(&id) else { return };
        // The worker may have its next session already.
        let mut again = None;
        if self.kept.get(&name).is_some_and(|kept| kept.session == session) {
            again = self.kept.remove(&name).and_then(|kept| kept.again);
            self.turns.retain(|_, worker| *worker != name);
        }
        self.keeping.handed_on().forget(&(name.clone(), session));
        if let Some(worker) = again {
            self.keeper_of(&worker, false);
            self.kept.get(&name).into_iter().for_each(|kept| kept.stop.cancel());
        }
        if let Err(error) = ended {
            // Not its text: a panic may quote what it worked on. Its session may live, so nobody says that it is gone.
            tracing::error!(worker = %name, panicked = error.is_panic(), "the keeper of a session broke");
            let why = "fleetd's keeper of its session broke; stop it, or restart fleetd".to_string();
            self.keeping.tell(Sighting::Unreachable { worker: name, why }).await;
        }
    }

    /// Returns the session that a worker has.
    pub(in crate::launch) fn get_mut(&mut self, worker: &WorkerName) -> Option<&mut Kept<K::More>> {
        self.kept.get_mut(worker)
    }

    /// Returns all sessions.
    pub(in crate::launch) fn all(&self) -> impl Iterator<Item = &Kept<K::More>> {
        self.kept.values()
    }

    /// Returns the names of what belongs to them, the worktrees that they go on in included.
    pub(in crate::launch) fn names(&self, name: impl Fn(&WorkerName, u64) -> String) -> HashSet<String> {
        let sessions = self.kept.iter().flat_map(|(worker, kept)| {
            [Some(kept.session), kept.tree].into_iter().flatten().map(move |session| (worker, session))
        });
        sessions.map(|(worker, session)| name(worker, session)).collect()
    }
}
