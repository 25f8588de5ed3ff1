//! An answer that does not fit its shape is sent back: its turn ends as failed, and a new one, linked to it, asks again.
//!
//! To the sender the chain is one turn, under the id that it knows: it waits on, and gets the last one's envelope. Both
//! are one commit, so a turn has one end and nothing is asked twice, wherever the daemon dies.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::envelope::Finish;
use super::ids::TurnId;
use super::input::Answer;
use super::record::Record;
use super::run::Step;
use super::state::{Cx, Fleet};
use super::team::Address;
use super::turn::{Outcome, Priority, Turn, TurnState};
use super::waits::Subject;

/// The word for an answer that does not fit its shape.
pub const SCHEMA: &str = "schema";

/// What a turn asks again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amends {
    /// The turn that was sent, under whose id its sender knows all of them.
    pub first: TurnId,
    /// The turn whose answer did not fit.
    pub of: TurnId,
    /// What was wrong with it.
    pub complaint: String,
    /// How often an answer was sent back so far, this time counted.
    pub times: u32,
    /// The number of the session that gave it: another one knows nothing of it. 0 = a process of its own.
    pub session: u64,
    /// Where the sender sent it: there it goes if that session is gone, and there another try goes.
    pub sent_to: Address,
    /// Whether the sender sent it before others.
    #[serde(default)]
    pub priority: Priority,
}

impl Fleet {
    /// Returns the turn that is at work for the one that a sender knows.
    pub(super) fn newest(&self, mut id: TurnId) -> TurnId {
        while let Some(next) = self.amended.get(&id).filter(|_| !self.turns.contains_key(&id)) {
            id = *next;
        }
        id
    }

    /// Notes under which ids a turn is known.
    pub(super) fn know_as(&mut self, turn: &Turn) {
        if let Some(amends) = &turn.amends {
            for known in [amends.first, amends.of] {
                self.amended.insert(known, turn.id);
            }
        }
    }

    /// Forgets a turn that is collected, and the ids under which it was known.
    pub(super) fn forget_turn(&mut self, turn: &Turn) {
        self.turns.remove(&turn.id);
        for known in turn.amends.iter().flat_map(|amends| [amends.first, amends.of]) {
            if self.amended.get(&known) == Some(&turn.id) {
                self.amended.remove(&known);
            }
        }
    }

    /// Holds a reply against the shape that was wanted. One that does not fit is a failure, which keeps its text.
    pub(super) fn fit(&self, turn: &Turn, finish: Finish) -> (Finish, Option<String>) {
        let Some(shape) = turn.shape.as_ref().filter(|_| finish.outcome == Outcome::Replied) else {
            return (finish, None);
        };
        let checked = match (&finish.truncated, &finish.complaint) {
            (_, Some(complaint)) => Err(complaint.clone()),
            (Some(cut), None) if finish.data.is_some() || cut.data.is_some() => Ok(finish.data.clone()),
            (Some(cut), None) => Err(format!("it has {} bytes, and nobody could read them all", cut.bytes)),
            (None, None) => shape.check(&finish.text).map(Some),
        };
        match checked {
            Ok(data) => (Finish { data, ..finish }, None),
            Err(complaint) => {
                let why = Some(format!("its answer does not fit the schema: {complaint}"));
                (Finish { outcome: Outcome::Failed, why, misfit: true, ..finish }, Some(complaint))
            }
        }
    }

