//! A real daemon of its own for a test: private state, private charter, a free port, a clean environment.
//! No test is here, and nothing that only one part needs; whoever waits does so for something seen, within `PATIENCE`.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fleetd::engine::panes::{Key, Pane, PaneHost};
use fleetd::pane::embedded::{Embedded, Options};
use fleetd::process::ProcessId;
use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up; generous, for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so that happens in other processes, which tell nobody.
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

/// A home for a daemon: its state and its charter, which outlive the process.
pub struct House {
    dir: TempDir,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// A running daemon; it is killed when this is dropped.
pub struct Daemon {
    child: Child,
    /// What it printed up to and with the line that says where it listens.
    pub banner: String,
    /// Where it listens.
    pub url: String,
}

/// What a daemon said when it did not start.
#[derive(Debug)]
pub struct Refused {
    pub code: Option<i32>,
    pub stderr: String,
}

impl House {
    /// Makes a house with these charter files.
    pub fn new(files: &[(&str, &str)]) -> House {
        let house = House { dir: TempDir::new().unwrap(), args: Vec::new(), env: Vec::new() };
        std::fs::create_dir(house.charter()).unwrap();
        for (name, text) in files {
            house.write(name, text);
        }
        house
    }

    /// Gives `serve` more arguments.
    pub fn arg(mut self, arg: impl Into<String>) -> House {
        self.args.push(arg.into());
        self
    }

    /// Gives every command of this house one more variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> House {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Makes every daemon of this house listen on the same port: sessions that outlive one know the address.
    /// The port is outside of those that the system gives away by itself.
    pub fn same_port(self) -> House {
        let begin = 20_000 + std::process::id() % 9_000;
        let free = |port: &u32| std::net::TcpListener::bind(("127.0.0.1", *port as u16)).is_ok();
        let port = (begin..begin + 3_000).find(free).expect("one of three thousand ports is free");
        self.arg("--listen").arg(format!("127.0.0.1:{port}"))
    }

    /// Makes the next daemon of this house listen somewhere else.
    pub fn other_port(&mut self) {
        let at = self.args.iter().position(|arg| arg == "--listen").expect("it kept its port");
        self.args[at + 1] = "127.0.0.1:0".into();
    }

    /// Writes or overwrites a charter file.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.charter().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn charter(&self) -> PathBuf {
        self.dir.path().join("charter")
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Returns a `fleetd` command in this house with a clean environment.
    pub fn fleetd(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        command.args(args).env_clear().current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.dir.path()).env("LANG", "C.UTF-8");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the daemon and waits until it says where it listens.
    pub fn start(&self) -> Daemon {
        self.try_start().unwrap_or_else(|refused| panic!("the daemon did not start: {refused:?}"))
    }

    /// Starts the daemon, or returns why it would not.
    pub fn try_start(&self) -> Result<Daemon, Refused> {
        let (state, charter) = (self.state(), self.charter());
        let mut command = self.fleetd(&["serve"]);
        if !self.args.iter().any(|arg| arg == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.arg("--state").arg(state).arg("--charter").arg(charter).args(&self.args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (said, saying) = mpsc::channel();
        // Both pipes are read to their ends, so that the daemon never stops on a full one.
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            if std::env::var_os("FLEETD_TEST_LOG").is_some() {
                eprint!("{text}");
            }
            text
        });
        let mut banner = String::new();
        loop {
            match saying.recv_timeout(PATIENCE) {
                Ok(line) => {
                    banner.push_str(&line);
                    banner.push('\n');
                    if let Some((_, url)) = line.split_once("listens on ") {
                        let url = url.split_whitespace().next().unwrap().to_string();
                        return Ok(Daemon { child, banner, url });
                    }
                }
                Err(_) => {
                    let _ = child.kill();
                    let code = child.wait().unwrap().code();
                    return Err(Refused { code, stderr: errors.join().unwrap() });
                }
            }
        }
    }
}

/// A person at a worker's pane.
pub struct Person {
    runtime: tokio::runtime::Runtime,
    host: Embedded,
    pane: Pane,
}

impl Person {
    /// Sits down before the pane of a worker, in a house whose panes are in the embedded server.
    pub fn at(house: &House, daemon: &Daemon, worker: &str) -> Person {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (host, task) = Embedded::new(Options::new(house.state()));
        runtime.spawn(task);
        let (_, roster) = daemon.get("/v1/list");
        let workers = roster["workers"].as_array().expect("a roster");
        let worker = workers.iter().find(|one| one["name"] == worker).expect("it lives");
        let root = serde_json::from_value(worker["process"].clone()).expect("its process is known");
        let pane = runtime.block_on(host.pane_of(vec![root])).unwrap().expect("it has a pane");
        Person { runtime, host, pane }
    }

    pub fn presses(&self, keys: &[Key]) {
        self.runtime.block_on(self.host.press(self.pane.clone(), keys.to_vec())).unwrap();
    }

    pub fn pastes(&self, text: &str) {
        self.runtime.block_on(self.host.paste(self.pane.clone(), text.into())).unwrap();
    }

    /// Returns what the pane shows.
    pub fn sees(&self) -> String {
        self.runtime.block_on(self.host.screen(self.pane.clone())).unwrap().lines.join("\n")
    }
}

impl Drop for House {
    /// Ends the workers that outlived their daemon, as they should: after a test the process list is as before.
    fn drop(&mut self) {
        // By their command lines and not by their claims: one that has only just started has claimed nothing yet. The
        // pane server ends with its last pane; told to, it does not wait for another one.
        loop {
            let living = left_by(&self.state());
            if living.is_empty() {
                return;
            }
            for process in living {
                let _ = process.signal(rustix::process::Signal::TERM);
            }
            std::thread::yield_now();
        }
    }
}

/// Returns the pane-execs whose files lie below a state directory, and its pane server.
pub fn left_by(state: &Path) -> Vec<ProcessId> {
    let below = format!("{}/", state.display());
    let whole = state.display().to_string();
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ours = pids.filter(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        match words.get(1) {
            Some(&b"pane-exec") => words.iter().any(|word| word.starts_with(below.as_bytes())),
            Some(&b"panes") => words.contains(&whole.as_bytes()),
            _ => false,
        }
    });
    ours.filter_map(ProcessId::of).filter(|process| process.is_alive()).collect()
}

impl Daemon {
    /// Kills the daemon as a crash would: no signal handler runs.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the daemon to end and returns its exit code.
    pub fn terminate(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Returns the daemon's pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Posts JSON and returns the status and the JSON answer.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        read(agent().post(format!("{}{path}", self.url)).send_json(body))
    }

    /// Posts bytes as they are.
    pub fn post_raw(&self, path: &str, content_type: &str, body: &[u8]) -> (u16, Value) {
        read(agent().post(format!("{}{path}", self.url)).header("content-type", content_type).send(body))
    }

    /// Gets a path and returns the status and the JSON answer.
    pub fn get(&self, path: &str) -> (u16, Value) {
        read(agent().get(format!("{}{path}", self.url)).call())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns an HTTP client that takes every status as an answer and no proxy from the environment.
pub fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(PATIENCE * 2))
        .build()
        .new_agent()
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> (u16, Value) {
    let mut answer = answer.unwrap();
    let text = answer.body_mut().with_config().limit(64 << 20).read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
}
