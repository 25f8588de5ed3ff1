//! Questions that a run answers first: what is journaled, who is told when, and that no worker is left waiting.
//! The function beside the send is played by hand here; its Lua is tested in the charter.

use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{QuestionId, RunId, Ticket, TurnId};
use fleetd::fleet::input::{Answer, Asked, Call, Effect, Input, RunCall};
use fleetd::fleet::mail::About;
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::run::{RunAnswer, RunEffect, RunEnd, RunInput, RunOutcome, StepRequest, StepSend};
use fleetd::fleet::team::Address;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::{Outcome, Priority, TurnState};
use fleetd::fleet::{Fleet, Limits};
use serde_json::{Value, json};

use super::fleet_stage::{Stage, kind};

/// The path of the first question in the turn of the first send.
const ASKED: &str = "send#1.asked#1";

/// A run of the leader's whose first send answers questions, with its worker at it.
fn begin(max_busy: u32, deadline: Option<Span>, retries: u32) -> (Stage, RunId, TurnId) {
    let mut stage = Stage::with(max_busy);
    let call = Call::StartRun(RunCall { recipe: "r".into(), job: Arc::new(json!({})), deadline: None, key: None });
    let Ok(Answer::Started(run)) = stage.leader(call) else { panic!("it is started") };
    reach(&mut stage, run.id, "send#1", send(true, deadline, retries));
    let [turn] = stage.handed()[..] else { panic!("it is handed") };
    stage.taken(turn);
    (stage, run.id, turn)
}

fn send(on_ask: bool, deadline: Option<Span>, retries: u32) -> StepRequest {
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
        on_ask,
    })
}

fn reach(stage: &mut Stage, run: RunId, path: &str, request: StepRequest) {
    stage.step(Input::Run(RunInput::Step {
        run,
        path: path.into(),
        verb: "verb",
        hash: "hash".to_string(),
        what: path.to_string(),
        at: "r.lua:2".to_string(),
        request: Box::new(request),
    }));
}

fn asks(stage: &mut Stage, turn: TurnId, text: &str) -> Ticket {
    let name = stage.row(turn).worker.clone().expect("somebody has it");
    let until = stage.now + Span::minutes(10);
    stage.calls(
        Caller::Worker { name, via_child: false },
        Call::Ask { turn: Some(turn), text: text.into(), until, request: None },
    )
}

fn says(question: QuestionId, text: Option<&str>) -> StepRequest {
    StepRequest::Answer(RunAnswer { question, text: text.map(Into::into), fault: None })
}

/// What the last step told the run, as path and value.
fn told(stage: &Stage) -> Vec<(String, Value)> {
    let answers = stage.last.effects.iter().filter_map(|effect| match effect {
        Effect::Run(RunEffect::Answer(_, done)) => Some((done.step.path.to_string(), (*done.value).clone())),
        _ => None,
    });
    answers.collect()
}

/// The question that the last step brought to the run.
fn brought(stage: &Stage) -> QuestionId {
    let [(_, value)] = &told(stage)[..] else { panic!("one question: {:?}", told(stage)) };
    value["id"].as_str().and_then(|id| id.parse().ok()).expect("a question's id")
}

fn hears(stage: &mut Stage, ticket: Ticket) -> Option<String> {
    match stage.told(ticket)? {
        Ok(Answer::Answered(question)) => question.answer.as_deref().map(str::to_string),
        other => panic!("the worker was told {other:?}"),
    }
}

fn leader_waits_for(stage: &mut Stage, run: RunId) -> Ticket {
    let until = stage.now + Span::minutes(1);
    stage.calls(Caller::Leader, Call::WaitRun { run, until })
}

#[test]
fn a_question_comes_to_the_run_and_to_nobody_else_and_its_answer_to_the_worker() {
    let (mut stage, run, turn) = begin(1, None, 0);
    let wait = leader_waits_for(&mut stage, run);
    let of_turn = stage.leader_waits(turn);
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    let value = json!({"text": "which colour?", "id": question, "turn": turn, "worker": "w-1"});
    assert_eq!(told(&stage), [(ASKED.to_string(), value)]);
    assert_eq!((stage.row(turn).state, stage.mail(None, 9).0.len()), (TurnState::Asking, 0));
    assert_eq!(stage.waits(turn), "asks a question, which its run has first");
    assert!(stage.told(wait).is_none() && stage.told(of_turn).is_none(), "who waits for it is not told early");
    assert!(stage.fleet.questions_of_run(run).is_empty());
    assert_eq!(
        kind(stage.leader(Call::Answer { question: Asked::Turn(turn), text: "x".into() })),
        RefusalKind::Unknown
    );
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), says(question, Some("blue")));
    assert_eq!(told(&stage), [(format!("{ASKED}.answer#1"), json!("answered"))]);
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("blue"));
    assert_eq!(stage.row(turn).state, TurnState::Working);
    assert_eq!(stage.row(turn).receipt.last().unwrap().note.as_deref(), Some("q3 answered by run r1"));
    let again = asks(&mut stage, turn, "which colour?");
    assert!(told(&stage).is_empty(), "the same text is the same question");
    assert_eq!(hears(&mut stage, again).as_deref(), Some("blue"));
    stage.replies(turn);
    let [(path, envelope)] = &told(&stage)[..] else { panic!("only the send is answered") };
    assert_eq!((path.as_str(), &envelope["ok"]), ("send#1", &json!(true)));
}

