//! A saved charter changes the next decision and kills nothing; a restart loses nothing.
//! The teams are made by hand; that a file becomes such a team is shown in `charter`.

use fleetd::fleet::acts::Action;
use fleetd::fleet::caller::Caller;
use fleetd::fleet::difference::{Difference, between};
use fleetd::fleet::input::{Call, Input};
use fleetd::fleet::team::Team;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;

use super::fleet_stage::{Stage, part, team};

fn changed(number: u64, max_busy: u32, change: impl FnOnce(&mut Team)) -> Input {
    let mut team = (*team(number, max_busy)).clone();
    change(&mut team);
    Input::Team(team.into())
}

fn no_w(number: u64) -> Team {
    let mut team = (*team(number, 1)).clone();
    team.roles.remove(&"w".into());
    team
}

#[test]
fn a_lowered_cap_shrinks_by_attrition() {
    let mut stage = Stage::with(3);
    let turns: Vec<_> = (0..5).map(|_| stage.send("w")).collect();
    stage.step(Input::Team(team(2, 1)));
    assert!(stage.orders().is_empty(), "nothing that runs is touched");
    stage.replies(turns[0]);
    stage.replies(turns[1]);
    assert!(stage.handed().is_empty(), "one of one is busy still");
    assert_eq!((stage.worker("w-1"), stage.worker("w-2")), ("none", "none"));
    stage.replies(turns[2]);
    assert_eq!(stage.handed(), [turns[3]]);
    stage.step(Input::Team(team(3, 2)));
    assert_eq!(stage.handed(), [turns[4]], "a raised cap counts at once");
}

#[test]
fn a_removed_profile_drains() {
    let mut stage = Stage::with(2);
    let turn = stage.send("w");
    stage.step(changed(2, 2, |team| drop(team.roles.remove(&"w".into()))));
    assert_eq!(stage.worker("w-1"), "draining");
    stage.replies(turn);
    assert_eq!(stage.envelopes[&turn].outcome, Outcome::Replied);
    assert_eq!(stage.worker("w-1"), "none");
}

#[test]
fn a_worker_that_comes_up_after_its_role_was_removed_goes_again() {
    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.step(changed(2, 1, |team| drop(team.roles.remove(&"s".into()))));
    assert!(stage.orders().is_empty());
    stage.up("s-1");
    assert_eq!(stage.orders(), ["stop s-1"]);
}

#[test]
fn what_waits_for_a_removed_role_fails_unless_that_is_undone_within_a_minute() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let (busy, queued, only_it) = (stage.send("w"), stage.send("w"), stage.send("w-1"));
    stage.reach(run, "send#1", part("w", None, 3));
    let without = |number| Input::Team(no_w(number).into());
    let mut difference = Difference { changes: between(&team(1, 1), &no_w(2)), ..Difference::default() };
    stage.fleet.foresee(&mut difference);
    let words: Vec<&str> = difference.changes.iter().map(|change| change.words.as_str()).collect();
    let waits = "; 2 messages and 1 step that wait for it fail 1m00s later";
    assert!(words.iter().any(|words| words.ends_with(waits)), "{words:?}");

    stage.step(without(2));
    stage.after(Span::seconds(20));
    let why = "role 'w' was removed by generation 2; what waits for it fails in 40s unless it comes back";
    assert_eq!(stage.waits(queued), why);
    // It is undone, and later done again: what waits has its minute again.
    stage.step(Input::Team(team(3, 1)));
    stage.after(Span::seconds(50));
    assert!(!stage.waits(queued).contains("removed"), "{}", stage.waits(queued));
    stage.step(without(4));
    stage.after(Span(59_999));
    assert!(stage.envelopes.is_empty());
    stage.after(Span(1));
    for turn in [queued, only_it] {
        let envelope = &stage.envelopes[&turn];
        assert_eq!(envelope.outcome, Outcome::Failed);
        assert_eq!(envelope.why.as_deref(), Some("role 'w' was removed by generation 4"));
    }
    let step = stage.answered(run);
    assert_eq!((step[0].0.as_str(), &step[0].1["error"]), ("send#1", &serde_json::json!("failed")), "{step:?}");
    stage.replies(busy);
    assert_eq!((stage.envelopes[&busy].outcome, stage.worker("w-1")), (Outcome::Replied, "none"));
}

