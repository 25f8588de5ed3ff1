//! An agent's half of the talk, as short as it can be: one request, its status and its answer.
//! No test is here.

use fleetd_model::Model;
use serde_json::{Value, json};

/// A conversation with an endpoint; it remembers what was said.
pub struct Talk<'a> {
    model: &'a Model,
    session: &'a str,
    pub messages: Vec<Value>,
}

impl<'a> Talk<'a> {
    pub fn new(model: &'a Model, session: &'a str) -> Talk<'a> {
        Talk { model, session, messages: Vec::new() }
    }

    /// Says something and returns the answer, which becomes part of the talk if it is one.
    pub fn say(&mut self, text: &str) -> (u16, Value) {
        self.messages.push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
        self.ask()
    }

    /// Gives the results of tools and returns the answer.
    pub fn give(&mut self, result: &str) -> (u16, Value) {
        let block = json!({"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": result}]});
        self.messages.push(json!({"role": "user", "content": [block]}));
        self.ask()
    }

    /// Asks for an answer to what has been said, as one message.
    pub fn ask(&mut self) -> (u16, Value) {
        let body = json!({"model": "scripted", "max_tokens": 9, "messages": self.messages});
        let (status, answer) = post(self.model, self.session, &body);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        if status == 200 {
            self.messages.push(json!({"role": "assistant", "content": answer["content"]}));
        }
        (status, answer)
    }

    /// Says something and returns the events of the streamed answer, by name and data.
    pub fn stream(&mut self, text: &str) -> Vec<(String, Value)> {
        self.messages.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "scripted", "stream": true, "messages": self.messages});
        let (status, answer) = post(self.model, self.session, &body);
        assert_eq!(status, 200, "{answer}");
        events(&answer)
    }
}

/// Returns the text of an answer's first content block.
pub fn said(answer: &(u16, Value)) -> &str {
    answer.1["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns the events of a stream.
pub fn events(text: &str) -> Vec<(String, Value)> {
    let event = |event: &str| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        (name.to_owned(), serde_json::from_str(data).unwrap())
    };
    text.split_terminator("\n\n").map(event).collect()
}

fn post(model: &Model, session: &str, body: &Value) -> (u16, String) {
    let request = ureq::post(format!("{}/v1/messages?beta=true", model.url()))
        .header("x-claude-code-session-id", session)
        .header("authorization", "Bearer key")
        .config()
        .http_status_as_error(false)
        .build();
    let mut response = request.send_json(body).unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}
