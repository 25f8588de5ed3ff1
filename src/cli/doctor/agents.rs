//! The agent programs that launchers start: which are on the PATH, and whether their version is one that was tested.
//! Which there are, and how each is asked, is data (`lua/agents.json`); no agent is named here.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde::Deserialize;
use tokio::process::Command;

use super::ask::{self, Said, Silent};
use super::finding::{Check, Finding};
use crate::launch::plan;

/// The agents, and which versions of them the tests ran with.
const AGENTS: &str = include_str!("../../../lua/agents.json");

/// One agent program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its name, which is that of its launcher.
    agent: String,
    /// The program.
    command: String,
    /// The arguments with which it says its version and ends.
    version: Vec<String>,
    /// The versions that the tests ran with, oldest first.
    tested: Vec<String>,
    /// Its npm package.
    package: String,
}

/// What was found of one agent: where it is, and what it said.
type Found = Option<(PathBuf, Result<Said, Silent>)>;

/// Looks for all of them, side by side.
pub async fn look() -> Vec<Finding> {
    let agents: Vec<Agent> = serde_json::from_str(AGENTS).expect("the table of agents is tested");
    let found = futures_util::future::join_all(agents.iter().map(find)).await;
    judge(&agents, &found)
}

async fn find(agent: &Agent) -> Found {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let place = plan::find(OsStr::new(&agent.command), &path)?;
    let mut command = Command::new(&place);
    command.args(&agent.version);
    Some((place, ask::program(command, ask::PROGRAM).await))
}

fn judge(agents: &[Agent], found: &[Found]) -> Vec<Finding> {
    let told: Vec<Finding> =
        agents.iter().zip(found).filter_map(|(agent, found)| found.as_ref().map(|found| agent.judge(found))).collect();
    if !told.is_empty() {
        return told;
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.command.as_str()).collect();
    vec![
        Finding::note(Check::Agent, format!("no agent program is on the PATH; looked for: {}", names.join(", ")))
            .fix("install one, or write profiles of other programs (launcher \"exec\" or \"typed\")"),
    ]
}

// === impl Agent ===

impl Agent {
    fn judge(&self, (place, said): &(PathBuf, Result<Said, Silent>)) -> Finding {
        let at = format!("{} at {}", self.agent, place.display());
        let install = |version: &str| format!("npm install -g {}@{version}", self.package);
        let newest = self.tested.last().map_or("latest", String::as_str);
        let text = match said {
            Ok(said) => &said.out,
            Err(silent) => {
                let what = format!("{at} was asked for its version: {silent}");
                return Finding::problem(Check::Agent, what).about(&self.agent).fix(install(newest));
            }
        };
        let Some(version) = version_in(text) else {
            let what = format!("{at} says no version");
            return Finding::problem(Check::Agent, what).about(&self.agent).fix(install(newest));
        };
        let tested: Vec<Vec<u64>> = self.tested.iter().filter_map(|tested| numbers(tested)).collect();
        let range = match (self.tested.first(), self.tested.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(only), _) => only.clone(),
            (None, _) => "none".into(),
        };
        let is = numbers(version).unwrap_or_default();
        let finding = match (tested.iter().min(), tested.iter().max()) {
            (Some(oldest), _) if is < *oldest => {
                let what = format!("{at} is {version}, older than what was tested ({range})");
                Finding::warning(Check::Agent, what).fix(install(newest))
            }
            (_, Some(newest_tested)) if is > *newest_tested => {
                let what = format!("{at} is {version}, newer than what was tested ({range})");
                Finding::note(Check::Agent, what).fix(format!("if workers of it go wrong: {}", install(newest)))
            }
            (None, _) => Finding::note(Check::Agent, format!("{at} is {version}; no version of it was tested")),
            _ => Finding::ok(Check::Agent, format!("{at} is {version} (tested: {range})")),
        };
        finding.about(&self.agent)
    }
}

/// Returns the first word of a text that is a version.
fn version_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "(),;".contains(c));
    let words = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    words.into_iter().find(|word| numbers(word).is_some_and(|numbers| numbers.len() >= 2))
}

/// Returns the numbers of a version, up to what comes after `-` or `+`.
pub(super) fn numbers(version: &str) -> Option<Vec<u64>> {
    let plain = version.split(['-', '+']).next().unwrap_or(version);
    plain.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn agent() -> Agent {
        let text =
            r#"{"agent": "a", "command": "a", "version": ["-v"], "tested": ["1.2.9", "1.10.0"], "package": "@x/a"}"#;
        serde_json::from_str(text).expect("a valid row")
    }

    fn level(out: &str) -> Level {
        let said = Said { ok: true, out: out.into(), ..Said::default() };
        agent().judge(&("/bin/a".into(), Ok(said))).level
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (out, expected) in [
            ("1.2.9 (An Agent)", Level::Ok),
            ("a v1.9.3", Level::Ok),
            ("1.10.0-beta.1", Level::Ok),
            ("1.2.8", Level::Warning),
            ("a version 1.10.1, of today", Level::Note),
            ("hello", Level::Problem),
            ("", Level::Problem),
        ] {
            assert_eq!(level(out), expected, "{out}");
        }
    }

    #[test]
    fn what_to_install_is_said() {
        let old = agent().judge(&("/bin/a".into(), Ok(Said { ok: true, out: "1.0.0".into(), ..Said::default() })));
        assert_eq!(old.what, "a at /bin/a is 1.0.0, older than what was tested (1.2.9 to 1.10.0)");
        assert_eq!(old.fix.as_deref(), Some("npm install -g @x/a@1.10.0"));
        let late = agent().judge(&("/bin/a".into(), Err(Silent::Late(ask::PROGRAM))));
        assert_eq!(late.level, Level::Problem);
        assert_eq!(late.what, "a at /bin/a was asked for its version: it did not answer within 5 s");
        assert_eq!(judge(&[agent()], &[None])[0].level, Level::Note);
    }

    #[test]
    fn the_tested_versions_are_those_that_the_tests_install() {
        let agents: Vec<Agent> = serde_json::from_str(AGENTS).expect("a valid table");
        let installed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/agents/package.json"));
        let installed: serde_json::Value = serde_json::from_str(&installed.expect("there")).expect("JSON");
        // As "1.2.3", or under another name as "npm:package@1.2.3".
        let versions = installed["dependencies"].as_object().expect("they are listed").values();
        let versions: Vec<&str> = versions
            .map(|version| version.as_str().unwrap_or_default().rsplit('@').next().unwrap_or_default())
            .collect();
        for agent in &agents {
            let all = agent.tested.iter().all(|version| numbers(version).is_some());
            assert!(all && agent.tested.is_sorted_by_key(|version| numbers(version)), "{agent:?}");
            assert!(agent.tested.iter().all(|tested| versions.contains(&tested.as_str())), "{versions:?}: {agent:?}");
        }
    }
}
