//! Submodules of a tree that was moved: their repositories lie in the tree's own directory, and both sides name each
//! other by relative paths, which are written anew here. What is in them is not looked at.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// From where to where a tree and its own directory went.
pub(super) struct Moved<'a> {
    pub own: &'a Path,
    pub top: &'a Path,
    pub new_own: &'a Path,
    pub new_top: &'a Path,
}

/// Makes submodules and their repositories find each other again. It may be done twice.
pub(super) fn follow(moved: &Moved) -> io::Result<()> {
    let mut open = vec![moved.new_own.join("modules")];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
        for module in inner {
            match module.join("HEAD").is_file() && module.join("config").is_file() {
                true => {
                    follow_one(moved, &module)?;
                    // Submodules of a submodule.
                    open.push(module.join("modules"));
                }
                // A name may have slashes.
                false => open.push(module),
            }
        }
    }
    Ok(())
}

fn follow_one(moved: &Moved, module: &Path) -> io::Result<()> {
    let config = fs::read_to_string(module.join("config"))?;
    let named = config.lines().find_map(|line| line.trim().strip_prefix("worktree = ").map(|path| (line, path)));
    let Some((line, path)) = named else { return Ok(()) };
    let before = moved.own.join(module.strip_prefix(moved.new_own).unwrap_or(module));
    // Absolute once it was written here: then it is done.
    let place = plain(&before.join(path));
    let Ok(below) = place.strip_prefix(moved.top) else { return Ok(()) };
    let place = moved.new_top.join(below);
    fs::write(place.join(".git"), format!("gitdir: {}\n", module.display()))?;
    fs::write(module.join("config"), config.replace(line, &format!("\tworktree = {}", place.display())))
}

/// Returns a path without `..`, by its words alone: what it leads through is not there any more.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(found.pop()),
            part => found.push(part),
        }
    }
    found
}
