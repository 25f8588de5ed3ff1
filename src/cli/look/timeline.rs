//! A turn's receipt as a time line: what happened, how long after its acceptance, and what it waits for now.
//! The daemon's own moments are compared with each other only; this machine's clock has no part in it.

use console::Style;

use super::answer::stderr_end;
use super::{Look, one_line, safe, wrap};
use crate::engine::requests::Trace;
use crate::fleet::routing::Asked;
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::{Priority, Turn, TurnState};

/// Draws a trace.
pub fn draw(trace: &Trace, look: &Look) -> String {
    let turn = &trace.turn.turn;
    let mut out = vec![head(turn, trace, look)];
    out.extend(facts(turn).into_iter().map(|fact| wrap(&safe(&fact), look.width, "  ")));
    let marks = marks(trace);
    let spans: Vec<String> = marks.iter().map(|mark| after(mark.at, turn.accepted)).collect();
    let width = spans.iter().map(String::len).max().unwrap_or(0);
    let words = marks.iter().map(|mark| mark.word.len()).max().unwrap_or(0);
    for (n, (mark, span)) in marks.iter().zip(&spans).enumerate() {
        let sign = sign(mark, n + 1 == marks.len() && !turn.state.is_settled(), look);
        let begin = format!("  {span:>width$} {sign} ");
        // Padded before it is coloured: a colour has no width.
        let word = look.state(mark.word) + &" ".repeat(words - mark.word.len());
        let room = look.width.saturating_sub(width + words + 7).max(12);
        out.push(format!("{begin}{word}  {}", one_line(&mark.note, room, look)).trim_end().to_string());
    }
    if let Some(waits) = &trace.turn.waits {
        let mut line = format!("waits {}: {waits}", Span(trace.turn.age_ms));
        if let Some(ahead) = trace.turn.ahead {
            line += &format!("; {ahead} ahead");
        }
        out.push(wrap(&safe(&line), look.width, "  "));
    }
    out.extend(trace.stderr.as_deref().and_then(|stderr| stderr_end(stderr, "  ")));
    for question in &turn.questions {
        out.push(format!("  answer: fleetd reply {question} TEXT"));
    }
    out.join("\n")
}

struct Mark {
    at: Time,
    state: Option<TurnState>,
    word: &'static str,
    note: String,
}

/// Returns the stamps of the receipt, and between them those events that tell something more.
fn marks(trace: &Trace) -> Vec<Mark> {
    let turn = &trace.turn.turn;
    let mut marks: Vec<Mark> = Vec::new();
    for stamp in &turn.receipt {
        let mut note = stamp.note.clone().unwrap_or_default();
        // Why it ended so stands above, with room for all of it.
        if let (TurnState::Settled, Some(why)) = (stamp.state, &turn.why)
            && let Some(outcome) = note.strip_suffix(why.as_str()).and_then(|rest| rest.strip_suffix(": "))
        {
            note = outcome.to_string();
        }
        marks.push(Mark { at: stamp.at, state: Some(stamp.state), word: stamp.state.word(), note });
    }
    for event in &trace.events {
        if !turn.receipt.iter().any(|stamp| stamp.at == event.at) {
            marks.push(Mark { at: event.at, state: None, word: "", note: event.what.clone() });
        }
    }
    // Stable: what happened in the same millisecond stays in its order.
    marks.sort_by_key(|mark| mark.at);
    marks
}

fn head(turn: &Turn, trace: &Trace, look: &Look) -> String {
    let took = turn.at(TurnState::Settled).map(|at| at.since(turn.accepted));
    let state = match (turn.outcome, took) {
        (Some(outcome), Some(took)) => format!("{} in {took}", look.state(outcome.word())),
        _ => format!("{} for {}", look.state(turn.state.word()), Span(trace.turn.age_ms)),
    };
    let worker = turn.worker.as_ref().map(|worker| format!(" ({worker})")).unwrap_or_default();
    let way = format!("{} {} {}{worker}", turn.sender, look.arrow(), turn.to);
    [look.bold(&turn.id.to_string()), state, safe(&way).into_owned()].join(look.dot())
}

