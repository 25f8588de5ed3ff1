//! Workers with a session, through the doors of a real daemon with its own pane server and a real interactive program.
//! What the launcher does with a screen is tested in `typed`, what a pane host must do in `panes`.

mod handlers;
mod herdr;
mod life;
mod worktrees;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fleetd::engine::panes::Key;
use fleetd::process::ProcessId;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Daemon, House, Person, left_by, until};

fn house_with(flags: &str) -> House {
    house_of(flags, "", "")
}

/// Returns a house whose agents have these flags and this in their profile, under these settings.
fn house_of(flags: &str, profile: &str, settings: &str) -> House {
    let house = House::new(&[]);
    std::fs::write(house.path().join("fleetd.toml"), format!("pane_host = \"embedded\"\n{settings}")).unwrap();
    let agent = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("test-agent");
    let team = r#"
fleet.profile("agent", {
  launcher = "typed",
  command = { "AGENT", "--submitted", "SUBMITTED", FLAGS },
  typing = { quiet = "200ms", ready_timeout = "30s" },
  PROFILE
})
fleet.role("s", { profiles = { "agent" }, max_busy = 4, max_waiting = 100 })
"#;
    let submitted = house.path().join("submitted").display().to_string();
    let team = team.replace("AGENT", &agent.display().to_string()).replace("SUBMITTED", &submitted);
    house.write("team.lua", &team.replace("FLAGS", flags).replace("PROFILE", profile));
    house
}

