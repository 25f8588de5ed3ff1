//! What a program's own record says of one turn: whether its text was taken, which answers belong to it, how it ended. Pure:
//! the whole record comes in, and it makes no difference when or how often it is read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::session::text::{Same, compare, mark};
use super::super::session::why_of;
use crate::fleet::envelope::{Finish, Usage};
use crate::fleet::ids::TurnId;
use crate::fleet::plan::Record;
use crate::fleet::signs::{self, Meaning, Read};
use crate::fleet::turn::Outcome;

/// What showed how a turn ended, unless the plan has another word.
const PROOF: &str = "api";

/// What is known of one turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Story {
    /// How what was taken is like what was given.
    pub(super) taken: Same,
    /// How many answers of its model belong to it.
    pub(super) answers: usize,
    /// How it ended, if the last of them may be the last of a turn.
    pub(super) end: Option<Finish>,
}

/// An answer in the record.
struct Answer {
    is_own: bool,
    meaning: Meaning,
    text: String,
    why: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
}

/// Reads what a record says of a turn; `given` is its text, of which maybe only the first line is known. Nothing if its
/// text is not there.
pub(super) fn read(answer: &Value, record: &Record, turn: TurnId, given: Option<&str>) -> Option<Story> {
    let list = match &record.list {
        Some(path) => signs::at(answer, path),
        None => Some(answer),
    };
    let entries = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let reads: Vec<(&Value, Read)> =
        entries.iter().filter_map(|entry| Some((entry, signs::read(&record.signs, entry)?))).collect();
    let same = |read: &Read| match (&read.text, given) {
        (Some(taken), Some(given)) => compare(given, turn, taken),
        (Some(taken), None) if taken.contains(mark(turn).trim_end()) => Same::Whole,
        _ => Same::Other,
    };
    let is_ours = |read: &Read| read.sign.is == Meaning::Taken && same(read) != Same::Other;
    let from = reads.iter().rposition(|(_, read)| is_ours(read))?;
    let (taken, name) = (same(&reads[from].1), reads[from].1.id.clone());
    let mut is_others = false;
    let mut answers: Vec<Answer> = Vec::new();
    for (entry, read) in &reads[from + 1..] {
        match read.sign.is {
            // Somebody else's words: without names, what follows answers those.
            Meaning::Taken => is_others = true,
            Meaning::Nothing => {}
            meaning => answers.push(Answer {
                is_own: match (&record.parent, &name) {
                    (Some(path), Some(name)) => signs::at(entry, path).and_then(Value::as_str) == Some(name.as_str()),
                    _ => !is_others,
                },
                meaning,
                text: read.text.clone().unwrap_or_default(),
                why: read.why.clone(),
                model: read.model.clone(),
                usage: read.usage,
            }),
        }
    }
    let last_own = answers.iter().rposition(|answer| answer.is_own);
    let last = match last_own.map(|n| answers[n].meaning) {
        Some(meaning) if meaning.is_end() => last_own,
        // It works at it.
        Some(Meaning::Said) => None,
        // A later text took it over, or what it was at was summed up in between: whatever came last answers both.
        _ if record.parent.is_some() => answers.iter().rposition(|answer| answer.meaning.is_end()),
        _ => None,
    };
    // An answer that is still being made comes after the one that was thought to be the last.
    let last = last.filter(|last| Some(*last) == last_own || *last + 1 == answers.len());
    let counted = last.or(last_own).map_or(0, |last| last + 1);
    let end = last.map(|last| finish(&answers[..=last], record));
    Some(Story { taken, answers: counted, end })
}

