//! The repository from which trees are made: where it is, what its leader's checkout holds beside the base, and the
//! lock under which its trees come and go one after the other.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::git::{Git, GitError};
use super::note::{Missing, Several};
use super::status::{Dirt, shown};
use crate::launch::exclude::hide_ours;

/// A repository, seen from a directory in one of its checkouts.
pub(super) struct Repo {
    /// git at the top of the checkout.
    pub git: Git,
    /// The top of the checkout.
    pub top: PathBuf,
    /// What all its trees share.
    pub common: PathBuf,
    /// The directory below the top.
    pub below: PathBuf,
}

impl Repo {
    /// Finds the repository in which a directory lies.
    pub(super) fn of(directory: &Path) -> Result<Self, WorktreeError> {
        let not = |said: String| WorktreeError::NotARepo { path: directory.to_owned(), said };
        if !directory.is_dir() {
            return Err(not("there is no such directory".into()));
        }
        let git = Git::within(directory);
        let args = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"];
        let seen = match git.lines(&args) {
            Ok(seen) => seen,
            Err(GitError::Failed { said, .. }) => return Err(not(said)),
            Err(error) => return Err(error.into()),
        };
        let [top, common] = &seen[..] else { return Err(not("git does not say where it is".into())) };
        let real = |path: &Path| path.canonicalize().map_err(|error| WorktreeError::file("find", path, error));
        let (top, common) = (real(Path::new(top))?, real(Path::new(common))?);
        let below = real(directory)?.strip_prefix(&top).map(Path::to_owned).unwrap_or_default();
        Ok(Self { git: Git::at(&top), top, common, below })
    }

    /// Returns the commit that a tree begins with, and the full name of what was named.
    pub(super) fn base(&self, name: Option<&str>) -> Result<(String, Option<String>), WorktreeError> {
        let wanted = name.unwrap_or("HEAD");
        let Some(commit) = self.git.commit(wanted)? else {
            if self.git.commit("HEAD")?.is_none() && name.is_none_or(|name| name == "HEAD") {
                return Err(WorktreeError::NoCommit { repo: self.top.clone() });
            }
            let branches =
                self.git.lines(&["for-each-ref", "--count=20", "--format=%(refname:short)", "refs/heads"])?;
            return Err(WorktreeError::UnknownBase { base: wanted.into(), repo: self.top.clone(), branches });
        };
        let named = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", wanted];
        let full = self.git.ask(&named)?.unwrap_or_default();
        let full = String::from_utf8_lossy(&full).trim().to_owned();
        Ok((commit, Some(full).filter(|full| full.starts_with("refs/"))))
    }

    /// Returns what a base lacks of what is in the checkout, files left out that are brought along.
    pub(super) fn missing(&self, base: &str, along: &[PathBuf]) -> Result<Missing, WorktreeError> {
        let dirt = Dirt::of(&self.git, &[])?;
        let left = |files: &[PathBuf]| -> Vec<PathBuf> {
            files.iter().filter(|file| !along.contains(file)).cloned().collect()
        };
        let (changed, untracked) = (left(&dirt.changed), left(&dirt.untracked));
        let commits = match self.git.commit("HEAD")? {
            None => Vec::new(),
            Some(head) => self.git.lines(&["log", "--format=%h %s", &format!("{base}..{head}")])?,
        };
        Ok(Missing {
            changed: Several::of(shown(&changed)),
            untracked: Several::of(shown(&untracked)),
            commits: Several::of(commits),
            not_found: Vec::new(),
        })
    }

    /// Keeps `.fleet/` out of what git sees, in all trees.
    pub(super) fn hide_ours(&self) -> Result<(), WorktreeError> {
        let path = self.common.join("info/exclude");
        hide_ours(&self.common).map_err(|error| WorktreeError::file("write", &path, error))
    }
}

/// The right to make and remove trees of a repository, until it is dropped. Two that go at once could each take the
/// other's branch for the place where their common commits stay.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn of(common: &Path) -> Result<Self, WorktreeError> {
        let path = common.join("fleetd-worktrees.lock");
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let locked = opened.and_then(|file| file.lock().map(|()| file));
        locked.map(|file| Self { _file: file }).map_err(|error| WorktreeError::file("lock", &path, error))
    }
}
