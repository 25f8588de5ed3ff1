//! Caps of endpoints, the number of workers of a role, and its hours: what waits for them, why, and since when not.
//! The pure fleet on its stage; what a charter may write of them is shown in `charter`, the caps of roles in `fleet_queue`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::hours::{Between, Days, Hours, WallClock, Window};
use fleetd::fleet::input::{Call, Input, SendCall};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::team::{Role, Team};
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::Priority;

use super::fleet_stage::{Stage, kind, send_to, sessions, team};

/// The charter of a generation whose roles `w` and `v` (processes) and `s` (sessions) share an endpoint.
fn shared(number: u64, change: impl FnOnce(&mut Team)) -> Input {
    let mut team = (*team(number, 3)).clone();
    let (profile, role) = (team.profiles[&"pw".into()].clone(), team.roles[&"w".into()].clone());
    team.profiles.insert("pv".into(), fleetd::fleet::team::Profile { name: "pv".into(), ..profile });
    team.roles.insert("v".into(), Role { name: "v".into(), profiles: vec!["pv".into()], ..role });
    for profile in team.profiles.values_mut() {
        profile.endpoint = Some("llm".into());
    }
    change(&mut team);
    Input::Team(team.into())
}

fn stage(cap: u32) -> Stage {
    let mut stage = Stage::sessions(1, |_| {}, |limits| limits.endpoints = BTreeMap::from([("llm".into(), Some(cap))]));
    stage.step(shared(2, |_| {}));
    stage
}

fn role<'t>(team: &'t mut Team, name: &str) -> &'t mut Role {
    team.roles.get_mut(&name.into()).expect("it is there")
}

fn spawn(stage: &mut Stage, role: &str) -> fleetd::fleet::ids::Ticket {
    stage.calls(Caller::Leader, Call::Spawn { role: role.into(), profile: None, key: None })
}

// === endpoints ===

/// Else it shows only after sessions have failed.
#[test]
fn a_profile_whose_endpoint_nobody_lists_is_told_of() {
    let said_by = |known: &str| {
        let mut stage = Stage::sessions(1, |_| {}, |limits| limits.endpoints = BTreeMap::from([(known.into(), None)]));
        stage.step(shared(2, |_| {}));
        stage.fleet.unlisted_endpoints()
    };
    assert_eq!(said_by("llm"), [""; 0]);
    let said = said_by("lllm");
    let wanted = "profile 'ps' cannot start: there is no endpoint 'llm' in fleetd.toml; did you mean 'lllm'?";
    assert!(said.contains(&wanted.to_owned()), "{said:?}");
}

#[test]
fn roles_on_one_endpoint_share_its_cap_and_the_lower_one_counts() {
    let mut stage = stage(2);
    let (w, v) = (stage.send("w"), stage.send("v"));
    let waiting = stage.send("w");
    assert_eq!((stage.worker("w-1"), stage.worker("v-1"), stage.worker("w-2")), ("busy", "busy", "none"));
    assert_eq!(stage.waits(waiting), "cap of endpoint 'llm': 2 of 2 workers on it are busy");
    stage.replies(v);
    assert_eq!(stage.handed(), [waiting], "what one role gives free another takes");
    stage.step(shared(3, |team| role(team, "w").max_busy = 2));
    let capped = stage.send("w");
    assert_eq!(stage.waits(capped), "cap: 2 of 2 workers of 'w' are busy", "the role's own is said first");
    stage.replies(w);
    assert_eq!(stage.handed(), [capped]);
}

#[test]
fn a_place_on_an_endpoint_goes_to_each_role_in_turn_and_to_what_is_urgent_first() {
    let mut stage = stage(1);
    let first = stage.send("v");
    let (v, w) = ([stage.send("v"), stage.send("v")], [stage.send("w"), stage.send("w")]);
    let urgent = stage.sends(SendCall { priority: Priority::Now, ..send_to("v") }).expect("accepted");
    let mut order = Vec::new();
    let mut ends = first;
    for _ in 0..5 {
        stage.replies(ends);
        ends = stage.handed()[0];
        order.push(ends);
    }
    assert_eq!(order, [urgent, w[0], v[0], w[1], v[1]]);
}

#[test]
fn what_is_urgent_and_cannot_go_gives_its_role_no_other_ones_place() {
    let mut stage = stage(2);
    let (_long, ends) = (stage.send("v"), stage.send("w"));
    let urgent = stage.sends(SendCall { priority: Priority::Now, ..send_to("v-1") }).expect("accepted");
    let (v, w) = ([stage.send("v"), stage.send("v")], [stage.send("w"), stage.send("w")]);
    assert!(stage.waits(urgent).starts_with("busy: v-1 has turn"), "{}", stage.waits(urgent));
    let (mut ends, mut order) = (ends, Vec::new());
    for _ in 0..4 {
        stage.replies(ends);
        ends = stage.handed()[0];
        order.push(ends);
    }
    assert_eq!(order, [v[0], w[0], v[1], w[1]]);
}

