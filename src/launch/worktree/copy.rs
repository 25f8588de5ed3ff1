//! Files of the leader's checkout that a tree is to have too, such as `.env`: named by the profile, as names or with
//! `*`, `?` and `**`.
//!
//! Only what lies in the checkout is brought along, and only into the tree: no name and no link leads out of either.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::note::Copied;
use super::status::hash_of;
use crate::fleet::work::copy_parts;

/// How many files are brought along at most: a pattern that matches more was not meant so.
const MOST: usize = 50_000;

/// What a list of patterns comes to.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files and links, from the top of the checkout.
    pub files: Vec<PathBuf>,
    /// Patterns that nothing has.
    pub not_found: Vec<String>,
}

/// Finds what the patterns name in a checkout.
pub(super) fn find(top: &Path, patterns: &[String]) -> Result<Found, WorktreeError> {
    let mut found = Found::default();
    for pattern in patterns {
        let wrong = |why: String| WorktreeError::Copy { what: pattern.clone(), why };
        let parts = copy_parts(pattern).map_err(wrong)?;
        let before = found.files.len();
        walk(top, Path::new(""), &parts, &mut found.files).map_err(wrong)?;
        if found.files.len() == before {
            found.not_found.push(pattern.clone());
        }
    }
    found.files.sort();
    found.files.dedup();
    Ok(found)
}

/// Brings files along and says what they hold.
pub(super) fn bring(files: &[PathBuf], from: &Path, to: &Path) -> Result<Vec<Copied>, WorktreeError> {
    let copy = |file: &PathBuf| {
        bring_one(&from.join(file), to, file)
            .and_then(|()| hash_of(&to.join(file)))
            .map_err(|error| WorktreeError::Copy { what: file.display().to_string(), why: error.to_string() })
    };
    files.iter().map(|file| Ok(Copied { path: file.clone(), hash: copy(file)? })).collect()
}

/// Adds the files that the parts of a pattern name below a directory.
fn walk(top: &Path, at: &Path, parts: &[String], files: &mut Vec<PathBuf>) -> Result<(), String> {
    let Some((part, rest)) = parts.split_first() else { return take(top, at, files) };
    if !part.contains(['*', '?']) {
        let next = at.join(part);
        return match fs::symlink_metadata(top.join(&next)) {
            Ok(_) => walk(top, &next, rest, files),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
    }
    if part == "**" {
        walk(top, at, rest, files)?;
    }
    for name in names_in(&top.join(at))? {
        let (next, is_directory) = (at.join(&name), is_real_directory(&top.join(at).join(&name)));
        if part == "**" && is_directory {
            walk(top, &next, parts, files)?;
        } else if part != "**" && matches(part.as_bytes(), name.as_bytes()) {
            walk(top, &next, rest, files)?;
        }
    }
    Ok(())
}

/// Adds a file, or all files of a directory.
fn take(top: &Path, at: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let path = top.join(at);
    let real = path.canonicalize().map_err(|error| format!("{}: {error}", at.display()))?;
    if !real.starts_with(top) || real.starts_with(top.join(".git")) {
        return Err(format!("{} leads out of the repository, to {}", at.display(), real.display()));
    }
    if is_real_directory(&path) {
        names_in(&path)?.iter().try_for_each(|name| take(top, &at.join(name), files))
    } else if path.is_file() || path.is_symlink() {
        files.push(at.to_owned());
        if files.len() > MOST { Err(format!("it names more than {MOST} files")) } else { Ok(()) }
    } else {
        Err(format!("{} is neither a file nor a directory", at.display()))
    }
}

fn names_in(directory: &Path) -> Result<Vec<std::ffi::OsString>, String> {
    if !is_real_directory(directory) {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).filter(|name| name != ".git").collect();
    names.sort();
    Ok(names)
}

fn is_real_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Tells whether a name fits a pattern of `*` and `?`. As in a shell, no star stands for the dot of a hidden file.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    fn fits(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|n| fits(rest, &name[n..])),
            Some((b'?', rest)) => !name.is_empty() && fits(rest, &name[1..]),
            Some((byte, rest)) => name.first() == Some(byte) && fits(rest, &name[1..]),
        }
    }
    (name.first() != Some(&b'.') || pattern.first() == Some(&b'.')) && fits(pattern, name)
}

/// Writes one file beside its name and gives it the name last, so that half of it is never there.
fn bring_one(from: &Path, to: &Path, file: &Path) -> io::Result<()> {
    let mut parent = to.to_owned();
    for part in file.parent().into_iter().flat_map(Path::components) {
        parent.push(part);
        match fs::symlink_metadata(&parent) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{} of the base is in the way", parent.display()))),
            Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir(&parent)?,
            Err(error) => return Err(error),
        }
    }
    let target = to.join(file);
    if is_real_directory(&target) {
        return Err(io::Error::other("the base has a directory of this name"));
    }
    let beside = parent.join(format!(".fleetd-{}", std::process::id()));
    drop(fs::remove_file(&beside));
    match fs::symlink_metadata(from)?.is_symlink() {
        true => symlink(fs::read_link(from)?, &beside)?,
        false => fs::copy(from, &beside).map(drop)?,
    }
    fs::rename(&beside, &target).inspect_err(|_| drop(fs::remove_file(&beside)))
}
