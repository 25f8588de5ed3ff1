//! Runs as the fleet sees them: steps recorded once, answered once and in order; retries; ends from inside and outside.
//! A recipe is played by hand, step by step, so that a replay can come at the wrong moment. No Lua runs here.

use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{RunId, StepPath, TurnId};
use fleetd::fleet::input::{Answer, Asked, Call, Effect, Input, RunCall};
use fleetd::fleet::record::Record;
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::run::{RunEffect, RunEnd, RunInput, RunOutcome, StepRequest, StepSend};
use fleetd::fleet::team::Address;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::{Outcome, Priority};
use serde_json::{Value, json};

use super::fleet_stage::{Stage, kind, send_to};

fn call(deadline: Option<Span>) -> Call {
    Call::StartRun(RunCall { recipe: "r".into(), job: Arc::new(json!({})), deadline, key: None })
}

fn run_of(answer: Result<Answer, fleetd::fleet::refusal::Refusal>) -> RunId {
    match answer {
        Ok(Answer::Started(run)) => run.id,
        other => panic!("a start was answered with {other:?}"),
    }
}

fn begin(stage: &mut Stage) -> RunId {
    run_of(stage.leader(call(None)))
}

fn reach(stage: &mut Stage, run: RunId, path: &str, request: StepRequest) {
    reach_as(stage, run, path, "verb", request);
}

fn reach_as(stage: &mut Stage, run: RunId, path: &str, hash: &str, request: StepRequest) {
    stage.step(Input::Run(RunInput::Step {
        run,
        path: path.into(),
        verb: "verb",
        hash: hash.to_string(),
        what: hash.to_string(),
        at: "r.lua:2".to_string(),
        request: Box::new(request),
    }));
}

fn send(retries: u32, deadline: Option<Span>) -> StepRequest {
    StepRequest::Send(StepSend {
        to: Some(Address::Role("w".into())),
        because: None,
        routed: None,
        prompt: "part".into(),
        kind: None,
        files: Vec::new(),
        deadline,
        timeout: None,
        retries,
        priority: Priority::Normal,
        shape: None,
        on_ask: false,
    })
}

/// What the last step answered, as path and number and value.
fn answered(stage: &Stage) -> Vec<(StepPath, u64, Value)> {
    let answers = stage.last.effects.iter().filter_map(|effect| match effect {
        Effect::Run(RunEffect::Answer(_, done)) => {
            Some((done.step.path.clone(), done.step.seq.expect("it is finished"), (*done.value).clone()))
        }
        _ => None,
    });
    answers.collect()
}

#[test]
fn steps_are_answered_in_one_order_and_a_replayed_one_only_when_it_ends() {
    let mut stage = Stage::with(2);
    let run = begin(&mut stage);
    reach(&mut stage, run, "now#1", StepRequest::Now);
    assert_eq!(answered(&stage), [("now#1".into(), 0, json!(1_000.0))]);
    reach(&mut stage, run, "each#1[0].send#1", send(0, None));
    reach(&mut stage, run, "each#1[1].send#1", send(0, None));
    let [first, second] = [TurnId(2), TurnId(3)];
    reach(&mut stage, run, "each#1[0].send#1", send(0, None));
    assert!(stage.orders().is_empty(), "a replay that reaches it again starts nothing");
    stage.replies(second);
    stage.replies(first);
    let [(path, seq, envelope)] = &answered(&stage)[..] else { panic!("one answer") };
    assert_eq!((path.as_str(), *seq, &envelope["ok"]), ("each#1[0].send#1", 2, &json!(true)));
    assert!(stage.receipt(first).ends_with("settled collected"), "a step collects by itself");
    assert_eq!(stage.mail(None, 10).0.len(), 0);
}

#[test]
fn a_step_that_does_not_match_its_record_is_a_divergence() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    reach_as(&mut stage, run, "sleep#1", "sleep 5", StepRequest::Sleep(Span::seconds(5)));
    reach_as(&mut stage, run, "sleep#1", "sleep 6", StepRequest::Sleep(Span::seconds(6)));
    assert_eq!(
        stage.orders(),
        [
            "refuse sleep#1: the journal says that sleep#1 is run:verb (sleep 5) from r.lua:2, but the code came to run:verb \
          (sleep 6) at r.lua:2"
        ]
    );
}

