//! Elastic pools of sessions: started for turns that wait, spaced, within the memory of the machine, and gone when idle.
//! The pure fleet on its stage, in virtual time; real sessions are in `sessions`.

use fleetd::fleet::caller::Caller;
use fleetd::fleet::input::{Call, Input, Sighting};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;

use super::fleet_stage::{Stage, kind, sessions};

/// Returns a pool of so many sessions, whose starts are not spaced.
fn pool(max_busy: u32) -> Stage {
    Stage::sessions(max_busy, |profile| profile.timeout = None, |limits| limits.start_stagger = Span(0))
}

fn spawn(stage: &mut Stage) -> fleetd::fleet::ids::Ticket {
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None })
}

fn memory(stage: &mut Stage, mib: u64) {
    stage.seen(Sighting::Memory { available: Some(mib << 20) });
}

#[test]
fn a_turn_that_nobody_can_take_starts_a_session_and_waits_for_it() {
    let mut stage = pool(2);
    let turn = stage.send("s");
    assert_eq!(stage.orders(), ["start s-1"], "and nothing is handed to it yet");
    assert_eq!(stage.waits(turn), "starting: s-1");
    stage.after(Span::seconds(30));
    assert_eq!(stage.orders(), [""; 0]);
    stage.up("s-1");
    assert_eq!(stage.orders(), [format!("hand {turn} to s-1")]);
}

#[test]
fn several_turns_start_several_sessions_and_those_on_the_way_count() {
    let mut stage = pool(3);
    let turns: Vec<_> = (0..5).map(|_| stage.send("s")).collect();
    let workers = ["s-1", "s-2", "s-3"];
    assert!(workers.iter().all(|name| stage.worker(name) == "starting"), "one for each turn, up to max_busy");
    assert_eq!(stage.fleet.workers().count(), 3);
    for (name, turn) in workers.iter().zip(&turns) {
        stage.up(name);
        assert_eq!(stage.handed(), [*turn]);
    }
    assert!(stage.waits(turns[3]).starts_with("cap: 3 of 3"), "{}", stage.waits(turns[3]));
    stage.replies(turns[0]);
    assert_eq!(stage.handed(), [turns[3]], "who is there takes the next one, and nobody more is started");
    assert_eq!(stage.fleet.workers().count(), 3);
}

#[test]
fn a_session_that_is_free_or_spawned_by_hand_takes_the_turn_and_no_other_is_started() {
    let mut stage = pool(4);
    spawn(&mut stage);
    let turn = stage.send("s");
    assert_eq!(stage.fleet.workers().count(), 1, "one is on its way already");
    stage.up("s-1");
    assert_eq!(stage.handed(), [turn]);
    stage.replies(turn);
    stage.send("s");
    assert_eq!(stage.fleet.workers().count(), 1);
}

#[test]
fn an_idle_session_goes_after_its_idle_ttl_unless_somebody_spawned_it() {
    let limits = |limits: &mut fleetd::fleet::Limits| limits.start_stagger = Span(0);
    let mut stage = Stage::sessions(2, |profile| profile.idle_ttl = Some(Span::minutes(3)), limits);
    spawn(&mut stage);
    stage.up("s-1");
    let turns = [stage.send("s"), stage.send("s")];
    stage.up("s-2");
    for turn in turns {
        stage.replies(turn);
    }
    stage.after(Span::minutes(2));
    assert_eq!(stage.orders(), [""; 0]);
    stage.after(Span::minutes(2));
    assert_eq!(stage.orders(), ["stop s-2"]);
    stage.gone("s-2");
    stage.after(Span::days(1));
    assert_eq!((stage.worker("s-1"), stage.worker("s-2")), ("ready", "none"));
}

#[test]
fn one_that_came_up_for_a_turn_that_was_withdrawn_goes_when_it_idles() {
    let mut stage = pool(1);
    let turn = stage.send("s");
    stage.leader(Call::CancelTurn(turn)).expect("it waits");
    stage.up("s-1");
    stage.after(Span::minutes(6));
    assert_eq!(stage.orders(), ["stop s-1"]);
}

