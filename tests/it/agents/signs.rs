//! What the launcher's signs make of every report that was recorded of the real agent.
//! The plan is that of the shipped launcher; the recordings are in `tests/data/hooks`.

use std::path::{Path, PathBuf};

use fleetd::charter::{Sources, plan_of};
use fleetd::fleet::plan::Plan;
use fleetd::fleet::signs::{self, Meaning};
use serde_json::Value;

fn plan() -> Plan {
    let text = "fleet.profile('p', { launcher = 'claude', endpoint = 'e' }) fleet.role('w', { profiles = { 'p' } })";
    plan_of(Sources::from_files([("a.lua", text)]), "p").expect("it is a plan")
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hooks").join(name)
}

#[test]
fn every_recorded_report_means_what_it_should() {
    let plan = plan();
    let mut told = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(recorded("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if let Some(read) = signs::read(&plan.signs, &report) {
            let words = read.why.as_deref().or(read.text.as_deref()).unwrap_or_default();
            let words: String = words.chars().take(40).collect();
            let name = file.file_stem().unwrap().to_string_lossy();
            told.push(format!("{name}: {} {words}", read.sign.is.word()).trim_end().to_owned());
        }
        let path = plan.transcript.as_ref().map(|one| signs::at(&report, &one.path).is_some());
        assert_eq!(path, Some(true), "{} says where the transcript is", file.display());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    ConfigChange: settings user_settings
    Notification.permission_prompt: blocked Claude needs your permission
    PermissionRequest: blocked mcp__fleet__echo
    SessionStart.clear: context
    SessionStart.compact: context
    SessionStart.resume: context
    SessionStart.startup: context
    Stop.after-block: replied continue please
    Stop.background-task-running: goes_on
    Stop: replied Hello, the answer is 4.
    StopFailure.authentication_failed: failed authentication_failed
    StopFailure.invalid_request: failed invalid_request
    StopFailure.model_not_found: failed model_not_found
    StopFailure.prompt-too-long: failed invalid_request
    StopFailure.rate_limit: failed rate_limit
    StopFailure.server_error: failed server_error
    StopFailure.unknown: failed unknown
    UserPromptSubmit: taken SAY:Hello, the answer is 4.
    UserPromptSubmit.task-notification: nothing
    "#);
}

#[test]
fn the_recorded_transcript_is_read() {
    let plan = plan();
    let transcript = plan.transcript.expect("it writes one");
    let text = std::fs::read_to_string(recorded("transcript.jsonl")).unwrap();
    let mut count = std::collections::BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let meaning = signs::read(&transcript.signs, &line).map_or(Meaning::Nothing, |read| read.sign.is);
        *count.entry(meaning.word()).or_insert(0) += 1;
    }
    insta::assert_debug_snapshot!(count, @r#"
    {
        "complete": 7,
        "failed": 1,
        "interrupted": 1,
        "nothing": 24,
        "said": 12,
        "taken": 11,
    }
    "#);
}
