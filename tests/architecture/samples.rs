//! One bad sample for each rule, laid out as files in a folder of its own: a rule that does not fail on its sample
//! is broken. A good sample shows that the rules can also be kept. Nothing of the real tree is read here.

use std::path::Path;

use crate::tree::{Fault, Tree};
use crate::{RULES, Rule};

const HEADER: &str = "//! What lives here.\n//! What never comes in.\n";

/// A rule's name, the files of a sample, and the part of the fault's text that must be seen.
struct Sample {
    rule: &'static str,
    files: &'static [(&'static str, &'static str)],
    expect: &'static str,
}

const BAD: &[Sample] = &[
    Sample {
        rule: "arrows",
        files: &[("src/fleet.rs", "use crate::engine::Engine;")],
        expect: "src/fleet.rs:3: an arrow up",
    },
    Sample {
        rule: "arrows",
        files: &[("src/door/rest.rs", "fn f() { crate::store::open(); }")],
        expect: "an arrow sideways",
    },
    Sample {
        rule: "arrows",
        files: &[("src/pane.rs", "use crate::{\n  fleet,\n  launch::Plan,\n};")],
        expect: "`pane` may not import `launch`",
    },
    Sample {
        rule: "arrows",
        files: &[("src/engine.rs", "use super::daemon;")],
        expect: "`engine` may not import `daemon`",
    },
    Sample {
        rule: "arrows",
        files: &[("src/engine/a.rs", "mod b { use super::super::super::store::C; }")],
        expect: "`engine` may not import `store`",
    },
    Sample { rule: "arrows", files: &[("src/fleet.rs", "use crate::config::Config;")], expect: "an arrow sideways" },
    Sample {
        rule: "arrows",
        files: &[("src/fleet.rs", "use crate::prelude::Turn;")],
        expect: "`crate::prelude` is no room",
    },
    Sample { rule: "arrows", files: &[("src/attic.rs", "")], expect: "the room `attic` has no floor" },
    Sample { rule: "headers", files: &[("src/a.rs", "!fn main() {}")], expect: "a header of 2 to 6" },
    Sample { rule: "headers", files: &[("src/a.rs", "!//! One line only.\nfn f() {}")], expect: "here are 1" },
    Sample {
        rule: "headers",
        files: &[("tests/a.rs", "!//! 1\n//! 2\n//! 3\n//! 4\n//! 5\n//! 6\n//! 7\n")],
        expect: "here are 7",
    },
    Sample { rule: "lengths", files: &[("lua/long.lua", "LONG")], expect: "at most 800 lines" },
    Sample { rule: "lengths", files: &[("src/long.rs", "LONG")], expect: "at most 800 lines" },
    Sample {
        rule: "forgotten_files",
        files: &[("tests/it/main.rs", "mod a;"), ("tests/it/a.rs", ""), ("tests/it/b.rs", "")],
        expect: "tests/it/b.rs:1: no target",
    },
    Sample {
        rule: "forgotten_files",
        files: &[("src/lib.rs", "// mod a;"), ("src/a.rs", "")],
        expect: "src/a.rs:1: no target",
    },
    Sample { rule: "no_mod_rs", files: &[("src/fleet/mod.rs", "")], expect: "no `mod.rs`" },
    Sample { rule: "no_unwrap", files: &[("src/a.rs", "fn f() { g().unwrap(); }")], expect: "no `unwrap`" },
    Sample {
        rule: "no_unwrap",
        files: &[("src/a.rs", "#[cfg(test)]\nmod tests {}\nfn f() { g()\n.unwrap() }")],
        expect: "src/a.rs:6: no `unwrap`",
    },
    Sample { rule: "no_unsafe", files: &[("src/a.rs", "unsafe fn f() {}")], expect: "no unsafe code" },
    Sample { rule: "no_unsafe", files: &[("Cargo.toml", "[lints.rust]\n")], expect: "the lint" },
    Sample {
        rule: "no_agent_names",
        files: &[("src/a.rs", "const A: &str = \"Claude\";")],
        expect: "`claude` belongs",
    },
    Sample { rule: "no_agent_names", files: &[("src/a.rs", "struct OpencodeWorker;")], expect: "`opencode` belongs" },
    Sample {
        rule: "spawns",
        files: &[("src/engine.rs", "fn f() { tokio::spawn(g()); }")],
        expect: "begun by the daemon",
    },
    Sample {
        rule: "spawns",
        files: &[("src/door.rs", "use tokio::task::{self, JoinSet};")],
        expect: "begun by the daemon",
    },
    Sample {
        rule: "spawns",
        files: &[("src/store.rs", "fn f() { tokio::task::spawn_blocking(g) }")],
        expect: "begun by the daemon",
    },
    Sample {
        rule: "purity",
        files: &[("src/fleet/turn.rs", "use std::{collections::BTreeMap, fs};")],
        expect: "no `std::fs`",
    },
    Sample {
        rule: "purity",
        files: &[("src/fleet.rs", "fn f() { let t = std::time::Instant::now(); }")],
        expect: "`fleet` is pure",
    },
    Sample { rule: "purity", files: &[("src/fleet.rs", "use tokio::sync::mpsc;")], expect: "no `tokio`" },
    Sample {
        rule: "owners",
        files: &[("src/door.rs", "use rusqlite::Connection;")],
        expect: "`rusqlite` is for store only",
    },
    Sample {
        rule: "prints",
        files: &[("src/engine.rs", "fn f() { println!(\"here\"); }")],
        expect: "only the command line prints",
    },
    Sample {
        rule: "doc_examples",
        files: &[("src/a.rs", "/// ```\n/// f();\n/// ```\nfn f() {}")],
        expect: "is not run",
    },
    Sample {
        rule: "names",
        files: &[("src/a.rs", "pub struct WorkerManager;")],
        expect: "`WorkerManager` names nothing",
    },
    Sample { rule: "workflows", files: &[], expect: "the workflow is missing" },
    Sample {
        rule: "workflows",
        files: &[(".github/workflows/ci.yml", "steps:\n  - run: cargo test\n")],
        expect: "calls only `.ci/run`",
    },
    Sample {
        rule: "workflows",
        files: &[(".github/workflows/ci.yml", "  - run: bash .ci/run\n  - uses: some/cache@v1\n")],
        expect: "only checks out",
    },
    Sample { rule: "ci_steps", files: &[], expect: "the script is missing" },
    Sample { rule: "ci_steps", files: &[(".ci/run", "cargo fmt --check\n")], expect: "`tests/run` is missing" },
    Sample { rule: "ci_steps", files: &[(".ci/run", "tests/run || true\n")], expect: "makes the whole run fail" },
    Sample {
        rule: "dependencies",
        files: &[("Cargo.toml", "[dependencies]\nleft-pad = \"1\"\n"), ("docs/decisions.md", "left-pad")],
        expect: "why `left-pad`",
    },
    Sample {
        rule: "dependencies",
        files: &[("Cargo.toml", "[target.'cfg(unix)'.dependencies]\nleft-pad = \"1\"\n")],
        expect: "why `left-pad`",
    },
    Sample { rule: "map", files: &[], expect: "the map of the house is missing" },
    Sample { rule: "map", files: &[("docs/ARCHITECTURE.md", "LONG")], expect: "at most 150 lines" },
    Sample { rule: "map", files: &[("src/store.rs", ""), ("docs/ARCHITECTURE.md", "")], expect: "the room `store/`" },
    Sample { rule: "machine_paths", files: &[("docs/a.md", "HERE/a/file")], expect: "a path of some machine" },
    Sample { rule: "machine_paths", files: &[("docs/a.md", "see HOME/a/file")], expect: "a path of some machine" },
];

