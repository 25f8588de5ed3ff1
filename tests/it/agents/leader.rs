//! The leader's side with the real agent: what `fleetd init` writes is what it reads. Its skills are there, its guide
//! reaches the model, and `/delegate` becomes a message to a worker and brings back the reply.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::command;
use super::team::Team;
use crate::support::{Daemon, until};
use crate::terminal::Terminal;

const TOKEN: &str = "a-token-of-thirty-two-letters-or-more";
const SKILLS: [&str; 3] = ["delegate", "implementer", "reviewer"];

/// Runs `fleetd init` in the project of a team, for the daemon that runs; `more` is in its settings as well.
pub fn init(team: &Team, daemon: &Daemon, more: &str) {
    team.file("fleetd.toml", &format!("listen = \"{}\"\n{more}", daemon.url.trim_start_matches("http://")));
    let said = team.house.fleetd(&["init", "work"]).output().unwrap();
    assert!(said.status.success(), "{said:?}");
}

/// Returns what a user types so that the scripted model sends this to a worker.
fn delegate(prompt: &str) -> String {
    let send = json!({ "to": "w", "prompt": prompt, "wait": "50s" });
    format!(
        "/delegate w \"mend the parser\nTOOL:mcp__fleet__fleet_send:{send}\nSAY:it said {{{{result}}}}\nThat is all.\""
    )
}

/// Returns the real agent as it is started to lead in the project, with what a person has said of it before.
pub fn leader(team: &Team, settings: &Value) -> Command {
    let home = team.house.path().join("leaders-home");
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    std::fs::write(home.join(".claude/settings.json"), settings.to_string()).unwrap();
    let folder = std::fs::canonicalize(team.work()).unwrap().display().to_string();
    let known = json!({ "hasCompletedOnboarding": true, "projects": { folder: { "hasTrustDialogAccepted": true } } });
    std::fs::write(home.join(".claude.json"), known.to_string()).unwrap();
    command(&team.work(), &home, &team.model)
}

/// Has a leading session say something in the project, and returns the lines that it prints.
fn lead(team: &Team, prompt: &str, env: &[(&str, &str)]) -> Vec<Value> {
    // What a person answers when the session asks whether the project's servers may be used.
    let mut agent = leader(team, &json!({ "enabledMcpjsonServers": ["fleet"] }));
    agent.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]).stdin(Stdio::null()).envs(env.to_vec());
    let said = agent.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{out}{err}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn line<'l>(lines: &'l [Value], kind: &str) -> &'l Value {
    lines.iter().find(|line| line["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {lines:#?}"))
}

#[test]
fn delegate_sends_the_task_to_a_worker_and_brings_back_its_reply() {
    let team = Team::headless("");
    let daemon = team.house.start();
    init(&team, &daemon, "");
    let lines = lead(&team, &delegate("SAY:done by a worker"), &[]);

    let skills = line(&lines, "system")["skills"].to_string();
    for skill in SKILLS {
        assert!(skills.contains(&format!("\"{skill}\"")), "{skill}: {skills}");
    }
    let said = line(&lines, "result");
    assert_eq!(said["permission_denials"], json!([]), "/delegate may call what it needs: {said}");
    let text = said["result"].as_str().unwrap();
    assert!(text.contains("\"text\":\"done by a worker\"") && text.contains("\"outcome\":\"replied\""), "{said}");
    let (_, receipt) = daemon.get("/v1/turns/t1");
    assert!(receipt.to_string().contains("\"leader\""), "the leader sent it: {receipt}");

    // What the leader's model was given, and what the worker's.
    let asked = team.model.asked();
    let (worker, leader): (Vec<_>, Vec<_>) =
        asked.iter().partition(|one| one.text().contains("You are w-1, a worker of the role w"));
    let (leader, worker) = (leader.first().expect("the leader asked"), worker.first().expect("the worker asked"));
    let told = leader.text();
    for part in
        ["you lead a team of worker agents", "<delegate>\nw \"mend the parser\n", "The first word is the address"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("fleetd: begin"), "the marks cost nothing");
    let (leaders, workers) = (tools(leader), tools(worker));
    let named = named(&team);
    assert!(named.contains("fleet_send") && named.contains("fleet_ask"), "{named:?}");
    let unknown: Vec<_> = named.iter().filter(|name| !leaders.contains(*name) && !workers.contains(*name)).collect();
    assert!(unknown.is_empty(), "tools that do not exist are written of: {unknown:?}");
    assert!(
        worker.text().contains("- implementer: How a worker") && worker.text().contains("- reviewer: How a worker")
    );
    assert!(!worker.text().contains("- delegate: "), "a worker's model is not offered to delegate");
}

#[test]
fn a_person_at_the_terminal_allows_the_server_once_and_then_delegates() {
    let team = Team::headless("");
    let daemon = team.house.start();
    init(&team, &daemon, "");
    let mut terminal = Terminal::start(&leader(&team, &json!({})));
    terminal.shows("New MCP server found in this project: fleet");
    terminal.types("\r");
    let is_asked = |screen: &str| screen.contains("Enter to confirm") || !screen.contains("❯");
    until("its composer is there", || (!is_asked(&terminal.sees())).then_some(()));
    // It takes prompts before it has the tools.
    let has_tools = || team.model.asked().last().is_some_and(|one| one.tools().contains(&"mcp__fleet__fleet_send"));
    for n in 0.. {
        terminal.enters(&format!("SAY:answer {n}"), &format!("● answer {n}"));
        if has_tools() {
            break;
        }
    }
    terminal.enters(&delegate("SAY:done by a worker"), "● it said");
    let says = |screen: String| screen.replace("\n  ", "").contains("\"text\":\"done by a worker\"");
    until("the worker's reply", || says(terminal.sees()).then_some(()));
}

#[test]
fn a_leader_of_a_daemon_that_wants_a_token_takes_it_from_its_variable() {
    let mut team = Team::headless("");
    let settings = "auth = \"token\"\ntoken_env = \"FLEETD_TOKEN\"\n";
    let file = team.house.path().join("fleetd.toml");
    std::fs::write(&file, format!("{settings}{}", std::fs::read_to_string(&file).unwrap())).unwrap();
    team.house = team.house.env("FLEETD_TOKEN", TOKEN);
    let daemon = team.house.start();
    init(&team, &daemon, settings);
    assert!(!std::fs::read_to_string(team.work().join(".mcp.json")).unwrap().contains(TOKEN), "by its name alone");
    let lines = lead(&team, &delegate("SAY:done with a token"), &[("FLEETD_TOKEN", TOKEN)]);
    let said = line(&lines, "result")["result"].as_str().unwrap();
    assert!(said.contains("\"text\":\"done with a token\""), "{said}");
}

fn tools(asked: &fleetd_model::Recorded) -> BTreeSet<String> {
    asked.tools().iter().filter_map(|name| name.strip_prefix("mcp__fleet__")).map(str::to_owned).collect()
}

/// Returns every tool of ours that is written of in what `init` wrote for agents.
fn named(team: &Team) -> BTreeSet<String> {
    let skills = SKILLS.map(|skill| format!(".claude/skills/{skill}/SKILL.md"));
    let files = skills.iter().map(String::as_str).chain(["CLAUDE.md"]);
    let text: String = files.map(|file| std::fs::read_to_string(team.work().join(file)).unwrap()).collect();
    let words =
        text.split(|c: char| !c.is_ascii_lowercase() && c != '_').map(|word| word.trim_start_matches("mcp__fleet__"));
    words.filter(|word| word.starts_with("fleet_")).map(str::to_owned).collect()
}
