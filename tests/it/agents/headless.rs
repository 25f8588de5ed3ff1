//! The real agent without a screen, over lines of JSON: turns, their ends and figures, and what outlives the daemon.
//! What only a made-up program can do is in `lines`.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::KEY;
use super::team::{Team, agent_of, begin, envelope, message, spawn};
use crate::support::{Daemon, until};

const ENDED: &str = "{\"type\":\"result\"";

/// Returns what the only session of the house has written.
fn output(team: &Team) -> String {
    let sessions = std::fs::read_dir(team.house.state().join("sessions")).unwrap();
    let files: Vec<PathBuf> = sessions.map(|entry| entry.unwrap().path().join("stdout")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::read_to_string(&files[0]).unwrap_or_default()
}

fn worker(daemon: &Daemon) -> Option<Value> {
    daemon.get("/v1/list").1["workers"].as_array()?.first().cloned()
}

#[test]
fn a_turn_with_tools_has_its_figures_once_and_the_worker_knows_who_it_is() {
    let team = Team::headless("");
    team.file("secret.md", "the secret word\n");
    let daemon = team.house.start();
    spawn(&daemon);
    let prompt = "USAGE:in=100,out=10,cache_read=7 && TOOL:mcp__fleet__fleet_whoami:{} && TOOL:Bash:{\"command\":\"echo two\"}\n\
                  USAGE:in=200,out=20,cache_write=3 && THINK:so && SAY:done\\nin two lines";
    let mut said = message(&daemon, prompt);
    assert_eq!((&said["outcome"], &said["proof"]), (&json!("replied"), &json!("result")), "{said}");
    assert_eq!((&said["text"], &said["from"]["model"]), (&json!("done\nin two lines"), &json!("scripted")), "{said}");
    let first = said["usage"].as_object_mut().unwrap().remove("cost").unwrap().as_f64().unwrap();
    let figures = json!({"input": 300, "output": 30, "cache_read": 7, "cache_write": 3, "context": 203});
    assert_eq!(said["usage"], figures, "each message once: {said}");
    let asked = team.asked();
    assert!(asked.iter().any(|one| one.contains("\"name\\\":\\\"w-1") || one.contains("w-1")), "{asked:?}");
    assert!(team.model.asked()[0].body.to_string().contains("You are w-1, a worker of the role w"), "its identity");
    let said = message(&daemon, "USAGE:in=100,out=10 && SAY:cheap\nsee @secret.md and @README");
    assert_eq!(said["text"], "cheap");
    let second = said["usage"]["cost"].as_f64().unwrap();
    assert!(first > 0.0 && second > 0.0 && second < first, "its own cost, and not the session's: {first} {second}");
    let whole = team.model.asked().last().unwrap().body.to_string();
    assert!(!whole.contains("the secret word"), "no file is loaded by a word of the text");
    for one in team.model.requests() {
        assert!(one.method == "HEAD" || one.key() == KEY, "every request came to the endpoint, with its key");
    }
    let reply = message(&daemon, "TOOL:mcp__fleet__fleet_reply:{\"text\":\"by a call\"}\nSAY:last words");
    assert_eq!((&reply["text"], &reply["outcome"]), (&json!("by a call"), &json!("replied")), "{reply}");
    let (status, _) = daemon.post("/v1/stop", &json!({ "worker": "w-1" }));
    assert_eq!(status, 200);
    until("it is gone", || worker(&daemon).is_none().then_some(()));
    assert_eq!(std::fs::read_dir(team.house.state().join("sessions")).unwrap().count(), 0, "its files are gone");
}

#[test]
fn turns_wait_in_line_and_a_text_of_200_kb_is_one_line() {
    let team = Team::headless("");
    let daemon = team.house.start();
    spawn(&daemon);
    let long =
        format!("SAY:long\n{}\nthe very end", "a line of a long text, \"quoted\" \\ and \u{1b}[31m\n".repeat(5_000));
    assert!(long.len() > 200_000);
    let turns: Vec<String> = ["SLEEP:0.3 && SAY:one", "SAY:two", long.as_str()]
        .iter()
        .map(|prompt| {
            let (status, sent) = daemon.post("/v1/send", &json!({ "to": "w-1", "prompt": prompt }));
            assert_eq!(status, 202, "{sent}");
            sent["turn"].as_str().or(sent["turn"]["id"].as_str()).or(sent["id"].as_str()).unwrap().to_owned()
        })
        .collect();
    let texts: Vec<Value> = turns.iter().map(|turn| envelope(&daemon, turn)["text"].clone()).collect();
    assert_eq!(texts, ["one", "two", "long"]);
    assert_eq!(output(&team).matches(ENDED).count(), 3, "one end for each");
    let asked = team.model.asked().last().unwrap().body.to_string();
    let end = serde_json::to_string(&long).unwrap();
    assert!(asked.contains(end.trim_matches('"')), "it arrived as it was");
}

#[test]
fn a_cancelled_turn_is_interrupted_and_the_same_agent_takes_the_next() {
    let team = Team::headless("");
    let daemon = team.house.start();
    spawn(&daemon);
    let agent = agent_of(&daemon, "w-1");
    for script in ["HANG", "SAY:some && STALL"] {
        let turn = begin(&daemon, script);
        let (status, cancelled) = daemon.post("/v1/cancel", &json!({ "turn": turn }));
        assert_eq!(status, 200, "{cancelled}");
        assert_eq!(envelope(&daemon, &turn)["outcome"], "cancelled");
        // To this very one: while it comes to its end, its role may have another.
        let request = json!({ "to": "w-1", "prompt": "SAY:next", "wait": "50s" });
        let (_, said) = daemon.post("/message", &request);
        assert_eq!(said["text"], "next", "{script}: {said}");
    }
    assert_eq!(agent_of(&daemon, "w-1"), agent, "it was not started anew");
}

#[test]
fn failures_are_told_by_class_and_tries_are_seen_while_they_last() {
    let team = Team::headless("env = { CLAUDE_CODE_MAX_RETRIES = '2' }");
    let daemon = team.house.start();
    spawn(&daemon);
    for (script, class) in [("ERR:400:a bad request", "400: API Error: 400"), ("TIMES:9 && ERR:500:broken", "500: API")]
    {
        let turn = begin(&daemon, script);
        if script.contains("500") {
            let why = until("it is seen to try again", || {
                worker(&daemon).map(|one| one.to_string()).filter(|one| one.contains("tries again to reach its model"))
            });
            assert!(why.contains("server_error"), "{why}");
        }
        let said = envelope(&daemon, &turn);
        assert_eq!((&said["outcome"], &said["text"]), (&json!("failed"), &json!("")), "{said}");
        assert!(said["why"].as_str().unwrap().starts_with(class), "{said}");
    }
    let said = message(&daemon, "ERR:500:broken\nSAY:in the end");
    assert_eq!((&said["text"], &said["outcome"]), (&json!("in the end"), &json!("replied")), "{said}");
    assert_eq!(worker(&daemon).unwrap()["state"], "ready");
    let turn = begin(&daemon, "HANG");
    agent_of(&daemon, "w-1").signal(Signal::KILL).unwrap();
    let said = envelope(&daemon, &turn);
    assert_eq!(said["outcome"], "lost", "{said}");
    assert!(said["why"].as_str().unwrap().contains("signal 9"), "{said}");
}

#[test]
fn a_daemon_that_comes_back_finds_turns_under_way_and_turns_that_ended_without_it() {
    let team = Team::headless("");
    let mut daemon = team.house.start();
    spawn(&daemon);
    let agent = agent_of(&daemon, "w-1");
    let turn = begin(&daemon, "SLEEP:3 && SAY:after a restart");
    daemon.kill();
    daemon = team.house.start();
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], &said["proof"]), (&json!("after a restart"), &json!("result")), "{said}");

    let turn = begin(&daemon, "USAGE:in=5,out=6 && SLEEP:1 && SAY:nobody was there");
    daemon.kill();
    until("it has ended", || (output(&team).matches(ENDED).count() == 2).then_some(()));
    daemon = team.house.start();
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], &said["usage"]["input"]), (&json!("nobody was there"), &json!(5)), "{said}");
    assert_eq!(message(&daemon, "SAY:next")["text"], "next");
    assert_eq!(agent_of(&daemon, "w-1"), agent, "it is the same session");

    let turn = begin(&daemon, "SLEEP:1 && SAY:then it died");
    daemon.kill();
    until("it has ended", || (output(&team).matches(ENDED).count() == 4).then_some(()));
    agent.signal(Signal::KILL).unwrap();
    until("it is gone", || (!agent.is_alive()).then_some(()));
    daemon = team.house.start();
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], &said["outcome"]), (&json!("then it died"), &json!("replied")), "{said}");
    let given = |asked: &&String| asked.contains("SAY:after a restart") && !asked.contains("nobody was there");
    assert_eq!(team.asked().iter().filter(given).count(), 1, "it was given once");
}

