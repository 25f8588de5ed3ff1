//! The Lua inside the program: `lua/launchers/`, read before a charter's own files, and `lua/lib/`, the modules that
//! `require("fleetd.name")` reaches. Which there are, only the directories say; no charter's file can have such a name.

use include_dir::{Dir, include_dir};

/// What the names of their files begin with.
pub(super) const PREFIX: &str = "<fleetd>/";

static LAUNCHERS: Dir = include_dir!("$CARGO_MANIFEST_DIR/lua/launchers");
static LIB: Dir = include_dir!("$CARGO_MANIFEST_DIR/lua/lib");

/// Returns the names of the launchers' files, as errors show them.
pub(super) fn launchers() -> Vec<String> {
    let name = |path: &std::path::Path| format!("{PREFIX}launchers/{}", path.to_string_lossy());
    let mut names: Vec<String> = LAUNCHERS.files().map(|file| name(file.path())).collect();
    names.sort();
    names
}

/// Returns the name of the file that a module is in, if it is one of these.
pub(super) fn module(name: &str) -> Option<String> {
    name.strip_prefix("fleetd.").map(|name| format!("{PREFIX}lib/{}.lua", name.replace('.', "/")))
}

/// Returns the text of a file.
pub(super) fn text(name: &str) -> Option<&'static str> {
    let (dir, file) = name.strip_prefix(PREFIX)?.split_once('/')?;
    match dir {
        "launchers" => LAUNCHERS.get_file(file)?.contents_utf8(),
        "lib" => LIB.get_file(file)?.contents_utf8(),
        _ => None,
    }
}
