//! What a program's lines say of one turn: that its text was taken, what was said in it, how it ended. Pure: lines come
//! in, in the order in which they were written, and it makes no difference when or how often they are read.

use std::collections::BTreeMap;

use super::super::session::text::{Same, compare, is_marked};
use super::super::session::why_of;
use crate::fleet::envelope::{Finish, Usage};
use crate::fleet::ids::TurnId;
use crate::fleet::signs::{Meaning, Read};
use crate::fleet::turn::Outcome;

/// What showed how a turn ended.
const PROOF: &str = "result";

/// What follows from a line for the turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    /// Nothing.
    Nothing,
    /// The text was taken.
    Taken,
    /// Another text was taken in its place.
    Cut,
    /// It works on.
    Said,
    /// It tries again to reach its model.
    Retrying(String),
    /// The turn is over.
    Over(Box<Finish>),
}

/// What is known of one turn.
#[derive(Clone, Debug)]
pub(super) struct Story {
    turn: TurnId,
    /// The text as it was written; none if only its first line is known.
    given: Option<String>,
    taken: bool,
    model: Option<String>,
    /// A message may be told in several lines, each with the figures of all.
    usage: BTreeMap<String, Usage>,
    /// How full the context was at the last message.
    context: Option<u64>,
    /// What the session had cost when the turn began.
    cost: f64,
}

impl Story {
    /// Begins a turn; `shows_taken`: the program itself shows that it took a text, and until then nothing is its own.
    pub(super) fn new(turn: TurnId, given: Option<String>, cost: f64, shows_taken: bool) -> Story {
        Story { turn, given, taken: !shows_taken, model: None, usage: BTreeMap::new(), context: None, cost }
    }

    /// Returns whether the text was shown to have been taken.
    pub(super) fn is_taken(&self) -> bool {
        self.taken
    }

    /// It was shown by other means than a line.
    pub(super) fn was_taken(&mut self) {
        self.taken = true;
    }

    /// Compares what the program says it took with what it was given.
    pub(super) fn compare(&self, taken: &str) -> Same {
        match &self.given {
            Some(given) => compare(given, self.turn, taken),
            None if is_marked(taken, self.turn) => Same::Whole,
            None => Same::Other,
        }
    }

    /// Takes in what a line says.
    pub(super) fn hear(&mut self, read: &Read) -> Heard {
        match read.sign.is {
            Meaning::Taken => {
                let same = read.text.as_deref().map_or(Same::Whole, |text| self.compare(text));
                match same {
                    // What it says to itself, and what a session says of its own settings.
                    Same::Other => Heard::Nothing,
                    Same::Part => Heard::Cut,
                    Same::Whole | Same::Within if self.taken => Heard::Nothing,
                    Same::Whole | Same::Within => {
                        self.taken = true;
                        Heard::Taken
                    }
                }
            }
            _ if !self.taken => Heard::Nothing,
            Meaning::Said => {
                self.model = read.model.clone().or(self.model.take());
                if let (Some(id), Some(usage)) = (&read.id, read.usage) {
                    self.usage.insert(id.clone(), usage);
                    self.context = Some(usage.input + usage.cache_read + usage.cache_write);
                }
                Heard::Said
            }
            Meaning::Retrying => Heard::Retrying(read.why.clone().unwrap_or_else(|| "it does not say why".into())),
            end if end.is_end() => self.over(read),
            _ => Heard::Nothing,
        }
    }

    fn over(&self, read: &Read) -> Heard {
        let text = read.text.as_deref().unwrap_or_default();
        let (outcome, why) = match read.sign.is {
            Meaning::Replied => (Outcome::Replied, None),
            Meaning::Interrupted => {
                (Outcome::Failed, Some("it broke off in the middle, and not by an order of fleetd".to_owned()))
            }
            _ => (Outcome::Failed, Some(why_of(read.why.as_deref(), text))),
        };
        let reply = if outcome == Outcome::Replied { text } else { "" };
        let finish = Finish {
            outcome,
            why,
            text: reply.into(),
            usage: self.usage(read),
            model: read.model.clone().or_else(|| self.model.clone()),
            proof: Some(PROOF.into()),
            ..Finish::without_reply(outcome, "")
        };
        Heard::Over(Box::new(finish))
    }

    /// Returns what the turn took: by its last line, or by its messages, each counted once.
    fn usage(&self, read: &Read) -> Option<Usage> {
        let mut usage = read.usage.or_else(|| Usage::sum(self.usage.values()));
        if let Some(usage) = &mut usage {
            usage.context = self.context;
        }
        if let (Some(usage), Some(now)) = (&mut usage, read.cost_so_far) {
            usage.cost = Some((now - self.cost).max(0.0));
        }
        usage
    }
}

#[cfg(test)]
mod tests;
