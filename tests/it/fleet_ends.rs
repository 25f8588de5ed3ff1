//! How turns end when they do not simply end: deadlines, cancels, deaths, and what comes too late.
//! A turn can end before its process does, so what the worker is told is looked at as well as the envelope.

use fleetd::fleet::input::{Answer, Call, Input, SendCall, Sighting};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;

use super::fleet_stage::{Stage, finish, kind, send_to};

fn with_deadline(seconds: u64) -> SendCall {
    SendCall { deadline: Some(Span::seconds(seconds)), ..send_to("w") }
}

#[test]
fn a_deadline_in_the_queue_ends_a_turn_that_nobody_ever_had() {
    let mut stage = Stage::with(1);
    stage.send("w");
    let waits = stage.sends(with_deadline(5)).expect("accepted");
    stage.after(Span::seconds(5));
    assert_eq!(stage.receipt(waits), "queued settled");
    let envelope = &stage.envelopes[&waits];
    assert_eq!((envelope.outcome, envelope.from.worker.is_none()), (Outcome::TimedOut, true));
    assert_eq!(envelope.why.as_deref(), Some("no worker took it within 5s: cap: 1 of 1 workers of 'w' are busy"));
    assert!(stage.orders().is_empty(), "there is nobody to interrupt");
}

#[test]
fn a_deadline_in_flight_interrupts_and_the_worker_takes_nothing_before_it_is_idle() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(with_deadline(5)).expect("accepted");
    stage.taken(turn);
    let next = stage.send("w");
    stage.after(Span::seconds(5));
    assert_eq!(stage.orders(), ["interrupt t1 at w-1"]);
    assert_eq!(stage.worker("w-1"), "clearing");
    assert_eq!(stage.waits(next), "cap: 1 of 1 workers of 'w' are busy");
    stage.replies(turn);
    assert_eq!(stage.orders(), ["forget t1", "hand t2 to w-1"]);
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::TimedOut, "the reply came too late");
}

#[test]
fn a_worker_that_does_not_listen_is_stopped_after_a_grace() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(with_deadline(5)).expect("accepted");
    stage.taken(turn);
    stage.after(Span::seconds(5));
    assert!(stage.after(Span::seconds(9)).effects.is_empty());
    stage.after(Span::seconds(1));
    assert_eq!(stage.orders(), ["stop w-1"]);
    let next = stage.send("w");
    stage.replies(turn); // it listens after all, but is being stopped: it takes nothing more
    assert_eq!(stage.handed(), [next]);
    assert_eq!((stage.worker("w-1"), stage.worker("w-2")), ("none", "busy"));
}

#[test]
fn a_turn_that_ends_while_its_worker_still_looks_busy_frees_it_when_it_is_idle() {
    let mut stage = Stage::with(1);
    stage.calls(fleetd::fleet::caller::Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    let (turn, next) = (stage.send("s"), stage.send("s"));
    stage.taken(turn);
    let finish = Box::new(finish(Outcome::Replied));
    stage.seen(Sighting::Finished { worker: "s-1".into(), turn, finish, idle: false });
    assert_eq!(stage.receipt(turn), "queued handed submitted working settled");
    assert!(stage.handed().is_empty());
    stage.seen(Sighting::Idle { worker: "s-1".into() });
    assert_eq!(stage.handed(), [next]);
}

#[test]
fn an_idle_sighting_does_not_end_a_turn_under_way() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    stage.seen(Sighting::Idle { worker: "w-1".into() });
    assert_eq!(stage.receipt(turn), "queued handed submitted working");
}

#[test]
fn the_timeout_of_a_profile_counts_from_the_proof_that_the_text_was_taken() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.after(Span::seconds(100));
    stage.taken(turn);
    stage.after(Span::seconds(34));
    assert_eq!(stage.receipt(turn), "queued handed submitted working");
    stage.after(Span::seconds(1));
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::TimedOut);
    assert_eq!(stage.orders(), ["interrupt t1 at w-1"]);
}

#[test]
fn a_cancel_withdraws_interrupts_or_comes_too_late() {
    let mut stage = Stage::with(1);
    let (runs, waits) = (stage.send("w"), stage.send("w"));
    stage.leader(Call::CancelTurn(waits)).expect("it waits");
    assert_eq!(stage.receipt(waits), "queued settled");
    stage.operator(Call::CancelTurn(runs)).expect("it runs");
    assert_eq!(stage.orders(), ["interrupt t1 at w-1"]);
    assert_eq!(stage.envelopes[&runs].why.as_deref(), Some("cancelled by operator"));
    let again = stage.leader(Call::CancelTurn(runs)).expect("the same again");
    assert!(matches!(again, Answer::Settled(turn, _) if turn.outcome == Some(Outcome::Cancelled)));
    stage.replies(runs);
    let ended = stage.send("w");
    stage.replies(ended);
    assert_eq!(kind(stage.leader(Call::CancelTurn(ended))), RefusalKind::Conflict);
    assert_eq!(kind(stage.leader(Call::CancelTurn(fleetd::fleet::ids::TurnId(99)))), RefusalKind::Unknown);
}

