//! What a session tells by itself, as a stream of events: hints, which may be lost or doubled. They let the keeper look at
//! once; what counts is the program's own record.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::super::session::text::{Same, compare};
use super::super::session::why_of;
use super::events::Events;
use super::keeper::{Doing, Keeper};
use crate::fleet::signs::{self, Meaning, Read};

/// How long after its end a stream is opened anew.
const REOPEN: Duration = Duration::from_millis(500);

impl Keeper {
    /// Opens the stream of events if it is not open. What was missed meanwhile is asked for.
    pub(super) async fn listen(&mut self) {
        let Some(plan) = self.api().and_then(|api| api.events) else { return };
        let now = Instant::now();
        if self.events.is_some() || now < self.reopen {
            if self.events.is_none() {
                self.soon(self.reopen - now);
            }
            return;
        }
        self.reopen = now + REOPEN;
        match Events::open(&self.address(), &plan.path, plan.silence.map(|silence| silence.std())).await {
            Ok(events) => {
                self.events = Some(events);
                if let Doing::At(at) = &mut self.doing {
                    at.told_rest = true;
                }
            }
            Err(error) => {
                tracing::debug!(worker = %self.worker.name, %error, "its events cannot be heard");
                self.soon(REOPEN);
            }
        }
    }

    /// Hears an event, or the end of the stream.
    pub(super) async fn heard(&mut self, event: Option<Value>) {
        let Some(event) = event else {
            tracing::debug!(worker = %self.worker.name, "its stream of events has ended");
            (self.events, self.reopen) = (None, Instant::now() + REOPEN);
            return self.soon(REOPEN);
        };
        let signs = self.signs.clone();
        let Some(read) = signs::read(&signs, &event) else { return };
        match read.sign.is {
            Meaning::Taken => self.heard_taken(&read),
            Meaning::Said => {
                if let (Doing::At(at), Some(id)) = (&mut self.doing, read.id) {
                    at.answers.insert(id);
                }
                self.bar_by(None).await;
                self.see_endless().await;
            }
            Meaning::Rested => {
                if let Doing::At(at) = &mut self.doing {
                    at.told_rest = true;
                }
                self.soon(Duration::ZERO);
            }
            Meaning::Failed => {
                if let Doing::At(at) = &mut self.doing {
                    at.trouble = Some(why_of(read.why.as_deref(), read.text.as_deref().unwrap_or_default()));
                }
            }
            Meaning::Blocked => {
                let why = read.why.map_or_else(|| "it asks a person".into(), |why| format!("it asks a person: {why}"));
                self.bar_by(Some(why)).await;
            }
            Meaning::Retrying => {
                let why = read.why.unwrap_or_else(|| "it does not say why".into());
                self.bar_by(Some(format!("it tries again to reach its model: {why}"))).await;
            }
            _ => {}
        }
    }

    fn heard_taken(&mut self, read: &Read) {
        let Doing::At(at) = &self.doing else { return };
        let taken = read.text.as_deref().unwrap_or_default();
        let is_ours = at.known.as_ref().is_some_and(|known| compare(known, at.turn, taken) != Same::Other);
        if is_ours && !at.is_taken {
            // How like it is to what was given, the record says.
            self.soon(Duration::ZERO);
        }
    }
}
