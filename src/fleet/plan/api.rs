//! How a program is called that has an HTTP API of its own, as data: what it is asked, and what its answers, its stream of
//! events and its own record of a turn mean.
//!
//! A program that fleetd starts listens on loopback at `@{fleet.port}`; no plan names an address. Nothing is called here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::signs::{Sign, at, is_something};
use super::super::time::Span;
use super::is_false;

/// How a program is called over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Api {
    /// True for a program that somebody else runs, at the address of the worker's endpoint: nothing is started.
    #[serde(default, skip_serializing_if = "is_false")]
    pub attach: bool,
    /// True for one that, once started, other machines can reach without any proof of who they are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exposed: bool,
    /// True for one that types what it is told into a terminal: no character of a text may be a key there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub types: bool,
    /// The name that goes with the session's password (`@{fleet.password}`) in basic authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it answers once it is up.
    pub ready: Call,
    /// Begins the conversation, once; its answer has the name that `@{fleet.conversation}` stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    /// Gives it the text of a turn.
    pub say: Call,
    /// Makes it stop its turn; without one its process is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Call>,
    /// What it answers while it is at rest.
    pub rest: Call,
    /// Its own record of what was said.
    pub record: Record,
    /// Where it tells what happens, as a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// What it answers while it asks nobody anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Call>,
    /// How it is seen and mended that it has lost the fleet's tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Mend>,
    /// Shows the conversation to whoever looks at its pane; nothing depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<Call>,
    /// How many answers of its model one turn may have before it is taken for one without end.
    pub most: u32,
}

/// One request, and what its answer must show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The path, from the address on.
    pub path: String,
    /// True for a `POST`, also without a body.
    #[serde(default, skip_serializing_if = "is_false")]
    pub post: bool,
    /// What is posted, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// What must stand at these paths of the answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<String, Value>,
    /// At these paths of the answer nothing may stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub none: Vec<String>,
    /// Words of a failed answer by which nothing was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untaken: Vec<String>,
}

impl Call {
    /// Returns whether an answer shows what it must.
    pub fn is_shown(&self, answer: &Value) -> bool {
        self.on.iter().all(|(path, wanted)| at(answer, path) == Some(wanted))
            && !self.none.iter().any(|path| at(answer, path).is_some_and(is_something))
    }
}

/// How a conversation is begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// The request.
    pub call: Call,
    /// The path of the conversation's name in the answer.
    pub id: String,
}

/// A program's own record of a conversation: a list, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The request that is answered with it.
    pub call: Call,
    /// The path of the list in the answer; the answer itself if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// The path in an answer of the model at which the name of the text stands that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What showed how a turn ended, in the envelope's word; `api` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// What an entry is, the first that fits.
    pub signs: Vec<Sign>,
}

/// A stream of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// The request that is answered with it.
    pub path: String,
    /// How long nothing may come on a stream that lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Span>,
}

/// Something that is looked at, and mended where it is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mend {
    /// What shows that all is well.
    pub check: Call,
    /// What mends it.
    pub mend: Call,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_shows_what_stands_in_it_and_what_does_not() {
        let call = Call { on: [("state".to_owned(), json!("idle"))].into(), ..Call::default() };
        assert!(call.is_shown(&json!({"state": "idle"})) && !call.is_shown(&json!({"state": "busy"})));
        assert!(!call.is_shown(&Value::Null));
        let call = Call { none: vec!["s1".into()], ..Call::default() };
        assert!(call.is_shown(&json!({})) && call.is_shown(&json!({"s2": {"is": "busy"}})));
        assert!(!call.is_shown(&json!({"s1": {"is": "busy"}})));
    }
}
