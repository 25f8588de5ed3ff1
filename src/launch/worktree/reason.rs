//! Why a tree is kept, in words for a person, each with what to do about it.
//! How it is found out is not here.

use std::fmt;
use std::path::PathBuf;

use super::note::Several;

/// One thing that would be lost, or disturbed, if the tree went now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Tracked files are changed, staged or in conflict.
    Changed(Several),
    /// There are files that git does not track and does not ignore.
    Untracked(Several),
    /// Changed files that git was told not to look at.
    Hidden(Several),
    /// Stashes were made on its branch.
    Stashed(Several),
    /// A rebase, a merge or the like was begun and not ended.
    Unfinished(&'static str),
    /// A git command works in it, or was killed in the middle.
    GitAtWork(PathBuf),
    /// Processes are in it.
    InUse(Several),
    /// There are commits that are nowhere else, by their subjects.
    Unmerged {
        /// The commits.
        commits: Several,
        /// The branch that has them; none when they are checked out without one.
        branch: Option<String>,
        /// The tree in which they can be pushed or merged.
        path: PathBuf,
    },
    /// A submodule has commits or stashes that are nowhere else.
    Submodule(String),
    /// It was locked with `git worktree lock`.
    Locked(String),
    /// What lies at its place is not the tree that was made.
    Another {
        /// The place.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// It could not be found out whether something would be lost.
    CannotTell(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(files) => {
                write!(
                    f,
                    "{} changed and not committed ({files}): commit or discard",
                    counted(files, "file is", "files are")
                )
            }
            Self::Untracked(files) => {
                write!(f, "{} not tracked ({files}): commit, ignore or remove", counted(files, "file is", "files are"))
            }
            Self::Hidden(files) => write!(
                f,
                "{} changed that git was told not to look at ({files}): git update-index --no-assume-unchanged --no-skip-worktree, then commit or discard",
                counted(files, "file is", "files are"),
            ),
            Self::Stashed(stashes) => {
                let these = if stashes.count == 1 { "a stash was" } else { "stashes were" };
                write!(f, "{these} made on its branch ({stashes}): apply or drop")
            }
            Self::Unfinished(what) => write!(f, "a {what} was begun and not ended: finish or abort it"),
            Self::GitAtWork(lock) => {
                write!(f, "a git command is at work in it; if none is, remove {}", lock.display())
            }
            Self::InUse(processes) => write!(f, "it is in use by {processes}: end or leave"),
            Self::Unmerged { commits, branch: None, path } => write!(
                f,
                "{} in no branch and not pushed ({commits}): give them one: git -C {} branch NAME HEAD",
                counted(commits, "commit is", "commits are"),
                path.display(),
            ),
            Self::Unmerged { commits, branch: Some(branch), path } => write!(
                f,
                "{} in no other branch and not pushed ({commits}): merge {branch}, or push it: git -C {} push -u origin {branch}",
                counted(commits, "commit is", "commits are"),
                path.display(),
            ),
            Self::Submodule(path) => {
                write!(f, "the submodule {path} has commits or stashes that are not pushed: push them")
            }
            Self::Locked(why) if why.is_empty() => f.write_str("it is locked: git worktree unlock"),
            Self::Locked(why) => write!(f, "it is locked ({why}): git worktree unlock"),
            Self::Another { path, found } => {
                write!(
                    f,
                    "what lies at {} is not the tree that was made: {found}; move it away, or put the tree back",
                    path.display()
                )
            }
            Self::CannotTell(why) => write!(f, "it cannot be seen whether work would be lost: {why}"),
        }
    }
}

fn counted(several: &Several, one: &str, more: &str) -> String {
    let what = if several.count == 1 { one } else { more };
    format!("{} {what}", several.count)
}

/// A tree that was not removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is kept: {}", said(reasons))]
pub struct Kept {
    /// The tree.
    pub name: String,
    /// Why; never empty.
    pub reasons: Vec<Reason>,
}

fn said(reasons: &[Reason]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
