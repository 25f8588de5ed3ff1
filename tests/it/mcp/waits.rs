//! A call that waits says so at once and again, and says how the wait ended: with the reply, or why not yet.
//! Waits that a client gives up are in `cancel`.

use serde_json::{Value, json};

use super::client::Client;
use super::{call_script, house, local};
use crate::door::inside::Inside;

fn hold() -> Value {
    json!({ "to": "w-upper", "prompt": "hold it", "wait": "50s" })
}

#[test]
fn progress_comes_before_the_turn_has_ended_with_the_clients_token() {
    for token in [json!(7), json!("a token")] {
        for open in [Client::new, Client::stateless] {
            // A door for each: what was released once holds nothing any more.
            let door = Inside::new();
            let client = open(door.local);
            let mut answer = client.start_call("fleet_send", hold(), json!({ "progressToken": token }));
            assert_eq!(answer.headers["content-type"], "text/event-stream");
            let first = answer.message().unwrap().message;
            assert_eq!(first["method"], "notifications/progress", "{first}");
            assert_eq!((&first["params"]["progressToken"], &first["params"]["progress"]), (&token, &json!(1.0)));
            assert!(first["params"]["message"].as_str().unwrap().starts_with('t'), "it says which turn: {first}");
            door.release();
            assert_eq!(answer.called().good()["text"], "HOLD IT");
        }
    }
}

#[test]
fn without_a_token_something_harmless_comes_at_once() {
    let door = Inside::new();
    let (session, stateless) = (Client::new(door.local), Client::stateless(door.local));
    let mut first = session.start_call("fleet_send", hold(), json!({}));
    let event = first.event().unwrap();
    assert!(event.message.is_null() && event.id.is_some(), "it says how to come back: {event:?}");
    let mut second = stateless.start_call("fleet_send", hold(), json!({}));
    let event = second.event().unwrap().message;
    assert_eq!(event["method"], "notifications/fleet/waiting", "{event}");
    assert!(event["params"].is_object(), "some clients take no null there: {event}");
    door.release();
    assert_eq!(first.called().good()["text"], "HOLD IT");
    assert_eq!(second.called().good()["text"], "HOLD IT");
}

#[test]
fn nobody_who_listens_is_told_of_calls_that_wait() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let mut listening = client.listen(None);
    let mut answer = client.start_call("fleet_send", hold(), json!({}));
    door.until_open(1);
    // It is under way beyond any first notice: another call of the session was answered.
    client.good("fleet_poll", json!({ "wait": "50ms" }));
    door.release();
    answer.called().good();
    client.end();
    while let Some(said) = listening.message() {
        assert!(said.message["method"].as_str().unwrap().ends_with("list_changed"), "{said:?}");
    }
}

#[test]
fn a_call_that_does_not_wait_is_told_that_it_was_accepted() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let sent = client.good("fleet_send", json!({ "to": "w-upper", "prompt": "hold it" }));
    assert_eq!(sent["pending"], "accepted", "{sent}");
    let over = client.good("fleet_status", json!({ "turn": sent["turn"], "wait": "20ms" }));
    assert_eq!((&over["pending"], &over["turn"]), (&json!("wait_over"), &sent["turn"]), "{over}");
    let over = client.good("fleet_send", json!({ "to": "w-upper", "prompt": "hold it", "wait": "20ms" }));
    assert_eq!(over["pending"], "wait_over", "{over}");
    door.release();
    for turn in [&sent["turn"], &over["turn"]] {
        assert_eq!(client.good("fleet_status", json!({ "turn": turn, "wait": "50s" }))["text"], "HOLD IT");
    }
    let run = client.good("fleet_run", json!({ "recipe": "ask" }));
    assert_eq!((&run["pending"], run["run"].is_string()), (&json!("accepted"), true), "{run}");
    let asks = client.good("fleet_status", json!({ "run": run["run"], "wait": "50s" }));
    assert_eq!((&asks["pending"], &asks["questions"][0]["text"]), (&json!("question"), &json!("which colour?")));
    client.good("fleet_reply", json!({ "question": asks["questions"][0]["question"], "text": "blue" }));
    assert_eq!(client.good("fleet_status", json!({ "run": run["run"], "wait": "50s" }))["value"], "blue");
}

#[test]
fn a_send_that_waits_answers_early_when_the_worker_asks() {
    let house = house();
    let daemon = house.start();
    let leader = Client::new(local(&daemon));
    let script = call_script(&daemon, "fleet_ask", json!({ "text": "which one?" }));
    let pending = leader.good("fleet_send", json!({ "to": "w", "prompt": script, "wait": "50s" }));
    assert_eq!((&pending["pending"], &pending["state"]), (&json!("question"), &json!("asking")), "{pending}");
    let question = &pending["questions"][0];
    assert_eq!(question["text"], "which one?", "{pending}");
    let answered = leader.good("fleet_reply", json!({ "question": question["question"], "text": "the second" }));
    assert_eq!(answered, json!({ "question": question["question"], "answered": true }));
    let reply = leader.good("fleet_status", json!({ "turn": pending["turn"], "wait": "50s" }));
    assert!(reply["text"].as_str().unwrap().contains("the second"), "{reply}");
}

#[test]
fn a_poll_waits_for_what_comes() {
    let door = Inside::new();
    let client = Client::new(door.local);
    client.good("fleet_send", json!({ "to": "w-upper", "prompt": "hold it" }));
    assert_eq!(client.good("fleet_poll", json!({ "wait": "20ms" }))["messages"], json!([]));
    let mut polling = client.start_call("fleet_poll", json!({ "wait": "50s" }), json!({ "progressToken": 1 }));
    assert_eq!(polling.message().unwrap().message["params"]["message"], "nothing has come yet");
    door.release();
    let mail = polling.called().good();
    assert_eq!(mail["messages"][0]["reply"]["text"], "HOLD IT");
    let message = &mail["messages"][0]["message"];
    assert_eq!(client.good("fleet_ack", json!({ "messages": [message] }))["acked"], json!([message]));
    assert_eq!(client.good("fleet_poll", json!({}))["messages"], json!([]));
}

#[test]
fn a_daemon_that_is_asked_to_end_answers_who_waits_and_ends() {
    let house = house();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let _listening = client.listen(None);
    let mut polling = client.start_call("fleet_poll", json!({ "wait": "50s" }), json!({ "progressToken": 1 }));
    polling.message().unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(daemon.terminate(), Some(0));
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "it did not wait for the poll");
    assert_eq!(polling.called().good()["messages"], json!([]));
}

#[test]
fn at_shutdown_waiting_calls_are_told_where_things_stand_and_nobody_who_listens_holds_it_up() {
    let mut door = Inside::new();
    let (session, stateless) = (Client::new(door.local), Client::stateless(door.local));
    let mut listening = session.listen(None);
    listening.event().unwrap();
    let mut calls = Vec::new();
    for client in [&session, &stateless] {
        let mut answer = client.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
        answer.message().unwrap();
        calls.push(answer);
    }
    let mut polling = session.start_call("fleet_poll", json!({ "wait": "50s" }), json!({ "progressToken": 3 }));
    polling.message().unwrap();
    let begun = std::time::Instant::now();
    door.closing.cancel();
    for mut answer in calls {
        assert_eq!(answer.called().good()["pending"], "wait_over");
    }
    assert_eq!(polling.called().good()["messages"], json!([]));
    // It was told that the seat was taken; then the stream ends.
    while listening.message().is_some() {}
    door.served();
    assert!(begun.elapsed() < Inside::GRACE, "nothing had to be cut");
}
