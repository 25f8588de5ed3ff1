//! The REST door from outside: every verb once, every wrong input with what it is told, and who may come in at all.
//! The workers are pretended; the listener, the engine and the store are real.

pub mod inside;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use inside::Inside;
use serde_json::{Value, json};

fn said(answer: &Value) -> String {
    let hints = answer["hints"].as_array().cloned().unwrap_or_default();
    let hints: String = hints.iter().map(|h| format!("; {}", h.as_str().unwrap())).collect();
    format!("{}: {}{hints}", answer["kind"].as_str().unwrap_or("?"), answer["message"].as_str().unwrap_or("?"))
}

#[test]
fn a_blocking_message_answers_with_the_envelope() {
    let door = Inside::new();
    let (status, envelope) = door.post("/message", &json!({"role": "w-upper", "prompt": "hello"}));
    assert_eq!(status, 200, "{envelope}");
    assert_eq!(envelope["text"], "HELLO");
    assert_eq!(envelope["outcome"], "replied");
    assert_eq!(envelope["from"]["role"], "w-upper");

    // It waits in the mailbox until it is acknowledged, and then no longer.
    let (_, mail) = door.get("/v1/poll");
    assert_eq!(mail["messages"][0]["reply"]["text"], "HELLO");
    let id = mail["messages"][0]["message"].clone();
    assert_eq!(id, envelope["message"]);
    let (_, acked) = door.post("/v1/ack", &json!({"messages": [id]}));
    assert_eq!(acked, json!({"acked": [id], "unknown": []}));
    assert_eq!(door.get("/v1/poll").1["messages"], json!([]));
    let (_, again) = door.post("/v1/ack", &json!({"messages": [id]}));
    assert_eq!(again, json!({"acked": [], "unknown": [id]}));
}

#[test]
fn an_ended_wait_is_202_and_the_turn_goes_on() {
    let door = Inside::new();
    let (status, pending) = door.post("/message", &json!({"role": "w-upper", "prompt": "hold", "wait": "50ms"}));
    assert_eq!(status, 202, "{pending}");
    assert_eq!(pending["pending"], "wait_over");
    let turn = pending["turn"].as_str().unwrap().to_owned();
    let (status, trace) = door.get(&format!("/v1/status?turn={turn}"));
    assert_eq!((status, trace["id"].as_str()), (200, Some(turn.as_str())));
    assert_eq!(door.get(&format!("/v1/turns/{turn}")).1["id"], trace["id"]);
    assert_eq!(door.get(&format!("/v1/turns/{turn}/wait?wait=0")).0, 202);
    door.release();
    let (status, envelope) = door.get(&format!("/v1/status?turn={turn}&wait=30"));
    assert_eq!((status, &envelope["text"]), (200, &json!("HOLD")));
}

#[test]
fn a_send_answers_at_once_and_a_long_poll_brings_the_reply() {
    let door = Inside::new();
    let (status, accepted) = door.post("/v1/send", &json!({"to": "auto", "prompt": "hold it", "key": "k1"}));
    assert_eq!(status, 202, "{accepted}");
    assert_eq!(accepted["because"], "there is only one");
    let (_, same) = door.post("/v1/send", &json!({"to": "auto", "prompt": "hold it", "key": "k1"}));
    assert_eq!(same["id"], accepted["id"], "the same key is the same turn");
    let (status, other) = door.post("/v1/send", &json!({"to": "auto", "prompt": "another", "key": "k1"}));
    assert_eq!((status, &other["kind"]), (409, &json!("key_conflict")));
    std::thread::scope(|scope| {
        let polling = scope.spawn(|| door.get("/v1/poll?wait=30s&limit=1"));
        door.release();
        let (_, mail) = polling.join().unwrap();
        assert_eq!(mail["messages"][0]["reply"]["text"], "HOLD IT");
    });
}