    /// Sends an answer back that does not fit, if it may be; then the turn that gave it is over and nobody is told.
    pub(super) fn send_back(&mut self, cx: &mut Cx, turn: &Turn, finish: &Finish, complaint: &str) -> bool {
        let times = turn.amends.as_ref().map_or(0, |amends| amends.times) + 1;
        let wanted = turn.shape.as_ref().is_some_and(|shape| times <= shape.corrections);
        if !wanted || !self.may_wait_again(&turn.to) {
            return false;
        }
        let step = match &turn.step {
            Some(at) => {
                let step = self.steps.get(&(at.run, at.path.clone())).cloned();
                let alive = self.runs.get(&at.run).is_some_and(|run| run.outcome.is_none());
                let Some(step) = step.filter(|_| alive) else { return false };
                if self.closed(cx, at.run).is_some() {
                    return false;
                }
                Some(step)
            }
            None => None,
        };
        let worker = turn.worker.as_ref().and_then(|name| self.workers.get(name));
        let session = worker.map_or(0, |worker| if worker.profile.has_session() { worker.session } else { 0 });
        // A session knows what it was asked; a process of its own does not, so any will do.
        let to = match worker.filter(|worker| session != 0 && !self.is_surplus(worker)) {
            Some(worker) => Address::Worker(worker.name.clone()),
            None => turn.sent_to().clone(),
        };
        let id = TurnId(self.fresh());
        let first = turn.amends.as_ref().map_or(turn.id, |amends| amends.first);
        let amends = Amends {
            first,
            of: turn.id,
            complaint: complaint.to_string(),
            times,
            session,
            sent_to: turn.sent_to().clone(),
            priority: turn.amends.as_ref().map_or(turn.priority, |amends| amends.priority),
        };
        let deadline = turn.deadline;
        let mut again = turn.again(id, cx.now, None, self.generation());
        again = Turn {
            to,
            deadline,
            priority: Priority::Now,
            amends: Some(Box::new(amends)),
            key: turn.key.clone(),
            ..again
        };
        again.because = Some(format!("the answer of {} does not fit", turn.id));
        // Whoever asks again is not another try: it goes where the answer came from.
        (again.retry_of, again.tried) = (turn.retry_of, turn.tried.clone());
        if let Some(step) = step {
            self.put_step(cx, Step { turn: Some(id), ..(*step).clone() });
        }
        let mut over = turn.clone();
        let envelope = Arc::new(self.envelope(&over, finish.clone(), cx));
        over.enter(TurnState::Collected, cx.now, Some(format!("sent back as {id}")));
        cx.record(Record::Envelope(envelope.clone()));
        let over = self.put_turn(cx, over);
        self.forget_turn(&over);
        if let Some(at) = &turn.step {
            self.count_turn(cx, at.run, 1, 0, None);
        }
        let again = self.accept(cx, again);
        self.know_as(&again);
        self.move_waits(cx, turn.id, id);
        true
    }

    /// A turn that waits for a session that is gone goes where it was sent at first, if that was no worker by name.
    pub(super) fn goes_elsewhere(&mut self, cx: &mut Cx, id: TurnId) -> bool {
        let Some(turn) = self.turns.get(&id).cloned() else { return false };
        let Some(Address::Role(role)) = turn.amends.as_ref().map(|amends| amends.sent_to.clone()) else { return false };
        if let Some(queue) = self.queues.get_mut(&self.queue_of(&turn.to)) {
            queue.remove(id, turn.sender, &turn.to);
        }
        let to = Address::Role(role.clone());
        self.queues.entry(role).or_default().push(id, turn.sender, to.clone(), turn.priority == Priority::Now);
        self.put_turn(cx, Turn { to, ..(*turn).clone() });
        true
    }

    /// Who waited for a turn waits for the one that asks again.
    fn move_waits(&mut self, cx: &mut Cx, from: TurnId, to: TurnId) {
        let waits: Vec<_> = self.waits_for(&Subject::Turn(from));
        for (ticket, wait) in waits {
            self.leave(ticket);
            match wait.until > cx.now {
                true => self.wait(ticket, Subject::Turn(to), None, wait.until, wait.by),
                false => {
                    let Some(turn) = self.turns.get(&to).cloned() else { continue };
                    cx.answer(ticket, Ok(Answer::Open(turn, Vec::new())));
                }
            }
        }
    }

    /// Returns the error's word of a turn that ended: of a failure for its shape, of a step that no worker took, or the
    /// outcome's own.
    pub(super) fn error_word(turn: &Turn, finish: &Finish) -> Option<String> {
        let in_run = matches!(turn.sender, Sender::Run(_));
        match finish.outcome {
            Outcome::Replied => None,
            Outcome::Failed if finish.misfit => Some(SCHEMA.to_string()),
            // Of a step's turn that nobody ever had it is worth knowing that nobody was slow.
            Outcome::TimedOut if in_run && turn.hands() == 0 => Some("busy".to_string()),
            outcome => Some(outcome.word().to_string()),
        }
    }
}