#[test]
fn a_full_endpoint_starts_no_session_and_hands_none_to_one_that_is_free() {
    let mut stage = stage(1);
    spawn(&mut stage, "s");
    stage.up("s-1");
    let w = stage.send("w");
    let (to_role, to_worker) = (stage.send("s"), stage.send("s-1"));
    let why = "cap of endpoint 'llm': 1 of 1 workers on it are busy";
    assert_eq!((stage.waits(to_role), stage.waits(to_worker)), (why.into(), why.into()));
    assert_eq!(stage.fleet.workers().count(), 2, "no other session was started");
    stage.replies(w);
    assert_eq!(stage.handed(), [to_role]);
}

#[test]
fn a_profile_without_that_endpoint_is_not_bound_by_it() {
    let mut stage = stage(1);
    stage.send("v");
    stage.step(shared(3, |team| team.profiles.get_mut(&"pw".into()).expect("there").endpoint = None));
    stage.send("w");
    stage.send("w");
    assert_eq!((stage.worker("w-1"), stage.worker("w-2")), ("busy", "busy"));
}

#[test]
fn a_process_counts_on_the_endpoint_that_the_newest_charter_gives_it() {
    let mut stage = stage(1);
    let first = stage.send("w");
    stage.replies(first);
    stage.step(shared(3, |team| team.profiles.get_mut(&"pw".into()).expect("there").endpoint = None));
    stage.send("v");
    let free = stage.send("w");
    assert_eq!(stage.handed(), [free], "w-1 idles, and works without the endpoint now");
    stage.step(shared(4, |_| {}));
    stage.replies(free);
    let bound = stage.send("w");
    assert_eq!(stage.waits(bound), "cap of endpoint 'llm': 1 of 1 workers on it are busy");
}

#[test]
fn what_is_busy_on_an_endpoint_is_counted_over_a_restart() {
    let mut stage = stage(2);
    let turns = [stage.send("w"), stage.send("v")];
    stage.restart();
    let waiting = stage.send("w");
    assert_eq!(stage.waits(waiting), "cap of endpoint 'llm': 2 of 2 workers on it are busy");
    stage.replies(turns[1]);
    assert_eq!(stage.handed(), [waiting]);
}

#[test]
fn a_full_endpoint_lets_a_queue_fill_up_to_its_limit() {
    let mut stage = stage(1);
    stage.send("v");
    for _ in 0..3 {
        stage.send("w");
    }
    assert_eq!(kind(stage.sends(send_to("w"))), RefusalKind::QueueFull);
}

// === how many live ===

#[test]
fn max_workers_bounds_what_lives_idle_ones_included() {
    let mut stage = Stage::with(3);
    let mut few = (*team(2, 3)).clone();
    role(&mut few, "w").max_workers = Some(2);
    role(&mut few, "s").max_workers = Some(1);
    stage.step(Input::Team(few.clone().into()));
    let turns = [stage.send("w"), stage.send("w"), stage.send("w")];
    assert_eq!(stage.waits(turns[2]), "cap: 2 workers of 'w' live, and its max_workers is 2");
    let asked = spawn(&mut stage, "w");
    let refusal = stage.told(asked).expect("at once").expect_err("too many");
    assert_eq!(refusal.kind, RefusalKind::QueueFull);
    assert_eq!(refusal.message, "2 workers of 'w' live already, and its max_workers is 2");
    stage.replies(turns[0]);
    assert_eq!(stage.handed(), [turns[2]]);

    spawn(&mut stage, "s");
    stage.up("s-1");
    let asked = spawn(&mut stage, "s");
    assert_eq!(kind(stage.told(asked).expect("at once")), RefusalKind::QueueFull, "an idle one counts");
}

#[test]
fn max_workers_above_max_busy_replaces_a_session_that_is_in_the_way() {
    let mut stage = Stage::sessions(1, |_| {}, |limits| limits.start_stagger = Span(0));
    spawn(&mut stage, "s");
    stage.up("s-1");
    stage.seen(fleetd::fleet::input::Sighting::Blocked { worker: "s-1".into(), why: "a dialog".into() });
    let waiting = stage.send("s");
    assert_eq!(stage.waits(waiting), "blocked: s-1, a dialog");
    let mut more = (**stage.fleet.team().expect("there")).clone();
    more.generation.number = 2;
    role(&mut more, "s").max_workers = Some(2);
    stage.step(Input::Team(more.into()));
    assert_eq!(stage.orders(), ["start s-2"], "a save counts at once");
    stage.up("s-2");
    assert_eq!(stage.handed(), [waiting]);
}

