//! The bounds of a run: what its deadline and its budget end, and how the run comes to its end with what it has.
//! Its code is played by hand: it may go on, or not come back.

use std::sync::Arc;

use fleetd::fleet::bounds::RunBudget;
use fleetd::fleet::envelope::{Finish, Usage};
use fleetd::fleet::ids::{RunId, TurnId};
use fleetd::fleet::input::{Effect, Input, Sighting};
use fleetd::fleet::run::{RunEffect, RunOutcome, StepRecipe, StepRequest, StepSend};
use fleetd::fleet::shape::Shape;
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::Outcome;
use serde_json::json;

use super::fleet_stage::{Stage, finish, part, team};

fn end(stage: &Stage, run: RunId) -> (Option<RunOutcome>, Option<String>) {
    let row = stage.fleet.run(run).expect("not collected");
    (row.outcome, row.why.clone())
}

fn with_budget(budget: RunBudget) -> Stage {
    let mut stage = Stage::bare();
    let mut team = (*team(1, 2)).clone();
    team.recipes.get_mut(&"r".into()).expect("it is there").budget = Some(budget);
    stage.step(Input::Team(Arc::new(team)));
    stage
}

#[test]
fn at_its_deadline_the_open_steps_of_a_run_end_and_its_code_goes_on_with_that() {
    let mut stage = Stage::with(1);
    let run = stage.runs(Some(Span::seconds(20)));
    stage.reach(run, "each#1[1].send#1", part("w", None, 3));
    stage.reach(run, "each#1[2].send#1", part("w", None, 3));
    stage.reach(run, "each#1[3].sleep#1", StepRequest::Sleep(Span::minutes(9)));
    stage.reach(run, "each#1[4].ask_leader#1", StepRequest::Ask("go on?".into()));
    stage.taken(TurnId(2));
    stage.restart();
    stage.after(Span::seconds(20));
    let answered = stage.answered(run);
    let words: Vec<_> = answered.iter().map(|(path, value)| (path.as_str(), value["error"].as_str())).collect();
    let timed_out = Some("timed_out");
    assert_eq!(
        words,
        [
            ("each#1[1].send#1", timed_out),
            ("each#1[2].send#1", Some("busy")),
            ("each#1[3].sleep#1", None),
            ("each#1[4].ask_leader#1", None)
        ],
        "nothing is tried again"
    );
    assert_eq!(stage.mail(None, 9).0.len(), 0, "its question is withdrawn");
    stage.reach(run, "send#1", part("w", None, 0));
    let [(_, refused)] = &stage.answered(run)[..] else { panic!("answered at once") };
    assert_eq!(
        (&refused["ok"], &refused["error"], &refused["why"]),
        (&json!(false), &json!("timed_out"), &json!("not ended within 20s"))
    );
    stage.reach(run, "sleep#1", StepRequest::Sleep(Span::minutes(9)));
    assert_eq!(stage.answered(run).len(), 1, "nobody sleeps any more");
    stage.code_ends(run, RunOutcome::Partial, json!({"found": 1}));
    assert_eq!(stage.value_of(run), Some(json!({"found": 1})));
    assert_eq!(end(&stage, run), (Some(RunOutcome::TimedOut), Some("not ended within 20s".into())));
    stage.after(Span::minutes(1));
    assert_eq!(stage.value_of(run), None, "it ends once");
}

#[test]
fn code_that_does_not_come_to_its_end_is_ended_by_force_with_what_is_missing() {
    let mut stage = Stage::with(1);
    let run = stage.runs(Some(Span::seconds(60)));
    stage.reach(run, "now#1", StepRequest::Now);
    stage.after(Span::seconds(60));
    stage.restart();
    stage.after(Span::seconds(9));
    assert_eq!(end(&stage, run).0, None);
    stage.after(Span::seconds(1));
    let why = "not ended within 1m00s; it did not come to its own end";
    assert_eq!(end(&stage, run), (Some(RunOutcome::TimedOut), Some(why.into())));
    assert_eq!(stage.value_of(run), Some(json!({"finished_steps": 1, "missing": []})));
    assert_eq!(stage.orders(), ["drop r1"]);
}

