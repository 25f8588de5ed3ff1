//! The API as it is recorded: requests, the shapes of answers, refusals with their texts.
//! What goes wrong on purpose is in `habits`.

use serde_json::{Value, json};

use super::rig::{Sim, client, read, until};

/// Holds that an object has these fields and no other.
fn fields(value: &Value, names: &[&str]) {
    let mut found: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let mut names = names.to_vec();
    found.sort_unstable();
    names.sort_unstable();
    assert_eq!(found, names, "{value}");
}

#[test]
fn a_message_goes_in_and_its_answer_comes_out() {
    let sim = Sim::start(&[], &["--answer", "upper"]);
    sim.stable();
    let (code, status) = sim.get("/status");
    assert_eq!((code, &status["agent_type"], &status["transport"]), (200, &json!("custom"), &json!("pty")));
    fields(&status, &["$schema", "status", "agent_type", "transport"]);
    assert!(status["$schema"].as_str().unwrap().ends_with("/schemas/StatusResponseBody.json"));

    let (code, sent) = sim.say("  hello there\n");
    assert_eq!((code, &sent["ok"]), (200, &json!(true)), "{sent}");
    fields(&sent, &["$schema", "ok"]);
    assert_eq!(sim.messages()[1], ("user".into(), "hello there".into()), "without the blanks around it");
    until("it has answered", || sim.messages().get(2)?.1.contains("HELLO THERE").then_some(()));
    sim.stable();
    let (_, said) = sim.get("/messages");
    fields(&said, &["$schema", "messages"]);
    for (id, message) in said["messages"].as_array().unwrap().iter().enumerate() {
        fields(message, &["id", "content", "role", "time"]);
        assert_eq!(message["id"], id);
        let time = message["time"].as_str().unwrap();
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    }
    let answer = &sim.messages()[2];
    assert_eq!(answer.0, "agent");
    assert!(!answer.1.contains("hello there") && !answer.1.contains('>'), "no echo, no input box: {}", answer.1);
}

#[test]
fn what_cannot_be_sent_is_refused_in_the_recorded_words() {
    let sim = Sim::start(&["--clock"], &["--hang", "--spinner"]);
    let refused = |said: (u16, Value)| {
        assert_eq!(said.0, 500, "{}", said.1);
        fields(&said.1, &["$schema", "title", "status", "detail", "errors"]);
        assert_eq!(said.1["detail"], "unexpected error occurred");
        said.1["errors"][0]["message"].as_str().unwrap().to_owned()
    };
    let busy = "failed to send message: message can only be sent when the agent is waiting for user input";
    assert_eq!(refused(sim.say("too early")), busy, "its screen is never at rest");
    sim.habits(&json!({"clock": false}));
    sim.stable();
    assert_eq!(refused(sim.say(" \n\t")), "failed to send message: message must not be empty");
    assert_eq!(sim.say("go").0, 200);
    assert_eq!(sim.status(), "running");
    assert_eq!(refused(sim.say("and on")), busy);

    for (body, code) in
        [("", 400), ("{", 400), ("{\"content\": \"x\"}", 422), ("{\"content\": 1, \"type\": \"user\"}", 422)]
    {
        let (status, said) = sim.post(body);
        assert_eq!((status, &said["status"]), (code, &json!(code)), "{body}: {said}");
    }
    assert_eq!(sim.messages().iter().filter(|(role, _)| role == "user").count(), 1);
}

#[test]
fn a_problem_has_its_own_content_type_and_other_paths_and_hosts_are_refused() {
    let sim = Sim::start(&[], &[]);
    let answer = client().post(format!("{}/message", sim.url)).send("{}").unwrap();
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert_eq!(sim.get("/upload").0, 404);
    assert_eq!(client().delete(format!("{}/status", sim.url)).call().unwrap().status(), 405);
    let asked_for = |host: &str| read(client().get(format!("{}/status", sim.url)).header("host", host).call());
    for host in ["localhost:1", "127.0.0.1", "[::1]:9", "LOCALHOST"] {
        assert_eq!(asked_for(host).0, 200, "{host}");
    }
    let (code, said) = asked_for("evil.example:3284");
    assert_eq!((code, said), (400, json!("Invalid host header. Allowed hosts: localhost, 127.0.0.1, ::1\n")));
    let open = Sim::start(&["--allowed-hosts", "*"], &[]);
    assert_eq!(read(client().get(format!("{}/status", open.url)).header("host", "any").call()).0, 200);
}

#[test]
fn bytes_go_in_at_any_time_and_are_no_messages() {
    let sim = Sim::start(&[], &["--hang"]);
    sim.stable();
    assert_eq!(sim.say("work without end").0, 200);
    sim.raw("\u{1b}");
    // The agent stops at that, and its composer is back.
    sim.stable();
    assert!(sim.messages().iter().all(|(_, text)| !text.contains('\u{1b}')));
    assert_eq!(sim.say("once more").0, 200);
}

#[test]
fn the_server_ends_with_its_program() {
    let mut sim = Sim::start(&[], &["--die", "enter"]);
    sim.stable();
    // Whatever this comes to: the program dies of it.
    let body = json!({"content": "x", "type": "user"}).to_string();
    let _ = client().post(format!("{}/message", sim.url)).send(body);
    assert_eq!(sim.child.wait().unwrap().code(), Some(7));
}
