//! `context_cap`: a full session is asked for a note and gives way to a fresh one of the same name.
//! The pure fleet on its stage; how the note is typed is tested at the launcher.

use std::sync::Arc;

use fleetd::fleet::caller::{Caller, Sender};
use fleetd::fleet::envelope::{Finish, Usage};
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Call, Effect, Sighting, WorkEffect};
use fleetd::fleet::life::ContextCap;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use fleetd::fleet::worker::{Worker, WorkerState};

use super::fleet_stage::{Stage, finish};

/// Returns a fleet with one session, spawned by hand, that is full after so many turns or 1000 tokens.
fn capped(turns: u32) -> Stage {
    let cap = ContextCap { turns: Some(turns), tokens: Some(1_000) };
    let mut stage =
        Stage::sessions(1, |profile| profile.context_cap = Some(cap), |limits| limits.start_stagger = Span(0));
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    stage
}

fn worker(stage: &Stage) -> Arc<Worker> {
    stage.fleet.worker(&"s-1".into()).expect("it keeps its name").clone()
}

/// Returns the turn in which the worker is asked for its note.
fn asked(stage: &Stage) -> TurnId {
    let own = stage.rows.values().rfind(|turn| turn.sender == Sender::Fleetd && turn.state.is_in_flight());
    own.expect("it is asked").id
}

fn note(stage: &mut Stage, text: &str) {
    let (turn, finish) = (asked(stage), Finish { text: text.into(), ..finish(Outcome::Replied) });
    stage.seen(Sighting::Finished { worker: "s-1".into(), turn, finish: Box::new(finish), idle: true });
}

/// Returns the note that goes before the turn that was handed last.
fn note_handed(stage: &Stage) -> Option<TurnId> {
    let handed = stage.last.effects.iter().find_map(|effect| match effect {
        Effect::Work(WorkEffect::Hand(worker, _)) => Some(worker.life.note()),
        _ => None,
    });
    handed.expect("something is handed")
}

#[test]
fn a_full_session_writes_a_note_and_a_fresh_one_of_the_same_name_begins_with_it() {
    let mut stage = capped(2);
    let turns: Vec<_> = (0..3).map(|_| stage.send("s")).collect();
    stage.replies(turns[0]);
    assert_eq!(stage.handed(), [turns[1]]);
    stage.replies(turns[1]);
    let own = asked(&stage);
    assert_eq!(stage.handed(), [own], "before the next turn");
    stage.taken(own);
    note(&mut stage, "half of it is done");
    assert_eq!(stage.orders().last().map(String::as_str), Some("stop s-1"));
    assert_eq!(stage.receipt(own), "queued handed submitted working settled collected", "it lies in nobody's mailbox");
    assert_eq!(stage.mail(None, 10).0.len(), 2, "the replies, and nothing of fleetd's own");
    assert_eq!(stage.waits(turns[2]), "starting: s-1 gets a fresh session");
    let before = worker(&stage);
    stage.gone("s-1");
    assert_eq!(stage.orders(), ["start s-1"]);
    assert!(worker(&stage).session > before.session);
    stage.up("s-1");
    assert_eq!(stage.handed(), [turns[2]]);
    assert_eq!(note_handed(&stage), Some(own));
    stage.taken(turns[2]);
    assert_eq!(worker(&stage).life.note(), None, "once");
    assert_eq!(worker(&stage).life.turns, 0);
}

#[test]
fn tokens_of_the_last_turn_count_as_well() {
    let mut stage = capped(100);
    for (input, cache_read, full) in [(100, 899, false), (100, 900, true)] {
        let turn = stage.send("s");
        let usage = Some(Usage { input, cache_read, output: 5_000, ..Usage::default() });
        let finish = Box::new(Finish { usage, ..finish(Outcome::Replied) });
        stage.seen(Sighting::Finished { worker: "s-1".into(), turn, finish, idle: true });
        assert_eq!(worker(&stage).life.is_ending(), full, "{input} and {cache_read}");
    }
}

