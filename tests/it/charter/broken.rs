//! A corpus of broken charters (`tests/data/broken/`), each with the exact text that its author is shown: by
//! `fleetd charter check`, and where that passes, by `fleetd charter test`. FLEETD_BLESS=1 writes the texts anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn corpus() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/broken");
    let mut charters: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    charters.sort();
    charters
}

/// Returns what a command on a charter prints; it must fail, or be without a finding.
fn said(verb: &str, charter: &Path) -> Option<String> {
    let mut fleetd = Command::new(env!("CARGO_BIN_EXE_fleetd"));
    fleetd.args(["charter", verb]).arg(charter.file_name().unwrap()).current_dir(charter.parent().unwrap());
    let done = fleetd.env_clear().env("LANG", "C.UTF-8").output().unwrap();
    let out = String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap();
    match done.status.code() {
        Some(0) => None,
        Some(1) => Some(out),
        other => panic!("{}: {verb} ended with {other:?}: {out}", charter.display()),
    }
}

#[test]
fn golden_texts_tell_every_broken_charter_exactly_what_is_wrong() {
    let charters = corpus();
    assert!(charters.len() >= 60, "only {}", charters.len());
    let mut wrong = Vec::new();
    for charter in &charters {
        let found =
            said("check", charter).or_else(|| said("test", charter)).expect("a broken charter is not found to be");
        let golden = charter.join("expected.txt");
        if std::env::var_os("FLEETD_BLESS").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            wrong.push(format!("=== {}\nexpected:\n{expected}\nfound:\n{found}", charter.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The words that a misspelling can be about; each must be suggested somewhere in the corpus, with file, line and text.
#[test]
fn misspelt_verbs_fields_roles_and_profiles_get_a_suggestion_at_their_line() {
    for (charter, line, hint) in [
        ("verb", "a.lua:1: ", "did you mean `recipe`?"),
        ("profile_field", "team.lua:4: ", "did you mean 'command'?"),
        ("role_field", "team.lua:4: ", "did you mean 'max_busy'?"),
        ("recipe_field", "a.lua:2: ", "did you mean 'input'?"),
        ("send_field", "a.lua:2: ", "did you mean 'prompt'?"),
        ("role_profile", "team.lua:5: ", "did you mean 'cat'?"),
        ("rubric_role", "a.lua:2: ", "did you mean 'w-local'?"),
        ("rubric_in_a_run", "a.lua:2: ", "did you mean `w-claude`?"),
        ("send_role", "a.lua:2: ", "did you mean 'w-local'?"),
        ("rubric_task", "a.lua:2: ", "did you mean `kind`?"),
        ("rubric_load", "a.lua:2: ", "did you mean `free`?"),
        ("step", "a.lua:2: ", "did you mean `send`?"),
        ("event", "a.lua:1: ", "did you mean 'turn_settled'?"),
        ("handler_action", "a.lua:3: ", "did you mean 'stop_worker'?"),
        ("handler_event_field", "a.lua:2: ", "did you mean `worker`?"),
        ("handler_field", "a.lua:4: ", "did you mean 'turn'?"),
        ("handler_role", "a.lua:2: ", "did you mean 'w-local'?"),
        ("profile_launcher", "team.lua:2: ", "did you mean 'exec'?"),
        ("name", "a.lua:2: ", "did you mean `limit`?"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/broken").join(charter);
        let expected = said("check", &path).or_else(|| said("test", &path)).unwrap();
        let mut lines = expected.lines().skip_while(|text| !(text.contains(line) && text.contains(hint)));
        assert!(lines.next().is_some(), "{charter}: {line} {hint}: {expected}");
        let number = line.trim_end_matches(": ").rsplit(':').next().unwrap();
        let source = lines.next().unwrap_or_default();
        assert!(source.contains(&format!(" {number} | ")), "{charter}: the source line is not shown: {expected}");
    }
}
