//! How a turn ends: exactly once, with one envelope, told to whoever waits or laid into the sender's mailbox.
//! Which outcome it is the caller says: `seen`, a timer, a cancel. That there is only one is guarded here alone.

use std::sync::Arc;

use super::caller::Sender;
use super::calls::event_of;
use super::envelope::{Envelope, Finish, From, Times};
use super::ids::{MessageId, TurnId};
use super::input::{Effect, WorkEffect};
use super::mail::{About, Message};
use super::record::Record;
use super::state::{Cx, Fleet};
use super::team::Address;
use super::timers::Timer;
use super::turn::{Outcome, Turn, TurnState};
use super::waits::Subject;
use super::worker::{Cut, Worker, WorkerState};

impl Fleet {
    /// Ends a turn from outside: a deadline, a cancel, the end of its run. A worker that has it is interrupted and
    /// takes nothing new before it was seen idle.
    pub(super) fn end_turn(&mut self, cx: &mut Cx, id: TurnId, finish: Finish) {
        let Some(turn) = self.turns.get(&id).cloned() else { return };
        if turn.state.is_settled() {
            return;
        }
        if turn.state.is_in_flight()
            && let Some(worker) = turn.worker.as_ref().and_then(|name| self.workers.get(name)).cloned()
            && worker.turn == Some(id)
        {
            let state = match worker.state {
                WorkerState::Draining => WorkerState::Draining,
                _ => WorkerState::Clearing,
            };
            let late = self.late_for(&turn, &finish);
            let cut = Some(Box::new(self.cut_of(&turn)));
            let worker = self.put_worker(cx, Worker { state, since: cx.now, late, cut, ..(*worker).clone() });
            cx.effect(Effect::Work(WorkEffect::Interrupt(worker.clone(), id)));
            self.at(cx.now + self.limits.grace, Timer::Grace(worker.name.clone(), id));
        }
        self.settle(cx, id, finish);
    }

    fn cut_of(&self, turn: &Turn) -> Cut {
        let pay = match turn.sender {
            Sender::Run(run) => self.up_from(run),
            Sender::Leader | Sender::Operator | Sender::Fleetd => Vec::new(),
        };
        Cut { hand: turn.hands(), pay }
    }

    /// Settles a turn. What comes later for the same turn changes nothing.
    pub(super) fn settle(&mut self, cx: &mut Cx, id: TurnId, finish: Finish) {
        let Some(turn) = self.turns.get(&id).cloned() else { return };
        if turn.state.is_settled() {
            return;
        }
        let finish = self.with_draft(cx, id, finish);
        let replied = finish.outcome == Outcome::Replied;
        let (finish, complaint) = self.fit(&turn, finish);
        let mut turn = (*turn).clone();
        if turn.state == TurnState::Queued {
            self.unqueue(cx, &turn);
        }
        for (at, timer) in [(turn.deadline, Timer::Deadline(id)), (turn.timeout, Timer::Timeout(id))] {
            if let Some(at) = at {
                self.timers.remove(&(at, timer));
            }
        }
        for question in std::mem::take(&mut turn.questions) {
            self.withdraw_question(cx, question, "its turn has ended");
        }
        let note = match &finish.why {
            Some(why) => format!("{}: {why}", finish.outcome.word()),
            None => finish.outcome.word().to_string(),
        };
        turn.outcome = Some(finish.outcome);
        turn.why = finish.why.clone();
        turn.enter(TurnState::Settled, cx.now, Some(note.clone()));
        cx.event(event_of(&turn, cx.now, format!("settled as {note}")));
        self.note_ended(cx.now, &turn, &finish);
        // Whatever it replied, its session works.
        if replied {
            self.forgive_role_of(cx, &turn);
        }
        // What it took is counted before anything is begun that the same budget would have to pay for.
        if let Some(at) = turn.step.as_ref().filter(|_| turn.command.is_none()) {
            self.count_turn(cx, at.run, 0, 1, finish.usage.as_ref());
        }
        if complaint.is_some_and(|complaint| self.send_back(cx, &turn, &finish, &complaint)) {
            return;
        }
        if turn.sender != Sender::Fleetd && turn.command.is_none() {
            self.tell_turn_settled(cx, &turn, finish.outcome);
        }
        if turn.sender == Sender::Fleetd {
            return self.settle_own(cx, turn, finish);
        }
        if turn.step.is_some() {
            return self.settle_step_turn(cx, turn, finish);
        }
        let message = MessageId(self.fresh());
        turn.message = Some(message);
        let envelope = Arc::new(self.envelope(&turn, finish, cx));
        let turn = self.put_turn(cx, turn);
        cx.record(Record::Envelope(envelope.clone()));
        let about = About::Reply(id);
        self.put_message(cx, Message { id: message, to: turn.sender, at: cx.now, about, shown: false, expires: None });
        if self.tell_settled(cx, &turn, &envelope) {
            self.show(cx, turn.sender, Some(message));
        } else {
            self.tell_mail(cx, turn.sender);
        }
    }

