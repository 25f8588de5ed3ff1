//! Which dialect a request speaks, by its path.
//! What is different about each stands in a file of its own.

use serde_json::Value;

use crate::acts::Act;
use crate::conversation::Asked;
use crate::script::Step;
use crate::{anthropic, openai};

/// A way in which endpoints are asked and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Anthropic,
    OpenAi,
}

impl Dialect {
    /// Returns the dialect of a request for an answer.
    pub fn of(path: &str) -> Option<Dialect> {
        match path.split('?').next() {
            Some(anthropic::PATH) => Some(Dialect::Anthropic),
            Some(openai::PATH) => Some(Dialect::OpenAi),
            _ => None,
        }
    }

    pub fn asked(self, conversation: String, body: &Value) -> Asked {
        match self {
            Dialect::Anthropic => anthropic::asked(conversation, body),
            Dialect::OpenAi => openai::asked(conversation, body),
        }
    }

    pub fn error(self, status: u16, text: &str) -> Value {
        match self {
            Dialect::Anthropic => anthropic::error(status, text),
            Dialect::OpenAi => openai::error(status, text),
        }
    }

    pub fn whole(self, step: &Step, asked_for: &str, id: &str) -> Value {
        match self {
            Dialect::Anthropic => anthropic::whole(step, asked_for, id),
            Dialect::OpenAi => openai::whole(step, asked_for, id),
        }
    }

    pub fn stream(self, step: &Step, asked_for: &str, id: &str) -> Vec<Act> {
        match self {
            Dialect::Anthropic => anthropic::stream(step, asked_for, id),
            Dialect::OpenAi => openai::stream(step, asked_for, id),
        }
    }

    pub fn all_text(self, body: &Value) -> String {
        match self {
            Dialect::Anthropic => anthropic::all_text(body),
            Dialect::OpenAi => openai::all_text(body),
        }
    }

    pub fn tools(self, body: &Value) -> Vec<&str> {
        match self {
            Dialect::Anthropic => anthropic::tools(body),
            Dialect::OpenAi => openai::tools(body),
        }
    }
}
