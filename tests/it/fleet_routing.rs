//! What a turn keeps of its routing, which files a session knows, and how the team stands for rubrics.
//! The pure fleet on its stage; that rubrics are asked and what they see of it is shown in `charter`.

use fleetd::fleet::caller::Caller;
use fleetd::fleet::envelope::Usage;
use fleetd::fleet::input::{Call, Input, SendCall, Sighting};
use fleetd::fleet::life::ContextCap;
use fleetd::fleet::load::{Used, WorkerLoad};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::team::{Address, Asked, Decision, Routed};
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;

use super::fleet_stage::{Stage, finish, kind, send_to, sessions, team};

fn about(to: &str, files: &[&str]) -> SendCall {
    SendCall { files: files.iter().map(|file| (*file).to_owned()).collect(), ..send_to(to) }
}

fn knows(stage: &Stage, worker: &str) -> Vec<String> {
    stage.fleet.load(stage.now).workers[&worker.into()].knows.clone()
}

fn session() -> Stage {
    let mut stage = Stage::sessions(2, |_| {}, |limits| limits.endpoints = [("llm".to_owned(), Some(2))].into());
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    stage
}

#[test]
fn a_session_knows_the_files_of_its_last_turns_the_latest_first() {
    let mut stage = session();
    for files in [&["a", "b"][..], &["c"], &["b", "d"]] {
        let turn = stage.sends(about("s", files)).expect("accepted");
        stage.replies(turn);
    }
    assert_eq!(knows(&stage, "s-1"), ["b", "d", "c", "a"]);
    stage.restart();
    assert_eq!(knows(&stage, "s-1"), ["b", "d", "c", "a"], "a restart of fleetd is none of the session");
    let many: Vec<String> = (0..64).map(|n| format!("f{n}")).collect();
    let turn = stage.sends(about("s", &many.iter().map(String::as_str).collect::<Vec<_>>())).expect("accepted");
    stage.replies(turn);
    assert_eq!(knows(&stage, "s-1").len(), 32);
}

#[test]
fn a_process_and_a_fresh_session_know_nothing() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(about("w", &["a"])).expect("accepted");
    stage.replies(turn);
    assert_eq!(knows(&stage, "w-1"), [""; 0]);

    let mut stage = session();
    stage.step(Input::Team(sessions(2, 1, |profile| {
        profile.context_cap = Some(ContextCap { turns: Some(1), tokens: None });
    })));
    let turn = stage.sends(about("s-1", &["a"])).expect("accepted");
    stage.replies(turn);
    assert_eq!(knows(&stage, "s-1"), ["a"]);
    let note = stage.handed()[0];
    stage.replies(note);
    stage.gone("s-1");
    stage.up("s-1");
    assert_eq!(knows(&stage, "s-1"), [""; 0]);
}

#[test]
fn bad_names_of_files_are_refused() {
    let mut stage = Stage::with(1);
    assert_eq!(kind(stage.sends(about("w", &["a\nb"]))), RefusalKind::Invalid);
    assert_eq!(kind(stage.sends(about("w", &["a"; 65]))), RefusalKind::Invalid);
    assert_eq!(stage.fleet.turns().count(), 0);
}

#[test]
fn a_turn_keeps_who_was_asked_and_so_does_its_retry() {
    let mut stage = Stage::with(1);
    let asked =
        Asked { rubric: "all".into(), at: "r.lua:1".into(), verdict: Default::default(), said: "w: all".into() };
    let (to, because) = (Address::Role("w".into()), "all".to_owned());
    let routed = Routed { to, because, rubric: "all".into(), role: None, asked: vec![asked], generation: 1 };
    let decision = Decision::from(routed);
    let call = SendCall { routed: Some(Box::new(decision.clone())), because: Some("all".into()), ..send_to("w") };
    let turn = stage.sends(call).expect("accepted");
    assert_eq!(stage.row(turn).routed.as_deref(), Some(&decision));
    stage.restart();
    assert_eq!(stage.fleet.turn(turn).expect("kept").routed.as_deref(), Some(&decision));
    stage.ends(turn, Outcome::TimedOut);
    stage.step(Input::Act(fleetd::fleet::acts::Action::RetryTurn { turn }));
    let again = stage.fleet.turns().last().expect("tried again").clone();
    assert_eq!((again.retry_of, again.routed.as_deref()), (Some(turn), Some(&decision)));
}

/// A send that the rubrics gave to one worker of role `s`.
fn given_to(worker: &str) -> SendCall {
    let decision = Decision { rubric: "knows".into(), role: Some("s".into()), asked: Vec::new(), generation: 1 };
    SendCall { routed: Some(Box::new(decision)), because: Some("it knows".into()), ..send_to(worker) }
}

