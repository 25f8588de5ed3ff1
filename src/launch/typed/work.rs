//! What a keeper does with a turn: types it, watches it to its end, makes the agent stop it.
//!
//! What is typed next, `submit` decides, by what `look` reads; here it is carried out and reported.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::session::hear;
use super::ends::Ends;
use super::keeper::{Keeper, Order};
use super::look::{Look, tail_of};
use super::prompt_file;
use super::settle::Told;
use super::submit::{Act, End, OWN_WORK, Submission};
use super::text;
use crate::engine::panes::{Key, PaneError, Screen};
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::signs::Meaning;
use crate::fleet::turn::{Outcome, Turn, TurnState};

/// How long the screen rests after the worker's own reply before the turn is over.
const REST_AFTER_REPLY: Duration = Duration::from_millis(200);
/// How often a working agent is looked at on hosts that do not tell of changes.
const LOOK_AT_WORK: Duration = Duration::from_millis(500);
/// How often an agent that was told to stop is looked at.
const LOOK_AT_STOP: Duration = Duration::from_millis(200);
/// How long after an interrupt the next key is pressed.
const REST_AFTER_INTERRUPT: Duration = Duration::from_millis(500);
/// How long an agent that took a text may take to show that it works.
const TO_SHOW_WORK: Duration = Duration::from_millis(2_500);
/// How long an agent that goes on working has until it is told again.
const TELL_AGAIN: Duration = Duration::from_secs(2);

/// Why a text was not typed.
enum Untyped {
    /// It may be, a later time.
    NotNow(String),
    /// It never can be.
    Never(String),
}

/// What a session is at.
pub(super) enum Doing {
    /// Nothing: it waits for a text.
    Idle,
    /// A text is on its way into it.
    Submitting(Box<Submitting>),
    /// It works at a turn.
    Working(Box<Working>),
    /// It was told to stop a turn that is over for the fleet.
    Stopping(Stopping),
}

pub(super) struct Stopping {
    /// When it was last told.
    told: Instant,
    /// The end of a text of ours that may still stand in its composer.
    tail: Option<String>,
    /// Whether its composer was emptied: a second time the same keys may mean something else.
    is_cleared: bool,
    /// Whether its program took the text and has not told an end: then an idle screen may only be one that does not
    /// show the work yet, and counts after it was seen at work, or after a while.
    is_at_work: bool,
    began: Instant,
}

impl Stopping {
    pub(super) fn new(tail: Option<String>) -> Stopping {
        let now = Instant::now();
        Stopping { told: now, tail, is_cleared: false, is_at_work: false, began: now }
    }

    /// Says that its program is at work, whatever its screen shows.
    pub(super) fn at_work(self, is_at_work: bool) -> Stopping {
        Stopping { is_at_work, ..self }
    }

    /// Its program told an end after all.
    pub(super) fn ended(&mut self) {
        self.is_at_work = false;
    }
}

pub(super) struct Submitting {
    pub(super) turn: Arc<Turn>,
    /// The text as it is typed.
    pub(super) text: String,
    submission: Submission,
    began: Instant,
    /// Whether its program has shown that it took the text.
    pub(super) proof: bool,
    /// Whether its program took only a part of it.
    pub(super) is_cut: bool,
    /// What was told of the end of the turn by now.
    pub(super) ends: Ends,
}

pub(super) struct Working {
    pub(super) turn: TurnId,
    /// The text as it was typed.
    pub(super) text: String,
    /// What the screen showed last, and since when.
    pub(super) last: Option<Screen>,
    pub(super) since: Instant,
    replied: bool,
    /// What its program has told of the end of the turn.
    pub(super) ends: Ends,
}

