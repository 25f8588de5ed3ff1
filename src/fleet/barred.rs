//! What is in the way of a session's next text: a dialog, a human's draft, a pane that cannot be reached.
//!
//! While something is, the worker takes nothing new, and a turn that it was handed but was not typed goes back to its
//! queue. How that is seen is the launcher's matter; that it was not typed is the launcher's word, hand by hand.

use super::calls::event_of;
use super::envelope::Finish;
use super::ids::{TurnId, WorkerName};
use super::input::{Effect, WorkEffect};
use super::state::{Cx, Fleet};
use super::timers::Timer;
use super::turn::{Outcome, Priority, Turn, TurnState};
use super::worker::{Worker, WorkerState};

impl Fleet {
    /// The worker cannot be typed to: it keeps the turn that it has and gets no other.
    pub(super) fn seen_barred(&mut self, cx: &mut Cx, name: &WorkerName, state: WorkerState) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        if worker.state == WorkerState::Draining {
            return self.note_barred(cx, &worker, Some(why(&state).to_owned()));
        }
        let is_up = matches!(
            worker.state,
            WorkerState::Ready | WorkerState::Busy | WorkerState::Blocked(_) | WorkerState::Unreachable(_)
        );
        if is_up && worker.profile.has_session() && worker.state != state {
            self.worker_event(cx, name, format!("{}: {}", state.word(), why(&state)));
            self.put_worker(cx, Worker { state, since: cx.now, ..(*worker).clone() });
        }
    }

    /// Nothing is in the way any more.
    pub(super) fn seen_clear(&mut self, cx: &mut Cx, name: &WorkerName) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        if worker.state == WorkerState::Draining {
            return self.note_barred(cx, &worker, None);
        }
        if !matches!(worker.state, WorkerState::Blocked(_) | WorkerState::Unreachable(_)) {
            return;
        }
        let state = if worker.turn.is_some() { WorkerState::Busy } else { WorkerState::Ready };
        let worker = self.put_worker(cx, Worker { state, since: cx.now, ..(*worker).clone() });
        if worker.is_free() && self.is_surplus(&worker) {
            self.retire(cx, name, "no longer in the charter's plan");
        } else {
            self.time_idle(&worker);
        }
    }

    /// Notes what keeps a worker that is told to go from coming to the end of its turn.
    fn note_barred(&mut self, cx: &mut Cx, worker: &Worker, why: Option<String>) {
        if worker.life.barred != why {
            let mut worker = worker.clone();
            worker.life.barred = why;
            self.put_worker(cx, worker);
        }
    }

    /// The turn was not typed and goes back to where it waited. Only the very hand that is answered counts: a later
    /// one may have been typed.
    pub(super) fn seen_held(&mut self, cx: &mut Cx, name: &WorkerName, id: TurnId, hand: usize, why: String) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.turn == Some(id)).cloned() else { return };
        let Some(turn) = self.turns.get(&id).filter(|turn| turn.state.is_in_flight()).cloned() else {
            return self.never_had(cx, &worker, id, hand, why);
        };
        if turn.hands() != hand {
            return;
        }
        if turn.state != TurnState::Handed {
            // It spoke in a turn by its id without having been told of it: what it took that for, nobody knows.
            let why = format!("the worker spoke in it, and nothing of it was typed: {why}");
            self.settle(cx, id, Finish::without_reply(Outcome::Unknown, why));
            return self.free_worker(cx, name);
        }
        let mut turn: Turn = (*turn).clone();
        turn.worker = None;
        if let Some(at) = turn.timeout.take() {
            self.timers.remove(&(at, Timer::Timeout(id)));
        }
        turn.enter(TurnState::Queued, cx.now, Some(format!("not typed to {name}: {why}")));
        cx.event(event_of(&turn, cx.now, format!("not typed to {name}: {why}")));
        let turn = self.put_turn(cx, turn);
        if let Some(deadline) = turn.deadline {
            // One that has passed meanwhile waited for what was seen of the turn, and nothing of it is to be seen.
            self.at(deadline, Timer::Deadline(id));
        }
        let queue = self.queue_of(&turn.to);
        let urgent = turn.priority == Priority::Now;
        self.queues.entry(queue).or_default().put_back(id, turn.sender, turn.to.clone(), urgent);
        self.free_barred(cx, &worker, why);
    }

    /// The turn was ended from outside before it was typed. Nothing of it has to be stopped: a session that sits behind a
    /// dialog is not ended for one that it never had.
    fn never_had(&mut self, cx: &mut Cx, worker: &Worker, id: TurnId, hand: usize, why: String) {
        if worker.cut.as_ref().is_some_and(|cut| cut.hand == hand) {
            self.free_barred(cx, worker, why);
            cx.effect(Effect::Work(WorkEffect::Forget(id)));
        }
    }

    /// Takes from a worker a turn of which nothing was typed, and notes what is in its way.
    fn free_barred(&mut self, cx: &mut Cx, worker: &Worker, why: String) {
        let was_draining = worker.state == WorkerState::Draining;
        let state = if was_draining { WorkerState::Draining } else { WorkerState::Blocked(why) };
        self.put_worker(cx, Worker { state, turn: None, since: cx.now, late: None, cut: None, ..worker.clone() });
        if was_draining {
            self.end_worker(cx, &worker.name, "drained");
        }
    }
}

fn why(state: &WorkerState) -> &str {
    match state {
        WorkerState::Blocked(why) | WorkerState::Unreachable(why) => why,
        _ => "",
    }
}
