//! Each is shown what it may call, and told so when it calls something else.
//! Who becomes the leader is in `seat`.

use serde_json::json;

use super::client::Client;
use super::{call_script, house, local, quick_call_script, results, worker_says};

const LEADERS: [&str; 15] = [
    "fleet_whoami",
    "fleet_profiles",
    "fleet_list",
    "fleet_status",
    "fleet_send",
    "fleet_poll",
    "fleet_ack",
    "fleet_reply",
    "fleet_cancel",
    "fleet_spawn",
    "fleet_stop",
    "fleet_route",
    "fleet_recipes",
    "fleet_run",
    "fleet_charter",
];

#[test]
fn the_leader_and_whoever_may_become_it_see_all_tools_but_the_workers_own() {
    let house = house();
    let daemon = house.start();
    for client in [Client::new(local(&daemon)), Client::stateless(local(&daemon))] {
        assert_eq!(client.menu(), LEADERS);
        client.good("fleet_list", json!({}));
        assert_eq!(client.good("fleet_whoami", json!({}))["caller"], "leader");
        assert_eq!(client.menu(), LEADERS);
        let refusal = client.call("fleet_ask", json!({ "text": "which?" })).refusal();
        assert!(refusal.starts_with("not_allowed: leader may not ask; you may: whoami, send"), "{refusal}");
    }
}

#[test]
fn a_worker_sees_its_three_tools_and_is_told_so_when_it_calls_another() {
    let house = house();
    let daemon = house.start();
    let leader = Client::new(local(&daemon));
    let mut script = call_script(&daemon, "tools/list", json!({}));
    // Each call is a process of its own, so a few stand for all; the whole table is held in `rules`.
    let others = ["fleet_send", "fleet_poll", "fleet_list", "fleet_charter"];
    for tool in others.into_iter().chain(["fleet_whoami"]) {
        script += &call_script(&daemon, tool, json!({}));
    }
    let said = results(&worker_says(&leader, &script));
    let menu: Vec<_> = said[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(menu, ["fleet_whoami", "fleet_reply", "fleet_ask"]);
    let refused = &said[1..said.len() - 1];
    assert_eq!(refused.len(), others.len());
    for (tool, answer) in others.into_iter().zip(refused) {
        let refusal = &answer["structuredContent"];
        assert_eq!((&answer["isError"], &refusal["kind"]), (&json!(true), &json!("not_allowed")), "{tool}: {answer}");
        assert!(refusal["message"].as_str().unwrap().starts_with("worker w-1 may not "), "{tool}: {answer}");
        assert_eq!(refusal["hints"], json!(["you may: whoami, reply, ask"]), "{tool}");
    }
    let me = &said.last().unwrap()["structuredContent"];
    assert_eq!((&me["caller"], &me["name"], &me["role"]), (&json!("worker"), &json!("w-1"), &json!("w")), "{me}");
    assert!(me["turn"].is_string() && me["seat"].is_null(), "{me}");
}

#[test]
fn a_worker_is_known_from_its_first_instruction_on() {
    let house = house();
    let daemon = house.start();
    let leader = Client::new(local(&daemon));
    let script = quick_call_script(&daemon, "fleet_whoami", json!({}));
    let send = || leader.good("fleet_send", json!({ "to": "quick", "prompt": script }))["turn"].clone();
    let turns: Vec<_> = (0..24).map(|_| send()).collect();
    for turn in turns {
        let reply = leader.good("fleet_status", json!({ "turn": turn, "wait": "50s" }));
        let me = &results(reply["text"].as_str().unwrap())[0]["structuredContent"];
        assert_eq!((&me["caller"], &me["turn"]), (&json!("worker"), &turn), "{me}");
    }
}

#[test]
fn a_worker_replies_to_its_turn_by_the_tool() {
    let house = house();
    let daemon = house.start();
    let leader = Client::new(local(&daemon));
    let mut script = call_script(&daemon, "fleet_reply", json!({ "text": "first" }));
    script += &call_script(&daemon, "fleet_reply", json!({ "text": "the real one" }));
    let log = house.path().join("log");
    script = format!("exec > {}\n{script}", log.display());
    assert_eq!(worker_says(&leader, &script), "the real one");
    let said = results(&std::fs::read_to_string(log).unwrap());
    let replaced: Vec<_> = said.iter().map(|answer| &answer["structuredContent"]["replaced"]).collect();
    assert_eq!(replaced, [false, true], "{said:?}");
}

#[test]
fn a_second_session_sees_that_the_seat_is_taken_and_by_whom() {
    let house = house();
    let daemon = house.start();
    let leader = Client::other(local(&daemon));
    leader.good("fleet_list", json!({}));
    for second in [Client::new(local(&daemon)), Client::stateless(local(&daemon))] {
        assert_eq!(second.menu(), ["fleet_whoami"]);
        let refusal = second.call("fleet_send", json!({ "to": "w-upper", "prompt": "x" })).refusal();
        assert!(refusal.starts_with("not_allowed: the seat is taken: process "), "{refusal}");
        assert!(refusal.contains(" has been the leader for "), "{refusal}");
        assert!(refusal.contains("fleetd seat release"), "{refusal}");
        let me = second.good("fleet_whoami", json!({}));
        assert_eq!((&me["caller"], &me["may"]), (&json!("operator"), &json!(["whoami"])), "{me}");
        assert!(me["says"].as_str().unwrap().contains("another session is the leader"), "{me}");
    }
    assert_eq!(leader.menu(), LEADERS, "nobody took anything from the leader");
}
