//! Commands of runs: only what the operator lists, a few at once, each started once, and never again where nobody knows how it
//! ended. That it is a process like that of a turn is tested in `commands`.

use fleetd::fleet::commands::{Command, TIMEOUT};
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Call, Input};
use fleetd::fleet::run::{RunOutcome, StepCommand, StepRequest};
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use serde_json::{Value, json};

use super::fleet_stage::{Stage, team};

fn command(program: &str) -> StepRequest {
    let command = Command { argv: vec![program.to_string(), "-x".to_string()], cwd: None, timeout: TIMEOUT };
    StepRequest::Command(StepCommand { command, stdin: "".into() })
}

fn stage() -> Stage {
    Stage::sessions(1, |_| {}, |limits| limits.commands = vec!["cargo".into(), "rg".into()])
}

fn begun() -> Stage {
    let mut stage = stage();
    stage.step(Input::Team(team(1, 1)));
    stage
}

#[test]
fn only_what_is_listed_is_started() {
    let mut stage = begun();
    let run = stage.runs(None);
    stage.reach(run, "command#1", command("rm"));
    let refused = "refuse command#1: 'rm' is not in [commands] allow of fleetd.toml";
    assert_eq!(stage.orders(), [refused]);
    stage.reach(run, "command#1", command("cargo"));
    assert_eq!(stage.orders(), ["hand t2 to command:2"]);
    let worker = stage.fleet.worker(&"command:2".into()).expect("it is there").clone();
    assert_eq!((worker.profile.command.join(" ").as_str(), worker.profile.timeout), ("cargo -x", Some(TIMEOUT)));
    assert!(!worker.profile.has_session());
    stage.taken(TurnId(2));
    stage.replies(TurnId(2));
    let [(path, value)] = &stage.answered(run)[..] else { panic!("one answer") };
    assert_eq!(
        (path.as_str(), &value["ok"], &value["text"], &value["exit"]),
        ("command#1", &json!(true), &json!("done"), &json!({"code": 0}))
    );
    assert!(stage.fleet.worker(&"command:2".into()).is_none(), "it lived for that alone");
    assert_eq!(stage.fleet.run(run).map(|run| run.sent), Some(0), "it is no turn of the budget");
    assert_eq!(stage.mail(None, 9).0.len(), 0);
}

#[test]
fn a_status_other_than_zero_is_a_value() {
    let mut stage = begun();
    let run = stage.runs(None);
    stage.reach(run, "command#1", command("rg"));
    stage.ends(TurnId(2), Outcome::Failed);
    let (_, value) = &stage.answered(run)[0];
    assert_eq!((&value["ok"], &value["error"], &value["exit"]), (&json!(false), &json!("failed"), &json!({"code": 1})));
}

#[test]
fn a_restart_hands_it_again_to_who_has_it_and_unknown_stays_unknown() {
    let mut stage = begun();
    let run = stage.runs(None);
    stage.reach(run, "command#1", command("cargo"));
    assert_eq!(stage.restart(), ["hand t2 to command:2", "start r1"]);
    stage.reach(run, "command#1", command("cargo"));
    assert!(stage.handed().is_empty(), "a replay that comes to it starts nothing");
    stage.ends(TurnId(2), Outcome::Unknown);
    let (_, value) = &stage.answered(run)[0];
    assert_eq!((&value["error"], &value["ok"]), (&json!("unknown"), &json!(false)));
    assert!(stage.handed().is_empty());
}

#[test]
fn a_few_run_at_once_and_the_end_of_the_run_ends_them_all() {
    let mut stage = begun();
    let run = stage.runs(None);
    for n in 1..=10 {
        stage.reach(run, &format!("each#1[{n}].command#1"), command("cargo"));
    }
    let at_work = |stage: &Stage| stage.fleet.workers().filter(|worker| worker.is_command()).count();
    assert_eq!(at_work(&stage), 8);
    assert_eq!(stage.waits(TurnId(11)), "cap: 8 commands of runs are at work, which is the most at once");
    stage.replies(TurnId(2));
    assert_eq!(stage.handed(), [TurnId(10)]);
    stage.leader(Call::Pause).expect("paused");
    stage.replies(TurnId(3));
    assert!(stage.handed().is_empty());
    assert_eq!(stage.waits(TurnId(11)), "paused: by the leader 0ms ago; fleetd resume goes on");
    stage.leader(Call::Unpause).expect("goes on");
    assert_eq!(stage.handed(), [TurnId(11)]);
    stage.leader(Call::CancelRun(run)).expect("open");
    assert_eq!(stage.orders().iter().filter(|order| order.starts_with("interrupt")).count(), 8, "{:?}", stage.orders());
}

#[test]
fn a_save_of_the_charter_leaves_it_alone_and_a_bound_begins_none() {
    let mut stage = begun();
    let run = stage.runs(Some(Span::seconds(60)));
    stage.reach(run, "command#1", command("cargo"));
    stage.step(Input::Team(team(2, 3)));
    assert_eq!(stage.worker("command:2"), "busy");
    stage.after(Span::seconds(60));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"));
    stage.reach(run, "command#2", command("cargo"));
    assert_eq!(stage.answered(run)[0].1["error"], json!("timed_out"));
    stage.code_ends(run, RunOutcome::Done, Value::Null);
}

#[test]
fn a_command_needs_no_place_of_a_worker_and_takes_none() {
    let mut stage =
        Stage::sessions(1, |_| {}, |limits| (limits.commands, limits.max_workers) = (vec!["cargo".into()], 1));
    stage.step(Input::Team(team(1, 1)));
    let spawn = || Call::Spawn { role: "w".into(), profile: None, key: None };
    stage.leader(spawn()).expect("there is room");
    let run = stage.runs(None);
    stage.reach(run, "command#1", command("cargo"));
    assert_eq!(stage.orders(), ["hand t2 to command:2"], "w-1 is idle, and lives");
    stage.replies(TurnId(2));
    assert_eq!(stage.answered(run)[0].1["ok"], json!(true));

    stage.leader(Call::Stop { worker: "w-1".into(), kill: false }).expect("it is there");
    stage.reach(run, "command#2", command("cargo"));
    stage.leader(spawn()).expect("a command at work is no worker of the limit");
}

#[test]
fn what_waits_while_fleetd_shuts_down_says_so() {
    let mut stage = begun();
    let run = stage.runs(None);
    stage.step(Input::Drain);
    stage.reach(run, "command#1", command("cargo"));
    assert_eq!(stage.waits(TurnId(2)), "draining: fleetd is shutting down");
}
