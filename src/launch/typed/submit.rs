//! The submission of one text to an agent that is typed to, as a state machine: paste, see it, Enter, proof, Enter again.
//!
//! The one place where it is decided what is typed next. A text is pasted once and never again; a dialog or a draft is
//! never typed over. Without panes and clocks: looks and times come in, acts go out.

use std::time::Duration;

use super::look::{Look, tail_of};
use crate::fleet::typing::Typing;

/// What is in the way when an agent works without a turn.
pub(super) const OWN_WORK: &str = "it works at something of its own";
/// How long an agent that works by itself is waited for before its turn goes back.
const OWN_WORK_ENDS: Duration = Duration::from_secs(2);
/// How long a pasted text may take to be seen in the composer.
const TO_BE_SEEN: Duration = Duration::from_secs(10);
/// How long it is looked whether another text stands beside what stands for a paste.
const TO_BE_DRAWN: Duration = Duration::from_millis(600);
/// How long the proof may take after Enter before Enter is pressed again.
const TO_BE_PROVEN: Duration = Duration::from_secs(1);
/// How long an agent's own proof is waited for once the text has left its composer.
const TO_BE_REPORTED: Duration = Duration::from_secs(3);
/// How often Enter is pressed at most.
const ENTERS: u32 = 3;
/// How soon it is looked again while something is expected.
const SOON: Duration = Duration::from_millis(30);

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Paste the text, now.
    Paste,
    /// Press Enter, now.
    Enter,
    /// Empty the composer, now.
    Clear,
    /// Look again, after this long at most.
    Look(Duration),
    /// It is over.
    End(End),
}

/// How a submission ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The agent took the text.
    Taken,
    /// Nothing was typed, or nothing of it is left, for this reason.
    Held(String),
    /// It is not known whether the agent took it.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was typed.
    Before,
    /// The text was pasted, by us or by the daemon before us.
    Pasted,
    /// Enter was pressed so often.
    Entered(u32),
    /// The composer is emptied before Enter was pressed.
    TakenBack,
}

/// One text on its way into an agent.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    tail: String,
    /// What shows above the composer that the text was taken.
    mark: Option<String>,
    phase: Phase,
    /// Whether the agent itself shows that it took the text: then the screen alone is believed only after a while.
    shows: bool,
    /// Since when nothing is in the way of the present phase.
    since: Option<Duration>,
    /// The end of a text before it that may come back into the composer.
    older: Option<String>,
}

impl Submission {
    /// Begins with nothing typed. `mark` stands in the text and in no other: it is seen above the composer once the
    /// agent took it.
    pub(super) fn new(text: &str, mark: Option<String>) -> Submission {
        Submission { tail: tail_of(text), mark, phase: Phase::Before, shows: false, since: None, older: None }
    }

    /// Goes on with a text that an earlier daemon may have typed: it is not typed again, whatever is seen.
    pub(super) fn resumed(text: &str, mark: String) -> Submission {
        Submission { phase: Phase::Pasted, ..Submission::new(text, Some(mark)) }
    }

    /// Returns whether the text stands in the composer, so that Enter is what comes next.
    pub(super) fn wants_enter(&self, look: &Look, typing: &Typing) -> bool {
        self.phase != Phase::Before && look.dialog.is_none() && look.holds(&self.tail, typing)
    }

    /// Waits for the agent's own proof, if it has one.
    pub(super) fn proven_by_itself(self, shows: bool) -> Submission {
        Submission { shows, ..self }
    }

    /// Looks out for a text that the agent was stopped at: glued to this one it would be a part of the turn.
    pub(super) fn after(self, older: Option<&str>) -> Submission {
        Submission { older: older.map(str::to_owned), ..self }
    }

    /// Returns whether nothing was typed.
    pub(super) fn is_before(&self) -> bool {
        self.phase == Phase::Before
    }

    /// Says what is to be done, by what the screen shows now. `proof`: the agent itself has shown that it has the text.
    pub(super) fn next(
        &mut self,
        now: Duration,
        look: &Look,
        typing: &Typing,
        is_above: impl Fn(&str) -> bool,
        proof: bool,
    ) -> Act {
        if proof && self.phase != Phase::Before {
            return Act::End(End::Taken);
        }
        match self.phase {
            Phase::Before => self.before(now, look),
            Phase::Pasted => self.pasted(now, look, typing, is_above),
            Phase::Entered(times) => self.entered(now, look, typing, times),
            Phase::TakenBack => self.taken_back(now, look),
        }
    }

    fn before(&mut self, now: Duration, look: &Look) -> Act {
        if let Some(why) = look.obstacle() {
            return Act::End(End::Held(why));
        }
        if look.is_idle() {
            (self.phase, self.since) = (Phase::Pasted, Some(now));
            return Act::Paste;
        }
        match self.waited(now) >= OWN_WORK_ENDS {
            true => Act::End(End::Held(OWN_WORK.into())),
            false => Act::Look(SOON * 4),
        }
    }

