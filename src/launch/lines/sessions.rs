//! The launcher's one task: takes orders and gives each session a keeper, which does what the order says.
//! Here it is decided which session is kept by whom, nothing else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::super::session::dir::SessionDir;
use super::super::session::{sweep, tree};
use super::keeper::{Keeper, Order};
use super::{Desk, Told};
use crate::fleet::ids::{TurnId, WorkerName};
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::worker::Worker;

/// How long after the start it is looked for sessions that nobody knows: by then the engine has given its orders again.
const SWEEP: Duration = Duration::from_secs(10);

pub(super) struct Sessions {
    desk: Arc<Desk>,
    kept: HashMap<WorkerName, Kept>,
    keepers: JoinSet<()>,
    /// Whose session a keeper has.
    names: HashMap<Id, (WorkerName, u64)>,
    /// Which session has or had a turn, until that is forgotten.
    turns: HashMap<TurnId, WorkerName>,
    chores: JoinSet<()>,
}

/// A session that has a keeper.
struct Kept {
    session: u64,
    /// The session whose worktree it goes on in.
    tree: Option<u64>,
    orders: UnboundedSender<Order>,
    stop: CancellationToken,
    /// The same session, if its end is to be gone through once more.
    again: Option<Arc<Worker>>,
}

impl Sessions {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        let (keepers, chores) = (JoinSet::new(), JoinSet::new());
        Self { desk, kept: HashMap::new(), keepers, names: HashMap::new(), turns: HashMap::new(), chores }
    }

    pub(super) async fn run(mut self, mut told: UnboundedReceiver<Told>) {
        let sweep = tokio::time::sleep(SWEEP);
        tokio::pin!(sweep);
        let mut is_swept = false;
        loop {
            tokio::select! {
                () = &mut sweep, if !is_swept => {
                    is_swept = true;
                    // First the trees, then who is kept: a keeper is there before its tree.
                    let trees = tree::all(&self.desk.options.sessions);
                    let kept = self.kept.iter().flat_map(|(name, kept)| {
                        [Some(kept.session), kept.tree].into_iter().flatten().map(|session| dir_name(name, session))
                    });
                    let kept = kept.collect();
                    self.chores.spawn(sweep::leftovers(self.desk.options.sessions.clone(), true, kept, trees));
                }
                told = told.recv() => match told {
                    Some(Told::Order(order)) => self.carry_out(order),
                    Some(Told::Report(worker, report, reply)) => self.give(&worker, Order::Report(report, reply)),
                    Some(Told::Listed(worker, source)) => {
                        if let Some(kept) = self.kept.get(&worker) {
                            let _ = kept.orders.send(Order::Listed(source));
                        }
                    }
                    None => return,
                },
                Some(ended) = self.keepers.join_next_with_id() => self.keeper_ended(ended).await,
                Some(_) = self.chores.join_next() => {}
            }
        }
    }

    fn carry_out(&mut self, order: WorkEffect) {
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
            WorkEffect::Stop(worker) => {
                let is_given_up = self.desk.handed_on.note(&worker);
                self.keeper_of(&worker, false);
                if let Some(kept) = self.kept.get_mut(&worker.name) {
                    if is_given_up && kept.stop.is_cancelled() {
                        // Its keeper may have left the tree where it is by now: another one puts it away.
                        kept.again = Some(worker);
                    }
                    kept.stop.cancel();
                }
            }
            WorkEffect::Forget(turn) => {
                // Turns of other launchers are forgotten too, and most turns are another session's.
                if let Some(kept) = self.turns.remove(&turn).and_then(|worker| self.kept.get(&worker)) {
                    let _ = kept.orders.send(Order::Forget(turn));
                }
            }
            // The program itself says when the turn is over; a leader is told in its own pane, by others.
            WorkEffect::Replied(..) | WorkEffect::Nudge(..) | WorkEffect::Memory => {}
            // What is written next is asked in that moment.
            WorkEffect::Pause(_) => {}
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
        self.names.insert(task.id(), (worker.name.clone(), worker.session));
        self.kept.insert(
            worker.name.clone(),
            Kept { session: worker.session, tree: worker.life.tree, orders, stop, again: None },
        );
    }

    async fn keeper_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let Some((name, session)) = self.names.remove(&id) else { return };
        // Its worker may have another session by now.
        let mut again = None;
        if self.kept.get(&name).is_some_and(|kept| kept.session == session) {
            again = self.kept.remove(&name).and_then(|kept| kept.again);
            self.turns.retain(|_, worker| *worker != name);
        }
        self.desk.handed_on.forget(&(name.clone(), session));
        if let Some(worker) = again {
            self.keeper_of(&worker, false);
            self.kept.get(&name).into_iter().for_each(|kept| kept.stop.cancel());
        }
        if let Err(error) = ended {
            // Not its text: a panic may quote what it worked on. Its session may live, so nobody says that it is gone.
            tracing::error!(worker = %name, panicked = error.is_panic(), "the keeper of a session broke");
            let why = "fleetd's keeper of its session broke; stop it, or restart fleetd".to_string();
            self.desk.tell(Sighting::Unreachable { worker: name, why }).await;
        }
    }
}

/// Returns the directory of a session.
pub(super) fn dir_of(desk: &Desk, worker: &Worker) -> SessionDir {
    SessionDir::new(desk.options.sessions.join(dir_name(&worker.name, worker.session)))
}

fn dir_name(name: &WorkerName, session: u64) -> String {
    format!("{name}-{session}{}", sweep::LINES)
}
