//! The restart budget: a role whose sessions fail waits ever longer, then starts none by itself, and says so.
//! The pure fleet on its stage, in virtual time.

use fleetd::fleet::caller::Caller;
use fleetd::fleet::input::{Call, Input, Sighting};
use fleetd::fleet::life::Restarts;
use fleetd::fleet::mail::About;
use fleetd::fleet::time::Span;

use super::fleet_stage::{Stage, sessions};

fn pool() -> Stage {
    Stage::sessions(1, |_| {}, |limits| limits.start_stagger = Span(0))
}

fn not_up(stage: &mut Stage, worker: &str) {
    stage.seen(Sighting::NotUp { worker: worker.into(), why: "no such program:\n  a screen".into() });
}

fn notices(stage: &Stage) -> Vec<String> {
    let mail = stage.fleet.messages().filter(|message| message.to == fleetd::fleet::caller::Sender::Leader);
    mail.filter_map(|message| match &message.about {
        About::Notice(text) => Some(text.clone()),
        _ => None,
    })
    .collect()
}

/// Lets every session fail until the role gives up; returns how long it waited before each.
fn fail_to_the_end(stage: &mut Stage) -> Vec<u64> {
    let mut waited = Vec::new();
    for n in 1.. {
        not_up(stage, &format!("s-{n}"));
        let began = stage.now;
        let next = format!("s-{}", n + 1);
        let Some(until) = stage.fleet.budget(&"s".into()).expect("it failed").until else { break };
        assert_eq!(stage.worker(&next), "none", "not before its time");
        stage.now = until;
        stage.after(Span(0));
        assert_eq!(stage.orders(), [format!("start {next}")]);
        waited.push(stage.now.since(began).0 / 1000);
    }
    waited
}

#[test]
fn a_role_waits_longer_after_each_failure_and_stops_after_five() {
    let mut stage = pool();
    let turn = stage.send("s");
    assert_eq!(fail_to_the_end(&mut stage), [1, 2, 4, 8]);
    let why = "stopped: 's' starts no session by itself, since 5 failed within 10m00s; the last one, s-5: \
               it did not come up: no such program; spawn one by hand, or change profile 'ps'";
    assert_eq!(stage.waits(turn), why);
    assert_eq!(notices(&stage), [why], "the leader is told, once");
    stage.after(Span::days(1));
    assert_eq!((stage.fleet.workers().count(), stage.orders().len()), (0, 0), "none holds a place, none is tried");
    let role = stage.fleet.roster(stage.now).roles.remove(0);
    let trouble = role.trouble.expect("it is shown");
    assert_eq!((trouble.failures, trouble.worker.as_str(), trouble.until), (5, "s-5", None));
    assert!(trouble.why.contains("a screen"), "all of it: {}", trouble.why);
    assert_eq!(trouble.holds.as_deref(), Some(why));
}

#[test]
fn while_it_backs_off_the_turn_says_why_and_until_when() {
    let mut stage = pool();
    let turn = stage.send("s");
    not_up(&mut stage, "s-1");
    let why = "backing off: 's' starts the next session in 1s; s-1 failed: it did not come up: no such program";
    assert_eq!(stage.waits(turn), why);
    stage.after(Span::seconds(1));
    assert_eq!(stage.waits(turn), "starting: s-2");
    stage.up("s-2");
    stage.replies(turn);
    assert_eq!(stage.fleet.budget(&"s".into()), None, "a reply makes good what failed before");
}

#[test]
fn a_session_that_dies_young_has_failed_and_an_old_one_has_not() {
    let mut stage = pool();
    stage.send("s");
    stage.send("s");
    stage.up("s-1");
    stage.after(Span::seconds(59));
    stage.gone("s-1");
    assert_eq!(stage.fleet.budget(&"s".into()).map(|budget| budget.failures.len()), Some(1));
    stage.after(Span::seconds(1));
    stage.up("s-2");
    stage.after(Span::seconds(61));
    stage.gone("s-2");
    assert_eq!(stage.fleet.budget(&"s".into()).map(|budget| budget.failures.len()), Some(1));
}

#[test]
fn one_that_was_told_to_go_or_spawned_by_hand_costs_nothing() {
    let mut stage = pool();
    let turn = stage.send("s");
    stage.up("s-1");
    stage.leader(Call::Stop { worker: "s-1".into(), kill: true }).expect("the leader may");
    stage.gone("s-1");
    assert!(stage.row(turn).outcome.is_some());
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    not_up(&mut stage, "s-2");
    assert_eq!(stage.worker("s-2"), "failed", "who spawned it may want to look");
    assert_eq!(stage.fleet.budget(&"s".into()), None);
}

#[test]
fn a_spawn_by_hand_or_a_changed_profile_is_another_try() {
    let mut stage = pool();
    stage.send("s");
    fail_to_the_end(&mut stage);
    stage.step(Input::Team(sessions(2, 2, |_| {})));
    assert_eq!(stage.fleet.workers().count(), 0, "the same profile under another cap is the same");
    stage.step(Input::Team(sessions(3, 2, |profile| profile.command = vec!["other".into()])));
    assert_eq!(stage.orders(), ["start s-6"]);
    not_up(&mut stage, "s-6");
    assert_eq!(stage.fleet.budget(&"s".into()).map(|budget| budget.failures.len()), Some(1), "it begins anew");
    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    assert_eq!((stage.worker("s-7"), stage.fleet.budget(&"s".into())), ("starting", None));
}

#[test]
fn a_profile_has_its_own_budget_and_old_failures_count_no_more() {
    let restarts = Restarts { failures: 2, within: Span::seconds(30) };
    let mut stage =
        Stage::sessions(1, |profile| profile.restarts = Some(restarts), |limits| limits.start_stagger = Span(0));
    stage.send("s");
    not_up(&mut stage, "s-1");
    stage.after(Span::seconds(31));
    assert_eq!(stage.fleet.budget(&"s".into()), None, "it is long ago");
    not_up(&mut stage, "s-2");
    assert!(stage.fleet.budget(&"s".into()).is_some_and(|budget| budget.until.is_some()));
    stage.after(Span::seconds(1));
    not_up(&mut stage, "s-3");
    assert!(stage.fleet.budget(&"s".into()).is_some_and(|budget| budget.until.is_none()));
}

#[test]
fn a_restart_of_fleetd_is_no_new_try() {
    let mut stage = pool();
    let turn = stage.send("s");
    fail_to_the_end(&mut stage);
    assert_eq!(stage.restart(), [""; 0]);
    assert!(stage.waits(turn).starts_with("stopped"), "{}", stage.waits(turn));
    assert_eq!(stage.fleet.workers().count(), 0);
}
