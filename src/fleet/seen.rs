//! What launchers report. A sighting may be late, doubled or about something long over; then it changes nothing.
//! How something was seen, on an exit status or a pane, is the launcher's matter and must not be asked here; what is in
//! the way of a session's next text is in `barred`.

use super::caller::Sender;
use super::calls::event_of;
use super::envelope::Finish;
use super::ids::{TurnId, WorkerName};
use super::input::{Answer, Effect, Sighting, WorkEffect};
use super::refusal::{Refusal, RefusalKind};
use super::renew::NOTE;
use super::state::{Cx, Fleet};
use super::time::Span;
use super::timers::Timer;
use super::turn::{Outcome, TurnState};
use super::waits::Subject;
use super::worker::{Process, Worker, WorkerState};

/// A launcher ends a turn by its profile's timeout itself, with what was written until then; the fleet does it only
/// when the launcher did not.
const TIMEOUT_SLACK: Span = Span::seconds(5);

impl Fleet {
    pub(super) fn seen(&mut self, cx: &mut Cx, sighting: Sighting) {
        match sighting {
            Sighting::Began { worker, process } => self.seen_began(cx, &worker, process),
            Sighting::Up { worker } | Sighting::Idle { worker } => self.seen_idle(cx, &worker),
            Sighting::NotUp { worker, why } => self.seen_not_up(cx, &worker, &why),
            Sighting::Taken { worker, turn, process } => self.seen_taken(cx, &worker, turn, process),
            Sighting::Finished { worker, turn, finish, idle } => self.seen_finished(cx, &worker, turn, *finish, idle),
            Sighting::Held { worker, turn, hand, why } => self.seen_held(cx, &worker, turn, hand, why),
            Sighting::Blocked { worker, why } => self.seen_barred(cx, &worker, WorkerState::Blocked(why)),
            Sighting::Unreachable { worker, why } => self.seen_barred(cx, &worker, WorkerState::Unreachable(why)),
            Sighting::Nudged { leader, how } => self.seen_nudged(cx, leader, how),
            Sighting::Clear { worker } => self.seen_clear(cx, &worker),
            Sighting::Broke { worker, why } => self.seen_broke(cx, &worker, &why),
            Sighting::Memory { available } => self.seen_memory(cx, available),
            Sighting::Gone { worker, session, why } => self.seen_gone(cx, &worker, session, &why),
        }
    }

