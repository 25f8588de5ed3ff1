//! Turns of the real agent that is called, and go wrong: failures of its model, one without end, a cancel, a deadline, a
//! permission that nobody gives, lost events, a killed agent, a killed daemon. After each it takes the next one.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::json;

use super::super::team::{Team, agent_of, begin, envelope, message, spawn};
use super::{newest, program};
use crate::support::{Daemon, Person, until};

fn worker(daemon: &Daemon) -> String {
    daemon.get("/v1/list").1["workers"][0].to_string()
}

#[test]
fn failures_are_told_and_tries_are_seen_while_they_last() {
    let team = Team::called("");
    let daemon = team.house.start();
    spawn(&daemon);
    for (script, class) in [
        ("ERR:400:a bad request", "APIError: a bad request"),
        ("ERR:401:who are you", "APIError: who are you"),
        ("ERR:404:no such model", "APIError: no such model"),
    ] {
        let said = message(&daemon, script);
        assert_eq!(
            (&said["outcome"], &said["ok"], &said["text"]),
            (&json!("failed"), &json!(false), &json!("")),
            "{said}"
        );
        assert!(said["why"].as_str().unwrap().starts_with(class), "{script}: {said}");
    }
    let turn = begin(&daemon, "ERR:500:broken\nERR:500:broken\nSAY:in the end");
    let seen = until("it is seen to try again", || {
        Some(worker(&daemon)).filter(|one| one.contains("tries again to reach its model"))
    });
    assert!(seen.contains("broken"), "{seen}");
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], &said["outcome"]), (&json!("in the end"), &json!("replied")), "{said}");
    assert!(!worker(&daemon).contains("tries again"), "{}", worker(&daemon));
}

#[test]
fn a_cancelled_turn_and_one_that_is_late_are_stopped_and_the_same_agent_takes_the_next() {
    let team = Team::called("");
    let daemon = team.house.start();
    spawn(&daemon);
    let agent = agent_of(&daemon, "w-1");
    for script in ["HANG", "SAY:some && STALL"] {
        let turn = begin(&daemon, script);
        let (status, cancelled) = daemon.post("/v1/cancel", &json!({ "turn": turn }));
        assert_eq!(status, 200, "{cancelled}");
        assert_eq!(envelope(&daemon, &turn)["outcome"], "cancelled");
        let (_, said) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:next", "wait": "50s" }));
        assert_eq!(said["text"], "next", "{script}: {said}");
    }
    let request = json!({ "to": "w-1", "prompt": "HANG", "wait": "40s", "deadline": "1500ms" });
    assert_eq!(daemon.post("/message", &request).1["outcome"], "timed_out");
    let (_, said) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:on time", "wait": "50s" }));
    assert_eq!(said["text"], "on time", "{said}");
    assert_eq!(agent_of(&daemon, "w-1"), agent, "it was not started anew");
}

#[test]
fn a_model_that_is_called_without_end_is_stopped() {
    let mut team = Team::called("options = { most = 20 }");
    // Only newer versions call a model again that gives no reason for its end.
    let newest = newest().parent().unwrap().display().to_string();
    team.house = team.house.env("PATH", format!("{newest}:/usr/local/bin:/usr/bin:/bin"));
    let daemon = team.house.start();
    spawn(&daemon);
    let said = message(&daemon, "TIMES:500 && SAY:again && STOP:none");
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("more than 20 times"), "{said}");
    let asked = team.asked().len();
    assert!(asked < 60, "it was stopped soon: {asked}");
    assert_eq!(message(&daemon, "SAY:next")["text"], "next");
}

#[test]
fn what_it_asks_a_person_is_told_and_the_turn_waits() {
    let team = Team::called("options = { permission = { bash = 'ask' } }");
    let daemon = team.house.start();
    spawn(&daemon);
    let turn = begin(&daemon, "TOOL:bash:{\"command\":\"true\"}\nSAY:never");
    let seen = until("it is told", || Some(worker(&daemon)).filter(|one| one.contains("it asks a person")));
    assert!(seen.contains("bash") && seen.contains("blocked"), "{seen}");
    daemon.post("/v1/cancel", &json!({ "turn": turn }));
    assert_eq!(envelope(&daemon, &turn)["outcome"], "cancelled");
    let (_, said) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:next", "wait": "50s" }));
    assert_eq!(said["text"], "next", "{said}");
}

#[test]
fn a_turn_outlives_the_daemon_and_a_killed_agent_loses_its_turn() {
    let team = Team::called("");
    let mut daemon = team.house.start();
    spawn(&daemon);
    let agent = agent_of(&daemon, "w-1");
    let turn = begin(&daemon, "SLEEP:2 && SAY:after a restart");
    daemon.kill();
    daemon = team.house.start();
    assert_eq!(envelope(&daemon, &turn)["text"], "after a restart");
    assert_eq!(team.asked().iter().filter(|asked| asked.contains("after a restart")).count(), 1, "it was given once");
    assert_eq!(agent_of(&daemon, "w-1"), agent, "it is the same session");
    // Its way to the fleet's tools is whole again.
    let said = message(&daemon, "TOOL:fleet_fleet_reply:{\"text\":\"by a call\"}\nSAY:last words");
    assert_eq!(said["text"], "by a call", "{said}");
    let turn = begin(&daemon, "HANG");
    agent.signal(Signal::KILL).unwrap();
    let said = envelope(&daemon, &turn);
    assert_eq!(said["outcome"], "lost", "{said}");
    assert!(said["why"].as_str().unwrap().contains("signal 9"), "{said}");
}

/// Puts a relay between the daemon and the agent, which breaks its connections off when it is told to.
fn behind_a_relay(team: &mut Team) -> PathBuf {
    let relay = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("relay");
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).unwrap().port();
    let (bin, note) = (team.house.path().join("bin"), team.house.path().join("relay.pid"));
    std::fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\n'{}' \"$2\" {port} & echo $! > '{}'\nshift 2\nexec '{}' --port {port} \"$@\"\n",
        relay.display(),
        note.display(),
        program().display()
    );
    std::fs::write(bin.join("opencode"), script).unwrap();
    std::fs::set_permissions(bin.join("opencode"), std::fs::Permissions::from_mode(0o755)).unwrap();
    team.house = std::mem::replace(&mut team.house, crate::support::House::new(&[]))
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    note
}

#[test]
fn events_that_are_lost_in_the_middle_of_a_turn_lose_nothing() {
    let mut team = Team::called("");
    let note = behind_a_relay(&mut team);
    let daemon = team.house.start();
    spawn(&daemon);
    let relay = std::fs::read_to_string(note).unwrap().trim().parse().unwrap();
    let relay = fleetd::process::ProcessId::of(relay).expect("it runs");
    let turn = begin(&daemon, "PACE:0.3 && SAY:one two three four five six seven eight nine ten");
    let person = Person::at(&team.house, &daemon, "w-1");
    for word in ["two", "five", "eight"] {
        // It stands in the text that it was given as well.
        until("it says more", || (person.sees().matches(word).count() > 1).then_some(()));
        relay.signal(Signal::USR1).unwrap();
    }
    let said = envelope(&daemon, &turn);
    assert_eq!(said["text"], "one two three four five six seven eight nine ten", "{said}");
    assert_eq!(team.asked().len(), 1);
}
