//! Callers that wait right now: for a turn, a run, mail, a worker or an answer.
//!
//! Waits are fleet state but never recorded: after a restart nobody waits, and nothing depends on it.

use std::sync::Arc;

use super::caller::{Caller, Sender};
use super::envelope::Envelope;
use super::ids::{Key, MessageId, QuestionId, RunId, Ticket, TurnId, WorkerName};
use super::input::Answer;
use super::mail::{About, Asker, Question};
use super::record::Made;
use super::refusal::Refusal;
use super::state::{Cx, Fleet};
use super::time::Time;
use super::timers::Timer;
use super::turn::Turn;

/// What a caller waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The end of a turn, or a question in it.
    Turn(TurnId),
    /// The end of a run, or a question in it.
    Run(RunId),
    /// Anything new in a mailbox.
    Mail(Sender),
    /// A worker that comes up.
    Worker(WorkerName),
    /// The answer to a question.
    Question(QuestionId),
}

/// One caller that waits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wait {
    pub subject: Subject,
    /// For mail: what was seen already, and how many at most.
    pub mail: Option<(Option<MessageId>, usize)>,
    pub until: Time,
    /// Who waits; a worker is nobody's sender.
    pub by: Option<Sender>,
}

impl Fleet {
    pub(super) fn wait(
        &mut self,
        ticket: Ticket,
        subject: Subject,
        mail: Option<(Option<MessageId>, usize)>,
        until: Time,
        by: Option<Sender>,
    ) {
        self.watched.insert((subject.clone(), ticket));
        self.waits.insert(ticket, Wait { subject, mail, until, by });
        self.at(until, Timer::Wait(ticket));
    }

    /// Ends a wait whose caller went away. Nothing is recorded, so it needs no store and takes effect at once.
    pub fn leave(&mut self, ticket: Ticket) {
        if let Some(wait) = self.waits.remove(&ticket) {
            self.watched.remove(&(wait.subject, ticket));
            self.timers.remove(&(wait.until, Timer::Wait(ticket)));
        }
    }

    /// Ends all waits for a subject and returns their tickets, in the order in which they came.
    pub(super) fn end_waits(&mut self, subject: &Subject) -> Vec<Ticket> {
        let first = (subject.clone(), Ticket(0));
        let tickets: Vec<Ticket> =
            self.watched.range(first..).take_while(|(of, _)| of == subject).map(|(_, ticket)| *ticket).collect();
        for ticket in &tickets {
            self.leave(*ticket);
        }
        tickets
    }

    /// Returns the waits for a subject, in the order in which they came.
    pub(super) fn waits_for(&self, subject: &Subject) -> Vec<(Ticket, Wait)> {
        let of_subject = self.watched.range((subject.clone(), Ticket(0))..).take_while(|(of, _)| of == subject);
        of_subject.filter_map(|(_, ticket)| Some((*ticket, self.waits.get(ticket)?.clone()))).collect()
    }

    pub(super) fn is_watched(&self, subject: &Subject) -> bool {
        self.watched.range((subject.clone(), Ticket(0))..).next().is_some_and(|(of, _)| of == subject)
    }

    pub(super) fn wait_over(&mut self, cx: &mut Cx, ticket: Ticket) {
        let Some(wait) = self.waits.get(&ticket).cloned() else { return };
        self.leave(ticket);
        let gone = || Err(Refusal::new(super::refusal::RefusalKind::Conflict, "what was waited for is gone"));
        let answer = match &wait.subject {
            Subject::Turn(id) => self.turns.get(id).map_or_else(gone, |turn| Ok(self.open_turn(turn.id))),
            Subject::Run(id) => self.runs.get(id).map_or_else(gone, |run| Ok(self.open_run(run.id))),
            Subject::Mail(sender) => {
                let (after, limit) = wait.mail.unwrap_or((None, 1));
                Ok(self.mail(*sender, after, limit))
            }
            Subject::Worker(name) => {
                self.workers.get(name).map_or_else(gone, |worker| Ok(Answer::Worker(worker.clone())))
            }
            Subject::Question(id) => {
                self.questions.get(id).map_or_else(gone, |question| Ok(Answer::Unanswered(question.clone())))
            }
        };
        cx.answer(ticket, answer);
    }

