//! `fleetd pause`: nothing is handed out, what runs goes on, and a restart changes nothing of it; and `reap`.
//! The pure fleet on its stage; that nothing is typed is tested at the launcher.

use fleetd::fleet::caller::{Caller, Sender};
use fleetd::fleet::input::{Answer, Call, Input, SendCall, Sighting};
use fleetd::fleet::mail::About;
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use fleetd::fleet::worker::Process;

use super::fleet_stage::{Stage, kind, send_to};

fn pool() -> Stage {
    Stage::sessions(2, |_| {}, |limits| limits.start_stagger = Span(0))
}

#[test]
fn nothing_is_handed_out_before_it_is_resumed_and_what_runs_goes_on() {
    let mut stage = pool();
    let running = stage.send("w");
    stage.operator(Call::Pause).expect("the operator may");
    assert_eq!(stage.orders(), ["type nothing"]);
    let waiting = [stage.send("w"), stage.send("s")];
    stage.after(Span::minutes(3));
    assert_eq!(stage.waits(waiting[0]), "paused: by the operator 3m00s ago; fleetd resume goes on");
    assert_eq!(stage.worker("s-1"), "none", "no session is started for what is not handed out");
    stage.replies(running);
    assert_eq!((stage.row(running).outcome, stage.handed()), (Some(Outcome::Replied), vec![]));
    let again = stage.leader(Call::Pause).expect("the leader may");
    assert!(matches!(again, Answer::Paused(Some(pause)) if pause.by == Sender::Operator), "it is the same pause");
    stage.leader(Call::Unpause).expect("the leader may");
    assert_eq!(stage.orders(), ["type again", &format!("hand {} to w-1", waiting[0]), "start s-1"]);
    assert_eq!(stage.leader(Call::Unpause), Ok(Answer::Paused(None)));
    assert_eq!(stage.orders(), [""; 0]);
}

#[test]
fn a_worker_may_not_pause() {
    let mut stage = pool();
    stage.send("w");
    for call in [Call::Pause, Call::Unpause] {
        let ticket = stage.calls(Caller::Worker { name: "w-1".into(), via_child: false }, call);
        assert_eq!(kind(stage.told(ticket).expect("at once")), RefusalKind::NotAllowed);
    }
}

#[test]
fn a_restart_stays_paused_and_tells_the_launcher_first() {
    let mut stage = pool();
    stage.send("s");
    stage.up("s-1");
    stage.operator(Call::Pause).expect("the operator may");
    let waiting = stage.send("w");
    let orders = stage.restart();
    assert_eq!(orders.first().map(String::as_str), Some("type nothing"));
    assert!(stage.waits(waiting).starts_with("paused"), "{}", stage.waits(waiting));
    assert_eq!(stage.fleet.roster(stage.now).paused.map(|pause| pause.by), Some(Sender::Operator));
}

#[test]
fn what_the_launcher_held_back_goes_out_first_after_the_pause() {
    let mut stage = pool();
    let turn = stage.send("s");
    stage.up("s-1");
    stage.operator(Call::Pause).expect("the operator may");
    stage.seen(Sighting::Held { worker: "s-1".into(), turn, hand: 1, why: "fleetd is paused".into() });
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    assert_eq!(stage.handed(), []);
    stage.operator(Call::Unpause).expect("the operator may");
    assert_eq!(stage.handed(), [turn]);
}

#[test]
fn nobody_is_nudged_meanwhile() {
    let mut stage = pool();
    let sitter = fleetd::fleet::seat::Sitter::Process(Process { pid: 7, start: 1 });
    stage.leader(Call::TakeSeat(sitter)).expect("it is free");
    let turn = stage.send("w");
    stage.operator(Call::Pause).expect("the operator may");
    stage.replies(turn);
    stage.after(Span::minutes(10));
    assert_eq!(stage.orders(), [""; 0]);
    stage.operator(Call::Unpause).expect("the operator may");
    stage.after(Span::minutes(1));
    assert_eq!(stage.orders(), ["tell process 7 of 1"]);
}

// === reap ===

#[test]
fn with_reap_the_sessions_of_the_last_daemon_are_stopped_and_it_is_told() {
    let mut stage = pool();
    let turns = [stage.send("s"), stage.send("s")];
    stage.up("s-1");
    stage.up("s-2");
    stage.taken(turns[0]);
    let process = stage.send("w");
    stage.fleet = fleetd::fleet::Fleet::restore(stage.fleet.saved(), fleetd::fleet::Limits::default());
    stage.step(Input::Reap);
    assert_eq!(stage.row(turns[0]).outcome, Some(Outcome::Lost));
    assert_eq!(stage.row(turns[1]).outcome, Some(Outcome::Unknown), "nobody knows whether it was typed");
    assert!(stage.row(turns[0]).why.as_ref().is_some_and(|why| why.contains("on_restart")));
    let notice = stage.fleet.messages().any(|message| match &message.about {
        About::Notice(text) => {
            message.to == Sender::Leader && text.starts_with("2 sessions of the last fleetd were stopped (s-1, s-2)")
        }
        _ => false,
    });
    assert!(notice, "the leader is told");
    assert_eq!(stage.restart(), ["stop s-1", "stop s-2", &format!("hand {process} to w-1")]);
    stage.gone("s-1");
    stage.gone("s-2");
    assert_eq!(stage.fleet.workers().count(), 1);
}

#[test]
fn with_reap_what_a_process_left_is_heard_before_its_deadline_counts() {
    let mut stage = pool();
    let deadline = Some(Span::minutes(5));
    let own = stage.sends(SendCall { deadline, ..send_to("w") }).expect("accepted");
    stage.taken(own);
    let (session, waits) = (stage.send("s"), stage.send("w"));
    stage.up("s-1");
    stage.fleet = fleetd::fleet::Fleet::restore(stage.fleet.saved(), fleetd::fleet::Limits::default());
    stage.now = stage.row(own).deadline.expect("it has one") + Span::seconds(1);
    let step = stage.step(Input::Reap);
    assert!(step.effects.iter().all(|effect| !format!("{effect:?}").contains("Hand(")), "{:?}", step.effects);
    assert_eq!((stage.row(own).outcome, stage.row(waits).outcome), (None, None));
    assert!(stage.row(session).outcome.is_some(), "its session is stopped");
    stage.restart();
    stage.replies(own);
    assert_eq!(stage.row(own).outcome, Some(Outcome::Replied), "it had ended well while nobody looked");
}
