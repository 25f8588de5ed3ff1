//! Answers that do not fit their shape: sent back as a linked turn in one commit, one turn to whoever sent it.
//! What fits is tested beside `fleet::shape`; what the worker reads, with the launchers.

use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::envelope::{Envelope, Finish, Truncated};
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Answer, Call, Input, Keyed, SendCall, Sighting};
use fleetd::fleet::mail::About;
use fleetd::fleet::record::Record;
use fleetd::fleet::run::{StepRequest, StepSend};
use fleetd::fleet::shape::Shape;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::{Outcome, Priority, Turn};
use serde_json::json;

use super::fleet_stage::{Stage, finish, part, send_to};

fn shape(corrections: u32) -> Option<Arc<Shape>> {
    Some(Arc::new(Shape { schema: json!({"type": "integer"}), corrections }))
}

fn says(stage: &mut Stage, turn: TurnId, text: &str) {
    let worker = stage.row(turn).worker.clone().expect("somebody has it");
    let mut finish = finish(Outcome::Replied);
    finish.text = text.into();
    stage.seen(Sighting::Finished { worker, turn, finish: Box::new(finish), idle: true });
}

/// Returns the turn that asks again for one.
fn again(stage: &Stage, of: TurnId) -> Arc<Turn> {
    let of_it = |row: &&Arc<Turn>| row.amends.as_ref().is_some_and(|amends| amends.of == of);
    stage.rows.values().find(of_it).expect("it was sent back").clone()
}

