//! A session belongs to whoever opened it, outlives its connections, and ends when its client says so.
//! What a killed daemon does to them is in `restarts`.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Answer, Client, TOOL_USE};
use crate::door::inside::Inside;

fn hold() -> Value {
    json!({ "to": "w-upper", "prompt": "hold it", "wait": "50s" })
}

/// Returns the status of a call, a stream and an end in the session that a client names.
fn statuses(client: &Client) -> [u16; 3] {
    let call = || {
        let mut answer = client.start("tools/list", json!({}));
        answer.text();
        answer.status
    };
    let listen = || {
        let mut answer = client.listen(None);
        assert_ne!(answer.status, 200, "a stranger listens");
        answer.text();
        answer.status
    };
    [call(), listen(), client.end()]
}

#[test]
fn to_another_process_a_session_is_unknown_and_its_owner_notices_nothing() {
    let door = Inside::new();
    let owner = Client::new(door.local);
    let id = owner.next_id();
    let mut waiting = owner.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
    waiting.message().unwrap();
    let stranger = Client::silent_other(door.local);
    stranger.session.replace(owner.session.borrow().clone());
    assert_eq!(stranger.tell("notifications/cancelled", json!({ "requestId": id })), 404);
    assert_eq!(statuses(&stranger), [404, 404, 404]);
    door.release();
    assert_eq!(waiting.called().good()["text"], "HOLD IT");
    assert_eq!(owner.listen(None).status, 200);
    owner.good("fleet_list", json!({}));
}

#[test]
fn a_session_that_never_was_is_unknown_and_no_bad_request() {
    let door = Inside::new();
    for id in ["00000000-0000-0000-0000-000000000000", "x", "../../etc/passwd", "💥", ""] {
        let client = Client::silent(door.local);
        client.session.replace(Some(id.into()));
        assert_eq!(statuses(&client), [404, 404, 404], "{id:?}");
    }
}

#[test]
fn a_session_ends_when_its_client_says_so() {
    let door = Inside::new();
    let client = Client::new(door.local);
    client.good("fleet_list", json!({}));
    assert_eq!(client.end(), 204, "to the Python client any but 200 and 204 is a failure");
    assert_eq!(statuses(&client), [404, 404, 404]);
    client.begin();
    assert_eq!(client.good("fleet_whoami", json!({}))["caller"], "leader", "the seat is the process's");
}

#[test]
fn a_stream_that_was_cut_goes_on_after_its_last_event() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let id = client.next_id();
    let mut cut = client.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
    let last = cut.message().unwrap().id.unwrap();
    drop(cut);
    let mut again = client.listen(Some(&last));
    door.release();
    let response = again.response();
    assert_eq!((&response["id"], &response["result"]["structuredContent"]["text"]), (&json!(id), &json!("HOLD IT")));
    let mail = client.good("fleet_poll", json!({}));
    assert_eq!(mail["messages"].as_array().unwrap().len(), 1, "it was one turn: {mail}");
}

#[test]
fn a_stream_that_was_cut_is_finished_also_when_the_turn_has_ended_meanwhile() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let id = client.next_id();
    let mut cut = client.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
    let last = cut.message().unwrap().id.unwrap();
    drop(cut);
    door.release();
    client.good("fleet_poll", json!({ "wait": "50s" }));
    // Its own call is answered by now too: one more round through the session.
    client.menu();
    let response = client.listen(Some(&last)).response();
    assert_eq!((&response["id"], &response["result"]["structuredContent"]["text"]), (&json!(id), &json!("HOLD IT")));
}

#[test]
fn a_look_that_was_cut_is_to_be_repeated_and_nobody_waits_for_it() {
    let door = Inside::new();
    let client = Client::new(door.local);
    client.good("fleet_list", json!({}));
    let mut cut = client.start_call("fleet_list", json!({}), json!({ "progressToken": 1 }));
    let last = cut.event().unwrap().id.expect("each stream begins with a name to come back by");
    drop(cut);
    let refusal = client.listen(Some(&last)).called().refusal();
    assert!(refusal.starts_with("unavailable: this call was cut off, and what it came to is not kept;"), "{refusal}");
    assert!(refusal.contains("repeat the call"), "{refusal}");
}

/// Which stay in memory a session is at, as its events say.
fn stay(client: &Client) -> String {
    let mut answer = client.start_call("fleet_whoami", json!({}), json!({})).fine();
    let event = answer.event().unwrap().id.unwrap();
    answer.called().good();
    event.split('.').next().unwrap().to_string()
}

#[test]
fn of_many_sessions_those_that_nobody_reads_from_rest_and_come_back_with_the_next_message() {
    let door = Inside::new();
    let [first, held, listened] = [(); 3].map(|()| Client::new(door.local));
    listened.listen(None).event().unwrap();
    // More than a client has to listen again after a restart; there was none since.
    door.later(Duration::from_millis(4_500));
    let listened_was = stay(&listened);
    let mut held_call = held.start_call("fleet_send", hold(), json!({}));
    held_call.event().unwrap();
    let first_was = stay(&first);
    let held_was = stay(&held);
    // More than stay in memory.
    let many: Vec<_> = (0..501).map(|_| Client::new(door.local)).collect();
    assert_ne!(stay(&first), first_was, "it was in memory all the time");
    assert_ne!(stay(&listened), listened_was, "it was in memory all the time");
    assert_eq!(stay(&held), held_was, "its call would have been cut");
    assert_eq!(stay(&many[500]), stay(&many[500]));
    door.release();
    assert_eq!(held_call.called().good()["text"], "HOLD IT");
}

