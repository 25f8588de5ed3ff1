//! The recorded transcripts of both versions, played against herdr-sim: each answer and each kind of event has the shape
//! that was recorded. What is left out is listed here, with the reason.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::house::{House, pause, until};

/// Transcripts that are not played at all.
const LEFT_OUT_FILES: &[(&str, &str)] =
    &[("known-agents", "agents that herdr knows by name; no client of ours asks for them")];

/// Requests that are not played.
const LEFT_OUT_METHODS: &[(&str, &str)] = &[
    ("agent.start", "starts an agent that herdr knows by name"),
    ("agent.prompt", "as above"),
    ("agent.send_keys", "as above"),
    ("agent.explain", "as above"),
    ("agent.read", "as above"),
    ("pane.clear_agent_authority", "takes back a report; we make none"),
    ("workspace.report_metadata", "words beside a workspace; we show none"),
];

/// Connections that are not played: transcript, first and last, why.
const LEFT_OUT: &[(&str, u64, u64, &str)] = &[
    ("errors", 20, 20, "bytes that the recording cannot hold; `wire.rs` sends them"),
    ("errors", 23, 25, "as above"),
    ("errors", 27, 27, "as above"),
    ("agent-status-events", 54, 54, "takes back a report by a method that we never use; so do the next ones"),
    ("agent-status-events", 64, 200, "reports of herdr's own integrations, under names that herdr knows"),
    ("edge-cases", 19, 28, "an agent that herdr knows by name"),
    ("edge-cases", 30, 42, "as above, and its integration"),
    ("edge-cases", 67, 67, "a list with those agents in it"),
    ("edge-cases", 101, 101, "as above"),
    ("moves-altscreen-resume", 16, 16, "an agent that herdr knows by name"),
    ("moves-altscreen-resume", 27, 29, "as above"),
    ("moves-altscreen-resume", 31, 200, "that agent is started anew by herdr after a restart"),
];

/// Fields that are there or not by the moment or by what runs: a title is the program's, a directory and a size need a
/// process that has begun and not ended.
const BY_THE_MOMENT: &[&str] = &["terminal_title", "terminal_title_stripped", "foreground_cwd", "scroll"];

/// Answers whose recorded texts are constants.
const CONSTANTS: &[&str] =
    &["type", "code", "event", "source", "format", "direction", "agent", "agent_status", "final_status"];

struct Played<'a> {
    name: &'a str,
    house: House,
    ids: HashMap<String, String>,
    connections: HashMap<u64, Connection>,
    left_out: Vec<u64>,
    kill_at_next_close: bool,
    faults: Vec<String>,
}

struct Connection {
    request: Value,
    stream: UnixStream,
    lines: Arc<Mutex<Vec<Value>>>,
    ended: Arc<Mutex<bool>>,
    expected: Vec<Value>,
    answered: bool,
}

fn data(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/herdr").join(version)
}