impl Keeper {
    /// Takes an order.
    pub(super) async fn take(&mut self, order: Order) {
        match order {
            Order::Hand(turn, note) => self.take_turn(turn, note).await,
            Order::Interrupt(turn) => self.interrupt(turn).await,
            Order::Replied(turn) => match &mut self.doing {
                Doing::Submitting(submitting) if submitting.turn.id == turn => submitting.proof = true,
                Doing::Working(working) if working.turn == turn => working.replied = true,
                _ => {}
            },
            // Nothing on the screen changes by that.
            Order::Forget(turn) => return self.forget(turn).await,
            Order::Report(report, reply) => {
                let answer = self.hear(report).await;
                // Who reported may have given up waiting.
                let _ = reply.send(answer);
            }
            Order::Listed(source) if !self.listed && self.dir.is_program(source) => {
                self.listed = true;
                self.facts.listed = true;
                hear::keep(&self.worker, &self.facts, &self.dir).await;
            }
            Order::Listed(_) => {}
        }
        self.soon(Duration::ZERO);
    }

    /// The turn is over and stored: what was kept for a restart goes, and the file that held its text.
    async fn forget(&self, turn: TurnId) {
        if let Err(error) = self.dir.on_disk(move |dir| dir.forget(turn)).await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the note of a turn that is over stays");
        }
        let cwd = self.cwd();
        if let Err(error) = self.dir.on_disk(move |_| prompt_file::remove(&cwd, turn)).await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the file of a turn that is over stays");
        }
    }

    async fn take_turn(&mut self, turn: Arc<Turn>, note: Option<TurnId>) {
        let has = match &self.doing {
            Doing::Submitting(submitting) => Some(submitting.turn.id),
            Doing::Working(working) => Some(working.turn),
            Doing::Idle | Doing::Stopping(_) => None,
        };
        if has == Some(turn.id) {
            return;
        }
        if turn.at(TurnState::Submitted).is_some() {
            // It was shown before a restart that the agent has it.
            let text = self.prepare(&turn).await.map(|(text, _)| text).unwrap_or_default();
            return self.work(turn.id, text, Ends::default(), false).await;
        }
        let prepared = self.prepare(&turn).await;
        let prepared = match (prepared, note) {
            (Ok((text, is_typed)), Some(note)) => self.noted(text, note).await.map(|text| (text, is_typed)),
            (prepared, _) => prepared,
        };
        let (text, is_typed) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => return self.give_up(&turn, why).await,
        };
        let submission = match is_typed {
            true => Submission::resumed(&text, text::mark(turn.id)),
            false => Submission::new(&text, Some(text::mark(turn.id))),
        };
        let submission = submission.proven_by_itself(self.plan().is_some_and(Plan::shows_taken));
        self.doing = Doing::Submitting(Box::new(Submitting {
            turn,
            text,
            submission,
            began: Instant::now(),
            proof: false,
            is_cut: false,
            ends: Ends::default(),
        }));
    }

    /// Returns whether a text is at hand of which nothing was typed.
    pub(super) fn is_before_paste(&self) -> bool {
        matches!(&self.doing, Doing::Submitting(submitting) if submitting.submission.is_before())
    }

    /// Gives a text back of which nothing was typed, and nothing will be.
    pub(super) async fn give_back(&mut self, why: &str) {
        if let Doing::Submitting(submitting) = &self.doing
            && submitting.submission.is_before()
        {
            let turn = submitting.turn.clone();
            self.hold(&turn, why.into()).await;
        }
    }

    /// Returns the text of a turn as it is typed, and whether it may have been typed before.
    async fn prepare(&self, turn: &Turn) -> Result<(String, bool), String> {
        let prompt = self.desk.options.journal.prompt(turn.prompt_of).await.map_err(|error| error.to_string())?;
        let prompt = prompt.ok_or("its prompt is not in the store")?;
        let is_typed = self.dir.is_typed(turn.id).map_err(|error| format!("{}: {error}", self.dir.path().display()))?;
        let from = turn.sender.to_string();
        if prompt.len() <= self.typing().limit {
            return Ok((text::typed(turn.id, &from, &prompt), is_typed));
        }
        let file = prompt_file::file_of(turn.id);
        if !is_typed {
            let (cwd, turn, text) = (self.cwd(), turn.id, prompt.clone());
            let written = self.dir.on_disk(move |_| prompt_file::write(&cwd, turn, text.as_bytes())).await;
            written
                .map_err(|error| format!("its text is too long to be typed, and {file} cannot be written: {error}"))?;
        }
        Ok((text::by_file(turn.id, &from, &file, prompt.len()), is_typed))
    }

    /// Puts the note of the session before this one before a text.
    async fn noted(&self, text: String, note: TurnId) -> Result<String, String> {
        let envelope = self.desk.options.journal.envelope(note).await.map_err(|error| error.to_string())?;
        Ok(match envelope {
            Some(envelope) => text::noted(&text, &envelope.text, self.typing().limit),
            None => text,
        })
    }

    fn cwd(&self) -> std::path::PathBuf {
        self.facts.cwd.clone()
    }

    /// Does what the screen asks for.
    pub(super) async fn step(&mut self, screen: &Screen, look: &Look) {
        let typing = self.typing();
        let shows_ends = self.plan().is_some_and(Plan::shows_ends);
        match &mut self.doing {
            Doing::Idle => {
                let why = look.obstacle().or(look.busy.then(|| OWN_WORK.to_owned()));
                self.bar(why.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
            }
            Doing::Submitting(_) => self.submit(screen, look).await,
            Doing::Working(_) if shows_ends => self.watch_told(screen, look).await,
            Doing::Working(_) => self.watch(screen, look).await,
            Doing::Stopping(stopping) => {
                let again = stopping.told.elapsed() >= TELL_AGAIN && look.busy;
                // A person's draft is no reason to end a session; a text of ours that nobody took is.
                stopping.is_at_work &= !look.busy && stopping.began.elapsed() < TO_SHOW_WORK;
                let is_ours = stopping.tail.as_ref().is_some_and(|tail| look.holds(tail, &typing));
                let at_rest = !look.busy && look.dialog.is_none() && look.composer.is_some();
                if at_rest && !is_ours && !stopping.is_at_work {
                    self.doing = Doing::Idle;
                    self.barred = None;
                    self.soon(Duration::ZERO);
                    return self.desk.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
                }
                // Not at once: right after an interrupt a key may be read together with it.
                if is_ours && !look.busy && !stopping.is_cleared && stopping.told.elapsed() >= REST_AFTER_INTERRUPT {
                    stopping.is_cleared = true;
                    self.press_keys(&typing.clear).await;
                } else if again {
                    stopping.told = Instant::now();
                    self.press_interrupt(false).await;
                }
                self.soon(LOOK_AT_STOP);
            }
        }
    }

    async fn submit(&mut self, screen: &Screen, look: &Look) {
        let typing = self.typing();
        let Doing::Submitting(submitting) = &mut self.doing else { return };
        if submitting.is_cut {
            return self.end_cut().await;
        }
        if self.desk.is_paused() && submitting.submission.wants_enter(look, &typing) {
            return self.soon(LOOK_AT_STOP);
        }
        let is_above =
            |mark: &str| screen.lines[..look.row.min(screen.lines.len())].iter().any(|line| line.contains(mark));
        let act = submitting.submission.next(submitting.began.elapsed(), look, &typing, is_above, submitting.proof);
        let (turn, text) = (submitting.turn.clone(), submitting.text.clone());
        match act {
            Act::Look(after) => {
                let why = look.dialog.as_ref().map(|line| format!("a dialog is open: {line}"));
                self.bar(why.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
                self.soon(after);
            }
            Act::Paste => {
                match self.paste(&turn, text).await {
                    Ok(()) => {}
                    Err(Untyped::NotNow(why)) => self.hold(&turn, why).await,
                    Err(Untyped::Never(why)) => self.give_up(&turn, why).await,
                }
                self.soon(Duration::ZERO);
            }
            Act::Enter => {
                if let Some(pane) = self.pane()
                    && let Err(error) = self.desk.host().press(pane, vec![Key::Enter]).await
                {
                    tracing::info!(worker = %self.worker.name, %error, "Enter was not pressed");
                }
                self.soon(Duration::from_millis(5));
            }
            Act::End(End::Taken) => {
                self.bar(None).await;
                self.tell_taken(turn.id).await;
                let (ends, proof) = match &mut self.doing {
                    Doing::Submitting(submitting) => (std::mem::take(&mut submitting.ends), submitting.proof),
                    _ => (Ends::default(), false),
                };
                self.work(turn.id, text, ends, proof).await;
            }
            Act::End(End::Held(why)) => self.hold(&turn, why).await,
            Act::End(End::Unknown(why)) => {
                let finish = Finish::without_reply(
                    Outcome::Unknown,
                    format!("it is not known whether the worker took the text: {why}"),
                );
                self.doing = Doing::Stopping(Stopping::new(Some(tail_of(&text))));
                self.finished(turn.id, finish, false).await;
                self.soon(LOOK_AT_STOP);
            }
        }
    }

    /// Types the text. The error says why nothing was typed.
    async fn paste(&mut self, turn: &Turn, text: String) -> Result<(), Untyped> {
        if self.desk.is_paused() {
            return Err(Untyped::NotNow(super::PAUSED.into()));
        }
        let pane = self.pane().ok_or_else(|| Untyped::NotNow("its pane is not known".into()))?;
        let id = turn.id;
        match self.dir.on_disk(move |dir| dir.note_typed(id)).await {
            Ok(true) => {}
            // Somebody noted it since it was looked for: from here on it counts as typed, and the screen decides.
            Ok(false) => return Ok(()),
            Err(error) => return Err(Untyped::NotNow(format!("it cannot be noted that it is typed: {error}"))),
        }
        if self.desk.is_paused() {
            self.dir.on_disk(move |dir| dir.forget(id)).await.map_err(|error| Untyped::NotNow(error.to_string()))?;
            return Err(Untyped::NotNow(super::PAUSED.into()));
        }
        match self.desk.host().paste(pane, text.into()).await {
            // Whether it was typed, the screen shows.
            Ok(()) | Err(PaneError::Unknown(_)) => Ok(()),
            Err(error) => {
                self.dir
                    .on_disk(move |dir| dir.forget(id))
                    .await
                    .map_err(|error| Untyped::NotNow(error.to_string()))?;
                // A host that refuses a text refuses it the next time too.
                Err(match error {
                    PaneError::Refused(why) => Untyped::Never(why),
                    error => Untyped::NotNow(error.to_string()),
                })
            }
        }
    }

    /// The text of the turn cannot be typed at all, now and later: nothing is in the way that could go.
    async fn give_up(&mut self, turn: &Turn, why: String) {
        self.doing = Doing::Idle;
        self.finished(turn.id, Finish::without_reply(Outcome::Failed, format!("it cannot be typed: {why}")), true)
            .await;
        self.soon(Duration::ZERO);
    }

    /// The agent took another text than was typed: what it does with that is nobody's order.
    async fn end_cut(&mut self) {
        let Doing::Submitting(submitting) = &self.doing else { return };
        let (turn, tail) = (submitting.turn.id, tail_of(&submitting.text));
        self.tell_taken(turn).await;
        self.press_interrupt(true).await;
        self.doing = Doing::Stopping(Stopping::new(Some(tail)).at_work(true));
        let why = "its agent took another text than was typed, and was interrupted";
        self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
        self.soon(LOOK_AT_STOP);
    }

    /// Nothing of the turn was typed: it goes back.
    async fn hold(&mut self, turn: &Turn, why: String) {
        self.doing = Doing::Idle;
        self.barred = Some(why.clone());
        let (worker, hand) = (self.worker.name.clone(), turn.hands());
        self.desk.tell(Sighting::Held { worker, turn: turn.id, hand, why }).await;
        self.soon(Duration::from_secs(1));
    }

    async fn work(&mut self, turn: TurnId, text: String, ends: Ends, replied: bool) {
        let since = Instant::now();
        self.doing = Doing::Working(Box::new(Working { turn, text, last: None, since, replied, ends }));
        self.soon(Duration::ZERO);
    }

    /// Sees whether the turn is over: the composer is back, nothing works, and the screen rests.
    async fn watch(&mut self, screen: &Screen, look: &Look) {
        let quiet = self.typing().quiet.std();
        let Doing::Working(working) = &mut self.doing else { return };
        if working.last.as_ref() != Some(screen) {
            (working.last, working.since) = (Some(screen.clone()), Instant::now());
        }
        let (turn, rested, replied) = (working.turn, working.since.elapsed(), working.replied);
        let wanted = if replied { quiet.min(REST_AFTER_REPLY) } else { quiet };
        self.bar_by_dialog(look).await;
        if look.dialog.is_some() || look.busy || look.composer.is_none() {
            return self.soon(LOOK_AT_WORK);
        }
        if rested < wanted {
            return self.soon((wanted - rested).min(LOOK_AT_WORK));
        }
        let finish = Finish {
            outcome: Outcome::Replied,
            why: None,
            text: text::answer(screen, look, turn).into(),
            proof: Some("screen".into()),
            ..Finish::without_reply(Outcome::Replied, "")
        };
        self.doing = Doing::Idle;
        self.finished(turn, finish, true).await;
        self.soon(Duration::ZERO);
    }

    /// Reports a dialog that is open, or that none is.
    pub(super) async fn bar_by_dialog(&mut self, look: &Look) {
        let why = look.dialog.as_ref().map(|line| format!("a dialog is open: {line}"));
        self.bar(why.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
    }

    /// Makes the agent stop a turn that is over for the fleet.
    async fn interrupt(&mut self, turn: TurnId) {
        let was_typed = match &self.doing {
            Doing::Submitting(submitting) if submitting.turn.id == turn => self.dir.is_typed(turn).unwrap_or(true),
            _ => true,
        };
        let tail = match &self.doing {
            Doing::Submitting(submitting) => Some(tail_of(&submitting.text)),
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
        if was_typed {
            self.press_interrupt(is_at_work).await;
        }
        self.doing = Doing::Stopping(Stopping::new(tail).at_work(is_at_work));
    }

    async fn press_interrupt(&mut self, is_at_work: bool) {
        let Ok(screen) = self.screen().await else { return };
        // An agent that is idle already has nothing to stop, and a key would mean something else to it.
        let look = Look::of(&screen, &self.typing());
        if (is_at_work || !look.is_idle()) && look.dialog.is_none() {
            self.press_keys(&self.typing().interrupt).await;
        }
    }

    async fn press_keys(&mut self, names: &[String]) {
        let keys: Vec<Key> = names.iter().filter_map(|name| Key::parse(name).ok()).collect();
        if !keys.is_empty()
            && let Some(pane) = self.pane()
            && let Err(error) = self.desk.host().press(pane, keys).await
        {
            tracing::info!(worker = %self.worker.name, %error, "a worker could not be told to stop its turn");
        }
    }

    /// Before the end of a session is told: the turn that it was at may have ended, and that was told or is written.
    pub(super) async fn tell_traces(&mut self) {
        self.recall();
        let (turn, told) = match &self.doing {
            Doing::Working(working) => (working.turn, working.ends.told().cloned()),
            // It went while nobody kept it.
            Doing::Idle => match self.worker.turn {
                Some(turn) => (turn, None),
                None => return,
            },
            _ => return,
        };
        let record = self.record(turn).await;
        let written = record.clone().filter(|record| record.complete && record.end.is_none());
        let finish = match (told, written) {
            (Some(told), _) => self.finish_of(told, record, true),
            (None, Some(written)) => {
                let told = Told::new(Meaning::Replied, written.text, None);
                Finish { proof: Some("transcript".into()), ..self.finish_of(told, record, true) }
            }
            (None, None) => return,
        };
        self.finished(turn, finish, false).await;
    }

    async fn tell_taken(&self, turn: TurnId) {
        self.desk.tell(Sighting::Taken { worker: self.worker.name.clone(), turn, process: None }).await;
    }

    pub(super) async fn finished(&self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.tree().work_done().await;
        let worker = self.worker.name.clone();
        self.desk.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}