fn finish(answers: &[Answer], record: &Record) -> Finish {
    let Some(last) = answers.last() else { return Finish::without_reply(Outcome::Unknown, "nothing is known of it") };
    let (outcome, why) = match last.meaning {
        Meaning::Replied => (Outcome::Replied, None),
        Meaning::Interrupted => (Outcome::Failed, Some("it was interrupted, and not by an order of fleetd".to_owned())),
        _ => (Outcome::Failed, Some(why_of(last.why.as_deref(), &last.text))),
    };
    let numbered: BTreeMap<usize, Usage> =
        answers.iter().enumerate().filter_map(|(n, answer)| Some((n, answer.usage?))).collect();
    let context = numbered.values().next_back().map(|usage| usage.input + usage.cache_read + usage.cache_write);
    Finish {
        outcome,
        why,
        text: if outcome == Outcome::Replied { last.text.as_str().into() } else { "".into() },
        usage: Usage::sum(numbered.values()).map(|usage| Usage { context, ..usage }),
        model: answers.iter().rev().find_map(|answer| answer.model.clone()),
        proof: Some(record.proof.clone().unwrap_or_else(|| PROOF.into())),
        ..Finish::without_reply(outcome, "")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fleet::plan::Call;

    const TURN: TurnId = TurnId(4);
    const TEXT: &str = "[fleet turn t4 from leader]\nwork";

    fn record(parent: Option<&str>) -> Record {
        let signs = json!([
            {"is": "taken", "on": {"by": "user"}, "text": "text", "id": "id"},
            {"is": "nothing", "any": ["summary"]},
            {"is": "interrupted", "on": {"error": "Aborted"}},
            {"is": "failed", "any": ["error"], "why": "error", "text": "text"},
            {"is": "goes_on", "on": {"end": "tools"}, "usage": {"input": "in", "output": "out"}},
            {"is": "replied", "any": ["end"], "text": "text", "model": "model", "usage": {"input": "in", "output": "out"}},
            {"is": "said"},
        ]);
        Record {
            call: Call::default(),
            list: Some("said".into()),
            parent: parent.map(str::to_owned),
            proof: None,
            signs: serde_json::from_value(signs).expect("they are signs"),
        }
    }

    fn told(entries: &[Value]) -> Option<Story> {
        read(&json!({"said": entries}), &record(Some("of")), TURN, Some(TEXT))
    }

    fn user(id: &str, text: &str) -> Value {
        json!({"by": "user", "id": id, "text": text})
    }

    fn end(entries: &[Value]) -> Option<(Outcome, String)> {
        told(entries)?.end.map(|finish| (finish.outcome, finish.text.to_string()))
    }

    #[test]
    fn a_turn_is_what_answers_its_text() {
        let before =
            [user("u0", "[fleet turn t3 from leader]\nwork"), json!({"of": "u0", "end": "stop", "text": "old"})];
        assert_eq!(told(&before), None, "its text is not there");
        let mut entries = before.to_vec();
        entries.push(user("u1", TEXT));
        assert_eq!(told(&entries), Some(Story { taken: Same::Whole, answers: 0, end: None }));
        entries.push(json!({"of": "u1", "end": "tools", "in": 5, "out": 1}));
        assert_eq!(told(&entries).expect("taken").end, None, "it works on");
        entries.push(json!({"of": "u1", "text": "do"}));
        assert_eq!(told(&entries).expect("taken").end, None, "it is not complete");
        entries.pop();
        entries.push(json!({"of": "u1", "end": "stop", "text": "done", "in": 7, "out": 2, "model": "big"}));
        let story = told(&entries).expect("taken");
        let finish = story.end.expect("it is over");
        assert_eq!((finish.outcome, &*finish.text, finish.model.as_deref()), (Outcome::Replied, "done", Some("big")));
        assert_eq!(finish.usage, Some(Usage { input: 12, output: 3, context: Some(7), ..Usage::default() }));
        assert_eq!((finish.proof.as_deref(), story.answers), (Some("api"), 2));
        // A person's next words change nothing.
        entries
            .extend([user("u2", "and more?"), json!({"of": "u2", "end": "stop", "text": "to the person", "in": 100})]);
        assert_eq!(end(&entries), Some((Outcome::Replied, "done".into())));
    }

    #[test]
    fn a_later_text_that_takes_a_turn_over_answers_it() {
        let mut entries = vec![user("u1", TEXT), json!({"of": "u1", "end": "tools"}), user("u2", "and this")];
        assert_eq!(end(&entries), None);
        entries.push(json!({"of": "u2", "text": "bo"}));
        assert_eq!(end(&entries), None);
        entries[3] = json!({"of": "u2", "end": "stop", "text": "both"});
        assert_eq!(end(&entries), Some((Outcome::Replied, "both".into())));
        entries.push(json!({"of": "u3", "text": "mo"}));
        assert_eq!(end(&entries), None, "it is at something after it");
    }

    #[test]
    fn a_summary_in_between_is_no_answer() {
        let entries = [
            user("u1", TEXT),
            json!({"of": "u1", "end": "stop", "text": "the answer"}),
            json!({"summary": true, "end": "stop", "text": "summed up"}),
            user("u2", "Continue if you have next steps"),
            json!({"of": "u2", "end": "stop", "text": "nothing more"}),
        ];
        assert_eq!(end(&entries), Some((Outcome::Replied, "the answer".into())));
        let taken_over = [entries[0].clone(), entries[2].clone(), entries[3].clone(), entries[4].clone()];
        assert_eq!(end(&taken_over), Some((Outcome::Replied, "nothing more".into())));
    }

    #[test]
    fn failures_say_why_and_an_interrupt_is_one() {
        let failed = told(&[user("u1", TEXT), json!({"of": "u1", "error": "APIError", "text": "error 400"})]);
        let finish = failed.and_then(|story| story.end).expect("it failed");
        assert_eq!((finish.outcome, finish.why.as_deref()), (Outcome::Failed, Some("APIError: error 400")));
        let stopped = told(&[user("u1", TEXT), json!({"of": "u1", "error": "Aborted"})]).and_then(|story| story.end);
        assert!(stopped.and_then(|finish| finish.why).is_some_and(|why| why.contains("interrupted")));
    }

    #[test]
    fn where_answers_name_nothing_the_next_text_ends_a_turn() {
        let entries = [
            user("1", TEXT),
            json!({"end": "x", "text": "mine"}),
            user("3", "me too"),
            json!({"end": "x", "text": "yours"}),
        ];
        let story = read(&json!({"said": entries}), &record(None), TURN, None).expect("it is there");
        assert_eq!(story.end.map(|finish| finish.text.to_string()).as_deref(), Some("mine"));
        let story = read(&json!({"said": entries[..1]}), &record(None), TURN, None).expect("it is there");
        assert_eq!(story.end, None);
    }

    #[test]
    fn a_text_of_which_a_part_was_taken_is_told() {
        let entries = json!({"said": [user("1", "[fleet turn t4 from leader]\nwo")]});
        assert_eq!(read(&entries, &record(None), TURN, Some(TEXT)).map(|story| story.taken), Some(Same::Part));
        assert_eq!(read(&json!("<html>"), &record(None), TURN, Some(TEXT)), None);
    }
}