fn play(version: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(data(version).join(format!("{name}.jsonl"))).unwrap();
    let house = House::without_server(&[("HERDR_SIM_VERSION", version)]);
    for folder in ["proj", "bin"] {
        std::fs::create_dir(house.home().join(folder)).unwrap();
    }
    // The stand-in of the recordings draws, reads and can be left, as ours does.
    for name in ["agent-demo", "claude"] {
        let script = format!("#!/bin/sh\nexec {}\n", env!("CARGO_BIN_EXE_test-agent"));
        let path = house.home().join("bin").join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut played = Played {
        name,
        house,
        ids: HashMap::new(),
        connections: HashMap::new(),
        left_out: Vec::new(),
        kill_at_next_close: false,
        faults: Vec::new(),
    };
    for (n, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let before = played.faults.len();
        played.line(&line);
        for fault in &mut played.faults[before..] {
            *fault = format!("{version} {name}:{}: {fault}", n + 1);
        }
        if played.faults.len() > 20 {
            break;
        }
    }
    let open: Vec<u64> = played.connections.keys().copied().collect();
    for connection in open {
        played.close(connection);
    }
    played.faults
}

impl Played<'_> {
    fn line(&mut self, line: &Value) {
        let connection = line["conn"].as_u64().unwrap();
        let message = &line["msg"];
        match line["dir"].as_str().unwrap() {
            "note" => self.note(message["note"].as_str().unwrap()),
            "send" => self.send(connection, message),
            _ if self.left_out.contains(&connection) => {}
            _ if message.get("closed").is_some() => self.close(connection),
            _ => self.receive(connection, message),
        }
    }

    /// What was done beside the socket is told by notes alone.
    fn note(&mut self, note: &str) {
        if note.starts_with("kill -9 of the server") {
            self.kill_at_next_close = true;
        }
        if note == "SIGTERM" {
            assert_eq!(self.house.signal(Signal::TERM).code(), Some(0));
        }
        if note == "second server on the same socket" {
            self.house.launch_if_needed();
            assert_eq!(self.house.command().status().unwrap().code(), Some(1));
        }
    }

    fn send(&mut self, number: u64, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        let is_left_out = LEFT_OUT_METHODS.iter().any(|(left_out, _)| *left_out == method)
            || LEFT_OUT.iter().any(|(name, first, last, _)| *name == self.name && (*first..=*last).contains(&number));
        if is_left_out {
            self.left_out.push(number);
            return;
        }
        self.house.launch_if_needed();
        if matches!(method, "server.stop" | "server.live_handoff") {
            self.settle();
        }
        let request = self.translated(message);
        self.connections.insert(number, Connection::open(&self.house, request));
    }

    /// Puts the ids of this run, and its home, in the place of the recorded ones.
    fn translated(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let text = self.ids.get(text).cloned().unwrap_or_else(|| text.clone());
                Value::String(text.replace("/home/user", &self.house.home().display().to_string()))
            }
            // The recorder's probe read its terminal raw and drew nothing.
            Value::Array(words) if words.first().is_some_and(|word| word == "python3") => {
                serde_json::json!(["sh", "-c", "stty raw -echo; exec cat > /dev/null"])
            }
            Value::Array(values) => values.iter().map(|value| self.translated(value)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.translated(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn receive(&mut self, number: u64, expected: &Value) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.answered {
            connection.expected.push(expected.clone());
            return;
        }
        connection.answered = true;
        let method = connection.request["method"].as_str().unwrap_or_default().to_owned();
        let looks = ["get", "list", "read", "info", "snapshot"].iter().any(|end| method.ends_with(end));
        let request = connection.request.clone();
        let end = Instant::now() + Duration::from_secs(3);
        loop {
            let actual = self.connections[&number].first_line();
            let mut found = Vec::new();
            let mut ids = Vec::new();
            compare(expected, &actual, "", &mut found, &mut ids);
            if found.is_empty() || !looks || Instant::now() >= end {
                self.ids.extend(ids);
                let context =
                    || format!("{method}: {}\n    expected {expected}\n    got      {actual}", found.join("; "));
                self.faults.extend((!found.is_empty()).then(context));
                break;
            }
            // What is looked at may still be on its way.
            pause();
            self.connections.insert(number, Connection::open(&self.house, request.clone()));
            self.connections.get_mut(&number).unwrap().answered = true;
        }
        self.beside_the_socket(number, &method);
        if method == "server.stop" {
            assert_eq!(self.house.ended().code(), Some(0));
        }
    }

    /// The recorder killed this shell itself.
    fn beside_the_socket(&self, number: u64, method: &str) {
        if self.name == "pane-dies" && number == 14 && method == "pane.get" {
            let pane = self.connections[&number].first_line()["result"]["pane"]["pane_id"].clone();
            let info = self.house.done("pane.process_info", serde_json::json!({"pane_id": pane}));
            let pid = info["process_info"]["shell_pid"].as_i64().unwrap();
            kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
        }
    }

    /// Waits until every stream has told what it told when it was recorded.
    fn settle(&mut self) {
        for connection in self.connections.values_mut() {
            let expected = std::mem::take(&mut connection.expected);
            self.faults.extend(connection.missing(&expected));
        }
    }

    fn close(&mut self, number: u64) {
        let Some(mut connection) = self.connections.remove(&number) else { return };
        let expected = std::mem::take(&mut connection.expected);
        self.faults.extend(connection.missing(&expected));
        if !connection.answered {
            until("the connection is closed without an answer", || {
                *connection.ended.lock().unwrap() || connection.stream.shutdown(Shutdown::Write).is_err()
            });
            let answers = connection.lines.lock().unwrap();
            if !answers.is_empty() {
                self.faults.push(format!("{} was answered: {answers:?}", connection.request));
            }
        }
        let _ = connection.stream.shutdown(Shutdown::Both);
        if std::mem::take(&mut self.kill_at_next_close) {
            self.house.signal(Signal::KILL);
        }
    }
}

impl House {
    fn launch_if_needed(&mut self) {
        if !self.is_running() {
            self.launch();
        }
    }
}

impl Connection {
    fn open(house: &House, request: Value) -> Self {
        let mut stream = UnixStream::connect(house.socket()).unwrap();
        let bytes = match request.get("raw").and_then(Value::as_str) {
            Some(raw) => raw.to_owned(),
            None => format!("{request}\n"),
        };
        let _ = stream.write_all(bytes.as_bytes());
        let (lines, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(false)));
        let (seen, at_end) = (Arc::clone(&lines), Arc::clone(&ended));
        let reader = BufReader::new(stream.try_clone().unwrap());
        std::thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                seen.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
            *at_end.lock().unwrap() = true;
        });
        Self { request, stream, lines, ended, expected: Vec::new(), answered: false }
    }

    /// Returns which of these events were not told, in shape.
    fn missing(&self, expected: &[Value]) -> Vec<String> {
        let end = Instant::now() + Duration::from_secs(4);
        let mut faults = Vec::new();
        for expected in expected {
            let is_told = || self.lines.lock().unwrap().iter().any(|actual| is_like(expected, actual));
            while !is_told() && Instant::now() < end && !*self.ended.lock().unwrap() {
                pause();
            }
            if !is_told() {
                faults.push(format!("no such event: {expected}"));
            }
        }
        faults
    }

    fn first_line(&self) -> Value {
        until("an answer", || !self.lines.lock().unwrap().is_empty() || *self.ended.lock().unwrap());
        self.lines.lock().unwrap().first().cloned().unwrap_or(Value::Null)
    }
}

