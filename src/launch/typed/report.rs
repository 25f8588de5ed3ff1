//! What a session's own program reports by its hooks: that it took a text, that a turn is over, that it asks somebody.
//!
//! Whether a report is heard at all is in `session/hear.rs`, what follows for a turn in `settle`.

use serde_json::Value;
use tokio::time::Instant;

use super::super::session::hear;
use super::keeper::Keeper;
use super::settle::Told;
use super::text::{Same, compare};
use super::work::Doing;
use crate::engine::ports::Report;
use crate::fleet::input::Sighting;
use crate::fleet::refusal::Refusal;
use crate::fleet::signs::{self, Meaning};

impl Keeper {
    /// Hears a report and returns what the program is told.
    pub(super) async fn hear(&mut self, report: Report) -> Result<Option<Value>, Refusal> {
        self.recall();
        let worker = self.worker.clone();
        let plan = hear::admitted(&worker, &self.facts, &report)?;
        let Some(read) = signs::read(&plan.signs, &report.payload) else { return Ok(None) };
        tracing::debug!(worker = %worker.name, meaning = read.sign.is.word(), "reported");
        let is_program = self.dir.is_program(report.source);
        if !is_program && !matches!(read.sign.is, Meaning::Context | Meaning::Settings | Meaning::Nothing) {
            return Err(hear::of_child(&worker));
        }
        if is_program {
            hear::keep_transcript(&worker, plan, &mut self.facts, &self.dir, &report.payload).await;
        }
        match read.sign.is {
            Meaning::Taken => self.heard_taken(read.text.as_deref().unwrap_or_default(), read.id),
            end if end.is_end() => self.heard_end(Told::new(end, read.text, read.why).of(read.id)),
            Meaning::GoesOn => self.heard_goes_on(read.id.as_deref()),
            Meaning::Nothing if is_program => self.heard_itself(read.id),
            Meaning::Blocked => {
                let why = read.why.map_or_else(|| "it asks a person".into(), |why| format!("it asks a person: {why}"));
                self.bar(Some(Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
            }
            Meaning::Settings => self.look_at_settings().await,
            _ => {}
        }
        hear::answer(read.sign, &self.fill())
    }

    /// The program took a text: that of the turn, or a person's.
    fn heard_taken(&mut self, text: &str, prompt: Option<String>) {
        let Doing::Submitting(submitting) = &mut self.doing else { return };
        match compare(&submitting.text, submitting.turn.id, text) {
            Same::Whole => submitting.proof = true,
            Same::Within => {
                submitting.proof = true;
                tracing::warn!(worker = %self.worker.name, turn = %submitting.turn.id, "a person's draft went with the text of a turn");
            }
            Same::Part => submitting.is_cut = true,
            // A person's own words.
            Same::Other => return,
        }
        submitting.ends.own(prompt);
    }

    fn heard_end(&mut self, told: Told) {
        match &mut self.doing {
            Doing::Working(working) => working.ends.take(told),
            // Faster than the screen was looked at.
            Doing::Submitting(submitting) if submitting.proof => submitting.ends.take(told),
            Doing::Stopping(stopping) => stopping.ended(),
            _ => {}
        }
    }

    /// Something that the turn began still runs: the program goes on by itself when that has ended.
    fn heard_goes_on(&mut self, prompt: Option<&str>) {
        match &mut self.doing {
            Doing::Working(working) => working.ends.goes_on(prompt),
            Doing::Submitting(submitting) if submitting.proof => submitting.ends.goes_on(prompt),
            _ => {}
        }
    }

    /// The program said something to itself: while the turn goes on, that is a part of it.
    fn heard_itself(&mut self, prompt: Option<String>) {
        if let Doing::Working(working) = &mut self.doing {
            working.ends.own_more(prompt);
        }
    }

    /// Sees whether settings that would move the model's address have been written since the start; then the worker is
    /// stopped.
    pub(super) async fn look_at_settings(&mut self) {
        self.settings_seen = Some(Instant::now());
        let Some(plan) = self.plan() else { return };
        if let Some(name) = hear::moved(plan, self.fill(), &self.facts, &self.dir).await
            && !self.is_broken
        {
            self.is_broken = true;
            let why = format!("settings that would move its model's address were written while it ran: {name}");
            self.desk.common.tell(Sighting::Broke { worker: self.worker.name.clone(), why }).await;
        }
    }
}
