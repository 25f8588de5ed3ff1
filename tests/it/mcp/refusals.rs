//! What is wrong with a call is said by name, with what would be right; and every answer fits what the tool promises.
//! What is refused for who calls it is in `menus`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::Client;
use super::{call_script, house, local, results, worker_says};
use crate::door::inside::Inside;

#[test]
fn a_wrong_call_is_refused_by_name_with_what_would_be_right() {
    let door = Inside::new();
    let (session, stateless) = (Client::new(door.local), Client::stateless(door.local));
    let mut wrong = String::new();
    for (tool, arguments, wanted) in [
        ("fleet_whoami", json!({ "x": 1 }), "invalid: there is no field 'x'; no fields are taken here"),
        (
            "fleet_send",
            json!({ "to": "w-upper", "promt": "x" }),
            "invalid: there is no field 'promt'; did you mean 'prompt'?; valid: ",
        ),
        ("fleet_send", json!({ "to": "w-upper" }), "invalid: the field 'prompt' is missing"),
        (
            "fleet_send",
            json!({ "to": "w-upper", "prompt": 7 }),
            "invalid: the field 'prompt' is the number 7, wanted a string",
        ),
        (
            "fleet_send",
            json!({ "to": "w-upper", "prompt": "x", "wait": "soon" }),
            "invalid: the field 'wait' cannot be read: 'soon' is not a length of time",
        ),
        (
            "fleet_send",
            json!({ "to": "w-upper", "prompt": "x", "priority": "high" }),
            "invalid: there is no value 'high' for 'priority'; valid: now, normal",
        ),
        ("fleet_send", json!({ "prompt": "x" }), "invalid: the message has no address"),
        ("fleet_send", json!({ "to": "w-upper", "prompt": " " }), "invalid: "),
        (
            "fleet_send",
            json!({ "to": "w-uper", "prompt": "x" }),
            "unknown: there is no role or worker 'w-uper'; did you mean 'w-upper'?",
        ),
        ("fleet_status", json!({ "turn": "17" }), "invalid: the field 'turn' cannot be read: '17' is not an id"),
        ("fleet_status", json!({ "turn": "t9" }), "unknown: there is no turn t9"),
        ("fleet_status", json!({ "run": "r9" }), "unknown: there is no run r9"),
        ("fleet_status", json!({ "worker": "w-9" }), "unknown: there is no worker 'w-9'"),
        ("fleet_status", json!({ "turn": "t9", "run": "r9" }), "invalid: give one of 'turn', 'run' and 'worker'"),
        ("fleet_status", json!({ "wait": "1s" }), "invalid: 'wait' needs exactly one of 'turn' and 'run'"),
        ("fleet_poll", json!({ "limit": 0 }), "invalid: limit is 0; give 1 to 500"),
        ("fleet_poll", json!({ "limit": "many" }), "invalid: the field 'limit' is the text \"many\", wanted "),
        ("fleet_poll", json!({ "after": 3 }), "invalid: the field 'after' "),
        ("fleet_ack", json!({ "messages": "m1" }), "invalid: the field 'messages' is the text \"m1\", wanted a list"),
        ("fleet_ack", json!({}), "invalid: the field 'messages' is missing"),
        ("fleet_reply", json!({ "text": "blue" }), "invalid: the reply names no question"),
        ("fleet_reply", json!({ "question": "q9", "text": "blue" }), "unknown: there is no question 'q9'"),
        ("fleet_cancel", json!({}), "invalid: give exactly one of 'turn' and 'run'"),
        ("fleet_cancel", json!({ "turn": "t999" }), "unknown: there is no open turn t999"),
        ("fleet_cancel", json!({ "run": "r999" }), "unknown: there is no run r999"),
        ("fleet_spawn", json!({ "role": "nobody" }), "unknown: there is no role 'nobody'; valid: w-upper"),
        (
            "fleet_spawn",
            json!({ "role": "w-upper", "profile": "uper" }),
            "unknown: there is no profile of role 'w-upper' 'uper'; did you mean 'upper'?",
        ),
        ("fleet_stop", json!({ "worker": "w-9" }), "unknown: there is no worker 'w-9'"),
        (
            "fleet_stop",
            json!({ "worker": "w-9", "kill": "yes" }),
            "invalid: the field 'kill' is the text \"yes\", wanted true or false",
        ),
        ("fleet_route", json!({}), "invalid: the field 'prompt' is missing"),
        ("fleet_run", json!({ "recipe": "aks" }), "unknown: there is no recipe 'aks'; did you mean 'ask'?; valid: ask"),
        ("fleet_run", json!({ "recipe": "ask", "job": 7 }), "invalid: the job is no object"),
        ("fleet_charter", json!({ "relaod": true }), "invalid: there is no field 'relaod'; did you mean 'reload'?"),
        ("fleet_charter", json!({ "reload": true }), "invalid: routes.lua:3: unexpected symbol"),
        ("fleet_charter", json!({ "reload": true, "diff": true }), "invalid: give one of 'diff' and 'reload'"),
        ("fleet_sned", json!({}), "unknown: there is no tool 'fleet_sned'; did you mean 'fleet_send'?; valid: "),
    ] {
        for client in [&session, &stateless] {
            let refusal = client.call(tool, arguments.clone()).refusal();
            if !refusal.starts_with(wanted) {
                wrong += &format!("{tool} {arguments}\n   got {refusal}\nwanted {wanted}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let refusal = session.call("fleet_reply", json!({ "turn": "t1", "question": "q1", "text": "x" })).refusal();
    assert!(refusal.starts_with("invalid: "), "{refusal}");
    assert_eq!(session.good("fleet_list", json!({}))["open_turns"], 0, "nothing of it was accepted");
}

#[test]
fn an_unknown_method_and_a_body_that_is_no_message_are_faults_of_the_protocol() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let mut answer = client.start("fleet/nothing", json!({}));
    let error = answer.response()["error"].clone();
    assert_eq!(error["code"], -32601);
    assert!(error["message"].as_str().unwrap().contains("valid: initialize, tools/list, tools/call"), "{error}");
    for arguments in [json!([]), json!("turn")] {
        let wrong = client.ask("tools/call", json!({ "name": "fleet_status", "arguments": arguments }));
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
        assert!(wrong["error"]["message"].as_str().unwrap().contains("\"arguments\": a JSON object"), "{wrong}");
    }
    let mut answer = Client::stateless(door.local).start("initialize", json!({}));
    let said: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!((answer.status, &said["error"]["code"]), (404, &json!(-32601)), "no session is opened there: {said}");
    for body in ["", "{", "[]", "7", r#"{"jsonrpc":"1.0"}"#] {
        let status = client.post_raw(body.as_bytes(), "").status;
        assert!((400..500).contains(&status), "{body:?} got {status}");
    }
    assert_eq!(client.menu().len(), 15, "the session goes on");
}

#[test]
fn of_a_field_that_is_there_twice_neither_counts() {
    let door = Inside::new();
    let client = Client::new(door.local);
    let arguments = r#"{"to":"w-upper","prompt":"one","prompt":"two"}"#;
    let params = format!(r#"{{"name":"fleet_send","arguments":{arguments}}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let mut answer = client.post_raw(body.as_bytes(), "");
    let said: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!((answer.status, &said["error"]["code"]), (400, &json!(-32600)), "{said}");
    assert!(said["error"]["message"].as_str().unwrap().contains("'prompt' is there twice"), "{said}");
    assert_eq!(client.good("fleet_list", json!({}))["open_turns"], 0);
}

/// What each tool says it gives.
fn promises(client: &Client) -> BTreeMap<String, jsonschema::Validator> {
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let promise = |tool: &Value| {
        let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        (tool["name"].as_str().unwrap().to_string(), schema)
    };
    tools.as_array().unwrap().iter().map(promise).collect()
}

#[test]
fn every_answer_and_every_refusal_fits_what_its_tool_promises() {
    let house = house();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let promises = promises(&client);
    let mut seen = std::collections::BTreeSet::new();
    let fits = |tool: &str, value: &Value| {
        let faults: Vec<_> = promises[tool].iter_errors(value).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{tool} gave {value}: {faults:?}");
    };
    let mut call = |tool: &str, arguments: Value| {
        let value = client.good(tool, arguments);
        fits(tool, &value);
        seen.insert(tool.to_string());
        value
    };
    call("fleet_whoami", json!({}));
    call("fleet_profiles", json!({}));
    call("fleet_list", json!({}));
    call("fleet_charter", json!({}));
    assert_eq!(call("fleet_charter", json!({}))["last_change"], json!([]));
    // The daemon may see the file by itself, before it is asked.
    house.write("late.lua", "fleet.role(\"w-late\", { profiles = { \"upper\" } })\n");
    let told = call("fleet_charter", json!({ "diff": true }));
    let words = |changes: &Value| changes.as_array().unwrap().iter().any(|one| one["words"] == "role 'w-late' is new");
    assert!(words(&told["difference"]["changes"]) || words(&told["last_change"]), "{told}");
    assert!(words(&call("fleet_charter", json!({ "reload": true }))["last_change"]));
    call("fleet_recipes", json!({}));
    call("fleet_route", json!({ "prompt": "x" }));
    let worker = call("fleet_spawn", json!({ "role": "w-upper" }));
    call("fleet_status", json!({ "worker": worker["name"] }));
    call("fleet_status", json!({}));
    let sent = call("fleet_send", json!({ "to": "auto", "prompt": "one" }));
    let reply = call("fleet_status", json!({ "turn": sent["turn"], "wait": "50s" }));
    assert_eq!(reply["text"], "ONE");
    call("fleet_status", json!({ "turn": sent["turn"] }));
    let reply = call("fleet_send", json!({ "to": "w-upper", "prompt": "two", "wait": "50s" }));
    let mail = call("fleet_poll", json!({}));
    assert_eq!(mail["messages"].as_array().unwrap().len(), 2);
    call("fleet_ack", json!({ "messages": [reply["message"], "m999"] }));
    let run = call("fleet_run", json!({ "recipe": "shout", "job": { "word": "three" } }));
    call("fleet_status", json!({ "run": run["run"], "wait": "50s" }));
    call("fleet_status", json!({ "run": run["run"] }));
    let ended = call("fleet_run", json!({ "recipe": "shout", "job": { "word": "four" }, "wait": "50s" }));
    assert_eq!(ended["value"], "FOUR");
    call("fleet_list", json!({}));
    let held = call("fleet_send", json!({ "to": "w", "prompt": "exec sleep 60" }));
    call("fleet_status", json!({ "turn": held["turn"], "wait": "1ms" }));
    call("fleet_cancel", json!({ "turn": held["turn"] }));
    let held = call("fleet_run", json!({ "recipe": "shout", "job": { "word": "x", "before": "exec sleep 60" } }));
    call("fleet_status", json!({ "run": held["run"], "wait": "1ms" }));
    call("fleet_cancel", json!({ "run": held["run"] }));
    let asks = call_script(&daemon, "fleet_ask", json!({ "text": "which?", "wait": "50s" }));
    let pending = call("fleet_send", json!({ "to": "w", "prompt": asks, "wait": "50s" }));
    call("fleet_poll", json!({}));
    call("fleet_status", json!({ "turn": pending["turn"] }));
    call("fleet_reply", json!({ "question": pending["questions"][0]["question"], "text": "this" }));
    let reply = call("fleet_status", json!({ "turn": pending["turn"], "wait": "50s" }));
    let answered = &results(reply["text"].as_str().unwrap())[0]["structuredContent"];
    assert_eq!(answered["answer"], "this");
    call("fleet_stop", json!({ "worker": worker["name"], "kill": true }));
    assert_eq!(seen.len(), promises.len(), "each was called");

    for tool in promises.keys() {
        let refused = client.call(tool, json!({ "no_such_field": 1 }));
        assert!(refused.refused, "{tool}");
        fits(tool, &refused.value);
    }
    // The worker's own tool, by its own list.
    let log = house.path().join("said");
    let script = call_script(&daemon, "tools/list", json!({}));
    let script = script + &call_script(&daemon, "fleet_reply", json!({ "text": "x" }));
    worker_says(&client, &format!("exec > {}\n{script}", log.display()));
    let said = results(&std::fs::read_to_string(log).unwrap());
    let tools = said[0]["tools"].as_array().unwrap();
    for (tool, value) in [("fleet_ask", answered), ("fleet_reply", &said[1]["structuredContent"])] {
        let schema = &tools.iter().find(|one| one["name"] == tool).unwrap()["outputSchema"];
        assert!(jsonschema::is_valid(schema, value), "{tool} gave {value}");
        assert!(!jsonschema::is_valid(schema, &json!({ "text": "x" })), "{tool} promises something");
    }
}
