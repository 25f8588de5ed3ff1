//! Questions inside a turn, and spawned workers.
//! The pure fleet on its stage: the answer to a question is a call, and the time in between is a number.

use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{Ticket, TurnId};
use fleetd::fleet::input::{Answer, Asked, Call, Keyed, Sighting};
use fleetd::fleet::mail::Question;
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::{Outcome, TurnState};

use super::fleet_stage::{Stage, kind};

fn asks(stage: &mut Stage, turn: TurnId, text: &str) -> Ticket {
    let caller = Caller::Worker { name: "w-1".into(), via_child: false };
    let until = stage.now + Span::seconds(30);
    stage.calls(caller, Call::Ask { turn: Some(turn), text: text.into(), until, request: None })
}

fn open(stage: &Stage) -> Vec<Arc<Question>> {
    let ids = stage.fleet.messages().filter_map(|message| match message.about {
        fleetd::fleet::mail::About::Question(id) => Some(id),
        _ => None,
    });
    ids.filter_map(|id| stage.fleet.question(id).cloned()).collect()
}

fn answers(question: Asked, text: &str) -> Call {
    Call::Answer { question, text: text.into() }
}

#[test]
fn a_question_stops_the_clock_of_no_turn_and_its_answer_lets_it_go_on() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    let wait = stage.leader_waits(turn);
    let ask = asks(&mut stage, turn, "which branch?");
    assert!(matches!(stage.told(wait), Some(Ok(Answer::Open(_, questions))) if questions.len() == 1));
    assert_eq!((stage.row(turn).state, stage.waits(turn).as_str()), (TurnState::Asking, "asks a question"));
    let second_wait = stage.leader_waits(turn);
    assert!(matches!(stage.told(second_wait), Some(Ok(Answer::Open(..)))), "who comes later is told at once");
    let question = open(&stage)[0].id;
    stage.leader(answers(Asked::Turn(turn), "main")).expect("one is open");
    assert!(matches!(stage.told(ask), Some(Ok(Answer::Answered(q))) if q.answer.as_deref() == Some("main")));
    assert_eq!(stage.receipt(turn), "queued handed submitted working asking working");
    assert!(open(&stage).is_empty(), "the message about it is gone");
    stage.leader(answers(Asked::Question(question), "main")).expect("the same answer again");
    assert_eq!(kind(stage.leader(answers(Asked::Question(question), "other"))), RefusalKind::Conflict);
    let again = asks(&mut stage, turn, "which branch?");
    assert!(matches!(stage.told(again), Some(Ok(Answer::Answered(_)))), "a worker whose call broke asks again");
}

#[test]
fn with_several_questions_one_says_which_and_the_turn_goes_on_after_the_last() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    asks(&mut stage, turn, "a?");
    asks(&mut stage, turn, "b?");
    asks(&mut stage, turn, "b?");
    let questions = open(&stage);
    assert_eq!(questions.len(), 2, "the same text is the same question");
    assert_eq!(kind(stage.leader(answers(Asked::Turn(turn), "x"))), RefusalKind::Conflict);
    stage.leader(answers(Asked::Question(questions[0].id), "x")).expect("open");
    assert_eq!(stage.row(turn).state, TurnState::Asking);
    stage.leader(answers(Asked::Turn(turn), "y")).expect("one is left");
    assert_eq!(stage.row(turn).state, TurnState::Working);
    assert_eq!(kind(stage.leader(answers(Asked::Turn(turn), "z"))), RefusalKind::Unknown);
}

#[test]
fn a_question_proves_that_the_text_was_taken() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    asks(&mut stage, turn, "a?");
    assert_eq!(stage.receipt(turn), "queued handed submitted working asking");
    stage.gone("w-1");
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::Lost);
}

#[test]
fn an_unanswered_wait_ends_and_asking_again_waits_on() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    let first = asks(&mut stage, turn, "a?");
    stage.after(Span::seconds(30));
    assert!(matches!(stage.told(first), Some(Ok(Answer::Unanswered(_)))));
    let second = asks(&mut stage, turn, "a?");
    stage.leader(answers(Asked::Turn(turn), "x")).expect("open");
    assert!(matches!(stage.told(second), Some(Ok(Answer::Answered(_)))));
}

#[test]
fn questions_end_with_their_turn() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    let ask = asks(&mut stage, turn, "a?");
    let question = open(&stage)[0].id;
    stage.replies(turn);
    assert_eq!(kind(stage.told(ask).expect("told")), RefusalKind::Conflict);
    assert_eq!(kind(stage.leader(answers(Asked::Question(question), "x"))), RefusalKind::Unknown);
    assert_eq!(stage.mail(None, 10).0.len(), 1, "only the reply is left");
    let late = asks(&mut stage, turn, "b?");
    assert_eq!(kind(stage.told(late).expect("told")), RefusalKind::Conflict);
}