    fn pasted(&mut self, now: Duration, look: &Look, typing: &Typing, is_above: impl Fn(&str) -> bool) -> Act {
        if look.dialog.is_some() {
            self.since = None;
            return Act::Look(SOON * 8);
        }
        if look.holds(&self.tail, typing) {
            // A mark may stand for the older text, and this one not be drawn yet.
            if self.older.is_some() && !look.has(&self.tail) && self.waited(now) < TO_BE_DRAWN {
                return Act::Look(SOON);
            }
            let is_glued = self.older.as_ref().is_some_and(|older| look.holds_both(older, &self.tail, typing));
            let (phase, act) = if is_glued { (Phase::TakenBack, Act::Clear) } else { (Phase::Entered(1), Act::Enter) };
            (self.phase, self.since) = (phase, Some(now));
            return act;
        }
        if self.mark.as_deref().is_some_and(is_above) {
            return Act::End(End::Taken);
        }
        if look.busy {
            // It may be at this very text; when it is idle again, more of it is to be seen.
            self.since = None;
            return Act::Look(SOON * 8);
        }
        match self.waited(now) >= TO_BE_SEEN {
            true => Act::End(End::Unknown("it was pasted, and its end was not seen in the composer".into())),
            false => Act::Look(SOON),
        }
    }

    fn entered(&mut self, now: Duration, look: &Look, typing: &Typing, times: u32) -> Act {
        if look.dialog.is_some() {
            // Enter would answer it. Whether the text was taken is seen when it is closed.
            self.since = None;
            return Act::Look(SOON * 8);
        }
        let stands = look.holds(&self.tail, typing);
        let waited = self.waited(now);
        if !stands && (look.busy || look.composer.is_some()) {
            // Its report comes within a moment; where it was lost, the screen has to do.
            return match self.shows && waited < TO_BE_REPORTED {
                true => Act::Look(SOON),
                false => Act::End(End::Taken),
            };
        }
        match stands {
            true if waited < TO_BE_PROVEN => Act::Look(SOON),
            // The last one is given longer: nothing comes after it.
            true if times >= ENTERS && waited < TO_BE_SEEN => Act::Look(SOON * 4),
            true if times < ENTERS => {
                (self.phase, self.since) = (Phase::Entered(times + 1), Some(now));
                Act::Enter
            }
            true => {
                Act::End(End::Unknown(format!("Enter was pressed {ENTERS} times, and it still stands in the composer")))
            }
            false if waited < TO_BE_SEEN => Act::Look(SOON * 2),
            false => Act::End(End::Unknown("after Enter the screen shows neither a composer nor work".into())),
        }
    }

    fn taken_back(&mut self, now: Duration, look: &Look) -> Act {
        const WHY: &str = "a text that it was stopped at had come back into its composer";
        match look.is_idle() {
            true => Act::End(End::Held(WHY.into())),
            false if self.waited(now) >= TO_BE_SEEN => Act::End(End::Unknown(format!("{WHY}, and it was not emptied"))),
            false => Act::Look(SOON * 4),
        }
    }

