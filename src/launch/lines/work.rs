//! What a keeper does with a turn: writes its line, once, reads what comes of it, makes the program stop it.
//!
//! The note of a turn is made before its line is written, with the place in the output from which on its lines come:
//! whoever finds the note reads from there and writes nothing. What a line means is in `story`.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::super::session::text::{Same, noted};
use super::keeper::Keeper;
use super::output::{Line, Output, punch};
use super::story::{Heard, Story};
use super::text;
use crate::fleet::envelope::{Finish, Truncated};
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::signs;
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
/// How much of a note is given.
const MOST_OF_A_NOTE: usize = 64 * 1024;
/// How much of the output may be on the disk that nobody needs any more.
const LEFT: u64 = 1024 * 1024;

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

/// A turn that a session was told to stop.
#[derive(Clone, Copy)]
pub(super) struct Stopping {
    turn: TurnId,
    /// From where on its end would be read.
    from: u64,
    /// When it was last told.
    told: Instant,
    /// Whether its note goes with its end: as long as it is not over, a daemon that comes must find it.
    forgets: bool,
}

/// A turn that a session has.
pub(super) struct At {
    turn: TurnId,
    text: String,
    story: Story,
    /// From where on its lines are read.
    from: u64,
    /// Which hand it is.
    hand: usize,
    /// Since when its whole line is in the FIFO, and how long it may then take to be shown.
    given: Option<Instant>,
    patience: Duration,
    /// Whether it was told that the text was taken.
    is_told: bool,
}

/// What is noted of a turn before its line is written.
#[derive(Default, Serialize, Deserialize)]
struct Note {
    /// From where on its lines are read.
    at: u64,
    /// What the session had cost by then.
    cost: f64,
}

