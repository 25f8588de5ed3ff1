//! A herdr-sim of its own for a test:
//! a private home, the server as a process, requests by hand.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A home with a server in it.
pub struct House {
    home: TempDir,
    pub variables: Vec<(String, String)>,
    pub args: Vec<String>,
    server: Option<Child>,
}

impl House {
    /// Makes a home and starts the server.
    pub fn start(variables: &[(&str, &str)]) -> Self {
        let mut house = Self::without_server(variables);
        house.launch();
        house
    }

    /// Makes a home.
    pub fn without_server(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { home: TempDir::new().unwrap(), variables, args: vec!["server".to_owned()], server: None }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.home().join(".config/herdr/herdr.sock")
    }

    /// Returns the command that starts the server.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herdr-sim"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.home().join("bin").display());
        command.args(&self.args).env_clear().env("HOME", self.home()).env("PATH", path).env("SHELL", "/bin/sh");
        command.envs(self.variables.iter().cloned()).stdin(Stdio::null()).current_dir(self.home());
        command
    }

    /// Starts the server and waits until it answers.
    pub fn launch(&mut self) {
        self.server = Some(self.command().spawn().unwrap());
        until("the server answers", || UnixStream::connect(self.socket()).is_ok());
    }

    pub fn is_running(&self) -> bool {
        self.server.is_some()
    }

    /// Sends the server a signal and waits for its end.
    pub fn signal(&mut self, signal: Signal) -> ExitStatus {
        let pid = Pid::from_raw(self.server.as_ref().unwrap().id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
        self.ended()
    }

    /// Waits for the server's end.
    pub fn ended(&mut self) -> ExitStatus {
        self.server.take().unwrap().wait().unwrap()
    }

    /// Sends a request and returns the answer.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let mut line = json!({"id": "t", "method": method, "params": params}).to_string();
        line.push('\n');
        let answer = self.send(line.as_bytes()).unwrap_or_else(|| panic!("{method} was not answered"));
        serde_json::from_str(&answer).unwrap()
    }

    /// As [`House::ask`], and returns the result.
    pub fn done(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends bytes and returns the line that comes back, if one does.
    pub fn send(&self, bytes: &[u8]) -> Option<String> {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.write_all(bytes);
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line)
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.signal(Signal::TERM);
        }
    }
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not seen: {what}");
        pause();
    }
}

/// A short rest between two looks.
#[expect(clippy::disallowed_methods, reason = "what is looked at has no event; each look costs a request")]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}
