//! What stands beside a charter for editors and linters: settings of the Lua language server, selene and StyLua, and the
//! verbs in the words of each. All of it comes from `describe`; nothing here is read by fleetd.

use std::fmt::Write as _;

use serde_json::json;

use super::describe::{self, Described};
use super::reference::meta;

/// What a charter sees of Luau, for the language server.
const WORLD: &str = include_str!("../../lua/meta/world.lua");
/// The libraries that the language server would show by itself: all that a charter has of them is in `WORLD`.
const NO_LIBRARIES: &[&str] = &[
    "basic",
    "bit",
    "bit32",
    "coroutine",
    "debug",
    "ffi",
    "io",
    "jit",
    "jit.profile",
    "jit.util",
    "math",
    "os",
    "package",
    "string",
    "string.buffer",
    "table",
    "table.clear",
    "table.new",
    "utf8",
];
/// Names of Luau that no charter knows. selene removes names one by one, so those in libraries are listed as well.
const NO_NAMES: &[&str] = &[
    "_G",
    "_VERSION",
    "buffer.create",
    "buffer.fromstring",
    "buffer.tostring",
    "collectgarbage",
    "coroutine.close",
    "coroutine.create",
    "coroutine.isyieldable",
    "coroutine.resume",
    "coroutine.running",
    "coroutine.status",
    "coroutine.wrap",
    "coroutine.yield",
    "debug.info",
    "debug.traceback",
    "gcinfo",
    "getfenv",
    "loadstring",
    "math.random",
    "math.randomseed",
    "newproxy",
    "os.clock",
    "os.date",
    "os.difftime",
    "os.time",
    "setfenv",
    "table.foreach",
    "table.foreachi",
    "table.getn",
    "table.maxn",
    "typeof",
    "vector.create",
];

/// Returns the files by their names; the language server finds the verbs in the folder `meta_dir`.
pub fn editor_files(meta_dir: &str) -> Vec<(String, String)> {
    vec![
        (".luarc.json".to_owned(), language_server(meta_dir)),
        ("selene.toml".to_owned(), SELENE.to_owned()),
        ("fleet.yml".to_owned(), selene_std()),
        ("stylua.toml".to_owned(), STYLUA.to_owned()),
        (format!("{meta_dir}/fleet.lua"), meta()),
        (format!("{meta_dir}/world.lua"), WORLD.to_owned()),
    ]
}

