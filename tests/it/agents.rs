//! The real agent programs, as `e2e/agents/install` has put them there: where they are, and that they and the scripted
//! model understand each other. What fleetd does with them is shown in other files.

mod charters;
mod headless;
mod leader;
mod line;
mod nudged;
mod opencode;
mod signs;
mod starts;
mod team;
mod trouble;
mod turns;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fleetd_model::Model;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the real `claude`: the platform's own binary, which needs nothing else to run.
pub fn claude() -> PathBuf {
    let packages = Path::new(ROOT).join("e2e/agents/node_modules/@anthropic-ai");
    let entries = std::fs::read_dir(&packages).into_iter().flatten().filter_map(Result::ok);
    // Of the packages for platforms, npm installs ours alone.
    let mut binaries = entries.map(|entry| entry.path().join("claude")).filter(|path| path.is_file());
    binaries.next().expect("the agents are not there: run tests/run once, it installs the agents")
}

/// The key of an agent that `command` starts.
pub const KEY: &str = "the key";

/// Returns the real `claude` in a folder, with this home, before this model, and with nothing else of ours around it.
pub fn command(folder: &Path, home: &Path, model: &Model) -> Command {
    let mut command = Command::new(claude());
    command.args(["--model", "scripted"]).current_dir(folder).env_clear().env("HOME", home);
    command.envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("ANTHROPIC_AUTH_TOKEN", KEY)]);
    command.env("ANTHROPIC_BASE_URL", model.url()).env("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "1");
    // Nothing that looks outside.
    command.envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")]);
    command.env("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1");
    command
}

#[test]
fn the_agent_is_the_one_that_the_lock_file_names() {
    let package: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(Path::new(ROOT).join("e2e/agents/package.json")).unwrap())
            .unwrap();
    let pinned = package["dependencies"]["@anthropic-ai/claude-code"].as_str().unwrap();
    let home = TempDir::new().unwrap();
    let said = Command::new(claude()).arg("--version").env_clear().env("HOME", home.path()).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said.split_whitespace().next(), Some(pinned), "{said}");
}

#[test]
fn the_agent_and_the_scripted_model_understand_each_other() {
    let (model, home) = (Model::start().unwrap(), TempDir::new().unwrap());
    let work = home.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let prompt = "[fleet turn t1 from leader]\nTIMES:2 && ERR:529\nTHINK:hm && TOOL:Bash:{\"command\":\"echo $((6*7))\"} && \
                  TOOL:Bash:{\"command\":\"echo parallel\"}\nSAY:the tools said {{result}}\n[end of t1]";
    let mut agent = command(&work, home.path(), &model);
    agent.args(["-p", prompt, "--setting-sources", "user", "--allowedTools", "Bash"]).stdin(Stdio::null());
    let said = agent.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    let said = out.trim().strip_prefix("the tools said ").map(|said| said.lines().collect::<Vec<_>>());
    // Which of two parallel calls ends first is the machine's matter.
    let is_whole = said.is_some_and(|said| matches!(said[..], ["42", "parallel"] | ["parallel", "42"]));
    assert!(is_whole, "{out}{err}");
    let asked: Vec<_> = model.asked().into_iter().filter(|one| one.text().contains("[end of t1]")).collect();
    assert_eq!(asked.len(), 4, "two that failed, the calls, the answer");
    assert!(asked.iter().all(|one| one.key() == KEY && !one.session().is_empty()));
    assert!(asked[0].tools().contains(&"Bash"), "{:?}", asked[0].tools());
}
