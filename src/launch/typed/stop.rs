//! Making an agent stop a turn that is over for the fleet: told by its keys, told again while it goes on, and its composer
//! emptied where it gave the text back. It is at rest before it gets the next text.

use std::time::Duration;

use tokio::time::Instant;

use super::keeper::Keeper;
use super::look::{Look, tail_of};
use super::work::Doing;
use crate::engine::panes::Key;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::typing::Typing;

/// How often an agent that was told to stop is looked at.
pub(super) const LOOK_AT_STOP: Duration = Duration::from_millis(200);
/// How long after a key the screen may still show what was before it, and the next key be read together with it.
const REST_AFTER_KEY: Duration = Duration::from_millis(500);
/// How long an agent that took a text may take to show that it works; on a busy machine some do for seconds. Less than the
/// fleet's grace, after which the session is ended.
const TO_SHOW_WORK: Duration = Duration::from_secs(6);
/// How long an agent that goes on working has until it is told again.
const TELL_AGAIN: Duration = Duration::from_secs(2);
/// How long it shows an empty composer until it is at rest: what it gives back stands there only after a moment.
const SETTLED: Duration = Duration::from_millis(400);
/// How long after that a text may still come back.
const COMES_BACK: Duration = Duration::from_secs(10);

/// An agent that was told to stop.
pub(super) struct Stopping {
    /// The turn that it was told to stop, if there is one.
    turn: Option<TurnId>,
    began: Instant,
    /// When it was last told, counted from the beginning like all times here.
    told: Duration,
    /// The end of a text of ours that may still stand in its composer.
    tail: Option<String>,
    /// When its composer was emptied: a second time the same keys may mean something else.
    cleared: Option<Duration>,
    /// Whether its program took the text, told no end of it, and has not shown its work either: an idle screen may be
    /// one that is only slow, and the key may have come too early for the program to see it.
    is_at_work: bool,
    /// Since when nothing is to be seen of work and texts of ours.
    rests: Option<Duration>,
}

/// A text that its agent was stopped at, and may give back into its composer later than it is looked for.
pub(super) struct Stopped {
    tail: String,
    at: Instant,
}

impl Stopped {
    /// Returns the end of the text as long as it may come back.
    pub(super) fn tail(&self) -> Option<&str> {
        (self.at.elapsed() < COMES_BACK).then_some(&*self.tail)
    }
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Look again.
    Look,
    /// Empty its composer.
    Clear,
    /// Tell it again.
    Tell,
    /// It has stopped.
    AtRest,
}

impl Stopping {
    pub(super) fn new(tail: Option<String>) -> Stopping {
        Stopping {
            turn: None,
            began: Instant::now(),
            told: Duration::ZERO,
            tail,
            cleared: None,
            is_at_work: false,
            rests: None,
        }
    }

    /// Says that its program is at work at a turn, whatever its screen shows.
    pub(super) fn at_work(self, turn: TurnId) -> Stopping {
        Stopping { is_at_work: true, turn: Some(turn), ..self }
    }

    /// Its program told an end after all.
    pub(super) fn ended(&mut self) {
        self.is_at_work = false;
    }

    /// Says what is to be done, by what the screen shows this long after it was told first.
    fn next(&mut self, now: Duration, look: &Look, typing: &Typing) -> Act {
        let is_due = now.saturating_sub(self.told) >= TELL_AGAIN;
        let rests = self.rests.take();
        if look.dialog.is_some() {
            // Any key would answer it.
            return Act::Look;
        }
        if look.busy {
            // From here on the screen is believed.
            self.is_at_work = false;
            return if is_due { self.tell(now) } else { Act::Look };
        }
        // A person's draft is no reason to end a session; a text of ours that nobody took is.
        if self.tail.as_ref().is_some_and(|tail| look.holds(tail, typing)) {
            if self.cleared.is_some() || now.saturating_sub(self.told) < REST_AFTER_KEY {
                return Act::Look;
            }
            (self.cleared, self.is_at_work) = (Some(now), false);
            return Act::Clear;
        }
        if self.is_at_work && now < TO_SHOW_WORK {
            return if is_due { self.tell(now) } else { Act::Look };
        }
        if look.composer.is_none() {
            return Act::Look;
        }
        let rests = *self.rests.insert(rests.unwrap_or(now));
        match self.tail.is_none() || now.saturating_sub(rests) >= SETTLED {
            true => Act::AtRest,
            false => Act::Look,
        }
    }