#[test]
fn what_the_rubrics_gave_to_a_worker_goes_to_its_role_when_that_is_gone() {
    let mut stage = session();
    let busy = stage.send("s-1");
    let (routed, addressed) = (stage.sends(given_to("s-1")).expect("accepted"), stage.send("s-1"));
    let later = stage.send("s");
    assert_eq!(stage.waits(routed), format!("busy: s-1 has turn {busy}"));
    stage.gone("s-1");
    assert_eq!(stage.envelopes[&addressed].outcome, Outcome::Failed, "who named the worker meant it alone");
    assert_eq!(stage.row(routed).to, Address::Role("s".into()));
    assert_eq!(
        stage.row(routed).receipt.last().and_then(|stamp| stamp.note.clone()).as_deref(),
        Some("s-1 is gone; now for any of s")
    );
    stage.restart();
    stage.after(Span::seconds(5));
    let name = stage.fleet.workers().next().expect("one is started for them").name.to_string();
    stage.up(&name);
    assert_eq!(stage.handed(), [routed], "and it keeps its place before {later}");

    let late = stage.sends(given_to("s-9")).expect("it was there when the rubrics were asked");
    assert_eq!(stage.row(late).to, Address::Role("s".into()));
    stage.step(Input::Team({
        let mut without = (*team(5, 1)).clone();
        without.roles.remove(&"s".into());
        without.into()
    }));
    assert_eq!(kind(stage.sends(given_to("s-9"))), RefusalKind::Unknown);
}

#[test]
fn the_load_counts_what_failed_and_what_was_used_lately() {
    let mut stage = session();
    let mut on_llm = (**stage.fleet.team().expect("there")).clone();
    on_llm.generation.number = 2;
    on_llm.profiles.get_mut(&"ps".into()).expect("there").endpoint = Some("llm".into());
    stage.step(Input::Team(on_llm.into()));
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.after(Span::seconds(1));
    stage.up("s-2");
    let turn = stage.send("s-2");
    let usage = Usage { input: 10, output: 3, cache_read: 5, cache_write: 1, context: None, cost: Some(0.5) };
    let told = fleetd::fleet::envelope::Finish { usage: Some(usage), ..finish(Outcome::Failed) };
    stage.seen(Sighting::Finished { worker: "s-2".into(), turn, finish: Box::new(told), idle: true });
    let turn = stage.send("s-2");
    stage.replies(turn);
    let used = Used { turns: 2, input: 16, output: 3, cost: 0.5 };
    let load = stage.fleet.load(stage.now);
    let (role, llm) = (&load.roles[&"s".into()], &load.endpoints["llm"]);
    assert_eq!((role.recent_failures, role.used), (1, used));
    assert_eq!((llm.recent_failures, llm.used, llm.max_busy, llm.busy, llm.free), (1, used, Some(2), 0, Some(2)));
    stage.after(Span::minutes(10));
    let load = stage.fleet.load(stage.now);
    assert_eq!((load.endpoints["llm"].recent_failures, load.roles[&"s".into()].used), (0, used));
    stage.after(Span::minutes(51));
    assert_eq!(stage.fleet.load(stage.now).roles[&"s".into()].used, Used::default());
}

/// A role whose queue does not move looks as unwell as one whose workers fail.
#[test]
fn the_load_counts_what_timed_out_in_the_queue() {
    let mut stage = session();
    stage.operator(Call::Pause).expect("a person may");
    let failures = |stage: &Stage| stage.fleet.load(stage.now).roles[&"s".into()].recent_failures;
    for to in ["s", "s-1"] {
        stage.sends(SendCall { deadline: Some(Span::seconds(5)), ..send_to(to) }).expect("there is room");
    }
    let cancelled = stage.send("s");
    stage.leader(Call::CancelTurn(cancelled)).expect("it waits");
    assert_eq!(failures(&stage), 0);
    stage.after(Span::seconds(5));
    assert_eq!(failures(&stage), 2);
}

#[test]
fn free_is_what_could_be_handed_out_now() {
    let mut stage = session();
    let free = |stage: &Stage| {
        let load = stage.fleet.load(stage.now);
        (load.roles[&"s".into()].free, load.workers[&"s-1".into()].free)
    };
    assert_eq!(free(&stage), (2, true));
    let turn = stage.send("s");
    assert_eq!(free(&stage), (1, false));
    stage.replies(turn);
    stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "a dialog".into() });
    assert_eq!(free(&stage), (1, false), "it takes one of the places");
    stage.step(Input::Act(fleetd::fleet::acts::Action::ParkRole { role: "s".into(), r#for: Span::minutes(5) }));
    assert_eq!(free(&stage), (0, false));
    stage.step(Input::Team(team(9, 1)));
    let worker: &WorkerLoad = &stage.fleet.load(stage.now).workers[&"s-1".into()];
    assert_eq!((worker.role.as_str(), worker.profile.as_str(), worker.state.as_str()), ("s", "ps", "blocked"));
}

#[test]
fn it_goes_to_its_role_also_when_the_charter_is_not_read_yet() {
    let mut stage = session();
    stage.send("s-1");
    let routed = stage.sends(given_to("s-1")).expect("accepted");
    let (_, team) = stage.restart_before_charter();
    stage.gone("s-1");
    assert_eq!(stage.row(routed).to, Address::Role("s".into()));
    stage.step(Input::Team(team.expect("there was one")));
    assert_eq!(stage.row(routed).outcome, None);
}
