//! Workers in the terminal of an AgentAPI server, by a server that has the recorded API and habits (`tests/agentapi`) with
//! `test-agent` in its terminal: attached to, by its rules for messages, and started where that is allowed.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Daemon, House, agent, until};

fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name(name)
}

/// A server with an agent in its terminal, four times as quick as the real one.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(flags: &[&str], habits: &[&str]) -> Server {
        Server::at("0", flags, habits)
    }

    fn at(port: &str, flags: &[&str], habits: &[&str]) -> Server {
        let mut command = Command::new(beside("agentapi-sim"));
        command.args(["--speed", "4", "--port", port]).args(flags).arg("--").arg(beside("test-agent")).args(habits);
        let mut child = command.env_clear().env("TERM", "xterm").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_else(|| panic!("{line}"));
        Server { url: url.to_owned(), child }
    }

    fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }

    fn habits(&self, habits: &Value) {
        let said =
            agent().put(format!("{}/_habits", self.url)).content_type("application/json").send(habits.to_string());
        assert_eq!(said.unwrap().status(), 200, "{habits}");
    }

    fn messages(&self) -> String {
        agent().get(format!("{}/messages", self.url)).call().unwrap().body_mut().read_to_string().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn house(server: &Server) -> House {
    let house = House::new(&[(
        "team.lua",
        "fleet.profile('p', { launcher = 'agentapi', endpoint = 'box' })\nfleet.role('w', { profiles = { 'p' }, max_busy = 2 })\n",
    )])
    .same_port();
    let config = format!("pane_host = \"embedded\"\n[endpoints.box]\nurl = \"{}\"\n", server.url);
    std::fs::write(house.path().join("fleetd.toml"), config).unwrap();
    house
}

fn spawn(daemon: &Daemon) -> (u16, Value) {
    daemon.post("/v1/spawn", &json!({ "role": "w" }))
}

fn say(daemon: &Daemon, prompt: &str) -> Value {
    let (status, envelope) = daemon.post("/message", &json!({ "to": "w-1", "prompt": prompt, "wait": "50s" }));
    assert_eq!(status, 200, "{envelope}");
    envelope
}

fn send(daemon: &Daemon, prompt: &str) -> String {
    let (status, sent) = daemon.post("/v1/send", &json!({ "to": "w-1", "prompt": prompt }));
    assert_eq!(status, 202, "{sent}");
    let turn = [&sent["turn"]["id"], &sent["turn"], &sent["id"]].into_iter().find_map(Value::as_str);
    turn.expect("it has an id").to_owned()
}

fn envelope(daemon: &Daemon, turn: &str) -> Value {
    let (status, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
    assert_eq!(status, 200, "{envelope}");
    envelope
}

fn worker(daemon: &Daemon) -> String {
    daemon.get("/v1/list").1["workers"][0].to_string()
}

#[test]
fn a_reply_is_what_stood_on_the_screen_and_is_marked_so() {
    let mut server = Server::start(&[], &["--answer", "upper"]);
    let house = house(&server);
    let daemon = house.start();
    let (status, up) = spawn(&daemon);
    assert_eq!((status, &up["state"], &up["has_screen"]), (200, &json!("ready"), &json!(false)), "{up}");
    for words in ["hello there", "and once more\nin two lines\n"] {
        let said = say(&daemon, words);
        assert_eq!((&said["outcome"], &said["proof"]), (&json!("replied"), &json!("screen")), "{said}");
        let last = words.lines().last().unwrap().to_uppercase();
        assert!(said["text"].as_str().unwrap().contains(&last), "{said}");
    }
    // One worker a program.
    let (_, second) = spawn(&daemon);
    assert!(second.to_string().contains("has a worker already: w-1"), "{second}");
    // Its events are lost again and again: each stream ends after the state that it begins with.
    server.habits(&json!({ "drop_events": 2 }));
    assert!(say(&daemon, "nobody heard it")["text"].as_str().unwrap().contains("NOBODY HEARD IT"));
    // A daemon that comes back finds it.
    daemon.kill();
    let daemon = house.start();
    assert!(say(&daemon, "after a restart")["text"].as_str().unwrap().contains("AFTER A RESTART"));
    let (status, _) = daemon.post("/v1/stop", &json!({ "worker": "w-1" }));
    assert_eq!(status, 200);
    until("it is let go", || (!daemon.get("/v1/list").1.to_string().contains("\"w-1\"")).then_some(()));
    assert!(server.child.try_wait().unwrap().is_none(), "what somebody else has started runs on");
    assert_eq!(std::fs::read_dir(house.state().join("sessions")).unwrap().count(), 0);
}

#[test]
fn no_character_of_a_text_is_a_key_to_the_agent() {
    let place = tempfile::TempDir::new().unwrap();
    let taken = place.path().join("taken");
    let server = Server::start(&[], &["--answer", "upper", "--submitted", taken.to_str().unwrap()]);
    let house = house(&server);
    let daemon = house.start();
    spawn(&daemon);
    let said = say(&daemon, "first\u{1b}[201~\rsecond\u{3}\u{1b}[Z third");
    assert_eq!(said["outcome"], "replied", "{said}");
    let taken = std::fs::read_to_string(&taken).unwrap();
    assert_eq!(taken.lines().count(), 1, "one text, entered once: {taken}");
    assert!(["first", "second", "third"].iter().all(|word| taken.contains(word)), "{taken}");
}

#[test]
fn a_turn_of_another_fleet_is_not_taken_for_this_ones_and_a_moved_endpoint_ends_the_session() {
    let server = Server::start(&[], &["--answer", "upper"]);
    let first = house(&server);
    let daemon = first.start();
    spawn(&daemon);
    let old = say(&daemon, "ping");
    assert_eq!(old["outcome"], "replied", "{old}");
    drop(daemon);
    // Another store, whose turns have the same numbers; and a text that the server says it could not type.
    let second = house(&server);
    let daemon = second.start();
    spawn(&daemon);
    server.habits(&json!({ "fail": 1 }));
    let said = say(&daemon, "ping");
    assert_eq!((&said["turn"], &said["outcome"]), (&old["turn"], &json!("unknown")), "{said}");

    let turn = send(&daemon, "pong");
    until("it is taken", || (daemon.get(&format!("/v1/turns/{turn}")).1["state"] == "working").then_some(()));
    daemon.kill();
    std::fs::write(second.path().join("fleetd.toml"), "[endpoints.box]\nurl = \"http://127.0.0.1:9\"\n").unwrap();
    let daemon = second.start();
    let said = envelope(&daemon, &turn);
    assert!(["lost", "unknown"].contains(&said["outcome"].as_str().unwrap()), "{said}");
    assert!(said["why"].as_str().unwrap().contains("its endpoint names http://127.0.0.1:9 now"), "{said}");
}

#[test]
fn its_rules_for_messages_are_kept_and_what_may_have_been_typed_is_looked_for() {
    let place = tempfile::TempDir::new().unwrap();
    let taken = place.path().join("taken");
    let server = Server::start(&[], &["--answer", "upper", "--submitted", taken.to_str().unwrap()]);
    let house = house(&server);
    let daemon = house.start();
    spawn(&daemon);
    // What was typed in spite of an error is in no list of its own, only what was answered.
    for (habit, words, times) in [("fail", "never typed", 0), ("fail_typed", "typed all the same", 1)] {
        server.habits(&json!({ habit: 1 }));
        let said = say(&daemon, words);
        assert_eq!(said["outcome"], "unknown", "{said}");
        let taken = std::fs::read_to_string(&taken).unwrap_or_default();
        assert_eq!(taken.matches(words).count(), times, "it was not sent again: {taken}");
    }
    assert!(say(&daemon, "the next")["text"].as_str().unwrap().contains("THE NEXT"));
}

#[test]
fn a_turn_without_end_is_stopped_by_the_agents_key() {
    let server = Server::start(&[], &["--hang"]);
    let house = house(&server);
    let daemon = house.start();
    spawn(&daemon);
    for words in ["work without end", "and again"] {
        let turn = send(&daemon, words);
        until("it works", || server.messages().contains(words).then_some(()));
        until("that is seen", || (daemon.get(&format!("/v1/turns/{turn}")).1["state"] == "working").then_some(()));
        let (status, _) = daemon.post("/v1/cancel", &json!({ "turn": turn }));
        assert_eq!((status, &envelope(&daemon, &turn)["outcome"]), (200, &json!("cancelled")));
    }
}

#[test]
fn a_server_that_is_gone_is_told_and_one_that_never_rests_is_not_taken() {
    let server = Server::start(&[], &["--answer", "upper"]);
    let house = house(&server);
    let daemon = house.start();
    spawn(&daemon);
    let port = server.port().to_owned();
    drop(server);
    until("its silence is told", || worker(&daemon).contains("it does not answer").then_some(()));
    let server = Server::at(&port, &[], &["--answer", "upper"]);
    assert!(say(&daemon, "back again")["text"].as_str().unwrap().contains("BACK AGAIN"));
    let turn = send(&daemon, "and gone");
    until("it has it", || server.messages().contains("and gone").then_some(()));
    drop(server);
    let server = Server::at(&port, &[], &["--answer", "upper"]);
    let said = envelope(&daemon, &turn);
    let is_whole = said["outcome"] == "replied" && said["text"].as_str().unwrap().contains("AND GONE");
    assert!(said["outcome"] == "unknown" || is_whole, "nothing is made up: {said}");
    assert!(!server.messages().contains("and gone"), "it was not sent again");

    let restless = Server::start(&["--clock"], &[]);
    let other = self::house(&restless);
    other.write(
        "team.lua",
        "fleet.profile('p', { launcher = 'agentapi', endpoint = 'box', typing = { ready_timeout = '2s' } })\nfleet.role('w', { profiles = { 'p' } })\n",
    );
    let daemon = other.start();
    let (_, said) = spawn(&daemon);
    assert!(said.to_string().contains("not ready within 2s"), "{said}");
}

#[test]
fn one_is_started_only_where_the_operator_allows_that_others_reach_it() {
    let agent = beside("test-agent").display().to_string();
    let house = House::new(&[(
        "team.lua",
        &format!(
            "fleet.profile('p', {{ launcher = 'agentapi', command = {{ '{agent}', '--answer', 'upper' }} }})\nfleet.role('w', {{ profiles = {{ 'p' }} }})\n"
        ),
    )]);
    let bin = house.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // The real one has this as the first of its commands.
    let script = format!("#!/bin/sh\nshift\nexec '{}' --speed 4 \"$@\"\n", beside("agentapi-sim").display());
    std::fs::write(bin.join("agentapi"), script).unwrap();
    std::fs::set_permissions(bin.join("agentapi"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let house = house.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    std::fs::write(house.path().join("fleetd.toml"), "pane_host = \"embedded\"\n").unwrap();
    let daemon = house.start();
    let (_, said) = spawn(&daemon);
    assert!(said.to_string().contains("allow_exposed = true under [launch]"), "{said}");
    drop(daemon);
    std::fs::write(house.path().join("fleetd.toml"), "pane_host = \"embedded\"\n[launch]\nallow_exposed = true\n")
        .unwrap();
    let daemon = house.start();
    let (status, up) = spawn(&daemon);
    assert_eq!(status, 200, "{up}");
    let to = up["name"].as_str().unwrap();
    let (_, said) = daemon.post("/message", &json!({ "to": to, "prompt": "hello", "wait": "50s" }));
    assert!(said["text"].as_str().unwrap_or_default().contains("HELLO"), "{said}");
    assert_eq!(said["proof"], "screen");
}
