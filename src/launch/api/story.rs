//! What a program's own record says of one turn: whether its text was taken, which answers belong to it, how it ended. Pure:
//! the whole record comes in, and it makes no difference when or how often it is read.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::session::text::{Same, compare, is_marked};
use super::super::session::why_of;
use crate::fleet::envelope::{Finish, Usage};
use crate::fleet::ids::TurnId;
use crate::fleet::plan::Record;
use crate::fleet::signs::{self, Meaning};
use crate::fleet::turn::Outcome;

/// What showed how a turn ended, unless the plan has another word.
const PROOF: &str = "api";
/// The longest entry that is read: parsed, one takes many times its length.
const LONGEST_ENTRY: usize = 8 * 1024 * 1024;
/// The longest name of a model.
const LONGEST_NAME: usize = 200;

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

/// What a turn is known by in a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) turn: TurnId,
    /// Its text, if more of it is known than its first line.
    pub(super) given: Option<&'a str>,
    /// How many entries there were before it was given: they are of other turns, maybe with the same name.
    pub(super) before: usize,
}

/// Returns the entries of a record as they came.
pub(super) fn entries(answer: &str, record: &Record) -> Result<Vec<Box<RawValue>>, String> {
    let wrong = |error: serde_json::Error| format!("its record is no list of entries: {error}");
    let mut at: Box<RawValue> = serde_json::from_str(answer).map_err(wrong)?;
    for name in record.list.iter().flat_map(|path| path.split('.')) {
        let mut table: BTreeMap<String, Box<RawValue>> = serde_json::from_str(at.get()).map_err(wrong)?;
        at = table.remove(name).ok_or_else(|| format!("its record has no {name}"))?;
    }
    serde_json::from_str(at.get()).map_err(wrong)
}

/// Reads what a record says of a turn, entry by entry, since one record may be large. Nothing if its text is not there.
pub(super) fn read(entries: &[Box<RawValue>], record: &Record, wanted: Wanted) -> Option<Story> {
    let same = |text: Option<&str>| match (text, wanted.given) {
        (Some(taken), Some(given)) => compare(given, wanted.turn, taken),
        (Some(taken), None) if is_marked(taken, wanted.turn) => Same::Whole,
        _ => Same::Other,
    };
    // How it was taken, its name, and what came after it.
    let mut begun: Option<(Same, Option<String>, Vec<Answer>, bool)> = None;
    for entry in entries.iter().skip(wanted.before).filter(|entry| entry.get().len() <= LONGEST_ENTRY) {
        let Ok(entry) = serde_json::from_str::<Value>(entry.get()) else { continue };
        let Some(read) = signs::read(&record.signs, &entry) else { continue };
        let how = if read.sign.is == Meaning::Taken { same(read.text.as_deref()) } else { Same::Other };
        match (read.sign.is, &mut begun) {
            (Meaning::Taken, begun) if how != Same::Other => *begun = Some((how, read.id, Vec::new(), false)),
            // Somebody else's words: without names, what follows answers those.
            (Meaning::Taken, Some((.., is_others))) => *is_others = true,
            (Meaning::Nothing | Meaning::Taken, _) | (_, None) => {}
            (meaning, Some((_, name, answers, is_others))) => answers.push(Answer {
                is_own: match (&record.parent, name) {
                    (Some(path), Some(name)) => signs::at(&entry, path).and_then(Value::as_str) == Some(name.as_str()),
                    _ => !*is_others,
                },
                meaning,
                text: read.text.unwrap_or_default(),
                why: read.why,
                model: read.model.filter(|model| model.len() <= LONGEST_NAME),
                usage: read.usage,
            }),
        }
    }
    let (taken, _, answers, _) = begun?;
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

    fn of(said: Value, parent: Option<&str>, given: Option<&str>, before: usize) -> Option<Story> {
        let record = record(parent);
        let entries = entries(&json!({"said": said}).to_string(), &record).expect("it is a record");
        read(&entries, &record, Wanted { turn: TURN, given, before })
    }

    fn told(entries: &[Value]) -> Option<Story> {
        of(json!(entries), Some("of"), Some(TEXT), 0)
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
        let story = of(json!(entries), None, None, 0).expect("it is there");
        assert_eq!(story.end.map(|finish| finish.text.to_string()).as_deref(), Some("mine"));
        let story = of(json!(entries[..1]), None, None, 0).expect("it is there");
        assert_eq!(story.end, None);
    }

    #[test]
    fn a_text_of_which_a_part_was_taken_is_told() {
        let entries = json!([user("1", "[fleet turn t4 from leader]\nwo")]);
        assert_eq!(of(entries, None, Some(TEXT), 0).map(|story| story.taken), Some(Same::Part));
        assert!(entries_of("<html>").is_err() && entries_of("{}").is_err() && entries_of("{\"said\": 1}").is_err());
    }

    fn entries_of(text: &str) -> Result<Vec<Box<RawValue>>, String> {
        entries(text, &record(None))
    }

    #[test]
    fn what_stood_there_before_is_of_another_turn_also_with_the_same_name() {
        let old = [user("1", TEXT), json!({"end": "x", "text": "the old answer"})];
        assert_eq!(of(json!(old), None, Some(TEXT), 2), None);
        let both = [old[0].clone(), old[1].clone(), user("3", TEXT), json!({"end": "x", "text": "the new one"})];
        let text = of(json!(both), None, Some(TEXT), 2).and_then(|story| story.end).map(|end| end.text.to_string());
        assert_eq!(text.as_deref(), Some("the new one"));
        let other = json!([user("1", "[fleet turn t42 from leader]\nwork")]);
        assert_eq!(of(other, None, Some(TEXT), 0), None, "turn 4 is not turn 42");
    }
}
