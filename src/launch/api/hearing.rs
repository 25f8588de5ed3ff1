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

/// How long after its end a stream is opened anew, and how long after many ends in a row.
const REOPEN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// The longest name of an answer.
const LONGEST_ID: usize = 200;
/// What a worker is at that waits for a person.
pub(super) const ASKS: &str = "it asks a person";

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
        self.reopen_after = (self.reopen_after * 2).clamp(REOPEN.0, REOPEN.1);
        self.reopen = now + self.reopen_after;
        let address = self.address();
        let opened = tokio::select! {
            opened = Events::open(&address, &plan.path, plan.silence.map(|silence| silence.std())) => opened,
            () = self.stop.cancelled() => return,
        };
        match opened {
            Ok(events) => {
                self.events = Some(events);
                if let Doing::At(at) = &mut self.doing {
                    at.told_rest = true;
                }
            }
            Err(error) => {
                tracing::debug!(worker = %self.worker.name, error = error.brief(), "its events cannot be heard");
                self.soon(self.reopen_after);
            }
        }
    }

    /// Hears an event, or the end of the stream.
    pub(super) async fn heard(&mut self, event: Option<Value>) {
        let Some(event) = event else {
            tracing::debug!(worker = %self.worker.name, "its stream of events has ended");
            (self.events, self.reopen) = (None, Instant::now() + self.reopen_after.max(REOPEN.0));
            return self.soon(self.reopen_after.max(REOPEN.0));
        };
        self.reopen_after = REOPEN.0;
        let signs = self.signs.clone();
        let Some(read) = signs::read(&signs, &event) else { return };
        match read.sign.is {
            Meaning::Taken => self.heard_taken(&read),
            // Without a turn it may be a person's, and what bars the next text is asked for.
            Meaning::Said => {
                let Doing::At(at) = &mut self.doing else { return };
                at.answers.extend(read.id.filter(|id| id.len() <= LONGEST_ID));
                let answers = at.answers.len();
                self.bar_by(None).await;
                self.see_endless(answers).await;
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
                let why = read.why.as_deref().map(|why| format!("it asks a person: {}", why_of(Some(why), "")));
                self.bar_by(Some(why.unwrap_or_else(|| ASKS.into()))).await;
            }
            Meaning::Retrying => {
                let why = read.why.as_deref().map_or_else(|| "it does not say why".into(), |why| why_of(Some(why), ""));
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
