//! Who becomes the leader, and what makes room for the next one.
//! The rules of the seat by themselves are in `fleet_seat`.

use serde_json::{Value, json};

use super::client::Client;
use super::{house, house_at_a_port, local, until};
use crate::support::{Daemon, House};

fn taken(daemon: &Daemon) -> bool {
    daemon.get("/v1/seat").1["taken"].as_bool().unwrap()
}

fn cli(house: &House, args: &[&str]) -> String {
    let output = house.fleetd(args).arg("--state").arg(house.state()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn nothing_but_a_leaders_tool_takes_the_seat() {
    let house = house();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    client.menu();
    client.ask("prompts/list", json!({}));
    client.ask("prompts/get", json!({ "name": "shout", "arguments": { "word": "x" } }));
    let me = client.good("fleet_whoami", json!({}));
    assert_eq!(me["caller"], "operator");
    assert!(me["says"].as_str().unwrap().contains("the seat is free"), "{me}");
    client.call("fleet_ask", json!({ "text": "x" }));
    client.call("fleet_nothing", json!({}));
    let _listening = client.listen(None);
    assert_eq!(daemon.post("/message", &json!({ "role": "w-upper", "prompt": "x" })).0, 200);
    assert_eq!(daemon.get("/v1/list").0, 200);
    cli(&house, &["list"]);
    assert!(!taken(&daemon));
    client.good("fleet_profiles", json!({}));
    assert!(taken(&daemon));
    assert_eq!(client.good("fleet_whoami", json!({}))["caller"], "leader");
}

#[test]
fn the_stateless_road_takes_the_seat_for_the_same_process() {
    let house = house();
    let daemon = house.start();
    Client::stateless(local(&daemon)).good("fleet_list", json!({}));
    let session = Client::new(local(&daemon));
    assert_eq!(session.good("fleet_whoami", json!({}))["caller"], "leader", "it is the same process");
}

#[test]
fn the_seat_is_free_when_its_process_has_ended_and_its_mail_waits_for_the_next() {
    let house = house();
    let daemon = house.start();
    let leader = Client::other(local(&daemon));
    let sent = leader.good("fleet_send", json!({ "to": "w-upper", "prompt": "for whom?" }));
    assert!(taken(&daemon));
    let next = Client::new(local(&daemon));
    assert!(next.call("fleet_poll", json!({})).refused);
    drop(leader);
    until(|| (!taken(&daemon)).then_some(()));
    let mail = next.good("fleet_poll", json!({ "wait": "30s" }));
    assert_eq!(mail["messages"][0]["reply"]["text"], "FOR WHOM?", "{mail}");
    assert_eq!(mail["messages"][0]["reply"]["turn"], sent["turn"]);
    assert!(taken(&daemon));
}

#[test]
fn a_person_sees_and_frees_the_seat() {
    let house = house();
    let daemon = house.start();
    assert!(cli(&house, &["seat", "show"]).contains("the seat is free"));
    let leader = Client::other(local(&daemon));
    leader.good("fleet_list", json!({}));
    let second = Client::new(local(&daemon));
    assert!(second.call("fleet_list", json!({})).refused);
    let shown = cli(&house, &["seat", "show"]);
    assert!(shown.contains("process "), "{shown}");
    cli(&house, &["seat", "release"]);
    assert!(!taken(&daemon));
    second.good("fleet_list", json!({}));
    // Whoever sat there finds it taken, like anybody: it is a process of its own, but below the new leader's.
    assert_eq!(leader.good("fleet_whoami", json!({}))["caller"], "leader");
    cli(&house, &["seat", "release"]);
    assert!(!taken(&daemon), "a leader gives its own seat up");
}

#[test]
fn the_seat_survives_the_daemon() {
    let house = house_at_a_port();
    let daemon = house.start();
    let leader = Client::other(local(&daemon));
    leader.good("fleet_list", json!({}));
    let before = daemon.get("/v1/seat").1;
    daemon.kill();
    let daemon = house.start();
    let after = daemon.get("/v1/seat").1;
    assert_eq!((&before["process"], &before["since"]), (&after["process"], &after["since"]), "{before} {after}");
    assert!(Client::new(local(&daemon)).call("fleet_list", json!({})).refused);
    daemon.kill();
    // It ended while no daemon was there to see it.
    drop(leader);
    let daemon = house.start();
    until(|| (!taken(&daemon)).then_some(()));
    Client::new(local(&daemon)).good("fleet_list", json!({}));
}

#[test]
fn whatever_the_leaders_process_starts_is_the_leader_too() {
    let house = house();
    let daemon = house.start();
    Client::new(local(&daemon)).good("fleet_list", json!({}));
    assert_eq!(daemon.get("/v1/whoami").1["caller"], "leader");
    let (_, sent) = daemon.post("/v1/send", &json!({ "to": "w-upper", "prompt": "x" }));
    let said: Value = serde_json::from_str(&cli(&house, &["poll", "--wait", "30s", "--json"])).unwrap();
    assert_eq!(said["messages"][0]["reply"]["turn"], sent["id"], "its mail is the leader's: {said}");
    let below = Client::other(local(&daemon));
    assert_eq!(below.good("fleet_whoami", json!({}))["caller"], "leader");
}
