//! Runs below runs: begun by a step, bounded by what stands above, ended with it, and their end a value.
//! The code of all of them is played by hand.

use std::sync::Arc;

use fleetd::fleet::bounds::RunBudget;
use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::RunId;
use fleetd::fleet::input::{Answer, Asked, Call};
use fleetd::fleet::run::{RunOutcome, StepRecipe, StepRequest};
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use serde_json::json;

use super::fleet_stage::{Stage, part};

fn child(deadline: Option<Span>, turns: Option<u64>) -> StepRequest {
    let budget = turns.map(|n| RunBudget { turns: Some(n), ..RunBudget::default() });
    StepRequest::Recipe(StepRecipe { recipe: "r".into(), job: Arc::new(json!({"x": 1})), deadline, budget })
}

/// Begins a run below another.
fn below(stage: &mut Stage, run: RunId, path: &str, request: StepRequest) -> RunId {
    stage.reach(run, path, request);
    let begun = stage.fleet.runs().filter(|child| child.parent.as_ref().is_some_and(|at| at.path.as_str() == path));
    begun.map(|run| run.id).last().expect("it was begun")
}

#[test]
fn a_child_answers_the_step_that_began_it_and_lies_in_no_mailbox() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let child_id = below(&mut stage, run, "recipe#1", child(None, None));
    assert!(stage.orders().contains(&format!("start {child_id}")), "{:?}", stage.orders());
    assert_eq!(stage.restart(), ["start r1", &format!("start {child_id}")]);
    stage.reach(child_id, "send#1", part("w", None, 0));
    let turn = stage.fleet.turns().next().expect("sent").id;
    stage.replies(turn);
    let counts = |run: RunId| stage.fleet.run(run).map(|run| (run.sent, run.settled));
    assert_eq!((counts(run), counts(child_id)), (Some((1, 1)), Some((1, 1))), "its turns are counted above as well");
    stage.code_ends(child_id, RunOutcome::Partial, json!([1]));
    let [(path, value)] = &stage.answered(run)[..] else { panic!("one answer") };
    assert_eq!(path, "recipe#1");
    assert_eq!(value, &json!({"ok": true, "outcome": "partial", "value": [1], "run": child_id, "recipe": "r"}));
    assert!(stage.fleet.run(child_id).is_none(), "nobody has to collect it");
    assert_eq!(stage.mail(None, 9).0.len(), 0);
    assert_eq!(stage.restart(), ["start r1"]);
}

#[test]
fn its_failure_is_a_value() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let failed = below(&mut stage, run, "recipe#1", child(None, None));
    stage.code_ends(failed, RunOutcome::Failed, json!(null));
    assert_eq!(stage.answered(run)[0].1["error"], json!("failed"));
    let cancelled = below(&mut stage, run, "recipe#2", child(None, None));
    stage.leader(Call::CancelRun(cancelled)).expect("it is open");
    let (_, value) = &stage.answered(run)[0];
    assert_eq!(
        (&value["ok"], &value["error"], &value["why"]),
        (&json!(false), &json!("cancelled"), &json!("cancelled by leader"))
    );
    assert_eq!(stage.fleet.run(run).expect("it goes on").outcome, None);
}

#[test]
fn a_run_takes_all_below_it_along() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let middle = below(&mut stage, run, "recipe#1", child(None, None));
    let lowest = below(&mut stage, middle, "each#1[1].recipe#1", child(None, None));
    stage.reach(lowest, "send#1", part("w", None, 0));
    let turn = stage.fleet.turns().next().expect("sent").id;
    stage.leader(Call::CancelRun(run)).expect("it is open");
    assert!(stage.fleet.runs().all(|run| run.outcome.is_some()));
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::Cancelled);
    let orders = stage.orders();
    for id in [run, middle, lowest] {
        assert!(orders.contains(&format!("drop {id}")), "{orders:?}");
    }
    assert_eq!(stage.mail(None, 9).0.len(), 1, "the end of the run that was started, and of no other");
}