    /// Starts to wait for a turn, or answers at once if it has ended or asks something.
    pub(super) fn wait_turn(&mut self, cx: &mut Cx, ticket: Ticket, by: Sender, id: TurnId, until: Time) {
        let id = self.newest(id);
        let Some(turn) = self.turns.get(&id).cloned() else {
            return cx.answer(ticket, Err(unknown_turn(id)));
        };
        if turn.state.is_settled() {
            if turn.sender == by {
                self.show(cx, by, turn.message);
            }
            cx.answer(ticket, Ok(Answer::Settled(turn, None)));
        } else if !self.open_questions(&Subject::Turn(id)).is_empty() || until <= cx.now {
            if by == Sender::Leader {
                self.told_leader(&Subject::Turn(id));
            }
            let answer = self.open_turn(id);
            cx.answer(ticket, Ok(answer));
        } else {
            self.wait(ticket, Subject::Turn(id), None, until, Some(by));
        }
    }

    /// Starts to wait for a run, or answers at once if it has ended or asks something.
    pub(super) fn wait_run(&mut self, cx: &mut Cx, ticket: Ticket, by: Sender, id: RunId, until: Time) {
        let Some(run) = self.runs.get(&id).cloned() else {
            return cx.answer(ticket, Err(unknown_run(id)));
        };
        if run.outcome.is_some() {
            if run.owner == by {
                self.show(cx, by, run.message);
            }
            cx.answer(ticket, Ok(Answer::Ended(run)));
        } else if !self.open_questions(&Subject::Run(id)).is_empty() || until <= cx.now {
            if by == Sender::Leader {
                self.told_leader(&Subject::Run(id));
            }
            let answer = self.open_run(id);
            cx.answer(ticket, Ok(answer));
        } else {
            self.wait(ticket, Subject::Run(id), None, until, Some(by));
        }
    }

    /// Waits on for what a request began whose connection broke: the same turn, run, worker or question.
    pub(super) fn resume_wait(&mut self, cx: &mut Cx, ticket: Ticket, caller: &Caller, request: &Key, until: Time) {
        if let Caller::Worker { name, .. } = caller {
            let ours = |question: &&Arc<Question>| {
                question.request.as_ref() == Some(request) && self.worker_of(question) == Some(name)
            };
            return match self.questions.values().find(ours).cloned() {
                Some(question) if question.answer.is_some() => cx.answer(ticket, Ok(Answer::Answered(question))),
                Some(question) => self.wait(ticket, Subject::Question(question.id), None, until, None),
                None => cx.answer(ticket, Err(nothing_began())),
            };
        }
        let Some(sender) = caller.sender() else { return cx.answer(ticket, Err(nothing_began())) };
        let Some(used) = self.made_by(sender, request) else { return cx.answer(ticket, Err(nothing_began())) };
        match &used.made {
            Made::Turn(turn) => self.wait_turn(cx, ticket, sender, *turn, until),
            Made::Run(run) => self.wait_run(cx, ticket, sender, *run, until),
            Made::Worker(name) => match self.worker_made(&used).cloned() {
                Some(worker) => self.tell_worker_or_wait(cx, ticket, &worker),
                None => cx.answer(ticket, Err(self.unknown_worker(name))),
            },
        }
    }

    fn worker_of(&self, question: &Question) -> Option<&WorkerName> {
        match question.asker {
            Asker::Turn(turn) => self.turns.get(&turn)?.worker.as_ref(),
            Asker::Step { .. } => None,
        }
    }

    /// Returns whether this sender itself waits for a subject: what others are told, it was not shown.
    pub(super) fn waits_itself(&self, subject: &Subject, sender: Sender) -> bool {
        let waits = self.watched.range((subject.clone(), Ticket(0))..).take_while(|(of, _)| of == subject);
        waits.filter_map(|(_, ticket)| self.waits.get(ticket)).any(|wait| wait.by == Some(sender))
    }