impl Keeper {
    pub(super) async fn take_turn(&mut self, turn: Arc<Turn>, note: Option<TurnId>) {
        if matches!(&self.doing, Doing::At(at) if at.turn == turn.id) {
            return;
        }
        let given = self.given(&turn, note).await;
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

    /// Returns the text of a turn as it is given.
    async fn given(&self, turn: &Turn, note: Option<TurnId>) -> Result<String, String> {
        let journal = &self.desk.options.journal;
        let prompt = journal.prompt(turn.prompt_of).await.map_err(|error| error.to_string())?;
        let text = text::given(turn.id, &turn.sender.to_string(), &prompt.ok_or("its prompt is not in the store")?);
        let Some(note) = note else { return Ok(text) };
        let envelope = journal.envelope(note).await.map_err(|error| error.to_string())?;
        // The note of the session before this one.
        Ok(envelope.map_or(text.clone(), |envelope| noted(&text, &envelope.text, MOST_OF_A_NOTE)))
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
        if self.desk.is_paused() {
            return Err(super::PAUSED.into());
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
    async fn written(&mut self, written: std::io::Result<()>) {
        let Doing::At(at) = &mut self.doing else { return };
        let why = match written {
            Err(error) => format!("its input cannot be written: {error}"),
            Ok(()) if self.desk.is_paused() && self.pipe.is_untouched() => super::PAUSED.to_owned(),
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
        self.desk.tell(Sighting::Held { worker: self.worker.name.clone(), turn, hand, why }).await;
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

    /// Reads all that the program has written by now, and not what it writes meanwhile.
    pub(super) async fn read_to_now(&mut self) {
        let end = self.output.length();
        while self.output.place() < end && self.read_on().await {}
    }

    /// Reads what the program has written since. Returns whether there was something.
    pub(super) async fn read_on(&mut self) -> bool {
        if !self.output.has_more() {
            return false;
        }
        let mut output = std::mem::take(&mut self.output);
        let (output, lines) = self
            .dir
            .on_disk(move |_| {
                let lines = output.read();
                (output, lines)
            })
            .await;
        self.output = output;
        match lines {
            Ok(lines) => {
                for line in lines {
                    self.heard(&line).await;
                }
                true
            }
            Err(error) => {
                tracing::warn!(worker = %self.worker.name, %error, "what a session wrote cannot be read");
                self.rest().await;
                false
            }
        }
    }

    /// Takes in a line.
    async fn heard(&mut self, line: &Line) {
        let (worker, Some(said)) = (self.worker.clone(), &line.said) else { return };
        let Some(plan) = worker.profile.plan.as_deref() else { return };
        let Some(read) = signs::read(&plan.signs, said) else { return };
        let heard = match &mut self.doing {
            Doing::Idle => Heard::Nothing,
            Doing::At(at) => at.story.hear(&read),
            Doing::Stopping(_) => Heard::Nothing,
        };
        self.cost = read.cost_so_far.unwrap_or(self.cost);
        if let Doing::Stopping(stopping) = self.doing
            && read.sign.is.is_end()
        {
            return self.stopped(stopping, line.end).await;
        }
        match heard {
            Heard::Nothing => {}
            Heard::Taken => self.tell_taken().await,
            Heard::Cut => self.end_cut().await,
            Heard::Said => self.bar_by(None).await,
            Heard::Retrying(why) => {
                tracing::debug!(worker = %self.worker.name, why, "it tries again to reach its model");
                self.bar_by(Some(format!("it tries again to reach its model: {why}"))).await;
            }
            Heard::Over(finish, cut) => self.over(*finish, cut, line.end).await,
        }
    }

    /// A turn that was to be stopped is over.
    async fn stopped(&mut self, stopping: Stopping, end: u64) {
        self.doing = Doing::Idle;
        self.barred = None;
        self.mark_read(end).await;
        self.tell_idle().await;
        if stopping.forgets {
            self.forget(stopping.turn).await;
        }
    }

    /// Hears by a hook which text the program took.
    pub(super) async fn hear_taken(&mut self, text: Option<&str>) {
        let Doing::At(at) = &mut self.doing else { return };
        match text.map_or(Same::Other, |text| at.story.compare(text)) {
            Same::Whole | Same::Within => at.story.was_taken(),
            Same::Part => return self.end_cut().await,
            Same::Other => return,
        }
        self.tell_taken().await;
    }

    async fn tell_taken(&mut self) {
        let Doing::At(at) = &mut self.doing else { return };
        if at.story.is_taken() && !at.is_told {
            at.is_told = true;
            let (worker, turn) = (self.worker.name.clone(), at.turn);
            self.desk.tell(Sighting::Taken { worker, turn, process: None }).await;
        }
    }

    /// The program took another text than was written: what it does with that is nobody's order.
    async fn end_cut(&mut self) {
        let Doing::At(at) = &mut self.doing else { return };
        at.story.was_taken();
        let (turn, from) = (at.turn, at.from);
        self.tell_taken().await;
        self.stop_turn(turn, from, true).await;
        let why = "its agent took another text than was written, and was interrupted";
        self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
    }

    async fn over(&mut self, mut finish: Finish, cut: Option<u64>, end: u64) {
        let Doing::At(at) = &self.doing else { return };
        let turn = at.turn;
        let path = self.dir.output().display().to_string();
        finish.truncated = cut.map(|bytes| Truncated { path, bytes });
        self.doing = Doing::Idle;
        self.bar_by(None).await;
        self.finished(turn, finish, !self.is_gone).await;
        self.mark_read(end).await;
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

    /// Makes the program stop a turn that is over for the fleet.
    pub(super) async fn interrupt(&mut self, turn: TurnId) {
        let from = match &self.doing {
            Doing::At(at) if at.turn == turn => at.from,
            Doing::Stopping(stopping) if stopping.turn == turn => return,
            // It ended before it was told to.
            _ if self.ended == Some(turn) => return self.tell_idle().await,
            _ => match self.note_of(turn) {
                Some(note) => {
                    self.reread(&note);
                    note.at
                }
                // Nothing of it was written.
                None => return self.tell_idle().await,
            },
        };
        if !self.pipe.is_through() && self.pipe.take_back() {
            self.doing = Doing::Idle;
            return self.tell_idle().await;
        }
        self.stop_turn(turn, from, true).await;
    }

    /// Waits for the end of a turn, and tells the program to come to it.
    async fn stop_turn(&mut self, turn: TurnId, from: u64, tells: bool) {
        self.doing = Doing::Stopping(Stopping { turn, from, told: Instant::now(), forgets: false });
        if tells {
            self.tell_to_stop().await;
        }
    }

    async fn tell_to_stop(&mut self) {
        if self.is_broken || self.is_gone {
            return;
        }
        let line = self.plan().and_then(|plan| plan.lines.as_ref()?.interrupt.clone());
        let Some(line) = line else {
            let why = "a turn had to be stopped, and its launch plan names no line for that";
            return self.break_off(why.into()).await;
        };
        let told = text::line(&line, self.fill(), "").map_err(std::io::Error::other);
        let told = told.and_then(|line| {
            self.pipe.open(&self.dir.input())?;
            self.pipe.give(&line)
        });
        if let Err(error) = told {
            tracing::info!(worker = %self.worker.name, %error, "a worker could not be told to stop its turn");
        }
    }

    /// The turn is over and stored: its note goes, and what was read is taken off the disk.
    pub(super) async fn forget(&mut self, turn: TurnId) {
        if let Doing::Stopping(stopping) = &mut self.doing
            && stopping.turn == turn
        {
            stopping.forgets = true;
            return;
        }
        if let Err(error) = self.dir.on_disk(move |dir| dir.forget(turn)).await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the note of a turn that is over stays");
        }
        let to = match &self.doing {
            Doing::Idle if self.ended.is_none_or(|ended| ended == turn) => self.facts.read,
            Doing::Idle => return,
            Doing::At(at) => at.from.min(self.facts.read),
            Doing::Stopping(stopping) => stopping.from.min(self.facts.read),
        };
        let from = self.facts.punched;
        if to < from + LEFT {
            return;
        }
        let path = self.dir.output();
        match self.dir.on_disk(move |_| punch(&path, from, to)).await {
            Ok(()) => self.facts.punched = to,
            // Not every file system can; the file then lives as long as its session.
            Err(error) => {
                tracing::info!(worker = %self.worker.name, %error, "what a session wrote in turns that are over stays on the disk");
            }
        }
    }

    /// Writes down how far the output was read to the end of a turn.
    async fn mark_read(&mut self, end: u64) {
        (self.facts.read, self.facts.cost) = (end, self.cost);
        let facts = self.facts.clone();
        if let Err(error) = self.dir.on_disk(move |dir| dir.write_facts(&facts)).await {
            tracing::warn!(worker = %self.worker.name, %error, "how far a session was read cannot be written down");
        }
    }

    fn note_of(&self, turn: TurnId) -> Option<Note> {
        let noted = self.dir.noted(turn).ok()?;
        // One that broke off in its writing was not followed by a line.
        Some(serde_json::from_slice(&noted).unwrap_or(Note { at: self.facts.read, cost: self.facts.cost }))
    }

    fn reread(&mut self, note: &Note) {
        self.output = Output::from(self.dir.output(), note.at);
        self.cost = note.cost;
    }

    async fn tell_idle(&self) {
        self.desk.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
    }

    async fn finished(&mut self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.tree().work_done().await;
        self.ended = Some(turn);
        let worker = self.worker.name.clone();
        self.desk.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}
