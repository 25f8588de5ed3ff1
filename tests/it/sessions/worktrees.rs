//! Worktrees through the doors of a real daemon: made by a spawn, told in an envelope, listed, kept and removed.
//! What keeps one is tested with the worktrees themselves.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Daemon, House, until};
use crate::worktrees::rig::{commit, git, write};

fn house() -> House {
    let house = House::new(&[]);
    let repo = house.path().join("repo");
    std::fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q", "-b", "main"]);
    commit(&repo, "a.txt", "a\n");
    write(&repo.join("mine.txt"), "the leader's, not committed");
    std::fs::write(house.path().join("fleetd.toml"), "pane_host = \"embedded\"\n[launch]\ntrash_ttl = \"2h\"\n")
        .unwrap();
    let agent = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("test-agent");
    let team = format!(
        r#"
fleet.profile("agent", {{
  launcher = "typed",
  command = {{ "{}" }},
  cwd = "{}",
  typing = {{ quiet = "200ms", ready_timeout = "30s" }},
  worktree = {{ base = "main", setup = {{ "git", "config", "--get", "core.bare" }} }},
}})
fleet.role("s", {{ profiles = {{ "agent" }}, max_busy = 4 }})
"#,
        agent.display(),
        repo.display()
    );
    house.write("team.lua", &team);
    house
}

fn trees(daemon: &Daemon) -> Value {
    let (status, all) = daemon.get("/v1/worktrees");
    assert_eq!(status, 200, "{all}");
    all
}

/// Runs a command against the house's daemon; returns its exit code, its output and its words.
fn fleetd(house: &House, args: &[&str]) -> (Option<i32>, String, String) {
    let state = house.state().display().to_string();
    let ran = house.fleetd(&[args, &["--state", &state]].concat()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

#[test]
fn a_worktree_is_seen_through_every_door_from_its_making_to_the_trash() {
    let house = house();
    let daemon = house.start();
    assert_eq!(trees(&daemon), json!({ "worktrees": [], "trash": [] }));
    let (status, worker) = daemon.post("/v1/spawn", &json!({ "role": "s" }));
    assert_eq!(status, 200, "{worker}");
    let tree = trees(&daemon)["worktrees"][0].clone();
    let name = tree["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("s-1-"), "{tree}");
    assert_eq!((&tree["state"], &tree["branch"]), (&json!("in_use"), &json!(format!("fleet/{name}"))), "{tree}");
    assert_eq!(tree["missing"], "not tracked: mine.txt");
    let path = PathBuf::from(tree["path"].as_str().unwrap());

    commit(&path, "b.txt", "b\n");
    let (status, envelope) = daemon.post("/message", &json!({ "role": "s", "prompt": "work", "wait": "50s" }));
    assert_eq!(status, 200, "{envelope}");
    assert_eq!((&envelope["work"]["commits"], &envelope["work"]["dirty"]), (&json!(1), &json!(false)), "{envelope}");
    assert_eq!(envelope["work"]["branch"], tree["branch"]);

    let (status, refused) = daemon.post("/v1/worktrees/remove", &json!({ "name": name }));
    assert_eq!((status, &refused["kind"]), (409, &json!("conflict")), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("belongs to worker 's-1', which lives"), "{refused}");
    let (status, refused) = daemon.post("/v1/worktrees/remove", &json!({ "name": "s-1" }));
    assert_eq!(status, 404, "{refused}");
    assert!(refused["hints"].to_string().contains(&name), "{refused}");

    let (status, stopped) = daemon.post("/v1/stop", &json!({ "worker": "s-1", "kill": true }));
    assert_eq!(status, 200, "{stopped}");
    until("it is kept", || (trees(&daemon)["worktrees"][0]["state"] == "kept").then_some(()));
    let (code, shown, said) = fleetd(&house, &["worktrees"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(shown.contains(&format!("{name}: 1 commit is in no other branch and not pushed (")), "{shown}");
    assert!(shown.contains(&format!("{name}: its base lacks: not tracked: mine.txt")), "{shown}");
    let (code, _, said) = fleetd(&house, &["worktrees", "remove", &name]);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("is kept: work could be lost") && said.contains("hint: 1 commit is in no other branch"),
        "{said}"
    );

    git(&house.path().join("repo"), &["merge", "-q", &format!("fleet/{name}")]);
    let (code, shown, said) = fleetd(&house, &["worktrees", "remove", &name]);
    assert_eq!(code, Some(0), "{said}");
    assert!(shown.starts_with(&format!("{name} is in the trash for ")), "{shown}");
    let all = trees(&daemon);
    assert_eq!((&all["worktrees"], &all["trash"][0]["name"]), (&json!([]), &json!(name)), "{all}");
    let lies = all["trash"][0]["until"].as_u64().unwrap() - all["trash"][0]["removed"].as_u64().unwrap();
    assert_eq!(lies, 2 * 3_600_000, "as the settings say");
    let (_, shown, _) = fleetd(&house, &["worktrees", "list", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), all);
    assert!(!path.exists());
}

#[test]
fn a_kept_worktree_goes_by_itself_once_nothing_can_be_lost() {
    let house = house();
    let daemon = house.start();
    daemon.post("/v1/spawn", &json!({ "role": "s" }));
    let path = PathBuf::from(trees(&daemon)["worktrees"][0]["path"].as_str().unwrap());
    write(&path.join("new.txt"), "x");
    daemon.post("/v1/stop", &json!({ "worker": "s-1", "kill": true }));
    until("it is kept", || (trees(&daemon)["worktrees"][0]["state"] == "kept").then_some(()));
    drop(daemon);
    std::fs::remove_file(path.join("new.txt")).unwrap();
    // The round is made at the start, and every hour.
    let daemon = house.start();
    until("it is in the trash", || (trees(&daemon)["trash"][0]["branch"].is_string()).then_some(()));
    assert!(!path.exists());
}
