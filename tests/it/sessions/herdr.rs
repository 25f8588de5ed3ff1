//! The same with herdr as the pane host: absent at the start, killed, restarted and handed over in mid-turn.
//! The server is the simulator, which copies the recorded habits of the real one.

use serde_json::{Value, json};

use super::{house_with, message, spawn, submitted, turn_of, worker_of};
use crate::herdr::Server;
use crate::support::{Daemon, House, until};

fn house(flags: &str) -> House {
    let house = house_with(flags);
    std::fs::write(house.path().join("fleetd.toml"), "pane_host = \"herdr\"\n").unwrap();
    house
}

fn begin(daemon: &Daemon) -> String {
    let (status, sent) = daemon.post("/message", &json!({ "role": "s", "prompt": "work", "wait": "100ms" }));
    assert_eq!(status, 202, "{sent}");
    let turn = turn_of(&sent);
    until("it is taken", || daemon.get(&format!("/v1/turns/{turn}")).1.to_string().contains("working").then_some(()));
    turn
}

fn end_of(daemon: &Daemon, turn: &str) -> Value {
    daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s")).1
}

#[test]
fn a_worker_is_a_tab_of_the_fleets_workspace() {
    let house = house("\"--answer\", \"upper\"");
    let server = Server::start(&house);
    let daemon = house.start();
    spawn(&daemon);
    spawn(&daemon);
    let envelope = message(&daemon, "hello");
    assert!(envelope["text"].as_str().unwrap().contains("HELLO"), "{envelope}");
    let seen = server.ask("session.snapshot", json!({})).to_string();
    assert!(seen.contains("\"s-1\"") && seen.contains("\"s-2\"") && seen.contains("fleet "), "{seen}");
    let (status, _) = daemon.post("/v1/stop", &json!({ "worker": "s-1" }));
    assert_eq!(status, 200);
    until("its tab is gone", || {
        (!server.ask("session.snapshot", json!({})).to_string().contains("\"s-1\"")).then_some(())
    });
}

#[test]
fn a_herdr_that_comes_late_is_waited_for_and_every_door_says_so() {
    let house = house("");
    let daemon = house.start();
    let health = until("it is told", || {
        let health = daemon.get("/healthz").1.to_string();
        health.contains("panes: ").then_some(health)
    });
    assert!(health.contains("herdr.sock"), "{health}");
    let _server = Server::start(&house);
    until("it is found", || (!daemon.get("/healthz").1.to_string().contains("panes: ")).then_some(()));
    spawn(&daemon);
    message(&daemon, "hello");
}

#[test]
fn a_herdr_that_is_killed_in_mid_turn_loses_it_and_nothing_is_typed_into_the_shells_that_come_back() {
    let house = house("\"--hang\"");
    let server = Server::start(&house);
    let daemon = house.start();
    spawn(&daemon);
    let turn = begin(&daemon);
    server.kill();
    let envelope = end_of(&daemon, &turn);
    assert_eq!(envelope["outcome"], "lost", "{envelope}");
    until("its worker is gone", || worker_of(&daemon, "s-1").is_none().then_some(()));
    let again = Server::start(&house);
    until("herdr is back", || (!daemon.get("/healthz").1.to_string().contains("panes: ")).then_some(()));
    spawn(&daemon);
    begin(&daemon);
    let seen = again.ask("session.snapshot", json!({}));
    for pane in seen["result"]["snapshot"]["panes"].as_array().into_iter().flatten() {
        let id = &pane["pane_id"];
        let shown = again.ask("pane.read", json!({ "pane_id": id, "source": "visible" })).to_string();
        assert!(!shown.contains("not found") && !shown.contains("syntax error"), "a shell ran a text: {shown}");
    }
    assert_eq!(submitted(&house).len(), 2);
}

#[test]
fn a_herdr_that_hands_over_in_mid_turn_costs_nothing() {
    let house = house("\"--work\", \"1500\"");
    let server = Server::start(&house);
    let daemon = house.start();
    spawn(&daemon);
    let turn = begin(&daemon);
    server.ask("server.live_handoff", json!({}));
    let envelope = end_of(&daemon, &turn);
    assert_eq!(envelope["outcome"], "replied", "{envelope}");
    message(&daemon, "the next one");
}

#[test]
fn a_daemon_that_is_killed_finds_its_sessions_in_herdr_again() {
    let house = house("\"--work\", \"800\"");
    let _server = Server::start(&house);
    let daemon = house.start();
    spawn(&daemon);
    let turn = begin(&daemon);
    daemon.kill();
    let daemon = house.start();
    let envelope = end_of(&daemon, &turn);
    assert_eq!(envelope["outcome"], "replied", "{envelope}");
    message(&daemon, "the next one");
    assert_eq!(submitted(&house).len(), 2);
}