#[test]
fn a_worker_that_stayed_for_a_message_of_a_removed_role_goes_with_it_also_after_a_restart() {
    let mut stage = Stage::with(1);
    let first = stage.send("w");
    stage.replies(first);
    stage.step(Input::Act(Action::ParkRole { role: "w".into(), r#for: Span::days(1) }));
    let only_it = stage.send("w-1");
    stage.step(Input::Team(no_w(2).into()));
    assert_eq!(stage.worker("w-1"), "ready", "a message waits for it");
    stage.restart();
    stage.after(Span::minutes(1));
    assert_eq!(stage.envelopes[&only_it].outcome, Outcome::Failed);
    assert_eq!(stage.worker("w-1"), "none");
}

#[test]
fn a_changed_profile_counts_from_the_next_process_on() {
    let mut stage = Stage::with(1);
    let first = stage.send("w");
    let second = stage.send("w");
    stage.step(changed(2, 1, |team| {
        let profile = team.profiles.get_mut(&"pw".into()).expect("it is there");
        profile.command = vec!["tac".to_string()];
    }));
    let command = |stage: &Stage| stage.fleet.workers().next().map(|worker| worker.profile.command.clone());
    assert_eq!(command(&stage), Some(vec!["cat".to_string()]));
    stage.replies(first);
    assert_eq!(stage.handed(), [second]);
    assert_eq!(command(&stage), Some(vec!["tac".to_string()]));
}

#[test]
fn a_session_keeps_its_profile_when_the_charter_makes_it_a_process() {
    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-1");
    stage.step(changed(2, 1, |team| {
        team.profiles.get_mut(&"ps".into()).expect("it is there").launcher = "exec".to_string();
    }));
    let turn = stage.send("s-1");
    assert_eq!(stage.handed(), [turn]);
    assert!(stage.fleet.worker(&"s-1".into()).expect("it lives").profile.has_session());
}

#[test]
fn an_idle_worker_that_stayed_for_one_message_goes_when_that_is_withdrawn() {
    let mut stage = Stage::with(1);
    let (first, only_it) = (stage.send("w"), stage.send("w-1"));
    stage.step(changed(2, 1, |team| drop(team.roles.remove(&"w".into()))));
    stage.step(Input::Team(team(3, 1)));
    assert_eq!(stage.worker("w-1"), "draining", "what drains goes on draining");
    stage.replies(first);
    assert_eq!(stage.worker("w-1"), "none");
    assert_eq!(stage.envelopes[&only_it].outcome, Outcome::Failed);

    let first = stage.send("w");
    stage.replies(first);
    stage.step(Input::Act(Action::ParkRole { role: "w".into(), r#for: Span::days(1) }));
    let only_it = stage.send("w-2");
    stage.after(Span::minutes(6));
    assert_eq!(stage.worker("w-2"), "ready", "a message waits for it");
    stage.leader(Call::CancelTurn(only_it)).expect("it waits");
    stage.after(Span(0));
    assert_eq!(stage.worker("w-2"), "none");
}

#[test]
fn a_parked_role_goes_on_by_itself_over_a_restart() {
    let mut stage = Stage::with(1);
    stage.step(Input::Act(Action::ParkRole { role: "w".into(), r#for: Span::minutes(5) }));
    let turn = stage.send("w");
    assert_eq!(stage.waits(turn), "parked: 'w' goes on in 5m00s, or at `fleetd resume`");
    stage.restart();
    stage.after(Span(299_999));
    assert!(stage.handed().is_empty());
    stage.after(Span(1));
    assert_eq!(stage.handed(), [turn]);
}

#[test]
fn a_park_is_seen_and_ends_by_a_person_or_by_another_declaration() {
    let mut stage = Stage::with(1);
    let park = |role: &str| Input::Act(Action::ParkRole { role: role.into(), r#for: Span::days(20) });
    let load = |stage: &Stage| stage.fleet.load(stage.now).roles[&"w".into()].clone();
    assert!(load(&stage).open);
    stage.step(park("w"));
    assert!(!load(&stage).open && load(&stage).until.is_some());
    let turn = stage.send("w");
    assert!(stage.handed().is_empty());
    stage.operator(Call::Unpause).expect("a person may");
    assert_eq!(stage.handed(), [turn]);
    assert!(load(&stage).open && stage.fleet.saved().parked.is_empty());

    stage.step(park("w"));
    stage.step(Input::Team(team(3, 1)));
    assert!(!load(&stage).open, "this role is the same");
    stage.step(Input::Team(team(4, 2)));
    assert!(load(&stage).open, "its author has changed it since");

    stage.step(park("ww"));
    assert!(stage.fleet.saved().parked.is_empty(), "there is no such role, and that is said");
    let notice = format!("{:?}", stage.last.records);
    assert!(notice.contains("there is no role 'ww'; did you mean 'w'?"), "{notice}");
}

#[test]
fn a_handler_retries_what_was_lost_and_nothing_else_and_only_once() {
    let mut stage = Stage::with(2);
    let (lost, unknown) = (stage.send("w"), stage.send("w"));
    stage.taken(lost);
    stage.gone("w-1");
    stage.gone("w-2");
    stage.step(Input::Act(Action::RetryTurn { turn: unknown }));
    assert!(stage.handed().is_empty());
    stage.step(Input::Act(Action::RetryTurn { turn: lost }));
    let [again] = stage.handed()[..] else { panic!("one is handed") };
    assert_eq!(stage.row(again).retry_of, Some(lost));
    stage.step(Input::Act(Action::RetryTurn { turn: lost }));
    assert!(stage.handed().is_empty());
    // Also when the other try has long been collected, and the daemon was away.
    stage.replies(again);
    let reply = stage.row(again).message.expect("it was replied to");
    stage.leader(Call::Ack(vec![reply])).expect("it lies there");
    stage.restart();
    stage.step(Input::Act(Action::RetryTurn { turn: lost }));
    assert!(stage.handed().is_empty());
}

#[test]
fn a_restart_gives_every_order_again_that_may_have_been_lost() {
    let mut stage = Stage::with(3);
    let (runs, cancelled, waits) = (stage.send("w"), stage.send("w"), stage.send("w"));
    stage.taken(runs);
    stage.leader(Call::CancelTurn(cancelled)).expect("it runs");
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    stage.up("s-2");
    stage.leader(Call::Stop { worker: "s-2".into(), kill: false }).expect("it lives");
    let before = stage.fleet.saved();
    let resumed = stage.restart();
    assert_eq!(resumed, ["start s-1", "stop s-2", "hand t1 to w-1", "interrupt t2 at w-2", "hand t3 to w-3"]);
    assert_eq!(stage.fleet.saved(), before);
    for turn in [runs, waits] {
        stage.replies(turn);
        assert_eq!(stage.envelopes[&turn].outcome, Outcome::Replied);
    }
    stage.after(Span::seconds(10));
    assert!(stage.orders().contains(&"stop w-2".to_string()), "the grace goes on over a restart: {:?}", stage.orders());
}

#[test]
fn without_a_charter_nothing_is_handed_and_living_workers_stay_deliverable_after_it_comes() {
    let mut stage = Stage::with(1);
    let (runs, waits) = (stage.send("w"), stage.send("w"));
    stage.fleet = fleetd::fleet::Fleet::restore(stage.fleet.saved(), fleetd::fleet::Limits::default());
    stage.replies(runs);
    assert!(stage.handed().is_empty());
    assert_eq!(stage.waits(waits), "no charter is loaded");
    stage.step(Input::Team(team(2, 1)));
    assert_eq!(stage.handed(), [waits]);
}

#[test]
fn an_idle_fleet_does_nothing_all_day() {
    let mut stage = Stage::with(2);
    let turn = stage.send("w");
    stage.replies(turn);
    stage.after(Span::minutes(5));
    for _ in 0..24 {
        let step = stage.after(Span::minutes(60));
        assert_eq!((step.effects.len(), step.records.len(), step.answers.len()), (0, 0, 0));
    }
}
