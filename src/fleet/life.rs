//! What is kept of a worker's present session: how long it lives, how full it is, and how far it has come on its way to
//! a fresh one. Only the row and its words; the rules stand in `renew`, `starts` and `budget`.

use serde::{Deserialize, Serialize};

use super::ids::TurnId;
use super::time::{Span, Time};

/// What is kept of a worker's present session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Life {
    /// Whether its start was ordered; until then it waits for its turn to be started.
    pub ordered: bool,
    /// When it came up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Time>,
    /// Turns that it ended.
    pub turns: u32,
    /// Tokens of its context, as its last turn told.
    pub tokens: u64,
    /// How far it has come on its way to a fresh session, if it is on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Renewal>,
    /// The session whose worktree it goes on in: that of the one whose place it took. None = its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<u64>,
    /// Files of its last turns, as their senders named them; the latest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knows: Vec<String>,
    /// What is in the way of typing to it, once it is told to go: its state says the latter, and what it waits for is told
    /// all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<String>,
}

/// How many files are kept of a session's last turns.
const MOST_KNOWN: usize = 32;

/// How far a worker has come on its way to a fresh session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Renewal {
    /// It has reached its `context_cap` and is to be asked for a note.
    Due,
    /// It is asked for a note, in this turn of fleetd's own.
    Asked(TurnId),
    /// Its session is to be ended; the note is the reply to this turn, if there is one.
    Ending(Option<TurnId>),
    /// Its fresh session has been given nothing yet; the note goes before its first text.
    Fresh(Option<TurnId>),
}

/// How full the session of a worker may become before a fresh one takes its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextCap {
    /// Turns at most; none = however many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tokens of its context at most, where the agent tells them; none = however many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// How many sessions of a role may fail before the role starts none any more by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarts {
    /// So many failures; at least 1.
    pub failures: u32,
    /// Within this time.
    pub within: Span,
}

impl Default for Restarts {
    fn default() -> Self {
        Restarts { failures: 5, within: Span::minutes(10) }
    }
}

impl ContextCap {
    /// Returns whether a session is as full as it may become.
    pub fn is_reached(&self, life: &Life) -> bool {
        self.turns.is_some_and(|most| life.turns >= most) || self.tokens.is_some_and(|most| life.tokens >= most)
    }
}

impl Life {
    /// Notes the files of a turn that the session is given.
    pub fn learn(&mut self, files: &[String]) {
        self.knows.retain(|known| !files.contains(known));
        self.knows.splice(0..0, files.iter().cloned());
        self.knows.truncate(MOST_KNOWN);
    }

    /// Returns whether the session is on its way out: it takes no more turns of others.
    pub fn is_ending(&self) -> bool {
        matches!(self.renewal, Some(Renewal::Due | Renewal::Asked(_) | Renewal::Ending(_)))
    }

    /// Returns whether the session takes the place of an earlier one and has been given nothing yet.
    pub fn is_fresh(&self) -> bool {
        matches!(self.renewal, Some(Renewal::Fresh(_)))
    }

    /// Returns the turn whose reply is the note that goes before the next text.
    pub fn note(&self) -> Option<TurnId> {
        match self.renewal {
            Some(Renewal::Fresh(note)) => note,
            _ => None,
        }
    }
}
