//! `fleetd doctor`: what it finds where, that it tells no value and changes nothing, that it ends whatever hangs, and that
//! what it warns of is what the real agent does. What it makes of facts is tested beside the code.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use fleetd_model::Model;
use serde_json::{Value, json};

use super::Said;
use crate::agents;
use crate::support::{House, until};

const SECRET: &str = "http://127.0.0.1:9/a-secret";

/// Writes a file of the house, with its folders.
fn put(house: &House, path: &str, text: &str) {
    let path = house.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn doctor(house: &House, args: &[&str], environment: &[(&str, &str)]) -> Said {
    let mut command = house.fleetd(&["doctor"]);
    Said::of(command.args(args).envs(environment.iter().copied()).output().unwrap())
}

/// Writes a program into a directory of the house that is on its PATH.
fn program(house: &House, name: &str, script: &str) {
    put(house, &format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    let file = house.path().join("bin").join(name);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a house whose programs come before those of the machine.
fn house_with_programs() -> House {
    let house = House::new(&[]);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", house.path().join("bin").display());
    house.env("PATH", path)
}

/// Returns the findings of one kind, as level and text.
fn of(report: &Value, check: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    findings.map(|finding| (text(&finding["level"]), text(&finding["what"]))).collect()
}

/// A herdr that says once which one it is.
fn herdr(house: &House, version: &str, protocol: u64) {
    let socket = house.path().join(".config/herdr/herdr.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    let answer = json!({ "id": "fleetd", "result": { "type": "pong", "version": version, "protocol": protocol } });
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
        writeln!(stream, "{answer}").unwrap();
    });
}

/// Returns everything below a directory, with its size and when it was changed.
fn tree(dir: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            found.extend(tree(&entry.path()));
        }
        found.insert(entry.path().display().to_string(), (about.len(), about.modified().unwrap()));
    }
    found
}

#[test]
fn a_clean_house_has_no_problem() {
    let house = House::new(&[]);
    put(&house, "project/.claude/settings.json", r#"{"env": {"EDITOR": "vi"}, "model": "opus"}"#);
    // Whoever else is on this machine may listen at the usual port.
    put(&house, "project/fleetd.toml", "listen = \"127.0.0.1:0\"\n");
    let before = tree(house.path());
    let said = doctor(&house, &["project"], &[("CLAUDE_CODE_USE_BEDROCK", "0")]).ends(0);
    assert!(said.out.contains("nothing takes it off its subscription"), "{said:?}");
    assert!(said.out.contains("project/.claude/settings.json"), "it says where it has looked: {said:?}");
    assert!(said.out.contains("\nno problem, "), "{said:?}");
    let report = doctor(&house, &["project", "--json"], &[]).ends(0).json();
    assert_eq!(report["ok"], true);
    let mut checks: Vec<_> = report["findings"].as_array().unwrap().iter().map(|one| one["check"].clone()).collect();
    checks.dedup();
    let order = ["config", "state", "store", "disk", "daemon", "seat", "charter", "agent", "git", "herdr", "leader"];
    assert_eq!(checks, order, "scripts find the same things at the same places");
    assert_eq!((&*of(&report, "daemon")[0].0, &*of(&report, "config")[0].0), ("note", "ok"), "{report}");
    assert_eq!(tree(house.path()), before, "it changes nothing");
}

#[test]
fn a_fleet_that_runs_is_told_with_its_seat_and_its_store() {
    let house = House::new(&[("team.lua", super::TEAM)]);
    let daemon = house.start();
    let args = ["--json", "--state", "state", "--charter", "charter"];
    let report = doctor(&house, &args, &[]).ends(0).json();
    let (daemon_found, seat) = (of(&report, "daemon"), of(&report, "seat"));
    assert_eq!(daemon_found, [("ok".into(), format!("fleetd is ready at {} (charter generation 1)", daemon.url))]);
    assert_eq!(seat[0].0, "note", "{seat:?}");
    assert!(of(&report, "store")[0].1.starts_with("its schema is version "), "{report}");
    assert!(of(&report, "charter")[0].1.contains("passes its check and 0 tests: 3 profiles, 3 roles"), "{report}");

    house.write("team.lua", "fleet.profil('x', {})");
    let said = doctor(&house, &args, &[]).ends(1);
    let (report, mistake) = (said.json(), "team.lua:1: ");
    assert!(of(&report, "charter")[0].1.contains(mistake), "{report}");
}

#[test]
fn endpoints_are_reached_and_keys_are_never_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap();
    // Taken, so that nobody else listens there, and without a listener.
    let mute = tokio::net::TcpSocket::new_v4().unwrap();
    mute.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let away = mute.local_addr().unwrap();
    let house = House::new(&[]);
    put(
        &house,
        "fleetd.toml",
        &format!(
            "[endpoints.good]\nurl = \"http://{there}\"\nkey_env = \"GOOD_KEY\"\n\
             [endpoints.lost]\nurl = \"http://{away}\"\nkey_env = \"LOST_KEY\"\n"
        ),
    );
    let said = doctor(&house, &["--json"], &[("GOOD_KEY", SECRET)]).ends(1);
    let report = said.json();
    let found = of(&report, "endpoint");
    let levels: Vec<_> = found.iter().map(|(level, _)| level.as_str()).collect();
    assert_eq!(levels, ["ok", "ok", "problem", "problem"], "{found:?}");
    assert!(found[2].1.starts_with(&format!("lost: {away} cannot be reached")), "{found:?}");
    assert!(found[3].1.contains("LOST_KEY") && !said.out.contains("secret"), "{said:?}");
    listener.set_nonblocking(true).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let sent = std::io::read_to_string(&mut stream).unwrap();
    assert_eq!(sent, "", "the connection is opened, and nothing is sent");
}

