//! `fleetd doctor`: what it finds where, that it tells no value, and that what it warns of is what the real agent does.
//! Nothing listens while it runs, but the scripted model in the last test.

use std::process::Stdio;

use fleetd_model::Model;
use serde_json::{Value, json};

use super::Said;
use crate::agents;
use crate::support::House;

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

#[test]
fn a_clean_house_has_no_finding() {
    let house = House::new(&[]);
    put(&house, "project/.claude/settings.json", r#"{"env": {"EDITOR": "vi"}, "model": "opus"}"#);
    let said = doctor(&house, &["project"], &[("CLAUDE_CODE_USE_BEDROCK", "0")]).ends(0);
    assert!(said.out.starts_with("nothing takes the leader off its subscription"), "{said:?}");
    assert!(said.out.contains("project/.claude/settings.json"), "it says where it has looked: {said:?}");
    let said = doctor(&house, &["project", "--json"], &[]).ends(0).json();
    assert_eq!(said["findings"], json!([]));
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
    let findings = json.json()["findings"].as_array().unwrap().clone();
    assert_eq!(findings.len(), 5, "{findings:?}");
    assert_eq!((&findings[0]["name"], &findings[0]["file"]), (&json!("ANTHROPIC_AUTH_TOKEN"), &Value::Null));
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
