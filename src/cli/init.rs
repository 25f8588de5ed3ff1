//! `fleetd init`: a first configuration and charter. It never writes over a file that is there, so it can be run as
//! often as one likes.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use crate::charter;
use crate::daemon::DEFAULT_CHARTER;

pub const EXAMPLES: &str = "\
Examples:
  fleetd init
  fleetd init --dry-run
  fleetd init team && cd team && fleetd serve";

const CONFIG: &str = include_str!("init/fleetd.toml");
/// How leading agents find the fleet's tools, in the project whose leader they are.
const CLIENT: &str = include_str!("init/mcp.json");
const CLIENT_FILE: &str = ".mcp.json";
const EDITOR: &str = include_str!("init/luarc.json");
const CHARTER: &str = "charters/default";
/// What an editor needs to know the verbs of a charter; `.luarc.json` names its folder.
const META: &str = "charters/meta/fleet.lua";

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
    /// Not written, because a charter is there already.
    left_out: Vec<PathBuf>,
    dry_run: bool,
}

/// Writes what is not there yet.
pub fn run(terminal: &Terminal, args: InitArgs) -> Result<Exit, Failure> {
    let mut done = Done { dry_run: args.dry_run, ..Done::default() };
    let has_charter = holds_lua(&args.dir.join(CHARTER));
    for (name, text) in files() {
        let path = if args.dir == Path::new(".") { PathBuf::from(&name) } else { args.dir.join(&name) };
        if has_charter && name.starts_with(CHARTER) && is_free(&path)? {
            done.left_out.push(path);
            continue;
        }
        let is_new = if args.dry_run { is_free(&path)? } else { write_new(&path, &text)? };
        if is_new { done.written.push(path) } else { done.kept.push(path) }
    }
    if terminal.json {
        terminal.print_json(&done)?;
        return Ok(Exit::Ok);
    }
    let verb = if args.dry_run { "would write" } else { "wrote" };
    let mut lines: Vec<String> = done.written.iter().map(|path| format!("{verb} {}", path.display())).collect();
    lines.extend(done.kept.iter().map(|path| format!("kept {}: it is there already", path.display())));
    if done.kept.iter().any(|path| path.ends_with(CLIENT_FILE)) {
        lines.push(format!(
            "for the leader's tools {CLIENT_FILE} needs: {}",
            CLIENT.split_whitespace().collect::<String>()
        ));
    }
    if !done.left_out.is_empty() {
        let names: Vec<String> = done.left_out.iter().map(|path| path.display().to_string()).collect();
        lines.push(format!("left out {}: a charter is there already", names.join(", ")));
    }
    terminal.print(&lines.join("\n"))?;
    if !args.dry_run {
        let cd = if args.dir == Path::new(".") { String::new() } else { format!("cd {} && ", args.dir.display()) };
        terminal.talk(&format!("next: {cd}fleetd charter check && fleetd serve"));
    }
    Ok(Exit::Ok)
}

/// Returns everything that is written, by its path.
fn files() -> Vec<(String, Cow<'static, str>)> {
    let own = [
        ("fleetd.toml", CONFIG.into()),
        (CLIENT_FILE, CLIENT.into()),
        (".luarc.json", EDITOR.into()),
        (META, charter::meta().into()),
    ];
    let own = own.into_iter().map(|(name, text)| (name.to_string(), text));
    own.chain(DEFAULT_CHARTER.iter().map(|(name, text)| (format!("{CHARTER}/{name}"), (*text).into()))).collect()
}

/// Tells whether a charter is in a directory: a Lua file, however deep. Links are not followed.
fn holds_lua(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => holds_lua(&entry.path()),
        _ => entry.path().extension().is_some_and(|end| end == "lua"),
    })
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
    use crate::config::{CharterSource, Machine, Surroundings, TokenError};

    struct AllThere;

    impl Machine for AllThere {
        fn is_dir(&self, _: &Path) -> bool {
            true
        }

        fn read_private(&self, _: &Path) -> Result<String, TokenError> {
            Err(("no token is asked for".into(), ""))
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn the_configuration_is_one_that_fleetd_takes() {
        let around = Surroundings { cwd: "/project".into(), home: Some("/home/me".into()), ..Surroundings::default() };
        let file = Path::new("/project/fleetd.toml");
        let config = crate::config::resolve(&Default::default(), &around, Some((file, CONFIG)), &AllThere);
        let config = config.expect("a valid file");
        assert_eq!(config.listen.to_string(), "127.0.0.1:7717");
        assert_eq!(config.charter, CharterSource::Dir("/project/charters/default".into()));
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
