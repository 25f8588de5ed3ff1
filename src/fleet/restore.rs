//! The fleet as it was: rows that were read back become the state they were written from.
//! Timers and queues are derived anew here, never stored. Nothing is recorded and no order given; `resume` does that.

use std::sync::Arc;

use super::caller::Sender;
use super::mail::Message;
use super::record::Saved;
use super::run::RunOutcome;
use super::state::{Fleet, Limits};
use super::timers::Timer;
use super::turn::{Priority, TurnState};
use super::worker::WorkerState;

impl Fleet {
    /// Returns the fleet that wrote these rows. The charter comes after it, as an input.
    pub fn restore(saved: Saved, limits: Limits) -> Fleet {
        let mut fleet = Fleet::new(limits);
        fleet.next = saved.next.max(1);
        for worker in saved.workers {
            if worker.state != WorkerState::Gone {
                fleet.time_idle(&worker);
                fleet.set_worker(Arc::new(worker));
            }
        }
        for turn in saved.turns {
            if !turn.state.is_settled() {
                for (at, timer) in [(turn.deadline, Timer::Deadline(turn.id)), (turn.timeout, Timer::Timeout(turn.id))]
                {
                    if let Some(at) = at {
                        fleet.at(at, timer);
                    }
                }
            }
            fleet.know_as(&turn);
            fleet.turns.insert(turn.id, Arc::new(turn));
        }
        fleet.time_graces();
        for step in saved.steps {
            if let (Some(until), None) = (step.until, step.seq) {
                fleet.at(until, Timer::Sleep(step.run, step.path.clone()));
            }
            fleet.steps.insert((step.run, step.path.clone()), Arc::new(step));
        }
        for run in saved.runs {
            // One that its deadline has closed already has only its grace left.
            let is_over = run.closing.as_ref().is_some_and(|closing| closing.outcome == RunOutcome::TimedOut);
            if let (Some(at), None, false) = (run.deadline, run.outcome, is_over) {
                fleet.at(at, Timer::RunDeadline(run.id));
            }
            if let (Some(closing), None) = (&run.closing, run.outcome) {
                fleet.at(closing.until, Timer::RunGrace(run.id));
            }
            fleet.keep_run(Arc::new(run));
        }
        for message in saved.messages {
            if let Some(at) = message.expires {
                fleet.at(at, Timer::Shown(message.to, message.id));
            }
            if message.to == Sender::Leader && !message.shown {
                fleet.unread.insert(message.id);
            }
            fleet.messages.insert((message.to, message.id), Arc::new(message));
        }
        for used in saved.keys {
            fleet.at(used.at + fleet.limits.key_ttl, Timer::Key(used.sender, used.key.clone()));
            fleet.keys.insert((used.sender, used.key.clone()), Arc::new(used));
        }
        fleet.questions = saved.questions.into_iter().map(|question| (question.id, Arc::new(question))).collect();
        fleet.notes = saved.notes.into_iter().collect();
        for (role, until) in saved.parked {
            fleet.at(until, Timer::Unpark(role.clone()));
            fleet.parked.insert(role, until);
        }
        for (role, budget) in saved.budgets {
            if let Some(until) = budget.until {
                fleet.at(until, Timer::Budget(role.clone()));
            }
            fleet.budgets.insert(role, Arc::new(budget));
        }
        fleet.paused = saved.paused;
        if let Some(until) = saved.seat.as_ref().and_then(|seat| seat.until) {
            fleet.at(until, Timer::Seat);
        }
        fleet.seat = saved.seat.map(Arc::new);
        fleet.drafts = saved.drafts.into_iter().collect();
        fleet.requeue();
        fleet
    }

    /// Returns the rows that a store which wrote every record of this fleet would read back, each kind in its order.
    pub fn saved(&self) -> Saved {
        let mut messages: Vec<Message> = self.messages.values().map(|message| (**message).clone()).collect();
        messages.sort_by_key(|message| message.id);
        Saved {
            next: self.next,
            generation: self.generation(),
            turns: self.turns.values().map(|turn| (**turn).clone()).collect(),
            workers: self.workers.values().map(|worker| (**worker).clone()).collect(),
            messages,
            questions: self.questions.values().map(|question| (**question).clone()).collect(),
            runs: self.runs.values().map(|run| (**run).clone()).collect(),
            steps: self.steps.values().map(|step| (**step).clone()).collect(),
            keys: self.keys.values().map(|used| (**used).clone()).collect(),
            notes: self.notes.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            parked: self.parked.iter().map(|(role, until)| (role.clone(), *until)).collect(),
            budgets: self.budgets.iter().map(|(role, budget)| (role.clone(), (**budget).clone())).collect(),
            paused: self.paused.clone(),
            seat: self.seat.as_deref().cloned(),
            drafts: self.drafts.iter().map(|(turn, text)| (*turn, text.clone())).collect(),
        }
    }

    /// Times those whose turn was ended over them and who are not idle yet.
    fn time_graces(&mut self) {
        let told = self.workers.values().filter_map(|worker| {
            let is_told = matches!(worker.state, WorkerState::Clearing | WorkerState::Draining);
            let turn = worker.turn.filter(|_| is_told)?;
            let is_over = self.turns.get(&turn).is_none_or(|turn| turn.state.is_settled());
            is_over.then(|| (worker.since + self.limits.grace, Timer::Grace(worker.name.clone(), turn)))
        });
        for (at, timer) in told.collect::<Vec<_>>() {
            self.at(at, timer);
        }
    }

    /// Fills the queues from the turns that wait.
    fn requeue(&mut self) {
        let waiting: Vec<_> = self.turns.values().filter(|turn| turn.state == TurnState::Queued).cloned().collect();
        for turn in waiting {
            let urgent = turn.priority == Priority::Now;
            let queue = self.queue_of(&turn.to);
            self.queues.entry(queue).or_default().push(turn.id, turn.sender, turn.to.clone(), urgent);
        }
    }
}