    /// Tells everybody who waits for a turn that it has ended; returns whether its sender did.
    pub(super) fn tell_settled(&mut self, cx: &mut Cx, turn: &Arc<Turn>, envelope: &Arc<Envelope>) -> bool {
        let subject = Subject::Turn(turn.id);
        let shown = self.waits_itself(&subject, turn.sender);
        for ticket in self.end_waits(&subject) {
            cx.answer(ticket, Ok(Answer::Settled(turn.clone(), Some(envelope.clone()))));
        }
        shown
    }
    /// Tells everybody who waits for the asking turn or run that there is a question.
    pub(super) fn tell_asked(&mut self, cx: &mut Cx, subject: &Subject) {
        if self.waits_itself(subject, Sender::Leader) {
            self.told_leader(subject);
        }
        for ticket in self.end_waits(subject) {
            let answer = match subject {
                Subject::Turn(id) => self.open_turn(*id),
                Subject::Run(id) => self.open_run(*id),
                Subject::Mail(_) | Subject::Worker(_) | Subject::Question(_) => continue,
            };
            cx.answer(ticket, Ok(answer));
        }
    }

    /// Returns the unanswered questions of a turn, or of a run and its turns, but for those that a run has first.
    pub(super) fn open_questions(&self, subject: &Subject) -> Vec<Arc<Question>> {
        let of_run = |run: RunId, id: RunId| self.up_from(run).contains(&id);
        let asks = |question: &Question| match (&question.asker, subject) {
            (super::mail::Asker::Turn(turn), Subject::Turn(id)) => turn == id,
            (super::mail::Asker::Step { run, .. }, Subject::Run(id)) => of_run(*run, *id),
            (super::mail::Asker::Turn(turn), Subject::Run(id)) => match self.turns.get(turn).map(|turn| turn.sender) {
                Some(Sender::Run(run)) => of_run(run, *id),
                _ => false,
            },
            _ => false,
        };
        let open = |question: &Question| question.answer.is_none() && !question.is_with_a_run();
        self.questions.values().filter(|question| open(question) && asks(question)).cloned().collect()
    }

    fn open_turn(&self, id: TurnId) -> Answer {
        match self.turns.get(&id) {
            Some(turn) if turn.state.is_settled() => Answer::Settled(turn.clone(), None),
            Some(turn) => Answer::Open(turn.clone(), self.open_questions(&Subject::Turn(id))),
            None => unreachable!("callers look the turn up first"),
        }
    }

    fn open_run(&self, id: RunId) -> Answer {
        match self.runs.get(&id) {
            Some(run) if run.outcome.is_some() => Answer::Ended(run.clone()),
            Some(run) => Answer::RunOpen(run.clone(), self.open_questions(&Subject::Run(id))),
            None => unreachable!("callers look the run up first"),
        }
    }

    /// Marks a message as shown to a caller that waited for it.
    pub(super) fn show(&mut self, cx: &mut Cx, to: Sender, message: Option<MessageId>) {
        let Some(id) = message else { return };
        let Some(message) = self.messages.get(&(to, id)).filter(|message| !message.shown) else { return };
        debug_assert!(!matches!(message.about, About::Question(_)), "questions are answered, not shown");
        let mut message = (**message).clone();
        let expires = cx.now + self.limits.key_ttl;
        message.shown = true;
        message.expires = Some(expires);
        self.put_message(cx, message);
        self.at(expires, Timer::Shown(to, id));
    }
}

fn nothing_began() -> Refusal {
    Refusal::new(super::refusal::RefusalKind::Unknown, "nothing that began by this request is known")
        .hint("repeat the call: the same key, or the same question in the same turn, begins nothing twice")
}

pub(super) fn unknown_turn(id: TurnId) -> Refusal {
    Refusal::new(super::refusal::RefusalKind::Unknown, format!("there is no open turn {id}"))
        .hint("a collected turn is shown by its trace")
}

pub(super) fn unknown_run(id: RunId) -> Refusal {
    Refusal::new(super::refusal::RefusalKind::Unknown, format!("there is no run {id}"))
}
