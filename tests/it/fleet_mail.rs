//! Mailboxes and keys: what waits for a sender, until when, and what a repeated call makes.
//! Seven days pass here in one step, and a restart is a fleet made anew from its rows; nothing is really waited for.

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::Key;
use fleetd::fleet::input::{Answer, Call, Input, Keyed, SendCall};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Span;

use super::fleet_stage::{Stage, kind, send_to};

fn keyed(key: &str, body: &str) -> SendCall {
    SendCall { key: Some(Keyed { key: Key::from(key), body: body.to_string(), request: None }), ..send_to("w") }
}

#[test]
fn a_reply_waits_until_it_is_acknowledged_and_polling_twice_shows_it_twice() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.replies(turn);
    let (first, _) = stage.mail(None, 10);
    let (second, _) = stage.mail(None, 10);
    assert_eq!((first.len(), &first), (1, &second));
    stage.after(Span::days(30));
    assert_eq!(stage.mail(None, 10).0, first, "nobody was shown it, so it does not go by itself");
    let acked = stage.leader(Call::Ack(vec![first[0], first[0]])).expect("acked");
    assert_eq!(acked, Answer::Acked { acked: vec![first[0]], unknown: vec![first[0]] });
    assert_eq!(stage.receipt(turn), "queued handed settled collected");
    assert_eq!(stage.mail(None, 10), (vec![], false));
}

#[test]
fn a_cursor_and_a_limit_cut_the_mail_and_say_so() {
    let mut stage = Stage::with(1);
    for _ in 0..3 {
        let turn = stage.send("w");
        stage.replies(turn);
    }
    let (all, more) = stage.mail(None, 3);
    assert_eq!((all.len(), more), (3, false));
    assert_eq!(stage.mail(None, 2), (all[..2].to_vec(), true));
    assert_eq!(stage.mail(Some(all[1]), 2), (all[2..].to_vec(), false));
    assert_eq!(stage.mail(Some(all[2]), 2), (vec![], false));
}

#[test]
fn a_poll_that_waits_is_answered_by_the_next_message_or_when_its_time_is_over() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    let until = stage.now + Span::seconds(10);
    let poll = stage.calls(Caller::Leader, Call::Poll { after: None, limit: 5, until: Some(until) });
    let other = stage.calls(Caller::Operator, Call::Poll { after: None, limit: 5, until: Some(until) });
    assert_eq!(stage.told(poll), None);
    stage.replies(turn);
    assert!(matches!(stage.told(poll), Some(Ok(Answer::Mail { messages, .. })) if messages.len() == 1));
    assert_eq!(stage.told(other), None, "it is not the operator's");
    stage.after(Span::seconds(10));
    assert_eq!(stage.told(other), Some(Ok(Answer::Mail { messages: vec![], more: false })));
}

#[test]
fn a_reply_that_its_sender_was_told_stays_for_seven_days_over_a_restart() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    let wait = stage.leader_waits(turn);
    stage.replies(turn);
    assert!(matches!(stage.told(wait), Some(Ok(Answer::Settled(_, Some(_))))));
    assert_eq!(stage.mail(None, 10).0.len(), 1, "a poll still shows it");
    stage.after(Span::days(6));
    stage.restart();
    stage.after(Span(86_400_000 - 1));
    assert_eq!(stage.mail(None, 10).0.len(), 1);
    stage.after(Span(1));
    assert_eq!(stage.mail(None, 10).0.len(), 0);
    assert!(stage.receipt(turn).ends_with("collected"));
}

#[test]
fn seven_days_count_from_the_showing_also_after_a_restart() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.replies(turn);
    stage.after(Span::days(8));
    let wait = stage.leader_waits(turn);
    assert!(matches!(stage.told(wait), Some(Ok(Answer::Settled(..)))));
    stage.restart();
    stage.after(Span::days(6));
    assert_eq!(stage.mail(None, 10).0.len(), 1);
}

#[test]
fn what_the_operator_was_told_was_not_shown_to_the_leader() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    let until = stage.now + Span::seconds(10);
    let wait = stage.calls(Caller::Operator, Call::WaitTurn { turn, until });
    let poll = stage.calls(Caller::Leader, Call::Poll { after: None, limit: 1, until: Some(until) });
    stage.replies(turn);
    assert!(matches!(stage.told(wait), Some(Ok(Answer::Settled(..)))));
    assert!(matches!(stage.told(poll), Some(Ok(Answer::Mail { messages, .. })) if messages.len() == 1));
    let late = stage.calls(Caller::Operator, Call::WaitTurn { turn, until });
    assert!(matches!(stage.told(late), Some(Ok(Answer::Settled(..)))));
    stage.after(Span::days(8));
    assert_eq!(stage.mail(None, 10).0.len(), 1);
}

