//! The life of sessions through the doors of a real daemon: started for what waits, renewed, given up, paused, reaped.
//! The rules are tested in virtual time (`fleet_pools` and its neighbours); here they meet real programs.

use serde_json::{Value, json};

use super::{house_of, message, spawn, submitted, turn_of, worker_of};
use crate::support::{Daemon, left_by, until};

fn roster(daemon: &Daemon) -> Value {
    daemon.get("/v1/list").1
}

#[test]
fn a_message_starts_a_worker_which_goes_when_it_idles() {
    let house = house_of("\"--answer\", \"upper\"", "idle_ttl = \"1s\",", "");
    let daemon = house.start();
    let envelope = message(&daemon, "hello");
    assert_eq!((&envelope["outcome"], &envelope["from"]["worker"]), (&json!("replied"), &json!("s-1")), "{envelope}");
    until("it is gone", || worker_of(&daemon, "s-1").is_none().then_some(()));
    assert_eq!(left_by(&house.state()).len(), 1, "the pane server alone");
}

#[test]
fn a_full_session_is_renewed_with_its_note_and_nothing_that_waits_is_lost() {
    let house = house_of("\"--answer\", \"all is said\"", "context_cap = { turns = 1 },", "");
    let daemon = house.start();
    spawn(&daemon);
    let first = worker_of(&daemon, "s-1").expect("it lives")["process"].clone();
    let (_, sent) = daemon.post("/v1/send", &json!({ "role": "s", "prompt": "part 1" }));
    let (_, also) = daemon.post("/v1/send", &json!({ "to": "s-1", "prompt": "part 2" }));
    for turn in [turn_of(&sent), turn_of(&also)] {
        let (_, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
        assert_eq!(envelope["outcome"], "replied", "{envelope}");
    }
    let texts = submitted(&house);
    assert!(texts[0].contains("\npart 1\n"), "{texts:?}");
    assert!(texts[1].starts_with("[fleet turn ") && texts[1].contains(" from fleetd]\n"), "{texts:?}");
    let second = texts[2].lines().collect::<Vec<_>>();
    assert_eq!(second[1], "[fleet note that you wrote yourself in the session before this one]", "{texts:?}");
    assert!(second[2].contains("all is said") && second.contains(&"part 2"), "{texts:?}");
    let note = texts[1].trim_start_matches("[fleet turn ").split(' ').next().unwrap();
    let (status, trace) = daemon.get(&format!("/v1/turns/{note}"));
    assert_eq!((status, &trace["sender"], &trace["outcome"]), (200, &json!("fleetd"), &json!("replied")), "{trace}");
    let (_, mail) = daemon.get("/v1/poll");
    assert!(!mail.to_string().contains(&format!("\"{note}\"")), "it lies in nobody's mailbox: {mail}");
    assert_ne!(worker_of(&daemon, "s-1").map(|worker| worker["process"].clone()), Some(first), "another process");
}

#[test]
fn sessions_that_do_not_come_up_are_given_up_and_the_turn_says_why_until_somebody_spawns_one() {
    let house = house_of("\"--no-such-flag\"", "restarts = { failures = 2 },", "");
    let daemon = house.start();
    let (status, sent) = daemon.post("/v1/send", &json!({ "role": "s", "prompt": "work" }));
    assert_eq!(status, 202, "{sent}");
    let trouble = until("the role gives up", || {
        let role = roster(&daemon)["roles"][0].clone();
        (role["trouble"]["failures"] == 2).then(|| role["trouble"].clone())
    });
    assert!(trouble["holds"].as_str().unwrap().starts_with("stopped: 's' starts no session by itself"), "{trouble}");
    assert_eq!(roster(&daemon)["workers"], json!([]), "none holds a place");
    let (_, turn) = daemon.get(&format!("/v1/turns/{}", turn_of(&sent)));
    assert_eq!((&turn["state"], &turn["waits"]), (&json!("queued"), &trouble["holds"]), "{turn}");
    let shown = house.fleetd(&["--url", &daemon.url, "status"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("starts no session by itself"), "{shown}");
    let (_, mail) = daemon.get("/v1/poll");
    assert!(mail.to_string().contains("starts no session by itself"), "{mail}");
}

#[test]
fn a_pause_holds_everything_back_over_a_restart() {
    let house = house_of("\"--answer\", \"upper\"", "", "");
    let daemon = house.start();
    spawn(&daemon);
    let said = house.fleetd(&["--url", &daemon.url, "pause"]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.starts_with("paused by the operator, for "), "{said}");
    let (_, sent) = daemon.post("/message", &json!({ "role": "s", "prompt": "work", "wait": "200ms" }));
    assert!(sent["waits"].as_str().unwrap().starts_with("paused: by the operator"), "{sent}");
    daemon.kill();
    let daemon = house.start();
    let shown = house.fleetd(&["--url", &daemon.url, "status"]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("paused by the operator, for "));
    assert_eq!(roster(&daemon)["paused"]["by"], "operator");
    assert_eq!(submitted(&house), [""; 0]);
    let (status, resumed) = daemon.post("/v1/resume", &json!({}));
    assert_eq!((status, &resumed), (200, &json!({ "paused": false })));
    let (_, envelope) = daemon.get(&format!("/v1/turns/{}/wait?wait=50s", turn_of(&sent)));
    assert_eq!(envelope["outcome"], "replied", "{envelope}");
}

#[test]
fn a_machine_with_too_little_memory_starts_no_session() {
    let house = house_of("", "", "[limits]\nmemory_floor = \"1000GiB\"\n");
    let daemon = house.start();
    let (status, refusal) = daemon.post("/v1/spawn", &json!({ "role": "s" }));
    assert_eq!((status, &refusal["kind"]), (503, &json!("unavailable")), "{refusal}");
    assert!(refusal["message"].as_str().unwrap().contains("limits.memory_floor of fleetd.toml is"), "{refusal}");
    let (_, sent) = daemon.post("/message", &json!({ "role": "s", "prompt": "work", "wait": "200ms" }));
    assert!(sent["waits"].as_str().unwrap().contains("memory: "), "{sent}");
    assert_eq!(left_by(&house.state()), [], "and nothing was started");
}

#[test]
fn with_reap_the_next_daemon_stops_the_sessions_and_says_so() {
    let house = house_of("\"--hang\"", "", "on_restart = \"reap\"\n");
    let daemon = house.start();
    spawn(&daemon);
    let (_, sent) = daemon.post("/message", &json!({ "role": "s", "prompt": "work", "wait": "100ms" }));
    let turn = turn_of(&sent);
    until("it is taken", || daemon.get(&format!("/v1/turns/{turn}")).1.to_string().contains("working").then_some(()));
    daemon.kill();
    let daemon = house.start();
    assert!(daemon.banner.contains("stopped, as on_restart says: 1 session of the last fleetd"), "{}", daemon.banner);
    let (_, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
    assert_eq!(envelope["outcome"], "lost", "{envelope}");
    until("it is gone", || worker_of(&daemon, "s-1").is_none().then_some(()));
    daemon.terminate();
    until("its pane is closed, so the pane server ends too", || left_by(&house.state()).is_empty().then_some(()));
}
