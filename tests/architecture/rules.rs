//! What can be counted in Rust files: headers, lengths, forgotten files, forbidden words, and which room may use
//! what from outside. Each rule is a function from a tree to its faults; `samples.rs` shows that each can fail.
//! Rules on documents and scripts are in `documents.rs`, the arrows between rooms in `floors.rs`.

use std::collections::BTreeSet;

use crate::floors::room_of;
use crate::source::{Keep, paths, strip, tokens, without_tests};
use crate::tree::{Fault, File, Tree};

const MAX_LINES: usize = 800;
const HEADER_LINES: std::ops::RangeInclusive<usize> = 2..=6;

/// Agent programs: each is one launcher in Lua, none is known to the core.
const AGENTS: &[&str] = &["claude", "opencode", "codex", "gemini"];

/// Where an agent may be named in Rust, and why.
const AGENTS_ALLOWED: &[(&str, &str)] = &[("src/cli/init", "`fleetd init` offers the agents that it finds installed")];

/// What begins a task or a thread: whoever does it must own its end.
const SPAWNS: &[&[&str]] = &[
    &["tokio", "spawn"],
    &["task", "spawn"],
    &["task", "spawn_blocking"],
    &["task", "spawn_local"],
    &["task", "JoinSet"],
    &["JoinSet", "new"],
    &["TaskTracker", "new"],
    &["thread", "spawn"],
    &["thread", "Builder"],
];

/// Who may begin one, which, and why. Everything else gives its future to the daemon. `&[]` means any.
const SPAWNS_ALLOWED: &[(&str, &[&str], &str)] = &[
    ("src/daemon", &[], "it owns every task: names it, supervises it, joins it at shutdown"),
    (
        "src/charter/courier",
        &["task::JoinSet", "JoinSet::new"],
        "sends that wait for the rubrics; the courier owns them and ends with them",
    ),
    ("src/charter/explain", &["task::spawn_blocking"], "a replay for people runs Lua; it is awaited on the spot"),
    (
        "src/charter",
        &["thread::spawn", "thread::Builder"],
        "a generation's VM has a thread, which ends with its handle",
    ),
    (
        "src/store",
        &["thread::spawn", "thread::Builder"],
        "SQLite blocks: one writer thread, joined when the store goes",
    ),
    ("src/launch/pane_exec", &["thread::Builder"], "a process of its own without a runtime; it joins its threads"),
    (
        "src/launch/exec",
        &["task::JoinSet", "JoinSet::new", "task::spawn_blocking"],
        "its one task, run by the daemon, owns the watch of each turn; reading files is awaited on the spot",
    ),
    ("src/pane/server", &["thread::Builder"], "a process of its own without a runtime; it joins its threads"),
    ("src/pane/embedded", &["task::spawn_blocking"], "looking through /proc blocks; it is awaited on the spot"),
    ("src/launch/ending", &["task::spawn_blocking"], "killing a tree blocks; it is awaited on the spot"),
    ("src/launch/session", &["task::spawn_blocking"], "what is made durable blocks; it is awaited on the spot"),
    (
        "src/launch/lines",
        &["task::JoinSet", "JoinSet::new"],
        "its one task, run by the daemon, owns the keeper of each session",
    ),
    (
        "src/launch/session/all",
        &["task::JoinSet", "JoinSet::new"],
        "a launcher's one task, run by the daemon, owns the sweep after its start",
    ),
    (
        "src/launch/session/roster",
        &["task::JoinSet", "JoinSet::new"],
        "a launcher's one task, run by the daemon, owns it and with it the keeper of each session",
    ),
    (
        "src/launch/typed",
        &["task::JoinSet", "JoinSet::new", "task::spawn_blocking"],
        "its one task, run by the daemon, owns the keeper of each session; ending a tree blocks and is awaited on the spot",
    ),
    ("src/launch/trees", &["task::spawn_blocking"], "git and the disk block; the answer is awaited on the spot"),
    ("src/cli/doctor/ask", &["task::spawn_blocking"], "a disk may hang; whoever is late is left, and the process ends"),
    ("src/door/server", &["task::JoinSet", "JoinSet::new"], "the accept loop owns its connections and outlives them"),
    ("src/charter/reload", &["task::spawn_blocking"], "reading a tree of files blocks; it is awaited on the spot"),
    ("src/door/peer", &["task::spawn_blocking"], "asking the kernel blocks; the answer is awaited on the spot"),
];

/// What the pure rules must never touch: the world comes in as an input and goes out as an effect.
const IMPURE: &[&[&str]] = &[
    &["tokio"],
    &["std", "fs"],
    &["std", "net"],
    &["std", "env"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "io"],
    &["sync", "Mutex"],
    &["sync", "RwLock"],
    &["sync", "mpsc"],
    &["sync", "atomic"],
    &["Instant", "now"],
    &["SystemTime", "now"],
    &["time", "Instant"],
    &["time", "SystemTime"],
    &["mlua"],
    &["axum"],
    &["rusqlite"],
    &["rustix"],
    &["tracing"],
    &["jiff"],
];