fn facts(turn: &Turn) -> Vec<String> {
    let mut facts = Vec::new();
    let mut first = vec![format!("prompt {}", bytes(turn.prompt_bytes))];
    first.extend(turn.kind.as_ref().map(|kind| format!("kind {kind}")));
    first.extend((turn.priority == Priority::Now).then(|| "goes first".to_string()));
    first.extend(turn.step.as_ref().map(|step| format!("step {} of {}", step.path, step.run)));
    first.extend(turn.retry_of.map(|other| format!("tries {other} again")));
    first.extend(turn.key.as_ref().map(|key| format!("key {key}")));
    first.push(format!("charter generation {}", turn.generation));
    facts.push(first.join(", "));
    facts.extend((!turn.files.is_empty()).then(|| format!("about {}", turn.files.join(", "))));
    facts.extend(turn.why.as_ref().map(|why| format!("why: {why}")));
    if let Some(routed) = &turn.routed {
        facts.push(format!("routed by the rubrics of generation {}:", routed.generation));
        let word = |one: &Asked| if one.verdict.is_fault() { " (skipped)" } else { "" };
        facts
            .extend(routed.asked.iter().map(|one| format!("- {}{}: {}", one.rubric, word(one), first_line(&one.said))));
    }
    facts
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn sign(mark: &Mark, last: bool, look: &Look) -> String {
    let (sign, plain) = match mark.state {
        None => ("·", "."),
        Some(_) if last => ("○", "o"),
        Some(_) => ("●", "*"),
    };
    let sign = if look.unicode { sign } else { plain };
    match mark.state {
        Some(TurnState::Asking) => look.paint(Style::new().yellow(), sign),
        Some(_) => look.paint(Style::new().cyan(), sign),
        None => look.dim(sign),
    }
}

/// Returns how long after the begin something was, with its sign.
pub fn after(at: Time, begin: Time) -> String {
    match at.since(begin) {
        Span(0) => "0ms".to_string(),
        span => format!("+{span}"),
    }
}

/// Returns a number of bytes for people.
pub fn bytes(n: u64) -> String {
    match n {
        n if n < 1024 => format!("{n} B"),
        n if n < 1024 * 1024 => format!("{:.1} KiB", n as f64 / 1024.0),
        n => format!("{:.1} MiB", n as f64 / (1024.0 * 1024.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    fn trace(more: serde_json::Value) -> Trace {
        let mut trace = json!({
            "id": "t17", "sender": "operator", "to": {"role": "w-local"}, "because": "bulk goes local",
            "kind": "bulk", "prompt_bytes": 2048, "prompt_of": "t17", "accepted": 1_000_000, "generation": 3,
            "state": "settled", "worker": "w-local-2", "outcome": "replied", "age_ms": 0,
            "receipt": [
                {"at": 1_000_000, "state": "queued", "note": "routed: bulk goes local"},
                {"at": 1_000_012, "state": "handed", "note": "to w-local-2"},
                {"at": 1_000_015, "state": "submitted", "note": "pid 4711"},
                {"at": 1_000_015, "state": "working"},
                {"at": 1_061_240, "state": "settled", "note": "replied"}
            ],
            "events": [
                {"at": 1_000_000, "turn": "t17", "what": "accepted from operator for w-local"},
                {"at": 1_030_000, "turn": "t17", "what": "its worker is still alive"}
            ]
        });
        let fields = trace.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        serde_json::from_value(trace).expect("a trace")
    }

    #[test]
    fn a_settled_turn_is_a_line_for_each_thing_that_happened() {
        insta::assert_snapshot!(draw(&trace(json!({})), &plain(80)), @"
        t17 · replied in 1m01s · operator → w-local (w-local-2)
          prompt 2.0 KiB, kind bulk, charter generation 3
             0ms ● queued     routed: bulk goes local
           +12ms ● handed     to w-local-2
           +15ms ● submitted  pid 4711
           +15ms ● working
            +30s ·            its worker is still alive
          +1m01s ● settled    replied
        ");
    }

    #[test]
    fn an_open_turn_says_what_it_waits_for() {
        let open = json!({
            "state": "queued", "outcome": null, "worker": null, "age_ms": 4_200, "waits": "cap: 2 of 2 workers of 'w-local' are busy",
            "ahead": 3, "receipt": [{"at": 1_000_000, "state": "queued"}], "events": []
        });
        insta::assert_snapshot!(draw(&trace(open), &plain(40)), @"
        t17 · queued for 4.2s · operator → w-local
          prompt 2.0 KiB, kind bulk, charter
          generation 3
          0ms ○ queued
          waits 4.2s: cap: 2 of 2 workers of
          'w-local' are busy; 3 ahead
        ");
    }

    #[test]
    fn a_failed_turn_says_why_once_and_shows_the_end_of_its_stderr() {
        let failed = json!({
            "outcome": "failed", "why": "exit 3", "stderr": "cannot open x\n", "events": [],
            "receipt": [{"at": 1_000_000, "state": "queued"}, {"at": 1_000_040, "state": "settled", "note": "failed: exit 3"}]
        });
        insta::assert_snapshot!(draw(&trace(failed), &plain(80)), @"
        t17 · failed in 40ms · operator → w-local (w-local-2)
          prompt 2.0 KiB, kind bulk, charter generation 3
          why: exit 3
            0ms ● queued
          +40ms ● settled  failed
          the end of its stderr:
            cannot open x
        ");
    }

    #[test]
    fn a_terminal_without_unicode_gets_none() {
        let ascii = Look { unicode: false, ..plain(60) };
        assert!(draw(&trace(json!({})), &ascii).is_ascii());
    }
}
