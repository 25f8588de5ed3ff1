//! When the leader is told, by a line in its own pane, that something waits for it and nobody looks.
//!
//! It follows from what is unread and is never stored: one line for all of it, three at most with growing gaps, and
//! none after a look at the mailbox. Whether the pane can take a line now is the launcher's matter.

use super::caller::Sender;
use super::input::{Answer, Effect, Nudged, WorkEffect};
use super::record::Event;
use super::seat::Sitter;
use super::state::{Cx, Fleet};
use super::time::{Span, Time};
use super::timers::Timer;
use super::waits::Subject;
use super::worker::Process;

/// How long something lies unread before the first line: a leader that looks by itself is not disturbed.
const FIRST: Span = Span::seconds(5);
/// How long after each line the next one comes, if still nobody looked. After the last one there is none.
const GAPS: [Span; 2] = [Span::minutes(1), Span::minutes(5)];
/// How long after a try that found the pane busy, or was not heard of, the next one comes.
const AGAIN: Span = Span::seconds(15);

/// How far telling the leader has come since it last looked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Nudge {
    due: Option<Time>,
    typed: usize,
    /// Of how much a try under way tells that the leader has not answered by a look. An agent may look before the
    /// launcher has said that the line was typed.
    trying: Option<usize>,
    /// A leader of which no pane is known: it is not asked for again.
    paneless: Option<Process>,
    /// What came of the last try, for people.
    said: Option<String>,
}

impl Fleet {
    /// Sees at the end of a step whether the leader is to be told, and when.
    pub(super) fn time_nudge(&mut self, now: Time) {
        match (self.nudge_whom(), self.nudge.due) {
            (Some(_), None) => {
                let gap = self.nudge.typed.checked_sub(1).map_or(FIRST, |n| GAPS[n.min(GAPS.len() - 1)]);
                self.set_nudge(Some(now + gap));
            }
            (None, Some(_)) => self.set_nudge(None),
            _ => {}
        }
    }

    /// The time has come: the launcher tries it once and says what came of it.
    pub(super) fn nudge_due(&mut self, cx: &mut Cx) {
        if self.nudge.due.is_none_or(|due| due > cx.now) {
            return;
        }
        self.nudge.due = None;
        if let Some(process) = self.nudge_whom() {
            self.nudge.trying = Some(self.unread.len());
            cx.effect(Effect::Work(WorkEffect::Nudge(process, self.unread.len())));
            self.set_nudge(Some(cx.now + AGAIN));
        }
    }

    pub(super) fn seen_nudged(&mut self, cx: &mut Cx, process: Process, how: Nudged) {
        if self.leader() != Some(process) {
            return;
        }
        let trying = self.nudge.trying.take();
        match how {
            Nudged::Typed => {
                self.nudge.said = None;
                self.set_nudge(None);
                if let Some(waiting) = trying {
                    self.nudge.typed += 1;
                    let what = format!("the leader was told in its pane that {waiting} wait");
                    cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
                }
            }
            Nudged::NotNow(why) => self.nudge.said = trying.map(|_| why),
            Nudged::NoPane(why) => {
                self.nudge.said = Some(why);
                self.nudge.paneless = Some(process);
            }
        }
    }

    /// The leader has looked: what it saw is not told to it again.
    pub(super) fn seen_by(&mut self, reader: Sender, found: &Answer) {
        let Answer::Mail { messages, .. } = found else { return };
        if reader == Sender::Leader {
            (self.nudge.typed, self.nudge.trying, self.nudge.said) = (0, None, None);
            for message in messages {
                self.unread.remove(&message.id);
            }
        }
    }

    /// The leader was told what this turn or run asks, by the answer that it waited for.
    pub(super) fn told_leader(&mut self, asker: &Subject) {
        for question in self.open_questions(asker) {
            self.unread.remove(&question.message);
        }
    }

    /// Somebody else sits down: telling begins anew.
    pub(super) fn forget_nudges(&mut self) {
        self.set_nudge(None);
        self.nudge = Nudge::default();
    }

    /// Returns how often the leader was told since it last looked, and why it was not, if a try failed.
    pub fn nudges(&self) -> (usize, Option<&str>) {
        (self.nudge.typed, self.nudge.said.as_deref())
    }

    /// Returns the leader if it should be told.
    fn nudge_whom(&self) -> Option<Process> {
        if self.unread.is_empty() || self.paused.is_some() || self.nudge.typed > GAPS.len() {
            return None;
        }
        let process = self.leader().filter(|process| self.nudge.paneless != Some(*process))?;
        // Who waits at the mailbox is told there.
        (!self.is_watched(&Subject::Mail(Sender::Leader))).then_some(process)
    }

    fn leader(&self) -> Option<Process> {
        match self.seat.as_ref()?.sitter {
            Sitter::Process(process) => Some(process),
            Sitter::Session(_) | Sitter::Token => None,
        }
    }

    fn set_nudge(&mut self, due: Option<Time>) {
        if let Some(old) = self.nudge.due {
            self.timers.remove(&(old, Timer::Nudge));
        }
        if let Some(due) = due {
            self.at(due, Timer::Nudge);
        }
        self.nudge.due = due;
    }
}
