//! Giving a turn's text to a program that is called: noted, posted, once; or held, with the reason, while it was not posted.
//!
//! The note is made before the request. Whoever finds it posts nothing: what became of the text, the program's own record
//! shows, or it stays unknown.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::super::session::front::PAUSED;
use super::super::session::given::given;
use super::http::HttpError;
use super::keeper::{Doing, Keeper};
use crate::engine::panes::clean;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Api;
use crate::fleet::turn::{Outcome, Turn, TurnState};

/// How long a program may take to answer that it has a text.
const TO_BE_POSTED: Duration = Duration::from_secs(60);
/// How long it may take to show a text that it said it has.
const TO_BE_SHOWN: Duration = Duration::from_secs(30);
/// How long it may take to show that of a text which it may have.
const TO_BE_FOUND: Duration = Duration::from_secs(10);

/// How long a text waits that was refused once, and at most.
const BACK_OFF: Duration = Duration::from_millis(500);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);
/// How often in a row a text may be refused.
const MOST_REFUSALS: u32 = 10;

/// Why nothing is given to a program that could not reply by a call.
pub(super) const NO_TOOLS: &str = "it has lost the fleet's tools";
/// What a text waits for while its program is busy for somebody else.
pub(super) const OWN_WORK: &str = "it works at something of its own";

/// A turn that a session has.
pub(super) struct At {
    pub(super) turn: TurnId,
    pub(super) text: String,
    /// The text as far as it is known; without it the record is searched for its first line.
    pub(super) known: Option<String>,
    /// Since when its program may have it, and how long it may take to show that.
    pub(super) given: Instant,
    pub(super) patience: Duration,
    pub(super) is_taken: bool,
    /// Whether it told that it came to rest since it was last asked.
    pub(super) told_rest: bool,
    /// Since when it is at rest without an answer.
    pub(super) rested: Option<Instant>,
    /// When it was last asked whether it is at rest.
    pub(super) asked: Option<Instant>,
    /// The answers of its model by their names.
    pub(super) answers: BTreeSet<String>,
    /// When these were last counted in its record.
    pub(super) counted: Instant,
    /// How many entries its record had before, where others may have filled it.
    pub(super) before: usize,
    /// What it told of a failure that may stand in no answer.
    pub(super) trouble: Option<String>,
}

/// What is noted of a turn before its text is posted.
#[derive(Default, Serialize, Deserialize)]
struct Note {
    /// How many entries the record had.
    #[serde(default)]
    before: usize,
}

impl Keeper {
    pub(super) async fn take_turn(&mut self, turn: Arc<Turn>, note: Option<TurnId>) {
        if matches!(&self.doing, Doing::At(at) if at.turn == turn.id) {
            return;
        }
        let mut text = given(&self.desk.common.journal, &turn, &self.worker, note).await;
        if self.api().is_some_and(|api| api.types) {
            text = text.map(|text| clean(&text));
        }
        let is_noted = match self.dir.is_typed(turn.id) {
            Ok(is_noted) => is_noted,
            Err(error) => return self.hold(&turn, format!("{}: {error}", self.dir.path().display())).await,
        };
        if is_noted {
            // It may have been posted. What it came to stands in the record, if anywhere.
            let is_taken = turn.at(TurnState::Submitted).is_some();
            let noted = self.dir.noted(turn.id).unwrap_or_default();
            let Note { before } = serde_json::from_slice(&noted).unwrap_or_default();
            self.has(&turn, text.ok(), (TO_BE_FOUND, before), is_taken);
            return self.look().await;
        }
        match text {
            Ok(text) => self.give(&turn, text).await,
            Err(why) => self.hold(&turn, why).await,
        }
    }

    /// The program may have a turn from now on.
    fn has(&mut self, turn: &Turn, known: Option<String>, (patience, before): (Duration, usize), is_taken: bool) {
        self.doing = Doing::At(Box::new(At {
            turn: turn.id,
            text: known.clone().unwrap_or_default(),
            known,
            given: Instant::now(),
            patience,
            is_taken,
            told_rest: true,
            rested: None,
            asked: None,
            answers: BTreeSet::new(),
            counted: Instant::now(),
            before,
            trouble: None,
        }));
        self.learn_signs();
        self.soon(Duration::ZERO);
    }

