//! What makes a repeated call the same call, and what does not.
//! That a key outlives the daemon is in `restarts`.

use serde_json::{Value, json};

use super::client::{Client, TOOL_USE};
use crate::door::inside::Inside;

fn send(prompt: &str) -> Value {
    json!({ "to": "w-upper", "prompt": prompt })
}

fn used(id: &str) -> Value {
    json!({ TOOL_USE: id })
}

#[test]
fn the_use_of_a_tool_by_a_model_is_one_call_however_often_its_client_sends_it() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let first = client.call_with("fleet_send", send("one"), used("toolu_1")).good();
    client.begin();
    let again = client.call_with("fleet_send", send("one"), used("toolu_1")).good();
    assert_eq!(first["turn"], again["turn"], "a new session, the same use");
    let stateless = Client::stateless(door.local);
    assert_eq!(stateless.call_with("fleet_send", send("one"), used("toolu_1")).good()["turn"], first["turn"]);
    let refusal = client.call_with("fleet_send", send("two"), used("toolu_1")).refusal();
    assert!(refusal.starts_with("key_conflict: "), "{refusal}");
    assert!(refusal.contains(first["turn"].as_str().unwrap()), "{refusal}");
    let other = client.call_with("fleet_send", send("one"), used("toolu_2")).good();
    assert_ne!(other["turn"], first["turn"], "another use is another call");
    // How long one waits is no part of it.
    let waits = json!({ "to": "w-upper", "prompt": "one", "wait": "50s" });
    assert_eq!(client.call_with("fleet_send", waits, used("toolu_1")).good()["text"], "ONE");
}

#[test]
fn a_run_and_a_worker_are_begun_once_too() {
    let door = Inside::new();
    let client = Client::new(door.local);
    for (tool, arguments, made) in
        [("fleet_run", json!({ "recipe": "ask" }), "run"), ("fleet_spawn", json!({ "role": "w-upper" }), "name")]
    {
        let first = client.call_with(tool, arguments.clone(), used(tool)).good();
        client.begin();
        let again = client.call_with(tool, arguments, used(tool)).good();
        assert!(first[made].is_string() && first[made] == again[made], "{tool}: {first} {again}");
    }
}

#[test]
fn a_request_of_a_session_is_one_call_and_a_new_session_is_none_of_it() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let call = |id: Value, prompt: &str| {
        let params = json!({ "name": "fleet_send", "arguments": send(prompt) });
        client.start_as(id, "tools/call", params).fine().called()
    };
    let first = call(json!(100), "one").good();
    assert_eq!(call(json!(100), "one").good()["turn"], first["turn"]);
    assert_ne!(call(json!("100"), "one").good()["turn"], first["turn"], "a text is not a number");
    assert!(call(json!(100), "two").refusal().starts_with("key_conflict: "));
    client.begin();
    assert_ne!(call(json!(100), "one").good()["turn"], first["turn"]);
}

#[test]
fn a_key_of_the_callers_own_counts_before_all_others() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let keyed = |prompt: &str| json!({ "to": "w-upper", "prompt": prompt, "key": "mine" });
    let first = client.call_with("fleet_send", keyed("one"), used("toolu_1")).good();
    let again = client.call_with("fleet_send", keyed("one"), used("toolu_2")).good();
    assert_eq!(first["turn"], again["turn"]);
    assert!(client.call_with("fleet_send", keyed("two"), used("toolu_3")).refusal().starts_with("key_conflict: "));
}

#[test]
fn on_the_stateless_road_a_call_without_a_key_is_a_new_one_each_time() {
    let door = Inside::new();
    let client = Client::stateless(door.local);
    let call = || {
        let params = json!({ "name": "fleet_send", "arguments": send("one") });
        client.start_as(json!(1), "tools/call", params).fine().called().good()["turn"].clone()
    };
    assert_ne!(call(), call());
}
