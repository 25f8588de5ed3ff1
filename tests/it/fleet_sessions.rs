//! Workers with a session: what is in the way of their next text, and what a restart asks of them.
//! The pure fleet on its stage: what a pane shows, and how that is seen, is tested at the launcher.

use fleetd::fleet::acts::Action;
use fleetd::fleet::caller::Caller;
use fleetd::fleet::input::{Call, Input, Sighting};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::turn::Outcome;
use fleetd::fleet::worker::Process;

use super::fleet_stage::{Stage, kind};

const DRAFT: &str = "a draft in the composer";

/// Returns a fleet with one session that is up.
fn one_session() -> Stage {
    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    stage
}

fn held(stage: &mut Stage, turn: fleetd::fleet::ids::TurnId, hand: usize) {
    stage.seen(Sighting::Held { worker: "s-1".into(), turn, hand, why: DRAFT.into() });
}

fn clear(stage: &mut Stage) {
    stage.seen(Sighting::Clear { worker: "s-1".into() });
}

#[test]
fn a_turn_that_was_not_typed_waits_again_and_says_why() {
    let mut stage = one_session();
    let (first, second) = (stage.send("s"), stage.send("s"));
    held(&mut stage, first, 1);
    assert_eq!(stage.worker("s-1"), "blocked");
    assert_eq!(stage.receipt(first), "queued handed queued");
    assert!(stage.waits(first).contains(DRAFT), "{}", stage.waits(first));
    assert!(stage.handed().is_empty(), "nothing is typed over a draft");
    clear(&mut stage);
    assert_eq!(stage.handed(), [first], "it keeps its place");
    assert!(stage.waits(second).contains("1 of 1"), "{}", stage.waits(second));
}

#[test]
fn a_late_word_about_an_earlier_hand_takes_nothing_back() {
    let mut stage = one_session();
    let turn = stage.send("s");
    held(&mut stage, turn, 1);
    clear(&mut stage);
    held(&mut stage, turn, 1);
    assert_eq!(stage.receipt(turn), "queued handed queued handed", "it may be typed by now");
    stage.taken(turn);
    held(&mut stage, turn, 1);
    assert_eq!(stage.receipt(turn), "queued handed queued handed submitted working");
}

#[test]
fn who_speaks_in_a_turn_that_was_not_typed_gets_it_no_second_time() {
    let mut stage = one_session();
    let turn = stage.send("s");
    let worker = Caller::Worker { name: "s-1".into(), via_child: false };
    stage.calls(worker, Call::Reply { turn: Some(turn), text: "a guess".into() });
    held(&mut stage, turn, 1);
    assert_eq!(stage.row(turn).outcome, Some(Outcome::Unknown));
    assert_eq!(stage.worker("s-1"), "ready");
}

#[test]
fn what_is_in_the_way_of_a_session_is_no_affair_of_a_turn_under_way() {
    let mut stage = one_session();
    let turn = stage.send("s");
    stage.taken(turn);
    stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "may I?".into() });
    assert_eq!(stage.worker("s-1"), "blocked");
    clear(&mut stage);
    assert_eq!(stage.worker("s-1"), "busy");
    stage.seen(Sighting::Unreachable { worker: "s-1".into(), why: "the pane host is gone".into() });
    assert_eq!(stage.worker("s-1"), "unreachable");
    stage.replies(turn);
    assert_eq!(stage.row(turn).outcome, Some(Outcome::Replied), "its proof counts whatever the pane shows");
}

#[test]
fn a_session_that_is_told_to_go_gets_no_turn_back() {
    let mut stage = one_session();
    let turn = stage.send("s");
    stage.leader(Call::Stop { worker: "s-1".into(), kill: false }).expect("the leader may");
    held(&mut stage, turn, 1);
    assert_eq!(stage.orders(), ["stop s-1"]);
    assert_eq!(stage.receipt(turn), "queued handed queued");
    stage.gone("s-1");
    assert_eq!(stage.row(turn).outcome, None, "it waits for another one of its role");
}

#[test]
fn a_session_that_is_told_to_go_behind_a_dialog_says_what_it_waits_for() {
    let mut stage = one_session();
    let turn = stage.send("s");
    stage.taken(turn);
    stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "may I?".into() });
    stage.leader(Call::Stop { worker: "s-1".into(), kill: false }).expect("the leader may");
    let shown = |stage: &Stage| {
        let worker = stage.fleet.roster(stage.now).workers[0].clone();
        (worker.state, worker.why)
    };
    assert_eq!(shown(&stage), ("draining".to_owned(), Some("may I?".to_owned())));
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    assert_eq!(shown(&stage), ("draining".to_owned(), None));
    stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "and now?".into() });
    stage.restart();
    assert_eq!(shown(&stage), ("draining".to_owned(), Some("and now?".to_owned())));
}

