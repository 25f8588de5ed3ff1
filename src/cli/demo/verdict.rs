//! What the recipe `inspect` gives back, as types, and the figures that follow from it.
//!
//! Reads JSON only; how it looks on a terminal is `report`'s, how it came here is the demo's.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;

use super::batch;
use crate::fleet::envelope::Times;
use crate::fleet::time::Span;

/// The value of a run of `inspect`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// The ranking, worst first.
    #[serde(default, deserialize_with = "list")]
    pub findings: Vec<Finding>,
    /// What each kind of worker did.
    #[serde(default, deserialize_with = "list")]
    pub sums: Vec<Sum>,
    /// The errands that brought nothing back.
    #[serde(default, deserialize_with = "list")]
    pub missing: Vec<Missing>,
    /// What became of every turn.
    #[serde(default, deserialize_with = "list")]
    pub receipts: Vec<Receipt>,
}

/// One finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// `high`, `medium` or `low`.
    pub severity: String,
    /// The file, relative to the root.
    pub file: FileName,
    /// The line.
    pub line: u64,
    /// What is there.
    pub what: String,
}

/// What one kind of worker did over all parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// The kind: its role without the `w-`.
    pub kind: String,
    /// Files read.
    pub files: u64,
    /// Findings.
    pub found: u64,
    /// Files that could not be read.
    pub unread: u64,
}

/// One errand that brought nothing back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Missing {
    /// The role.
    pub role: String,
    /// The part, from 1.
    pub part: u64,
    /// The turn; absent if it was never accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// `failed`, `timed_out`, …
    pub error: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The end of what it wrote to stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Whether the demo made it go wrong.
    #[serde(default)]
    pub on_purpose: bool,
}

/// What became of one turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// The turn; absent if it was never accepted.
    #[serde(default)]
    pub turn: Option<String>,
    /// The role.
    pub role: String,
    /// The part, from 1; the judge has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u64>,
    /// The worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub outcome: Option<String>,
    /// When.
    pub times: Times,
}

impl Receipt {
    /// Returns how long a worker was at it.
    pub fn work(&self) -> Span {
        let began = self.times.started.or(self.times.handed);
        began.map_or(Span(0), |began| self.times.settled.since(began))
    }

    /// Returns how long it waited for a worker.
    pub fn wait(&self) -> Span {
        let handed = self.times.handed.unwrap_or(self.times.settled);
        handed.since(self.times.accepted)
    }
}

impl Verdict {
    /// Reads the value of a run; the error says where it is not what the recipe promises.
    pub fn read(value: &Value) -> Result<Verdict, String> {
        serde_path_to_error::deserialize(value)
            .map_err(|error| format!("the result of the recipe is not as expected: {error}"))
    }

    /// Returns how long all turns together kept a worker busy.
    pub fn sum_of_parts(&self) -> Span {
        Span(self.receipts.iter().map(|receipt| receipt.work().0).sum())
    }

    /// Returns how many findings there were before the judge cut the list.
    pub fn found(&self) -> u64 {
        self.sums.iter().map(|sum| sum.found).sum()
    }
}

/// A file's name as the workers wrote it, with `%XX` for what does not fit on a line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct FileName(pub String);

impl FileName {
    /// Returns the name as it may stand on a terminal: one line, nothing that moves the cursor or turns the text round.
    pub fn shown(&self) -> String {
        let bytes = batch::decode(&self.0);
        let mut shown = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            for letter in chunk.valid().chars() {
                let turns =
                    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
                if letter.is_control() || turns {
                    shown.extend(letter.escape_default());
                } else {
                    shown.push(letter);
                }
            }
            for byte in chunk.invalid() {
                shown.push_str(&format!("\\x{byte:02x}"));
            }
        }
        shown
    }
}

/// The real name where JSON can hold it; else the encoded one, for nothing may be lost.
impl Serialize for FileName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match String::from_utf8(batch::decode(&self.0)) {
            Ok(name) => serializer.serialize_str(&name),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// An empty Lua table has no side: it may arrive as `{}` where a list is meant.
fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    match Value::deserialize(from)? {
        Value::Object(fields) if fields.is_empty() => Ok(Vec::new()),
        Value::Null => Ok(Vec::new()),
        other => serde_json::from_value(other).map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_table_is_an_empty_list() {
        let verdict = Verdict::read(&json!({"findings": {}, "missing": []})).expect("as promised");
        assert!(verdict.findings.is_empty() && verdict.receipts.is_empty());
    }

    #[test]
    fn a_result_of_another_shape_is_refused_with_the_place() {
        let refused = Verdict::read(&json!({"findings": [{"severity": "high"}]})).expect_err("no file");
        assert!(refused.contains("findings"), "{refused}");
    }

    #[test]
    fn work_begins_with_the_process_and_waiting_ends_with_the_worker() {
        let receipt: Receipt = serde_json::from_value(json!({
            "turn": "t1", "role": "w-size", "outcome": "replied",
            "times": {"accepted": 1000, "handed": 1250, "started": 1260, "settled": 1700},
        }))
        .expect("a receipt");
        assert_eq!(receipt.wait(), Span(250));
        assert_eq!(receipt.work(), Span(440));
    }

    #[test]
    fn names_are_shown_without_what_could_harm_a_terminal() {
        let name = FileName("a%0Ab%1B[31m%FF\u{202e}ü.rs".into());
        assert_eq!(name.shown(), "a\\nb\\u{1b}[31m\\xff\\u{202e}ü.rs");
        assert_eq!(json!(name), json!("a%0Ab%1B[31m%FF\u{202e}ü.rs"));
        assert_eq!(json!(FileName("a%0Ab".into())), json!("a\nb"));
    }
}
