//! The life of the real agent that is called: in a worktree of its own, renewed when it is full, held by a pause.
//! What these come to for any worker is in `sessions` and in the rules.

use serde_json::{Value, json};

use super::super::team::{Team, agent_of, message, spawn};
use crate::support::{Daemon, until};

fn workers(daemon: &Daemon) -> Vec<Value> {
    daemon.get("/v1/list").1["workers"].as_array().cloned().unwrap_or_default()
}

#[test]
fn in_a_worktree_it_works_there_and_the_envelope_says_what_it_did() {
    let team = Team::called("worktree = true");
    team.file("AGENTS.md", "AGENTS-MARK\n");
    team.commit();
    let daemon = team.house.start();
    spawn(&daemon);
    let script = "git -c user.name=w -c user.email=w@example.org commit -q --allow-empty -m done; pwd";
    let said = message(&daemon, &format!("TOOL:bash:{}\nSAY:in {{{{result}}}}", json!({ "command": script })));
    assert!(said["text"].as_str().unwrap().contains("/state/worktrees/w-1-"), "{said}");
    assert_eq!(said["work"]["commits"], 1, "{said}");
    assert!(team.asked()[0].contains("AGENTS-MARK"), "the rules of its tree");
    let (status, _) = daemon.post("/v1/stop", &json!({ "worker": "w-1" }));
    assert_eq!(status, 200);
    until("it is gone", || workers(&daemon).is_empty().then_some(()));
    let (_, trees) = daemon.get("/v1/worktrees");
    assert!(trees.to_string().contains("w-1-"), "its work is found nowhere else: {trees}");
}

#[test]
fn a_full_session_is_renewed_with_its_note_and_a_pause_gives_nothing() {
    let team = Team::called("context_cap = { turns = 2 }");
    let daemon = team.house.start();
    spawn(&daemon);
    let first = agent_of(&daemon, "w-1");
    assert_eq!(message(&daemon, "SAY:one")["text"], "one");
    assert_eq!(message(&daemon, "SAY:two")["text"], "two");
    until("there is a fresh one of that name", || {
        let worker = workers(&daemon).into_iter().find(|worker| worker["name"] == "w-1")?;
        (worker["state"] == "ready" && !first.is_alive()).then_some(())
    });
    // What the scripted model said when it was asked for a note.
    let (_, said) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:three", "wait": "50s" }));
    assert_eq!(said["text"], "three", "{said}");
    let asked = team.asked().pop().unwrap();
    assert!(asked.contains("[fleet note that you wrote yourself") && !asked.contains("SAY:two"), "{asked}");

    daemon.post("/v1/pause", &json!({}));
    let (status, sent) = daemon.post("/v1/send", &json!({ "to": "w-1", "prompt": "SAY:four" }));
    assert_eq!(status, 202, "{sent}");
    let asked = team.asked().len();
    until("it is said to wait", || sent.to_string().contains("pause").then_some(()));
    daemon.post("/v1/resume", &json!({}));
    let turn = [&sent["turn"]["id"], &sent["turn"], &sent["id"]].into_iter().find_map(Value::as_str).unwrap();
    assert_eq!(super::super::team::envelope(&daemon, turn)["text"], "four");
    assert_eq!(team.asked().len(), asked + 1);
}