#[test]
fn the_worker_is_told_and_what_fits_is_data() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(SendCall { shape: shape(2), ..send_to("w") }).expect("accepted");
    let prompt = stage.last.records.iter().find_map(|record| match record {
        Record::Prompt(_, text) => Some(text.clone()),
        _ => None,
    });
    let prompt = prompt.expect("stored");
    assert!(prompt.starts_with("do it\n\n---\nAnswer with JSON that fits"), "{prompt}");
    assert!(prompt.contains(r#"{"type":"integer"}"#), "{prompt}");
    assert_eq!(stage.row(turn).prompt_bytes, prompt.len() as u64);
    says(&mut stage, turn, " 42\n");
    let envelope = &stage.envelopes[&turn];
    assert_eq!((envelope.ok, envelope.data.clone(), &*envelope.text), (true, Some(json!(42)), " 42\n"));
}

#[test]
fn to_its_sender_the_chain_is_one_turn() {
    let mut stage = Stage::with(1);
    let keyed = Keyed { key: "k".into(), body: "b".to_string(), request: None };
    let send = SendCall { shape: shape(2), key: Some(keyed), deadline: Some(Span::minutes(9)), ..send_to("w") };
    let first = stage.sends(send.clone()).expect("accepted");
    let wait = stage.leader_waits(first);
    says(&mut stage, first, "six");
    assert!(stage.told(wait).is_none(), "who waits is told nothing of it");
    let failed = &stage.envelopes[&first];
    assert_eq!((failed.outcome, failed.error.as_deref(), &*failed.text), (Outcome::Failed, Some("schema"), "six"));
    assert!(failed.why.as_deref().is_some_and(|why| why.starts_with("its answer does not fit the schema: it is not")));
    assert!(stage.receipt(first).ends_with("settled collected"));
    assert_eq!(stage.mail(None, 9).0.len(), 0);

    let second = again(&stage, first);
    assert_eq!((second.prompt_of, second.deadline), (first, stage.row(first).deadline), "the deadline is the sender's");
    stage.restart();
    assert_eq!(stage.sends(send).expect("the same key"), second.id);
    let wait = stage.leader_waits(first);
    says(&mut stage, second.id, "\"7\"");
    let third = again(&stage, second.id);
    let amends = third.amends.as_ref().expect("it amends");
    assert_eq!((amends.first, amends.times), (first, 2));
    assert_eq!(stage.fleet.still_read(), [amends.of], "a process of its own is told what was answered");
    says(&mut stage, third.id, "8");
    let Some(Ok(Answer::Settled(turn, Some(envelope)))) = stage.told(wait) else {
        panic!("the wait ends with the chain")
    };
    assert_eq!((turn.id, envelope.data.clone(), envelope.amends), (third.id, Some(json!(8)), Some(first)));
    let about: Vec<About> = stage.fleet.messages().map(|message| message.about.clone()).collect();
    assert_eq!(about, [About::Reply(third.id)], "one message");
    let late = stage.leader_waits(first);
    assert!(matches!(stage.told(late), Some(Ok(Answer::Settled(turn, _))) if turn.id == third.id));
}

#[test]
fn after_the_last_correction_the_sender_gets_what_there_is() {
    let mut stage = Stage::with(1);
    let first = stage.sends(SendCall { shape: shape(1), ..send_to("w") }).expect("accepted");
    says(&mut stage, first, "six");
    let second = again(&stage, first).id;
    says(&mut stage, second, "seven");
    let envelope = &stage.envelopes[&second];
    assert_eq!(
        (envelope.outcome, envelope.error.as_deref(), &*envelope.text),
        (Outcome::Failed, Some("schema"), "seven")
    );
    assert_eq!(stage.mail(None, 9).0.len(), 1);
    assert!(stage.handed().is_empty());
}

#[test]
fn who_cancels_the_turn_that_it_knows_cancels_the_chain() {
    let mut stage = Stage::with(1);
    let first = stage.sends(SendCall { shape: shape(2), ..send_to("w") }).expect("accepted");
    says(&mut stage, first, "six");
    let second = again(&stage, first).id;
    let Ok(Answer::Settled(turn, _)) = stage.leader(Call::CancelTurn(first)) else { panic!("it is cancelled") };
    assert_eq!((turn.id, stage.envelopes[&second].outcome), (second, Outcome::Cancelled));
}

#[test]
fn an_answer_goes_back_to_the_session_that_gave_it_and_first() {
    let mut stage = Stage::with(1);
    let first = stage.sends(SendCall { shape: shape(2), ..send_to("s") }).expect("accepted");
    stage.up("s-1");
    let next = stage.send("s");
    stage.taken(first);
    says(&mut stage, first, "six");
    let second = again(&stage, first);
    assert_eq!(stage.handed(), [second.id], "before what waited already");
    let session = stage.fleet.worker(&"s-1".into()).expect("alive").session;
    assert_eq!(
        (second.to.to_string(), second.amends.as_ref().map(|amends| amends.session)),
        ("s-1".into(), Some(session))
    );
    stage.taken(second.id);
    says(&mut stage, second.id, "6");
    assert_eq!(stage.handed(), [next]);
}

#[test]
fn a_step_is_answered_by_the_end_of_its_chain() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let StepRequest::Send(send) = part("w", None, 0) else { panic!("a send") };
    stage.reach(run, "send#1", StepRequest::Send(StepSend { shape: shape(2), ..send }));
    says(&mut stage, TurnId(2), "six");
    assert!(stage.answered(run).is_empty());
    stage.restart();
    let second = again(&stage, TurnId(2)).id;
    says(&mut stage, second, "6");
    let [(path, value)] = &stage.answered(run)[..] else { panic!("one answer") };
    assert_eq!((path.as_str(), &value["data"], &value["turn"]), ("send#1", &json!(6), &json!(second)));
    assert_eq!(stage.fleet.run(run).map(|run| (run.sent, run.settled)), Some((2, 2)));
}

#[test]
fn a_worker_that_asks_while_it_mends_its_answer_is_heard_by_who_waits() {
    let mut stage = Stage::with(1);
    let first = stage.sends(SendCall { shape: shape(2), ..send_to("w") }).expect("accepted");
    let wait = stage.leader_waits(first);
    says(&mut stage, first, "six");
    let second = again(&stage, first).id;
    let worker = Caller::Worker { name: "w-1".into(), via_child: false };
    let until = stage.now + Span::seconds(9);
    stage.calls(worker, Call::Ask { turn: Some(second), text: "as a number?".into(), until, request: None });
    assert!(matches!(stage.told(wait), Some(Ok(Answer::Open(_, questions))) if questions.len() == 1));
    let asked = fleetd::fleet::input::Asked::Turn(first);
    stage.leader(Call::Answer { question: asked, text: "yes".into() }).expect("by the id that it knows");
}