#[test]
fn a_race_cancels_the_run_of_a_part_that_lost() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let lost = below(&mut stage, run, "race#1[2].recipe#1", child(None, None));
    stage.reach(run, "race#1", StepRequest::GiveUp("part 1 won".to_string()));
    assert!(stage.fleet.run(lost).is_none());
    assert!(stage.orders().contains(&format!("drop {lost}")), "{:?}", stage.orders());
}

#[test]
fn no_child_outlives_the_deadline_above_it() {
    let mut stage = Stage::with(1);
    let run = stage.runs(Some(Span::seconds(30)));
    let long = below(&mut stage, run, "recipe#1", child(Some(Span::minutes(5)), None));
    let short = below(&mut stage, run, "recipe#2", child(Some(Span::seconds(5)), None));
    let deadline = |id: RunId| stage.fleet.run(id).and_then(|run| run.deadline);
    assert_eq!(deadline(long), deadline(run));
    assert!(deadline(short) < deadline(run));
    stage.after(Span::seconds(5));
    stage.code_ends(short, RunOutcome::Done, json!("a part"));
    let (_, value) = &stage.answered(run)[0];
    assert_eq!((&value["outcome"], &value["value"]), (&json!("timed_out"), &json!("a part")));
    // Both reach theirs in the same moment: the child comes to its end first, and the parent has what it came to.
    stage.after(Span::seconds(25));
    stage.after(Span::seconds(10));
    let [(path, value)] = &stage.answered(run)[..] else { panic!("the child was ended by force") };
    assert_eq!((path.as_str(), &value["error"]), ("recipe#1", &json!("timed_out")));
    assert_eq!(stage.fleet.run(run).expect("it goes on").outcome, None);
    stage.code_ends(run, RunOutcome::Partial, json!("all"));
    assert_eq!(stage.fleet.run(run).expect("not collected").outcome, Some(RunOutcome::TimedOut));
}

#[test]
fn the_budget_above_holds_for_all_below() {
    let mut stage = Stage::with(3);
    let run = stage.runs(None);
    let middle = below(&mut stage, run, "recipe#1", child(None, Some(2)));
    let lowest = below(&mut stage, middle, "recipe#1", child(None, Some(9)));
    for n in 1..=3 {
        stage.reach(lowest, &format!("send#{n}"), part("w", None, 0));
    }
    let [(path, value)] = &stage.answered(lowest)[..] else { panic!("the third is refused") };
    let why = format!("2 of 2 turns are used of {middle}");
    assert_eq!((path.as_str(), &value["error"], &value["why"]), ("send#3", &json!("budget"), &json!(why)));
    stage.code_ends(lowest, RunOutcome::Done, json!(1));
    assert_eq!(stage.answered(middle)[0].1["outcome"], json!("done"));
    stage.code_ends(middle, RunOutcome::Done, json!(2));
    assert_eq!(stage.answered(run)[0].1["outcome"], json!("budget"));
}

#[test]
fn recipes_that_run_themselves_without_end_are_stopped_with_the_chain() {
    let mut stage = Stage::with(1);
    let mut run = stage.runs(None);
    for _ in 0..7 {
        run = below(&mut stage, run, "recipe#1", child(None, None));
    }
    stage.reach(run, "recipe#1", child(None, None));
    assert_eq!(
        stage.orders(),
        ["refuse recipe#1: 'r' would stand 9 deep, and 8 is the most: r > r > r > r > r > r > r > r"]
    );
}

#[test]
fn who_waits_for_a_run_hears_what_is_asked_below_it() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let below_it = below(&mut stage, run, "recipe#1", child(None, None));
    let until = stage.now + Span::seconds(9);
    let wait = stage.calls(Caller::Leader, Call::WaitRun { run, until });
    stage.reach(below_it, "ask_leader#1", StepRequest::Ask("which way?".into()));
    let Some(Ok(Answer::RunOpen(_, questions))) = stage.told(wait) else { panic!("the wait ends early") };
    stage.leader(Call::Answer { question: Asked::Question(questions[0].id), text: "left".into() }).expect("open");
    assert_eq!(stage.answered(below_it), [("ask_leader#1".to_string(), json!("left"))]);
}
