//! What a program's report means: rules by which a piece of JSON (a hook's payload, a line of output, a line of a
//! transcript) is read. Rules are data of a launch plan; how a report reached us is not known here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::envelope::Usage;

/// What a report can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The program took a text.
    Taken,
    /// The turn is over, and this is its reply.
    Replied,
    /// The turn is over without a reply.
    Failed,
    /// The turn was stopped by a person at its screen.
    Interrupted,
    /// A step that has ended is not the end of the turn: more comes by itself.
    GoesOn,
    /// It asks a person, and nothing goes on until somebody answers.
    Blocked,
    /// It tries again to reach its model.
    Retrying,
    /// Its settings changed.
    Settings,
    /// A message of its model: text, model and usage are taken from it.
    Said,
    /// Everything of the turn is written.
    Complete,
    /// It came to rest.
    Rested,
    /// It wants to be told who it is and what it is at.
    Context,
    /// Known, and of no matter.
    Nothing,
}

impl Meaning {
    /// All of them, in the order in which people read them.
    pub const ALL: [Meaning; 13] = [
        Meaning::Taken,
        Meaning::Replied,
        Meaning::Failed,
        Meaning::Interrupted,
        Meaning::GoesOn,
        Meaning::Blocked,
        Meaning::Retrying,
        Meaning::Settings,
        Meaning::Said,
        Meaning::Complete,
        Meaning::Rested,
        Meaning::Context,
        Meaning::Nothing,
    ];

    /// Returns the word that a plan has for it.
    pub fn word(self) -> &'static str {
        match self {
            Meaning::Taken => "taken",
            Meaning::Replied => "replied",
            Meaning::Failed => "failed",
            Meaning::Interrupted => "interrupted",
            Meaning::GoesOn => "goes_on",
            Meaning::Blocked => "blocked",
            Meaning::Retrying => "retrying",
            Meaning::Settings => "settings",
            Meaning::Said => "said",
            Meaning::Complete => "complete",
            Meaning::Rested => "rested",
            Meaning::Context => "context",
            Meaning::Nothing => "nothing",
        }
    }

    /// Returns whether a turn is over by it.
    pub fn is_end(self) -> bool {
        matches!(self, Meaning::Replied | Meaning::Failed | Meaning::Interrupted)
    }
}

/// One rule. Paths are names with dots between them, such as `message.usage.input_tokens`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sign {
    /// What the report means if the rule fits.
    pub is: Meaning,
    /// What must stand at these paths: the very value, or one of a list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<String, Value>,
    /// Of these paths at least one must hold something: not nothing, false, zero or empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// What texts at these paths must begin with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub begins: BTreeMap<String, String>,
    /// Where the text is: of the prompt, the reply or the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which pieces are the text, where it is a list of pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<Pieces>,
    /// Where the reason is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where the name of the message is, by which one that is written in parts is counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where the model's name is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the figures are: `input`, `output`, `cache_read`, `cache_write`, `cost`; and `cost_so_far`, what the whole
    /// session has cost by now.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, String>,
    /// What the report is answered, where it waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// Which pieces of a list are a message's text; all that have one if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pieces {
    /// What must stand at these paths of a piece.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<String, Value>,
    /// At these paths of a piece nothing may stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub none: Vec<String>,
    /// Only those after the last piece at which this stands: what was said before it was given up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub after: BTreeMap<String, Value>,
}

impl Pieces {
    fn of(&self, pieces: &[Value]) -> Vec<Value> {
        let stands = |on: &BTreeMap<String, Value>, piece: &Value| {
            on.iter().all(|(path, wanted)| at(piece, path) == Some(wanted))
        };
        let from = match self.after.is_empty() {
            true => 0,
            false => pieces.iter().rposition(|piece| stands(&self.after, piece)).map_or(0, |last| last + 1),
        };
        let is_text = |piece: &&Value| {
            stands(&self.on, piece) && !self.none.iter().any(|path| at(piece, path).is_some_and(is_something))
        };
        pieces[from..].iter().filter(is_text).cloned().collect()
    }
}

/// What a rule found in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<'a> {
    /// The rule.
    pub sign: &'a Sign,
    /// The text, if the rule says where it is.
    pub text: Option<String>,
    /// The reason.
    pub why: Option<String>,
    /// The message's name.
    pub id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The figures; none when the report has none of them.
    pub usage: Option<Usage>,
    /// What the whole session has cost by now.
    pub cost_so_far: Option<f64>,
}

/// Reads a report by the first rule that fits.
pub fn read<'a>(signs: &'a [Sign], report: &Value) -> Option<Read<'a>> {
    let sign = signs.iter().find(|sign| sign.fits(report))?;
    let text = |path: &Option<String>| path.as_deref().and_then(|path| text_at(report, path));
    Some(Read {
        sign,
        text: match (&sign.pieces, sign.text.as_deref().and_then(|path| at(report, path))) {
            (Some(pieces), Some(Value::Array(list))) => text_of(&Value::Array(pieces.of(list))),
            _ => text(&sign.text),
        },
        why: text(&sign.why),
        id: text(&sign.id),
        model: text(&sign.model),
        usage: usage(report, &sign.usage),
        cost_so_far: sign.usage.get("cost_so_far").and_then(|path| at(report, path)?.as_f64()),
    })
}