/// Dependencies that belong to certain rooms, so that each can be replaced in one place.
const OWNERS: &[(&str, &[&str])] = &[
    ("axum", &["door", "daemon"]),
    ("clap", &["cli", "main"]),
    ("clap_complete", &["cli"]),
    ("console", &["cli"]),
    ("indicatif", &["cli"]),
    ("mlua", &["charter"]),
    ("notify", &["charter"]),
    ("prometheus_client", &["door"]),
    ("rusqlite", &["store"]),
    ("toml", &["config"]),
    ("ureq", &["cli"]),
    ("vt100", &["pane"]),
];

/// Where something may be written to the terminal: everything else logs events.
const PRINTS_ALLOWED: &[(&str, &str)] = &[
    ("src/main.rs", "it prints the error that ends the program"),
    ("src/cli", "talking to the person at the terminal is what it is for"),
];

/// Fails on a Rust file that does not begin with a `//!` header of two to six lines.
pub fn headers(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("") {
        let lines = file.text.lines().take_while(|line| line.starts_with("//!")).count();
        let may_be_longer = file.path == "src/lib.rs" && lines > *HEADER_LINES.end();
        if !HEADER_LINES.contains(&lines) && !may_be_longer {
            faults.push(file.fault(1, format!("a header of 2 to 6 `//!` lines is missing: here are {lines}")));
        }
    }
    faults
}

/// Fails on a Rust, Lua or shell file of more than 800 lines.
pub fn lengths(tree: &Tree) -> Vec<Fault> {
    let code = |f: &&File| [".rs", ".lua", ".sh"].iter().any(|end| f.path.ends_with(end));
    let too_long = tree.files.iter().filter(code).filter(|f| f.text.lines().count() > MAX_LINES);
    too_long.map(|f| f.fault(MAX_LINES + 1, format!("a file has at most {MAX_LINES} lines: split it"))).collect()
}

/// Fails on a Rust file that no target includes, so that no test is forgotten without a word.
pub fn forgotten_files(tree: &Tree) -> Vec<Fault> {
    let is_target = |path: &str| {
        let inner = path.strip_prefix("tests/").or_else(|| path.strip_prefix("benches/"));
        let shape = inner.map(|p| (p.matches('/').count(), p.ends_with("/main.rs") || p.ends_with("/lib.rs")));
        let is_program = inner.is_some_and(|p| p.split('/').nth(1) == Some("bin"));
        let is_root = matches!(path, "src/lib.rs" | "src/main.rs" | "build.rs");
        is_root || is_program || matches!(shape, Some((0, _) | (1, true)))
    };
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&File> = tree.rust("").filter(|f| is_target(&f.path)).collect();
    while let Some(file) = open.pop() {
        if reached.insert(&file.path) {
            open.extend(modules_of(file, is_target(&file.path)).iter().filter_map(|path| tree.file(path)));
        }
    }
    let forgotten = tree.rust("").filter(|f| !reached.contains(f.path.as_str()));
    forgotten.map(|f| f.fault(1, "no target includes this file: add its `mod` line")).collect()
}

/// Returns the paths that the `mod x;` lines of a file may mean.
fn modules_of(file: &File, is_target: bool) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let below = if is_target { folder.to_owned() } else { format!("{folder}/{}", name.trim_end_matches(".rs")) };
    let code = strip(&file.text, Keep::Texts);
    let mut found = Vec::new();
    for statement in code.split(';') {
        let Some((before, module)) = statement.rsplit_once("mod ") else { continue };
        let module = module.trim();
        if module.contains(|c: char| !c.is_alphanumeric() && c != '_') {
            continue;
        }
        let set_path = before.rsplit_once("#[path = \"").and_then(|(_, rest)| rest.split('"').next());
        match set_path {
            Some(path) => found.push(format!("{folder}/{path}")),
            None => found.extend([format!("{below}/{module}.rs"), format!("{below}/{module}/mod.rs")]),
        }
    }
    found
}

/// Fails on `mod.rs`: the module `foo` is `foo.rs` beside `foo/`.
pub fn no_mod_rs(tree: &Tree) -> Vec<Fault> {
    let named = tree.rust("").filter(|f| f.path.ends_with("/mod.rs"));
    named.map(|f| f.fault(1, "no `mod.rs`: write `foo.rs` beside `foo/`")).collect()
}

/// Fails on `unwrap()` in the product.
pub fn no_unwrap(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/") {
        let code = file.product_code();
        let tokens = tokens(&code);
        for pair in tokens.windows(2).filter(|pair| pair[0].text == ".") {
            if matches!(pair[1].text, "unwrap" | "unwrap_err") {
                faults
                    .push(file.fault(pair[1].line, "no `unwrap` outside tests: return an error, or `expect` a proof"));
            }
        }
    }
    faults
}