#[test]
fn a_sleep_ends_in_time_over_a_restart() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    reach(&mut stage, run, "sleep#1", StepRequest::Sleep(Span::seconds(60)));
    assert_eq!(stage.restart(), ["start r1"]);
    stage.after(Span::seconds(59));
    assert!(answered(&stage).is_empty());
    stage.after(Span::seconds(1));
    assert_eq!(answered(&stage), [("sleep#1".into(), 0, Value::Null)]);
}

#[test]
fn notes_are_kept_for_all_runs() {
    let mut stage = Stage::with(1);
    let first = begin(&mut stage);
    let note = |value| StepRequest::Note { name: "seen".to_string(), value };
    reach(&mut stage, first, "note#1", note(Some(json!(7))));
    stage.restart();
    let second = begin(&mut stage);
    reach(&mut stage, second, "note#1", note(None));
    assert_eq!(answered(&stage), [("note#1".into(), 0, json!(7))]);
}

#[test]
fn there_are_a_thousand_notes_and_null_removes_one() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    let note = |n: usize, value| StepRequest::Note { name: format!("note-{n}"), value };
    for n in 0..1_000 {
        reach(&mut stage, run, &format!("note#{n}"), note(n, Some(json!(n))));
    }
    reach(&mut stage, run, "note#1001", note(1_000, Some(json!(1))));
    let refused = "refuse note#1001: there are 1000 notes, which is the most";
    assert_eq!(stage.orders(), [refused]);
    reach(&mut stage, run, "note#1002", note(7, Some(json!("changed"))));
    assert_eq!(answered(&stage)[0].2, json!("changed"), "one that is there may still change");
    reach(&mut stage, run, "note#1003", note(9, Some(Value::Null)));
    assert_eq!(answered(&stage)[0].2, Value::Null);
    stage.restart();
    reach(&mut stage, run, "note#1004", note(9, None));
    assert_eq!(answered(&stage)[0].2, Value::Null, "it is gone");
    reach(&mut stage, run, "note#1005", note(1_000, Some(json!(2))));
    assert_eq!(answered(&stage)[0].2, json!(2), "and there is room for another");
}

#[test]
fn what_timed_out_or_was_lost_is_tried_again_as_a_new_turn() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    reach(&mut stage, run, "send#1", send(2, Some(Span::seconds(5))));
    let first = TurnId(2);
    stage.taken(first);
    stage.after(Span::seconds(5));
    assert_eq!(stage.envelopes[&first].outcome, Outcome::TimedOut);
    stage.ends(first, Outcome::Failed);
    let [second] = stage.handed()[..] else { panic!("the retry is handed") };
    let row = stage.row(second);
    assert_eq!(
        (row.retry_of, row.prompt_of, row.deadline),
        (Some(first), first, Some(row.accepted + Span::seconds(5)))
    );
    stage.taken(second);
    stage.gone("w-1");
    assert_eq!(stage.envelopes[&second].outcome, Outcome::Lost);
    let [third] = stage.handed()[..] else { panic!("the second retry is handed") };
    stage.replies(third);
    let [(_, 0, envelope)] = &answered(&stage)[..] else { panic!("one answer for three turns") };
    assert_eq!((&envelope["turn"], &envelope["retry_of"]), (&json!(third), &json!(second)));
    let counts = stage.fleet.run(run).map(|run| (run.sent, run.settled));
    assert_eq!(counts, Some((3, 3)));
}

#[test]
fn what_failed_or_is_unknown_is_never_tried_again() {
    for outcome in [Outcome::Failed, Outcome::Unknown] {
        let mut stage = Stage::with(1);
        let run = begin(&mut stage);
        reach(&mut stage, run, "send#1", send(5, None));
        stage.ends(TurnId(2), outcome);
        assert_eq!(answered(&stage)[0].2["error"], json!(outcome.word()));
        assert!(stage.handed().is_empty());
    }
}

#[test]
fn a_run_keeps_its_own_parts_and_max_waiting_does_not_count_them() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    for part in 0..50 {
        reach(&mut stage, run, &format!("each#1[{part}].send#1"), send(0, None));
    }
    for _ in 0..3 {
        stage.send("w");
    }
    assert_eq!(kind(stage.sends(send_to("w"))), RefusalKind::QueueFull);
}

