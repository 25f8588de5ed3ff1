//! The steps of a run as a tree: each below the part of the run that it belongs to, with its turn, and the runs below it.
//! Only drawing: a long run is cut to its last steps, and ages are told from a moment that is handed in.

use std::collections::HashMap;

use super::table::Column;
use super::timeline::after;
use super::{Look, one_line, safe};
use crate::engine::requests::{Replayed, ReplayedFrom, ReplayedTo, RunDetail, StepTurn};
use crate::fleet::envelope::Usage;
use crate::fleet::ids::{RunId, TurnId};
use crate::fleet::run::Step;
use crate::fleet::time::{Span, Time};

/// How many steps are drawn; the last ones matter most.
const STEPS: usize = 40;

/// Draws the steps of a run; `below` are the runs that steps began, as far as they are known.
pub fn tree(detail: &RunDetail, below: &HashMap<RunId, RunDetail>, now: Time, look: &Look) -> Vec<String> {
    drawn(detail, below, "  ", now, look)
}

fn drawn(detail: &RunDetail, below: &HashMap<RunId, RunDetail>, indent: &str, now: Time, look: &Look) -> Vec<String> {
    let mut out = Vec::new();
    let left_out = detail.steps.len().saturating_sub(STEPS);
    if left_out > 0 {
        out.push(look.dim(&format!("{indent}{} {left_out} earlier steps: --json", look.cut())));
    }
    let turns: HashMap<TurnId, &StepTurn> = detail.turns.iter().map(|turn| (turn.turn, turn)).collect();
    let shown = &detail.steps[left_out..];
    let started = detail.result.run.started;
    // In a run that has ended nothing goes on.
    let until_now = detail.result.run.outcome.is_none().then_some(now);
    let width = shown.iter().map(|step| after(step.began, started).len()).max().unwrap_or(0);
    let mut place: Vec<&str> = Vec::new();
    for step in in_place(shown) {
        let segments: Vec<&str> = step.path.as_str().split('.').collect();
        let (parts, own) = segments.split_at(segments.len() - 1);
        // A heading for each part that this step is the first of.
        let same = place.iter().zip(parts).take_while(|(a, b)| a == b).count();
        for (depth, part) in parts.iter().enumerate().skip(same) {
            out.push(format!("{indent}{}{}", " ".repeat(width + 1 + 2 * depth), look.dim(&safe(part))));
        }
        place = parts.to_vec();
        let begin =
            format!("{indent}{:>width$} {}{} ", after(step.began, started), "  ".repeat(parts.len()), mark(step, look));
        let turn = step.turn.and_then(|turn| turns.get(&turn).copied());
        let room = look.width.saturating_sub(indent.len() + width + 3 + 2 * parts.len()).max(12);
        let own = own.first().copied().unwrap_or_default();
        out.push(begin + &one_line(&text(step, own, turn, until_now), room, look));
        if let Some(child) = step.child.and_then(|child| below.get(&child)) {
            let indent = format!("{indent}{}", " ".repeat(width + 3 + 2 * parts.len()));
            out.push(format!(
                "{indent}{}",
                one_line(&super::run::line(&child.result.run, Some(now), look), look.width, look)
            ));
            out.extend(drawn(child, below, &format!("{indent}  "), now, look));
        }
    }
    out
}

/// Returns the steps so that those of one part stand together, parts in the order in which they began.
fn in_place(steps: &[Step]) -> Vec<&Step> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (n, step) in steps.iter().enumerate() {
        let path = step.path.as_str();
        for (at, _) in path.match_indices('.') {
            first.entry(&path[..at]).or_insert(n);
        }
    }
    let key = |n: usize, step: &Step| -> Vec<usize> {
        let path = step.path.as_str();
        let above = path.match_indices('.').map(|(at, _)| first.get(&path[..at]).copied().unwrap_or(n));
        above.chain([n]).collect()
    };
    let mut placed: Vec<(Vec<usize>, &Step)> = steps.iter().enumerate().map(|(n, step)| (key(n, step), step)).collect();
    placed.sort_by(|(a, _), (b, _)| a.cmp(b));
    placed.into_iter().map(|(_, step)| step).collect()
}