#[test]
fn a_lowered_max_workers_shrinks_by_attrition_and_leaves_what_was_spawned_by_hand() {
    let mut stage = Stage::with(3);
    spawn(&mut stage, "w");
    let turns: Vec<_> = (0..3).map(|_| stage.send("w")).collect();
    let mut one = (*team(2, 3)).clone();
    role(&mut one, "w").max_workers = Some(1);
    stage.step(Input::Team(one.into()));
    assert_eq!(stage.orders(), [""; 0], "nothing that runs is touched");
    for turn in turns {
        stage.replies(turn);
    }
    assert_eq!(["w-1", "w-2", "w-3"].map(|name| stage.worker(name).to_owned()), ["ready", "none", "none"]);
}

#[test]
fn a_lowered_cap_lets_only_those_go_that_are_too_many() {
    let mut stage = Stage::sessions(3, |_| {}, |limits| limits.start_stagger = Span(0));
    let turns: Vec<_> = (0..3).map(|_| stage.send("s")).collect();
    for (name, turn) in ["s-1", "s-2", "s-3"].into_iter().zip(turns) {
        stage.up(name);
        stage.replies(turn);
    }
    stage.step(Input::Team(sessions(2, 2, |_| {})));
    assert_eq!(stage.orders(), ["stop s-1"], "it still lives, but is not one of those that stay");
    let turn = stage.send("s");
    stage.replies(turn);
    assert_eq!(stage.orders(), [format!("forget {turn}")], "and nobody goes for it a second time");
}

// === hours ===

fn window(between: &str, days: Days, max_busy: Option<u32>) -> Window {
    Window { between: Some(Between::parse(between).expect("valid")), days, max_busy }
}

fn hours(team: &mut Team, name: &str, closes: bool, windows: Vec<Window>) {
    role(team, name).hours = Some(Arc::new(Hours { windows, closes, clock: WallClock::default() }));
}

/// The stage opens 16 min 40 s after midnight of 1970-01-01, UTC.
fn night(team: &mut Team, name: &str) {
    hours(team, name, true, vec![window("22:00-06:00", Days::ALL, None)]);
}

fn at_night(number: u64) -> Input {
    let mut team = (*team(number, 1)).clone();
    night(&mut team, "w");
    night(&mut team, "s");
    Input::Team(team.into())
}

#[test]
fn outside_of_its_hours_a_role_is_handed_nothing_and_says_until_when() {
    let mut stage = Stage::with(1);
    stage.step(at_night(2));
    let first = stage.send("w");
    assert_eq!(stage.handed(), [first], "it is night");
    stage.now = Time(8 * 3_600_000);
    stage.replies(first);
    let waiting = stage.send("w");
    assert_eq!(stage.handed(), []);
    assert_eq!(stage.waits(waiting), "closed: 'w' is handed nothing until 22:00 (in 14h00m)");
    assert_eq!(stage.fleet.load(stage.now).roles[&"w".into()].free, 0);
    assert_eq!(stage.fleet.next_wake(), Some(Time(8 * 3_600_000 + 300_000)), "w-1 idles first");
    stage.after(Span::minutes(30));
    assert_eq!(stage.fleet.next_wake(), Some(Time(22 * 3_600_000)), "and wakes by itself when it opens");
    stage.after(Span::minutes(13 * 60 + 30));
    assert_eq!(stage.handed(), [waiting]);
}

#[test]
fn a_turn_under_way_goes_on_when_the_hours_end_and_a_save_opens_at_once() {
    let mut stage = Stage::with(1);
    stage.step(at_night(2));
    let first = stage.send("w");
    let second = stage.send("w");
    stage.now = Time(6 * 3_600_000);
    assert_eq!(stage.step(Input::Tick).effects.len(), 0, "06:00 ends nothing");
    stage.replies(first);
    assert_eq!(stage.receipt(first), "queued handed settled");
    assert_eq!(stage.handed(), []);
    stage.step(Input::Team(team(3, 1)));
    assert_eq!(stage.handed(), [second]);
    let third = stage.send("w");
    stage.step(at_night(4));
    stage.replies(second);
    assert_eq!(stage.waits(third), "closed: 'w' is handed nothing until 22:00 (in 16h00m)");
}

#[test]
fn no_session_is_started_outside_of_the_hours_unless_by_hand() {
    let mut stage = Stage::with(1);
    stage.now = Time(12 * 3_600_000);
    stage.step(at_night(2));
    let waiting = stage.send("s");
    assert_eq!(stage.worker("s-1"), "none");
    spawn(&mut stage, "s");
    stage.up("s-1");
    let direct = stage.send("s-1");
    assert_eq!(stage.handed(), []);
    assert_eq!(stage.waits(direct), "closed: 's' is handed nothing until 22:00 (in 10h00m)");
    stage.restart();
    assert_eq!(stage.fleet.next_wake(), Some(Time(22 * 3_600_000)), "a restart times the opening anew");
    stage.after(Span::minutes(10 * 60));
    assert_eq!(stage.handed(), [waiting]);
}

