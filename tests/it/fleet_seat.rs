//! The seat, a worker's own reply, and what a client finds that was cut off.
//! The pure fleet on its stage; that a connection belongs to whoever sits is the door's matter and tested there.

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{Key, TurnId};
use fleetd::fleet::input::{Answer, Asked, Call, Input, Keyed, SendCall};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::seat::{Seat, Sitter};
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use fleetd::fleet::worker::Process;

use super::fleet_stage::{Stage, kind, send_to};

const FIRST: Sitter = Sitter::Process(Process { pid: 10, start: 1 });
const SECOND: Sitter = Sitter::Process(Process { pid: 20, start: 1 });

fn takes(stage: &mut Stage, sitter: Sitter) -> Result<Option<Seat>, RefusalKind> {
    let ticket = stage.calls(Caller::Operator, Call::TakeSeat(sitter));
    match stage.told(ticket).expect("a seat is given or refused at once") {
        Ok(Answer::Seat(seat)) => Ok(seat.as_deref().cloned()),
        Ok(other) => panic!("{other:?}"),
        Err(refusal) => Err(refusal.kind),
    }
}

fn worker() -> Caller {
    Caller::Worker { name: "w-1".into(), via_child: false }
}

#[test]
fn the_first_one_sits_until_it_is_gone_and_the_next_one_finds_what_waited() {
    let mut stage = Stage::with(1);
    assert!(takes(&mut stage, FIRST).is_ok());
    assert!(takes(&mut stage, FIRST).is_ok(), "it is theirs already");
    let ticket = stage.calls(Caller::Operator, Call::TakeSeat(SECOND));
    let refusal = stage.told(ticket).expect("at once").expect_err("somebody sits there");
    assert!(refusal.message.contains("process 10 has been the leader for"), "{refusal}");
    let turn = stage.send("w");
    stage.replies(turn);

    stage.step(Input::SeatGone(Process { pid: 10, start: 9 }));
    assert_eq!(takes(&mut stage, SECOND), Err(RefusalKind::NotAllowed), "a later process with the same pid never sat");
    stage.step(Input::SeatGone(Process { pid: 10, start: 1 }));
    assert_eq!(takes(&mut stage, SECOND).unwrap().unwrap().sitter, SECOND);
    stage.restart();
    assert_eq!(stage.fleet.seat().map(|seat| &seat.sitter), Some(&SECOND), "a restart frees no seat");
    let Ok(Answer::Mail { messages, .. }) = stage.leader(Call::Poll { after: None, limit: 9, until: None }) else {
        panic!("the leader has a mailbox")
    };
    assert_eq!(messages.len(), 1, "what waited for the leader waits for whoever sits now");
}

#[test]
fn a_person_may_free_the_seat_and_nobody_else_may_take_it() {
    let mut stage = Stage::with(1);
    takes(&mut stage, FIRST).expect("it is free");
    assert!(matches!(stage.operator(Call::ReleaseSeat), Ok(Answer::Seat(None))));
    assert!(stage.fleet.seat().is_none());
    for caller in [worker(), Caller::Anonymous { why: "another user".into() }] {
        let ticket = stage.calls(caller, Call::TakeSeat(FIRST));
        assert_eq!(kind(stage.told(ticket).expect("at once")), RefusalKind::NotAllowed);
    }
}

#[test]
fn a_seat_held_by_a_token_lasts_as_long_as_it_is_used() {
    let mut stage = Stage::with(1);
    let session = Sitter::Session("s".into());
    let until = takes(&mut stage, session.clone()).unwrap().unwrap().until.expect("it runs out");
    stage.after(Span::minutes(6));
    assert!(takes(&mut stage, session.clone()).unwrap().unwrap().until > Some(until), "its use is noticed");
    stage.after(Span::minutes(6));
    assert_eq!(takes(&mut stage, Sitter::Token), Err(RefusalKind::NotAllowed));
    stage.restart();
    stage.after(Span::minutes(10));
    assert!(stage.fleet.seat().is_none(), "nobody used it");
    takes(&mut stage, Sitter::Token).expect("it is free");
}