/// Says what a step is and how it stands; without `now` it stands still if it is not finished.
fn text(step: &Step, own: &str, turn: Option<&StepTurn>, now: Option<Time>) -> String {
    let mut out = own.to_owned();
    if let Some(turn) = step.turn {
        out += &format!(" {turn}");
    }
    match turn {
        Some(turn) => {
            let worker = turn.worker.as_ref().map(|worker| format!(" {worker}")).unwrap_or_default();
            out += &match turn.outcome {
                Some(outcome) => format!("{worker} {} in {}", outcome.word(), Span(turn.age_ms)),
                None => format!("{worker} {} for {}", turn.state.word(), Span(turn.age_ms)),
            };
            out += &turn.usage.as_ref().map(|usage| format!(", {}", used(usage))).unwrap_or_default();
            if let Some(waits) = &turn.waits {
                out += &format!(", {waits}");
            }
        }
        None if step.seq.is_none() => {
            out += &step.child.map(|child| format!(" {child}")).unwrap_or_default();
            out += &match (now, step.until, step.child) {
                (None, _, _) => " not finished".to_owned(),
                (Some(now), Some(until), _) => format!(" for {} more", until.since(now)),
                (Some(_), None, Some(_)) => String::new(),
                (Some(now), None, None) => format!(" for {}", now.since(step.began)),
            };
        }
        None => out += &step.child.map(|child| format!(" {child}")).unwrap_or_default(),
    }
    if !step.what.is_empty() {
        out += &format!(": {}", step.what);
    }
    format!("{out} ({})", step.at)
}

/// Draws what turns used.
pub fn used(usage: &Usage) -> String {
    let tokens = usage.tokens();
    let tokens = if tokens >= 10_000 { format!("{}k tokens", tokens / 1_000) } else { format!("{tokens} tokens") };
    match usage.cost {
        Some(cost) => format!("{tokens}, ${cost:.2}"),
        None => tokens,
    }
}

fn mark(step: &Step, look: &Look) -> &'static str {
    match (step.seq.is_some(), look.unicode) {
        (true, true) => "●",
        (true, false) => "*",
        (false, true) => "○",
        (false, false) => "o",
    }
}

