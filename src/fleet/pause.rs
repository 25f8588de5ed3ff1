//! `fleetd pause`: from that moment nothing is handed to any worker, and what was handed and not typed yet is held back
//! by the launcher. What runs goes on, and what is sent is accepted and waits. Kept over a restart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::events::FleetEvent;
use super::ids::RoleName;
use super::input::{Answer, Effect, WorkEffect};
use super::record::{Event, Record};
use super::state::{Cx, Fleet};
use super::time::Time;

/// That nothing is handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// Since when.
    pub since: Time,
    /// Who wanted it.
    pub by: Sender,
}

impl Fleet {
    /// Returns whether nothing is handed out, and since when.
    pub fn paused(&self) -> Option<&Pause> {
        self.paused.as_ref()
    }

    pub(super) fn pause(&mut self, cx: &mut Cx, by: Sender) -> Answer {
        if self.paused.is_none() {
            self.set_pause(cx, Some(Pause { since: cx.now, by }), by, format!("paused by {by}"));
        }
        Answer::Paused(self.paused.clone())
    }

    pub(super) fn unpause(&mut self, cx: &mut Cx, by: Sender) -> Answer {
        if self.paused.is_some() {
            self.set_pause(cx, None, by, format!("resumed by {by}"));
        }
        // Whoever says so means all that the charter holds up as well.
        let parked: Vec<RoleName> = self.parked.keys().cloned().collect();
        for role in parked {
            let what = format!("role {role} resumed by {by}");
            cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
            self.go_on(cx, role);
        }
        Answer::Paused(None)
    }

    fn set_pause(&mut self, cx: &mut Cx, pause: Option<Pause>, by: Sender, what: String) {
        cx.effect(Effect::Work(WorkEffect::Pause(pause.is_some())));
        cx.record(Record::Paused(pause.clone()));
        cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
        let paused = pause.is_some();
        self.tell(cx, || FleetEvent::PauseChanged { paused, by }, "pause_changed");
        self.paused = pause;
    }
}