#[test]
fn the_end_of_a_stay_comes_late_and_does_not_end_the_next_one() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let was = stay(&client);
    let mut given_up = client.start_call("fleet_send", hold(), json!({}));
    given_up.event().unwrap();
    drop(given_up);
    let rested = (0..10).any(|_| {
        drop((0..101).map(|_| Client::new(door.local)).collect::<Vec<_>>());
        stay(&client) != was
    });
    assert!(rested, "somebody seems to read from it still");
    // Five seconds are what the library gives to the call that nobody reads.
    let mail = client.good("fleet_poll", json!({ "wait": "7s" }));
    assert_eq!(mail["messages"], json!([]), "its stream would have been cut");
}

#[test]
fn clients_that_push_each_other_out_of_memory_get_every_answer() {
    let door = Inside::new();
    let holders: Vec<_> = (0..100).map(|_| Client::new(door.local)).collect();
    // As many as stay in memory are read from, so that whoever comes makes the only other one rest.
    let _held: Vec<_> = holders.iter().map(|holder| holder.listen(None).fine()).collect();
    let local = door.local;
    let statuses = |_| {
        std::thread::spawn(move || {
            let client = Client::new(local);
            (0..30).map(|_| statuses_of(&client)).collect::<Vec<_>>().concat()
        })
    };
    let threads: Vec<_> = (0..6).map(statuses).collect();
    let statuses: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let other = statuses.iter().filter(|status| **status != 200).collect::<Vec<_>>();
    assert!(other.is_empty(), "of {} calls: {other:?}", statuses.len());
}

/// Calls in the two ways, through the session and past it; returns the statuses, and 0 for an answer that broke off.
fn statuses_of(client: &Client) -> Vec<u16> {
    let answers = [client.start("tools/list", json!({})), client.start_call("fleet_list", json!({}), json!({}))];
    let status = |mut answer: Answer| match (answer.status, answer.responded()) {
        (200, None) => 0,
        (status, _) => status,
    };
    answers.map(status).to_vec()
}

#[test]
fn now_and_then_a_look_goes_the_librarys_way_or_its_session_would_be_thought_unused() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let past = |client: &Client| {
        let mut answer = client.start_call("fleet_list", json!({}), json!({})).fine();
        let event = answer.event().unwrap().id.unwrap();
        answer.called().good();
        event.ends_with(".look")
    };
    assert_eq!([past(&client), past(&client)], [true, true]);
    for _ in 0..4 {
        door.later(Duration::from_secs(31 * 60));
        assert_eq!([past(&client), past(&client)], [false, true]);
    }
}

#[test]
fn a_client_that_stopped_listening_is_told_once_to_begin_anew_and_its_call_is_one() {
    let mut door = Inside::new();
    let client = Client::new(door.local);
    let mut listening = client.listen(None);
    listening.event().unwrap();
    let use_of_it = json!({ TOOL_USE: "toolu_1" });
    let first = client.call_with("fleet_send", json!({ "to": "w-upper", "prompt": "one" }), use_of_it.clone()).good();
    door.reopen();
    door.later(Duration::from_millis(4_500));
    let client = client.moved(door.local);
    let repeat = || client.start_call("fleet_send", json!({ "to": "w-upper", "prompt": "one" }), use_of_it.clone());
    assert_eq!(repeat().status, 404);
    assert_eq!(repeat().status, 404, "that session is gone");
    client.begin();
    assert_eq!(repeat().fine().called().good()["turn"], first["turn"]);
}

#[test]
fn a_client_that_listens_again_or_never_did_or_is_back_in_time_goes_on() {
    let mut door = Inside::new();
    let [listens, never, soon] = [(); 3].map(|()| Client::new(door.local));
    for client in [&listens, &soon] {
        client.listen(None).event().unwrap();
    }
    door.reopen();
    let soon = soon.moved(door.local);
    soon.good("fleet_whoami", json!({}));
    door.later(Duration::from_millis(4_500));
    let (listens, never) = (listens.moved(door.local), never.moved(door.local));
    assert_eq!(listens.listen(None).status, 200, "however late");
    listens.good("fleet_whoami", json!({}));
    never.good("fleet_whoami", json!({}));
}

#[test]
fn at_shutdown_a_call_that_was_taken_up_again_is_told_where_things_stand() {
    let mut door = Inside::new();
    let client = Client::new(door.local);
    let mut cut = client.start_call("fleet_send", hold(), json!({}));
    let last = cut.event().unwrap().id.unwrap();
    door.until_open(1);
    door.reopen();
    let client = client.moved(door.local);
    let mut again = client.listen(Some(&last));
    assert_eq!(again.message().unwrap().message["method"], "notifications/fleet/waiting");
    let begun = std::time::Instant::now();
    door.closing.cancel();
    assert_eq!(again.called().good()["pending"], "wait_over");
    door.served();
    assert!(begun.elapsed() < Inside::GRACE, "nothing had to be cut");
}