#[test]
fn a_wrong_setting_is_told_with_its_line_and_the_rest_is_looked_at() {
    let house = House::new(&[]);
    put(&house, "fleetd.toml", "pane_host = \"auto\"\npane_hots = \"herdr\"\n");
    let report = doctor(&house, &["--json"], &[]).ends(1).json();
    assert_eq!((&report["findings"][0]["level"], &report["findings"][0]["line"]), (&json!("problem"), &json!(2)));
    assert_eq!(report["findings"][0]["fix"], "did you mean 'pane_host'?");
    assert!(!of(&report, "git").is_empty() && of(&report, "charter").is_empty(), "{report}");
}

#[test]
fn programs_and_herdr_are_told_with_their_versions() {
    let house = house_with_programs();
    program(&house, "claude", "echo '2.1.197 (Claude Code)'");
    program(&house, "git", "case \"$*\" in --version) echo git version 2.30.1;; *) echo /top;; esac");
    herdr(&house, "0.9.0", 21);
    let report = doctor(&house, &["--json"], &[]).ends(0).json();
    let at = house.path().join("bin/claude");
    assert_eq!(
        of(&report, "agent"),
        [("ok".into(), format!("claude at {} is 2.1.197 (tested: 2.1.197)", at.display()))]
    );
    assert_eq!(of(&report, "git")[0].0, "warning", "{report}");
    assert!(of(&report, "herdr")[0].1.starts_with("herdr 0.9.0 answers at "), "{report}");

    let house = House::new(&[]);
    put(&house, "fleetd.toml", "pane_host = \"herdr\"\n");
    herdr(&house, "0.7.2", 17);
    let report = doctor(&house, &["--json"], &[]).ends(1).json();
    let (level, what) = &of(&report, "herdr")[0];
    assert!(level == "problem" && what.contains("speaks protocol 17; needed is 19"), "{report}");
}