const SELENE: &str = "\
# What selene looks at in a charter; `fleet.yml` beside it holds the verbs. Made by fleetd.
std = \"fleet\"
# What fleetd reads of its own, and what is made from a description.
exclude = [\"lua/prelude*.lua\", \"**/meta/**\", \"**/.meta/**\", \"**/node_modules/**\"]

[lints]
# A short rubric reads well on one line.
multiple_statements = \"allow\"
# The parameters of a rubric and a recipe are the same everywhere, used or not.
unused_variable = \"allow\"
shadowing = \"allow\"
# Luau has \\u{…} in texts, which selene does not know.
bad_string_escape = \"allow\"
";

const STYLUA: &str = "\
# How StyLua lays out a charter. Made by fleetd.
syntax = \"Luau\"
column_width = 120
indent_type = \"Spaces\"
indent_width = 2
quote_style = \"AutoPreferDouble\"
call_parentheses = \"Input\"
collapse_simple_statement = \"Never\"
";

fn language_server(meta_dir: &str) -> String {
    let builtin: serde_json::Map<String, serde_json::Value> =
        NO_LIBRARIES.iter().map(|name| ((*name).to_owned(), "disable".into())).collect();
    let settings = json!({
        // Of the versions that it knows this one reads most of what Luau writes, such as `\u{…}` in texts.
        "runtime.version": "LuaJIT",
        "runtime.builtin": builtin,
        "runtime.nonstandardSymbol": ["+=", "-=", "*=", "/=", "continue"],
        "workspace.library": [meta_dir],
        // A rubric or a handler that has nothing to say ends without a return.
        "diagnostics.disable": ["missing-return"],
        "diagnostics.unusedLocalExclude": ["job", "run", "task", "team", "event", "t"],
    });
    format!("{settings:#}\n")
}

/// Returns the standard library of a charter for selene.
fn selene_std() -> String {
    let mut out = String::from(
        "---\n# The world of a charter for selene. Made by fleetd from the description of its verbs.\nname: fleet\nbase: luau\nglobals:\n",
    );
    for name in NO_NAMES {
        let _ = writeln!(out, "  {name}:\n    removed: true");
    }
    out.push_str("  require:\n    args:\n      - type: string\n");
    out.push_str("  fleet.null:\n    property: read-only\n");
    for verb in describe::VERBS {
        let _ = writeln!(out, "  fleet.{}:\n    args:", verb.name);
        for (n, (_, kind)) in verb.params.iter().enumerate() {
            let _ = writeln!(out, "      - type: {}", selene_type(verb, n, kind));
            // A spec may be left out, and then its function takes its place.
            if may_be_left_out(verb, n) || kind.ends_with('?') && !kind.starts_with("fun(") {
                out.push_str("        required: false\n");
            }
        }
    }
    out
}

fn may_be_left_out(verb: &Described, n: usize) -> bool {
    n == 2 && verb.params[1].0 == "spec"
}

fn selene_type(verb: &Described, n: usize, kind: &str) -> &'static str {
    let has_function_after = verb.params.len() == 3 && n == 1;
    match kind.trim_end_matches('?') {
        _ if has_function_after => "any",
        "string" | "fleet.Event" => "string",
        "number" | "integer" => "number",
        kind if kind.starts_with("fun(") => "function",
        kind if kind.starts_with("fleet.") || kind == "table" => "table",
        _ => "any",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The project is edited with the same settings as every charter.
    #[test]
    fn the_generated_editor_files_stand_in_the_project() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (name, text) in editor_files("lua/meta") {
            let path = root.join(&name);
            if std::env::var_os("FLEETD_BLESS").is_some() {
                fs::write(&path, &text).expect("written");
            }
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert!(found == text, "{name} is stale; FLEETD_BLESS=1 writes it anew");
        }
    }

    #[test]
    fn every_verb_is_known_to_selene_with_its_parameters() {
        let std = selene_std();
        for verb in describe::VERBS {
            assert!(
                std.contains(&format!("  fleet.{}:\n    args:\n      - type: string\n", verb.name)),
                "{}",
                verb.name
            );
        }
        assert!(std.contains("  fleet.role:\n    args:\n      - type: string\n      - type: table\n"));
        assert!(std.contains("      - type: any\n      - type: function\n        required: false\n"), "{std}");
    }

    /// The language server knows just what a charter sees.
    #[test]
    fn the_world_of_the_meta_file_is_the_one_of_a_charter() {
        use std::collections::BTreeSet;

        use crate::charter::sources::Sources;
        let seen = |of: &str| -> BTreeSet<String> {
            let sources = Sources::from_files([("a.lua", format!("local x = {of}there_is_no_such_name\n"))]);
            let refused = crate::charter::offline::team_of(sources).map(drop).expect_err("there is none");
            let refused = refused.to_string();
            let names = refused.lines().next().and_then(|line| line.split_once("valid: ")).expect("all are named").1;
            names.split(", ").map(str::to_owned).filter(|name| name != "fleet").collect()
        };
        let libraries = ["bit32", "math", "string", "table", "utf8"];
        for of in [""].into_iter().chain(libraries) {
            let of = if of.is_empty() { String::new() } else { format!("{of}.") };
            let functions = WORLD.lines().filter_map(|line| line.strip_prefix("function ")?.split_once('('));
            let mut told: BTreeSet<String> = functions
                .filter_map(|(name, _)| name.strip_prefix(of.as_str()))
                .filter(|name| !name.contains('.'))
                .map(str::to_owned)
                .collect();
            if of.is_empty() {
                told.extend(libraries.map(str::to_owned));
            } else {
                let class =
                    WORLD.split(&format!("---@class {}lib\n", of.trim_end_matches('.'))).nth(1).unwrap_or_default();
                let fields = class.lines().map_while(|line| line.strip_prefix("---@field "));
                told.extend(fields.filter_map(|line| Some(line.split_once(' ')?.0.to_owned())));
            }
            assert_eq!(told, seen(&of), "{of}");
        }
    }

    /// What is gone for the linter is gone for a charter as well.
    #[test]
    fn what_is_removed_is_not_there() {
        use crate::charter::sources::Sources;
        for name in NO_NAMES {
            let sources = Sources::from_files([("a.lua", format!("local x = {name}\n"))]);
            let refused = crate::charter::offline::team_of(sources).map(drop).expect_err(name);
            assert!(refused.to_string().contains("there is no "), "{name}: {refused}");
        }
    }
}
