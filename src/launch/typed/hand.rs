//! Giving a turn's text to the agent: prepared, typed once, proven; or held, with the reason, while nothing was typed.
//!
//! What is typed next, `submit` decides, by what `look` reads; here it is carried out and reported.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::session::front::PAUSED;
use super::super::task::text_of;
use super::ends::Ends;
use super::keeper::Keeper;
use super::look::{Look, tail_of};
use super::prompt_file;
use super::stop::{LOOK_AT_STOP, Stopped, Stopping};
use super::submit::{Act, End, Submission};
use super::text;
use super::work::Doing;
use crate::engine::panes::{Key, PaneError, Screen};
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::turn::{Outcome, Turn, TurnState};

/// Why a text was not typed.
enum Untyped {
    /// It may be, a later time.
    NotNow(String),
    /// It never can be.
    Never(String),
}

/// A text on its way into the agent.
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

impl Keeper {
    pub(super) async fn take_turn(&mut self, turn: Arc<Turn>, note: Option<TurnId>) {
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
        // Where it cannot be cleared, it is not looked for.
        let older = self.stopped.as_ref().and_then(Stopped::tail).filter(|_| !self.typing().clear.is_empty());
        let submission = submission.proven_by_itself(self.plan().is_some_and(Plan::shows_taken)).after(older);
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

    /// Gives a text back of which nothing was typed, and nothing will be.
    pub(super) async fn give_back(&mut self, why: &str) {
        if let Doing::Submitting(submitting) = &self.doing
            && submitting.submission.is_before()
        {
            let turn = submitting.turn.clone();
            self.hold(&turn, why.into()).await;
        }
    }

    /// Returns whether a text is at hand of which nothing was typed.
    pub(super) fn is_before_paste(&self) -> bool {
        matches!(&self.doing, Doing::Submitting(submitting) if submitting.submission.is_before())
    }

    /// Returns the text of a turn as it is typed, and whether it may have been typed before.
    async fn prepare(&self, turn: &Turn) -> Result<(String, bool), String> {
        let prompt = text_of(&self.desk.common.journal, turn, &self.worker).await.map_err(|error| error.to_string())?;
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
        let envelope = self.desk.common.journal.envelope(note).await.map_err(|error| error.to_string())?;
        Ok(match envelope {
            Some(envelope) => text::noted(&text, &envelope.text, self.typing().limit),
            None => text,
        })
    }

    pub(super) async fn submit(&mut self, screen: &Screen, look: &Look) {
        let typing = self.typing();
        let Doing::Submitting(submitting) = &mut self.doing else { return };
        if submitting.is_cut {
            return self.end_cut().await;
        }
        if self.desk.pause.is_on() && submitting.submission.wants_enter(look, &typing) {
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
            Act::Clear => {
                let keys = self.typing().clear;
                self.press_keys(&keys).await;
                self.soon(LOOK_AT_STOP);
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
            Act::End(End::Held(why)) => {
                let id = turn.id;
                // Of one that was typed and taken back nothing is left: it is typed again.
                if let Err(error) = self.dir.on_disk(move |dir| dir.forget(id)).await {
                    tracing::warn!(worker = %self.worker.name, turn = %id, %error, "the note of a text that was taken back stays");
                }
                self.hold(&turn, why).await;
            }
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
        if self.desk.pause.is_on() {
            return Err(Untyped::NotNow(PAUSED.into()));
        }
        let pane = self.pane().ok_or_else(|| Untyped::NotNow("its pane is not known".into()))?;
        let id = turn.id;
        match self.dir.on_disk(move |dir| dir.note_typed(id)).await {
            Ok(true) => {}
            // Somebody noted it since it was looked for: from here on it counts as typed, and the screen decides.
            Ok(false) => return Ok(()),
            Err(error) => return Err(Untyped::NotNow(format!("it cannot be noted that it is typed: {error}"))),
        }
        if self.desk.pause.is_on() {
            self.dir.on_disk(move |dir| dir.forget(id)).await.map_err(|error| Untyped::NotNow(error.to_string()))?;
            return Err(Untyped::NotNow(PAUSED.into()));
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
        self.doing = Doing::Stopping(Stopping::new(Some(tail)).at_work(turn));
        let why = "its agent took another text than was typed, and was interrupted";
        self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
        self.soon(LOOK_AT_STOP);
    }

    /// Nothing of the turn was typed: it goes back.
    async fn hold(&mut self, turn: &Turn, why: String) {
        self.doing = Doing::Idle;
        self.barred = Some(why.clone());
        let (worker, hand) = (self.worker.name.clone(), turn.hands());
        self.desk.common.tell(Sighting::Held { worker, turn: turn.id, hand, why }).await;
        self.soon(Duration::from_secs(1));
    }
}