    /// The turn of a run's step: its end answers the step, or a new turn tries again.
    fn settle_step_turn(&mut self, cx: &mut Cx, mut turn: Turn, finish: Finish) {
        let Some(step) = turn.step.clone() else { return };
        let outcome = finish.outcome;
        let envelope = Arc::new(self.envelope(&turn, finish, cx));
        turn.enter(TurnState::Collected, cx.now, Some(format!("by run {}", step.run)));
        cx.record(Record::Envelope(envelope.clone()));
        let turn = self.put_turn(cx, turn);
        self.tell_settled(cx, &turn, &envelope);
        self.forget_turn(&turn);
        self.grace_begins(cx, step.run);
        if !self.retry_step(cx, &turn, outcome) {
            self.answer_send(cx, &step, &envelope);
        }
    }

    fn unqueue(&mut self, cx: &mut Cx, turn: &Turn) {
        if let Some(queue) = self.queues.get_mut(&self.queue_of(&turn.to)) {
            queue.remove(turn.id, turn.sender, &turn.to);
        }
        // An idle worker may have stayed for this turn alone.
        if let Address::Worker(name) = &turn.to
            && let Some(worker) = self.workers.get(name).filter(|worker| worker.is_free()).cloned()
        {
            match self.is_surplus(&worker) {
                true => self.retire(cx, name, "no longer in the charter's plan"),
                false => self.time_idle(&worker),
            }
        }
    }

    pub(super) fn envelope(&self, turn: &Turn, finish: Finish, cx: &Cx) -> Envelope {
        let worker = turn.worker.as_ref().and_then(|name| self.workers.get(name));
        let error = Self::error_word(turn, &finish);
        Envelope {
            turn: turn.id,
            message: turn.message,
            from: From {
                worker: turn.worker.clone(),
                role: worker.map(|worker| worker.role.clone()),
                profile: worker.map(|worker| worker.profile.name.clone()),
                launcher: worker.map(|worker| worker.profile.launcher.clone()),
                model: finish.model,
            },
            ok: finish.outcome == Outcome::Replied,
            outcome: finish.outcome,
            error,
            why: finish.why,
            text: finish.text,
            data: finish.data,
            usage: finish.usage,
            times: Times {
                accepted: turn.accepted,
                handed: turn.at(TurnState::Handed),
                started: turn.at(TurnState::Submitted),
                settled: cx.now,
            },
            proof: finish.proof,
            exit: finish.exit,
            stderr: finish.stderr,
            generation: turn.generation,
            truncated: finish.truncated,
            work: finish.work,
            retry_of: turn.retry_of,
            amends: turn.amends.as_ref().map(|amends| amends.first),
            late: None,
        }
    }

    /// Lays a message into the mailbox of a caller and wakes whoever polls it.
    pub(super) fn post(&mut self, cx: &mut Cx, to: Sender, about: About) -> MessageId {
        let id = MessageId(self.fresh());
        self.put_message(cx, Message { id, to, at: cx.now, about, shown: false, expires: None });
        self.tell_mail(cx, to);
        id
    }

    pub(super) fn tell_run_ended(&mut self, cx: &mut Cx, run: &Arc<super::run::Run>) -> bool {
        let subject = Subject::Run(run.id);
        let shown = self.waits_itself(&subject, run.owner);
        for ticket in self.end_waits(&subject) {
            cx.answer(ticket, Ok(super::input::Answer::Ended(run.clone())));
        }
        shown
    }
}