#[test]
fn a_budget_of_turns_is_judged_before_each_and_what_it_paid_for_goes_on() {
    let mut stage = with_budget(RunBudget { turns: Some(2), ..RunBudget::default() });
    let run = stage.runs(None);
    for n in 1..=3 {
        stage.reach(run, &format!("each#1[{n}].send#1"), part("w", None, 0));
    }
    let [(path, refused)] = &stage.answered(run)[..] else { panic!("the third is refused") };
    assert_eq!(
        (path.as_str(), &refused["error"], &refused["why"]),
        ("each#1[3].send#1", &json!("budget"), &json!("2 of 2 turns are used"))
    );
    stage.restart();
    stage.after(Span::minutes(1));
    assert_eq!(end(&stage, run).0, None, "turns are open");
    let timers = stage.fleet.next_wake();
    assert!(timers.is_none_or(|at| at > stage.now + Span::minutes(1)), "and nothing is timed: {timers:?}");
    stage.replies(TurnId(2));
    stage.replies(TurnId(3));
    assert_eq!(stage.answered(run).len(), 1);
    stage.code_ends(run, RunOutcome::Done, json!(["two"]));
    assert_eq!(stage.value_of(run), Some(json!(["two"])));
    assert_eq!(end(&stage, run), (Some(RunOutcome::Budget), Some("2 of 2 turns are used".into())));
}

/// Plays a fan-out of ten times as many parts as the role takes at once, each with so much work, and counts what comes of it.
fn fan_out(deadline: Option<Span>, timeout: Option<Span>) -> (usize, u64) {
    let (mut stage, work) = (Stage::bare(), Span::seconds(200));
    let mut team = (*team(1, 6)).clone();
    team.profiles.get_mut(&"pw".into()).expect("it is there").timeout = None;
    stage.step(Input::Team(Arc::new(team)));
    let run = stage.runs(None);
    let StepRequest::Send(send) = part("w", deadline, 0) else { panic!("a send") };
    for n in 1..=60 {
        let send = StepSend { timeout, ..send.clone() };
        stage.reach(run, &format!("each#1[{n}].send#1"), StepRequest::Send(send));
    }
    let ends = |stage: &Stage| stage.now + work;
    let mut at_work: Vec<(Time, TurnId)> = Vec::new();
    let (mut replied, mut handed) =
        (0, Vec::from_iter(stage.rows.values().filter(|turn| turn.hands() > 0).map(|turn| turn.id)));
    loop {
        for turn in std::mem::take(&mut handed) {
            stage.taken(turn);
            at_work.push((ends(&stage), turn));
        }
        let Some((at, turn)) = (!at_work.is_empty()).then(|| at_work.remove(0)) else { break };
        while let Some(wake) = stage.fleet.next_wake().filter(|wake| *wake < at) {
            stage.after(wake.since(stage.now));
            handed.extend(stage.handed());
        }
        stage.after(at.since(stage.now));
        handed.extend(stage.handed());
        replied += usize::from(stage.fleet.turn(turn).is_some());
        stage.replies(turn);
        handed.extend(stage.handed());
    }
    (replied, stage.fleet.run(run).map_or(0, |run| run.settled))
}

#[test]
fn a_timeout_counts_from_the_hand_over_so_that_each_part_of_a_wide_fan_out_has_its_turn() {
    let ten = Some(Span::minutes(10));
    assert_eq!(fan_out(None, ten), (60, 60));
    let (replied, settled) = fan_out(ten, None);
    assert!(replied < 30 && settled == 60, "a deadline counts from acceptance: {replied} of {settled}");
}

#[test]
fn who_takes_longer_than_the_timeout_of_a_send_has_timed_out_and_a_restart_keeps_it() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let StepRequest::Send(send) = part("w", None, 1) else { panic!("a send") };
    let send = StepSend { timeout: Some(Span::seconds(20)), ..send };
    stage.reach(run, "each#1[1].send#1", StepRequest::Send(send.clone()));
    stage.after(Span::seconds(9));
    stage.taken(TurnId(2));
    stage.restart();
    stage.after(Span::seconds(11));
    assert_eq!(stage.orders().first().map(String::as_str), Some("interrupt t2 at w-1"));
    assert_eq!(stage.row(TurnId(2)).why.as_deref(), Some("not settled within 20s of its hand-over"));
    stage.after(Span::seconds(5));
    stage.ends(TurnId(2), Outcome::Cancelled);
    let again = stage.handed();
    assert_eq!(again.len(), 1, "it is tried again, by the same worker here");
    stage.after(Span::seconds(20));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"), "each try has as long");
}