#[test]
fn whoever_hangs_is_left_and_told() {
    let house = house_with_programs();
    for name in ["claude", "git"] {
        program(&house, name, "echo $$ >> \"$HOME/pids\"; sleep 600 & wait");
    }
    let socket = house.path().join(".config/herdr/herdr.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _mute = UnixListener::bind(socket).unwrap();
    let began = Instant::now();
    let report = doctor(&house, &["--json"], &[]).ends(1).json();
    assert!(began.elapsed() < Duration::from_secs(60), "all limits together are some seconds");
    assert!(of(&report, "agent")[0].1.ends_with("did not answer within 5 s"), "{report}");
    assert_eq!(of(&report, "git")[0].1, "git was asked for its version: it did not answer within 5 s");
    assert!(of(&report, "herdr")[0].1.contains("does not answer within 1s"), "{report}");
    let pids = std::fs::read_to_string(house.path().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 4, "each question was asked once: {pids}");
    for pid in pids.lines() {
        let gone = || (!Path::new(&format!("/proc/{pid}")).exists()).then_some(());
        until("what it asked is ended", gone);
    }
}

#[test]
fn every_place_is_told_with_its_line_and_no_value_is() {
    let house = House::new(&[]);
    put(
        &house,
        "project/.claude/settings.json",
        &format!("{{\n \"env\": {{\n  \"ANTHROPIC_BASE_URL\": \"{SECRET}\"\n }}\n}}"),
    );
    put(&house, "project/.claude/settings.local.json", &format!("{{\n \"apiKeyHelper\": \"{SECRET}\"\n}}"));
    put(&house, ".claude/settings.json", &format!("{{\"env\": {{\"ANTHROPIC_API_KEY\": \"{SECRET}\"}}}}"));
    let environment = [("ANTHROPIC_AUTH_TOKEN", SECRET), ("CLAUDE_CODE_USE_VERTEX", "1")];

    let said = doctor(&house, &["project"], &environment).ends(1);
    for place in [
        "ANTHROPIC_AUTH_TOKEN in this environment",
        "CLAUDE_CODE_USE_VERTEX in this environment",
        "project/.claude/settings.json:3: env.ANTHROPIC_BASE_URL",
        "project/.claude/settings.local.json:2: apiKeyHelper",
        "/.claude/settings.json:1: env.ANTHROPIC_API_KEY",
        "unset ANTHROPIC_AUTH_TOKEN",
        "take apiKeyHelper out of project/.claude/settings.local.json",
    ] {
        assert!(said.out.contains(place), "{place}: {said:?}");
    }
    let json = doctor(&house, &["project", "--json"], &environment).ends(1);
    let mut findings = json.json()["findings"].as_array().unwrap().clone();
    findings.retain(|finding| finding["check"] == "leader");
    assert_eq!(findings.len(), 5, "{findings:?}");
    assert_eq!((&findings[0]["subject"], &findings[0]["file"]), (&json!("ANTHROPIC_AUTH_TOKEN"), &Value::Null));
    for text in [&said.out, &said.err, &json.out, &json.err] {
        assert!(!text.contains("secret"), "a value is told: {text}");
    }
}

#[test]
fn the_users_settings_are_where_the_environment_says() {
    let house = House::new(&[]);
    put(&house, ".claude/settings.json", "{\"apiKeyHelper\": \"x\"}");
    put(&house, "config/settings.json", "{}");
    let config = house.path().join("config");
    doctor(&house, &[], &[("CLAUDE_CONFIG_DIR", config.to_str().unwrap())]).ends(1);
    let elsewhere = house.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let environment = [("CLAUDE_CONFIG_DIR", config.to_str().unwrap())];
    let said = doctor(&house, &["elsewhere"], &environment).ends(0);
    assert!(said.out.contains("config/settings.json"), "{said:?}");
    doctor(&house, &["elsewhere"], &[]).ends(1);
}

#[test]
fn what_cannot_be_read_is_a_finding_and_a_wrong_folder_a_mistake() {
    let house = House::new(&[]);
    put(&house, ".claude/settings.json", "{\n \"env\": }");
    let said = doctor(&house, &[], &[]).ends(1);
    assert!(said.out.contains(".claude/settings.json:2: cannot be read"), "{said:?}");
    let said = doctor(&house, &["nowhere"], &[]).ends(2);
    assert!(said.err.contains("there is no directory nowhere"), "{said:?}");
}

#[test]
fn what_it_warns_of_is_what_the_agent_does() {
    let (house, ours, other) = (House::new(&[]), Model::start().unwrap(), Model::start().unwrap());
    put(&house, "project/.claude/settings.json", &json!({"env": {"ANTHROPIC_BASE_URL": other.url()}}).to_string());
    doctor(&house, &["project"], &[]).ends(1);
    let mut agent = agents::command(&house.path().join("project"), house.path(), &ours);
    let said = agent.args(["-p", "SAY:who answers?"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "who answers?");
    assert_eq!((ours.asked().len(), other.asked().is_empty()), (0, false), "the project's settings win");
    assert!(other.asked().iter().all(|asked| asked.key() == agents::KEY), "and take the key along");
}
