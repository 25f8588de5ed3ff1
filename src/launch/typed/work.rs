//! What a session is at, and what follows from an order, from a look at its screen, and from the end of its program.
//! How a text is given is in `hand`, how a turn is stopped in `stop`, how its program ends one in `settle`.

use std::time::Duration;

use tokio::time::Instant;

use super::super::session::front::Order;
use super::super::session::hear;
use super::ends::Ends;
use super::hand::Submitting;
use super::keeper::Keeper;
use super::look::Look;
use super::prompt_file;
use super::settle::Told;
use super::stop::Stopping;
use super::submit::OWN_WORK;
use super::text;
use crate::engine::panes::Screen;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::signs::Meaning;
use crate::fleet::turn::Outcome;

/// How long the screen rests after the worker's own reply before the turn is over.
const REST_AFTER_REPLY: Duration = Duration::from_millis(200);
/// How often a working agent is looked at on hosts that do not tell of changes.
const LOOK_AT_WORK: Duration = Duration::from_millis(500);

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

    pub(super) fn cwd(&self) -> std::path::PathBuf {
        self.facts.cwd.clone()
    }

    /// Does what the screen asks for.
    pub(super) async fn step(&mut self, screen: &Screen, look: &Look) {
        if matches!(self.doing, Doing::Idle) && self.clear_late(look) {
            return;
        }
        let shows_ends = self.plan().is_some_and(Plan::shows_ends);
        match &self.doing {
            Doing::Idle => {
                let why = look.obstacle().or(look.busy.then(|| OWN_WORK.to_owned()));
                self.bar(why.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
            }
            Doing::Submitting(_) => self.submit(screen, look).await,
            Doing::Working(_) if shows_ends => self.watch_told(screen, look).await,
            Doing::Working(_) => self.watch(screen, look).await,
            Doing::Stopping(_) => self.watch_stop(look).await,
        }
    }

    pub(super) async fn work(&mut self, turn: TurnId, text: String, ends: Ends, replied: bool) {
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

    pub(super) async fn tell_taken(&self, turn: TurnId) {
        self.desk.common.tell(Sighting::Taken { worker: self.worker.name.clone(), turn, process: None }).await;
    }

    pub(super) async fn finished(&self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.tree().work_done().await;
        let worker = self.worker.name.clone();
        self.desk.common.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}