    fn tell(&mut self, now: Duration) -> Act {
        self.told = now;
        Act::Tell
    }
}

impl Keeper {
    /// Sees whether an agent that was told to stop has stopped.
    pub(super) async fn watch_stop(&mut self, look: &Look) {
        let typing = self.typing();
        let Doing::Stopping(stopping) = &mut self.doing else { return };
        let act = stopping.next(stopping.began.elapsed(), look, &typing);
        let (is_at_work, turn) = (stopping.is_at_work, stopping.turn);
        let tail = stopping.tail.take_if(|_| act == Act::AtRest);
        match act {
            Act::Look => {}
            Act::Clear => self.press_keys(&typing.clear).await,
            // What is written of the end of the turn says as much as a screen.
            Act::Tell if is_at_work && self.is_written_as_over(turn).await => {
                if let Doing::Stopping(stopping) = &mut self.doing {
                    stopping.ended();
                }
            }
            Act::Tell => drop(self.press_interrupt(is_at_work).await),
            Act::AtRest => {
                // One that came back late does not begin anew.
                if let Some(tail) = tail
                    && self.stopped.as_ref().is_none_or(|stopped| stopped.tail != tail)
                {
                    self.stopped = Some(Stopped { tail, at: Instant::now() });
                }
                self.doing = Doing::Idle;
                self.barred = None;
                self.soon(Duration::ZERO);
                return self.desk.common.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
            }
        }
        self.soon(LOOK_AT_STOP);
    }

    /// Empties the composer of an agent that gave a text back when nobody looked for it any more.
    pub(super) fn clear_late(&mut self, look: &Look) -> bool {
        let Some(tail) = self.stopped.as_ref().and_then(Stopped::tail) else { return false };
        let typing = self.typing();
        if look.busy || look.dialog.is_some() || typing.clear.is_empty() || !look.holds(tail, &typing) {
            return false;
        }
        self.doing = Doing::Stopping(Stopping::new(Some(tail.to_owned())));
        self.soon(LOOK_AT_STOP);
        true
    }

    async fn is_written_as_over(&self, turn: Option<TurnId>) -> bool {
        let Some(turn) = turn else { return false };
        self.record(turn).await.is_some_and(|record| record.complete || record.end.is_some())
    }

    /// Makes the agent stop a turn that is over for the fleet.
    pub(super) async fn interrupt(&mut self, turn: TurnId) {
        let is_another = match &self.doing {
            Doing::Submitting(submitting) => submitting.turn.id != turn,
            Doing::Working(working) => working.turn != turn,
            Doing::Idle => false,
            Doing::Stopping(_) => true,
        };
        if is_another {
            // An order that was given again, or of a turn that is stopped already.
            return;
        }
        let was_typed = match &self.doing {
            Doing::Submitting(submitting) if submitting.turn.id == turn => self.dir.is_typed(turn).unwrap_or(true),
            _ => true,
        };
        let tail = match &self.doing {
            Doing::Submitting(submitting) if was_typed => Some(tail_of(&submitting.text)),
            // An agent that is stopped before its first word may give the text back.
            Doing::Working(working) if !working.text.is_empty() => Some(tail_of(&working.text)),
            _ => None,
        };
        let has_ended = match &self.doing {
            Doing::Submitting(submitting) => submitting.ends.told().is_some(),
            Doing::Working(working) => working.ends.told().is_some(),
            Doing::Idle | Doing::Stopping(_) => true,
        };
        let is_at_work = was_typed && !has_ended && self.plan().is_some_and(Plan::shows_ends);
        let was_busy = was_typed && self.press_interrupt(is_at_work).await;
        let stopping = Stopping::new(tail);
        self.doing = Doing::Stopping(if is_at_work && !was_busy { stopping.at_work(turn) } else { stopping });
    }

    /// Presses the keys that stop an agent, and returns whether its screen showed its work.
    pub(super) async fn press_interrupt(&mut self, is_at_work: bool) -> bool {
        let Ok(screen) = self.screen().await else { return false };
        // An agent that is idle already has nothing to stop, and a key would mean something else to it.
        let look = Look::of(&screen, &self.typing());
        if (is_at_work || !look.is_idle()) && look.dialog.is_none() {
            self.press_keys(&self.typing().interrupt).await;
        }
        look.busy
    }

