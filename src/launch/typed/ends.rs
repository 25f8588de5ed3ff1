//! What a program has told of the end of the turn that it is at, matched by the names of prompts: a person may type into
//! the same session, and the end of their words is not the end of the turn.
//! Pure: when a turn is over by that, `settle` decides.

use std::collections::BTreeSet;

use super::settle::Told;

/// What was told of the end of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    /// The prompts that belong to the turn: its own, and what the program said to itself because of it.
    own: BTreeSet<String>,
    /// Whether something that it began still runs.
    goes_on: bool,
    told: Option<Told>,
    /// The end of somebody else's words, while the turn was not known to be over.
    foreign: Option<Told>,
}

impl Ends {
    /// A prompt belongs to the turn.
    pub(super) fn own(&mut self, prompt: Option<String>) {
        self.own.extend(prompt);
    }

    /// A prompt of the program's own belongs to the turn if the turn goes on by itself.
    pub(super) fn own_more(&mut self, prompt: Option<String>) {
        if self.goes_on {
            self.own.extend(prompt);
        }
    }

    /// A step has ended, and more comes.
    pub(super) fn goes_on(&mut self, prompt: Option<&str>) {
        if self.is_own(prompt) {
            (self.goes_on, self.told) = (true, None);
        }
    }

    /// An end was told.
    pub(super) fn take(&mut self, told: Told) {
        match self.is_own(told.prompt()) {
            true => (self.told, self.goes_on) = (Some(told), false),
            false => self.foreign = Some(told),
        }
    }

    /// Returns the end of the turn, once it was told.
    pub(super) fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    /// Returns the end of somebody else's words: the program is at rest, and said nothing of the turn itself.
    pub(super) fn foreign(&self) -> Option<&Told> {
        self.foreign.as_ref()
    }

    /// Returns whether an idle screen means nothing: what was begun runs on.
    pub(super) fn is_awaited(&self) -> bool {
        self.goes_on
    }

    /// Programs that do not name their prompts are believed.
    fn is_own(&self, prompt: Option<&str>) -> bool {
        prompt.is_none_or(|prompt| self.own.is_empty() || self.own.contains(prompt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::signs::Meaning;

    fn end(prompt: &str) -> Told {
        Told::new(Meaning::Replied, Some(format!("reply to {prompt}")), None).of(Some(prompt.into()))
    }

    fn at(prompt: &str) -> Ends {
        let mut ends = Ends::default();
        ends.own(Some(prompt.into()));
        ends
    }

    #[test]
    fn the_end_of_a_persons_words_is_not_that_of_the_turn() {
        let mut ends = at("a");
        ends.take(end("b"));
        assert!(ends.told().is_none() && ends.foreign().is_some());
        ends.take(end("a"));
        assert!(ends.told().is_some());
        ends.take(end("b"));
        assert_eq!(ends.told().and_then(Told::prompt), Some("a"), "and what comes after it changes nothing");
    }

    #[test]
    fn what_runs_on_is_waited_for_and_what_it_says_to_itself_is_a_part() {
        let mut ends = at("a");
        ends.own_more(Some("x".into()));
        ends.take(end("x"));
        assert!(ends.told().is_none(), "it said nothing of going on");
        ends.goes_on(Some("a"));
        assert!(ends.is_awaited());
        ends.own_more(Some("b".into()));
        ends.take(end("b"));
        assert!(ends.told().is_some() && !ends.is_awaited());
    }

    #[test]
    fn without_names_every_end_counts() {
        let mut ends = Ends::default();
        ends.take(Told::new(Meaning::Replied, None, None));
        assert!(ends.told().is_some());
    }
}