#[test]
fn an_acknowledged_question_can_still_be_answered() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    asks(&mut stage, turn, "a?");
    let (mail, _) = stage.mail(None, 10);
    stage.leader(Call::Ack(mail)).expect("acked");
    stage.leader(answers(Asked::Turn(turn), "x")).expect("open");
    assert_eq!(stage.row(turn).state, TurnState::Working);
}

#[test]
fn nobody_asks_in_a_turn_of_another() {
    let mut stage = Stage::with(2);
    stage.send("w");
    let other = stage.send("w");
    let ask = asks(&mut stage, other, "a?");
    assert_eq!(kind(stage.told(ask).expect("told")), RefusalKind::NotAllowed);
    let ask = Call::Ask { turn: Some(other), text: "a?".into(), until: stage.now, request: None };
    assert_eq!(kind(stage.leader(ask)), RefusalKind::NotAllowed);
    let anonymous = Caller::Anonymous { why: "peer of another uid".to_string() };
    let send = stage.calls(anonymous, Call::Send(super::fleet_stage::send_to("w")));
    assert_eq!(kind(stage.told(send).expect("told")), RefusalKind::NotAllowed);
}

#[test]
fn a_spawn_is_answered_when_the_worker_is_up_or_is_not() {
    let mut stage = Stage::with(1);
    let spawn = Call::Spawn { role: "s".into(), profile: None, key: None };
    let first = stage.calls(Caller::Leader, spawn.clone());
    let second = stage.calls(Caller::Leader, spawn);
    assert_eq!(stage.told(first), None);
    stage.up("s-1");
    assert!(matches!(stage.told(first), Some(Ok(Answer::Worker(worker))) if worker.is_free()));
    stage.seen(Sighting::NotUp { worker: "s-2".into(), why: "no tools".to_string() });
    assert_eq!(kind(stage.told(second).expect("told")), RefusalKind::PeerUnreachable);
    assert_eq!((stage.worker("s-1"), stage.worker("s-2")), ("ready", "failed"));
    let wrong = Call::Spawn { role: "s".into(), profile: Some("ps2".into()), key: None };
    let refusal = stage.leader(wrong).expect_err("no such profile");
    assert_eq!(refusal.to_string(), "there is no profile of role 's' 'ps2'; did you mean 'ps'?; valid: ps");
}

#[test]
fn a_repeated_spawn_waits_for_its_worker_like_the_first() {
    let mut stage = Stage::with(1);
    let key = Some(Keyed { key: "k".into(), body: "b".into(), request: None });
    let spawn = Call::Spawn { role: "s".into(), profile: None, key };
    let calls = [(); 2].map(|()| stage.calls(Caller::Leader, spawn.clone()));
    assert_eq!(calls.map(|call| stage.told(call)), [None, None]);
    stage.up("s-1");
    for call in calls {
        assert!(matches!(stage.told(call), Some(Ok(Answer::Worker(worker))) if worker.is_free()));
    }
}

#[test]
fn a_stop_waits_for_the_turn_and_a_kill_does_not() {
    let mut stage = Stage::with(2);
    let (drains, dies) = (stage.send("w"), stage.send("w"));
    stage.taken(drains);
    stage.taken(dies);
    stage.leader(Call::Stop { worker: "w-1".into(), kill: false }).expect("it lives");
    assert!(stage.orders().is_empty());
    assert_eq!(stage.worker("w-1"), "draining");
    stage.leader(Call::Stop { worker: "w-2".into(), kill: true }).expect("it lives");
    assert_eq!(stage.orders(), ["interrupt t2 at w-2"]);
    assert_eq!(stage.envelopes[&dies].outcome, Outcome::Lost);
    stage.replies(drains);
    assert_eq!((stage.envelopes[&drains].outcome, stage.worker("w-1")), (Outcome::Replied, "none"));
    stage.after(Span::seconds(10));
    assert_eq!(stage.orders(), ["stop w-2"], "it does not listen");
    stage.gone("w-2");
    assert_eq!(stage.worker("w-2"), "none");
    assert_eq!(kind(stage.leader(Call::Stop { worker: "w-2".into(), kill: true })), RefusalKind::Unknown);
}

#[test]
fn a_dialog_keeps_new_turns_away_until_it_is_closed() {
    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "trust this folder?".to_string() });
    let turn = stage.send("s-1");
    assert_eq!(stage.waits(turn), "blocked: s-1, trust this folder?");
    stage.seen(Sighting::Idle { worker: "s-1".into() });
    assert_eq!(stage.handed(), [turn]);
}
