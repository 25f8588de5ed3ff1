//! How a tree is made: noted, planted, filled, each step so that it can be done again after a crash in its middle.
//!
//! Until the note says that it is made nobody works in it, so what is half there is ours to finish.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::copy;
use super::git::Git;
use super::note::{Made, Missing, Progress};
use super::repo::{Lock, Repo};
use super::users::users_of;
use super::{Wanted, WorktreeError};

/// Makes a tree, or finds it, or finishes it.
///
/// # Errors
///
/// Fails with what is in the way and what to do about it; it may be called again.
pub fn make(wanted: &Wanted) -> Result<Made, WorktreeError> {
    let repo = Repo::of(&wanted.repo)?;
    let place = real_place(&wanted.place)?;
    if place.starts_with(&repo.top) || place.starts_with(&repo.common) {
        return Err(WorktreeError::InsideRepo { place, repo: repo.top });
    }
    let _lock = Lock::of(&repo.common)?;
    let mut made = match Made::find(&place)? {
        Some(made) if made.owner == wanted.owner && made.common == repo.common && made.branch == wanted.branch => made,
        Some(other) => {
            return Err(WorktreeError::PlaceTaken { path: place, by: format!("an earlier tree, on {}", other.branch) });
        }
        None => begin(&repo, wanted, &place)?,
    };
    if made.progress == Progress::Begun {
        plant(&repo, &made)?;
        fill(&repo, wanted, &mut made)?;
    } else if !made.path.join(".git").is_file() {
        return Err(WorktreeError::Gone { path: made.path });
    }
    Ok(made)
}

/// Returns the place with a real parent, which is made if it is not there.
fn real_place(place: &Path) -> Result<PathBuf, WorktreeError> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(WorktreeError::PlaceTaken { path: place.to_owned(), by: "the root".into() });
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
    let real = made.and_then(|()| parent.canonicalize());
    Ok(real.map_err(|error| WorktreeError::file("make", parent, error))?.join(name))
}

/// Looks whether a tree can be made here, and notes that it is.
fn begin(repo: &Repo, wanted: &Wanted, place: &Path) -> Result<Made, WorktreeError> {
    // Before anything else: a list that can never be brought along must not leave a tree behind.
    copy::find(&repo.top, &wanted.copy)?;
    let (base, base_name) = repo.base(wanted.base.as_deref())?;
    let branch = &wanted.branch;
    let full = format!("refs/heads/{branch}");
    if branch.starts_with('-') || repo.git.ask(&["check-ref-format", &full])?.is_none() {
        return Err(WorktreeError::Branch { branch: branch.clone(), why: "this is no name of a branch".into() });
    }
    let mut above = branch.as_str();
    loop {
        let why = match above == branch {
            true => "there is one already: rename or delete it".to_owned(),
            false => format!("there is a branch '{above}', below which git can put none: rename it"),
        };
        if repo.git.ask(&["show-ref", "--verify", "--quiet", &format!("refs/heads/{above}")])?.is_some() {
            return Err(WorktreeError::Branch { branch: branch.clone(), why });
        }
        match above.rsplit_once('/') {
            Some((parent, _)) => above = parent,
            None => break,
        }
    }
    if place.symlink_metadata().is_ok() {
        return Err(WorktreeError::PlaceTaken { path: place.to_owned(), by: "something else".into() });
    }
    let made = Made {
        path: place.to_owned(),
        cwd: place.to_owned(),
        branch: branch.clone(),
        owner: wanted.owner.clone(),
        base,
        base_name,
        repo: repo.top.clone(),
        common: repo.common.clone(),
        progress: Progress::Begun,
        copied: Vec::new(),
        missing: Missing::default(),
        kept: Vec::new(),
    };
    made.write()?;
    Ok(made)
}

