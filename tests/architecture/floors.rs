//! The floors of the house and the rule that imports only point down: reads every path that begins at the root of
//! the crate, in a `use` line or in the middle of code. No other rule lives here.

use crate::source::paths;
use crate::tree::{Fault, File, Tree};

/// Every room and its floor. A new room is a new line here and in `docs/ARCHITECTURE.md`.
pub const FLOORS: &[(&str, u8)] = &[
    ("main", 4),
    ("cli", 4),
    ("daemon", 3),
    ("door", 2),
    ("charter", 2),
    ("launch", 2),
    ("pane", 2),
    ("store", 2),
    ("engine", 1),
    ("fleet", 0),
    ("config", 0),
    ("process", 0),
];

/// The arrows that go sideways all the same, each with its reason.
const SIDEWAYS: &[(&str, &str, &str)] = &[
    ("main", "cli", "main only hands its arguments to the command line and turns the outcome into an exit code"),
    ("process", "fleet", "the fleet names a process by its own plain type; it never reads one"),
    ("config", "fleet", "checked settings are given in the fleet's own plain types; the fleet never sees a file"),
];

/// Fails on an import that points up or sideways, and on a room that has no floor.
pub fn arrows(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust("src/").filter(|f| f.path != "src/lib.rs") {
        let from = room_of(&file.path);
        let Some(from_floor) = floor(from) else {
            faults.push(file.fault(1, format!("the room `{from}` has no floor: see FLOORS")));
            continue;
        };
        for (line, to) in roots_named(file, from) {
            match floor(&to) {
                None => faults.push(file.fault(line, format!("`crate::{to}` is no room: name the room that owns it"))),
                Some(_) if to == from => {}
                Some(to_floor) if to_floor < from_floor => {}
                Some(to_floor) if to_floor == from_floor && sideways_is_allowed(from, &to) => {}
                Some(to_floor) => {
                    let way = if to_floor == from_floor { "sideways" } else { "up" };
                    faults.push(file.fault(line, format!("an arrow {way}: `{from}` may not import `{to}`")));
                }
            }
        }
    }
    faults
}

fn floor(room: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

fn sideways_is_allowed(from: &str, to: &str) -> bool {
    SIDEWAYS.iter().any(|(f, t, _why)| (*f, *t) == (from, to))
}

/// Returns the room of a source file: its first folder, or its own name where it lies at the top.
pub fn room_of(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split('/').next().unwrap_or(below).trim_end_matches(".rs")
}

/// Returns every name that stands right below the root of the crate in some path of this file.
fn roots_named(file: &File, room: &str) -> Vec<(usize, String)> {
    let is_main = room == "main";
    let depth = if is_main { 0 } else { file.path.matches('/').count() };
    let mut found = Vec::new();
    for path in paths(&file.code()) {
        let ups = path.names.iter().take_while(|name| *name == "super").count();
        let root = match path.names[0].as_str() {
            "crate" => 1,
            "fleetd" if is_main => 1,
            "super" if ups == depth + path.inline_depth => ups,
            _ => continue,
        };
        if let Some(name) = path.names.get(root) {
            found.push((path.line, name.clone()));
        }
    }
    found
}
