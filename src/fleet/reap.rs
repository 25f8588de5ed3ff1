//! `on_restart = "reap"`: the sessions that the last daemon left are stopped instead of adopted, and it is reported.
//! Only what is recorded here; the orders to stop are given by `resume`, like all others after a restart.

use super::envelope::Finish;
use super::input::{Effect, WorkEffect};
use super::state::{Cx, Fleet};
use super::turn::Outcome;
use super::worker::{Worker, WorkerState};

const WHY: &str = "fleetd was restarted, and on_restart in fleetd.toml is \"reap\"";

impl Fleet {
    pub(super) fn reap(&mut self, cx: &mut Cx) {
        let sessions = self.workers.values().filter(|worker| worker.profile.has_session());
        let names: Vec<_> = sessions.map(|worker| worker.name.clone()).collect();
        for name in &names {
            let Some(worker) = self.workers.get(name).cloned() else { continue };
            if let Some(id) = worker.turn {
                let taken =
                    self.turns.get(&id).is_some_and(|turn| turn.at(super::turn::TurnState::Submitted).is_some());
                let outcome = if taken { Outcome::Lost } else { Outcome::Unknown };
                self.settle(cx, id, Finish::without_reply(outcome, format!("worker {name} was stopped: {WHY}")));
                cx.effect(Effect::Work(WorkEffect::Forget(id)));
            }
            let Some(worker) = self.workers.get(name).cloned() else { continue };
            let mut worker = Worker { state: WorkerState::Draining, turn: None, since: cx.now, ..(*worker).clone() };
            worker.life.renewal = None;
            self.put_worker(cx, worker);
            self.worker_event(cx, name, format!("told to go: {WHY}"));
        }
        if !names.is_empty() {
            let list: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            let (n, list) = (names.len(), list.join(", "));
            self.notice(cx, format!("{n} sessions of the last fleetd were stopped ({list}): {WHY}"));
        }
    }
}
