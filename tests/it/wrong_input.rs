//! Wrong input of every kind, at the door and at the start: each gets an answer that says what was wrong and what
//! would be right, and loses nothing.

use std::os::unix::process::CommandExt;

use serde_json::{Value, json};

use crate::support::{Daemon, House};

const TEAM: &str = r#"
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "30s" })
fleet.role("w-upper", { profiles = { "upper" }, max_busy = 2, max_waiting = 4 })
"#;

fn refusal(answer: (u16, Value)) -> (u16, String, String) {
    let (status, body) = answer;
    let kind = body["kind"].as_str().unwrap_or_else(|| panic!("no refusal: {status} {body}")).to_string();
    let hints = body["hints"].as_array().cloned().unwrap_or_default();
    let hints: Vec<&str> = hints.iter().filter_map(Value::as_str).collect();
    (status, kind, format!("{}; {}", body["message"].as_str().unwrap(), hints.join("; ")))
}

fn refused(daemon: &Daemon, body: Value) -> (u16, String, String) {
    refusal(daemon.post("/message", &body))
}

#[test]
fn wrong_messages_are_refused_with_what_would_be_right() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();

    let (status, kind, text) = refused(&daemon, json!({ "role": "w-uper", "prompt": "x" }));
    assert_eq!((status, kind.as_str()), (404, "unknown"));
    assert!(text.contains("'w-uper'") && text.contains("did you mean 'w-upper'?"), "{text}");

    let (status, kind, text) = refused(&daemon, json!({ "role": "w-upper", "prompt": "x", "pritority": "now" }));
    assert_eq!((status, kind.as_str()), (400, "invalid"));
    assert!(text.contains("pritority") && text.contains("priority") && text.contains("deadline"), "{text}");

    let (status, kind, text) = refused(&daemon, json!({ "role": "w-upper", "prompt": "" }));
    assert_eq!((status, kind.as_str()), (400, "invalid"));
    assert!(text.contains("empty"), "{text}");

    let (status, kind, text) = refused(&daemon, json!({ "role": "w-upper", "prompt": "x".repeat((1 << 20) + 1) }));
    assert_eq!((status, kind.as_str()), (413, "too_large"));
    assert!(text.contains("1048577") && text.contains("1048576"), "{text}");

    let (status, kind, text) = refused(&daemon, json!({ "role": "w-upper", "prompt": 7 }));
    assert_eq!((status, kind.as_str()), (400, "invalid"));
    assert!(text.contains("prompt") && text.contains("string"), "{text}");

    let (status, kind, text) = refused(&daemon, json!({ "prompt": "x" }));
    assert_eq!((status, kind.as_str()), (400, "invalid"));
    assert!(text.contains("role") && text.contains("auto"), "{text}");

    let (status, kind, text) = refusal(daemon.post_raw("/message", "application/json", b"{\"role\": \"w-upper\","));
    assert_eq!((status, kind.as_str()), (400, "invalid"));
    assert!(text.contains("line 1"), "{text}");

    let (status, _, text) = refusal(daemon.get("/v1/lisst"));
    assert_eq!(status, 404);
    assert!(text.contains("/v1/list"), "{text}");

    // After all that the daemon still works, and nothing of it was accepted.
    let (status, reply) = daemon.post("/message", &json!({ "role": "w-upper", "prompt": "hello" }));
    assert_eq!((status, reply["text"].as_str()), (200, Some("HELLO")), "{reply}");
    let (_, list) = daemon.get("/v1/list");
    assert_eq!(list["open_turns"], 0);
}

#[test]
fn a_key_with_another_body_is_refused_and_the_first_turn_stays() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let first = json!({ "role": "w-upper", "prompt": "one", "key": "k1" });
    let (_, reply) = daemon.post("/message", &first);
    let (status, kind, text) = refused(&daemon, json!({ "role": "w-upper", "prompt": "two", "key": "k1" }));
    assert_eq!((status, kind.as_str()), (409, "key_conflict"));
    assert!(text.contains("'k1'") && text.contains(reply["turn"].as_str().unwrap()), "{text}");
    // `wait` and `deadline` are not part of the body.
    let again = json!({ "role": "w-upper", "prompt": "one", "key": "k1", "wait": "5s", "deadline": "1m" });
    assert_eq!(daemon.post("/message", &again).1, reply);
}

#[test]
fn a_port_in_use_refuses_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let house = House::new(&[("team.lua", TEAM)]).arg("--listen").arg(&address);
    let refused = house.try_start().err().expect("the port is taken");
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains(&address) && refused.stderr.contains("--listen"), "{}", refused.stderr);
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused_with_the_first_ones_pid() {
    let house = House::new(&[("team.lua", TEAM)]);
    let first = house.start();
    let refused = house.try_start().err().expect("the state is held");
    assert!(refused.stderr.contains(&first.pid().to_string()), "{}", refused.stderr);
    let (status, _) = first.get("/healthz");
    assert_eq!(status, 200);
}

#[test]
fn a_charter_that_does_not_exist_refuses_the_start_and_a_broken_one_starts_degraded() {
    let house = House::new(&[]);
    std::fs::remove_dir(house.charter()).unwrap();
    let refused = house.try_start().err().expect("there is no charter");
    assert!(refused.stderr.contains("charter") && refused.stderr.contains("fleetd init"), "{}", refused.stderr);

    let house = House::new(&[("team.lua", "fleet.profle('x', {})\n")]);
    let daemon = house.start();
    let (_, health) = daemon.get("/healthz");
    assert!(health.to_string().contains("team.lua:1"), "{health}");
    let (status, kind, text) = refused_send(&daemon);
    assert_eq!((status, kind.as_str()), (503, "unavailable"));
    assert!(text.contains("team.lua:1") && text.contains("profile"), "{text}");
    // A good save heals it, without a restart.
    house.write("team.lua", TEAM);
    let (status, _) = daemon.post("/v1/charter/reload", &json!({}));
    assert_eq!(status, 200);
    let (status, reply) = daemon.post("/message", &json!({ "role": "w-upper", "prompt": "hello" }));
    assert_eq!((status, reply["text"].as_str()), (200, Some("HELLO")), "{reply}");
}

fn refused_send(daemon: &Daemon) -> (u16, String, String) {
    refused(daemon, json!({ "role": "w-upper", "prompt": "hello" }))
}

#[test]
fn a_state_directory_that_cannot_be_written_is_refused() {
    // Root may write everywhere, so the daemon is started as another uid; its program must be readable to that one.
    const NOBODY: u32 = 65_534;
    let house = House::new(&[("team.lua", TEAM)]);
    let program = house.path().join("fleetd");
    std::fs::copy(env!("CARGO_BIN_EXE_fleetd"), &program).unwrap();
    open_to_all(house.path());
    std::fs::create_dir(house.state()).unwrap();
    let mut command = std::process::Command::new(&program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(house.state().join("mine"));
    command.arg("--charter").arg(house.charter()).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    } else {
        std::fs::set_permissions(house.state(), std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("mine") && text.to_lowercase().contains("permission denied"), "{text}");
}

fn open_to_all(path: &std::path::Path) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn hosts_and_origins_of_others_are_refused() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    for (header, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let answer =
            crate::support::agent().get(format!("{}/v1/list", daemon.url)).header(header, value).call().unwrap();
        assert_eq!(answer.status().as_u16(), 403, "{header}");
    }
    let proxied = crate::support::agent().get(format!("{}/v1/list", daemon.url));
    let answer = proxied.header("x-forwarded-for", "10.0.0.1").call().unwrap();
    assert_eq!(answer.status().as_u16(), 403, "what comes through a proxy is nobody we know");
}