impl Sign {
    fn fits(&self, report: &Value) -> bool {
        let is = |(path, wanted): (&String, &Value)| match (wanted, at(report, path)) {
            (Value::Array(list), Some(found)) => list.contains(found),
            (wanted, Some(found)) => wanted == found,
            (_, None) => false,
        };
        let holds = |path: &String| at(report, path).is_some_and(is_something);
        let begins =
            |(path, with): (&String, &String)| text_at(report, path).is_some_and(|text| text.starts_with(with));
        self.on.iter().all(is) && (self.any.is_empty() || self.any.iter().any(holds)) && self.begins.iter().all(begins)
    }
}

/// Returns what stands at a path; of a list a number names an item, from 0 on.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// Returns the text at a path: a text itself, or the texts of a list of pieces, as messages are made of.
fn text_at(value: &Value, path: &str) -> Option<String> {
    text_of(at(value, path)?)
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(pieces) => {
            let texts: Vec<&str> = pieces.iter().filter_map(|piece| piece.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

pub(super) fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

fn usage(report: &Value, paths: &BTreeMap<String, String>) -> Option<Usage> {
    let number = |name: &str| paths.get(name).and_then(|path| at(report, path));
    let count = |name: &str| number(name).and_then(Value::as_u64);
    let found = ["input", "output", "cache_read", "cache_write"].map(count);
    let cost = number("cost").and_then(Value::as_f64);
    if found.iter().all(Option::is_none) && cost.is_none() {
        return None;
    }
    let [input, output, cache_read, cache_write] = found.map(Option::unwrap_or_default);
    Some(Usage { input, output, cache_read, cache_write, cost, context: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signs(rules: Value) -> Vec<Sign> {
        serde_json::from_value(rules).expect("they are rules")
    }

    #[test]
    fn the_first_rule_that_fits_says_what_it_means() {
        let signs = signs(json!([
            {"is": "goes_on", "on": {"event": "Stop"}, "any": ["tasks", "crons"]},
            {"is": "replied", "on": {"event": "Stop"}, "text": "last"},
            {"is": "blocked", "on": {"event": ["Ask", "Notice"], "kind": "dialog"}, "why": "message"},
        ]));
        let meaning = |report: Value| read(&signs, &report).map(|read| (read.sign.is, read.text, read.why));
        assert_eq!(meaning(json!({"event": "Stop", "tasks": [1], "last": "x"})), Some((Meaning::GoesOn, None, None)));
        let empty = json!({"event": "Stop", "tasks": [], "crons": {}, "last": "x"});
        assert_eq!(meaning(empty), Some((Meaning::Replied, Some("x".into()), None)));
        let asks = json!({"event": "Notice", "kind": "dialog", "message": "may I?"});
        assert_eq!(meaning(asks), Some((Meaning::Blocked, None, Some("may I?".into()))));
        assert_eq!(meaning(json!({"event": "Notice"})), None);
    }

    #[test]
    fn texts_in_pieces_and_figures_are_read() {
        let signs = signs(json!([{
            "is": "said", "text": "message.content", "id": "message.id", "model": "message.model",
            "usage": {"input": "message.usage.in", "output": "message.usage.out"},
        }]));
        let report = json!({"message": {
            "id": "m1", "model": "big", "usage": {"in": 7, "out": 2},
            "content": [{"type": "tool"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        }});
        let read = read(&signs, &report).expect("it fits everything");
        assert_eq!(
            (read.text.as_deref(), read.id.as_deref(), read.model.as_deref()),
            (Some("a\nb"), Some("m1"), Some("big"))
        );
        assert_eq!(read.usage, Some(Usage { input: 7, output: 2, ..Usage::default() }));
        assert_eq!(super::read(&signs, &json!({})).expect("it fits everything").usage, None);
        assert_eq!(at(&report, "message.content.1.text"), Some(&json!("a")));
        assert_eq!(at(&report, "message.content.9.text"), None);
    }

    #[test]
    fn of_a_list_of_pieces_only_those_that_are_meant_are_the_text() {
        let signs = signs(json!([{
            "is": "replied", "text": "parts",
            "pieces": {"on": {"type": "text"}, "none": ["synthetic"], "after": {"type": "step"}},
        }]));
        let piece = |kind: &str, text: &str| json!({"type": kind, "text": text});
        let parts = [
            piece("step", ""),
            piece("text", "given up"),
            piece("step", ""),
            piece("thought", "hm"),
            piece("text", "a"),
            json!({"type": "text", "text": "not said", "synthetic": true}),
            piece("text", "b"),
        ];
        let text = |parts: &[Value]| read(&signs, &json!({"parts": parts})).expect("it fits everything").text;
        assert_eq!(text(&parts).as_deref(), Some("a\nb"));
        assert_eq!(text(&parts[4..]).as_deref(), Some("a\nb"), "without a step");
        assert_eq!(text(&parts[..1]), None);
    }

    #[test]
    fn what_a_text_begins_with_can_be_asked_for() {
        let signs = signs(json!([{"is": "nothing", "begins": {"prompt": "<note>"}}, {"is": "taken"}]));
        assert_eq!(read(&signs, &json!({"prompt": "<note> x"})).map(|read| read.sign.is), Some(Meaning::Nothing));
        assert_eq!(read(&signs, &json!({"prompt": "x"})).map(|read| read.sign.is), Some(Meaning::Taken));
    }

    #[test]
    fn every_meaning_has_its_word() {
        for meaning in Meaning::ALL {
            assert_eq!(serde_json::to_value(meaning).expect("a word"), json!(meaning.word()));
        }
    }
}