/// Tells whether an event is of the same kind and shape; what it says of labels and states depends on the moment.
fn is_like(expected: &Value, actual: &Value) -> bool {
    let mut found = Vec::new();
    compare(expected, actual, "", &mut found, &mut Vec::new());
    expected["event"] == actual["event"] && found.iter().all(|fault| fault.contains(" and not \""))
}

/// Compares shapes: the same keys and types at all levels, the same constants. Learns which id stands for which.
fn compare(expected: &Value, actual: &Value, path: &str, found: &mut Vec<String>, ids: &mut Vec<(String, String)>) {
    let key = path.rsplit('.').next().unwrap_or_default();
    match (expected, actual) {
        (Value::Object(wanted), Value::Object(got)) => {
            let by_the_moment = |name: &str| BY_THE_MOMENT.contains(&name);
            for name in wanted.keys().filter(|name| !got.contains_key(*name) && !by_the_moment(name)) {
                found.push(format!("{path}.{name} is missing"));
            }
            for (name, value) in got {
                match wanted.get(name) {
                    Some(wanted) => compare(wanted, value, &format!("{path}.{name}"), found, ids),
                    None if by_the_moment(name) => {}
                    None => found.push(format!("{path}.{name} is too much")),
                }
            }
        }
        (Value::Array(wanted), Value::Array(got)) => {
            if wanted.is_empty() != got.is_empty() {
                found.push(format!("{path} has {} and not {}", got.len(), wanted.len()));
            }
            for (wanted, got) in wanted.iter().zip(got) {
                compare(wanted, got, &format!("{path}[]"), found, ids);
            }
        }
        (Value::String(wanted), Value::String(got)) => {
            if key.ends_with("_id") {
                ids.push((wanted.clone(), got.clone()));
            }
            if CONSTANTS.contains(&key) && wanted != got {
                found.push(format!("{path} is {got:?} and not {wanted:?}"));
            }
        }
        (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) | (Value::Null, Value::Null) => {}
        _ => found.push(format!("{path} is {actual} and not like {expected}")),
    }
}

/// A test for each transcript.
macro_rules! transcripts {
    ($($test:ident $name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                for version in ["0.8.0", "0.8.2"] {
                    let faults = play(version, $name);
                    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
                }
            }
        )*
    };
}

transcripts! {
    agent_status_events "agent-status-events",
    edge_cases "edge-cases",
    errors "errors",
    events_semantics "events-semantics",
    ids_and_moves "ids-and-moves",
    live_handoff "live-handoff",
    moves_altscreen_resume "moves-altscreen-resume",
    orchestrator_flow "orchestrator-flow",
    pane_dies "pane-dies",
    pane_read "pane-read",
    send_text "send-text",
    server_restart "server-restart",
    spawn_and_close "spawn-and-close",
}

#[test]
fn every_transcript_is_played_or_left_out_with_a_reason() {
    for version in ["0.8.0", "0.8.2"] {
        for entry in std::fs::read_dir(data(version)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap().replace(".jsonl", "");
            let is_left_out = LEFT_OUT_FILES.iter().any(|(left_out, _)| *left_out == name);
            assert!(is_left_out != NAMES.contains(&name.as_str()), "{name}");
        }
    }
}