#[test]
fn without_a_note_it_starts_anew_without_one() {
    for how in ["failed", "empty", "late", "died"] {
        let mut stage = capped(1);
        let turns = [stage.send("s"), stage.send("s-1")];
        stage.replies(turns[0]);
        match how {
            "failed" => drop(stage.ends(asked(&stage), Outcome::Failed)),
            "empty" => note(&mut stage, " \n"),
            "late" => {
                stage.after(Span::minutes(5));
                assert_eq!(stage.row(asked(&stage)).outcome, None, "it is not typed yet");
                stage.taken(asked(&stage));
                stage.after(Span::minutes(2));
                assert_eq!(stage.orders(), [format!("interrupt {} at s-1", asked_ended(&stage))]);
                stage.seen(Sighting::Idle { worker: "s-1".into() });
            }
            _ => {}
        }
        stage.gone("s-1");
        assert_eq!(stage.orders().last().map(String::as_str), Some("start s-1"), "{how}");
        stage.up("s-1");
        assert_eq!(stage.handed(), [turns[1]], "{how}: what waited for it alone is not lost");
        assert_eq!(note_handed(&stage), None, "{how}");
    }
}

fn asked_ended(stage: &Stage) -> TurnId {
    stage.rows.values().rfind(|turn| turn.sender == Sender::Fleetd).expect("it was asked").id
}

#[test]
fn a_note_that_was_not_taken_is_kept_for_the_next_hand_and_over_a_restart() {
    let mut stage = capped(1);
    let turns = [stage.send("s"), stage.send("s")];
    stage.replies(turns[0]);
    let own = asked(&stage);
    note(&mut stage, "a note");
    assert_eq!(stage.restart(), ["stop s-1"]);
    stage.gone("s-1");
    stage.up("s-1");
    stage.seen(Sighting::Held { worker: "s-1".into(), turn: turns[1], hand: 1, why: "a draft".into() });
    stage.restart();
    assert_eq!(stage.fleet.still_read(), [own], "however old it becomes");
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    assert_eq!((stage.handed(), note_handed(&stage)), (vec![turns[1]], Some(own)));
    stage.taken(turns[1]);
    assert!(stage.fleet.still_read().is_empty());
}

#[test]
fn a_draft_in_the_way_of_the_question_is_waited_for_and_not_lost() {
    let mut stage = capped(1);
    let turn = stage.send("s");
    stage.replies(turn);
    let own = asked(&stage);
    stage.seen(Sighting::Held { worker: "s-1".into(), turn: own, hand: 1, why: "a draft".into() });
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    assert_eq!(stage.handed(), [own], "it is asked again");
    stage.seen(Sighting::Held { worker: "s-1".into(), turn: own, hand: 2, why: "a draft".into() });
    stage.after(Span::minutes(3));
    assert_eq!((stage.row(own).outcome, stage.orders()), (None, vec![]), "nobody ends it over a draft");
    stage.restart();
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    assert_eq!(stage.handed(), [own], "and the draft does not cost the note");
    stage.taken(own);
    note(&mut stage, "a note");
    assert_eq!(stage.orders().last().map(String::as_str), Some("stop s-1"));
    stage.gone("s-1");
    assert_eq!(worker(&stage).life.note(), Some(own));
}

#[test]
fn a_pause_does_not_cost_the_note() {
    let mut stage = capped(1);
    let turn = stage.send("s");
    stage.replies(turn);
    let own = asked(&stage);
    stage.operator(Call::Pause).expect("the operator may");
    stage.seen(Sighting::Held { worker: "s-1".into(), turn: own, hand: 1, why: "paused".into() });
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    stage.after(Span::minutes(10));
    stage.operator(Call::Unpause).expect("the operator may");
    assert_eq!((stage.row(own).outcome, stage.handed()), (None, vec![own]));
    stage.taken(own);
    note(&mut stage, "a note");
    stage.gone("s-1");
    assert_eq!(worker(&stage).life.note(), Some(own));
}

#[test]
fn a_fresh_session_that_does_not_come_up_is_tried_again_with_all_that_waits() {
    let mut stage = capped(1);
    let turns = [stage.send("s"), stage.send("s-1")];
    stage.replies(turns[0]);
    let own = asked(&stage);
    note(&mut stage, "a note");
    stage.gone("s-1");
    stage.seen(Sighting::NotUp { worker: "s-1".into(), why: "no".into() });
    assert!(stage.waits(turns[1]).contains("backing off"), "{}", stage.waits(turns[1]));
    stage.after(Span::seconds(1));
    assert_eq!(stage.orders(), ["start s-1"]);
    stage.up("s-1");
    assert_eq!((stage.handed(), note_handed(&stage)), (vec![turns[1]], Some(own)));
}

