//! What has happened, in two rings: the last 512 events for those who ask for a kind, and the states of panes for those
//! who ask for a pane. Who is behind the ring has lost what was in it, without a word.

use std::collections::VecDeque;

use serde_json::{Value, json};

const KEPT: usize = 512;

/// One event with its place among all.
pub struct Seen {
    pub at: u64,
    pub event: Value,
}

/// A change of a pane's state.
pub struct Changed {
    pub at: u64,
    pub pane: u64,
    pub status: String,
    pub event: Value,
}

/// Both rings.
#[derive(Default)]
pub struct Hub {
    next: u64,
    events: VecDeque<Seen>,
    states: VecDeque<Changed>,
    /// So many of the next events are lost, on order.
    pub lose: u64,
}

impl Hub {
    /// Adds an event of a kind (`pane_created`).
    pub fn push(&mut self, kind: &str, mut data: Value) {
        if self.lose > 0 {
            self.lose -= 1;
            return;
        }
        data["type"] = kind.into();
        let at = self.next();
        self.events.push_back(Seen { at, event: json!({"event": kind, "data": data}) });
        if self.events.len() > KEPT {
            self.events.pop_front();
        }
    }

    /// Adds a change of a pane's state.
    pub fn push_state(&mut self, pane: u64, status: &str, data: Value) {
        let at = self.next();
        let event = json!({"event": "pane.agent_status_changed", "data": data});
        self.states.push_back(Changed { at, pane, status: status.to_owned(), event });
        if self.states.len() > KEPT {
            self.states.pop_front();
        }
    }

    /// Returns the place after all that has happened.
    pub fn now(&self) -> u64 {
        self.next
    }

    /// Returns the first event of a kind from a place on.
    pub fn event(&self, kind: &str, from: u64) -> Option<&Seen> {
        self.events.iter().find(|seen| seen.at >= from && seen.event["event"] == kind)
    }

    /// Returns the first change of a pane's state from a place on.
    pub fn state(&self, pane: u64, from: u64) -> Option<&Changed> {
        self.states.iter().find(|changed| changed.at >= from && changed.pane == pane)
    }

    /// Forgets everything, as a new process does.
    pub fn clear(&mut self) {
        self.events.clear();
        self.states.clear();
    }

    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}