#[test]
fn a_cancelled_run_takes_its_turns_and_questions_with_it() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    reach(&mut stage, run, "each#1[0].send#1", send(3, None));
    reach(&mut stage, run, "each#1[1].send#1", send(3, None));
    reach(&mut stage, run, "ask#1", StepRequest::Ask("go on?".into()));
    let (runs, waits) = (TurnId(2), TurnId(3));
    let wait = stage.calls(Caller::Operator, Call::WaitRun { run, until: stage.now + Span::seconds(9) });
    assert!(matches!(stage.told(wait), Some(Ok(Answer::RunOpen(_, questions))) if questions.len() == 1));
    stage.leader(Call::CancelRun(run)).expect("it runs");
    assert_eq!(stage.orders(), ["interrupt t2 at w-1", "drop r1"]);
    for turn in [runs, waits] {
        assert_eq!(stage.envelopes[&turn].outcome, Outcome::Cancelled);
    }
    assert_eq!(stage.mail(None, 10).0.len(), 1, "the end of the run, and no question any more");
    reach(&mut stage, run, "now#1", StepRequest::Now);
    assert_eq!(stage.orders(), ["drop r1"], "code that did not hear of it yet is told");
    stage.replies(runs);
    assert!(stage.fleet.turns().next().is_none());
}

#[test]
fn a_run_asks_its_owner_and_who_waits_is_told_early() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    let until = stage.now + Span::seconds(9);
    let wait = stage.calls(Caller::Leader, Call::WaitRun { run, until });
    let poll = stage.calls(Caller::Leader, Call::Poll { after: None, limit: 1, until: Some(until) });
    reach(&mut stage, run, "ask_leader#1", StepRequest::Ask("go on?".into()));
    let Some(Ok(Answer::RunOpen(_, questions))) = stage.told(wait) else { panic!("the wait ends early") };
    assert!(matches!(stage.told(poll), Some(Ok(Answer::Mail { messages, .. })) if messages.len() == 1));
    let asked = Asked::Question(questions[0].id);
    stage.leader(Call::Answer { question: asked, text: "yes".into() }).expect("open");
    assert_eq!(answered(&stage), [("ask_leader#1".into(), 0, json!("yes"))]);
    assert_eq!(stage.mail(None, 10).0.len(), 0);
}

#[test]
fn a_worker_that_asks_inside_a_run_reaches_the_owner() {
    let mut stage = Stage::with(1);
    let run = run_of(stage.operator(call(None)));
    reach(&mut stage, run, "send#1", send(0, None));
    let wait = stage.calls(Caller::Operator, Call::WaitRun { run, until: stage.now + Span::seconds(9) });
    let worker = Caller::Worker { name: "w-1".into(), via_child: false };
    let until = stage.now + Span::seconds(9);
    stage.calls(worker, Call::Ask { turn: Some(TurnId(2)), text: "which?".into(), until, request: None });
    assert!(matches!(stage.told(wait), Some(Ok(Answer::RunOpen(_, questions))) if questions.len() == 1));
    let mail = stage.operator(Call::Poll { after: None, limit: 5, until: None });
    assert!(matches!(mail, Ok(Answer::Mail { messages, .. }) if messages.len() == 1));
    assert_eq!(stage.fleet.questions_of_run(run).len(), 1);
}

#[test]
fn a_run_ends_once_with_its_value_and_its_owner_collects_it() {
    let mut stage = Stage::with(1);
    let run = begin(&mut stage);
    let wait = stage.calls(Caller::Leader, Call::WaitRun { run, until: stage.now + Span::seconds(9) });
    let end = RunEnd { outcome: RunOutcome::Done, why: None, value: json!([1]) };
    stage.step(Input::Run(RunInput::Ended { run, end: end.clone() }));
    let values = stage.last.records.iter().filter(|record| matches!(record, Record::RunValue(..))).count();
    assert_eq!(values, 1);
    assert!(matches!(stage.told(wait), Some(Ok(Answer::Ended(run))) if run.outcome == Some(RunOutcome::Done)));
    assert!(stage.step(Input::Run(RunInput::Ended { run, end })).records.is_empty());
    assert_eq!(kind(stage.leader(Call::CancelRun(run))), RefusalKind::Conflict);
    let (mail, _) = stage.mail(None, 10);
    stage.leader(Call::Ack(mail)).expect("acked");
    assert!(stage.fleet.run(run).is_none());
    assert!(stage.restart().is_empty());
}

#[test]
fn an_unknown_recipe_is_refused_with_the_valid_ones() {
    let mut stage = Stage::with(1);
    let wrong = Call::StartRun(RunCall { recipe: "q".into(), job: Arc::new(json!({})), deadline: None, key: None });
    let refusal = stage.leader(wrong).expect_err("no such recipe");
    assert_eq!(refusal.to_string(), "there is no recipe 'q'; did you mean 'r'?; valid: r");
}
