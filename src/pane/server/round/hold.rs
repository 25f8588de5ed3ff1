//! For a moment after a key of a watcher, only the pane with that key prints and is drawn: what others print stays in
//! their terminals, so that their programs rest too, and the processor is there for the way of the key and its echo.
//!
//! A moment is short and rare: whoever types without pause, or into a program that never answers, costs all others no
//! more than a quarter of their time.

use std::time::{Duration, Instant};

/// How long one lasts if the key is not answered. Programs that take longer are quiet panes, which are read first anyway.
const LONGEST: Duration = Duration::from_millis(5);
/// How soon after the beginning of one the next may begin. A key that is held down comes every 30 ms.
const EVERY: Duration = Duration::from_millis(20);

/// The present moment of that kind, if there is one.
#[derive(Debug, Default)]
pub(in crate::pane::server) struct Hold {
    /// The panes with a key that is not answered yet.
    panes: Vec<String>,
    began: Option<Instant>,
}

impl Hold {
    /// Notes that a watcher typed something into a pane.
    pub(in crate::pane::server) fn typed(&mut self, pane: &str, now: Instant) {
        if !self.is_on(now) {
            if self.began.is_some_and(|began| now < began + EVERY) {
                return;
            }
            self.panes.clear();
            self.began = Some(now);
        }
        if !self.panes.iter().any(|held| held == pane) {
            self.panes.push(pane.into());
        }
    }

    /// Notes that watchers were shown what a pane has printed.
    pub(super) fn shown(&mut self, pane: &str) {
        self.panes.retain(|held| held != pane);
    }

    /// Tells whether there is one now.
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.until().is_some_and(|until| now < until)
    }

    /// Tells whether a pane may print now, and be drawn.
    pub(super) fn lets(&self, pane: &str, now: Instant) -> bool {
        !self.is_on(now) || self.panes.iter().any(|held| held == pane)
    }

    /// Returns when it ends, whatever happens.
    pub(super) fn until(&self) -> Option<Instant> {
        self.began.filter(|_| !self.panes.is_empty()).map(|began| began + LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ends_with_the_last_answer_or_by_itself() {
        let (mut hold, now) = (Hold::default(), Instant::now());
        assert!(hold.lets("other", now) && hold.until().is_none());
        hold.typed("a", now);
        hold.typed("b", now + LONGEST / 2);
        assert!(hold.lets("a", now) && hold.lets("b", now) && !hold.lets("other", now));
        hold.shown("a");
        assert!(!hold.lets("other", now), "the other key is not answered");
        hold.shown("b");
        assert!(hold.lets("other", now) && hold.until().is_none());
        hold.typed("a", now + EVERY);
        assert!(!hold.lets("other", now + EVERY));
        assert!(hold.lets("other", now + EVERY + LONGEST), "it is not answered, and others go on");
    }

    #[test]
    fn who_types_without_pause_costs_others_a_quarter_of_their_time() {
        let (mut hold, begin) = (Hold::default(), Instant::now());
        let step = Duration::from_micros(100);
        let held = (0..10_000u32).filter(|n| {
            let now = begin + step * *n;
            hold.typed("a", now);
            if n % 7 == 0 {
                hold.shown("a");
            }
            !hold.lets("other", now)
        });
        let held = step * u32::try_from(held.count()).expect("few");
        assert!(held <= Duration::from_millis(250), "{held:?} of a second");
    }
}