#[test]
fn a_turn_can_be_cancelled_and_a_full_queue_says_so() {
    let door = Inside::new();
    let ids: Vec<Value> = (0..5)
        .map(|n| {
            let (status, turn) = door.post("/v1/send", &json!({"role": "w-upper", "prompt": format!("hold {n}")}));
            assert_eq!(status, 202, "{turn}");
            turn["id"].clone()
        })
        .collect();
    let (status, full) = door.post("/v1/send", &json!({"role": "w-upper", "prompt": "hold on"}));
    assert_eq!((status, &full["kind"]), (429, &json!("queue_full")), "{full}");
    let (status, cancelled) = door.post("/v1/cancel", &json!({"turn": ids[4]}));
    assert_eq!((status, &cancelled["outcome"]), (200, &json!("cancelled")), "{cancelled}");
    let (status, neither) = door.post("/v1/cancel", &json!({}));
    assert_eq!((status, said(&neither)), (400, "invalid: give exactly one of 'turn' and 'run'".into()));
}

#[test]
fn a_run_asks_is_answered_and_ends() {
    let door = Inside::new();
    let (status, pending) = door.post("/v1/run", &json!({"recipe": "ask", "wait": "30s"}));
    assert_eq!((status, &pending["pending"]), (202, &json!("question")), "{pending}");
    assert_eq!(pending["questions"][0]["text"], "which colour?");
    let question = &pending["questions"][0]["question"];
    let (status, answered) = door.post("/v1/reply", &json!({"question": question, "text": "blue"}));
    assert_eq!(status, 200, "{answered}");
    let run = pending["run"].as_str().unwrap();
    let (status, ended) = door.get(&format!("/v1/status?run={run}&wait=30s"));
    assert_eq!((status, &ended["value"]), (200, &json!("blue")), "{ended}");
    assert_eq!(door.get(&format!("/v1/runs/{run}/wait")), (200, ended));
    assert_eq!(door.get(&format!("/v1/runs/{run}")).1["outcome"], "done");
    assert_eq!(door.get("/v1/runs?limit=5").1["runs"][0]["id"], run);
    assert_eq!(door.get(&format!("/v1/status?run={run}")).1["steps"][0]["path"], "ask_leader#1");
}

#[test]
fn workers_are_listed_started_and_stopped() {
    let door = Inside::new();
    let (status, worker) = door.post("/v1/spawn", &json!({"role": "w-upper"}));
    assert_eq!((status, &worker["state"]), (200, &json!("ready")), "{worker}");
    let name = worker["name"].as_str().unwrap();
    let (_, everybody) = door.get("/v1/status");
    assert_eq!((&everybody["workers"][0]["name"], &everybody["health"]["ready"]), (&json!(name), &json!(true)));
    let (_, everybody) = door.get("/v1/list");
    assert_eq!(everybody["workers"][0]["name"], name);
    assert_eq!(door.get(&format!("/v1/status?worker={name}")).1["name"], name);
    let (status, stopped) = door.post("/v1/stop", &json!({"worker": name, "kill": true}));
    assert_eq!(status, 200, "{stopped}");
    let (status, unknown) = door.post("/v1/stop", &json!({"worker": "w-uper-1"}));
    assert_eq!((status, &unknown["kind"]), (404, &json!("unknown")), "{unknown}");
}

#[test]
fn the_charter_is_shown_asked_and_its_refusal_told() {
    let door = Inside::new();
    assert_eq!(door.get("/v1/charter").1["dir"], "pretended");
    assert_eq!(door.get("/v1/charter").1.get("difference"), None);
    let (_, with) = door.get("/v1/charter?diff=true");
    assert_eq!(with["difference"]["changes"][0]["words"], "role 'w-upper': max_busy 2 → 1", "{with}");
    let (status, told) = door.post("/v1/charter/diff", &json!({"files": {"team.lua": "-- nothing\n"}}));
    assert_eq!((status, &told["changes"][0]["of"]), (200, &json!("role")), "{told}");
    let (status, refused) = door.post("/v1/charter/diff", &json!({"file": {}}));
    assert_eq!(
        (status, said(&refused)),
        (400, "invalid: there is no field 'file'; did you mean 'files'?; valid: files; seen at line 1 column 7".into())
    );
    assert_eq!(door.get("/v1/recipes").1["recipes"][0]["name"], "ask");
    let (status, routed) = door.post("/v1/route", &json!({"prompt": "x"}));
    assert_eq!((status, &routed["because"]), (200, &json!("there is only one")));
    let (status, refused) = door.post("/v1/charter/reload", &json!({}));
    assert_eq!((status, said(&refused)), (400, "invalid: routes.lua:3: unexpected symbol".into()));
}

