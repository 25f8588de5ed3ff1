//! The daemon is killed with -9 while its clients wait: they come back with what they have, and every call has
//! happened once.

use serde_json::{Value, json};

use super::client::{Client, TOOL_USE};
use super::{Latch, call_script, house_at_a_port, local, results, until};
use crate::support::{Daemon, House};

/// Sends a call that waits, kills the daemon once it is under way, and returns the next one and the last event's id.
fn cut(
    house: &House,
    daemon: Daemon,
    client: &Client,
    tool: &str,
    arguments: Value,
    latch: &Latch,
) -> (Daemon, String) {
    let mut answer = client.start_call(tool, arguments, json!({ "progressToken": 1 }));
    let last = answer.message().unwrap().id.unwrap();
    latch.until_came();
    daemon.kill();
    assert_eq!(answer.responded(), None, "it was cut");
    (house.start(), last)
}

#[test]
fn a_session_of_before_goes_on_whether_its_client_listens_or_speaks_first() {
    let house = house_at_a_port();
    let mut daemon = house.start();
    let client = Client::new(local(&daemon));
    client.listen(None).event().unwrap();
    client.good("fleet_list", json!({}));
    for listens_first in [true, false] {
        daemon.kill();
        daemon = house.start();
        if listens_first {
            assert_eq!(client.listen(None).status, 200);
        }
        assert_eq!(client.good("fleet_whoami", json!({}))["caller"], "leader");
        assert_eq!(client.listen(None).status, 200);
        assert_eq!(client.menu().len(), 15);
    }
}

#[test]
fn a_send_that_was_cut_gives_its_one_reply_to_whoever_comes_back_for_it() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let (latch, id) = (Latch::new(&house, "send"), client.next_id());
    let send = json!({ "to": "w", "prompt": latch.script("done it"), "wait": "50s" });
    let (daemon, last) = cut(&house, daemon, &client, "fleet_send", send.clone(), &latch);
    let mut again = client.listen(Some(&last));
    assert_eq!(again.message().unwrap().message["method"], "notifications/fleet/waiting");
    // A second daemon is killed too; the same event still says what is waited for.
    daemon.kill();
    let daemon = house.start();
    let mut again = client.listen(Some(&last));
    latch.open();
    let response = again.response();
    assert_eq!(response["id"], id);
    let reply = &response["result"]["structuredContent"];
    assert_eq!((&reply["outcome"], &reply["text"]), (&json!("replied"), &json!("done it\n")), "{response}");
    // The same event brings the same answer, as long as the reply is there.
    assert_eq!(&client.listen(Some(&last)).response()["result"]["structuredContent"], reply);
    assert_eq!(latch.came(), 1, "the turn ran once");
    let mail = client.good("fleet_poll", json!({}));
    assert_eq!(mail["messages"].as_array().unwrap().len(), 1, "{mail}");
    assert_eq!(mail["messages"][0]["reply"], *reply);
    assert_eq!(daemon.terminate(), Some(0));
}

#[test]
fn a_run_that_was_cut_gives_its_one_value() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let (latch, id) = (Latch::new(&house, "run"), client.next_id());
    let job = json!({ "word": "loud", "before": latch.script("first") });
    let run = json!({ "recipe": "shout", "job": job, "wait": "50s" });
    let (_daemon, last) = cut(&house, daemon, &client, "fleet_run", run, &latch);
    let mut again = client.listen(Some(&last));
    latch.open();
    let response = again.response();
    assert_eq!((&response["id"], &response["result"]["structuredContent"]["value"]), (&json!(id), &json!("LOUD")));
    assert_eq!(latch.came(), 1, "its step ran once");
}

#[test]
fn a_spawn_that_was_cut_gives_its_one_worker() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let mut answer = client.start_call("fleet_spawn", json!({ "role": "w" }), json!({}));
    let last = answer.event().unwrap().id.unwrap();
    let named = |daemon: &Daemon| {
        let workers = daemon.get("/v1/list").1["workers"].as_array().unwrap().clone();
        workers.iter().map(|worker| worker["name"].clone()).collect::<Vec<_>>()
    };
    until(|| (!named(&daemon).is_empty()).then_some(()));
    daemon.kill();
    let daemon = house.start();
    let worker = client.listen(Some(&last)).called().good();
    assert_eq!(named(&daemon), [worker["name"].clone()]);
}

#[test]
fn a_call_that_is_repeated_in_a_new_session_is_taken_up_after_one_more_kill() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let latch = Latch::new(&house, "twice");
    let send = json!({ "to": "w", "prompt": latch.script("done it"), "wait": "50s" });
    let meta = json!({ TOOL_USE: "toolu_1", "progressToken": 1 });
    let mut first = client.start_call("fleet_send", send.clone(), meta.clone());
    first.message().unwrap();
    latch.until_came();
    daemon.kill();
    let daemon = house.start();
    client.begin();
    let mut second = client.start_call("fleet_send", send, meta);
    let last = second.message().unwrap().id.unwrap();
    daemon.kill();
    let _daemon = house.start();
    let mut again = client.listen(Some(&last));
    latch.open();
    assert_eq!(again.called().good()["text"], "done it\n");
    assert_eq!(latch.came(), 1, "the turn ran once");
}