#[test]
fn what_was_not_started_yet_is_dropped_when_nothing_waits_any_more() {
    let mut stage = Stage::sessions(2, |_| {}, |_| {});
    let turns = [stage.send("s"), stage.send("s")];
    assert_eq!(stage.worker("s-2"), "starting");
    stage.leader(Call::CancelTurn(turns[1])).expect("it waits");
    stage.after(Span::seconds(1));
    assert_eq!((stage.orders(), stage.worker("s-2")), (vec![], "none"));
}

#[test]
fn a_lowered_cap_shrinks_the_pool_as_sessions_become_free() {
    let mut stage = pool(3);
    let turns: Vec<_> = (0..3).map(|_| stage.send("s")).collect();
    for name in ["s-1", "s-2", "s-3"] {
        stage.up(name);
    }
    stage.step(Input::Team(sessions(2, 1, |_| {})));
    assert_eq!(stage.orders(), [""; 0], "nothing running is killed by a save");
    stage.replies(turns[0]);
    assert_eq!(stage.orders().first().map(String::as_str), Some("stop s-1"));
    stage.gone("s-1");
    stage.replies(turns[1]);
    stage.gone("s-2");
    stage.replies(turns[2]);
    assert_eq!(stage.worker("s-3"), "ready");
}

#[test]
fn no_more_workers_than_the_limit_and_the_reason_names_the_way_out() {
    let mut stage = Stage::sessions(4, |_| {}, |limits| (limits.max_workers, limits.start_stagger) = (1, Span(0)));
    let turns = [stage.send("s"), stage.send("s")];
    stage.up("s-1");
    assert_eq!(stage.handed(), [turns[0]]);
    assert_eq!(
        stage.waits(turns[1]),
        "limit: 1 workers live, which is limits.max_workers of fleetd.toml; stop one (fleetd stop NAME) or raise it"
    );
}

