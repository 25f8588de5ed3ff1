//! What a keeper does with a turn: notes it, writes its line, once, and sees what takes too long.
//!
//! The note of a turn is made before its line is written, with the place in the output from which on its lines come:
//! whoever finds the note reads from there and writes nothing. What is read is in `hearing`, how it is stopped in `stop`.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::super::session::front::PAUSED;
use super::super::session::given::given;
use super::keeper::Keeper;
use super::output::Output;
use super::stop::Stopping;
use super::story::Story;
use super::text;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::turn::{Outcome, Turn, TurnState};

/// How long a program that reads nothing is waited for.
const TO_BE_READ: Duration = Duration::from_secs(10);
/// How long a program may take to show that it took a text that it has.
const TO_BE_SHOWN: Duration = Duration::from_secs(60);
/// How long it may take to show that of a text which an earlier daemon may have written.
const TO_BE_FOUND: Duration = Duration::from_secs(10);
/// How long a program that goes on working has until it is told again to stop.
const TELL_AGAIN: Duration = Duration::from_secs(2);
/// How much a program may write in one turn.
const MOST: u64 = 1024 * 1024 * 1024;

/// What a session is at.
pub(super) enum Doing {
    /// Nothing: it waits for a text.
    Idle,
    /// It has a turn.
    At(Box<At>),
    /// It was told to stop a turn that is over for the fleet.
    Stopping(Stopping),
}

impl Doing {
    /// Returns the turn that it is at, with its text.
    pub(super) fn at(&self) -> Option<(TurnId, &str)> {
        match self {
            Doing::At(at) if at.story.is_taken() => Some((at.turn, &at.text)),
            _ => None,
        }
    }
}

/// A turn that a session has.
pub(super) struct At {
    pub(super) turn: TurnId,
    pub(super) text: String,
    pub(super) story: Story,
    /// From where on its lines are read.
    pub(super) from: u64,
    /// Which hand it is.
    pub(super) hand: usize,
    /// Since when its whole line is in the FIFO, and how long it may then take to be shown.
    pub(super) given: Option<Instant>,
    pub(super) patience: Duration,
    /// Whether it was told that the text was taken.
    pub(super) is_told: bool,
}

/// What is noted of a turn before its line is written.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Note {
    /// From where on its lines are read.
    pub(super) at: u64,
    /// What the session had cost by then.
    cost: f64,
}

impl Keeper {
    pub(super) async fn take_turn(&mut self, turn: Arc<Turn>, note: Option<TurnId>) {
        if matches!(&self.doing, Doing::At(at) if at.turn == turn.id) {
            return;
        }
        let given = given(&self.desk.common.journal, &turn, &self.worker, note).await;
        if let Some(note) = self.note_of(turn.id) {
            // It may have been written. What it came to stands in the output, if anywhere.
            self.reread(&note);
            let text = given.clone().unwrap_or_default();
            let at = self.at(&turn, text, given.ok(), note.at, Some(Instant::now()));
            self.doing = Doing::At(Box::new(At { patience: TO_BE_FOUND, ..at }));
            if turn.at(TurnState::Submitted).is_some()
                && let Doing::At(at) = &mut self.doing
            {
                at.story.was_taken();
                at.is_told = true;
            }
            return self.tell_taken().await;
        }
        let written = match given {
            Ok(text) => self.write_turn(&turn, text).await,
            Err(why) => Err(why),
        };
        if let Err(why) = written {
            self.hold(turn.id, turn.hands(), why).await;
        }
    }

    fn at(&self, turn: &Turn, text: String, known: Option<String>, from: u64, given: Option<Instant>) -> At {
        let shows = self.plan().is_some_and(Plan::shows_taken);
        let story = Story::new(turn.id, known, self.cost, shows);
        At { turn: turn.id, text, story, from, hand: turn.hands(), given, patience: TO_BE_SHOWN, is_told: false }
    }

    /// Writes the line of a turn. The error says why nothing was written.
    async fn write_turn(&mut self, turn: &Turn, text: String) -> Result<(), String> {
        if self.is_broken || self.is_gone {
            return Err("the worker is being stopped".into());
        }
        self.look_at_settings(Duration::ZERO).await;
        if self.is_broken {
            return Err("the worker is being stopped".into());
        }
        if let Some(why) = self.site().astray(&self.facts) {
            return Err(why);
        }
        if self.desk.pause.is_on() {
            return Err(PAUSED.into());
        }
        let say = self.plan().and_then(|plan| plan.lines.as_ref()).map(|lines| lines.say.clone());
        let say = say.ok_or("its launch plan does not say what is written to it")?;
        let line = text::line(&say, self.fill(), &text).map_err(|error| error.to_string())?;
        self.pipe.open(&self.dir.input()).map_err(|error| format!("its input cannot be opened: {error}"))?;
        if !self.pipe.takes() {
            return Err("its input is full: its program does not read".into());
        }
        // What it wrote until now belongs to no turn.
        self.read_to_now().await;
        let (id, note) = (turn.id, Note { at: self.output.place(), cost: self.cost });
        let from = note.at;
        let noted = serde_json::to_vec(&note).map_err(|error| error.to_string())?;
        match self.dir.on_disk(move |dir| dir.note_given(id, &noted)).await {
            Ok(true) => {}
            Ok(false) => return Err("somebody else has noted it".into()),
            Err(error) => return Err(format!("it cannot be noted that it is written: {error}")),
        }
        let at = self.at(turn, text.clone(), Some(text), from, None);
        self.doing = Doing::At(Box::new(at));
        let written = self.pipe.give(&line);
        self.written(written).await;
        Ok(())
    }