#[test]
fn what_is_not_typed_and_waits_again_has_its_whole_timeout_once_it_is_handed_anew() {
    let mut stage = Stage::sessions(1, |_| {}, |_| {});
    let run = stage.runs(None);
    let StepRequest::Send(send) = part("s", None, 0) else { panic!("a send") };
    stage.reach(run, "send#1", StepRequest::Send(StepSend { timeout: Some(Span::seconds(20)), ..send }));
    stage.up("s-1");
    assert_eq!(stage.handed(), [TurnId(2)]);
    stage.seen(Sighting::Held { worker: "s-1".into(), turn: TurnId(2), hand: 1, why: "a draft".to_string() });
    stage.restart();
    stage.after(Span::minutes(5));
    assert!(stage.answered(run).is_empty(), "nobody has it");
    stage.seen(Sighting::Idle { worker: "s-1".into() });
    assert_eq!(stage.handed(), [TurnId(2)]);
    stage.after(Span::seconds(19));
    assert!(stage.answered(run).is_empty());
    stage.after(Span::seconds(1));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"));
}

#[test]
fn where_a_budget_is_used_up_nobody_sleeps_and_the_code_keeps_what_it_has() {
    let mut stage = with_budget(RunBudget { turns: Some(1), ..RunBudget::default() });
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", None, 0));
    stage.replies(TurnId(2));
    stage.reach(run, "send#2", part("w", None, 0));
    assert_eq!(stage.answered(run)[0].1["error"], json!("budget"));
    stage.reach(run, "sleep#1", StepRequest::Sleep(Span::seconds(30)));
    assert_eq!(stage.answered(run), [("sleep#1".to_string(), json!(null))]);
    stage.reach(run, "ask_leader#1", StepRequest::Ask("more money?".into()));
    assert_eq!(stage.answered(run), [("ask_leader#1".to_string(), json!(null))]);
    assert_eq!(stage.mail(None, 9).0.len(), 0, "nobody is asked");
    stage.code_ends(run, RunOutcome::Done, json!(["one", "budget"]));
    assert_eq!(stage.value_of(run), Some(json!(["one", "budget"])));
    assert_eq!(end(&stage, run), (Some(RunOutcome::Budget), Some("1 of 1 turns are used".into())));
}

#[test]
fn what_sleeps_or_asks_while_another_part_uses_the_budget_up_ends_and_what_is_paid_goes_on() {
    let mut stage = with_budget(RunBudget { turns: Some(1), ..RunBudget::default() });
    let run = stage.runs(None);
    let wanted = StepRecipe { recipe: "r".into(), job: Arc::new(json!({})), deadline: None, budget: None };
    stage.reach(run, "each#1[1].recipe#1", StepRequest::Recipe(wanted));
    let begun = stage.last.effects.iter().find_map(|effect| match effect {
        Effect::Run(RunEffect::Start { run }) => Some(run.id),
        _ => None,
    });
    let child = begun.expect("it begins");
    stage.reach(child, "sleep#1", StepRequest::Sleep(Span::minutes(9)));
    stage.reach(run, "each#1[2].ask_leader#1", StepRequest::Ask("go on?".into()));
    stage.reach(run, "each#1[3].send#1", part("w", None, 0));
    let [paid] = stage.handed()[..] else { panic!("it is handed") };
    stage.restart();
    stage.reach(run, "each#1[4].send#1", part("w", None, 0));
    let answered: Vec<_> =
        stage.answered(run).into_iter().map(|(path, value)| (path, value["error"].clone())).collect();
    assert_eq!(
        answered,
        [("each#1[2].ask_leader#1".into(), json!(null)), ("each#1[4].send#1".into(), json!("budget"))]
    );
    assert_eq!(stage.answered(child), [("sleep#1".to_string(), json!(null))]);
    assert_eq!(stage.mail(None, 9).0.len(), 0, "the question is withdrawn");
    stage.reach(child, "sleep#2", StepRequest::Sleep(Span::minutes(9)));
    assert_eq!(stage.answered(child).len(), 1, "nobody sleeps below it either");
    stage.code_ends(child, RunOutcome::Partial, json!("half"));
    assert_eq!(stage.answered(run)[0].1["value"], json!("half"));
    stage.after(Span::minutes(5));
    assert_eq!(end(&stage, run).0, None, "a turn is open");
    stage.replies(paid);
    assert_eq!(stage.answered(run)[0].1["text"], json!("done"));
}

#[test]
fn the_deadline_of_a_run_whose_budget_is_used_up_ends_what_was_paid_and_leaves_it_its_grace() {
    let mut stage = with_budget(RunBudget { turns: Some(1), ..RunBudget::default() });
    let run = stage.runs(Some(Span::seconds(20)));
    stage.reach(run, "each#1[1].send#1", part("w", None, 0));
    stage.taken(TurnId(2));
    stage.reach(run, "each#1[2].send#1", part("w", None, 0));
    stage.after(Span::seconds(20));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"));
    assert_eq!(end(&stage, run).0, None);
    stage.restart();
    stage.after(Span::seconds(9));
    stage.code_ends(run, RunOutcome::Done, json!("what it has"));
    assert_eq!(stage.value_of(run), Some(json!("what it has")));
    let why = "1 of 1 turns are used; not ended within 20s";
    assert_eq!(end(&stage, run), (Some(RunOutcome::TimedOut), Some(why.into())));
}

