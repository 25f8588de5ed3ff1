//! Mailboxes: what waits for the leader and the operator, until they acknowledge it. Polling twice shows it twice.
//! A run has no mailbox; what its steps wait for is answered to them in `runs`.

use std::sync::Arc;

use super::caller::Sender;
use super::ids::{MessageId, Ticket};
use super::input::Answer;
use super::mail::{About, Message};
use super::record::Record;
use super::state::{Cx, Fleet};
use super::time::Time;
use super::timers::Timer;
use super::turn::TurnState;
use super::waits::{Subject, Wait};

impl Fleet {
    pub(super) fn poll(
        &mut self,
        cx: &mut Cx,
        ticket: Ticket,
        sender: Sender,
        after: Option<MessageId>,
        limit: usize,
        until: Option<Time>,
    ) {
        let found = self.mail(sender, after, limit);
        self.seen_by(sender, &found);
        match (&found, until) {
            (Answer::Mail { messages, .. }, Some(until)) if messages.is_empty() && until > cx.now => {
                self.wait(ticket, Subject::Mail(sender), Some((after, limit)), until, Some(sender));
            }
            _ => cx.answer(ticket, Ok(found)),
        }
    }

    /// Returns what waits in a mailbox after a cursor, oldest first.
    pub(super) fn mail(&self, sender: Sender, after: Option<MessageId>, limit: usize) -> Answer {
        let from = (sender, MessageId(after.map_or(0, |id| id.0.saturating_add(1))));
        let mut rest = self.messages.range(from..).take_while(|((to, _), _)| *to == sender).map(|(_, message)| message);
        let messages: Vec<Arc<Message>> = rest.by_ref().take(limit).cloned().collect();
        Answer::Mail { messages, more: rest.next().is_some() }
    }

    /// Answers everybody who polls a mailbox and has not seen all of it.
    pub(super) fn tell_mail(&mut self, cx: &mut Cx, sender: Sender) {
        let subject = Subject::Mail(sender);
        if !self.is_watched(&subject) {
            return;
        }
        let first = (subject.clone(), Ticket(0));
        let polls: Vec<(Ticket, Wait)> = self
            .watched
            .range(first..)
            .take_while(|(of, _)| *of == subject)
            .filter_map(|(_, ticket)| Some((*ticket, self.waits.get(ticket)?.clone())))
            .collect();
        for (ticket, wait) in polls {
            let (after, limit) = wait.mail.unwrap_or((None, 1));
            let found = self.mail(sender, after, limit);
            if matches!(&found, Answer::Mail { messages, .. } if !messages.is_empty()) {
                self.leave(ticket);
                self.seen_by(sender, &found);
                cx.answer(ticket, Ok(found));
            }
        }
    }

    pub(super) fn ack(&mut self, cx: &mut Cx, sender: Sender, ids: Vec<MessageId>) -> Answer {
        let (acked, unknown) = ids.into_iter().partition(|id| self.collect(cx, sender, *id));
        Answer::Acked { acked, unknown }
    }

    /// Takes a message out of its mailbox for good; what it was about is collected with it.
    pub(super) fn collect(&mut self, cx: &mut Cx, sender: Sender, id: MessageId) -> bool {
        let Some(message) = self.drop_message(cx, sender, id) else { return false };
        if let Some(at) = message.expires {
            self.timers.remove(&(at, Timer::Shown(sender, id)));
        }
        match &message.about {
            About::Reply(turn) => {
                if let Some(turn) = self.turns.get(turn).cloned() {
                    let mut turn = (*turn).clone();
                    turn.enter(TurnState::Collected, cx.now, Some(format!("by {sender}")));
                    let turn = self.put_turn(cx, turn);
                    self.forget_turn(&turn);
                }
            }
            About::Run(run) => {
                if let Some(run) = self.runs.remove(run) {
                    let mut run = (*run).clone();
                    run.collected = true;
                    cx.record(Record::Run(Arc::new(run)));
                }
            }
            About::Late(turn) => cx.record(Record::Late(*turn, None)),
            // An acknowledged question stays open: it is shown with its turn or run until somebody answers it.
            About::Question(_) | About::Notice(_) => {}
        }
        true
    }
}
