//! Turns serde's errors into refusals: the path, what was there, what was wanted, the near miss and the choices.
//!
//! Serde tells an error only as text, so its fixed phrases are read here; an unknown phrase is passed on as it is.

use serde_json::error::Category;

use crate::fleet::refusal::{Refusal, nearest};

/// Returns the refusal of a JSON body, by the path at which reading it stopped.
pub(super) fn json(path: &str, error: &serde_json::Error) -> Refusal {
    let full = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = full.strip_suffix(&place).unwrap_or(&full);
    match error.classify() {
        Category::Data => shape("the body", path, text).hint(format!("seen{place}")),
        Category::Syntax | Category::Eof | Category::Io => {
            Refusal::invalid(format!("the body is not valid JSON: {text}{place}"))
        }
    }
}

/// Returns the refusal of something readable that has the wrong shape.
pub(super) fn shape(whole: &str, path: &str, text: &str) -> Refusal {
    let path = path.trim_matches('.');
    if let Some(rest) = text.strip_prefix("unknown field ") {
        return unknown("field", path, rest);
    }
    if let Some(rest) = text.strip_prefix("unknown variant ") {
        return unknown("value", path, rest);
    }
    if let Some(name) = text.strip_prefix("missing field ") {
        return Refusal::invalid(format!("the field {} is missing", quoted(name)));
    }
    if let Some(name) = text.strip_prefix("duplicate field ") {
        return Refusal::invalid(format!("the field {} is there twice", quoted(name)));
    }
    let place = match path {
        "" | "?" => whole.to_owned(),
        path => format!("the field '{path}'"),
    };
    // What Rust says of a text that is no number, which names nothing that would be right.
    if ["invalid digit found in string", "cannot parse integer from empty string"].contains(&text) {
        return Refusal::invalid(format!("{place} is no whole number of 0 or more"));
    }
    if text == "number too large to fit in target type" {
        return Refusal::invalid(format!("{place} is too large a number"));
    }
    let got_wanted = ["invalid type: ", "invalid value: ", "invalid length: "]
        .iter()
        .find_map(|p| text.strip_prefix(p))
        .and_then(|t| t.split_once(", expected "));
    match got_wanted {
        Some((got, wanted)) => Refusal::invalid(format!("{place} is {}, wanted {}", found(got), asked(wanted))),
        None => Refusal::invalid(format!("{place} cannot be read: {text}")),
    }
}

/// Serde's "integer `3`" in the words of JSON.
fn found(got: &str) -> String {
    let (kind, value) = got.split_once(' ').unwrap_or((got, ""));
    match (kind, value.trim_start_matches("point ").trim_matches('`')) {
        ("integer" | "floating", value) => format!("the number {value}"),
        ("boolean", value) => value.to_owned(),
        ("string", _) => format!("the text {value}"),
        ("sequence", _) => "a list".to_owned(),
        ("map", _) => "an object".to_owned(),
        _ => got.to_owned(),
    }
}

fn asked(wanted: &str) -> &str {
    match wanted {
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "a whole number",
        wanted if wanted.starts_with("struct ") => "a JSON object",
        wanted => wanted,
    }
}

/// "`promt`, expected one of `prompt`, `to`", "…, expected `a` or `b`", "…, there are no fields".
fn unknown(what: &str, path: &str, rest: &str) -> Refusal {
    let (name, choices) = rest.split_once(", ").unwrap_or((rest, ""));
    let name = name.trim_matches('`');
    let valid: Vec<&str> = choices.split('`').skip(1).step_by(2).collect();
    // Serde's path ends with the unknown field itself.
    let outer = path.strip_suffix(name).unwrap_or(path).trim_end_matches('.');
    let inside = match (what, outer) {
        ("field", "") => String::new(),
        ("field", outer) => format!(" in '{outer}'"),
        (_, path) => format!(" for '{path}'"),
    };
    let mut refusal = Refusal::invalid(format!("there is no {what} '{name}'{inside}"));
    if let Some(near) = nearest(name, valid.iter().copied()) {
        refusal = refusal.hint(format!("did you mean '{near}'?"));
    }
    match valid.len() {
        0 => refusal.hint(format!("no {what}s are taken here")),
        _ => refusal.hint(format!("valid: {}", valid.join(", "))),
    }
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.trim_matches('`'))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct Sample {
        prompt: String,
        #[serde(default)]
        priority: Option<crate::fleet::turn::Priority>,
        #[serde(default)]
        deadline: Option<crate::fleet::time::Span>,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct Inner {
        ids: Vec<u32>,
    }

    fn refused(body: &str) -> String {
        parse::<Sample>(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn each_mistake_is_named_with_its_place_and_the_choices() {
        for (body, said) in [
            ("", "the body is empty; send a JSON object"),
            (r#"{"prompt" "x"}"#, "the body is not valid JSON: expected `:` at line 1 column 11"),
            (
                "{\n \"prompt\": \"x\n\"}",
                "the body is not valid JSON: control character (\\u0000-\\u001F) found while parsing a string at line 3 column 0",
            ),
            (r#"{"prompt": "x"} {"#, "the body is not valid JSON: trailing characters at line 1 column 17"),
            (r#"{"prompt": "x""#, "the body is not valid JSON: EOF while parsing an object at line 1 column 14"),
            (
                r#"{"promt": "x"}"#,
                "there is no field 'promt'; did you mean 'prompt'?; valid: prompt, priority, deadline, inner; seen at line 1 column 8",
            ),
            (r#"{"prompt": 5}"#, "the field 'prompt' is the number 5, wanted a string; seen at line 1 column 12"),
            (r#"{"prompt": null}"#, "the field 'prompt' is null, wanted a string; seen at line 1 column 15"),
            ("{}", "the field 'prompt' is missing; seen at line 1 column 2"),
            (r#"{"prompt": "a", "prompt": "b"}"#, "the field 'prompt' is there twice; seen at line 1 column 24"),
            ("[1]", "the body is a list, wanted a JSON object"),
            (r#""text""#, "the body is the text \"text\", wanted a JSON object; seen at line 1 column 6"),
            (
                r#"{"prompt": "x", "priority": "high"}"#,
                "there is no value 'high' for 'priority'; valid: now, normal; seen at line 1 column 34",
            ),
            (
                r#"{"prompt": "x", "deadline": "soon"}"#,
                "the field 'deadline' cannot be read: 'soon' is not a length of time; write for example \"90s\", \"8m\", \"2h\", \"250ms\"; seen at line 1 column 35",
            ),
            (
                r#"{"prompt": "x", "inner": [{"ids": [1, "2"]}]}"#,
                "the field 'inner[0].ids[1]' is the text \"2\", wanted a whole number; seen at line 1 column 41",
            ),
            (
                r#"{"prompt": "x", "inner": [{"id": []}]}"#,
                "there is no field 'id' in 'inner[0]'; did you mean 'ids'?; valid: ids; seen at line 1 column 31",
            ),
        ] {
            let refusal = refused(body);
            assert!(refusal.starts_with(said), "{body}\n said: {refusal}\nwanted: {said}");
        }
    }

    #[test]
    fn deep_nesting_and_bad_utf8_are_refused() {
        let deep = format!(r#"{{"prompt": "x", "inner": {}"#, "[".repeat(100_000));
        assert!(refused(&deep).contains("recursion limit") || refused(&deep).contains("wanted"));
        assert!(parse::<Sample>(b"{\"prompt\": \"\xff\"}").is_err());
    }
}
