//! The launcher's one task: takes orders, keeps one watch for each turn, cleans up when a watch has ended.
//!
//! Here it is decided which turn is watched by whom, nothing else. What a turn's process does is the watch's affair.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::watch::{Job, Watch};
use super::{Desk, sweep};
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::turn::Outcome;
use crate::fleet::worker::Worker;

pub(super) struct Orders {
    desk: Arc<Desk>,
    watched: HashMap<TurnId, Watched>,
    watches: JoinSet<()>,
    turns: HashMap<Id, TurnId>,
    chores: JoinSet<()>,
}

/// How often a turn gets another watch for one that broke.
const REPLACEMENTS: u32 = 3;

/// A turn that has a watch, and what is to be done when it has ended.
struct Watched {
    worker: Arc<Worker>,
    job: Job,
    broken: u32,
    stop: CancellationToken,
    then_forget: bool,
    then_gone: bool,
}

impl Orders {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        let (watches, chores) = (JoinSet::new(), JoinSet::new());
        Self { desk, watched: HashMap::new(), watches, turns: HashMap::new(), chores }
    }

    pub(super) async fn run(mut self, mut orders: UnboundedReceiver<WorkEffect>) {
        // The first tick comes at once: a daemon before this one may have left something.
        let mut sweeps = tokio::time::interval(self.desk.sweep);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = sweeps.tick() => {
                    let watched = self.watched.keys().copied().collect();
                    self.chores.spawn(sweep::leftovers(self.desk.clone(), watched));
                }
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order).await,
                    None => return,
                },
                Some(ended) = self.watches.join_next_with_id() => self.watch_ended(ended).await,
                Some(_) = self.chores.join_next() => {}
            }
        }
    }

    async fn carry_out(&mut self, order: WorkEffect) {
        match order {
            WorkEffect::Start(worker) if worker.profile.has_session() => {
                let why = format!("this version has no launcher {}", worker.profile.launcher);
                self.desk.tell(Sighting::NotUp { worker: worker.name.clone(), why }).await;
            }
            // Nothing lives between turns, so there is nothing that could fail to come up.
            WorkEffect::Start(worker) => self.desk.tell(Sighting::Up { worker: worker.name.clone() }).await,
            // Nothing but processes of turns is looked after here.
            WorkEffect::Watch(_)
            | WorkEffect::Replied(..)
            | WorkEffect::Nudge(..)
            | WorkEffect::Pause(_)
            | WorkEffect::Memory => {}
            WorkEffect::Hand(worker, turn) => self.watch(&worker, turn.id, Job::Run(turn)),
            WorkEffect::Interrupt(worker, turn) => self.interrupt(&worker, turn),
            WorkEffect::Stop(worker) => self.stop(&worker).await,
            WorkEffect::Forget(turn) => match self.watched.get_mut(&turn) {
                Some(watched) => watched.then_forget = true,
                None => self.forget(turn),
            },
        }
    }

    fn watch(&mut self, worker: &Arc<Worker>, turn: TurnId, job: Job) {
        if self.watched.contains_key(&turn) {
            return;
        }
        let stop = CancellationToken::new();
        let worker = worker.clone();
        self.begin(turn, Watched { worker, job, broken: 0, stop, then_forget: false, then_gone: false });
    }

    fn begin(&mut self, turn: TurnId, watched: Watched) {
        let watch = Watch::new(self.desk.clone(), watched.worker.clone(), turn, watched.stop.clone());
        let task = self.watches.spawn(watch.run(watched.job.clone()));
        self.turns.insert(task.id(), turn);
        self.watched.insert(turn, watched);
    }

    fn interrupt(&mut self, worker: &Arc<Worker>, turn: TurnId) {
        self.watch(worker, turn, Job::End);
        if let Some(watched) = self.watched.get(&turn) {
            watched.stop.cancel();
        }
    }

    async fn stop(&mut self, worker: &Arc<Worker>) {
        let watched =
            self.watched.iter().find(|(_, watched)| watched.worker.name == worker.name).map(|(turn, _)| *turn);
        match watched.or(worker.turn) {
            Some(turn) => {
                self.interrupt(worker, turn);
                if let Some(watched) = self.watched.get_mut(&turn) {
                    watched.then_gone = true;
                }
            }
            None => self.gone(worker).await,
        }
    }

    async fn watch_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let Some(turn) = self.turns.remove(&id) else { return };
        let Some(watched) = self.watched.remove(&turn) else { return };
        if let Err(error) = ended {
            // Not its text: a panic may quote what it worked on.
            tracing::error!(%turn, panicked = error.is_panic(), "the watch of a turn broke");
            return self.replace(turn, watched).await;
        }
        if watched.then_gone {
            self.gone(&watched.worker).await;
        }
        if watched.then_forget {
            self.forget(turn);
        }
    }

    /// Its process may still run, so another watch goes on. Where none can, nobody says that the worker is idle or gone.
    async fn replace(&mut self, turn: TurnId, mut watched: Watched) {
        watched.broken += 1;
        if watched.broken <= REPLACEMENTS {
            return self.begin(turn, watched);
        }
        let worker = watched.worker.name.clone();
        let finish = Box::new(Finish::without_reply(Outcome::Unknown, "fleetd's watch of its process broke"));
        self.desk.tell(Sighting::Finished { worker, turn, finish, idle: false }).await;
    }

    async fn gone(&self, worker: &Worker) {
        let (worker, session) = (worker.name.clone(), worker.session);
        self.desk.tell(Sighting::Gone { worker, session, why: "it was stopped".into() }).await;
    }

    fn forget(&mut self, turn: TurnId) {
        self.chores.spawn(sweep::forget(self.desk.clone(), turn));
    }
}
