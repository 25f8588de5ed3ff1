//! Who does not wait any more ends its wait and nothing else; a turn is ended by who says so.
//! Whatever else ends a wait, its bound and the daemon's end, is in `waits`.

use serde_json::{Value, json};

use super::client::Client;
use crate::door::inside::Inside;

fn hold() -> Value {
    json!({ "to": "w-upper", "prompt": "hold it", "wait": "50s" })
}

#[test]
fn a_cancelled_call_ends_the_wait_and_the_turn_goes_on() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let id = client.next_id();
    let mut answer = client.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
    answer.message().unwrap();
    assert_eq!(client.tell("notifications/cancelled", json!({ "requestId": id, "reason": "Esc" })), 202);
    assert_eq!(answer.responded(), None, "a cancelled call is not answered");
    door.until_open(1);
    door.release();
    let mail = client.good("fleet_poll", json!({ "wait": "50s" }));
    assert_eq!(mail["messages"][0]["reply"]["text"], "HOLD IT");
    // Some clients say so after every call, also when it was answered long ago.
    for id in [id, client.next_id() - 1, 999] {
        assert_eq!(client.tell("notifications/cancelled", json!({ "requestId": id })), 202);
    }
    assert_eq!(client.good("fleet_poll", json!({}))["messages"], mail["messages"]);
}

#[test]
fn a_closed_connection_ends_no_turn() {
    let door = Inside::new();
    for client in [Client::new(door.local), Client::stateless(door.local)] {
        let mut answer = client.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
        answer.message().unwrap();
        drop(answer);
    }
    door.until_open(2);
    door.release();
    let client = Client::new(door.local);
    for after in [None, Some("m1")] {
        let mut arguments = json!({ "wait": "50s", "limit": 1 });
        if let Some(after) = after {
            arguments["after"] = json!(after);
        }
        assert_eq!(client.good("fleet_poll", arguments)["messages"][0]["reply"]["text"], "HOLD IT");
    }
}

#[test]
fn a_turn_that_is_cancelled_answers_who_waits_for_it() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let mut answer = client.start_call("fleet_send", hold(), json!({ "progressToken": 1 }));
    let told = answer.message().unwrap().message["params"]["message"].as_str().unwrap().to_string();
    let turn = told.split_whitespace().next().unwrap();
    let cancelled = client.good("fleet_cancel", json!({ "turn": turn }));
    assert_eq!((&cancelled["outcome"], &cancelled["turn"]), (&json!("cancelled"), &json!(turn)));
    assert_eq!(answer.called().good()["outcome"], "cancelled");
    let pending = client.good("fleet_run", json!({ "recipe": "ask", "wait": "50s" }));
    let cancelled = client.good("fleet_cancel", json!({ "run": pending["run"] }));
    assert_eq!(cancelled["outcome"], "cancelled", "{cancelled}");
}
