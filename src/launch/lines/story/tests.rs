//! A turn's story, told by lines that were recorded from a real program and by made-up ones.
//! What the lines mean is said by signs, as a launcher would.

use serde_json::{Value, json};

use super::*;
use crate::fleet::signs::{self, Sign};

fn signs() -> Vec<Sign> {
    let usage = json!({
        "input": "usage.input_tokens", "output": "usage.output_tokens", "cost_so_far": "total_cost_usd",
        "cache_read": "usage.cache_read_input_tokens", "cache_write": "usage.cache_creation_input_tokens",
    });
    let rules = json!([
        {"is": "taken", "on": {"type": "user", "isReplay": true}, "text": "message.content"},
        {"is": "interrupted", "on": {"type": "result", "subtype": "error_during_execution"}},
        {"is": "failed", "on": {"type": "result", "is_error": true}, "text": "result", "why": "api_error_status", "usage": usage},
        {"is": "replied", "on": {"type": "result"}, "text": "result", "usage": usage},
        {"is": "retrying", "on": {"type": "system", "subtype": "api_retry"}, "why": "error"},
        {"is": "said", "on": {"type": "assistant"}, "id": "message.id", "model": "message.model",
         "usage": {"input": "message.usage.input_tokens"}},
    ]);
    serde_json::from_value(rules).expect("they are signs")
}

/// Tells the lines and returns what was heard but that nothing followed, and what the session had cost at the end.
fn tell(story: &mut Story, lines: &[Value], cost: f64) -> (Vec<Heard>, f64) {
    let signs = signs();
    let (mut heard, mut cost) = (Vec::new(), cost);
    for line in lines {
        let Some(read) = signs::read(&signs, line) else { continue };
        heard.push(story.hear(&read));
        cost = read.cost_so_far.unwrap_or(cost);
    }
    heard.retain(|one| *one != Heard::Nothing);
    (heard, cost)
}

fn recorded() -> Vec<Value> {
    let lines = include_str!("../../../../tests/data/lines/session.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn over(heard: &[Heard]) -> &Finish {
    match heard.last() {
        Some(Heard::Over(finish)) => finish,
        other => panic!("not over: {other:?}"),
    }
}

#[test]
fn each_recorded_turn_is_found_by_its_text_however_often_it_is_read() {
    let lines = recorded();
    let story = |text: &str| Story::new(TurnId(1), Some(text.into()), 0.0, true);
    for _ in 0..2 {
        let (heard, _) = tell(&mut story("SAY:first"), &lines[..6], 0.0);
        assert_eq!(heard[..2], [Heard::Taken, Heard::Said]);
        let finish = over(&heard);
        assert_eq!(
            (finish.outcome, &*finish.text, finish.model.as_deref()),
            (Outcome::Replied, "first", lines[4]["message"]["model"].as_str())
        );
        let usage = finish.usage.expect("it is told");
        assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (526, 7, 30, 20));
    }
    let at = |what: &str| lines.iter().position(|line| line.to_string().contains(what)).expect("it is there");
    let bb = at("\"SAY:bb\"");
    let (heard, _) = tell(&mut story("SAY:bb"), &lines[at("SLEEP:2|SAY:aa")..=bb + 2], 0.0);
    assert_eq!(&*over(&heard).text, "bb", "the end of the turn before is not its own");
    let stopped = at("SLEEP:20|SAY:long");
    let (heard, _) = tell(&mut story("SLEEP:20|SAY:long"), &lines[stopped..stopped + 3], 0.0);
    let finish = over(&heard);
    assert_eq!(
        (finish.outcome, finish.why.as_deref()),
        (Outcome::Failed, Some("it broke off in the middle, and not by an order of fleetd"))
    );
    let failed = at("ERR:400:invalid_request_error");
    let (heard, _) = tell(&mut story("ERR:400:invalid_request_error"), &lines[failed..failed + 3], 0.0);
    let finish = over(&heard);
    assert_eq!(finish.why.as_deref(), Some("400: API Error: 400 stub invalid_request_error"));
    assert_eq!((finish.outcome, &*finish.text), (Outcome::Failed, ""));
}

#[test]
fn what_a_turn_cost_is_what_the_session_cost_more() {
    let lines = recorded();
    let (_, before) = tell(&mut Story::new(TurnId(1), None, 0.0, true), &lines[..6], 0.0);
    let text = "TOOL:mcp__fleet__echo:{\"text\":\"z\"}";
    let mut story = Story::new(TurnId(1), Some(text.into()), before, true);
    let (heard, after) = tell(&mut story, &lines[6..12], before);
    let cost = over(&heard).usage.expect("it is told").cost.expect("it is told");
    assert!(before > 0.0 && (cost - (after - before)).abs() < 1e-9, "{before} {cost} {after}");
}

#[test]
fn another_text_and_a_part_of_ours_are_told_apart() {
    let echo = |text: &str| json!({"type": "user", "isReplay": true, "message": {"content": text}});
    let given = "[fleet turn t1 from leader]\nwork on\nthis";
    let story = || Story::new(TurnId(1), Some(given.into()), 0.0, true);
    assert_eq!(tell(&mut story(), &[echo("a person's words")], 0.0).0, []);
    assert_eq!(tell(&mut story(), &[echo("[fleet turn t1 from leader]\nwork")], 0.0).0, [Heard::Cut]);
    assert_eq!(tell(&mut story(), &[echo(given), echo(given)], 0.0).0, [Heard::Taken], "it is told once");
    let mut unknown = Story::new(TurnId(1), None, 0.0, true);
    assert_eq!(tell(&mut unknown, &[echo(given)], 0.0).0, [Heard::Taken], "by its first line");
}

#[test]
fn a_message_in_several_lines_is_counted_once_where_the_end_tells_no_figures() {
    let said =
        |id: &str, input: u64| json!({"type": "assistant", "message": {"id": id, "usage": {"input_tokens": input}}});
    let end = json!({"type": "result", "result": "done"});
    let mut story = Story::new(TurnId(1), None, 0.0, false);
    let retry = json!({"type": "system", "subtype": "api_retry", "error": "overloaded"});
    let (heard, _) = tell(&mut story, &[said("m1", 5), said("m1", 5), retry, said("m2", 7), end], 0.0);
    assert_eq!(heard[2], Heard::Retrying("overloaded".into()));
    assert_eq!(over(&heard).usage, Some(Usage { input: 12, context: Some(7), ..Usage::default() }));
}