/// Three at night, from Monday to Friday; else one. 1970-01-01 was a Thursday.
fn more_at_night(number: u64) -> Input {
    let mut team = (*team(number, 1)).clone();
    let days = Days::parse("mon-fri").expect("valid");
    hours(&mut team, "w", false, vec![window("22:00-06:00", days, Some(3))]);
    Input::Team(team.into())
}

#[test]
fn a_window_raises_the_cap_when_it_begins_and_lowers_it_by_attrition() {
    let mut stage = Stage::with(1);
    stage.now = Time(20 * 3_600_000);
    stage.step(more_at_night(2));
    let turns: Vec<_> = (0..4).map(|_| stage.send("w")).collect();
    assert_eq!(stage.waits(turns[1]), "cap: 1 of 1 workers of 'w' are busy; 3 from 22:00 on (in 2h00m)");
    assert_eq!(stage.fleet.next_wake(), Some(Time(22 * 3_600_000)));
    let load = stage.fleet.load(stage.now).roles[&"w".into()].clone();
    assert_eq!((load.max_busy, load.open, load.until), (1, true, Some(Time(22 * 3_600_000))));
    stage.after(Span::minutes(120));
    assert_eq!(stage.handed(), turns[1..3], "it wakes by itself and hands out as many as the window lets");
    assert_eq!(stage.waits(turns[3]), "cap: 3 of 3 workers of 'w' are busy");
    stage.now = Time(30 * 3_600_000);
    assert_eq!(stage.step(Input::Tick).effects.len(), 0, "06:00 ends nothing");
    for turn in &turns[..2] {
        stage.replies(*turn);
        assert_eq!(stage.handed(), [], "more are busy than the cap lets");
        assert_eq!(stage.receipt(*turn), "queued handed settled");
    }
    assert_eq!(stage.waits(turns[3]), "cap: 1 of 1 workers of 'w' are busy; 3 from 22:00 on (in 16h00m)");
    stage.replies(turns[2]);
    assert_eq!(stage.handed(), [turns[3]]);
}

#[test]
fn a_closed_weekend_says_on_which_day_it_ends() {
    let mut stage = Stage::with(1);
    stage.now = Time(2 * 86_400_000 + 12 * 3_600_000);
    let mut weekdays = (*team(2, 1)).clone();
    let days = Days::parse("mon-fri").expect("valid");
    hours(&mut weekdays, "w", true, vec![Window { between: None, days, max_busy: None }]);
    stage.step(Input::Team(weekdays.into()));
    let waiting = stage.send("w");
    assert_eq!(
        stage.waits(waiting),
        "closed: 'w' is handed nothing until mon 00:00 (in 36h00m)",
        "it is Saturday noon"
    );
    assert_eq!(stage.fleet.next_wake(), Some(Time(4 * 86_400_000)));
    stage.after(Span::minutes(36 * 60));
    assert_eq!(stage.handed(), [waiting]);
}

#[test]
fn hours_go_by_the_wall_when_the_machine_slept_and_deadlines_do_not() {
    let mut stage = Stage::with(1);
    stage.now = Time(12 * 3_600_000);
    stage.step(at_night(2));
    let deadline = Some(Span::minutes(60));
    let waiting = stage.sends(SendCall { deadline, ..send_to("w") }).expect("accepted");
    // The machine sleeps from noon to 22:00; the fleet's time does not.
    stage.after(Span::minutes(30));
    assert_eq!(stage.handed(), []);
    stage.step(Input::Wall(10 * 3_600_000 - 30 * 60_000));
    assert_eq!(stage.handed(), [waiting], "it is 22:00, and half an hour of its deadline has passed");
    stage.replies(waiting);
    // It slept on until the morning.
    stage.step(Input::Wall(20 * 3_600_000));
    let next = stage.send("w");
    assert_eq!(stage.waits(next), "closed: 'w' is handed nothing until 22:00 (in 13h30m)");
    let opens = Time(stage.now.0 + 13 * 3_600_000 + 30 * 60_000);
    let load = stage.fleet.load(stage.now).roles[&"w".into()].clone();
    assert_eq!(load.until, Some(opens), "a rubric sees it beside `task.now`, which is the fleet's own time");
    stage.after(Span::minutes(10));
    assert_eq!(stage.fleet.next_wake(), Some(opens), "timed by the fleet's own time");
}
