//! The note beside a tree, `<tree>.json`: all that is known of it, so that a daemon that comes back needs no memory.
//!
//! It is written before the tree is begun and removed after the tree is gone. What is done with a tree is not here.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::WorktreeError;
use crate::launch::turn_dir::durable;

/// A tree that was made, or is being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The top of the tree.
    pub path: PathBuf,
    /// Where a worker works in it: the directory that stands for the profile's own.
    pub cwd: PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whose it is.
    pub owner: String,
    /// The commit that it began with.
    pub base: String,
    /// What the base was called, such as `refs/heads/main`, if it had a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_name: Option<String>,
    /// The top of the checkout that it was made from: the leader's.
    pub repo: PathBuf,
    /// The repository that all its trees share.
    pub common: PathBuf,
    /// How far it has come.
    pub progress: Progress,
    /// Files that were brought along from the leader's checkout.
    #[serde(default)]
    pub copied: Vec<Copied>,
    /// What the base lacks of the leader's work.
    #[serde(default)]
    pub missing: Missing,
    /// Why it was kept when it was last to be removed.
    #[serde(default)]
    pub kept: Vec<String>,
}

/// How far a tree has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It is being made; nobody has worked in it.
    Begun,
    /// Its files are there.
    Made,
    /// The profile's `setup` was run in it, or there is none.
    SetUp,
    /// Its worker is gone and it is to be removed as soon as nothing can be lost.
    Released,
}

/// A file that was brought along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Where, from the top.
    pub path: PathBuf,
    /// What it held then: hex SHA-256.
    pub hash: String,
}

/// What the base lacks of the leader's work. It is only told, never brought along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Tracked files that are changed in the leader's checkout and not committed.
    pub changed: Several,
    /// Files of the leader's checkout that git does not track and does not ignore.
    pub untracked: Several,
    /// Commits of the leader's branch that the base does not have, by their subjects.
    pub commits: Several,
    /// What the profile's `copy` names and the leader's checkout does not have.
    #[serde(default)]
    pub not_found: Vec<String>,
}

/// How many there are, and the names of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Several {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: Vec<String>,
}

impl Several {
    /// How many names are told.
    const FIRST: usize = 5;

    /// Counts these.
    pub fn of<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        let mut names = names.into_iter();
        let first: Vec<String> = names.by_ref().take(Self::FIRST).map(Into::into).collect();
        Self { count: first.len() + names.count(), first }
    }
}

impl std::fmt::Display for Several {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.first.join(", "))?;
        match self.count - self.first.len().min(self.count) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Missing {
    /// Tells whether the base lacks nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut said = Vec::new();
        for (what, some) in [
            ("changed and not committed", &self.changed),
            ("not tracked", &self.untracked),
            ("committed, but not in the base", &self.commits),
        ] {
            if some.count > 0 {
                said.push(format!("{what}: {some}"));
            }
        }
        if !self.not_found.is_empty() {
            said.push(format!("named by copy, but not there: {}", self.not_found.join(", ")));
        }
        f.write_str(&said.join("; "))
    }
}

impl Made {
    /// Reads the note of the tree at this place, if there is one.
    ///
    /// # Errors
    ///
    /// Fails when the note cannot be read or understood.
    pub fn find(place: &Path) -> Result<Option<Self>, WorktreeError> {
        let path = note_of(place);
        match fs::read(&path) {
            Ok(bytes) => {
                let made = serde_json::from_slice(&bytes);
                made.map(Some).map_err(|error| WorktreeError::file("understand", &path, error.into()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorktreeError::file("read", &path, error)),
        }
    }

    /// Returns the trees that have a note in this directory, by their names. One that cannot be read is left out.
    ///
    /// # Errors
    ///
    /// Fails when the directory cannot be read.
    pub fn all(directory: &Path) -> Result<Vec<Self>, WorktreeError> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(WorktreeError::file("list", directory, error)),
        };
        let notes = entries.flatten().map(|entry| entry.path());
        let notes = notes.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut places: Vec<PathBuf> = notes.map(|path| path.with_extension("")).collect();
        places.sort();
        let read = |place: &PathBuf| {
            Self::find(place).unwrap_or_else(|error| {
                tracing::warn!(%error, "a worktree is not looked after");
                None
            })
        };
        Ok(places.iter().filter_map(read).collect())
    }

    /// Returns its name: that of its directory.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Writes the note.
    pub(super) fn write(&self) -> Result<(), WorktreeError> {
        let path = note_of(&self.path);
        let (directory, name) = (path.parent().unwrap_or(&path), path.file_name().unwrap_or_default());
        let bytes = serde_json::to_vec_pretty(self).expect("a note is plain data");
        let written = durable::replace(directory, &name.to_string_lossy(), &bytes);
        written.map_err(|error| WorktreeError::file("write", &path, error))
    }

    /// Removes the note: the tree is gone.
    pub(super) fn forget(&self) -> Result<(), WorktreeError> {
        let path = note_of(&self.path);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(WorktreeError::file("remove", &path, error)),
            _ => Ok(()),
        }
    }
}

/// Returns where the note of a tree is.
pub(super) fn note_of(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_os_string();
    name.push(".json");
    place.with_file_name(name)
}
