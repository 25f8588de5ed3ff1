//! The real opencode, the oldest and the newest version that was tested: where they are, and that they are those of the
//! lock file. What fleetd does with them is in the files below.

mod both;
mod life;
mod starts;
mod trouble;
mod turns;

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::ROOT;

/// Returns the program of the oldest version that was tested.
pub fn program() -> PathBuf {
    of("opencode")
}

/// Returns the program of the newest one.
pub fn newest() -> PathBuf {
    of("opencode-newest")
}

fn of(package: &str) -> PathBuf {
    let program = Path::new(ROOT).join("e2e/agents/node_modules").join(package).join("bin/opencode");
    assert!(program.is_file(), "the agents are not there: run tests/run once, it installs the agents");
    program
}

#[test]
fn they_are_those_that_the_lock_file_and_the_table_of_agents_name() {
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()).unwrap()
    };
    let (package, agents) = (read("e2e/agents/package.json"), read("lua/agents.json"));
    let tested =
        agents.as_array().unwrap().iter().find(|agent| agent["agent"] == "opencode").unwrap()["tested"].clone();
    let home = TempDir::new().unwrap();
    for (n, (name, program)) in [("opencode", program()), ("opencode-newest", newest())].into_iter().enumerate() {
        let pinned = package["dependencies"][name].as_str().unwrap().rsplit('@').next().unwrap().to_owned();
        let said = Command::new(program).arg("--version").env_clear().env("HOME", home.path()).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!((said.trim(), tested[n].as_str()), (&*pinned, Some(&*pinned)));
    }
}