#[test]
fn a_wait_ends_with_the_turn_with_its_time_or_with_its_caller() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    let (over, left) = (stage.leader_waits(turn), stage.leader_waits(turn));
    stage.step(Input::Leave(left));
    stage.after(Span::minutes(1));
    assert!(matches!(stage.told(over), Some(Ok(Answer::Open(_, questions))) if questions.is_empty()));
    assert_eq!(stage.told(left), None);
    assert_eq!(stage.fleet.waiting_callers(), 0);
    stage.replies(turn);
    assert_eq!(stage.receipt(turn), "queued handed settled", "the turn went on");
    assert_eq!(
        kind(stage.leader(Call::WaitTurn { turn: fleetd::fleet::ids::TurnId(9), until: stage.now })),
        RefusalKind::Unknown
    );
}

#[test]
fn the_same_key_and_body_make_the_same_turn_and_another_body_is_refused() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(keyed("k", "a")).expect("accepted");
    assert_eq!(stage.sends(keyed("k", "a")), Ok(turn));
    assert_eq!(kind(stage.sends(keyed("k", "b"))), RefusalKind::KeyConflict);
    let spawn = Call::Spawn { role: "w".into(), profile: None, key: keyed("k", "a").key };
    assert_eq!(kind(stage.leader(spawn)), RefusalKind::KeyConflict);
    let Ok(Answer::Accepted(other)) = stage.operator(Call::Send(keyed("k", "a"))) else { panic!("accepted") };
    assert_ne!(other.id, turn, "keys are per caller");
    stage.replies(turn);
    assert_eq!(stage.sends(keyed("k", "a")), Ok(turn), "also when it has ended");
    let (mail, _) = stage.mail(None, 1);
    stage.leader(Call::Ack(mail)).expect("acked");
    assert_eq!(kind(stage.sends(keyed("k", "a"))), RefusalKind::Conflict);
}

#[test]
fn a_key_is_forgotten_after_seven_days_over_a_restart() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(keyed("k", "a")).expect("accepted");
    stage.restart();
    stage.after(Span(7 * 86_400_000 - 1));
    assert_eq!(stage.sends(keyed("k", "a")), Ok(turn));
    stage.after(Span(1));
    assert_ne!(stage.sends(keyed("k", "a")), Ok(turn));
}

#[test]
fn a_refused_call_uses_no_key() {
    let mut stage = Stage::with(1);
    let wrong = SendCall { prompt: "".into(), ..keyed("k", "empty") };
    assert_eq!(kind(stage.sends(wrong)), RefusalKind::Invalid);
    assert!(stage.sends(keyed("k", "a")).is_ok());
}

#[test]
fn the_key_of_a_worker_that_is_gone_is_not_answered_with_another_one_of_its_name() {
    let mut stage = Stage::with(1);
    let spawn = |key: &str| spawn_with_key("s", key);
    stage.calls(Caller::Leader, spawn("mine"));
    stage.up("s-1");
    stage.gone("s-1");
    stage.after(Span::minutes(11));
    stage.calls(Caller::Leader, spawn("other"));
    stage.up("s-1");
    assert!(matches!(stage.leader(spawn("other")), Ok(Answer::Worker(_))), "that one is meant");
    stage.restart();
    assert_eq!(kind(stage.leader(spawn("mine"))), RefusalKind::Conflict);
}

#[test]
fn the_key_of_a_worker_without_a_session_is_not_answered_with_another_one_of_its_name_either() {
    let mut stage = Stage::with(1);
    let spawn = |key: &str| spawn_with_key("w", key);
    let name = |answer| match answer {
        Ok(Answer::Worker(worker)) => worker.name.to_string(),
        other => panic!("a spawn was answered with {other:?}"),
    };
    assert_eq!(name(stage.leader(spawn("mine"))), "w-1");
    assert_eq!(name(stage.leader(spawn("mine"))), "w-1", "it is still there");
    stage.leader(Call::Stop { worker: "w-1".into(), kill: false }).expect("it lives");
    assert_eq!(stage.worker("w-1"), "none");
    stage.after(Span::minutes(11));
    assert_eq!(name(stage.leader(spawn("other"))), "w-1");
    stage.restart();
    assert_eq!(name(stage.leader(spawn("other"))), "w-1", "that one is meant");
    assert_eq!(kind(stage.leader(spawn("mine"))), RefusalKind::Conflict);
}

fn spawn_with_key(role: &str, key: &str) -> Call {
    let key = Some(Keyed { key: key.into(), body: role.into(), request: None });
    Call::Spawn { role: role.into(), profile: None, key }
}
