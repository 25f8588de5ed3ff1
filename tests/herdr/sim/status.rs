//! What a pane's agent is said to do: reports, and which of them are dropped with an `ok`.
//! No event is sent from here.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The state of a pane's agent, as reports made it.
#[derive(Default)]
pub struct Status {
    /// Whose report counts: its source and the agent it names.
    pub authority: Option<(String, String)>,
    state: Option<String>,
    unseen: bool,
    marks: HashMap<String, u64>,
    anchored: bool,
    /// Words that are only shown.
    pub tokens: Map<String, Value>,
    /// Names that are shown in the place of others.
    pub names: Map<String, Value>,
    /// How often the state has changed.
    pub changes: u64,
    /// The name that was given to the agent.
    pub name: Option<String>,
}

impl Status {
    /// Returns the state as it is shown.
    pub fn shown(&self) -> &str {
        match self.state.as_deref() {
            Some("idle") if self.unseen => "done",
            Some(state) => state,
            None => "unknown",
        }
    }

    /// Returns the agent's label.
    pub fn agent(&self) -> Option<&str> {
        self.authority.as_ref().map(|(_, agent)| agent.as_str())
    }

    /// Takes a report; returns false where it is dropped.
    pub fn report(&mut self, source: &str, agent: &str, state: &str, seq: Option<u64>, is_focused: bool) -> bool {
        if self.anchored || !self.passes(source, seq) {
            return false;
        }
        let before = self.state.replace(state.to_owned());
        let worked = matches!(before.as_deref(), Some("working" | "blocked"));
        self.unseen = state == "idle" && !is_focused && (worked || self.unseen);
        self.changes += u64::from(before.as_deref() != Some(state));
        self.authority = Some((source.to_owned(), agent.to_owned()));
        true
    }

    /// Takes the word back; returns the last state where that is allowed.
    pub fn release(&mut self, source: &str, agent: Option<&str>, seq: Option<u64>) -> Option<String> {
        let (holder, label) = self.authority.as_ref()?;
        if holder != source || agent.is_some_and(|agent| agent != label) || !self.passes(source, seq) {
            return None;
        }
        let last = self.shown().to_owned();
        self.authority = None;
        self.state = None;
        self.unseen = false;
        Some(last)
    }

    /// Records that the agent's own integration is there: nobody else is heard from now on.
    pub fn anchor(&mut self) {
        self.anchored = true;
    }

    /// Records that somebody looks; returns whether that changed what is shown.
    pub fn look(&mut self) -> bool {
        std::mem::take(&mut self.unseen)
    }

    /// Keeps the mark of a source: what is not above it is dropped, and so is what has none once one was used.
    fn passes(&mut self, source: &str, seq: Option<u64>) -> bool {
        match (self.marks.get(source), seq) {
            (Some(mark), Some(seq)) if seq <= *mark => false,
            (Some(_), None) => false,
            (_, Some(seq)) => {
                self.marks.insert(source.to_owned(), seq);
                true
            }
            (None, None) => true,
        }
    }
}

/// Returns the state of many: the most urgent one.
pub fn rolled_up<'a>(states: impl Iterator<Item = &'a str>) -> &'static str {
    const ORDER: [&str; 5] = ["unknown", "idle", "done", "working", "blocked"];
    let rank = |state: &str| ORDER.iter().position(|known| *known == state).unwrap_or(0);
    ORDER[states.map(rank).max().unwrap_or(0)]
}
