//! A git worktree for each worker: made from a stated base, looked at, and removed so that no work can be lost.
//!
//! Plain data in, plain data out. All of it blocks, so callers give it a thread where that is allowed. What is known of
//! a tree lies in a note beside it. Which worker has which tree, and when it goes, is decided elsewhere.

mod check;
mod copy;
mod git;
mod make;
mod merged;
mod note;
mod reason;
mod remove;
mod repo;
mod run;
mod setup;
mod standing;
mod status;
mod submodules;
mod trash;
mod users;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub use git::GitError;
pub use make::make;
pub use note::{Copied, Made, Missing, Progress, Several};
pub use reason::{Kept, Reason};
pub use remove::{Removed, reasons, remove, tidy};
pub use setup::set_up;
pub use standing::standing;
pub use trash::{Entry, Swept, entries, sweep};

/// A tree that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A directory anywhere in a checkout of the repository: the profile's.
    pub repo: PathBuf,
    /// What the tree begins with: anything that git takes for a commit; the checkout's own commit if absent.
    pub base: Option<String>,
    /// Files and patterns of the checkout that are brought along, from its top.
    pub copy: Vec<String>,
    /// Where the tree goes, outside the repository.
    pub place: PathBuf,
    /// Its branch, which must not be there yet.
    pub branch: String,
    /// Whose it is: a tree of one name that was made for somebody else is not given to this one.
    pub owner: String,
}

/// Why a tree cannot be made or looked at, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// The directory is in no repository that git would read.
    #[error("{} is in no git repository that has files: {said}; give the profile the cwd of a checkout, or no worktree", path.display())]
    NotARepo {
        /// The directory.
        path: PathBuf,
        /// What git said.
        said: String,
    },
    /// Nothing was ever committed.
    #[error("{} has no commit yet, so a worktree would be empty: make a first commit", repo.display())]
    NoCommit {
        /// The checkout.
        repo: PathBuf,
    },
    /// The base means no commit.
    #[error("there is no commit '{base}' in {}; its branches: {}", repo.display(), branches.join(", "))]
    UnknownBase {
        /// What was named.
        base: String,
        /// The checkout.
        repo: PathBuf,
        /// The first of its branches.
        branches: Vec<String>,
    },
    /// The branch cannot be made.
    #[error("branch '{branch}' cannot be made: {why}")]
    Branch {
        /// The branch.
        branch: String,
        /// What is in the way.
        why: String,
    },
    /// Something is where the tree is to be.
    #[error("{} is taken by {by}: move it away", path.display())]
    PlaceTaken {
        /// The place.
        path: PathBuf,
        /// What is there.
        by: String,
    },
    /// The place is in the repository itself.
    #[error("{} is inside the repository {}: keep fleetd's state outside (--state)", place.display(), repo.display())]
    InsideRepo {
        /// The place.
        place: PathBuf,
        /// The checkout.
        repo: PathBuf,
    },
    /// A process is in a tree that is being made.
    #[error("{} is being made, and in use by {users}: try again", path.display())]
    Busy {
        /// The tree.
        path: PathBuf,
        /// The processes.
        users: String,
    },
    /// The tree was made once and is not there any more.
    #[error("the worktree {} is gone: somebody removed it", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no room for the worktree {}: free some space ({said})", path.display())]
    NoRoom {
        /// The tree.
        path: PathBuf,
        /// What was said.
        said: String,
    },
    /// A file cannot be brought along.
    #[error("copy '{what}': {why}")]
    Copy {
        /// The pattern or the file.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// The profile's setup did not work.
    #[error("setup '{command}' in {}: {why}; its last lines:\n{last}", path.display())]
    Setup {
        /// Program and arguments.
        command: String,
        /// Where it was run.
        path: PathBuf,
        /// How it ended.
        why: String,
        /// The end of what it printed.
        last: String,
    },
    /// git gave no answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file cannot be read or written.
    #[error("cannot {did} {}: {source}", path.display())]
    File {
        /// What was tried.
        did: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl WorktreeError {
    fn file(did: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoRoom { path, said: source.to_string() },
            _ => Self::File { did, path, source },
        }
    }

    /// What git said while it wrote a tree.
    fn git(error: GitError, path: &Path) -> Self {
        match error {
            GitError::Failed { said, .. } if said.contains("No space left") || said.contains("quota exceeded") => {
                Self::NoRoom { path: path.to_owned(), said }
            }
            error => Self::Git(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_such_whoever_found_it() {
        let place = Path::new("/state/worktrees/w-1-5");
        let said = "error: unable to write file a.txt: No space left on device".to_owned();
        let by_git = WorktreeError::git(GitError::Failed { did: "reset".into(), said }, place);
        let by_us = WorktreeError::file("write", place, ErrorKind::StorageFull.into());
        for error in [by_git, by_us] {
            let told = error.to_string();
            assert!(told.starts_with("no room for the worktree /state/worktrees/w-1-5: free some space ("), "{told}");
        }
    }
}
