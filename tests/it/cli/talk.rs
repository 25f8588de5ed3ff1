//! The commands that ask a daemon and come back at once.
//! Results are looked for on standard output and words about them on standard error, for that is what pipes rely on.

use serde_json::json;

use super::{TEAM, fleetd, fleetd_reads};
use crate::support::House;

#[test]
fn a_message_is_sent_and_its_reply_is_the_output() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();

    let said = fleetd(&house, &["send", "w-upper", "hello", "there"]).ends(0);
    assert_eq!(said.out, "HELLO THERE\n");
    assert!(said.err.contains("replied in ") && said.err.contains("w-upper-1 (upper)"), "{said:?}");

    let said = fleetd_reads(&house, &["send", "auto", "--kind", "loud", "-"], "from\nstdin\n").ends(0);
    assert_eq!(said.out, "FROM\nSTDIN\n");

    let envelope = fleetd(&house, &["send", "w-upper", "x", "--json", "--key", "k"]).ends(0).json();
    assert_eq!((&envelope["text"], &envelope["outcome"]), (&json!("X"), &json!("replied")));
    let again = fleetd(&house, &["send", "w-upper", "x", "--json", "--key", "k"]).ends(0).json();
    assert_eq!(envelope["turn"], again["turn"], "the same key is the same turn");

    let said = fleetd(&house, &["send", "w-broken", "x"]).ends(1);
    assert_eq!(said.out, "half\n");
    assert!(said.err.contains("has no reply: exit 3") && said.err.contains("  no such part"), "{said:?}");
    drop(daemon);
}

#[test]
fn a_refusal_is_told_to_people_and_to_programs() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    let said = fleetd(&house, &["send", "w-uper", "x"]).ends(4);
    assert!(said.err.starts_with("error: there is no "), "{said:?}");
    assert!(said.err.contains("\nhint: did you mean 'w-upper'?"), "{said:?}");
    assert_eq!(said.out, "");
    let said = fleetd(&house, &["send", "w-uper", "x", "--json"]).ends(4);
    assert_eq!(said.json()["kind"], "unknown");
    let said = fleetd(&house, &["send", "w-upper", ""]).ends(4);
    assert!(said.err.contains("hint: say what is to be done"), "{said:?}");
    let said = fleetd(&house, &["run", "show", "r999"]).ends(4);
    assert!(said.err.contains("fleetd run list"), "{said:?}");
    fleetd_reads(&house, &["send", "w-upper", "-"], &"x".repeat((1 << 20) + 1)).ends(4);
    fleetd(&house, &["run", "start", "shuot"]).ends(4);
    fleetd(&house, &["run", "start", "shout", "--job", "{\"wrods\": []}"]).ends(4);
    fleetd(&house, &["spawn", "w-upper", "--profile", "nobody"]).ends(4);
    fleetd(&house, &["stop", "w-upper-9"]).ends(4);
    fleetd(&house, &["trace", "t999"]).ends(4);
    fleetd(&house, &["reply", "q999", "x"]).ends(4);
    fleetd(&house, &["cancel", "r999"]).ends(4);
    fleetd(&house, &["poll", "--limit", "0"]).ends(4);
}

#[test]
fn what_waits_is_polled_and_collected() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    fleetd(&house, &["poll"]).ends(0);

    let said = fleetd(&house, &["send", "w-upper", "later", "--no-wait"]).ends(0);
    let turn = said.out.trim().to_string();
    assert!(turn.starts_with('t') && said.err.contains(&format!("{turn} is queued for w-upper")), "{said:?}");

    let said = fleetd(&house, &["poll", "--wait=30s"]).ends(0);
    assert!(said.out.contains(&turn) && said.out.contains("\n  LATER"), "{said:?}");
    let mail = fleetd(&house, &["poll", "--json"]).ends(0).json();
    let message = mail["messages"][0]["message"].as_str().unwrap().to_string();
    assert_eq!(fleetd(&house, &["ack", &message]).ends(0).out.trim(), message);
    let said = fleetd(&house, &["ack", &message, "--json"]).ends(0);
    assert_eq!(said.json(), json!({ "acked": [], "unknown": [message] }));
    fleetd(&house, &["poll", "--wait=100ms"]).ends(3);

    // The answer of a wait is shown, and waits all the same until it is collected.
    fleetd(&house, &["send", "w-upper", "one"]).ends(0);
    fleetd(&house, &["send", "w-upper", "two"]).ends(0);
    let said = fleetd(&house, &["ack", "--all-shown"]).ends(0);
    assert_eq!(said.out.split_whitespace().count(), 2, "{said:?}");
    fleetd(&house, &["send", "w-upper", "three", "--ack"]).ends(0);
    let mail = fleetd(&house, &["poll", "--json"]).ends(0).json();
    assert_eq!(mail["messages"], json!([]));
}

#[test]
fn the_fleet_is_shown() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    assert!(daemon.banner.contains("generation 1"), "{}", daemon.banner);

    let said = fleetd(&house, &["status"]).ends(0);
    assert!(said.out.starts_with(&format!("fleetd is ready at {}\n", daemon.url)), "{said:?}");
    assert!(said.out.contains("charter generation 1") && said.out.contains("w-upper"), "{said:?}");
    assert!(!said.out.contains('\u{1b}'), "no colour goes into a pipe");
    assert_eq!(fleetd(&house, &["status", "--json"]).ends(0).json()["health"]["ready"], true);
    assert_eq!(fleetd(&house, &["list", "--json"]).ends(0).json()["roles"].as_array().unwrap().len(), 3);
    assert!(fleetd(&house, &["list"]).ends(0).out.contains("0/2"), "who is busy, of how many");
    let said = fleetd(&house, &["recipes"]).ends(0);
    assert!(said.out.contains("shout") && said.out.contains("words: array of string"), "{said:?}");
    assert_eq!(fleetd(&house, &["recipes", "--json"]).ends(0).json()["generation"], 1);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        fleetd(&house, &["version"]).ends(0).out,
        format!("fleetd {version} (the daemon that runs is {version})\n")
    );
    assert_eq!(fleetd(&house, &["version", "--json"]).ends(0).json(), json!({ "version": version, "daemon": version }));

    let said = fleetd(&house, &["charter", "route", "--kind", "loud", "Hey"]).ends(0);
    assert!(said.out.contains("w-upper, because the task is to be loud"), "{said:?}");
    house.write("more.lua", "fleet.role(\"w-more\", { profiles = { \"upper\" }, max_busy = 1, max_waiting = 1 })\n");
    let said = fleetd(&house, &["charter", "reload"]).ends(0);
    assert!(said.out.contains("more.lua"), "{said:?}");
    house.write("more.lua", "fleet.role(\n");
    let said = fleetd(&house, &["charter", "reload"]).ends(4);
    assert!(said.err.contains("more.lua:"), "{said:?}");
    let said = fleetd(&house, &["charter", "status"]).ends(0);
    assert!(said.out.contains("the newest files were not taken:"), "{said:?}");
    assert!(fleetd(&house, &["status"]).ends(0).out.contains("fleetd is degraded"));
}

#[test]
fn a_worker_is_started_and_stopped() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    let worker = fleetd(&house, &["spawn", "w-upper", "--json"]).ends(0).json();
    let name = worker["name"].as_str().unwrap();
    let said = fleetd(&house, &["stop", name]).ends(0);
    assert!(said.out.contains(name), "{said:?}");
    let said = fleetd(&house, &["list", "--json"]).ends(0).json();
    assert!(!said["workers"].as_array().unwrap().iter().any(|other| other["name"] == name), "{said}");
}