#[test]
fn a_handler_that_stops_a_worker_at_once_loses_its_turn() {
    let mut stage = one_session();
    let turn = stage.send("s");
    stage.taken(turn);
    stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "may I?".into() });
    stage.step(Input::Act(Action::StopWorker { worker: "s-1".into(), now: true }));
    assert_eq!(stage.row(turn).outcome, Some(Outcome::Lost));
    assert_eq!(stage.orders(), [format!("interrupt {turn} at s-1")]);
    let action = |json| serde_json::from_value::<Action>(json).expect("a handler may say so");
    let patient = action(serde_json::json!({ "action": "stop_worker", "worker": "s-1" }));
    assert_eq!(patient, Action::StopWorker { worker: "s-1".into(), now: false });
}

#[test]
fn a_session_that_must_not_go_on_is_stopped_its_turn_fails_and_the_leader_is_told() {
    let mut stage = one_session();
    let turn = stage.send("s");
    stage.taken(turn);
    stage.seen(Sighting::Broke { worker: "s-1".into(), why: "its settings moved".into() });
    assert_eq!(stage.row(turn).outcome, Some(Outcome::Failed));
    assert_eq!(stage.worker("s-1"), "draining");
    assert!(stage.orders().contains(&"stop s-1".to_owned()), "{:?}", stage.orders());
    let (mail, _) = stage.mail(None, 10);
    assert_eq!(mail.len(), 2, "the reply that failed, and the notice");
    let next = stage.send("s");
    assert!(!stage.handed().contains(&next), "it takes nothing more: {}", stage.waits(next));
}

#[test]
fn a_restart_looks_after_every_session_and_types_nothing_by_itself() {
    let mut stage = one_session();
    stage.seen(Sighting::Began { worker: "s-1".into(), process: Process { pid: 7, start: 9 } });
    assert_eq!(stage.restart(), ["watch s-1"]);
    assert_eq!(stage.fleet.worker(&"s-1".into()).and_then(|worker| worker.process), Some(Process { pid: 7, start: 9 }));
    let turn = stage.send("s");
    held(&mut stage, turn, 1);
    assert_eq!(stage.restart(), ["watch s-1"]);
    assert_eq!(stage.worker("s-1"), "blocked");
    assert_eq!(stage.receipt(turn), "queued handed queued");
    clear(&mut stage);
    assert_eq!(stage.handed(), [turn]);
    let orders = stage.restart();
    assert_eq!(orders, [format!("hand {turn} to s-1")], "the launcher finds out how it stands");
}

#[test]
fn a_sessions_own_reply_is_told_to_its_launcher() {
    let mut stage = one_session();
    let turn = stage.send("s");
    let worker = Caller::Worker { name: "s-1".into(), via_child: false };
    let early = stage.calls(worker.clone(), Call::Reply { turn: None, text: "of the turn before".into() });
    assert_eq!(kind(stage.told(early).expect("at once")), RefusalKind::Conflict, "the text is on its way");
    stage.taken(turn);
    stage.calls(worker, Call::Reply { turn: None, text: "done".into() });
    assert_eq!(stage.orders(), [format!("s-1 replied to {turn}")]);
    assert_eq!(stage.row(turn).outcome, None, "a reply ends no turn");
    stage.replies(turn);
    assert_eq!(&*stage.envelopes[&turn].text, "done");
}

#[test]
fn a_turn_that_is_taken_back_while_something_is_in_its_way_costs_no_session() {
    let mut stage = one_session();
    let turn = stage.send("s");
    stage.leader(Call::CancelTurn(turn)).expect("it is open");
    assert_eq!(stage.worker("s-1"), "clearing");
    // The launcher had given it back before it heard of that.
    held(&mut stage, turn, 1);
    assert_eq!((stage.worker("s-1"), stage.orders()), ("blocked", vec![format!("forget {turn}")]));
    stage.restart();
    stage.after(fleetd::fleet::time::Span::minutes(1));
    assert!(stage.orders().is_empty(), "nothing was typed, so nothing has to be stopped");
    let next = stage.send("s");
    clear(&mut stage);
    assert_eq!(stage.handed(), [next]);
}