/// Sees that the tree and its branch are there, with the files of the base.
fn plant(repo: &Repo, made: &Made) -> Result<(), WorktreeError> {
    let place = made.path.as_path();
    let users = users_of(place).unwrap_or_default();
    if !users.is_empty() {
        // Such as the git of a daemon that was killed: it will end by itself.
        return Err(WorktreeError::Busy { path: place.to_owned(), users: users.join(", ") });
    }
    if !is_planted(made)? {
        clear_half(repo, place)?;
        let mut args = vec!["worktree", "add", "--quiet", "--no-checkout"];
        let at = repo.git.commit(&format!("refs/heads/{}", made.branch))?;
        let path = place.to_str().ok_or_else(|| WorktreeError::PlaceTaken {
            path: place.to_owned(),
            by: "a name that is not UTF-8".into(),
        })?;
        match at {
            // The branch is ours: the note was written when there was none of this name.
            Some(at) if at == made.base => args.extend(["--", path, &made.branch]),
            Some(_) => {
                let why = "there is one already, with other commits: rename or delete it".into();
                return Err(WorktreeError::Branch { branch: made.branch.clone(), why });
            }
            None => args.extend(["--no-track", "-b", &made.branch, "--", path, &made.base]),
        }
        repo.git.write(&args).map_err(|error| WorktreeError::git(error, place))?;
    }
    let tree = Git::at(place);
    let own = PathBuf::from(tree.line(&["rev-parse", "--absolute-git-dir"])?);
    // Nobody is in it: it is left by a git that was killed.
    remove_file(&own.join("index.lock"))?;
    tree.write(&["reset", "--quiet", "--hard", &made.base]).map_err(|error| WorktreeError::git(error, place))
}

/// Tells whether git has the tree already, on its branch.
fn is_planted(made: &Made) -> Result<bool, WorktreeError> {
    if !made.path.join(".git").is_file() {
        return Ok(false);
    }
    let tree = Git::at(&made.path);
    let head = tree.ask(&["symbolic-ref", "--quiet", "HEAD"]).ok().flatten().unwrap_or_default();
    let is_ours = String::from_utf8_lossy(&head).trim() == format!("refs/heads/{}", made.branch);
    Ok(is_ours && tree.commit("HEAD")?.as_ref() == Some(&made.base))
}

/// Clears away what a `git worktree add` left that was killed before it was done: it had not written a file yet.
fn clear_half(repo: &Repo, place: &Path) -> Result<(), WorktreeError> {
    remove_file(&place.join(".git"))?;
    match fs::remove_dir(place) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // It removes no more than an empty directory.
        Err(error) => return Err(WorktreeError::file("clear", place, error)),
    }
    let named = place.join(".git");
    for entry in fs::read_dir(repo.common.join("worktrees")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
        if Path::new(text.trim_end_matches('\n')) == named {
            let gone = fs::remove_dir_all(entry.path());
            gone.map_err(|error| WorktreeError::file("clear", &entry.path(), error))?;
        }
    }
    Ok(())
}

/// Brings along what the profile names, and notes that the tree is made and what it lacks.
fn fill(repo: &Repo, wanted: &Wanted, made: &mut Made) -> Result<(), WorktreeError> {
    let found = copy::find(&repo.top, &wanted.copy)?;
    made.copied = copy::bring(&found.files, &repo.top, &made.path)?;
    repo.hide_ours()?;
    made.missing = Missing { not_found: found.not_found, ..repo.missing(&made.base, &found.files)? };
    // The profile may name a directory that the base does not have; then the worker begins at the top.
    let below = made.path.join(&repo.below).canonicalize().ok();
    let below = below.filter(|cwd| cwd.is_dir() && cwd.starts_with(&made.path));
    made.cwd = below.unwrap_or_else(|| made.path.clone());
    made.progress = Progress::Made;
    made.write()
}

fn remove_file(path: &Path) -> Result<(), WorktreeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(WorktreeError::file("remove", path, error)),
        _ => Ok(()),
    }
}
