//! What waits, why, and in which order it goes.
//! The reasons are compared word for word: people read them, so a change of one is a change of what fleetd says.

use fleetd::fleet::input::{Answer, Call, Input, SendCall};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::{Outcome, Priority};

use super::fleet_stage::{Stage, kind, send_to, team};

#[test]
fn a_turn_that_can_start_is_handed_in_the_step_that_accepts_it() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    assert_eq!(stage.orders(), ["hand t1 to w-1"]);
    stage.taken(turn);
    stage.replies(turn);
    assert_eq!(stage.receipt(turn), "queued handed submitted working settled");
    assert_eq!(&*stage.envelopes[&turn].text, "done");
}

#[test]
fn every_wait_has_a_reason() {
    let mut stage = Stage::bare();
    assert_eq!(stage.sends(send_to("w")).expect_err("no charter").message, "no charter is loaded");
    stage.step(Input::Team(team(1, 1)));
    let first = stage.send("w");
    let capped = stage.send("w");
    let busy = stage.send("w-1");
    let nobody = stage.send("s");
    assert_eq!(stage.waits(first), "");
    assert_eq!(stage.waits(capped), "cap: 1 of 1 workers of 'w' are busy");
    assert_eq!(stage.waits(busy), "busy: w-1 has turn t1");
    let starting = stage.send("s-1");
    assert_eq!(stage.waits(nobody), "starting: s-1");
    assert_eq!(stage.waits(starting), "starting: s-1");
    stage.step(Input::Drain);
    assert_eq!(stage.waits(capped), "draining: fleetd is shutting down");
    assert_eq!(kind(stage.sends(send_to("w"))), RefusalKind::Unavailable);
    stage.restart();
    let mut without = (*team(2, 1)).clone();
    without.roles.remove(&"w".into());
    stage.step(Input::Team(without.into()));
    let why = "role 'w' was removed by generation 2; what waits for it fails in 1m00s unless it comes back";
    assert_eq!(stage.waits(capped), why);
}

#[test]
fn a_view_tells_how_many_go_first_and_since_when() {
    let mut stage = Stage::with(1);
    stage.send("w");
    stage.send("w");
    let third = stage.send("w");
    stage.after(Span::seconds(5));
    let view = stage.fleet.view_turn(&stage.row(third), stage.now);
    assert_eq!((view.ahead, view.age_ms), (Some(1), 5_000));
}

#[test]
fn each_sender_has_its_turn() {
    let mut stage = Stage::with(1);
    let first = stage.send("w");
    let second = stage.send("w");
    let third = stage.send("w");
    let Ok(Answer::Accepted(other)) = stage.operator(Call::Send(send_to("w"))) else { panic!("accepted") };
    let mut order = Vec::new();
    for turn in [first, second, other.id, third] {
        stage.replies(turn);
        order.extend(stage.handed());
    }
    assert_eq!(order, [second, other.id, third], "the operator's one message waits for one of the leader's");
}

#[test]
fn what_is_urgent_goes_first_and_in_its_own_order() {
    let mut stage = Stage::with(1);
    let first = stage.send("w");
    let normal = stage.send("w");
    let urgent = SendCall { priority: Priority::Now, ..send_to("w") };
    let urgent: Vec<_> = (0..2).map(|_| stage.sends(urgent.clone()).expect("accepted")).collect();
    for (ends, next) in [(first, urgent[0]), (urgent[0], urgent[1]), (urgent[1], normal)] {
        stage.replies(ends);
        assert_eq!(stage.handed(), [next]);
    }
}

#[test]
fn a_full_queue_refuses_and_says_what_its_limit_is() {
    let mut stage = Stage::with(1);
    for _ in 0..4 {
        stage.send("w"); // one is handed, three wait
    }
    let refusal = stage.sends(send_to("w")).expect_err("the queue is full");
    assert_eq!(refusal.kind, RefusalKind::QueueFull);
    assert_eq!(refusal.message, "3 messages wait for 'w' already, which is its max_waiting");
}

#[test]
fn bad_sends_are_refused_with_what_would_be_right() {
    let mut stage = Stage::with(1);
    let empty = SendCall { prompt: " \n".into(), ..send_to("w") };
    let large = SendCall { prompt: "x".repeat((1 << 20) + 1).into(), ..send_to("w") };
    assert_eq!(kind(stage.sends(empty)), RefusalKind::Invalid);
    assert_eq!(kind(stage.sends(large)), RefusalKind::TooLarge);
    let refusal = stage.sends(send_to("ww")).expect_err("no such role");
    assert_eq!(refusal.to_string(), "there is no role 'ww'; did you mean 'w'?; valid: s, w");
    let refusal = stage.sends(send_to("w-7")).expect_err("no such worker");
    assert_eq!(refusal.to_string(), "there is no worker 'w-7'; there is no worker at all yet");
    assert_eq!(stage.fleet.turns().count(), 0, "what was refused left nothing behind");
}

#[test]
fn a_role_starts_workers_by_itself_up_to_its_cap_and_lets_them_go_when_idle() {
    let mut stage = Stage::with(2);
    let turns: Vec<_> = (0..3).map(|_| stage.send("w")).collect();
    assert_eq!((stage.worker("w-1"), stage.worker("w-2"), stage.worker("w-3")), ("busy", "busy", "none"));
    for turn in turns {
        stage.ends(turn, Outcome::Failed);
    }
    assert_eq!((stage.worker("w-1"), stage.worker("w-2")), ("ready", "ready"));
    stage.after(Span::minutes(5));
    assert_eq!((stage.worker("w-1"), stage.worker("w-2")), ("none", "none"));
    assert!(stage.orders().is_empty());
}

#[test]
fn the_name_of_a_worker_that_is_gone_rests_before_it_is_given_again() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    stage.gone("w-1");
    let next = stage.send("w");
    assert_eq!(stage.handed(), [next]);
    assert_eq!(stage.worker("w-2"), "busy");
    stage.gone("w-1"); // a second report of the same death is about nobody
    assert_eq!(stage.worker("w-2"), "busy");
    stage.replies(next);
    stage.after(Span::minutes(11));
    stage.send("w");
    assert_eq!(stage.worker("w-1"), "busy");
}