fn submitted(house: &House) -> Vec<String> {
    let text = std::fs::read_to_string(house.path().join("submitted")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn spawn(daemon: &Daemon) -> Value {
    let (status, worker) = daemon.post("/v1/spawn", &json!({ "role": "s" }));
    assert_eq!((status, &worker["state"]), (200, &json!("ready")), "{worker}");
    worker
}

fn message(daemon: &Daemon, prompt: &str) -> Value {
    let (status, envelope) = daemon.post("/message", &json!({ "role": "s", "prompt": prompt, "wait": "50s" }));
    assert_eq!(status, 200, "{envelope}");
    envelope
}

/// Returns the id of a turn that was accepted and is not over.
fn turn_of(sent: &Value) -> String {
    let id = [&sent["turn"]["id"], &sent["turn"], &sent["id"]].into_iter().find_map(Value::as_str);
    id.expect("it has an id").to_owned()
}

fn worker_of(daemon: &Daemon, name: &str) -> Option<Value> {
    let (_, roster) = daemon.get("/v1/list");
    roster["workers"].as_array()?.iter().find(|worker| worker["name"] == name).cloned()
}

#[test]
fn a_worker_is_spawned_typed_to_and_stopped_and_nothing_is_left() {
    let house = house_with("\"--answer\", \"upper\"");
    let daemon = house.start();
    let worker = spawn(&daemon);
    assert_eq!(worker["name"], "s-1");
    let envelope = message(&daemon, "hello");
    assert_eq!((&envelope["outcome"], &envelope["proof"]), (&json!("replied"), &json!("screen")), "{envelope}");
    assert!(envelope["text"].as_str().unwrap().contains("HELLO"), "{envelope}");
    assert_eq!(submitted(&house), ["[fleet turn t2 from operator]\nhello\n[end of fleet turn t2]"]);
    let (status, gone) = daemon.post("/v1/stop", &json!({ "worker": "s-1" }));
    assert_eq!(status, 200, "{gone}");
    until("it is gone", || worker_of(&daemon, "s-1").is_none().then_some(()));
    daemon.terminate();
    until("the pane server ends by itself", || left_by(&house.state()).is_empty().then_some(()));
}

#[test]
fn a_worker_in_its_pane_is_known_by_its_process_and_replies_by_a_call() {
    let fleetd = env!("CARGO_BIN_EXE_fleetd");
    let house = house_with(&format!("\"--work\", \"300\", \"--reply\", \"{fleetd} reply --own 'from inside'\""));
    let daemon = house.start();
    spawn(&daemon);
    let envelope = message(&daemon, "hello");
    assert_eq!((&envelope["text"], &envelope["proof"]), (&json!("from inside"), &json!("quiet_pane")), "{envelope}");
}

#[test]
fn ten_kills_of_the_daemon_and_no_text_is_submitted_twice() {
    let house = house_with("\"--work\", \"100\"");
    let mut daemon = house.start();
    spawn(&daemon);
    spawn(&daemon);
    let turns: Vec<String> = (0..10)
        .map(|n| {
            let (status, sent) = daemon.post("/v1/send", &json!({ "role": "s", "prompt": format!("part {n}") }));
            assert_eq!(status, 202, "{sent}");
            turn_of(&sent)
        })
        .collect();
    for n in 0..10 {
        // Somewhere in the work, a little later each time.
        let done = submitted(&house).len();
        until("some of it", || {
            let settled = |turn: &String| daemon.get(&format!("/v1/turns/{turn}")).1["state"] == "settled";
            (submitted(&house).len() > done || turns.iter().all(settled)).then_some(())
        });
        let until = Instant::now() + Duration::from_millis(n * 17);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        daemon.kill();
        daemon = house.start();
    }
    let texts = submitted(&house);
    for (n, turn) in turns.iter().enumerate() {
        let (status, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
        let times = texts.iter().filter(|text| text.contains(&format!("\npart {n}\n"))).count();
        let outcome = envelope["outcome"].as_str().unwrap_or_default();
        assert_eq!(status, 200, "part {n}: {envelope}");
        // Killed between its note and its paste, a text was not typed, and nobody can know that.
        let fits = matches!((outcome, times), ("replied", 1) | ("unknown", 0 | 1));
        assert!(fits, "part {n} was submitted {times} times: {envelope}");
    }
}

#[test]
fn a_draft_makes_the_message_wait_and_says_so_and_goes_untouched() {
    let house = house_with("\"--answer\", \"upper\"");
    let daemon = house.start();
    spawn(&daemon);
    let person = Person::at(&house, &daemon, "s-1");
    person.presses(&[Key::Char('h'), Key::Char('m')]);
    until("it is seen", || worker_of(&daemon, "s-1").filter(|worker| worker["state"] == "blocked"));
    let (status, sent) = daemon.post("/message", &json!({ "to": "s-1", "prompt": "work", "wait": "200ms" }));
    assert_eq!(status, 202, "{sent}");
    assert!(sent.to_string().contains("a draft stands in its composer"), "{sent}");
    person.presses(&[Key::Backspace, Key::Backspace]);
    let turn = turn_of(&sent);
    let (_, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
    assert_eq!(envelope["outcome"], "replied", "{envelope}");
    assert_eq!(submitted(&house).len(), 1);
}

#[test]
fn a_pane_server_that_is_killed_loses_its_workers_and_says_so() {
    let house = house_with("\"--hang\"");
    let daemon = house.start();
    spawn(&daemon);
    let (_, sent) = daemon.post("/message", &json!({ "role": "s", "prompt": "work", "wait": "100ms" }));
    let turn = turn_of(&sent);
    until("it is taken", || daemon.get(&format!("/v1/turns/{turn}")).1.to_string().contains("working").then_some(()));
    let server: Vec<ProcessId> = left_by(&house.state())
        .into_iter()
        .filter(|process| {
            let words = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            words.split(|byte| *byte == 0).nth(1) == Some(b"panes")
        })
        .collect();
    assert_eq!(server.len(), 1, "one pane server");
    server[0].signal(Signal::KILL).unwrap();
    let (_, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
    assert_eq!(envelope["outcome"], "lost", "{envelope}");
    until("its worker is gone", || worker_of(&daemon, "s-1").is_none().then_some(()));
    spawn(&daemon);
}

#[test]
fn what_does_not_come_up_is_told_to_who_wanted_it() {
    let house = house_with("\"--dialog\", \"Trust this folder?\"");
    house.write("team.lua", &std::fs::read_to_string(house.charter().join("team.lua")).unwrap().replace("30s", "6s"));
    let daemon = house.start();
    let (status, refusal) = daemon.post("/v1/spawn", &json!({ "role": "s" }));
    assert_eq!((status, &refusal["kind"]), (502, &json!("peer_unreachable")), "{refusal}");
    assert!(refusal["message"].as_str().unwrap().contains("Trust this folder?"), "{refusal}");
}
