//! What is wrong with a request, as the framework of the real program says it: `application/problem+json`.
//! Nothing is sent here.

use serde_json::{Map, Value, json};

/// A refusal: its status, and its body without the address of its schema.
#[derive(Debug, PartialEq)]
pub struct Problem {
    pub status: u16,
    pub title: &'static str,
    pub detail: &'static str,
    pub errors: Vec<Value>,
}

impl Problem {
    /// Returns the answer to a message that could not be sent.
    pub fn not_sent(why: &str) -> Problem {
        Problem {
            status: 500,
            title: "Internal Server Error",
            detail: "unexpected error occurred",
            errors: vec![json!({"message": format!("failed to send message: {why}")})],
        }
    }

    fn malformed(detail: &'static str, errors: Vec<Value>) -> Problem {
        Problem { status: 400, title: "Bad Request", detail, errors }
    }
}

/// A message as it was sent.
#[derive(Debug, PartialEq)]
pub enum Sent {
    User(String),
    Raw(String),
}

/// Reads the body of `POST /message` by its schema.
pub fn read(body: &[u8]) -> Result<Sent, Problem> {
    if body.is_empty() {
        return Err(Problem::malformed("request body is required", Vec::new()));
    }
    // Not recorded: how the real one words this.
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let error = json!({"message": error.to_string(), "location": "body"});
        Problem::malformed("validation failed", vec![error])
    })?;
    let none = Map::new();
    let object = value.as_object();
    let fields = object.unwrap_or(&none);
    let mut errors = Vec::new();
    let mut wrong = |location: &str, message: &str, value: &Value| {
        errors.push(json!({"message": message, "location": location, "value": value}));
    };
    if object.is_none() {
        wrong("body", "expected object", &value);
    }
    for name in fields.keys().filter(|name| !matches!(name.as_str(), "$schema" | "content" | "type")) {
        wrong(&format!("body.{name}"), "unexpected property", &value);
    }
    for name in ["content", "type"] {
        match fields.get(name) {
            _ if object.is_none() => {}
            None => wrong("body", &format!("expected required property {name} to be present"), &value),
            Some(Value::String(word)) if name == "type" && !matches!(word.as_str(), "user" | "raw") => {
                wrong("body.type", "expected value to be one of \"raw, user\"", &fields[name]);
            }
            Some(Value::String(_)) => {}
            Some(other) => wrong(&format!("body.{name}"), "expected string", other),
        }
    }
    if !errors.is_empty() {
        return Err(Problem { status: 422, title: "Unprocessable Entity", detail: "validation failed", errors });
    }
    let content = fields["content"].as_str().unwrap_or_default().to_owned();
    Ok(if fields["type"] == "raw" { Sent::Raw(content) } else { Sent::User(content) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (u16, String) {
        let problem = read(body.as_bytes()).expect_err("it is wrong");
        let errors = problem.errors.iter().map(|error| format!("{}: {}", error["location"], error["message"]));
        (problem.status, errors.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn a_body_is_held_to_its_schema() {
        let user = read(br#"{"content": " hi ", "type": "user", "$schema": "x"}"#);
        assert_eq!(user, Ok(Sent::User(" hi ".into())));
        assert_eq!(read(br#"{"content": "\u001b", "type": "raw"}"#), Ok(Sent::Raw("\u{1b}".into())));
        assert_eq!(refused("").0, 400);
        assert_eq!(refused("{").0, 400);
        for (body, says) in [
            ("[]", r#""body": "expected object""#),
            (r#"{"content": "x"}"#, r#""body": "expected required property type to be present""#),
            (r#"{"content": 7, "type": "user"}"#, r#""body.content": "expected string""#),
            (r#"{"content": "x", "type": "key"}"#, r#""body.type": "expected value to be one of \"raw, user\"""#),
            (r#"{"content": "x", "type": "user", "to": 1}"#, r#""body.to": "unexpected property""#),
        ] {
            assert_eq!(refused(body), (422, says.to_owned()), "{body}");
        }
    }
}