#[test]
fn a_worker_that_dies_loses_what_it_was_seen_to_take_and_leaves_the_rest_unknown() {
    let mut stage = Stage::with(2);
    let (taken, unproven) = (stage.send("w"), stage.send("w"));
    let only_it = stage.send("w-1");
    stage.taken(taken);
    stage.gone("w-1");
    stage.gone("w-2");
    assert_eq!(stage.envelopes[&taken].outcome, Outcome::Lost);
    assert_eq!(stage.envelopes[&unproven].outcome, Outcome::Unknown);
    assert_eq!(stage.envelopes[&only_it].outcome, Outcome::Failed);
    assert_eq!(stage.envelopes[&only_it].why.as_deref(), Some("worker w-1 is gone: killed"));
}

#[test]
fn late_and_doubled_sightings_change_nothing() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.taken(turn);
    stage.taken(turn);
    stage.replies(turn);
    let next = stage.send("w");
    for outcome in [Outcome::Replied, Outcome::Failed] {
        stage.ends(turn, outcome);
        assert_eq!(stage.orders(), ["forget t1"], "its files may go, and that is all");
    }
    stage.taken(turn);
    assert_eq!(stage.receipt(next), "queued handed");
    assert_eq!(stage.receipt(turn), "queued handed submitted working settled");
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::Replied);
}

#[test]
fn evidence_goes_before_a_deadline_that_passes_right_after_a_restart() {
    let mut stage = Stage::with(2);
    let (ended, silent) = (with_deadline(5), with_deadline(5));
    let (ended, silent) = (stage.sends(ended).expect("accepted"), stage.sends(silent).expect("accepted"));
    stage.taken(ended);
    stage.taken(silent);
    stage.now = stage.now + Span(4_900);
    stage.restart();
    // Its launcher has to look first, and that takes longer than what is left of the time.
    stage.after(Span::seconds(1));
    stage.replies(ended);
    assert_eq!(stage.envelopes[&ended].outcome, Outcome::Replied, "it ended while nobody looked");
    stage.after(Span::seconds(4));
    assert_eq!(stage.envelopes[&silent].outcome, Outcome::TimedOut, "and of the other nothing was seen");
}

#[test]
fn a_session_that_was_told_to_stop_its_turn_is_looked_at_after_a_restart_before_it_is_ended() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(SendCall { deadline: Some(Span::minutes(1)), ..send_to("s") }).expect("accepted");
    stage.up("s-1");
    stage.taken(turn);
    stage.after(Span::minutes(1));
    assert_eq!(stage.orders(), [format!("interrupt {turn} at s-1")]);
    // The daemon is away for longer than the worker has to become idle.
    stage.now = stage.now + Span::minutes(1);
    assert_eq!(stage.restart(), [format!("interrupt {turn} at s-1")]);
    assert_eq!((stage.orders(), stage.worker("s-1")), (Vec::<String>::new(), "clearing"));
    let mut idle = stage.fleet.clone();
    idle.step(stage.now, Input::Seen(Sighting::Idle { worker: "s-1".into() }));
    assert_eq!(idle.worker(&"s-1".into()).map(|worker| worker.state.word()), Some("ready"), "it was idle all the time");
    stage.after(Span::seconds(5));
    assert_eq!(stage.orders(), ["stop s-1"], "it was not");
}

#[test]
fn the_last_moment_is_that_of_what_is_open() {
    let mut stage = Stage::with(1);
    let moment = |stage: &Stage| stage.fleet.saved().last_moment();
    let began = stage.now;
    let (first, waits) = (stage.send("w"), stage.send("w"));
    stage.after(Span::seconds(5));
    assert_eq!(moment(&stage), began, "nothing happened since");
    stage.taken(first);
    assert_eq!(moment(&stage), stage.now);
    stage.after(Span::seconds(5));
    stage.replies(first);
    stage.replies(waits);
    assert_eq!(moment(&stage), stage.now, "the worker is idle from now on");
    let run = stage.runs(None);
    stage.after(Span::days(1));
    assert_eq!(stage.worker("w-1"), "none");
    stage.reach(run, "sleep#1", fleetd::fleet::run::StepRequest::Sleep(Span::days(1)));
    assert_eq!(moment(&stage), stage.now);
    stage.after(Span::days(1));
    stage.code_ends(run, fleetd::fleet::run::RunOutcome::Done, serde_json::Value::Null);
    assert_eq!(moment(&stage), fleetd::fleet::time::Time(0), "what only lies in a mailbox does not hold time up");
}