#[test]
fn wrong_input_is_told_what_was_wrong_and_what_would_be_right() {
    let door = Inside::new();
    let big = "x".repeat((1 << 20) + 1);
    for (path, body, status, wanted) in [
        (
            "/message",
            json!({"role": "w-uper", "prompt": "x"}),
            404,
            "unknown: there is no role or worker 'w-uper'; did you mean 'w-upper'?",
        ),
        (
            "/message",
            json!({"role": "w-upper", "promt": "x"}),
            400,
            "invalid: there is no field 'promt'; did you mean 'prompt'?; valid: to, role, prompt, kind",
        ),
        ("/message", json!({"role": "w-upper"}), 400, "invalid: the field 'prompt' is missing"),
        (
            "/message",
            json!({"role": "w-upper", "prompt": ["x"]}),
            400,
            "invalid: the field 'prompt' is a list, wanted a string",
        ),
        (
            "/message",
            json!({"role": "w-upper", "prompt": "x", "wait": "soon"}),
            400,
            "invalid: the field 'wait' cannot be read: 'soon' is not a length of time",
        ),
        (
            "/message",
            json!({"role": "w-upper", "prompt": "x", "priority": "high"}),
            400,
            "invalid: there is no value 'high' for 'priority'; valid: now, normal",
        ),
        ("/message", json!({"prompt": "x"}), 400, "invalid: the message has no address; give 'role'"),
        (
            "/message",
            json!({"role": "w-upper", "to": "w-upper", "prompt": "x"}),
            400,
            "invalid: give 'to' or 'role', not both",
        ),
        ("/message", json!({"role": "w-upper", "prompt": ""}), 400, "invalid: "),
        (
            "/v1/send",
            json!({"role": "w-upper", "prompt": "x", "kind": "k".repeat(201)}),
            400,
            "invalid: 'kind' has 201 letters, the limit is 200; it is a word",
        ),
        ("/message", json!({"role": "w-upper", "prompt": big}), 413, "too_large: "),
        (
            "/v1/run",
            json!({"recipe": "aks"}),
            404,
            "unknown: there is no recipe 'aks'; did you mean 'ask'?; valid: ask",
        ),
        ("/v1/spawn", json!({"role": "nobody"}), 404, "unknown: there is no role 'nobody'; valid: w-upper"),
        (
            "/v1/cancel",
            json!({"turn": "17"}),
            400,
            "invalid: the field 'turn' cannot be read: '17' is not an id of the form t17",
        ),
        ("/v1/cancel", json!({"turn": "t999"}), 404, "unknown: there is no open turn t999"),
        ("/v1/reply", json!({"text": "blue"}), 400, "invalid: the reply names no question"),
        ("/v1/ack", json!({"messages": "m1"}), 400, "invalid: the field 'messages' is the text \"m1\", wanted a list"),
    ] {
        let (got, answer) = door.post(path, &body);
        let text = said(&answer);
        assert!(
            got == status && text.starts_with(wanted),
            "{path} {body:.60}\n got {got} {text}\nwanted {status} {wanted}"
        );
    }
    for (path, status, wanted) in [
        ("/v1/poll?limit=0", 400, "invalid: limit is 0; give 1 to 500"),
        ("/v1/poll?limit=many", 400, "invalid: the field 'limit' is no whole number of 0 or more"),
        ("/v1/poll?limit=-1", 400, "invalid: the field 'limit' is no whole number of 0 or more"),
        ("/v1/poll?limit=", 400, "invalid: the field 'limit' is no whole number of 0 or more"),
        ("/v1/poll?limit=99999999999999999999", 400, "invalid: the field 'limit' is too large a number"),
        ("/v1/poll?lmit=3", 400, "invalid: there is no field 'lmit'; did you mean 'limit'?; valid: after, limit, wait"),
        ("/v1/poll?wait=soon", 400, "invalid: the field 'wait' cannot be read: 'soon' is not a length of time"),
        ("/v1/status?turn=t1&run=r1", 400, "invalid: give one of 'turn', 'run' and 'worker', or none"),
        ("/v1/status?wait=3", 400, "invalid: 'wait' needs exactly one of 'turn' and 'run'"),
        ("/v1/status?worker=nobody", 404, "unknown: there is no worker 'nobody'"),
        ("/v1/turns/17", 400, "invalid: '17' is not an id of the form t17"),
        ("/v1/runs/r9?wait=3", 400, "invalid: there is no field 'wait'; no fields are taken here"),
        ("/v1/turns/t9", 404, "unknown: there is no turn t9"),
        ("/v1/whoami?as=leader", 400, "invalid: there is no field 'as'; no fields are taken here"),
        ("/v1/list?limit=3", 400, "invalid: there is no field 'limit'; no fields are taken here"),
        ("/v1/recipes?name=ask", 400, "invalid: there is no field 'name'; no fields are taken here"),
        ("/v1/charter?files=1", 400, "invalid: there is no field 'files'; valid: diff"),
        ("/mesage", 404, "unknown: there is no path '/mesage'; did you mean '/message'?; GET is taken by: /v1/status"),
        ("/", 404, "unknown: there is no path '/'"),
        ("/mcp/", 404, "unknown: there is no path '/mcp/'; did you mean '/mcp'?"),
        ("/sse", 404, "unknown: there is no path '/sse'; GET is taken by"),
        ("/v1/turns/%ff", 400, "invalid: '/v1/turns/%ff' is not an id of the form t17"),
        ("/v1/turns//wait", 404, "unknown: there is no path '/v1/turns//wait'"),
        ("/v1/turns/t%39", 404, "unknown: there is no turn t9"),
        ("/message", 405, "invalid: '/message' does not take GET; it takes POST"),
    ] {
        let (got, answer) = door.get(path);
        let text = said(&answer);
        assert!(got == status && text.starts_with(wanted), "{path}\n got {got} {text}\nwanted {status} {wanted}");
    }
}