    /// There is room for the rest of a line.
    pub(super) async fn write_on(&mut self) {
        let written = self.pipe.write();
        self.written(written).await;
    }

    /// Goes by how the writing of a line went on.
    pub(super) async fn written(&mut self, written: std::io::Result<()>) {
        let Doing::At(at) = &mut self.doing else { return };
        let why = match written {
            Err(error) => format!("its input cannot be written: {error}"),
            Ok(()) if self.desk.pause.is_on() && self.pipe.is_untouched() => PAUSED.to_owned(),
            Ok(()) if self.pipe.stuck_for() >= TO_BE_READ => "its input is full: its program does not read".to_owned(),
            Ok(()) if !self.pipe.is_through() || at.given.is_some() => return,
            Ok(()) => {
                at.given = Some(Instant::now());
                return self.tell_taken().await;
            }
        };
        let (turn, hand) = (at.turn, at.hand);
        if !self.pipe.take_back() {
            return self.give_up(format!("only a part of it was written: {why}"), true).await;
        }
        match self.dir.on_disk(move |dir| dir.forget(turn)).await {
            Ok(()) => self.hold(turn, hand, why).await,
            Err(error) => self.give_up(format!("{why}, and its note cannot be taken back: {error}"), true).await,
        }
    }

    /// Nothing of the turn was written: it goes back.
    async fn hold(&mut self, turn: TurnId, hand: usize, why: String) {
        self.doing = Doing::Idle;
        self.barred = Some(why.clone());
        self.desk.common.tell(Sighting::Held { worker: self.worker.name.clone(), turn, hand, why }).await;
    }

    /// It is not known whether the program took the text. `torn`: half a line may stand in its input, so that nothing
    /// more can be written.
    async fn give_up(&mut self, why: String, torn: bool) {
        let Doing::At(at) = &self.doing else { return };
        let (turn, from) = (at.turn, at.from);
        let why = format!("it is not known whether the worker took the text: {why}");
        self.stop_turn(turn, from, !torn).await;
        self.finished(turn, Finish::without_reply(Outcome::Unknown, why), false).await;
    }

    pub(super) async fn tell_taken(&mut self) {
        let Doing::At(at) = &mut self.doing else { return };
        if at.story.is_taken() && !at.is_told {
            at.is_told = true;
            let (worker, turn) = (self.worker.name.clone(), at.turn);
            self.desk.common.tell(Sighting::Taken { worker, turn, process: None }).await;
        }
    }

    /// Sees what has taken too long.
    pub(super) async fn look_at_time(&mut self) {
        match &self.doing {
            Doing::Idle => {
                if let Some(why) = self.site().astray(&self.facts) {
                    let worker = self.worker.name.clone();
                    return self.bar(Some(why.clone()), Sighting::Unreachable { worker, why }).await;
                }
                let stuck = self.pipe.open(&self.dir.input()).is_ok() && !self.pipe.takes();
                self.bar_by(stuck.then(|| "its input is full: its program does not read".into())).await;
            }
            Doing::At(at) if self.output.length().saturating_sub(at.from) > MOST => {
                let why = format!("its program wrote more than {} MiB in one turn", MOST / 1024 / 1024);
                self.break_off(why).await;
            }
            Doing::At(at) => match at.given {
                None => self.write_on().await,
                Some(since) if !at.story.is_taken() && since.elapsed() >= at.patience => {
                    self.give_up("its program did not show that it took it".into(), false).await;
                }
                Some(_) => {}
            },
            Doing::Stopping(stopping) if stopping.told.elapsed() >= TELL_AGAIN && self.pipe.is_through() => {
                let stopping = *stopping;
                self.tell_to_stop().await;
                self.doing = Doing::Stopping(Stopping { told: Instant::now(), ..stopping });
            }
            Doing::Stopping(_) => {}
        }
    }

    pub(super) fn note_of(&self, turn: TurnId) -> Option<Note> {
        let noted = self.dir.noted(turn).ok()?;
        // One that broke off in its writing was not followed by a line.
        Some(serde_json::from_slice(&noted).unwrap_or(Note { at: self.facts.read, cost: self.facts.cost }))
    }

    pub(super) fn reread(&mut self, note: &Note) {
        self.output = Output::from(self.dir.output(), note.at);
        self.cost = note.cost;
    }

    pub(super) async fn finished(&mut self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.tree().work_done().await;
        self.ended = Some(turn);
        let worker = self.worker.name.clone();
        self.desk.common.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}