/// Draws a replay: where it came to, and with `explain` each step.
pub fn replay(replayed: &Replayed, explain: bool, look: &Look) -> String {
    const COLUMNS: &[Column] =
        &[Column::new("FROM", 9), Column::new("STEP", 8), Column::new("AT", 7), Column::new("WHAT", 4).bends()];
    let word = |from: ReplayedFrom| match from {
        ReplayedFrom::Journal => "journal",
        ReplayedFrom::Open => "open",
        ReplayedFrom::New => "new",
        ReplayedFrom::NotReached => "not reached",
    };
    let mut out = Vec::new();
    if explain && !replayed.steps.is_empty() {
        let rows: Vec<Vec<String>> = replayed
            .steps
            .iter()
            .map(|step| {
                let value = step.value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
                let what = safe(&format!("{}{value}", step.what)).replace('\n', " ");
                vec![
                    word(step.from).to_owned(),
                    safe(step.path.as_str()).into_owned(),
                    safe(&step.at).into_owned(),
                    what,
                ]
            })
            .collect();
        out.push(super::table::draw(look, COLUMNS, &rows));
    }
    let count = |from: ReplayedFrom| replayed.steps.iter().filter(|step| step.from == from).count();
    let (journal, left) = (count(ReplayedFrom::Journal), count(ReplayedFrom::NotReached));
    let to = match replayed.to {
        ReplayedTo::Ended => "the recipe returns".to_owned(),
        ReplayedTo::Waits => {
            format!("it would go on: {} under way, {} to be begun", count(ReplayedFrom::Open), count(ReplayedFrom::New))
        }
        ReplayedTo::Diverged => "it stops: code and journal do not fit".to_owned(),
        ReplayedTo::Failed => "its code fails".to_owned(),
    };
    let of = if left > 0 { format!(" of {}", journal + left) } else { String::new() };
    let charter = format!("charter generation {}", replayed.charter.number);
    out.push(format!(
        "{} by {charter}: {journal}{of} steps from the journal, then {to}",
        look.bold(&replayed.run.to_string())
    ));
    if let Some(why) = &replayed.why {
        out.push(safe(why).into_owned());
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    #[test]
    fn steps_stand_below_their_parts_with_their_turns_and_the_runs_below_them() {
        let run = json!({
            "id": "r3", "recipe": "hunt", "owner": "operator", "generation": {"number": 1, "hash": "x"}, "started": 1000,
            "finished_steps": 2, "sent": 8, "settled": 5, "value": null
        });
        let step = |path: &str, verb: &str, what: &str, more: serde_json::Value| {
            let mut step = json!({"run": "r3", "path": path, "verb": verb, "hash": "x", "what": what, "at": "hunt.lua:7", "began": 1_012});
            for (name, value) in more.as_object().expect("fields") {
                step[name] = value.clone();
            }
            step
        };
        let mut shown = run.clone();
        shown["steps"] = json!([
            step("now#1", "now", "", json!({"seq": 0})),
            step("each#1[1].send#1", "send", "to w: look at a", json!({"turn": "t4", "seq": 1})),
            step("each#1[2].send#1", "send", "to w: look at b", json!({"turn": "t5"})),
            step("each#1[1].race#1[2].sleep#1", "sleep", "5m", json!({"until": 9_000})),
            step("recipe#1", "recipe", "check {}", json!({"child": "r9"})),
        ]);
        shown["turns"] = json!([
            {"turn": "t4", "state": "collected", "outcome": "replied", "worker": "w-1", "age_ms": 3_100,
             "usage": {"input": 12_000, "output": 400, "cache_read": 0, "cache_write": 0, "cost": 0.12}},
            {"turn": "t5", "state": "queued", "age_ms": 500, "waits": "cap: 1 of 1 workers of 'w' are busy"},
        ]);
        let mut below = run;
        (below["id"], below["recipe"]) = (json!("r9"), json!("check"));
        below["steps"] = json!([step("progress#1", "progress", "half", json!({"seq": 0}))]);
        let (shown, below): (RunDetail, RunDetail) =
            (serde_json::from_value(shown).expect("a run"), serde_json::from_value(below).expect("a run"));
        let below = HashMap::from([(RunId(9), below)]);
        insta::assert_snapshot!(tree(&shown, &below, Time(5_000), &plain(100)).join("\n"), @r#"
          +12ms ● now#1 (hunt.lua:7)
                each#1[1]
          +12ms   ● send#1 t4 w-1 replied in 3.1s, 12k tokens, $0.12: to w: look at a (hunt.lua:7)
                  race#1[2]
          +12ms     ○ sleep#1 for 4s more: 5m (hunt.lua:7)
                each#1[2]
          +12ms   ○ send#1 t5 queued for 500ms, cap: 1 of 1 workers of 'w' are busy: to w: look at b (hunt.…
          +12ms ○ recipe#1 r9: check {} (hunt.lua:7)
                  r9 · check · running for 4s · 5/8 turns
                    +12ms ● progress#1: half (hunt.lua:7)
        "#);
    }

    #[test]
    fn what_a_run_that_has_ended_left_open_does_not_go_on() {
        let step = |path: &str, verb: &str, more: serde_json::Value| {
            let mut step = json!({"run": "r3", "path": path, "verb": verb, "hash": "x", "what": "", "at": "hunt.lua:7", "began": 1_012});
            for (name, value) in more.as_object().expect("fields") {
                step[name] = value.clone();
            }
            step
        };
        let shown: RunDetail = serde_json::from_value(json!({
            "id": "r3", "recipe": "hunt", "owner": "operator", "generation": {"number": 1, "hash": "x"}, "started": 1000,
            "finished_steps": 1, "sent": 0, "settled": 0, "value": null, "outcome": "cancelled", "ended": 2_000,
            "steps": [
                step("now#1", "now", json!({"seq": 0})), step("sleep#1", "sleep", json!({"until": 3_600_000})),
                step("ask_leader#1", "ask_leader", json!({})), step("recipe#1", "recipe", json!({"child": "r9"})),
                step("send#1", "send", json!({"turn": "t5"})),
            ],
            "turns": [{"turn": "t5", "state": "collected", "outcome": "cancelled", "worker": "w-1", "age_ms": 500}],
        }))
        .expect("a run");
        insta::assert_snapshot!(tree(&shown, &HashMap::new(), Time(5_000), &plain(100)).join("\n"), @r#"
          +12ms ● now#1 (hunt.lua:7)
          +12ms ○ sleep#1 not finished (hunt.lua:7)
          +12ms ○ ask_leader#1 not finished (hunt.lua:7)
          +12ms ○ recipe#1 r9 not finished (hunt.lua:7)
          +12ms ○ send#1 t5 w-1 cancelled in 500ms (hunt.lua:7)
        "#);
    }

    #[test]
    fn a_replay_says_where_it_stops_and_why() {
        let replayed: Replayed = serde_json::from_value(json!({
            "run": "r3", "charter": {"number": 4, "hash": "x"}, "to": "diverged",
            "why": "divergence: the journal says that send#2 was run:send (a) at r.lua:9, but the code came to run:send (b) at r.lua:11",
            "steps": [
                {"path": "send#1", "verb": "send", "what": "to w: x", "at": "r.lua:8", "from": "journal", "value": "{\"ok\":true}"},
                {"path": "send#2", "verb": "send", "what": "to w: a", "at": "r.lua:9", "from": "not_reached", "value": "{}"}
            ]
        }))
        .expect("a replay");
        insta::assert_snapshot!(replay(&replayed, true, &plain(80)), @r#"
        FROM         STEP    AT       WHAT
        journal      send#1  r.lua:8  to w: x = {"ok":true}
        not reached  send#2  r.lua:9  to w: a = {}
        r3 by charter generation 4: 1 of 2 steps from the journal, then it stops: code and journal do not fit
        divergence: the journal says that send#2 was run:send (a) at r.lua:9, but the code came to run:send (b) at r.lua:11
        "#);
        insta::assert_snapshot!(replay(&replayed, false, &plain(200)), @r#"
        r3 by charter generation 4: 1 of 2 steps from the journal, then it stops: code and journal do not fit
        divergence: the journal says that send#2 was run:send (a) at r.lua:9, but the code came to run:send (b) at r.lua:11
        "#);
    }
}
