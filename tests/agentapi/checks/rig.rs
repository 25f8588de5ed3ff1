//! A running server with the test agent in its terminal, and a client as plain as can be.
//! No test is here.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server; it is killed when this is dropped, and its program hung up.
pub struct Sim {
    pub child: Child,
    pub url: String,
}

impl Sim {
    /// Starts a server, ten times as fast as the real one, with the test agent.
    pub fn start(flags: &[&str], agent: &[&str]) -> Sim {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_agentapi-sim")).with_file_name("test-agent");
        let mut words = vec![program.display().to_string()];
        words.extend(agent.iter().map(|word| (*word).to_owned()));
        Sim::of(flags, &words)
    }

    /// As `start`, with any program.
    pub fn of(flags: &[&str], program: &[String]) -> Sim {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentapi-sim"));
        command.args(["--port", "0", "--speed", "10", "--screen", "60x40"]).args(flags).arg("--").args(program);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listens on ").expect("it says where").to_owned();
        Sim { child, url }
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        read(client().get(format!("{}{path}", self.url)).call())
    }

    pub fn post(&self, body: &str) -> (u16, Value) {
        let request = client().post(format!("{}/message", self.url)).header("content-type", "application/json");
        read(request.send(body))
    }

    /// Sends a user's message.
    pub fn say(&self, text: &str) -> (u16, Value) {
        self.post(&json!({"content": text, "type": "user"}).to_string())
    }

    /// Sends bytes.
    pub fn raw(&self, bytes: &str) {
        let (status, said) = self.post(&json!({"content": bytes, "type": "raw"}).to_string());
        assert_eq!((status, &said["ok"]), (200, &json!(true)), "{said}");
    }

    /// Changes its habits.
    pub fn habits(&self, habits: &Value) {
        let (status, said) = read(client().put(format!("{}/_habits", self.url)).send(habits.to_string()));
        assert_eq!(status, 200, "{said}");
    }

    pub fn status(&self) -> String {
        self.get("/status").1["status"].as_str().unwrap().to_owned()
    }

    /// Waits until it takes a message.
    pub fn stable(&self) {
        until("it is stable", || (self.status() == "stable").then_some(()));
    }

    /// Returns what was said, by whom.
    pub fn messages(&self) -> Vec<(String, String)> {
        let (_, said) = self.get("/messages");
        let word = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
        said["messages"].as_array().unwrap().iter().map(|one| (word(one, "role"), word(one, "content"))).collect()
    }

    /// Listens: the events come as they are told, and the end as the end.
    pub fn listen(&self, path: &str) -> Listener {
        let answer = client().get(format!("{}{path}", self.url)).call().unwrap();
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let (told, events) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut name, lines) = (String::new(), BufReader::new(answer.into_body().into_reader()).lines());
            for line in lines.map_while(Result::ok) {
                if let Some(word) = line.strip_prefix("event: ") {
                    name = word.to_owned();
                } else if let Some(data) = line.strip_prefix("data: ") {
                    let _ = told.send((name.clone(), serde_json::from_str(data).unwrap()));
                } else {
                    assert_eq!(line, "", "an event has no other lines");
                }
            }
        });
        Listener(events)
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One who listens.
pub struct Listener(mpsc::Receiver<(String, Value)>);

impl Listener {
    /// Returns the next event, or nothing at the end of the stream.
    pub fn next(&self) -> Option<(String, Value)> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(event) => Some(event),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("nothing came"),
        }
    }

    /// Returns the first event that is so.
    pub fn until(&self, is: impl Fn(&str, &Value) -> bool) -> Value {
        loop {
            let (name, data) = self.next().expect("it did not end before");
            if is(&name, &data) {
                return data;
            }
        }
    }
}

/// Waits until something is so.
#[expect(clippy::disallowed_methods, reason = "nobody tells when it is so; it is looked again, within a bound")]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn client() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None);
    config.timeout_global(Some(PATIENCE * 2)).build().new_agent()
}

pub fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> (u16, Value) {
    let mut answer = answer.unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
}