#[test]
fn what_the_run_leaves_goes_to_its_owner_as_ever() {
    let (mut stage, run, turn) = begin(1, None, 0);
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    let (wait, of_turn) = (leader_waits_for(&mut stage, run), stage.leader_waits(turn));
    let until = stage.now + Span::minutes(1);
    let poll = stage.calls(Caller::Leader, Call::Poll { after: None, limit: 1, until: Some(until) });
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), says(question, None));
    assert_eq!(told(&stage), [(format!("{ASKED}.answer#1"), json!("passed on"))]);
    assert!(matches!(stage.told(wait), Some(Ok(Answer::RunOpen(_, open))) if open.len() == 1));
    assert!(matches!(stage.told(of_turn), Some(Ok(Answer::Open(_, open))) if open[0].id == question));
    assert!(matches!(stage.told(poll), Some(Ok(Answer::Mail { messages, .. })) if messages.len() == 1));
    assert_eq!((stage.waits(turn).as_str(), stage.told(ask)), ("asks a question", None));
    stage.leader(Call::Answer { question: Asked::Turn(turn), text: "red".into() }).expect("one is open");
    assert!(told(&stage).is_empty(), "the run has nothing more to do with it");
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("red"));
    assert_eq!(stage.mail(None, 9).0.len(), 0);
}

#[test]
fn a_mistake_in_the_function_passes_the_question_on_and_the_owner_is_told() {
    let (mut stage, run, turn) = begin(1, None, 0);
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    let fault = Some("r.lua:7: boom".to_string());
    let answer = StepRequest::Answer(RunAnswer { question, text: None, fault });
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), answer);
    let about: Vec<About> = stage.fleet.messages().map(|message| message.about.clone()).collect();
    let notice = format!("on_ask of run {run} failed, so {question} of {turn} waits for you: r.lua:7: boom");
    assert_eq!(about, [About::Notice(notice), About::Question(question)]);
    stage.leader(Call::Answer { question: Asked::Question(question), text: "red".into() }).expect("open");
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("red"));
    assert!(stage.fleet.run(run).is_some_and(|run| run.outcome.is_none()), "the run goes on");

    // An answer that is too long for a worker is such a mistake too.
    let ask = asks(&mut stage, turn, "and now?");
    let question = brought(&stage);
    reach(&mut stage, run, "send#1.asked#2.answer#1", says(question, Some(&"x".repeat(1 << 21))));
    assert_eq!((told(&stage)[0].1.clone(), stage.told(ask)), (json!("passed on"), None));
    let Some(About::Notice(text)) = stage.fleet.messages().map(|m| m.about.clone()).nth(1) else { panic!("a notice") };
    assert!(text.contains("r.lua:2: the answer has 2097152 bytes"), "{text}");
}

#[test]
fn nothing_is_lost_or_doubled_whenever_the_daemon_dies() {
    let (mut stage, run, turn) = begin(1, None, 0);
    asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    stage.restart();
    // The code comes to the same answer again; before the restart nobody heard of it.
    let ask = asks(&mut stage, turn, "which colour?");
    assert!(told(&stage).is_empty(), "it is in the journal already");
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), says(question, Some("blue")));
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("blue"));
    stage.restart();
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), says(question, Some("blue")));
    assert!(stage.last.records.is_empty(), "it is answered once");
    let ask = asks(&mut stage, turn, "which colour?");
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("blue"));
    asks(&mut stage, turn, "which size?");
    assert_eq!(told(&stage)[0].0, "send#1.asked#2", "the count goes on");
}

#[test]
fn several_questions_come_in_the_order_of_asking() {
    let (mut stage, run, turn) = begin(1, None, 0);
    let first = asks(&mut stage, turn, "a?");
    let a = brought(&stage);
    let second = asks(&mut stage, turn, "b?");
    let b = brought(&stage);
    reach(&mut stage, run, "send#1.asked#2.answer#1", says(b, Some("B")));
    assert_eq!((hears(&mut stage, second).as_deref(), stage.row(turn).state), (Some("B"), TurnState::Asking));
    reach(&mut stage, run, "send#1.asked#1.answer#1", says(a, Some("A")));
    assert_eq!((hears(&mut stage, first).as_deref(), stage.row(turn).state), (Some("A"), TurnState::Working));
}

