//! What the endpoint was asked: every request as it came, with what is asked of it most often.
//! Keeps no answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::Dialect;

/// One request, as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Address and port of the caller.
    pub peer: String,
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The JSON, or a string if it was none, or null if there was nothing.
    pub body: Value,
}

impl Recorded {
    /// Tells whether this asks the model for an answer; the rest are probes.
    pub fn is_for_an_answer(&self) -> bool {
        self.asks().is_some()
    }

    /// Returns the session that the agent names, or nothing.
    pub fn session(&self) -> &str {
        let names = ["x-claude-code-session-id", "x-session-id"];
        names.into_iter().map(|name| self.header(name)).find(|id| !id.is_empty()).unwrap_or_default()
    }

    /// Returns the value of a header (in lower case), or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the key or token that came along, without its `Bearer`.
    pub fn key(&self) -> &str {
        let bearer = self.header("authorization").trim_start_matches("Bearer ");
        if bearer.is_empty() { self.header("x-api-key") } else { bearer }
    }

    /// Returns the names of the tools that the model may call.
    pub fn tools(&self) -> Vec<&str> {
        self.asks().map(|dialect| dialect.tools(&self.body)).unwrap_or_default()
    }

    /// Returns all text that the model was given: its system prompt, and every message whoever said it.
    pub fn text(&self) -> String {
        self.asks().map(|dialect| dialect.all_text(&self.body)).unwrap_or_default()
    }

    /// Returns the dialect in which this asks for an answer.
    pub(crate) fn asks(&self) -> Option<Dialect> {
        Dialect::of(&self.path).filter(|_| self.method == "POST")
    }
}