#[test]
fn an_event_of_an_earlier_daemon_never_steals_a_stream_of_this_one() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let mut events = Vec::new();
    for _ in 0..3 {
        let mut answer = client.start("tools/list", json!({}));
        events.extend(std::iter::from_fn(|| answer.event()).filter_map(|event| event.id));
    }
    let mut listening = client.listen(None);
    events.extend(listening.event().unwrap().id);
    // What the library would call them, without what we put before.
    events.extend(["0/0", "0/1", "1/0", "1/1", "0", "1"].map(String::from));
    daemon.kill();
    let _daemon = house.start();
    let latch = Latch::new(&house, "stolen");
    let send = json!({ "to": "w", "prompt": latch.script("mine"), "wait": "50s" });
    let mut mine = client.start_call("fleet_send", send, json!({ "progressToken": 1 }));
    mine.message().unwrap();
    let others: Vec<_> = events.iter().map(|event| client.listen(Some(event))).collect();
    assert!(others.iter().all(|other| other.status == 200));
    latch.open();
    assert_eq!(mine.called().good()["text"], "mine\n", "{events:?}");
}

#[test]
fn a_call_that_only_looked_is_to_be_repeated() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let mut answer = client.start_call("fleet_poll", json!({ "wait": "50s" }), json!({ "progressToken": 1 }));
    let last = answer.message().unwrap().id.unwrap();
    daemon.kill();
    let _daemon = house.start();
    let refusal = client.listen(Some(&last)).called().refusal();
    assert!(refusal.starts_with("unavailable: this call was cut off, and"), "{refusal}");
    assert!(refusal.contains("repeat the call"), "{refusal}");
}

/// Answers the one question that is open once it is there.
fn answer_the_question(client: &Client) {
    let question = until(|| {
        let mail = client.good("fleet_poll", json!({}));
        let questions: Vec<_> =
            mail["messages"].as_array().unwrap().iter().map(|item| item["question"].clone()).collect();
        assert!(questions.len() < 2, "it was asked once: {mail}");
        questions.into_iter().next()
    });
    client.good("fleet_reply", json!({ "question": question["question"], "text": "the second" }));
}

#[test]
fn a_worker_whose_question_was_cut_asks_the_same_again_and_gets_the_answer() {
    let house = house_at_a_port();
    let daemon = house.start();
    let leader = Client::new(local(&daemon));
    let asks = call_script(&daemon, "fleet_ask", json!({ "text": "which?", "wait": "50s" }));
    let said = house.path().join("said");
    let said = said.display();
    let script = format!(
        "until {} > {said} && grep -q structuredContent {said}; do sleep 0.05; done\ncat {said}\n",
        asks.trim()
    );
    let sent = leader.good("fleet_send", json!({ "to": "w", "prompt": script }));
    let asking = |client: &Client| client.good("fleet_status", json!({ "turn": sent["turn"] }))["state"] == "asking";
    until(|| asking(&leader).then_some(()));
    daemon.kill();
    let _daemon = house.start();
    assert!(asking(&leader), "the question is open still");
    answer_the_question(&leader);
    let reply = leader.good("fleet_status", json!({ "turn": sent["turn"], "wait": "50s" }));
    let answered = results(reply["text"].as_str().unwrap_or_default());
    assert_eq!(answered[0]["structuredContent"]["answer"], "the second", "{reply}");
}

#[test]
fn a_worker_whose_question_was_cut_comes_back_to_its_stream_for_the_answer() {
    let house = house_at_a_port();
    let daemon = house.start();
    let leader = Client::new(local(&daemon));
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "w", "version": "1" },
    } });
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ask = json!({ "jsonrpc": "2.0", "id": "a.1", "method": "tools/call", "params": {
        "name": "fleet_ask", "arguments": { "text": "which?", "wait": "50s" },
    } });
    let (dir, url) = (house.path().display(), format!("{}/mcp", daemon.url));
    let script = format!(
        r#"cd {dir}
say() {{ curl -sN -H 'Accept: application/json, text/event-stream' -H 'Content-Type: application/json' "$@" {url}; }}
say -D head -d '{begin}' > begun
S=$(sed -n 's/^mcp-session-id: //p' head | tr -d '\r')
say -H "Mcp-Session-Id: $S" -d '{begun}'
say -H "Mcp-Session-Id: $S" -d '{ask}' > first
LAST=$(sed -n 's/^id: *//p' first | tail -1)
until say -H "Mcp-Session-Id: $S" -H "Last-Event-ID: $LAST" > again && grep -q structuredContent again; do sleep 0.05; done
cat again
"#
    );
    let sent = leader.good("fleet_send", json!({ "to": "w", "prompt": script }));
    until(|| (leader.good("fleet_status", json!({ "turn": sent["turn"] }))["state"] == "asking").then_some(()));
    daemon.kill();
    let _daemon = house.start();
    answer_the_question(&leader);
    let reply = leader.good("fleet_status", json!({ "turn": sent["turn"], "wait": "50s" }));
    let answered = results(reply["text"].as_str().unwrap_or_default());
    assert_eq!(answered[0]["structuredContent"]["answer"], "the second", "{reply}");
}
