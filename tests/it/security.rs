//! `docs/security.md` against the program: its table is the one that `fleetd rules` prints, and each test that it names
//! is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::House;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document() -> String {
    std::fs::read_to_string(root().join("docs/security.md")).unwrap()
}

#[test]
fn the_table_of_the_document_is_the_one_of_the_program() {
    const BEGIN: &str = "<!-- rules -->\n```\n";
    let said = House::new(&[]).fleetd(&["rules"]).output().unwrap();
    let table = String::from_utf8(said.stdout).unwrap();
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let text = document();
    let begin = text.find(BEGIN).unwrap() + BEGIN.len();
    let end = begin + text[begin..].find("```").unwrap();
    if std::env::var_os("FLEETD_BLESS").is_some() {
        std::fs::write(root().join("docs/security.md"), format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
        return;
    }
    assert_eq!(text[begin..end], table, "stale: FLEETD_BLESS=1 cargo nextest run the_table_of_the_document");
}

#[test]
fn every_test_that_the_document_names_is_there() {
    let text = document();
    // A row of the table of promises ends with the names of its tests.
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |"));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once("| "));
    let names: BTreeSet<&str> = cells.flat_map(|(_, tests)| tests.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 20, "{names:?}");
    let mut sources = String::new();
    for folder in ["src", "tests"] {
        read(&root().join(folder), &mut sources);
    }
    let missing: Vec<_> = names.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:?}");
}

fn read(folder: &Path, into: &mut String) {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.collect::<Vec<PathBuf>>() {
        match path.is_dir() {
            true => read(&path, into),
            false if path.extension().is_some_and(|end| end == "rs") => {
                into.push_str(&std::fs::read_to_string(&path).unwrap())
            }
            false => {}
        }
    }
}

#[test]
fn a_command_gets_the_address_and_the_key_of_its_endpoint_by_its_environment_and_names_none_itself() {
    let house = House::new(&[]).env("LLM_KEY", "s3cret");
    let endpoint = "[endpoints.local]\nurl = \"http://127.0.0.1:9/v1\"\nkey_env = \"LLM_KEY\"\n";
    std::fs::write(house.path().join("fleetd.toml"), endpoint).unwrap();
    house.write(
        "team.lua",
        "fleet.profile('p', { launcher = 'exec', command = { 'sh', '-c', 'echo $BASE $KEY' }, endpoint = 'local',\n\
           env = { BASE = '@{fleet.endpoint.url}', KEY = '@{fleet.endpoint.key}' } })\n\
         fleet.profile('q', { launcher = 'exec', command = { 'true' }, env = { BASE = 'http://evil.example' } })\n\
         fleet.role('w', { profiles = { 'p' } })\n\
         fleet.role('x', { profiles = { 'q' } })",
    );
    let daemon = house.start();
    let (_, said) = daemon.post("/message", &json!({ "role": "w", "prompt": "x" }));
    assert_eq!(said["text"], "http://127.0.0.1:9/v1 s3cret\n", "{said}");
    let (_, said) = daemon.post("/message", &json!({ "role": "x", "prompt": "x" }));
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("env.BASE names the host evil.example"), "{said}");
}
