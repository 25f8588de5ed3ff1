//! A house with a project, a scripted model and a charter of which each worker is the real agent in a pane.
//! What the scripted model is told to do stands in the prompts themselves.

use std::path::PathBuf;
use std::process::Command;

use fleetd_model::Model;
use serde_json::{Value, json};

use super::{KEY, claude, opencode};
use crate::support::{Daemon, House, until};

/// A daemon's house before a scripted model.
pub struct Team {
    pub model: Model,
    pub house: House,
    launcher: &'static str,
}

impl Team {
    /// Makes a house with a git project in `work/`; `more` goes into the profile.
    pub fn new(more: &str) -> Team {
        Team::of("claude", more)
    }

    /// As `new`, with agents that have no pane.
    pub fn headless(more: &str) -> Team {
        Team::of("claude-headless", more)
    }

    /// As `new`, with agents that are called over HTTP.
    pub fn called(more: &str) -> Team {
        Team::of("opencode", more)
    }

    fn of(launcher: &'static str, more: &str) -> Team {
        let model = Model::start().unwrap();
        let agents = [claude(), opencode::program()].map(|agent| agent.parent().unwrap().display().to_string());
        let house = House::new(&[]).same_port().env("MODEL_KEY", KEY);
        let house = house.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", agents.join(":")));
        // One model, two dialects.
        let path = if launcher == "opencode" { "/v1" } else { "" };
        let endpoint = |name: &str, path: &str| {
            format!("[endpoints.{name}]\nurl = \"{}{path}\"\nkey_env = \"MODEL_KEY\"\n", model.url())
        };
        let config = format!("pane_host = \"embedded\"\n{}{}", endpoint("local", path), endpoint("chat", "/v1"));
        std::fs::write(house.path().join("fleetd.toml"), config).unwrap();
        let team = Team { model, house, launcher };
        team.file("README", "a project\n");
        team.git(&["init", "-q"]);
        team.commit();
        team.profile(more);
        team
    }

    /// Writes the charter: one role, whose workers have this in their profile.
    pub fn profile(&self, more: &str) {
        let (work, launcher) = (self.work().display().to_string(), self.launcher);
        self.house.write(
            "team.lua",
            &format!(
                "fleet.profile('p', {{ launcher = '{launcher}', model = 'scripted', endpoint = 'local', cwd = '{work}', {more} }})\n\
                 fleet.role('w', {{ profiles = {{ 'p' }}, max_busy = 2 }})\n"
            ),
        );
    }

    pub fn work(&self) -> PathBuf {
        self.house.path().join("work")
    }

    /// Writes a file of the project.
    pub fn file(&self, name: &str, text: &str) {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args).current_dir(self.work());
        assert!(git.status().unwrap().success(), "git {args:?}");
    }

    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "as it is"]);
    }

    /// Returns the texts that the model was asked with, the newest last.
    pub fn asked(&self) -> Vec<String> {
        self.model.asked().iter().map(|one| one.text()).collect()
    }
}

pub fn spawn(daemon: &Daemon) -> Value {
    let (status, worker) = daemon.post("/v1/spawn", &json!({ "role": "w" }));
    assert_eq!((status, &worker["state"]), (200, &json!("ready")), "{worker}");
    worker
}

/// Sends a message and returns its envelope.
pub fn message(daemon: &Daemon, prompt: &str) -> Value {
    let (status, envelope) = daemon.post("/message", &json!({ "role": "w", "prompt": prompt, "wait": "50s" }));
    assert_eq!(status, 200, "{envelope}");
    envelope
}

/// Sends a message, waits until the agent has it, and returns the turn.
pub fn begin(daemon: &Daemon, prompt: &str) -> String {
    let (status, sent) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": prompt }));
    assert_eq!(status, 202, "{sent}");
    let turn = [&sent["turn"]["id"], &sent["turn"], &sent["id"]].into_iter().find_map(Value::as_str);
    let turn = turn.expect("it has an id").to_owned();
    until("the agent has the text", || (state(daemon, &turn) == "working").then_some(()));
    turn
}

pub fn state(daemon: &Daemon, turn: &str) -> String {
    daemon.get(&format!("/v1/turns/{turn}")).1["state"].as_str().unwrap_or_default().to_owned()
}

/// Waits for the end of a turn.
pub fn envelope(daemon: &Daemon, turn: &str) -> Value {
    let (status, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
    assert_eq!(status, 200, "{envelope}");
    envelope
}

/// Returns the agent's own process: the child of its worker's pane-exec.
pub fn agent_of(daemon: &Daemon, name: &str) -> fleetd::process::ProcessId {
    let (_, roster) = daemon.get("/v1/list");
    let worker = roster["workers"].as_array().unwrap().iter().find(|one| one["name"] == name).expect("it lives");
    let root = worker["process"]["pid"].as_u64().expect("its process is known") as u32;
    let child = std::fs::read_to_string(format!("/proc/{root}/task/{root}/children")).unwrap();
    let pid = child.split_whitespace().next().expect("it has a child").parse().unwrap();
    fleetd::process::ProcessId::of(pid).expect("it lives")
}
