//! What must hold between the code and the files around it: workflows, documents, and no trace of the machine
//! that a file was written on. Each rule is a function from a tree to its faults. Nothing about Rust code here.

use crate::floors::FLOORS;
use crate::tree::{Fault, Tree};

const WORKFLOWS: &[&str] = &[".gitea/workflows/ci.yaml", ".github/workflows/ci.yml"];
const MAX_MAP_LINES: usize = 150;

/// Fails where a workflow does anything but check out the source and call `.ci/run`.
pub fn workflows(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for path in WORKFLOWS {
        let Some(file) = tree.file(path) else {
            faults.push(Fault { path: (*path).to_owned(), line: 1, says: "the workflow is missing".to_owned() });
            continue;
        };
        let mut calls = 0;
        for (n, line) in file.text.lines().enumerate() {
            let step = line.trim_start().trim_start_matches("- ");
            if let Some(command) = step.strip_prefix("run:") {
                calls += 1;
                if !matches!(command.trim(), "bash .ci/run" | ".ci/run") {
                    faults.push(file.fault(n + 1, "a workflow calls only `.ci/run`: put the step there"));
                }
            }
            if let Some(action) = step.strip_prefix("uses:")
                && !action.trim().starts_with("actions/checkout@")
            {
                faults.push(file.fault(n + 1, "a workflow only checks out and calls `.ci/run`"));
            }
        }
        if calls != 1 {
            faults.push(file.fault(1, format!("`.ci/run` is called once, not {calls} times")));
        }
    }
    faults
}

/// Fails where `.ci/run` leaves out one of its steps, or lets one fail without a word.
pub fn ci_steps(tree: &Tree) -> Vec<Fault> {
    let Some(file) = tree.file(".ci/run") else {
        return vec![Fault { path: ".ci/run".to_owned(), line: 1, says: "the script is missing".to_owned() }];
    };
    let mut faults = Vec::new();
    for step in ["set -euo pipefail", "cargo fmt --check", "--all-targets -- -D warnings", "tests/run"] {
        if !file.text.lines().any(|line| line.trim_end().ends_with(step)) {
            faults.push(file.fault(1, format!("the step `{step}` is missing")));
        }
    }
    for (n, _) in file.text.lines().enumerate().filter(|(_, line)| line.contains("|| true") || line.contains("|| :")) {
        faults.push(file.fault(n + 1, "a step that fails makes the whole run fail"));
    }
    faults
}

/// Fails on a dependency that `docs/decisions.md` gives no reason for.
pub fn dependencies(tree: &Tree) -> Vec<Fault> {
    let Some(manifest) = tree.file("Cargo.toml") else { return Vec::new() };
    let decisions = tree.file("docs/decisions.md").map_or("", |f| f.text.as_str());
    let table: toml::Table = manifest.text.parse().expect("Cargo.toml is TOML");
    let mut names = Vec::new();
    collect_dependencies(&table, &mut names);
    let unexplained = names.iter().filter(|name| !decisions.contains(&format!("`{name}`")));
    unexplained.map(|name| manifest.fault(1, format!("docs/decisions.md does not say why `{name}`"))).collect()
}

fn collect_dependencies(table: &toml::Table, names: &mut Vec<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => names.extend(inner.keys().cloned()),
            "target" => inner.values().filter_map(toml::Value::as_table).for_each(|t| collect_dependencies(t, names)),
            _ => {}
        }
    }
}

/// Fails where `docs/ARCHITECTURE.md` is long, or leaves out a room that exists.
pub fn map(tree: &Tree) -> Vec<Fault> {
    let Some(file) = tree.file("docs/ARCHITECTURE.md") else {
        let path = "docs/ARCHITECTURE.md".to_owned();
        return vec![Fault { path, line: 1, says: "the map of the house is missing".to_owned() }];
    };
    let mut faults = Vec::new();
    if file.text.lines().count() > MAX_MAP_LINES {
        faults.push(file.fault(MAX_MAP_LINES + 1, format!("the map has at most {MAX_MAP_LINES} lines")));
    }
    for (room, _) in FLOORS.iter().filter(|(room, _)| *room != "main") {
        let exists = tree.file(&format!("src/{room}.rs")).is_some();
        let has_folder = tree.files.iter().any(|file| file.path.starts_with(&format!("src/{room}/")));
        let shown =
            file.text.contains(&format!("`{room}/`")) || (!has_folder && file.text.contains(&format!("`{room}.rs`")));
        if exists && !shown {
            faults.push(file.fault(1, format!("the map does not show the room `{room}/`")));
        }
    }
    faults
}

/// Fails on the path of some machine in a committed file; `here` are the folders of this one.
pub fn machine_paths(tree: &Tree, here: &[String]) -> Vec<Fault> {
    // In pieces, so that this file is not its own fault.
    let mut forbidden = vec![["/ro", "ot/"].concat(), ["/wo", "rk/"].concat(), ["../sh", "ared"].concat()];
    forbidden.extend(here.iter().filter(|path| path.matches('/').count() > 1).cloned());
    let mut faults = Vec::new();
    for file in &tree.files {
        for (n, line) in file.text.lines().enumerate() {
            if let Some(path) = forbidden.iter().find(|path| has_path(line, path)) {
                faults.push(file.fault(n + 1, format!("a path of some machine: `{path}`")));
            }
        }
    }
    faults
}

/// Tells whether the path stands in the line as a path of its own (`a/home/b` is none).
fn has_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '}' | '>' | '*' | '~' | ')')))
    })
}
