//! `fleetd charter new`: a charter to begin with, and beside it what editors and linters need. Nothing that is there is
//! written over, and a directory that holds a charter already is left as it is.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use include_dir::{Dir, include_dir};
use serde::Serialize;

use super::super::exit::{Exit, Failure};
use super::super::terminal::Terminal;
use crate::charter;
use crate::fleet::refusal::Refusal;

static TEMPLATES: Dir = include_dir!("$CARGO_MANIFEST_DIR/charters");
/// The one that needs the scripts of `fleetd demo` beside it.
const NO_TEMPLATE: &str = "demo";
/// Where the verbs lie for the language server; no charter is read from a folder whose name begins with a dot.
const META: &str = ".meta";

/// What `charter new` is told.
#[derive(Args, Debug)]
pub struct NewArgs {
    /// Where
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// What to begin with: one of the shipped charters
    #[arg(long, value_name = "NAME", default_value = "minimal")]
    template: String,
}

#[derive(Debug, Default, Serialize)]
struct Done {
    template: String,
    written: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

/// Writes a charter.
pub fn run(terminal: &Terminal, args: NewArgs) -> Result<Exit, Failure> {
    let files = template(&args.template)?;
    if let Some(found) = first_lua(&args.dir) {
        return Err(Failure::Other {
            message: format!("{} holds a charter already: {} is there", args.dir.display(), found.display()),
            hints: vec!["name a directory that is new or empty".into()],
        });
    }
    let mut done = Done { template: args.template.clone(), ..Done::default() };
    for (name, text) in files.into_iter().chain(charter::editor_files(META)) {
        let path = args.dir.join(name);
        let is_new =
            write_new(&path, &text).map_err(|error| Failure::io(format!("cannot write {}", path.display()), error))?;
        if is_new { done.written.push(path) } else { done.kept.push(path) }
    }
    if terminal.json {
        terminal.print_json(&done)?;
        return Ok(Exit::Ok);
    }
    let mut lines: Vec<String> = done.written.iter().map(|path| format!("wrote {}", path.display())).collect();
    lines.extend(done.kept.iter().map(|path| format!("kept {}: it is there already", path.display())));
    terminal.print(&lines.join("\n"))?;
    let dir = args.dir.display();
    terminal.talk(&format!("next: fleetd charter watch {dir} while you edit it, and fleetd serve --charter {dir}"));
    Ok(Exit::Ok)
}

fn names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.dirs().filter_map(|dir| dir.path().to_str()).filter(|name| *name != NO_TEMPLATE)
}

/// Returns the files of a template by their paths in the charter.
fn template(name: &str) -> Result<Vec<(String, String)>, Failure> {
    let Some(dir) = names().find(|known| *known == name).and_then(|name| TEMPLATES.get_dir(name)) else {
        let refusal = Refusal::unknown("template", name, names());
        return Err(Failure::Other { message: refusal.message, hints: refusal.hints });
    };
    let mut files = Vec::new();
    gather(dir, Path::new(name), &mut files);
    files.sort();
    Ok(files)
}

fn gather(dir: &Dir<'_>, root: &Path, files: &mut Vec<(String, String)>) {
    for file in dir.files() {
        let name = file.path().strip_prefix(root).unwrap_or(file.path());
        if let (Some(name), Some(text)) = (name.to_str(), file.contents_utf8()) {
            files.push((name.to_owned(), text.to_owned()));
        }
    }
    for inner in dir.dirs() {
        gather(inner, root, files);
    }
}

/// Returns a Lua file of a directory that a charter would be read from, if there is one.
fn first_lua(dir: &Path) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    entries.into_iter().filter(|path| !hidden(path)).find_map(|path| match path.is_dir() && !path.is_symlink() {
        true => first_lua(&path),
        false => path.extension().is_some_and(|end| end == "lua").then_some(path),
    })
}

/// Writes a file unless something is there.
fn write_new(path: &Path, text: &str) -> std::io::Result<bool> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
