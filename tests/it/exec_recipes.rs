//! `charters/exec`: that the message arrives at each program whole, by the way that its command line means, and what an
//! exit code comes to. The programs are stubs that write down what they were given; the real ones are not run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{Daemon, House};

/// A message that a shell, an option parser and a chat would each misread.
const NASTY: &str = "--yes '$(touch stolen)' \"`id`\" $HOME \\\\ !ls\n/run ls\n\tünï %s";

/// Writes its arguments, each ended by a zero byte, and its stdin; then it answers, or fails as it is told.
const STUB: &str = r#"#!/bin/sh
name=$(basename "$0")
for word in "$@"; do printf '%s\0' "$word"; done > "$HOME/$name.args"
cat > "$HOME/$name.stdin"
test -e "$HOME/$name.fails" && { echo "no quota" >&2; exit 42; }
echo "$name heard"
"#;

/// Makes a house with the shipped charter, in which the programs are stubs.
fn house() -> House {
    let charter = Path::new(env!("CARGO_MANIFEST_DIR")).join("charters/exec");
    let house = House::new(&[]);
    for file in ["team.lua", "recipes/opinions.lua"] {
        house.write(file, &std::fs::read_to_string(charter.join(file)).unwrap());
    }
    let bin = house.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["codex", "gemini", "ollama", "aider"] {
        std::fs::write(bin.join(name), STUB).unwrap();
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    house.env("PATH", path)
}

fn send(daemon: &Daemon, role: &str, prompt: &str) -> serde_json::Value {
    daemon.post("/message", &json!({ "role": role, "prompt": prompt, "wait": "50s" })).1
}

fn given(house: &House, name: &str) -> (Vec<String>, String) {
    let read = |end: &str| std::fs::read_to_string(house.path().join(format!("{name}.{end}"))).unwrap();
    (read("args").split_terminator('\0').map(str::to_owned).collect(), read("stdin"))
}

#[test]
fn the_message_arrives_whole_at_each_program() {
    let house = house();
    let daemon = house.start();
    for (role, name) in [("w-codex", "codex"), ("w-gemini", "gemini"), ("w-ollama", "ollama")] {
        let envelope = send(&daemon, role, NASTY);
        assert_eq!(envelope["text"].as_str().map(str::trim), Some(&*format!("{name} heard")), "{envelope}");
        let (args, stdin) = given(&house, name);
        assert_eq!(stdin, NASTY, "{name}");
        assert!(args.iter().all(|word| !word.contains("$(touch")), "{args:?}");
    }
    let (codex, gemini, ollama) = (given(&house, "codex").0, given(&house, "gemini").0, given(&house, "ollama").0);
    assert_eq!((codex.first().map(String::as_str), codex.last().map(String::as_str)), (Some("exec"), Some("-")));
    assert_eq!(gemini[gemini.len() - 2], "-p");
    assert_eq!(ollama.first().map(String::as_str), Some("run"));

    let envelope = send(&daemon, "w-aider", NASTY);
    assert_eq!(envelope["ok"], true, "{envelope}");
    let (args, stdin) = given(&house, "aider");
    assert_eq!(args.last().unwrap(), &format!("--message=Task: {NASTY}"), "one argument, and nothing of it is run");
    assert_eq!(stdin, "");
    assert!(!house.path().join("stolen").exists());
}

#[test]
fn an_exit_code_is_a_failed_turn_and_a_text_that_is_too_long_is_not_cut() {
    let house = house();
    std::fs::write(house.path().join("gemini.fails"), "").unwrap();
    let daemon = house.start();
    let envelope = send(&daemon, "w-gemini", "hello");
    assert_eq!((&envelope["ok"], &envelope["exit"]["code"]), (&json!(false), &json!(42)), "{envelope}");
    assert!(envelope.to_string().contains("no quota"), "{envelope}");
    let long = "x".repeat(200_000);
    let envelope = send(&daemon, "w-aider", &long);
    assert_eq!(envelope["ok"], false, "no argument is that long: {envelope}");
    assert!(!house.path().join("aider.args").exists(), "it was not started");
    assert_eq!(send(&daemon, "w-codex", &long)["ok"], true);
    assert_eq!(given(&house, "codex").1, long);
}

#[test]
fn the_charter_is_good_without_any_of_the_programs() {
    let charter = concat!(env!("CARGO_MANIFEST_DIR"), "/charters/exec");
    for what in ["check", "test"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        let ran = command.args(["charter", what, charter]).env_clear().env("PATH", "/nowhere").output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
}
