//! The line that gives a turn's text to a program that reads lines of JSON.
//! What the text is, `session/given.rs` says.

use serde_json::Value;

use super::super::fill::{Fill, FillError};

/// Returns a line with its end; `text` is what its marker of that name stands for.
pub(super) fn line(plan: &Value, fill: Fill, text: &str) -> Result<Vec<u8>, FillError> {
    let mut line = fill.with("text", text).json(plan)?.to_string().into_bytes();
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_one_line_and_no_marker_in_it_is_filled() {
        let plan = json!({"say": [{"text": "@{fleet.text}"}], "by": "@{fleet.name}"});
        let fill = || Fill::default().with("name", "w-1");
        let line = line(&plan, fill(), "a\n\"@{fleet.name}\"").expect("it is filled");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let read: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!(read, json!({"say": [{"text": "a\n\"@{fleet.name}\""}], "by": "w-1"}));
    }
}