#[test]
fn a_run_that_used_up_its_budget_and_wants_no_more_is_done() {
    let mut stage = with_budget(RunBudget { turns: Some(1), ..RunBudget::default() });
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", None, 0));
    stage.replies(TurnId(2));
    stage.code_ends(run, RunOutcome::Done, json!(1));
    assert_eq!(end(&stage, run), (Some(RunOutcome::Done), None));
}

#[test]
fn a_retry_is_a_turn_that_the_budget_must_pay_for() {
    let mut stage = with_budget(RunBudget { turns: Some(1), ..RunBudget::default() });
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", Some(Span::seconds(5)), 9));
    stage.taken(TurnId(2));
    stage.after(Span::seconds(5));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"));
    stage.after(Span::seconds(30));
    assert_eq!(end(&stage, run).0, Some(RunOutcome::Budget), "and its code did not come back");
}

#[test]
fn a_correction_is_a_turn_that_the_budget_must_pay_for_after_the_answer_that_it_corrects() {
    let mut stage = with_budget(RunBudget { tokens: Some(100), ..RunBudget::default() });
    let run = stage.runs(None);
    let StepRequest::Send(send) = part("w", None, 0) else { panic!("a send") };
    let shape = Some(Arc::new(Shape { schema: json!({"type": "integer"}), corrections: 2 }));
    stage.reach(run, "send#1", StepRequest::Send(StepSend { shape, ..send }));
    let usage = Some(Usage { input: 60, output: 50, ..Usage::default() });
    let misfit = Box::new(Finish { usage, ..finish(Outcome::Replied) });
    stage.seen(Sighting::Finished { worker: "w-1".into(), turn: TurnId(2), finish: misfit, idle: true });
    assert!(stage.handed().is_empty(), "nothing pays for a second turn");
    assert_eq!(stage.answered(run)[0].1["error"], json!("schema"));
    let row = stage.fleet.run(run).expect("not ended");
    assert_eq!((row.sent, row.settled, row.usage), (1, 1, usage));
    stage.code_ends(run, RunOutcome::Done, json!(1));
    assert_eq!(end(&stage, run), (Some(RunOutcome::Budget), Some("110 of 100 tokens are used".into())));
}

#[test]
fn tokens_and_money_are_counted_as_agents_tell_them() {
    for (budget, why) in [
        (RunBudget { tokens: Some(100), ..RunBudget::default() }, "110 of 100 tokens are used"),
        (RunBudget { cost: Some(0.5), ..RunBudget::default() }, "0.75 of 0.50 US dollars are used"),
    ] {
        let mut stage = with_budget(budget);
        let run = stage.runs(None);
        stage.reach(run, "send#1", part("w", None, 0));
        let mut finish = finish(Outcome::Replied);
        finish.usage = Some(Usage {
            input: 60,
            output: 40,
            cache_read: 9_000,
            cache_write: 10,
            cost: Some(0.75),
            ..Usage::default()
        });
        stage.seen(Sighting::Finished { worker: "w-1".into(), turn: TurnId(2), finish: Box::new(finish), idle: true });
        stage.reach(run, "send#2", part("w", None, 0));
        assert_eq!(stage.answered(run)[0].1["why"], json!(why));
        assert_eq!(stage.fleet.run(run).and_then(|run| run.usage).map(|usage| usage.tokens()), Some(110));
    }
}

#[test]
fn what_a_turn_took_that_was_ended_over_its_worker_is_paid_by_its_run() {
    let mut stage = with_budget(RunBudget { tokens: Some(100), ..RunBudget::default() });
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", Some(Span::seconds(5)), 0));
    stage.taken(TurnId(2));
    stage.after(Span::seconds(5));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"));
    stage.restart();
    let usage = Some(Usage { input: 60, output: 50, ..Usage::default() });
    for _ in 0..2 {
        let finish = Box::new(Finish { usage, ..finish(Outcome::Failed) });
        stage.seen(Sighting::Finished { worker: "w-1".into(), turn: TurnId(2), finish, idle: true });
    }
    assert_eq!(stage.fleet.run(run).and_then(|run| run.usage), usage, "counted, and once");
    stage.reach(run, "send#2", part("w", None, 0));
    assert_eq!(stage.answered(run)[0].1["why"], json!("110 of 100 tokens are used"));
}