    async fn give(&mut self, turn: &Turn, text: String) {
        let Some(api) = self.api() else {
            return self.hold(turn, "its launch plan does not say how it is called".into()).await;
        };
        if let Err(why) = self.may_give(&api).await {
            return self.hold(turn, why).await;
        }
        // A conversation that others began may hold a turn of the same name, of another fleet.
        let before = match api.attach {
            false => 0,
            true => match self.entries(&api).await {
                Ok((entries, _)) => entries.len(),
                Err(why) => return self.hold(turn, why).await,
            },
        };
        let id = turn.id;
        let note = serde_json::to_vec(&Note { before }).unwrap_or_default();
        match self.dir.on_disk(move |dir| dir.note_given(id, &note)).await {
            Ok(true) => {}
            Ok(false) => return self.hold(turn, "somebody else has noted it".into()).await,
            Err(error) => return self.hold(turn, format!("it cannot be noted that it is given: {error}")).await,
        }
        if self.desk.pause.is_on() {
            return self.take_back(turn, PAUSED.into()).await;
        }
        // Its events may come before the answer.
        self.has(turn, Some(text.clone()), (TO_BE_SHOWN, before), false);
        let fill = self.fill().with("text", text);
        let answer = self.ask_for(&api.say, fill, TO_BE_POSTED).await;
        if let Doing::At(at) = &mut self.doing {
            // It may have been slow to answer, and is as slow to show it.
            at.given = Instant::now();
        }
        match answer {
            Ok(_) => self.refusals = 0,
            Err(error @ HttpError::Unheard(..)) => self.take_back(turn, error.to_string()).await,
            // What it was asked for is gone: nothing more can be given here.
            Err(error @ HttpError::No { status: 404 | 410, .. }) => {
                let why = format!("its conversation is gone: {}", error.brief());
                self.take_back(turn, why.clone()).await;
                self.desk.common.tell(Sighting::Broke { worker: self.worker.name.clone(), why }).await;
            }
            // It says so itself, of this very text: it would say so again.
            Err(error @ HttpError::No { status: 400 | 413 | 415 | 422, .. }) => {
                self.doing = Doing::Idle;
                let why = format!("it cannot be given: {error}");
                self.finished(id, Finish::without_reply(Outcome::Failed, why), true).await;
            }
            Err(HttpError::No { status, said })
                if status < 500 || api.say.untaken.iter().any(|word| said.contains(word)) =>
            {
                let error = HttpError::No { status, said };
                match self.refusals < MOST_REFUSALS {
                    true => self.take_back(turn, error.to_string()).await,
                    false => {
                        self.doing = Doing::Idle;
                        self.refusals = 0;
                        let why = format!("it was refused {MOST_REFUSALS} times, the last time so: {error}");
                        self.finished(id, Finish::without_reply(Outcome::Failed, why), true).await;
                    }
                }
            }
            Err(error) => {
                let error = error.brief();
                tracing::info!(worker = %self.worker.name, turn = %id, error, "it is looked for whether a text was taken");
                if let Doing::At(at) = &mut self.doing {
                    at.patience = TO_BE_FOUND;
                }
            }
        }
    }

    /// Sees whether a text may be given now. The error says what is in the way.
    async fn may_give(&mut self, api: &Api) -> Result<(), String> {
        if let Some(why) = self.site().astray(&self.facts) {
            return Err(why);
        }
        if self.desk.pause.is_on() {
            return Err(PAUSED.into());
        }
        if matches!(self.doing, Doing::Stopping(_)) {
            return Err("it is being stopped at the turn before".into());
        }
        match self.shows(&api.rest).await {
            Ok(true) => self.mend_tools(api).await.map_err(|why| format!("{NO_TOOLS}: {why}")),
            Ok(false) => Err(OWN_WORK.into()),
            Err(error) => Err(error.brief()),
        }
    }

    /// It was not taken, and that is certain: the note goes, and the text back to its queue.
    async fn take_back(&mut self, turn: &Turn, why: String) {
        let id = turn.id;
        match self.dir.on_disk(move |dir| dir.forget(id)).await {
            Ok(()) => self.hold(turn, why).await,
            Err(error) => {
                self.doing = Doing::Idle;
                let why = format!("{why}, and its note cannot be taken back: {error}");
                self.finished(id, Finish::without_reply(Outcome::Failed, why), true).await;
            }
        }
    }

    /// Nothing of the turn was given: it goes back.
    async fn hold(&mut self, turn: &Turn, why: String) {
        self.doing = Doing::Idle;
        self.barred = Some(why.clone());
        self.back_off();
        let (worker, hand) = (self.worker.name.clone(), turn.hands());
        self.desk.common.tell(Sighting::Held { worker, turn: turn.id, hand, why }).await;
        self.soon(Duration::from_secs(1));
    }

    /// Lets the time grow until a text is tried again: what is refused once a second all night long fills the store.
    pub(super) fn back_off(&mut self) {
        let wait = BACK_OFF.saturating_mul(1 << self.refusals.min(6)).min(LONGEST_BACK_OFF);
        self.refusals += 1;
        self.retry = Instant::now() + wait;
        self.soon(wait);
    }
}