#[test]
fn a_parked_role_starts_nothing() {
    let mut stage = pool(1);
    let action = fleetd::fleet::acts::Action::ParkRole { role: "s".into(), r#for: Span::minutes(5) };
    stage.step(Input::Act(action));
    let turn = stage.send("s");
    assert_eq!(stage.orders(), [""; 0]);
    assert!(stage.waits(turn).starts_with("parked"));
    stage.after(Span::minutes(6));
    assert_eq!(stage.orders(), ["start s-1"]);
}

// === the gap between two starts ===

#[test]
fn starts_are_spaced_and_say_so_and_processes_are_not() {
    let mut stage = Stage::sessions(3, |_| {}, |_| {});
    let turns: Vec<_> = (0..3).map(|_| stage.send("s")).collect();
    assert_eq!(stage.orders(), [""; 0], "the first one was started with the first turn");
    assert_eq!(stage.waits(turns[2]), "starting: s-1");
    let why = |stage: &Stage, name: &str| {
        let worker = stage.fleet.worker(&name.into()).expect("it is there").clone();
        stage.fleet.view_worker(&worker, stage.now).why
    };
    assert_eq!(why(&stage, "s-1"), None);
    assert_eq!(why(&stage, "s-2").as_deref(), Some("its start waits for the gap of 500ms after the last one"));
    assert_eq!(why(&stage, "s-3").as_deref(), Some("one start goes before its own, 500ms apart"));
    stage.after(Span(499));
    assert_eq!(stage.orders(), [""; 0]);
    stage.after(Span(1));
    assert_eq!(stage.orders(), ["start s-2"]);
    stage.after(Span(500));
    assert_eq!(stage.orders(), ["start s-3"]);
    stage.send("w");
    assert_eq!(stage.handed().len(), 1, "a process is no session");
}

#[test]
fn a_spawn_by_hand_takes_its_place_among_the_starts_and_a_stop_takes_it_out() {
    let mut stage = Stage::sessions(1, |_| {}, |_| {});
    let tickets = [spawn(&mut stage), spawn(&mut stage), spawn(&mut stage)];
    stage.leader(Call::Stop { worker: "s-2".into(), kill: false }).expect("the leader may");
    stage.gone("s-2");
    assert_eq!(kind(stage.told(tickets[1]).expect("it is gone")), RefusalKind::PeerUnreachable);
    stage.after(Span(500));
    assert_eq!(stage.orders(), ["start s-3"]);
}

#[test]
fn a_restart_gives_again_what_was_ordered_and_goes_on_with_the_others() {
    let mut stage = Stage::sessions(2, |_| {}, |_| {});
    stage.send("s");
    stage.send("s");
    assert_eq!(stage.restart(), ["start s-1"]);
    assert_eq!(stage.orders(), ["start s-2"], "with the charter, since nobody knows of a start before it");
}

// === memory ===

#[test]
fn no_session_is_started_while_the_machine_has_too_little_memory() {
    let mut stage = Stage::sessions(2, |_| {}, |limits| limits.memory_floor = 512 << 20);
    let turn = stage.send("s");
    assert_eq!(stage.orders(), ["read the memory"]);
    assert_eq!(stage.waits(turn), "starting: s-1, its start waits for the gap of 500ms after the last one");
    memory(&mut stage, 511);
    assert_eq!(stage.orders(), [""; 0]);
    assert_eq!(
        stage.waits(turn),
        "starting: s-1, memory: 511 MiB available, and limits.memory_floor of fleetd.toml is 512 MiB"
    );
    stage.after(Span::seconds(5));
    assert_eq!(stage.orders(), ["read the memory"], "it is looked again");
    memory(&mut stage, 512);
    assert_eq!(stage.orders(), ["start s-1"]);
    stage.send("s");
    stage.after(Span::seconds(1));
    assert_eq!(stage.orders(), ["read the memory"], "what was read before a start counts no more");
    stage.seen(Sighting::Memory { available: None });
    assert_eq!(stage.orders(), ["start s-2"], "a machine that does not tell is no obstacle");
    stage.after(Span::minutes(1));
    assert_eq!(stage.orders(), [""; 0], "who wants no start reads no memory");
}

#[test]
fn an_answer_that_never_comes_is_asked_for_again() {
    let mut stage = Stage::sessions(1, |_| {}, |limits| limits.memory_floor = 1);
    stage.send("s");
    stage.after(Span::seconds(4));
    assert_eq!(stage.orders(), [""; 0]);
    stage.after(Span::seconds(1));
    assert_eq!(stage.orders(), ["read the memory"]);
}

#[test]
fn who_spawns_by_hand_is_told_of_the_memory_at_once() {
    let mut stage = Stage::sessions(1, |_| {}, |limits| limits.memory_floor = 512 << 20);
    let ticket = spawn(&mut stage);
    memory(&mut stage, 100);
    let refusal = stage.told(ticket).expect("it is answered").expect_err("it is refused");
    assert_eq!(refusal.kind, RefusalKind::Unavailable);
    assert!(refusal.to_string().contains("100 MiB available"), "{refusal}");
    assert_eq!(stage.worker("s-1"), "none");
}

#[test]
fn a_turn_lost_with_its_session_is_not_sent_again_and_the_next_one_gets_another() {
    let mut stage = pool(1);
    let turns = [stage.send("s"), stage.send("s")];
    stage.up("s-1");
    stage.taken(turns[0]);
    stage.after(Span::minutes(2));
    stage.gone("s-1");
    assert_eq!(stage.row(turns[0]).outcome, Some(Outcome::Lost));
    assert_eq!(stage.orders().last().map(String::as_str), Some("start s-2"));
    stage.up("s-2");
    assert_eq!(stage.handed(), [turns[1]]);
}