/// A small house that keeps every rule, with what looks like a fault and is none.
const GOOD: &[(&str, &str)] = &[
    ("Cargo.toml", "[lints.rust]\nunsafe_code = \"forbid\"\n[dependencies]\nserde = \"1\"\n"),
    (".gitea/workflows/ci.yaml", "steps:\n  - uses: actions/checkout@v4\n  - run: bash .ci/run\n"),
    (".github/workflows/ci.yml", "steps:\n  - uses: actions/checkout@v4\n  - run: .ci/run\n"),
    (".ci/run", "set -euo pipefail\ncargo fmt --check\ncargo clippy --all-targets -- -D warnings\ntests/run\n"),
    ("docs/ARCHITECTURE.md", "`fleet/` `config/` `engine/` `store/` `daemon/` `cli/`"),
    ("docs/decisions.md", "`serde` reads; a/tmp/tree is no machine's path"),
    ("src/lib.rs", "pub mod fleet; pub mod config;\npub mod engine;\npub mod store;\npub mod daemon;\npub mod cli;"),
    ("src/main.rs", "fn main() { println!(\"{}\", fleetd::cli::run()); }"),
    (
        "src/fleet.rs",
        "mod turn;\nuse self::turn::Turn; // never crate::engine, unsafe or claude\npub(in crate::fleet) struct A;",
    ),
    (
        "src/fleet/turn.rs",
        "use super::A;\npub struct Turn;\n#[cfg(test)]\nmod tests { use super::*; fn f() { g().unwrap() } }",
    ),
    ("src/config.rs", "use crate::fleet::Role;"),
    ("src/engine.rs", "use crate::{config, fleet::{self, Fleet}};\nconst S: &str = \"tokio::spawn unsafe\";"),
    ("src/store.rs", "fn f() { std::thread::spawn(g); rusqlite::open() }"),
    ("src/daemon.rs", "fn f() { tokio::spawn(crate::store::run()); }"),
    ("src/cli.rs", "/// ```text\n/// shown\n/// ```\npub fn run() { super::daemon::run(); eprintln!(); }"),
    ("tests/it/main.rs", "mod a;"),
    ("tests/it/a.rs", "#[path = \"other.rs\"]\nmod b;"),
    ("tests/it/other.rs", ""),
    ("tests/extra/bin/program.rs", ""),
    ("tests/data/broken.rs", "!not even Rust"),
];