#[test]
fn settings_that_are_written_in_mid_session_end_it() {
    let team = Team::headless("");
    let daemon = team.house.start();
    spawn(&daemon);
    let settings = json!({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}});
    team.file("build.sh", &format!("mkdir -p .claude && echo '{settings}' > .claude/settings.json\n"));
    let turn = begin(&daemon, "TOOL:Bash:{\"command\":\"sh build.sh\"}\nSLEEP:20 && SAY:too late");
    let said = envelope(&daemon, &turn);
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("env.ANTHROPIC_BASE_URL in .claude/settings.json"), "{said}");
    until("it is stopped", || worker(&daemon).is_none().then_some(()));
}

#[test]
fn a_screen_that_it_has_not_is_said_to_be_none() {
    let team = Team::headless("");
    let daemon = team.house.start();
    spawn(&daemon);
    let said = team.house.fleetd(&["screen", "w-1", "--state"]).arg(team.house.state()).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("w-1 has no screen") && said.contains("fleetd trace"), "{said}");
}

#[test]
fn in_a_worktree_it_works_there_and_the_envelope_says_what_it_did() {
    let team = Team::headless("worktree = true");
    let daemon = team.house.start();
    spawn(&daemon);
    let script = "git -c user.name=w -c user.email=w@example.org commit -q --allow-empty -m done && pwd";
    let said = message(&daemon, &format!("TOOL:Bash:{}\nSAY:in {{{{result}}}}", json!({ "command": script })));
    assert!(said["text"].as_str().unwrap().contains("/state/worktrees/w-1-"), "{said}");
    assert_eq!(said["work"]["commits"], 1, "{said}");
    let (_, trees) = daemon.get("/v1/worktrees");
    assert!(trees.to_string().contains("w-1"), "{trees}");
    let (status, _) = daemon.post("/v1/stop", &json!({ "worker": "w-1" }));
    assert_eq!(status, 200);
    until("it is gone", || worker(&daemon).is_none().then_some(()));
    assert!(daemon.get("/v1/worktrees").1.to_string().contains("w-1"), "its commit is nowhere else: it is kept");
}