#[test]
fn where_the_session_is_gone_it_goes_where_it_was_sent_at_first() {
    let mut stage = Stage::with(1);
    let first = stage.sends(SendCall { shape: shape(2), ..send_to("s") }).expect("accepted");
    stage.up("s-1");
    stage.taken(first);
    let wait = stage.leader_waits(first);
    stage.leader(Call::Pause).expect("paused");
    says(&mut stage, first, "six");
    let second = again(&stage, first);
    assert_eq!(second.to.to_string(), "s-1");
    stage.gone("s-1");
    assert_eq!(stage.row(second.id).to.to_string(), "s");
    stage.restart();
    stage.leader(Call::Unpause).expect("goes on");
    assert!(stage.told(wait).is_none());
    stage.after(Span::minutes(2));
    let next =
        stage.fleet.workers().find(|worker| worker.role.as_str() == "s").expect("another is started").name.clone();
    stage.up(next.as_str());
    assert_eq!(stage.handed(), [second.id]);
    says(&mut stage, second.id, "6");
    assert_eq!(stage.envelopes[&second.id].data, Some(json!(6)));
}

#[test]
fn a_try_that_timed_out_in_its_correction_is_tried_again_by_another_session_from_the_beginning() {
    let mut stage = Stage::sessions(2, |_| {}, |_| {});
    let run = stage.runs(None);
    let StepRequest::Send(send) = part("s", Some(Span::minutes(9)), 1) else { panic!("a send") };
    let send = StepSend { shape: shape(2), timeout: Some(Span::minutes(5)), ..send };
    stage.reach(run, "each#1[1].send#1", StepRequest::Send(send));
    stage.up("s-1");
    let first = TurnId(2);
    assert_eq!(stage.handed(), [first]);
    stage.taken(first);
    says(&mut stage, first, "six");
    let second = again(&stage, first);
    stage.taken(second.id);
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.after(Span::seconds(1));
    stage.up("s-2");
    stage.after(Span::minutes(5));
    stage.restart();
    let third = stage.rows.values().find(|row| row.retry_of == Some(second.id)).expect("it is tried again").clone();
    assert_eq!((third.to.to_string().as_str(), third.worker.as_ref().map(|name| name.as_str())), ("s", Some("s-2")));
    assert_eq!((third.amends.clone(), third.priority, third.prompt_of), (None, Priority::Normal, first));
    stage.taken(third.id);
    says(&mut stage, third.id, "6");
    assert_eq!(stage.answered(run)[0].1["data"], json!(6));
}

/// Ends a turn with a reply that was cut, which is sent back to nobody.
fn cut(change: impl FnOnce(&mut Finish)) -> Arc<Envelope> {
    let mut stage = Stage::with(1);
    let turn = stage.sends(SendCall { shape: shape(0), ..send_to("w") }).expect("accepted");
    let mut finish = finish(Outcome::Replied);
    (finish.text, finish.truncated) = ("4".into(), Some(Truncated { path: "whole".into(), bytes: 9, data: None }));
    change(&mut finish);
    let worker = stage.row(turn).worker.clone().expect("somebody has it");
    stage.seen(Sighting::Finished { worker, turn, finish: Box::new(finish), idle: true });
    stage.envelopes[&turn].clone()
}

#[test]
fn of_a_reply_that_was_cut_the_fleet_takes_the_word_of_whoever_read_it() {
    let here = cut(|finish| finish.data = Some(json!(444)));
    assert_eq!((here.ok, &here.data, &*here.text), (true, &Some(json!(444)), "4"));
    let in_a_file = cut(|finish| finish.truncated.as_mut().expect("cut").data = Some("data".into()));
    assert_eq!((in_a_file.ok, &in_a_file.data), (true, &None));
    let misfit = cut(|finish| finish.complaint = Some("at the top: no".into()));
    assert_eq!((misfit.ok, misfit.error.as_deref()), (false, Some("schema")));
    assert_eq!(misfit.why.as_deref(), Some("its answer does not fit the schema: at the top: no"));
    // The beginning alone would fit, and is not taken for the whole.
    let unread = cut(|_| ());
    assert_eq!((unread.ok, unread.error.as_deref()), (false, Some("schema")));
}

#[test]
fn an_answer_that_is_found_before_the_charter_is_read_is_sent_back_all_the_same() {
    let mut stage = Stage::with(1);
    let first = stage.sends(SendCall { shape: shape(1), ..send_to("w") }).expect("accepted");
    let (_, team) = stage.restart_before_charter();
    says(&mut stage, first, "six");
    stage.step(Input::Team(team.expect("there was one")));
    let second = again(&stage, first);
    assert_eq!(stage.handed(), [second.id]);
    says(&mut stage, second.id, "6");
    assert_eq!(stage.envelopes[&second.id].data, Some(json!(6)));
}
