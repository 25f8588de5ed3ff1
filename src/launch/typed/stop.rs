//! Making an agent stop a turn that is over for the fleet: told by its keys, told again while it goes on, and its composer
//! emptied where it gave the text back. It is at rest before it gets the next text.

use std::time::Duration;

use tokio::time::Instant;

use super::keeper::Keeper;
use super::look::{Look, tail_of};
use super::work::Doing;
use crate::engine::panes::Key;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;

/// How often an agent that was told to stop is looked at.
pub(super) const LOOK_AT_STOP: Duration = Duration::from_millis(200);
/// How long after an interrupt the next key is pressed.
const REST_AFTER_INTERRUPT: Duration = Duration::from_millis(500);
/// How long an agent that took a text may take to show that it works.
const TO_SHOW_WORK: Duration = Duration::from_millis(2_500);
/// How long an agent that goes on working has until it is told again.
const TELL_AGAIN: Duration = Duration::from_secs(2);

/// An agent that was told to stop.
pub(super) struct Stopping {
    /// When it was last told.
    told: Instant,
    /// The end of a text of ours that may still stand in its composer.
    tail: Option<String>,
    /// Whether its composer was emptied: a second time the same keys may mean something else.
    is_cleared: bool,
    /// Whether its program took the text and has not told an end: then an idle screen may only be one that does not
    /// show the work yet, and counts after it was seen at work, or after a while.
    is_at_work: bool,
    began: Instant,
}

impl Stopping {
    pub(super) fn new(tail: Option<String>) -> Stopping {
        let now = Instant::now();
        Stopping { told: now, tail, is_cleared: false, is_at_work: false, began: now }
    }

    /// Says that its program is at work, whatever its screen shows.
    pub(super) fn at_work(self, is_at_work: bool) -> Stopping {
        Stopping { is_at_work, ..self }
    }

    /// Its program told an end after all.
    pub(super) fn ended(&mut self) {
        self.is_at_work = false;
    }
}

impl Keeper {
    /// Sees whether an agent that was told to stop has stopped.
    pub(super) async fn watch_stop(&mut self, look: &Look) {
        let typing = self.typing();
        let Doing::Stopping(stopping) = &mut self.doing else { return };
        let again = stopping.told.elapsed() >= TELL_AGAIN && look.busy;
        // A person's draft is no reason to end a session; a text of ours that nobody took is.
        stopping.is_at_work &= !look.busy && stopping.began.elapsed() < TO_SHOW_WORK;
        let is_ours = stopping.tail.as_ref().is_some_and(|tail| look.holds(tail, &typing));
        let at_rest = !look.busy && look.dialog.is_none() && look.composer.is_some();
        if at_rest && !is_ours && !stopping.is_at_work {
            self.doing = Doing::Idle;
            self.barred = None;
            self.soon(Duration::ZERO);
            return self.desk.common.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
        }
        // Not at once: right after an interrupt a key may be read together with it.
        if is_ours && !look.busy && !stopping.is_cleared && stopping.told.elapsed() >= REST_AFTER_INTERRUPT {
            stopping.is_cleared = true;
            self.press_keys(&typing.clear).await;
        } else if again {
            stopping.told = Instant::now();
            self.press_interrupt(false).await;
        }
        self.soon(LOOK_AT_STOP);
    }

    /// Makes the agent stop a turn that is over for the fleet.
    pub(super) async fn interrupt(&mut self, turn: TurnId) {
        let is_another = match &self.doing {
            Doing::Submitting(submitting) => submitting.turn.id != turn,
            Doing::Working(working) => working.turn != turn,
            Doing::Idle | Doing::Stopping(_) => false,
        };
        if is_another {
            // An order that was given again: that turn is long over.
            return;
        }
        let was_typed = match &self.doing {
            Doing::Submitting(submitting) if submitting.turn.id == turn => self.dir.is_typed(turn).unwrap_or(true),
            _ => true,
        };
        let tail = match &self.doing {
            Doing::Submitting(submitting) => Some(tail_of(&submitting.text)),
            // An agent that is stopped before its first word may give the text back.
            Doing::Working(working) if !working.text.is_empty() => Some(tail_of(&working.text)),
            _ => None,
        };
        let has_ended = match &self.doing {
            Doing::Submitting(submitting) => submitting.ends.told().is_some(),
            Doing::Working(working) => working.ends.told().is_some(),
            Doing::Idle | Doing::Stopping(_) => true,
        };
        let is_at_work = was_typed && !has_ended && self.plan().is_some_and(Plan::shows_ends);
        if was_typed {
            self.press_interrupt(is_at_work).await;
        }
        self.doing = Doing::Stopping(Stopping::new(tail).at_work(is_at_work));
    }

    pub(super) async fn press_interrupt(&mut self, is_at_work: bool) {
        let Ok(screen) = self.screen().await else { return };
        // An agent that is idle already has nothing to stop, and a key would mean something else to it.
        let look = Look::of(&screen, &self.typing());
        if (is_at_work || !look.is_idle()) && look.dialog.is_none() {
            self.press_keys(&self.typing().interrupt).await;
        }
    }

    pub(super) async fn press_keys(&mut self, names: &[String]) {
        let keys: Vec<Key> = names.iter().filter_map(|name| Key::parse(name).ok()).collect();
        if !keys.is_empty()
            && let Some(pane) = self.pane()
            && let Err(error) = self.desk.host().press(pane, keys).await
        {
            tracing::info!(worker = %self.worker.name, %error, "a worker could not be told to stop its turn");
        }
    }
}