#[test]
fn a_workers_own_reply_is_the_text_and_the_last_one_counts() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    let reply = |stage: &mut Stage, text: &str, turn| {
        let ticket = stage.calls(worker(), Call::Reply { turn, text: text.into() });
        stage.told(ticket).expect("at once")
    };
    assert!(matches!(reply(&mut stage, "first", None), Ok(Answer::Noted { replaced: false, .. })));
    stage.restart();
    assert!(matches!(reply(&mut stage, "second", Some(turn)), Ok(Answer::Noted { replaced: true, .. })));
    assert_eq!(kind(reply(&mut stage, " ", None)), RefusalKind::Invalid);
    assert_eq!(kind(reply(&mut stage, "other", Some(TurnId(99)))), RefusalKind::Conflict);
    stage.replies(turn);
    assert_eq!((&*stage.envelopes[&turn].text, stage.envelopes[&turn].outcome), ("second", Outcome::Replied));
    let late = reply(&mut stage, "third", Some(turn)).expect_err("it has ended");
    assert!(late.message.contains("has ended already"), "{late}");
}

#[test]
fn who_was_cut_off_finds_what_its_request_began_and_nobody_elses() {
    let mut stage = Stage::with(1);
    let keyed = |key: &str| Some(Keyed { key: Key::from(key), body: "b".into(), request: Some(Key::from("s/1")) });
    let accepted = stage.leader(Call::Send(SendCall { key: keyed("tool use 1"), ..send_to("w") }));
    let Ok(Answer::Accepted(turn)) = accepted else { panic!("{accepted:?}") };
    stage.restart();
    let until = stage.now + Span::seconds(60);
    let resume = |request: &str| Call::Resume { request: Key::from(request), until };
    let waits = stage.calls(Caller::Leader, resume("s/1"));
    let other = stage.calls(Caller::Operator, resume("s/1"));
    assert_eq!(kind(stage.told(other).expect("at once")), RefusalKind::Unknown, "it is the leader's request");
    let unknown = stage.calls(Caller::Leader, resume("s/2"));
    assert_eq!(kind(stage.told(unknown).expect("at once")), RefusalKind::Unknown);

    let ask = Call::Ask { turn: None, text: "which?".into(), until, request: Some(Key::from("w/1")) };
    stage.calls(worker(), ask);
    assert!(matches!(stage.told(waits), Some(Ok(Answer::Open(_, questions))) if questions.len() == 1));
    stage.restart();
    let asks = stage.calls(worker(), resume("w/1"));
    stage.leader(Call::Answer { question: Asked::Turn(turn.id), text: "this".into() }).expect("it is open");
    assert!(matches!(stage.told(asks), Some(Ok(Answer::Answered(q))) if q.answer.as_deref() == Some("this")));

    let again = stage.leader(Call::Send(SendCall { key: keyed("tool use 1"), ..send_to("w") }));
    assert!(matches!(again, Ok(Answer::Accepted(same)) if same.id == turn.id));
}

#[test]
fn a_question_that_one_leader_was_asked_is_answered_by_the_next() {
    let mut stage = Stage::with(1);
    takes(&mut stage, FIRST).expect("it is free");
    let turn = stage.send("w");
    let until = stage.now + Span::minutes(5);
    let ask = stage.calls(worker(), Call::Ask { turn: None, text: "which?".into(), until, request: None });
    stage.step(Input::SeatGone(Process { pid: 10, start: 1 }));
    takes(&mut stage, SECOND).expect("it is free again");
    let (messages, _) = stage.mail(None, 9);
    assert_eq!(messages.len(), 1, "the question waits for whoever leads");
    stage.leader(Call::Answer { question: Asked::Turn(turn), text: "this".into() }).expect("it is open");
    assert!(matches!(stage.told(ask), Some(Ok(Answer::Answered(q))) if q.answer.as_deref() == Some("this")));
}
