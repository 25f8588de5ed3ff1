//! `fleetd init`: a first configuration and charter. It never writes over a file that is there, so it can be run as
//! often as one likes.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::terminal::Terminal;

pub const EXAMPLES: &str = "\
Examples:
  fleetd init
  fleetd init --dry-run
  fleetd init team && cd team && fleetd serve";

/// Everything that is written, by its path.
const FILES: &[(&str, &str)] = &[
    ("fleetd.toml", include_str!("init/fleetd.toml")),
    (".luarc.json", include_str!("init/luarc.json")),
    ("charters/default/team.lua", include_str!("../../charters/default/team.lua")),
    ("charters/default/routes.lua", include_str!("../../charters/default/routes.lua")),
    ("charters/default/lib/pieces.lua", include_str!("../../charters/default/lib/pieces.lua")),
    ("charters/default/recipes/count_words.lua", include_str!("../../charters/default/recipes/count_words.lua")),
    ("charters/default/tests/default.lua", include_str!("../../charters/default/tests/default.lua")),
];

/// What `init` is told.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Where
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Only say what would be written
    #[arg(long)]
    dry_run: bool,
}

/// What came of each file.
#[derive(Debug, Default, Serialize)]
struct Done {
    written: Vec<PathBuf>,
    kept: Vec<PathBuf>,
    dry_run: bool,
}

/// Writes what is not there yet.
pub fn run(terminal: &Terminal, args: InitArgs) -> Result<Exit, Failure> {
    let mut done = Done { dry_run: args.dry_run, ..Done::default() };
    for (name, text) in FILES {
        let path = args.dir.join(name);
        let is_new = if args.dry_run { is_free(&path)? } else { write_new(&path, text)? };
        if is_new { done.written.push(path) } else { done.kept.push(path) }
    }
    if terminal.json {
        terminal.print_json(&done)?;
        return Ok(Exit::Ok);
    }
    let verb = if args.dry_run { "would write" } else { "wrote" };
    let mut lines: Vec<String> = done.written.iter().map(|path| format!("{verb} {}", path.display())).collect();
    lines.extend(done.kept.iter().map(|path| format!("kept {}: it is there already", path.display())));
    terminal.print(&lines.join("\n"))?;
    if !args.dry_run {
        let cd = if args.dir == Path::new(".") { String::new() } else { format!("cd {} && ", args.dir.display()) };
        terminal.talk(&format!("next: {cd}fleetd charter check && fleetd serve"));
    }
    Ok(Exit::Ok)
}

/// Tells whether nothing stands at the path, not even a link to nowhere.
fn is_free(path: &Path) -> Result<bool, Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Failure::io(format!("cannot look at {}", path.display()), error)),
    }
}

/// Writes a file unless something is there; the system decides that, so nothing can come in between.
fn write_new(path: &Path, text: &str) -> Result<bool, Failure> {
    let failed = |error| Failure::io(format!("cannot write {}", path.display()), error);
    if !is_free(path)? {
        return Ok(false);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_below(dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn the_whole_default_charter_is_written() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut real = files_below(&root.join("charters/default"));
        real.sort();
        let mut ours: Vec<PathBuf> =
            FILES.iter().filter(|(name, _)| name.starts_with("charters/")).map(|(name, _)| root.join(name)).collect();
        ours.sort();
        assert_eq!(ours, real);
    }

    #[test]
    fn a_file_that_is_there_is_kept() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a/b.lua");
        assert!(write_new(&path, "new").expect("written"));
        std::fs::write(&path, "mine").expect("written");
        assert!(!write_new(&path, "new").expect("kept"));
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "mine");
    }
}
