//! What a program wrote down of one turn: its last words, the model, what it took, and whether it is complete.
//!
//! Read after the program's own report, since it is written behind; and where a report was lost, it is the evidence.
//! Which line means what, the plan says.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::fleet::envelope::Usage;
use crate::fleet::plan::Transcript;
use crate::fleet::signs::{self, Meaning};
use crate::launch::read;

/// How much of the end of a transcript is read.
const END: u64 = 32 * 1024 * 1024;

/// What is written of one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// Its last words.
    pub text: Option<String>,
    /// The model that said them.
    pub model: Option<String>,
    /// What all its messages took.
    pub usage: Option<Usage>,
    /// How it ended, if it did not end well.
    pub end: Option<Meaning>,
    /// Whether everything is written.
    pub complete: bool,
}

/// Reads what is written of the turn whose text holds this mark; nothing if it is not there.
pub(super) fn record(path: &Path, transcript: &Transcript, mark: &str) -> io::Result<Option<Record>> {
    let mut file = read::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    let found = turn_in(&String::from_utf8_lossy(&bytes), transcript, mark);
    // Of a file that is cut the first line names one that is not there.
    let may_miss = usize::from(length > END);
    Ok(found.map(|(record, missing)| Record { complete: record.complete && missing <= may_miss, ..record }))
}

/// Returns what is written of a turn, and how many lines are named and not there.
fn turn_in(text: &str, transcript: &Transcript, mark: &str) -> Option<(Record, usize)> {
    let (lines, missing) = in_order(text, transcript);
    let mut found: Option<Found> = None;
    for line in &lines {
        let Some(read) = signs::read(&transcript.signs, line) else { continue };
        if read.sign.is == Meaning::Taken {
            let Some(text) = &read.text else { continue };
            if text.contains(mark) {
                found = Some(Found { id: read.id.clone(), ..Found::default() });
            } else if let Some(found) = &mut found {
                // What it says to itself inside of the turn has the turn's own name.
                found.over |= read.id.is_none() || read.id != found.id;
            }
            continue;
        }
        let Some(found) = found.as_mut().filter(|found| !found.over) else { continue };
        match read.sign.is {
            Meaning::Said => {
                found.record.text = read.text.clone().or(found.record.text.take());
                found.record.model = read.model.clone().or(found.record.model.take());
                if let (Some(id), Some(usage)) = (&read.id, read.usage) {
                    found.usage.insert(id.clone(), usage);
                    found.context = Some(usage.input + usage.cache_read + usage.cache_write);
                }
            }
            Meaning::Complete => found.record.complete = true,
            end if end.is_end() => {
                found.record.end = Some(end);
                found.record.text = read.text.clone().or(found.record.text.take());
            }
            _ => {}
        }
    }
    found.map(|found| {
        let usage = Usage::sum(found.usage.values()).map(|usage| Usage { context: found.context, ..usage });
        (Record { usage, ..found.record }, missing)
    })
}

#[derive(Default)]
struct Found {
    record: Record,
    id: Option<String>,
    /// A message is told in several lines, each with the figures of all.
    usage: BTreeMap<String, Usage>,
    /// How full the context was at the last message.
    context: Option<u64>,
    /// Another text was taken since.
    over: bool,
}

