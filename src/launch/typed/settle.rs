//! How a turn ends whose program shows that itself: by its report; else, where that was lost, by what it wrote down; and
//! by its screen only where it was stopped by a person or neither says anything.

use std::time::Duration;

use tokio::time::Instant;

use super::super::session::why_of;
use super::keeper::Keeper;
use super::look::{Look, tail_of};
use super::stop::Stopping;
use super::text::mark;
use super::transcript::{self, Record};
use super::work::Doing;
use crate::engine::panes::Screen;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::signs::Meaning;
use crate::fleet::turn::Outcome;

/// How long a screen that still looks busy keeps a turn whose end was reported.
const BUSY: Duration = Duration::from_secs(2);
/// How long what the program writes down may take to be complete after its report.
const WRITTEN: Duration = Duration::from_secs(2);
/// How soon it is looked again while one of these is waited for.
const SOON: Duration = Duration::from_millis(40);
/// How long an idle screen without a report and without a trace of the turn's end is waited for.
const SILENT: Duration = Duration::from_secs(60);
/// How often a working agent is looked at on hosts that do not tell of changes.
const AT_WORK: Duration = Duration::from_millis(500);

/// The end of a turn, as its program told it.
#[derive(Clone, Debug)]
pub(super) struct Told {
    meaning: Meaning,
    text: Option<String>,
    why: Option<String>,
    /// The name of the prompt whose end it is, if programs name them.
    prompt: Option<String>,
    at: Instant,
}

impl Told {
    pub(super) fn new(meaning: Meaning, text: Option<String>, why: Option<String>) -> Told {
        Told { meaning, text, why, prompt: None, at: Instant::now() }
    }

    pub(super) fn of(self, prompt: Option<String>) -> Told {
        Told { prompt, ..self }
    }

    pub(super) fn prompt(&self) -> Option<&str> {
        self.prompt.as_deref()
    }
}

impl Keeper {
    /// Sees whether the turn at hand is over, for a program that shows it.
    pub(super) async fn watch_told(&mut self, screen: &Screen, look: &Look) {
        let quiet = self.typing().quiet.std();
        let Doing::Working(working) = &mut self.doing else { return };
        if working.last.as_ref() != Some(screen) {
            (working.last, working.since) = (Some(screen.clone()), Instant::now());
        }
        let (turn, rested, ends) = (working.turn, working.since.elapsed(), working.ends.clone());
        let at_rest = !look.busy && look.dialog.is_none() && look.composer.is_some();
        match ends.told().cloned() {
            Some(told) => {
                let record = self.record(turn).await;
                let waited = told.at.elapsed();
                let writes = self.plan().is_some_and(|plan| plan.transcript.is_some());
                let is_complete = record.as_ref().is_some_and(|record| record.complete);
                let is_over = match at_rest {
                    true => !writes || is_complete || waited >= WRITTEN,
                    // Its own hooks may have sent it on, and then it tells another end. By time alone only where
                    // nothing shows that all is written.
                    false => waited >= BUSY && (!writes || is_complete),
                };
                if !is_over {
                    return self.soon(if waited < BUSY { SOON } else { AT_WORK });
                }
                // What it works at now is not this turn: it bars the next text, and nobody interrupts it.
                let finish = self.finish_of(told, record, at_rest);
                self.end_turn(turn, finish).await;
            }
            None if !at_rest => {
                self.bar_by_dialog(look).await;
                self.soon(AT_WORK);
            }
            None if ends.is_awaited() => self.soon(AT_WORK),
            None if ends.foreign().is_none() && rested < quiet => self.soon((quiet - rested).min(AT_WORK)),
            None => self.look_for_traces(turn, look, rested, ends.foreign().cloned()).await,
        }
    }

    /// The screen is idle and no end was reported: the report was lost, or a person stopped the turn.
    async fn look_for_traces(&mut self, turn: TurnId, look: &Look, rested: Duration, foreign: Option<Told>) {
        let typing = self.typing();
        let quiet = typing.quiet.std();
        let Doing::Working(working) = &self.doing else { return };
        let tail = tail_of(&working.text);
        let record = self.record(turn).await.unwrap_or_default();
        let told = match record.end {
            Some(Meaning::Interrupted) => Told::new(Meaning::Interrupted, None, None),
            Some(end) => Told::new(end, record.text.clone(), None),
            None if record.complete => Told::new(Meaning::Replied, record.text.clone(), None),
            // Words that came in between were answered together with the turn.
            None if foreign.is_some() && rested >= quiet => {
                let words = record.text.clone().or(foreign.and_then(|told| told.text));
                Told::new(Meaning::Replied, words, None)
            }
            None if look.holds(&tail, &typing) => {
                // It gave the text back into its composer: it was stopped before its first word.
                self.doing = Doing::Stopping(Stopping::new(Some(tail)));
                let why = "it was interrupted in its pane before its first word";
                return self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
            }
            None if rested >= SILENT => {
                let why = "its screen is idle, and it did not tell how the turn ended";
                let finish = Finish::without_reply(Outcome::Unknown, why);
                return self.end_turn(turn, finish).await;
            }
            None => return self.soon(Duration::from_secs(1)),
        };
        let finish = Finish { proof: Some("transcript".into()), ..self.finish_of(told, Some(record), true) };
        self.end_turn(turn, finish).await;
    }

    /// Returns what is written of a turn.
    pub(super) async fn record(&self, turn: TurnId) -> Option<Record> {
        let transcript = self.plan()?.transcript.clone()?;
        let path = self.facts.transcript.clone()?;
        match self.dir.on_disk(move |_| transcript::record(&path, &transcript, &mark(turn))).await {
            Ok(record) => record,
            Err(error) => {
                tracing::debug!(worker = %self.worker.name, %error, "what a session wrote down cannot be read");
                None
            }
        }
    }

    /// Returns the ending of a turn by what was told and what is written of it.
    pub(super) fn finish_of(&mut self, told: Told, record: Option<Record>, at_rest: bool) -> Finish {
        let record_text = record.as_ref().filter(|record| record.complete).map(|record| record.text.clone());
        let mut text = told.text.unwrap_or_default();
        // An agent that said nothing may report its words of the turn before.
        if self.last_reply.as_deref() == Some(text.as_str())
            && let Some(written) = record_text
        {
            text = written.unwrap_or_default();
        }
        let record = record.unwrap_or_default();
        let proof = if at_rest { "hook" } else { "hook_only" };
        let (outcome, why) = match told.meaning {
            Meaning::Replied => (Outcome::Replied, None),
            Meaning::Interrupted => (Outcome::Failed, Some("it was interrupted in its pane".to_owned())),
            _ => (Outcome::Failed, Some(why_of(told.why.as_deref(), &text))),
        };
        if outcome == Outcome::Replied {
            self.last_reply = Some(text.as_str().into());
        }
        Finish {
            outcome,
            why,
            text: if outcome == Outcome::Replied { text.into() } else { "".into() },
            usage: record.usage,
            model: record.model,
            proof: Some(proof.into()),
            ..Finish::without_reply(outcome, "")
        }
    }

    async fn end_turn(&mut self, turn: TurnId, finish: Finish) {
        self.doing = Doing::Idle;
        self.finished(turn, finish, true).await;
        self.soon(Duration::ZERO);
    }
}