    fn waited(&mut self, now: Duration) -> Duration {
        now.saturating_sub(*self.since.get_or_insert(now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::shown::{shows, works};
    use super::*;

    const TEXT: &str = "[fleet turn t1 from leader]\nwork\n[end of fleet turn t1]";

    fn dialog() -> Look {
        Look { dialog: Some("1. Yes".into()), ..Look::default() }
    }

    /// Plays what is seen, a hundredth of a second apart unless the act says longer, and returns the acts that are no looks.
    fn play(submission: &mut Submission, seen: impl Fn(usize, Duration) -> Look, proof: bool) -> Vec<Act> {
        let (mut now, mut acts, mut typed) = (Duration::ZERO, Vec::new(), 0);
        for _ in 0..100_000 {
            let look = seen(typed, now);
            match submission.next(now, &look, &Typing::default(), |_| false, proof) {
                Act::Look(after) => now += after,
                act => {
                    let is_end = matches!(act, Act::End(_));
                    typed += 1;
                    acts.push(act);
                    if is_end {
                        return acts;
                    }
                }
            }
        }
        panic!("it never ends: {acts:?}");
    }

    #[test]
    fn pasted_seen_entered_taken() {
        let acts = play(
            &mut Submission::new(TEXT, None),
            |typed, _| [shows(""), shows(TEXT), works()][typed.min(2)].clone(),
            false,
        );
        assert_eq!(acts, [Act::Paste, Act::Enter, Act::End(End::Taken)]);
    }

    #[test]
    fn an_enter_that_is_lost_is_pressed_again_three_times_at_most_and_the_text_never() {
        let eats = |typed: usize, _| if typed == 0 { shows("") } else { shows(TEXT) };
        let acts = play(&mut Submission::new(TEXT, None), eats, false);
        let lost = End::Unknown("Enter was pressed 3 times, and it still stands in the composer".into());
        assert_eq!(acts, [Act::Paste, Act::Enter, Act::Enter, Act::Enter, Act::End(lost)]);
        let once = |typed: usize, _| [shows(""), shows(TEXT), shows(TEXT), works()][typed.min(3)].clone();
        assert_eq!(
            play(&mut Submission::new(TEXT, None), once, false),
            [Act::Paste, Act::Enter, Act::Enter, Act::End(End::Taken)]
        );
    }

    #[test]
    fn a_draft_a_dialog_and_a_missing_composer_are_never_typed_over() {
        for look in [shows("a human's words"), dialog(), Look::default()] {
            let acts = play(&mut Submission::new(TEXT, None), |_, _| look.clone(), false);
            assert!(matches!(&acts[..], [Act::End(End::Held(_))]), "{acts:?}");
        }
        let acts = play(&mut Submission::new(TEXT, None), |_, _| works(), false);
        assert_eq!(acts, [Act::End(End::Held("it works at something of its own".into()))]);
    }

    #[test]
    fn a_dialog_between_paste_and_enter_is_waited_for_however_long() {
        let hour = Duration::from_secs(3_600);
        let seen = move |typed: usize, now: Duration| match typed {
            0 => shows(""),
            1 if now < hour => dialog(),
            1 => shows(TEXT),
            _ => works(),
        };
        assert_eq!(play(&mut Submission::new(TEXT, None), seen, false), [Act::Paste, Act::Enter, Act::End(End::Taken)]);
    }

    #[test]
    fn a_slow_agent_is_waited_for_and_a_text_that_is_never_seen_is_unknown() {
        let slow = |typed: usize, now: Duration| match typed {
            0 => shows(""),
            1 if now < Duration::from_secs(9) => shows(""),
            1 => shows(TEXT),
            _ => works(),
        };
        assert_eq!(play(&mut Submission::new(TEXT, None), slow, false), [Act::Paste, Act::Enter, Act::End(End::Taken)]);
        let acts = play(&mut Submission::new(TEXT, None), |_, _| shows(""), false);
        assert!(matches!(&acts[..], [Act::Paste, Act::End(End::Unknown(_))]), "{acts:?}");
    }

    #[test]
    fn a_text_that_came_back_between_two_looks_is_not_sent_with_this_one() {
        let older = "[fleet turn t0 from leader]\nhang\n[end of fleet turn t0]";
        let glued = |typed: usize, _| [shows(""), shows(&format!("{older}{TEXT}")), shows("")][typed.min(2)].clone();
        let mut submission = Submission::new(TEXT, None).after(Some(&tail_of(older)));
        let acts = play(&mut submission, glued, false);
        assert!(matches!(&acts[..], [Act::Paste, Act::Clear, Act::End(End::Held(_))]), "{acts:?}");
        let mut submission = Submission::new(TEXT, None).after(Some(&tail_of(older)));
        let stays = |typed: usize, _| [shows(""), shows(&format!("{older}{TEXT}"))][typed.min(1)].clone();
        let acts = play(&mut submission, stays, false);
        assert!(matches!(&acts[..], [Act::Paste, Act::Clear, Act::End(End::Unknown(_))]), "{acts:?}");
        let mut submission = Submission::new(TEXT, None).after(Some(&tail_of(older)));
        let typing = Typing { pasted: vec!["[Pasted text #".into()], ..Typing::default() };
        let mark = shows("[Pasted text #1 +9 lines]");
        let mut next = |now, look: &Look| submission.next(Duration::from_millis(now), look, &typing, |_| false, false);
        assert_eq!(next(0, &shows("")), Act::Paste);
        assert!(matches!(next(50, &mark), Act::Look(_)), "it may be the older one");
        assert_eq!(next(200, &shows(&format!("[Pasted text #1 +9 lines]{TEXT}"))), Act::Clear);
        let mut submission = Submission::new(TEXT, None).after(Some(&tail_of(older)));
        let alone = |typed: usize, _| [shows(""), shows(TEXT), works()][typed.min(2)].clone();
        assert_eq!(play(&mut submission, alone, false), [Act::Paste, Act::Enter, Act::End(End::Taken)]);
    }

    #[test]
    fn the_agents_own_proof_ends_it_but_only_once_it_was_typed() {
        let acts =
            play(&mut Submission::new(TEXT, None), |typed, _| [shows(""), shows("")][typed.min(1)].clone(), true);
        assert_eq!(acts, [Act::Paste, Act::End(End::Taken)]);
    }

    #[test]
    fn what_an_earlier_daemon_may_have_typed_is_not_typed_again() {
        let resumed = || Submission::resumed(TEXT, "[fleet turn t1 ".into());
        let acts = play(&mut resumed(), |typed, _| [shows(TEXT), works()][typed.min(1)].clone(), false);
        assert_eq!(acts, [Act::Enter, Act::End(End::Taken)], "it stands there and only wants Enter");
        let acts = play(&mut resumed(), |_, _| shows(""), false);
        assert!(matches!(&acts[..], [Act::End(End::Unknown(_))]), "{acts:?}");
        let taken =
            resumed().next(Duration::ZERO, &shows(""), &Typing::default(), |mark| mark == "[fleet turn t1 ", false);
        assert_eq!(taken, Act::End(End::Taken), "it is seen above the composer");
    }
}