    pub(super) async fn press_keys(&mut self, names: &[String]) {
        let keys: Vec<Key> = names.iter().filter_map(|name| Key::parse(name).ok()).collect();
        if !keys.is_empty()
            && let Some(pane) = self.pane()
            && let Err(error) = self.desk.host().press(pane, keys).await
        {
            tracing::info!(worker = %self.worker.name, %error, "a worker could not be told to stop its turn");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::shown::{shows, works};
    use super::*;

    const TAIL: &str = "[endoffleetturnt1]";

    /// Plays what is seen from when on, in milliseconds; returns what was done when, up to the rest.
    fn play(mut stopping: Stopping, seen: &[(u64, Look)]) -> Vec<(u64, Act)> {
        let mut acts = Vec::new();
        for now in (0..60_000).step_by(100) {
            let look = seen.iter().rev().find(|(from, _)| *from <= now).map(|(_, look)| look).expect("from 0 on");
            let act = stopping.next(Duration::from_millis(now), look, &Typing::default());
            if act != Act::Look {
                acts.push((now, act));
            }
            if act == Act::AtRest {
                return acts;
            }
        }
        acts
    }

    fn told() -> Stopping {
        Stopping::new(Some(TAIL.into())).at_work(TurnId(1))
    }

    #[test]
    fn it_is_at_rest_once_it_was_seen_at_work_and_is_no_more_for_a_moment() {
        assert_eq!(play(told(), &[(0, works()), (300, shows(""))]), [(700, Act::AtRest)]);
        assert_eq!(
            play(told(), &[(0, works()), (300, shows("")), (600, works()), (800, shows(""))]),
            [(1_200, Act::AtRest)]
        );
        assert_eq!(play(Stopping::new(None), &[(0, shows(""))]), [(0, Act::AtRest)], "nothing can come back");
    }

    #[test]
    fn one_that_goes_on_is_told_again() {
        let acts = play(told(), &[(0, works()), (4_500, shows(""))]);
        assert_eq!(acts, [(2_000, Act::Tell), (4_000, Act::Tell), (4_900, Act::AtRest)]);
    }

    #[test]
    fn a_screen_that_shows_the_work_after_seconds_is_not_taken_for_one_at_rest() {
        // The key came before the program could see it.
        let acts = play(told(), &[(0, shows("")), (5_000, works()), (6_500, shows(""))]);
        assert_eq!(acts, [(2_000, Act::Tell), (4_000, Act::Tell), (6_000, Act::Tell), (6_900, Act::AtRest)]);
        let acts = play(told(), &[(0, shows(""))]);
        assert_eq!(acts.last(), Some(&(6_400, Act::AtRest)), "it was never at work: {acts:?}");
        let grace = crate::fleet::state::Limits::default().grace.std();
        assert!(TO_SHOW_WORK + SETTLED + LOOK_AT_STOP * 5 < grace, "the fleet ends the session before it is at rest");
    }

    #[test]
    fn a_text_that_came_back_is_cleared_once_and_what_follows_is_looked_at_anew() {
        let acts = play(told(), &[(0, shows(TAIL)), (600, shows(""))]);
        assert_eq!(acts, [(500, Act::Clear), (1_000, Act::AtRest)]);
        // The screen was late: it was at work all the time.
        let acts = play(told(), &[(0, shows(TAIL)), (600, shows("")), (900, works()), (2_500, shows(""))]);
        assert_eq!(acts, [(500, Act::Clear), (2_000, Act::Tell), (2_900, Act::AtRest)]);
        // It comes back only a moment after the work is gone.
        let acts = play(told(), &[(0, works()), (600, shows("")), (900, shows(TAIL)), (1_000, shows(""))]);
        assert_eq!(acts, [(900, Act::Clear), (1_400, Act::AtRest)]);
        let acts = play(told(), &[(0, shows(TAIL))]);
        assert_eq!(acts, [(500, Act::Clear)], "what stays after that is not taken for rest");
    }

    #[test]
    fn a_persons_draft_is_left_and_an_open_dialog_is_waited_for() {
        assert_eq!(play(Stopping::new(None), &[(0, shows("wait a moment"))]), [(0, Act::AtRest)]);
        let dialog = Look { dialog: Some("1. Yes".into()), ..shows("") };
        assert_eq!(play(Stopping::new(None), &[(0, dialog), (700, shows(""))]), [(700, Act::AtRest)]);
    }
}