#[test]
fn fields_in_the_query_of_a_post_are_not_left_out_without_a_word() {
    let door = Inside::new();
    for path in ["/message", "/v1/send"] {
        let (status, answer) = door.post(&format!("{path}?wait=3"), &json!({"role": "w-upper", "prompt": "x"}));
        let wanted = format!("invalid: '{path}' takes no fields in the query; put them into the body, a JSON object");
        assert_eq!((status, said(&answer)), (400, wanted));
    }
    let (status, answer) = door.post("/v1/charter/reload?force=1", &json!({}));
    assert_eq!((status, said(&answer)), (400, "invalid: there is no field 'force'; no fields are taken here".into()));
}

#[test]
fn a_key_is_measured_in_characters_as_its_schema_says() {
    let door = Inside::new();
    let send = |key: String| door.post("/v1/send", &json!({"role": "w-upper", "prompt": "x", "key": key}));
    assert_eq!(send("ü".repeat(200)).0, 202);
    let (status, answer) = send("ü".repeat(201));
    assert_eq!((status, said(&answer)), (400, "invalid: the key has 201 characters; give 1 to 200".into()));
    assert_eq!(send(String::new()).0, 400);
}

#[test]
fn the_door_describes_itself() {
    let door = Inside::new();
    let (status, document) = door.get("/v1/openapi.json");
    let committed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json")).unwrap();
    let committed: Value = serde_json::from_slice(&committed).unwrap();
    assert_eq!((status, document), (200, committed));
}

#[test]
fn bodies_that_are_no_json_are_told_apart() {
    let door = Inside::new();
    for (content_type, body, status, wanted) in [
        ("application/json", "", 400, "invalid: the body is empty; send a JSON object"),
        (
            "application/json",
            "{\"role\": ",
            400,
            "invalid: the body is not valid JSON: EOF while parsing a value at line 1 column 9",
        ),
        (
            "application/json",
            "{\n\"role\" 5}",
            400,
            "invalid: the body is not valid JSON: expected `:` at line 2 column 8",
        ),
        ("application/json; charset=utf-8", "[]", 400, "invalid: the body is a list, wanted a JSON object"),
        (
            "application/x-www-form-urlencoded",
            "{}",
            415,
            "invalid: the body is sent as 'application/x-www-form-urlencoded'; send it with content-type: application/json; with curl: --json",
        ),
        ("text/plain", "{}", 415, "invalid: the body is sent as 'text/plain'"),
        (
            "application/json",
            r#"{"role": "w-upper", "prompt": "x", "schema": {"type": "object", "type": "string"}}"#,
            400,
            "invalid: the field 'type' is there twice",
        ),
    ] {
        let (got, answer) = door.post_raw("/message", content_type, body.as_bytes());
        let text = said(&answer);
        assert!(got == status && text.starts_with(wanted), "{body}\n got {got} {text}\nwanted {status} {wanted}");
    }
    let huge = vec![b' '; 9 << 20];
    let (status, answer) = door.post_raw("/message", "application/json", &huge);
    assert_eq!(
        (status, said(&answer)),
        (413, "too_large: the body is larger than 8 MiB; a prompt may have 1 MiB".into())
    );
}