    fn seen_began(&mut self, cx: &mut Cx, name: &WorkerName, process: Process) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.process != Some(process)).cloned() else {
            return;
        };
        if worker.profile.has_session() {
            self.put_worker(cx, Worker { process: Some(process), ..(*worker).clone() });
        }
    }

    fn seen_idle(&mut self, cx: &mut Cx, name: &WorkerName) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        match worker.state {
            WorkerState::Starting => {
                let mut worker = Worker { state: WorkerState::Ready, since: cx.now, ..(*worker).clone() };
                (worker.life.ordered, worker.life.up) = (true, Some(cx.now));
                let worker = self.put_worker(cx, worker);
                for ticket in self.end_waits(&Subject::Worker(name.clone())) {
                    cx.answer(ticket, Ok(Answer::Worker(worker.clone())));
                }
                if self.is_surplus(&worker) {
                    self.retire(cx, name, "no longer in the charter's plan");
                } else {
                    self.time_idle(&worker);
                }
            }
            // Idle frees a worker only from a turn that is over; a turn under way ends by its own proof.
            WorkerState::Clearing | WorkerState::Draining => match worker.turn {
                Some(turn) if self.turns.get(&turn).is_some_and(|turn| !turn.state.is_settled()) => {}
                _ => self.free_worker(cx, name),
            },
            _ => self.seen_clear(cx, name),
        }
    }

    fn seen_not_up(&mut self, cx: &mut Cx, name: &WorkerName, why: &str) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.state == WorkerState::Starting).cloned()
        else {
            return;
        };
        for ticket in self.end_waits(&Subject::Worker(name.clone())) {
            let message = format!("worker {name} did not come up: {why}");
            cx.answer(ticket, Err(Refusal::new(RefusalKind::PeerUnreachable, message)));
        }
        self.worker_event(cx, name, format!("did not come up: {why}"));
        let is_ours = worker.elastic || worker.life.is_fresh();
        if is_ours {
            self.setback(cx, &worker, &format!("it did not come up: {why}"));
        }
        let stays = !self.is_surplus(&worker) || self.is_awaited(&worker);
        match worker.life.is_fresh() && stays {
            true => self.begin_anew(cx, &worker, worker.life.note()),
            // Nobody asked for it by name, and why it failed is kept with its role: it holds no place.
            false if is_ours => self.worker_gone(cx, name, &format!("it did not come up: {why}")),
            false => {
                let state = WorkerState::Failed(why.to_string());
                self.put_worker(cx, Worker { state, since: cx.now, ..(*worker).clone() });
            }
        }
    }

    pub(super) fn seen_taken(&mut self, cx: &mut Cx, name: &WorkerName, id: TurnId, process: Option<Process>) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.turn == Some(id)).cloned() else { return };
        if process.is_some() && worker.process != process {
            self.put_worker(cx, Worker { process, ..(*worker).clone() });
        }
        self.note_used(cx, name);
        let Some(turn) = self.turns.get(&id).filter(|turn| turn.state == TurnState::Handed).cloned() else { return };
        let mut turn = (*turn).clone();
        turn.enter(TurnState::Submitted, cx.now, process.map(|process| format!("pid {}", process.pid)));
        turn.enter(TurnState::Working, cx.now, None);
        if let Some(timeout) = worker.profile.timeout {
            let at = turn.timeout.into_iter().chain([cx.now + timeout + TIMEOUT_SLACK]).min();
            turn.timeout = at;
            self.at(at.unwrap_or_default(), Timer::Timeout(id));
        }
        if turn.sender == Sender::Fleetd && turn.deadline.is_none() {
            let at = cx.now + NOTE;
            turn.deadline = Some(at);
            self.at(at, Timer::Deadline(id));
        }
        cx.event(event_of(&turn, cx.now, format!("taken by {name}")));
        self.put_turn(cx, turn);
    }

    fn seen_finished(&mut self, cx: &mut Cx, name: &WorkerName, id: TurnId, finish: Finish, idle: bool) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.turn == Some(id)).cloned() else {
            // Nobody has it any more: it was settled and committed before, so its files may go.
            if self.turns.get(&id).is_none_or(|turn| turn.state.is_settled()) {
                cx.effect(Effect::Work(WorkEffect::Forget(id)));
            }
            return;
        };
        self.note_used(cx, name);
        self.note_usage(cx, name, finish.usage.as_ref());
        let worker = self.workers.get(name).cloned().unwrap_or(worker);
        let open = self.turns.get(&id).is_some_and(|turn| !turn.state.is_settled());
        if let Some(usage) = &finish.usage {
            self.pay_late(cx, name, usage);
        }
        let worker = self.workers.get(name).cloned().unwrap_or(worker);
        let turns = worker.turns + u32::from(open);
        if idle || !open || worker.state == WorkerState::Draining {
            self.put_worker(cx, Worker { turns, ..(*worker).clone() });
        } else {
            self.put_worker(cx, Worker { turns, state: WorkerState::Clearing, since: cx.now, ..(*worker).clone() });
        }
        if open && !idle {
            self.at(cx.now + self.limits.grace, Timer::Grace(name.clone(), id));
        }
        let held = !open && self.hold_late(cx, name, id, &finish);
        let keeps_file = (open || held) && finish.truncated.is_some();
        self.settle(cx, id, finish);
        if idle {
            self.free_worker(cx, name);
        }
        if !keeps_file {
            cx.effect(Effect::Work(WorkEffect::Forget(id)));
        }
    }

    /// Nobody waits for the turn of a session that must not go on.
    fn seen_broke(&mut self, cx: &mut Cx, name: &WorkerName, why: &str) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        if worker.elastic {
            // Else its role would start the next one at once, and that one may break in the same way.
            self.setback(cx, &worker, why);
        }
        let mut draining = Worker { state: WorkerState::Draining, since: cx.now, ..(*worker).clone() };
        draining.life.renewal = None;
        let draining = self.put_worker(cx, draining);
        if let Some(turn) = worker.turn {
            self.end_turn(
                cx,
                turn,
                Finish::without_reply(Outcome::Failed, format!("worker {name} was stopped: {why}")),
            );
        }
        self.worker_event(cx, name, format!("stopped: {why}"));
        self.notice(cx, format!("worker {name} was stopped: {why}"));
        cx.effect(Effect::Work(WorkEffect::Stop(draining)));
    }

    fn seen_gone(&mut self, cx: &mut Cx, name: &WorkerName, session: u64, why: &str) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.session == session).cloned() else { return };
        if let Some(id) = worker.turn {
            // Dead after proof of submission is lost; dead before it, nobody knows whether the text was taken.
            let taken = self.turns.get(&id).is_some_and(|turn| turn.at(TurnState::Submitted).is_some());
            let (outcome, what) = match taken {
                true => (Outcome::Lost, "the worker died"),
                false => (Outcome::Unknown, "the worker died before it was shown that it took the text"),
            };
            self.settle(cx, id, Finish::without_reply(outcome, format!("{what}: {why}")));
            cx.effect(Effect::Work(WorkEffect::Forget(id)));
        }
        if worker.profile.has_session() && worker.elastic && self.died_young(&worker, cx.now) {
            self.setback(cx, &worker, why);
        }
        if !self.renewed(cx, name) {
            self.worker_gone(cx, name, why);
        }
    }

    /// Stops a worker: after its present turn, or at once, which loses that turn.
    pub(super) fn stop_worker(&mut self, cx: &mut Cx, name: &WorkerName, kill: bool, why: &str) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        let Some(turn) = worker.turn else { return self.end_worker(cx, name, why) };
        let mut worker = worker.draining(cx.now);
        worker.life.renewal = None;
        self.put_worker(cx, worker);
        if kill {
            self.end_turn(cx, turn, Finish::without_reply(Outcome::Lost, format!("worker {name} was {why}")));
        }
    }
}