#[test]
fn one_that_is_stopped_meanwhile_is_not_started_again() {
    let mut stage = capped(1);
    let turn = stage.send("s");
    stage.replies(turn);
    stage.leader(Call::Stop { worker: "s-1".into(), kill: false }).expect("the leader may");
    note(&mut stage, "a note");
    assert_eq!(stage.orders().first().map(String::as_str), Some("stop s-1"));
    stage.gone("s-1");
    assert_eq!(stage.worker("s-1"), "none");
}

#[test]
fn a_worker_cannot_ask_inside_a_turn_of_fleetds_own() {
    let mut stage = capped(1);
    let turn = stage.send("s");
    stage.replies(turn);
    let until = stage.now + Span::seconds(5);
    let caller = Caller::Worker { name: "s-1".into(), via_child: false };
    let own = Some(asked(&stage));
    let ticket = stage.calls(caller, Call::Ask { turn: own, text: "why?".into(), until, request: None });
    let refusal = stage.told(ticket).expect("at once").expect_err("nobody answers");
    assert!(refusal.message.contains("fleetd's own"), "{refusal}");
}

#[test]
fn a_fresh_session_that_fails_is_not_tried_for_a_role_that_is_gone() {
    let mut stage = capped(1);
    let turn = stage.send("s");
    stage.replies(turn);
    note(&mut stage, "a note");
    stage.gone("s-1");
    let mut without = (*stage.fleet.team().expect("there is one").clone()).clone();
    without.generation = fleetd::fleet::team::Generation { number: 2, hash: "2".into() };
    without.roles.remove(&"s".into());
    stage.step(fleetd::fleet::input::Input::Team(without.into()));
    stage.seen(Sighting::NotUp { worker: "s-1".into(), why: "no".into() });
    assert_eq!((stage.worker("s-1"), stage.orders()), ("none", vec![]));
}

#[test]
fn a_fresh_session_keeps_the_worktree_and_one_that_is_not_replaced_gives_it_up() {
    let cap = ContextCap { turns: Some(1), tokens: None };
    let with_tree = |profile: &mut fleetd::fleet::team::Profile| {
        profile.context_cap = Some(cap);
        profile.worktree = Some(Box::default());
    };
    let mut stage = Stage::sessions(1, with_tree, |limits| limits.start_stagger = Span(0));
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    let first = worker(&stage).session;
    for _ in 0..2 {
        let turn = stage.send("s");
        stage.replies(turn);
        stage.taken(asked(&stage));
        note(&mut stage, "a note");
        stage.gone("s-1");
        stage.up("s-1");
        assert_eq!(worker(&stage).life.tree, Some(first));
        assert!(worker(&stage).session > first);
    }
    let turn = stage.send("s");
    stage.replies(turn);
    note(&mut stage, "a note");
    let mut without = (*stage.fleet.team().expect("there is one").clone()).clone();
    without.generation = fleetd::fleet::team::Generation { number: 2, hash: "2".into() };
    without.roles.remove(&"s".into());
    stage.step(fleetd::fleet::input::Input::Team(without.into()));
    stage.gone("s-1");
    assert_eq!((stage.worker("s-1"), stage.orders()), ("none", vec!["stop s-1".to_owned()]), "its tree is put away");
}

#[test]
fn how_a_session_was_stopped_says_nothing_of_the_next_ones_turn() {
    let mut stage = capped(1);
    let turns = [stage.send("s"), stage.send("s")];
    stage.replies(turns[0]);
    let own = asked(&stage);
    stage.taken(own);
    stage.after(Span::minutes(2));
    assert_eq!(stage.orders(), [format!("interrupt {own} at s-1")], "the note took too long");
    stage.gone("s-1");
    stage.up("s-1");
    assert_eq!(stage.handed(), [turns[1]]);
    stage.taken(turns[1]);
    let finish = Box::new(finish(Outcome::Replied));
    stage.seen(Sighting::Finished { worker: "s-1".into(), turn: turns[1], finish, idle: false });
    // Doubled or late: this session took its turn and still works at something of its own.
    stage.seen(Sighting::Held { worker: "s-1".into(), turn: turns[1], hand: 1, why: "a draft".into() });
    assert_eq!(worker(&stage).state, WorkerState::Clearing);
}
