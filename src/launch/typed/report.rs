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
        hear::keep_transcript(&worker, plan, &mut self.facts, &self.dir, &report.payload).await;
        let Some(read) = signs::read(&plan.signs, &report.payload) else { return Ok(None) };
        tracing::debug!(worker = %worker.name, meaning = read.sign.is.word(), "reported");
        if report.via_child && !matches!(read.sign.is, Meaning::Context | Meaning::Settings | Meaning::Nothing) {
            return Err(hear::of_child(&worker));
        }
        match read.sign.is {
            Meaning::Taken => self.heard_taken(read.text.as_deref().unwrap_or_default()),
            end if end.is_end() => self.heard_end(Told::new(end, read.text, read.why)),
            // It prompts itself when that has ended, and reports again.
            Meaning::GoesOn => self.heard_no_end(),
            Meaning::Blocked => {
                let why = read.why.map_or_else(|| "it asks a person".into(), |why| format!("it asks a person: {why}"));
                self.bar(Some(Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
            }
            Meaning::Settings => self.look_at_settings().await,
            _ => {}
        }
        hear::answer(read.sign, &self.fill())
    }

    fn heard_taken(&mut self, text: &str) {
        let Doing::Submitting(submitting) = &mut self.doing else { return };
        match compare(&submitting.text, submitting.turn.id, text) {
            Same::Whole => submitting.proof = true,
            Same::Within => {
                submitting.proof = true;
                tracing::warn!(worker = %self.worker.name, turn = %submitting.turn.id, "a person's draft went with the text of a turn");
            }
            Same::Part => submitting.is_cut = true,
            // A person's own words.
            Same::Other => {}
        }
    }

    fn heard_end(&mut self, told: Told) {
        match &mut self.doing {
            Doing::Working(working) => working.told = Some(told),
            // Faster than the screen was looked at.
            Doing::Submitting(submitting) if submitting.proof => submitting.told = Some(told),
            Doing::Stopping(stopping) => stopping.ended(),
            _ => {}
        }
    }

    fn heard_no_end(&mut self) {
        match &mut self.doing {
            Doing::Working(working) => working.told = None,
            Doing::Submitting(submitting) => submitting.told = None,
            _ => {}
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
            self.desk.tell(Sighting::Broke { worker: self.worker.name.clone(), why }).await;
        }
    }
}
