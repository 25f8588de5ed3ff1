//! The leader in a pane of herdr, with the real agent: what comes while it does not look is told to it by one line in its
//! own composer, and its next turn fetches it. Not while it works, and not while somebody's words stand there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::leader::{init, leader};
use super::team::{Team, state};
use crate::herdr::Server;
use crate::support::{Daemon, until};

const LINE: &str = "[fleet] 1 thing waits for you: call fleet_poll";

/// A team whose leader a person has started in the shell of a pane.
struct Lead {
    team: Team,
    herdr: Server,
    pane: Value,
    daemon: Daemon,
}

impl Lead {
    /// Starts it in a herdr of this version: panes that nobody looks at are of another size in each.
    fn start(version: &str) -> Lead {
        let team = Team::headless("");
        let file = team.house.path().join("fleetd.toml");
        let settings = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, settings.replace("pane_host = \"embedded\"", "pane_host = \"herdr\"")).unwrap();
        let herdr = Server::start_as(&team.house, version);
        let daemon = team.house.start();
        init(&team, &daemon, "");
        let may = json!({ "enabledMcpjsonServers": ["fleet"], "permissions": { "allow": ["mcp__fleet"] } });
        let script = script_of(&leader(&team, &may), &team.house.path().join("lead"));
        let made = herdr.ask("workspace.create", json!({ "cwd": team.work() }));
        let pane = made["result"]["root_pane"]["pane_id"].clone();
        let lead = Lead { team, herdr, pane, daemon };
        lead.types(&format!("sh {}", script.display()));
        lead.presses("enter");
        until("its composer is there", || lead.composer().map(drop));
        // It takes prompts before it has the tools.
        let has_tools =
            || lead.team.model.asked().last().is_some_and(|one| one.tools().contains(&"mcp__fleet__fleet_send"));
        for n in 0.. {
            lead.enters(&format!("SAY:answer {n}"));
            lead.shows(&format!("● answer {n}"));
            if has_tools() {
                return lead;
            }
        }
        unreachable!("it is asked until it has them")
    }

    fn ask(&self, method: &str, mut params: Value) -> Value {
        params["pane_id"] = self.pane.clone();
        self.herdr.ask(method, params)
    }

    fn types(&self, text: &str) {
        self.ask("pane.send_text", json!({ "text": text }));
    }

    fn presses(&self, key: &str) {
        self.ask("pane.send_keys", json!({ "keys": [key] }));
    }

    /// Gives it a prompt as a paste, as a person does. An Enter right behind a paste is lost at times.
    fn enters(&self, prompt: &str) {
        self.ask("pane.send_input", json!({ "text": prompt }));
        until("the prompt stands there", || self.composer().filter(|text| !text.is_empty()));
        let mut next = Instant::now();
        until("it is taken", || {
            if Instant::now() >= next {
                self.presses("enter");
                next = Instant::now() + Duration::from_secs(2);
            }
            self.composer().is_none_or(|text| text.is_empty()).then_some(())
        });
    }

    fn sees(&self) -> String {
        let read = self.ask("pane.read", json!({ "source": "visible" }));
        read["result"]["read"]["text"].as_str().unwrap_or_default().to_owned()
    }

    fn shows(&self, what: &str) {
        until(what, || self.sees().contains(what).then_some(()));
    }

    /// Returns what stands in its composer, which is the last line that begins with its mark.
    fn composer(&self) -> Option<String> {
        let screen = self.sees();
        let line =
            screen.lines().rev().find_map(|line| line.strip_prefix("❯\u{a0}").or((line == "❯").then_some("")))?;
        Some(if line.starts_with("Try \"") { String::new() } else { line.to_owned() })
    }

    fn not_told(&self) -> String {
        self.daemon.get("/v1/seat").1["not_told"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns how often the line was said to the model, by the last request of the conversation.
    fn told(&self) -> usize {
        self.team.model.asked().iter().map(|one| one.text().matches(LINE).count()).max().unwrap_or(0)
    }

    /// Waits until the line was typed and the turn that follows from it has fetched and acknowledged the reply.
    fn is_told_and_collects(&self) {
        self.shows("● it is collected");
        assert_eq!(self.told(), 1, "{}", self.sees());
        let asked = self.team.model.asked();
        let given = asked.last().expect("it asked").text();
        assert!(given.contains("done by a worker"), "the reply was given to the model: {given}");
        until("the reply is collected", || (state(&self.daemon, "t1") == "collected").then_some(()));
        let (_, seat) = self.daemon.get("/v1/seat");
        assert_eq!((&seat["told"], &seat["not_told"]), (&Value::Null, &Value::Null), "it looked: {seat}");
        assert_eq!(self.composer().as_deref(), Some(""), "nothing is left in its composer");
    }
}

/// Writes a command as a script that gives it its own environment and no other.
fn script_of(command: &Command, path: &Path) -> PathBuf {
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', "'\\''"));
    let mut words = vec!["exec env -i TERM=\"$TERM\"".to_owned()];
    for (name, value) in command.get_envs() {
        words.push(format!("{}={}", name.to_str().unwrap(), quoted(value.expect("it has a value"))));
    }
    words.push(quoted(command.get_program()));
    words.extend(command.get_args().map(quoted));
    std::fs::write(path, words.join(" ") + "\n").unwrap();
    path.to_owned()
}

/// What a person enters so that the scripted model sends this to a worker, and does these steps; told that something
/// waits, it polls and acknowledges the reply, whichever of the next numbers that has.
fn prompt(send: &str, steps: &[&str]) -> String {
    let send = format!("TOOL:mcp__fleet__fleet_send:{}", json!({ "to": "w", "prompt": send }));
    let fetch = [
        "TOOL:mcp__fleet__fleet_poll:{}",
        "TOOL:mcp__fleet__fleet_ack:{\"messages\":[\"m2\",\"m3\",\"m4\"]}",
        "SAY:it is collected",
    ];
    ["delegate", &send].iter().chain(steps).chain(&fetch).copied().collect::<Vec<_>>().join("\n")
}

#[test]
fn an_idle_leader_is_told_in_its_pane_and_its_next_turn_collects_the_reply() {
    let lead = Lead::start("0.8.0");
    lead.enters(&prompt("SAY:done by a worker", &["SAY:it is sent"]));
    lead.shows("● it is sent");
    lead.is_told_and_collects();
}

#[test]
fn a_leader_with_a_draft_or_at_work_is_told_when_it_is_idle_again_and_the_draft_goes_untouched() {
    let lead = Lead::start("0.8.2");
    let steps = ["SLEEP:4 && SAY:it is sent", "SLEEP:20 && SAY:the draft was heard"];
    lead.enters(&prompt("SAY:done by a worker", &steps));
    lead.types("my words");
    lead.shows("● it is sent");
    until("the draft is in the way", || lead.not_told().contains("a draft stands in its composer").then_some(()));
    assert_eq!((lead.composer().as_deref(), lead.told()), (Some("my words"), 0));
    lead.presses("enter");
    until("its work is in the way", || lead.not_told().contains("works").then_some(()));
    let screen = lead.sees();
    assert!(!screen.contains("● the draft was heard") && !screen.contains(LINE), "{screen}");
    lead.is_told_and_collects();
    let asked = lead.team.model.asked();
    let said = asked.last().expect("it asked").text();
    assert!(said.contains("my words") && !said.contains("my words[fleet]"), "the draft was sent as it stood: {said}");
}