#[test]
fn every_rule_fails_on_its_bad_sample() {
    for (n, sample) in BAD.iter().enumerate() {
        let faults = faults_of(sample.rule, sample.files);
        let seen: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(seen.iter().any(|f| f.contains(sample.expect)), "sample {n} of `{}`: {seen:#?}", sample.rule);
    }
    for Rule { name, .. } in RULES {
        assert!(BAD.iter().any(|sample| sample.rule == *name), "no sample shows that `{name}` can fail");
    }
}

#[test]
fn every_rule_can_be_kept() {
    for Rule { name, .. } in RULES {
        let faults = faults_of(name, GOOD);
        assert!(faults.is_empty(), "`{name}` sees a fault where there is none: {faults:#?}");
    }
}

/// Returns what one rule finds in a folder that holds just these files.
fn faults_of(rule: &str, files: &[(&str, &str)]) -> Vec<Fault> {
    let folder = tempfile::tempdir().expect("a folder for the sample");
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    let Rule { check, .. } = RULES.iter().find(|r| r.name == rule).expect("the sample names a rule");
    check(&Tree::read(folder.path()), &[folder.path().display().to_string()])
}

/// Writes one file: `LONG` becomes too many lines, `HERE` the folder itself, `HOME` a home folder, and Rust gets a
/// header unless its text begins with `!`.
fn write(root: &Path, path: &str, text: &str) {
    let text = match text.strip_prefix('!') {
        Some(bare) => bare.to_owned(),
        None if path.ends_with(".rs") => format!("{HEADER}{text}"),
        None => text.to_owned(),
    };
    let text = text.replace("LONG", &"--\n".repeat(801)).replace("HERE", &root.display().to_string());
    let text = text.replace("HOME", &["/ro", "ot"].concat());
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("the folder of the sample");
    std::fs::write(file, text).expect("the file of the sample");
}
