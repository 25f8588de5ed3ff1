//! What is generated from the descriptions: the meta file for editors and the reference for people.
//! What a verb or a field means is written in `describe` and not here, so that check and reference agree.

use std::fmt::Write as _;
use std::sync::Arc;

use super::describe::{self, Described, Field};
use super::world::World;
use crate::fleet::team::Generation;

/// Returns `lua/meta/fleet.lua`: every verb, step and field for the Lua language server.
pub fn meta() -> String {
    let mut out = String::from(
        "---@meta fleet\n-- Generated from src/charter/describe.rs; `FLEETD_BLESS=1 cargo nextest run reference` writes it anew.\n\n",
    );
    for (class, fields) in classes() {
        meta_class(&mut out, class, fields);
    }
    for described in describe::VERBS.iter().chain(describe::STEPS) {
        if let Some((class, fields)) = described.spec {
            meta_class(&mut out, class, fields);
        }
    }
    let names: Vec<String> = describe::EVENTS.iter().map(|event| format!("\"{}\"", event.name)).collect();
    let _ = writeln!(out, "---@alias fleet.Event {}\n", names.join("|"));
    for event in describe::EVENTS {
        let _ = writeln!(out, "---@class {}\n---@field event \"{}\" {}", event.class, event.name, event.about);
        meta_fields(&mut out, event.fields);
    }
    out.push_str("---@class fleet\n---@field null any what stands for null in a list\nfleet = {}\n\n");
    for verb in describe::VERBS {
        meta_function(&mut out, "fleet.", verb);
    }
    out.push_str("---@class fleet.Run\n---@field id string its id\n---@field name string the name of its recipe\nlocal run = {}\n\n");
    for step in describe::STEPS {
        meta_function(&mut out, "run:", step);
    }
    out.push_str("---@class fleet.Test\nlocal t = {}\n\n");
    for check in describe::TESTS {
        meta_function(&mut out, "t.", check);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns the reference part of `docs/charters.md`.
pub fn reference() -> String {
    let mut out = String::new();
    out.push_str("## Verbs\n\nA file only declares; it sends nothing and waits for nothing while it is loaded.\n\n");
    for verb in describe::VERBS {
        section(&mut out, "fleet.", verb);
    }
    out.push_str("## Events\n\nWhat `fleet.on` can be declared for. Each table also has `event`, its name.\n\n");
    for event in describe::EVENTS {
        let _ = writeln!(out, "### `{}`\n\n{}\n", event.name, event.about);
        table(&mut out, event.fields);
    }
    out.push_str("## Steps of a run\n\nThe second argument of a recipe's function; `run.id` is its id, such as `r3`, and `run.name` the name of its recipe. Each step is written into the journal under its place in the run, such as `each#2[17].send#1`.\n\n");
    for step in describe::STEPS {
        section(&mut out, "run:", step);
    }
    out.push_str("## Tests\n\nThe argument of a test's function; called with a dot.\n\n");
    for check in describe::TESTS {
        section(&mut out, "t.", check);
    }
    launchers(&mut out);
    out.push_str("## Tables that a charter is given, or writes inside another\n\n");
    for (class, fields) in classes() {
        let _ = writeln!(out, "### `{class}`\n");
        table(&mut out, fields);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Writes down the launchers inside the program, by what they say of themselves.
fn launchers(out: &mut String) {
    out.push_str(
        "## Launchers\n\nWhat `launcher` in a profile may name without any `fleet.launcher` of one's own.\n\n",
    );
    let world = World::load(Arc::default(), Generation::default(), Arc::default());
    let world = world.expect("what is inside the program loads");
    for launcher in &world.registry.borrow().launchers {
        let about = launcher.about.as_deref().unwrap_or_default();
        let _ = writeln!(out, "### `{}`\n\n{about}\n", launcher.name);
        let needs = launcher.needs.iter().map(|(name, why)| (name, "", why.as_str()));
        let takes = launcher.takes.iter().map(|name| (name, "?", "as in every profile"));
        let options = launcher.options.iter().map(|(name, about)| (name, "options", about.as_str()));
        out.push_str("| field | |\n| --- | --- |\n");
        for (name, mark, about) in needs.chain(takes).chain(options) {
            let name = match mark {
                "options" => format!("options.{name}"),
                mark => format!("{name}{mark}"),
            };
            let _ = writeln!(out, "| `{name}` | {about} |");
        }
        out.push('\n');
    }
}

fn classes() -> [(&'static str, &'static [Field]); 37] {
    [
        ("fleet.Typing", describe::TYPING),
        ("fleet.ContextCap", describe::CONTEXT_CAP),
        ("fleet.Restarts", describe::RESTARTS),
        ("fleet.Window", describe::WINDOW),
        ("fleet.WorkerSpec", describe::SPEC),
        ("fleet.Plan", describe::PLAN),
        ("fleet.Bring", describe::BRING),
        ("fleet.Lines", describe::LINES),
        ("fleet.Sign", describe::SIGN),
        ("fleet.Transcript", describe::TRANSCRIPT),
        ("fleet.Api", describe::API),
        ("fleet.Call", describe::CALL),
        ("fleet.Open", describe::OPEN),
        ("fleet.Record", describe::RECORD),
        ("fleet.Events", describe::STREAM),
        ("fleet.Mend", describe::MEND),
        ("fleet.Pieces", describe::PIECES),
        ("fleet.Guard", describe::GUARD),
        ("fleet.Unwanted", describe::UNWANTED),
        ("fleet.Worktree", describe::WORKTREE),
        ("fleet.Task", describe::TASK),
        ("fleet.Team", describe::TEAM),
        ("fleet.Load", describe::LOAD),
        ("fleet.EndpointLoad", describe::ENDPOINT_LOAD),
        ("fleet.WorkerLoad", describe::WORKER_LOAD),
        ("fleet.Used", describe::USED),
        ("fleet.Envelope", describe::ENVELOPE),
        ("fleet.Question", describe::QUESTION),
        ("fleet.Budget", describe::BUDGET),
        ("fleet.SubRun", describe::SUB_RUN),
        ("fleet.Voted", describe::VOTED),
        ("fleet.Missing", describe::MISSING),
        ("fleet.TestRun", describe::TEST_RUN),
        ("fleet.TestUsed", describe::TEST_USED),
        ("fleet.TestRoute", describe::TEST_ROUTE),
        ("fleet.TestSent", describe::TEST_SENT),
        ("fleet.Scripted", describe::SCRIPTED),
    ]
}

fn meta_class(out: &mut String, class: &str, fields: &[Field]) {
    let _ = writeln!(out, "---@class {class}");
    meta_fields(out, fields);
}

fn meta_fields(out: &mut String, fields: &[Field]) {
    for field in fields {
        let (mark, kind) = match (field.kind.strip_suffix('?'), field.kind.strip_suffix("|nil")) {
            (Some(kind), _) | (_, Some(kind)) => ("?", kind),
            _ => ("", field.kind),
        };
        let _ = writeln!(out, "---@field {}{mark} {kind} {}", field.name, field.about);
    }
    out.push('\n');
}

fn meta_function(out: &mut String, prefix: &str, described: &Described) {
    let _ = writeln!(out, "---{}", described.about);
    let mut names = Vec::new();
    for (name, kind) in described.params {
        names.push(*name);
        // The `?` of a function is the one of what it gives back.
        let plain = if kind.starts_with("fun(") { kind } else { kind.trim_end_matches('?') };
        let _ = writeln!(out, "---@param {} {plain}", optional(name, kind));
    }
    if !described.returns.is_empty() {
        let _ = writeln!(out, "---@return {}", described.returns);
    }
    // The first argument says which table the second one is given.
    for event in describe::EVENTS.iter().filter(|_| prefix == "fleet." && described.name == "on") {
        let (name, class) = (event.name, event.class);
        let _ = writeln!(out, "---@overload fun(event: \"{name}\", fn: fun(event: {class}): fleet.Action?)");
    }
    let _ = writeln!(out, "function {prefix}{}({}) end\n", described.name, names.join(", "));
}

fn optional(name: &str, kind: &str) -> String {
    match kind.ends_with('?') && !kind.starts_with("fun(") {
        true => format!("{name}?"),
        false => name.to_owned(),
    }
}

fn section(out: &mut String, prefix: &str, described: &Described) {
    let names: Vec<String> = described.params.iter().map(|(name, kind)| optional(name, kind)).collect();
    let gives = match described.returns {
        "" => String::new(),
        kind => format!(" → {kind}"),
    };
    let _ = writeln!(out, "### `{prefix}{}({}){gives}`\n\n{}\n", described.name, names.join(", "), described.about);
    if let Some((_, fields)) = described.spec {
        table(out, fields);
    }
    if !described.example.is_empty() {
        let _ = writeln!(out, "```lua\n{}\n```\n", described.example);
    }
}

fn table(out: &mut String, fields: &[Field]) {
    out.push_str("| field | type | |\n| --- | --- | --- |\n");
    for field in fields {
        let kind = field.kind.replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {kind} | {} |", field.name, field.about);
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const MARKER: &str = "<!-- generated: the reference -->";

    fn same_or_bless(path: &Path, wanted: &str) {
        if std::env::var_os("FLEETD_BLESS").is_some() {
            fs::create_dir_all(path.parent().expect("in the project")).expect("made");
            fs::write(path, wanted).expect("written");
        }
        let found = fs::read_to_string(path).unwrap_or_default();
        assert!(found == wanted, "{} is stale; FLEETD_BLESS=1 writes it anew", path.display());
    }

    #[test]
    fn the_meta_file_is_the_one_of_the_reference() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        same_or_bless(&root.join("lua/meta/fleet.lua"), &meta());
    }

    #[test]
    fn the_guide_ends_in_the_generated_reference() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/charters.md");
        let found = fs::read_to_string(&path).expect("the guide is there");
        let (guide, _) = found.split_once(MARKER).expect("the marker is there");
        same_or_bless(&path, &format!("{guide}{MARKER}\n\n{}", reference()));
    }

    #[test]
    fn the_meta_file_is_lua_itself() {
        let lua = mlua::Lua::new();
        lua.load(meta()).exec().expect("runs");
    }
}
