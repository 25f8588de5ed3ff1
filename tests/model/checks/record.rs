//! What was asked can be read again, from within the test and from another process.
//! What was answered is in the other files.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use fleetd_model::{Model, Recorded};
use serde_json::{Value, json};

use super::client::Talk;

/// The endpoint as a process, killed when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(method: &str, url: &str) -> u16 {
    let request = ureq::http::Request::builder().method(method).uri(url).body(()).unwrap();
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    agent.run(request).unwrap().status().as_u16()
}

#[test]
fn every_request_is_kept_as_it_came() {
    let model = Model::start().unwrap();
    assert_eq!(status("HEAD", &format!("{}/", model.url())), 200);
    assert_eq!(status("GET", &format!("{}/elsewhere?x=1", model.url())), 404);
    let mut talk = Talk::new(&model, "a session");
    talk.say("SAY:x");
    talk.give("a result");
    let requests = model.requests();
    let lines: Vec<String> = requests.iter().map(|one| format!("{} {}", one.method, one.path)).collect();
    assert_eq!(lines, ["HEAD /", "GET /elsewhere?x=1", "POST /v1/messages?beta=true", "POST /v1/messages?beta=true"]);
    let asked = model.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!((asked[0].session(), asked[0].key()), ("a session", "key"));
    assert_eq!(asked[0].body["messages"][0]["content"][0]["text"], "SAY:x");
    assert!(asked[1].text().contains("a result") && !asked[0].text().contains("a result"));
    assert!(asked[0].at_ms <= asked[1].at_ms && asked[0].peer.starts_with("127.0.0.1:"));
}

#[test]
fn what_is_asked_for_most_often_is_at_hand() {
    let recorded: Recorded = serde_json::from_value(json!({
        "at_ms": 0, "peer": "", "method": "POST", "path": "/v1/messages", "headers": {"x-api-key": "k"},
        "body": {
            "system": [{"type": "text", "text": "be good"}],
            "tools": [{"name": "A"}, {"name": "B"}],
            "messages": [{"role": "user", "content": "hello"}, {"role": "system", "content": "skills"}],
        },
    }))
    .unwrap();
    assert_eq!((recorded.key(), recorded.tools()), ("k", vec!["A", "B"]));
    assert_eq!(recorded.text(), "be good\nhello\nskills");
}

#[test]
fn tokens_are_counted_when_asked() {
    let model = Model::start().unwrap();
    let mut response =
        ureq::post(format!("{}/v1/messages/count_tokens", model.url())).send_json(json!({"a": 1})).unwrap();
    assert!(response.body_mut().read_json::<Value>().unwrap()["input_tokens"].is_u64());
    assert!(model.asked().is_empty());
}

#[test]
fn another_process_can_read_the_requests_and_force_a_step() {
    let child = Command::new(env!("CARGO_BIN_EXE_model-server")).stdout(Stdio::piped()).spawn().unwrap();
    let mut process = Process(child);
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listens on ").unwrap();
    assert_eq!(status("HEAD", &format!("{url}/")), 200);
    assert_eq!(status("PUT", &format!("{url}/_force")), 200);
    ureq::put(format!("{url}/_force")).send("ERR:403").unwrap();
    assert!(matches!(ureq::put(format!("{url}/_force")).send("ERR:1"), Err(ureq::Error::StatusCode(400))));
    let asked = ureq::post(format!("{url}/v1/messages")).send_json(json!({"messages": []}));
    assert!(matches!(asked, Err(ureq::Error::StatusCode(403))), "{asked:?}");
    let get = |path: &str| -> Vec<Recorded> {
        ureq::get(format!("{url}{path}")).call().unwrap().body_mut().read_json().unwrap()
    };
    assert_eq!(get("/_requests").len(), 2);
    let later = get("/_requests?since=1");
    assert_eq!((later.len(), later[0].method.as_str()), (1, "POST"));
}