/// Returns the lines in the order in which they belong, each after the one that it names, and how many are named and not there.
fn in_order(text: &str, transcript: &Transcript) -> (Vec<Value>, usize) {
    // The last line may be half-written; it is read when it is whole.
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let (Some(line), Some(parent)) = (&transcript.line, &transcript.parent) else { return (lines, 0) };
    let name = |value: &Value, path: &str| signs::at(value, path).and_then(Value::as_str).map(str::to_owned);
    let known: BTreeSet<String> = lines.iter().filter_map(|value| name(value, line)).collect();
    let mut after: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let (mut begins, mut missing) = (Vec::new(), BTreeSet::new());
    for (n, value) in lines.iter().enumerate() {
        match name(value, parent) {
            Some(parent) if known.contains(&parent) => after.entry(parent).or_default().push(n),
            parent => {
                begins.push(n);
                missing.extend(parent);
            }
        }
    }
    let mut order = Vec::with_capacity(lines.len());
    let mut next: Vec<usize> = begins.into_iter().rev().collect();
    while let Some(n) = next.pop() {
        order.push(n);
        let following = name(&lines[n], line).and_then(|name| after.remove(&name)).unwrap_or_default();
        next.extend(following.into_iter().rev());
    }
    let mut lines: Vec<Option<Value>> = lines.into_iter().map(Some).collect();
    (order.into_iter().filter_map(|n| lines[n].take()).collect(), missing.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn transcript() -> Transcript {
        let signs = json!([
            {"is": "interrupted", "begins": {"user": "[stopped"}},
            {"is": "taken", "any": ["user"], "text": "user", "id": "turn"},
            {"is": "failed", "on": {"error": true}, "text": "said"},
            {"is": "said", "any": ["said", "id"], "text": "said", "id": "id", "model": "by", "usage": {"input": "in", "output": "out"}},
            {"is": "complete", "on": {"end": true}},
        ]);
        Transcript {
            path: "p".into(),
            line: None,
            parent: None,
            signs: serde_json::from_value(signs).expect("they are signs"),
        }
    }

    fn of(lines: &[Value], mark: &str) -> Option<Record> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        turn_in(&text, &transcript(), mark).map(|(record, _)| record)
    }

    #[test]
    fn a_turn_is_read_from_its_text_to_the_next_one() {
        let lines = [
            json!({"user": "[turn t1] work", "turn": "a"}),
            json!({"said": "not yet", "id": "m1", "by": "big", "in": 5, "out": 1}),
            json!({"id": "m1", "by": "big", "in": 5, "out": 1}),
            json!({"user": "go on", "turn": "a"}),
            json!({"said": "done", "id": "m2", "by": "big", "in": 7, "out": 2}),
            json!({"end": true}),
            json!({"user": "a person's words", "turn": "b"}),
            json!({"said": "to the person", "id": "m3", "in": 100, "out": 100}),
        ];
        let record = of(&lines, "[turn t1]").expect("it is there");
        assert_eq!((record.text.as_deref(), record.model.as_deref()), (Some("done"), Some("big")));
        let usage = Usage { input: 12, output: 3, context: Some(7), ..Usage::default() };
        assert_eq!(record.usage, Some(usage), "a message is counted once, however many lines it has");
        assert!(record.complete && record.end.is_none());
        assert_eq!(of(&lines, "[turn t2]"), None);
        let half = of(&lines[..2], "[turn t1]").expect("it is there");
        assert!(!half.complete && half.text.as_deref() == Some("not yet"));
    }

    #[test]
    fn a_turn_of_which_a_line_is_missing_is_not_complete() {
        let transcript = Transcript { line: Some("is".into()), parent: Some("after".into()), ..transcript() };
        let lines = [
            json!({"user": "[turn t1] work", "is": "a"}),
            json!({"said": "done", "id": "m", "is": "b", "after": "a"}),
            json!({"end": true, "is": "c", "after": "b"}),
        ];
        // A session's first lines come in any order.
        let complete = |order: &[usize]| {
            let text: String = order.iter().map(|n| format!("{}\n", lines[*n])).collect();
            let (record, missing) = turn_in(&text, &transcript, "[turn t1]").expect("it is there");
            record.complete && missing == 0
        };
        assert!(complete(&[0, 1, 2]) && complete(&[2, 1, 0]) && complete(&[1, 0, 2]));
        assert!(!complete(&[0, 2]));
    }

    #[test]
    fn where_no_file_is_nothing_is_waited_for() {
        // The path is what a program reported.
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let pipe = place.path().join("pipe");
        crate::launch::read::tests::pipe(&pipe);
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            assert!(record(path, &transcript(), "[turn t1]").is_err(), "{}", path.display());
        }
    }

    #[test]
    fn an_interrupt_and_a_failure_are_seen() {
        let begin = json!({"user": "[turn t1] work", "turn": "a"});
        let stopped = of(&[begin.clone(), json!({"user": "[stopped by user]"})], "[turn t1]").expect("it is there");
        assert_eq!(stopped.end, Some(Meaning::Interrupted));
        let failed = of(&[begin, json!({"said": "error 500", "error": true})], "[turn t1]").expect("it is there");
        assert_eq!((failed.end, failed.text.as_deref()), (Some(Meaning::Failed), Some("error 500")));
    }
}
