//! A new generation of the charter, applied as a difference: nothing that runs is killed by a save.
//! How a charter is read and found good is decided above; what comes in here is in force and cannot be refused.

use std::sync::Arc;

use super::ids::RoleName;
use super::input::Effect;
use super::record::{Event, Record};
use super::state::{Cx, Fleet};
use super::team::Team;
use super::time::Time;
use super::timers::Timer;
use super::worker::{Worker, WorkerState};

impl Fleet {
    pub(super) fn take_team(&mut self, cx: &mut Cx, team: Arc<Team>) {
        if self.team.as_ref().is_some_and(|present| present.generation == team.generation) {
            return;
        }
        cx.record(Record::Generation(team.generation.number));
        let what = format!("charter generation {} in force", team.generation.number);
        cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
        self.forgive_changed(cx, &team);
        // A role that its author has just changed is not held up by what a handler thought of the one before.
        let is_other =
            |role: &&RoleName| self.team.as_ref().is_some_and(|old| old.roles.get(*role) != team.roles.get(*role));
        let parked: Vec<RoleName> = self.parked.keys().filter(is_other).cloned().collect();
        for role in parked {
            self.go_on(cx, role);
        }
        self.team = Some(team);
        let workers: Vec<Arc<Worker>> = self.workers.values().cloned().collect();
        for worker in workers {
            if worker.is_command() || !self.is_surplus(&worker) {
                continue;
            }
            match worker.state {
                WorkerState::Ready if worker.turn.is_none() => {
                    self.retire(cx, &worker.name, "no longer in the charter's plan");
                }
                WorkerState::Starting if !worker.life.ordered && !self.is_awaited(&worker) => {
                    self.worker_gone(cx, &worker.name, "no longer in the charter's plan");
                }
                // A removed profile drains. Surplus by a lowered cap is decided again when the worker becomes free.
                WorkerState::Busy if !self.is_planned(&worker) => {
                    let state = WorkerState::Draining;
                    self.put_worker(cx, Worker { state, since: cx.now, ..(*worker).clone() });
                }
                _ => {}
            }
        }
    }

    /// Returns whether the charter still has this worker's profile in its role.
    fn is_planned(&self, worker: &Worker) -> bool {
        let role = self.team.as_ref().and_then(|team| team.roles.get(&worker.role));
        role.is_some_and(|role| role.profiles.contains(&worker.profile.name))
    }

    /// Returns what must be done again after a restart: every order is idempotent, so giving it twice is harmless.
    ///
    /// Evidence goes before timers: a turn that ended while nobody looked is not called timed out because its deadline
    /// passed meanwhile or passes while they look, and a session that is idle by now is not ended for not being so. What
    /// is due by then waits a little for what launchers find.
    pub fn resume(&mut self, now: Time) -> Vec<Effect> {
        use super::input::WorkEffect;
        use super::run::RunEffect;
        let heard = now + self.limits.evidence;
        let early = self.timers.iter().take_while(|(at, _)| *at < heard).filter(|(_, timer)| match timer {
            Timer::Deadline(id) | Timer::Timeout(id) => {
                self.turns.get(id).is_some_and(|turn| turn.state.is_in_flight())
            }
            Timer::Grace(..) | Timer::RunDeadline(_) | Timer::RunGrace(_) => true,
            _ => false,
        });
        for (at, timer) in early.cloned().collect::<Vec<_>>() {
            self.timers.remove(&(at, timer.clone()));
            self.at(heard, timer);
        }
        let runs = self.runs.values().filter(|run| run.outcome.is_none());
        let runs = runs.map(|run| Effect::Run(RunEffect::Start { run: run.clone() }));
        let workers = self.workers.values().filter_map(|worker| {
            let turn = worker.turn.and_then(|id| self.turns.get(&id));
            let order = match (&worker.state, worker.turn, turn) {
                // One whose turn to start had not come is started when it comes.
                (WorkerState::Starting, _, _) if !worker.life.ordered => return None,
                (WorkerState::Starting, _, _) => WorkEffect::Start(worker.clone()),
                (_, Some(_), Some(turn)) if turn.state.is_in_flight() => WorkEffect::Hand(worker.clone(), turn.clone()),
                (_, Some(id), _) => WorkEffect::Interrupt(worker.clone(), id),
                (WorkerState::Draining, None, _) => WorkEffect::Stop(worker.clone()),
                (WorkerState::Failed(_), None, _) => return None,
                _ if worker.profile.has_session() => WorkEffect::Watch(worker.clone()),
                _ => return None,
            };
            Some(Effect::Work(order))
        });
        let held = self.paused.is_some().then_some(Effect::Work(WorkEffect::Pause(true)));
        held.into_iter().chain(workers).chain(runs).collect()
    }
}