/// Fails on `unsafe` code, and where the lint that forbids it is gone.
pub fn no_unsafe(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("") {
        let code = file.code();
        let words = tokens(&code).into_iter().filter(|t| t.text == "unsafe");
        faults.extend(words.map(|t| file.fault(t.line, "no unsafe code")));
    }
    if let Some(manifest) = tree.file("Cargo.toml")
        && !manifest.text.contains("unsafe_code = \"forbid\"")
    {
        faults.push(manifest.fault(1, "the lint `unsafe_code = \"forbid\"` is missing"));
    }
    faults
}

/// Fails on the name of an agent program in Rust, text literals included.
pub fn no_agent_names(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let allowed = |path: &str| AGENTS_ALLOWED.iter().any(|(begin, _why)| path.starts_with(begin));
    for file in tree.rust("src/").filter(|f| !allowed(&f.path)) {
        for (n, line) in without_tests(&strip(&file.text, Keep::Texts)).lines().enumerate() {
            let line = line.to_ascii_lowercase();
            for agent in AGENTS.iter().filter(|agent| line.contains(**agent)) {
                faults.push(file.fault(n + 1, format!("no agent is named in Rust: `{agent}` belongs in its launcher")));
            }
        }
    }
    faults
}

/// Fails on a task or thread begun where nobody waits for its end.
pub fn spawns(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/") {
        for path in paths(&file.product_code()) {
            let Some(how) = SPAWNS.iter().find(|how| path.holds(how)) else { continue };
            let how = how.join("::");
            let may = |only: &[&str]| only.is_empty() || only.contains(&how.as_str());
            let allowed = SPAWNS_ALLOWED.iter().any(|(room, only, _why)| in_room(&file.path, room) && may(only));
            if !allowed {
                faults.push(file.fault(path.line, format!("`{how}`: tasks and threads are begun by the daemon only")));
            }
        }
    }
    faults
}

/// Fails where the pure rules of `fleet/` reach for the world.
pub fn purity(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/").filter(|f| room_of(&f.path) == "fleet") {
        for path in paths(&file.product_code()) {
            let reaches = |what: &&&[&str]| if what.len() == 1 { path.begins(what) } else { path.holds(what) };
            if let Some(what) = IMPURE.iter().find(reaches) {
                faults.push(file.fault(path.line, format!("`fleet` is pure: no `{}`", what.join("::"))));
            }
        }
    }
    faults
}

/// Fails where a dependency is used by a room that it does not belong to.
pub fn owners(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/") {
        for path in paths(&file.product_code()) {
            for (dependency, rooms) in OWNERS {
                if path.begins(&[dependency]) && !rooms.contains(&room_of(&file.path)) {
                    let says = format!("`{dependency}` is for {} only: see OWNERS", rooms.join(", "));
                    faults.push(file.fault(path.line, says));
                }
            }
        }
    }
    faults
}

/// Fails where something is printed outside the command line.
pub fn prints(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let allowed = |path: &str| PRINTS_ALLOWED.iter().any(|(begin, _why)| in_room(path, begin));
    for file in tree.rust("src/").filter(|f| !allowed(&f.path)) {
        let code = file.product_code();
        for pair in tokens(&code).windows(2).filter(|pair| pair[1].text == "!") {
            if matches!(pair[0].text, "print" | "println" | "eprint" | "eprintln") {
                faults.push(file.fault(pair[0].line, "only the command line prints: log an event"));
            }
        }
    }
    faults
}

/// Fails on a code example in a doc comment: the test runner does not run it, so it would rot.
pub fn doc_examples(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/") {
        let mut inside = false;
        for (n, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            let fence = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start);
            let Some(kind) = fence.and_then(|l| l.strip_prefix("```")) else { continue };
            if !inside && !matches!(kind.trim(), "text" | "lua" | "toml" | "json" | "sh" | "sql") {
                faults
                    .push(file.fault(n + 1, "an example in a doc comment is not run: write a test, or mark it `text`"));
            }
            inside = !inside;
        }
    }
    faults
}

/// Fails on a type named after nothing in particular.
pub fn names(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/") {
        let code = file.product_code();
        for pair in tokens(&code).windows(2) {
            let declares = matches!(pair[0].text, "struct" | "enum" | "trait" | "type");
            let empty = ["Manager", "Helper", "Util", "Utils", "Data", "Info"];
            if declares && empty.iter().any(|end| pair[1].text.ends_with(end)) {
                faults
                    .push(file.fault(pair[1].line, format!("`{}` names nothing: use the domain's word", pair[1].text)));
            }
        }
    }
    faults
}

/// Tells whether a path is the room's file or lies in its folder (`src/cli` means `src/cli.rs` and `src/cli/…`).
fn in_room(path: &str, begin: &str) -> bool {
    path.strip_prefix(begin).is_some_and(|rest| matches!(rest, "" | ".rs") || rest.starts_with('/'))
}