#[test]
fn strangers_by_name_or_by_page_are_kept_out_of_every_path() {
    let door = Inside::new();
    let port = door.local.port();
    for path in ["/message", "/v1/list", "/healthz", "/metrics", "/nowhere"] {
        for (headers, status) in [
            (format!("Host: 127.0.0.1:{port}"), None),
            (format!("Host: localhost:{port}\r\nOrigin: http://localhost:3000"), None),
            ("Host: evil.example".into(), Some(403)),
            (format!("Host: localhost:{}", port ^ 1), Some(403)),
            (format!("Host: localhost:{port}\r\nOrigin: http://evil.example"), Some(403)),
            (format!("Host: localhost:{port}\r\nOrigin: null"), Some(403)),
            (format!("Host: localhost:{port}\r\nHost: evil.example"), Some(403)),
            ("X-None: 1".into(), Some(403)),
        ] {
            let answer = door.bytes(&format!("GET {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n"));
            let got: u16 = answer[9..12].parse().unwrap();
            match status {
                Some(status) => {
                    assert_eq!(got, status, "{path} {headers}\n{answer}");
                    assert!(answer.contains(r#""kind":"not_allowed""#), "{answer}");
                }
                None => assert_ne!(got, 403, "{path} {headers}\n{answer}"),
            }
        }
    }
}

#[test]
fn who_calls_is_decided_by_the_connection_and_not_by_what_is_said() {
    let door = Inside::new();
    let (_, me) = door.get("/v1/whoami");
    assert_eq!(me["caller"], "operator");
    assert!(me["may"].as_array().unwrap().contains(&json!("send")));

    // Passed on by something else: nobody knows for whom.
    let port = door.local.port();
    for header in ["Forwarded: for=1.2.3.4", "X-Forwarded-For: 127.0.0.1", "X-Real-IP: ::1", "Via: 1.1 x"] {
        let head = format!("Host: localhost:{port}\r\n{header}\r\nConnection: close");
        let answer = door.bytes(&format!("GET /v1/list HTTP/1.1\r\n{head}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403"), "{header}\n{answer}");
        assert!(answer.contains("through a proxy"), "{answer}");
        let answer = door.bytes(&format!("GET /v1/whoami HTTP/1.1\r\n{head}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("anonymous"), "{answer}");
    }

    // A process of its own on the other end, without and with a worker's mark; it is below no worker that is known.
    let ask = |mark: Option<&str>| {
        let stream = TcpStream::connect(door.local).unwrap();
        let get = r"printf 'GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&0; cat";
        let mut child = Command::new("sh");
        child.args(["-c", get]).stdin(Stdio::from(std::os::fd::OwnedFd::from(stream)));
        child.envs(mark.map(|mark| ("FLEET_WORKER", mark)));
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    assert!(ask(None).contains("operator"));
    assert!(ask(Some("w-gone-1")).contains("anonymous"));
}

#[test]
fn a_handler_that_panics_answers_and_the_door_stays_open() {
    let door = Inside::new();
    let (status, answer) = door.post("/v1/route", &json!({"prompt": "panic"}));
    assert_eq!((status, &answer["kind"]), (500, &json!("internal")), "{answer}");
    assert!(said(&answer).contains("on purpose"), "{answer}");
    assert_eq!(door.post("/message", &json!({"role": "w-upper", "prompt": "on"})).0, 200);
}

#[test]
fn health_and_metrics_are_open_and_name_nothing_private() {
    let door = Inside::new();
    door.post("/message", &json!({"role": "w-upper", "prompt": "a secret word"}));
    let (status, health) = door.get("/healthz");
    assert_eq!(status, 200);
    assert_eq!((&health["live"], &health["ready"], &health["degraded"]), (&json!(true), &json!(true), &json!([])));
    let (status, text) = door.get("/metrics");
    let text = text.as_str().unwrap();
    assert_eq!(status, 200);
    for line in [
        r#"fleetd_http_requests_total{path="/message",status="200"} 1"#,
        r#"fleetd_role_max_busy{role="w-upper"} 2"#,
        r#"fleetd_turns{state="settled"} 1"#,
        r#"fleetd_mail{to="operator"} 1"#,
        "fleetd_charter_generation 0",
        "fleetd_http_open_requests 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is missing in\n{text}");
    }
    assert!(!text.contains("secret"));
}

#[test]
fn at_shutdown_waiting_callers_are_told_where_things_stand() {
    let mut door = Inside::new();
    let local = door.local;
    let (status, _) = door.post("/v1/send", &json!({"role": "w-upper", "prompt": "hold"}));
    assert_eq!(status, 202);
    let body = json!({"role": "w-upper", "prompt": "hold", "wait": "60s"}).to_string();
    let mut stream = TcpStream::connect(local).unwrap();
    let length = body.len();
    let head =
        format!("Host: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {length}", local.port());
    stream.write_all(format!("POST /message HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes()).unwrap();
    door.until_open(2);
    door.closing.cancel();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202") && answer.contains("wait_over"), "{answer}");
    door.served();
    assert!(TcpStream::connect(local).is_err(), "nothing listens any more");
}

#[test]
fn a_client_that_goes_away_leaves_its_turn_running() {
    let door = Inside::new();
    let body = json!({"role": "w-upper", "prompt": "hold"}).to_string();
    let mut stream = TcpStream::connect(door.local).unwrap();
    let head = format!("Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    stream.write_all(format!("POST /message HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes()).unwrap();
    door.until_open(1);
    drop(stream);
    door.release();
    let (_, mail) = door.get("/v1/poll?wait=30s");
    assert_eq!(mail["messages"][0]["reply"]["text"], "HOLD");
}

#[test]
fn a_client_that_never_finishes_its_request_is_let_go() {
    let door = Inside::with_patience(Duration::from_millis(200));
    for begun in ["", "GET /healthz HTTP/1.1\r\nHost: local"] {
        let answer = door.bytes(begun);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{begun:?} got {answer}");
    }
    assert_eq!(door.get("/healthz").0, 200);
}

#[test]
fn many_callers_of_one_process_are_all_known_and_all_answered() {
    let door = Inside::new();
    let hold = |n: usize| {
        let body = json!({"role": "w-upper", "prompt": format!("hold {n}")}).to_string();
        let mut stream = TcpStream::connect(door.local).unwrap();
        let head = format!("Host: localhost\r\nConnection: close\r\nContent-Length: {}", body.len());
        let json = "Content-Type: application/json";
        stream.write_all(format!("POST /message HTTP/1.1\r\n{head}\r\n{json}\r\n\r\n{body}").as_bytes()).unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..200).map(hold).collect();
    door.release();
    let mut answers: Vec<String> = Vec::new();
    for mut stream in held {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answers.push(answer[9..12].into());
    }
    // Two are worked on and three may wait at a time; the rest is refused with the reason, and nobody is a stranger.
    assert!(answers.iter().all(|status| status == "200" || status == "429"), "{answers:?}");
    assert!(answers.iter().filter(|status| *status == "200").count() >= 5);
}

#[tokio::test]
async fn a_connection_beyond_the_last_place_waits_until_one_is_free() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = fleetd::door::server::Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap().places(1);
    let (local, stop) = (listener.local(), tokio_util::sync::CancellationToken::new());
    let router = axum::Router::new().route("/", axum::routing::get(|| async { "hello" }));
    let served = tokio::spawn(listener.serve(router, stop.clone(), Duration::from_secs(5)));
    let mut answer = [0; 512];
    let mut first = tokio::net::TcpStream::connect(local).await.unwrap();
    first.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    assert!(first.read(&mut answer).await.unwrap() > 0);
    let mut second = tokio::net::TcpStream::connect(local).await.unwrap();
    second.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(500), second.read(&mut answer)).await;
    assert!(early.is_err(), "it was served beside the first: {early:?}");
    drop(first);
    let read = second.read(&mut answer).await.unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 200"));
    stop.cancel();
    served.await.unwrap();
}