#[test]
fn a_turn_that_ends_takes_its_questions_and_what_was_done_for_them_along() {
    let (mut stage, run, turn) = begin(2, Some(Span::seconds(20)), 1);
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    reach(&mut stage, run, &format!("{ASKED}.send#1"), send(true, None, 5));
    let [helper] = stage.handed()[..] else { panic!("it asks another worker") };
    stage.taken(helper);
    let inner = asks(&mut stage, helper, "what for?");
    reach(&mut stage, run, &format!("{ASKED}.ask_leader#1"), StepRequest::Ask("may I?".into()));
    assert_eq!(stage.mail(None, 9).0.len(), 1);
    stage.after(Span::seconds(20));
    let paths: Vec<String> = told(&stage).into_iter().map(|(path, _)| path).collect();
    let over = [".over#1", ".ask_leader#1", ".send#1.asked#1.over#1", ".send#1"].map(|end| format!("{ASKED}{end}"));
    assert_eq!(paths, over, "the send itself is tried again");
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::TimedOut);
    assert_eq!(stage.envelopes[&helper].outcome, Outcome::Cancelled);
    assert_eq!(kind(stage.told(ask).expect("told")), RefusalKind::Conflict);
    assert_eq!(kind(stage.told(inner).expect("told")), RefusalKind::Conflict);
    assert_eq!(stage.mail(None, 9).0.len(), 0, "the leader is not asked any more either");

    // What the function still wants before it hears of it is not taken, and its answer is dropped.
    for (path, request) in [(".now#1", StepRequest::Now), (".answer#1", says(question, Some("blue")))] {
        reach(&mut stage, run, &format!("{ASKED}{path}"), request);
        assert!(stage.last.records.is_empty() && stage.last.effects.is_empty(), "{path}");
    }
    stage.ends(helper, Outcome::Failed);
    stage.ends(turn, Outcome::Failed);
    let again = stage.rows.values().find(|row| row.retry_of == Some(turn)).expect("a second try").id;
    stage.taken(again);
    let ask = asks(&mut stage, again, "which colour?");
    let (path, value) = told(&stage).swap_remove(0);
    assert_eq!((path.as_str(), &value["turn"]), ("send#1.asked#2", &json!(again)));
    let question = brought(&stage);
    reach(&mut stage, run, "send#1.asked#2.answer#1", says(question, Some("blue")));
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("blue"));
}

#[test]
fn an_owner_who_answers_first_ends_the_functions_work() {
    let (mut stage, run, turn) = begin(2, None, 0);
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    reach(&mut stage, run, &format!("{ASKED}.send#1"), send(false, None, 0));
    let [helper] = stage.handed()[..] else { panic!("it asks another worker") };
    stage.leader(Call::Answer { question: Asked::Question(question), text: "red".into() }).expect("it may");
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("red"));
    assert_eq!(told(&stage)[0].0, format!("{ASKED}.over#1"));
    assert_eq!(stage.envelopes[&helper].outcome, Outcome::Cancelled);
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), says(question, Some("blue")));
    let ask = asks(&mut stage, turn, "which colour?");
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("red"), "there are no two answers");
}

#[test]
fn a_run_that_ends_leaves_no_worker_waiting() {
    let (mut stage, run, turn) = begin(1, None, 0);
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    let end = RunEnd { outcome: RunOutcome::Done, why: None, value: Value::Null };
    stage.step(Input::Run(RunInput::Ended { run, end }));
    assert_eq!(kind(stage.told(ask).expect("told")), RefusalKind::Conflict);
    assert!(told(&stage).is_empty(), "an ended run is told nothing");
    assert_eq!(stage.fleet.question(question), None);
}

#[test]
fn the_limit_of_steps_keeps_no_answer_from_a_worker() {
    let (mut stage, run, turn) = begin(1, None, 0);
    let limits = Limits { max_steps: 3, ..Limits::default() };
    stage.fleet = Fleet::restore(stage.fleet.saved(), limits);
    for n in 1..=3 {
        reach(&mut stage, run, &format!("now#{n}"), StepRequest::Now);
    }
    assert!(stage.orders()[0].starts_with("refuse now#3"), "{:?}", stage.orders());
    let ask = asks(&mut stage, turn, "which colour?");
    let question = brought(&stage);
    reach(&mut stage, run, &format!("{ASKED}.answer#1"), says(question, Some("blue")));
    assert_eq!(hears(&mut stage, ask).as_deref(), Some("blue"));
}
