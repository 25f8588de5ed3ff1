//! How a tree is removed: looked at, noted in the trash, looked at again, moved, and looked at once more.
//!
//! What is in doubt stays. Nothing is ever deleted here, only moved: deleting is the trash's, after its time.

use std::path::Path;

use super::WorktreeError;
use super::check::{Lying, cannot_tell};
use super::git::Git;
use super::note::{Made, Progress};
use super::reason::{Kept, Reason};
use super::repo::Lock;
use super::trash::{self, Entry};
use crate::fleet::time::{Span, Time};

/// A tree that was removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// Where it is now; nothing if it was gone already.
    pub trash: Option<Entry>,
}

/// Moves a tree to the trash, unless something would be lost or somebody disturbed. It may be called again after a
/// crash at any moment, and for a tree that is gone.
///
/// # Errors
///
/// Fails with all reasons to keep the tree; then it is where it was, and released: a later sweep may try again.
pub fn remove(made: &Made, trash: &Path, now: Time) -> Result<Removed, Kept> {
    removed(made, trash, now).map_err(|reasons| {
        let kept = Kept { name: made.name(), reasons };
        let kept_words = kept.reasons.iter().map(ToString::to_string).collect();
        let noted = match Made::find(&made.path) {
            Ok(Some(noted)) if noted.progress == Progress::Begun => noted,
            _ => Made { progress: Progress::Released, kept: kept_words, ..made.clone() },
        };
        if let Err(error) = noted.write() {
            tracing::warn!(worktree = %kept.name, %error, "why a worktree is kept cannot be noted");
        }
        kept
    })
}

/// Returns the reasons to keep a tree, were it to be removed now. Nothing is changed.
pub fn reasons(made: &Made) -> Vec<Reason> {
    if made.progress == Progress::Begun || made.path.symlink_metadata().is_err() {
        return Vec::new();
    }
    match Lying::at(made, &made.path) {
        Ok(lying) => lying.reasons(),
        Err(reason) => vec![reason],
    }
}

/// Tries all trees again whose workers are gone, and sweeps the trash. What came of it is logged.
pub fn tidy(trees: &Path, trash: &Path, now: Time, ttl: Span) {
    let released = match Made::all(trees) {
        Ok(all) => all.into_iter().filter(|made| made.progress == Progress::Released),
        Err(error) => return tracing::warn!(%error, "the worktrees cannot be listed"),
    };
    for made in released {
        if let Ok(removed) = remove(&made, trash, now) {
            tracing::info!(worktree = removed.name, "a worktree that was kept could be removed now");
        }
    }
    let swept = trash::sweep(trash, now, ttl);
    swept.deleted.iter().for_each(|name| tracing::info!(worktree = name, "its time in the trash is over"));
    swept.failed.iter().for_each(|why| tracing::warn!(why, "an entry of the trash stays"));
}

fn removed(made: &Made, trash: &Path, now: Time) -> Result<Removed, Vec<Reason>> {
    let failed = |error: WorktreeError| vec![Reason::CannotTell(error.to_string())];
    if !made.common.is_dir() {
        let why = format!("its repository {} is gone", made.common.display());
        return Err(vec![Reason::CannotTell(why)]);
    }
    let _lock = Lock::of(&made.common).map_err(failed)?;
    for entry in trash::entries(trash).into_iter().filter(|entry| !entry.done && entry.made.path == made.path) {
        if let Some(entry) = trash::resume(entry).map_err(failed)? {
            return Ok(Removed { name: made.name(), trash: Some(entry) });
        }
    }
    if made.path.symlink_metadata().is_err() {
        // Somebody removed it. Its branch, if it is still there, has what was committed, and stays; one on which nobody
        // ever worked goes.
        let branch = format!("refs/heads/{}", made.branch);
        if made.progress == Progress::Begun {
            drop(Git::at(&made.common).ask(&["update-ref", "-d", &branch, &made.base]));
        }
        made.forget().map_err(failed)?;
        return Ok(Removed { name: made.name(), trash: None });
    }
    let entry = match made.progress {
        Progress::Begun => put_away_unmade(made, trash, now)?,
        _ => put_away(made, trash, now)?,
    };
    let entry = entry.finish().map_err(failed)?;
    Ok(Removed { name: made.name(), trash: Some(entry) })
}

/// Puts a tree into the trash in which somebody may have worked.
fn put_away(made: &Made, trash: &Path, now: Time) -> Result<Entry, Vec<Reason>> {
    let failed = |error: WorktreeError| vec![Reason::CannotTell(error.to_string())];
    let lying = Lying::at(made, &made.path).map_err(|reason| vec![reason])?;
    // Before the look: what is committed after it must be seen to be another commit.
    let tips = lying.tips().map_err(|error| vec![cannot_tell(error)])?;
    none_of(lying.reasons())?;
    let entry = Entry::open(trash, now, made, Some(&lying.own), &lying.git).map_err(failed)?;
    // What has come up since the first look is seen here. The rename is next.
    let again = still_fine(&lying, &tips).and_then(|()| {
        entry.take_in().map_err(|error| failed(WorktreeError::file("move to the trash", &made.path, error)))
    });
    if let Err(reasons) = again {
        if let Err(error) = trash::resume(entry) {
            tracing::warn!(worktree = %made.name(), %error, "an empty entry stays in the trash until the next sweep");
        }
        return Err(reasons);
    }
    // Whoever wrote between the look and the rename has written into the trash: it is put back.
    let tree = entry.tree();
    let inside = Lying::at(made, &tree).map_err(|reason| vec![reason]);
    if let Err(reasons) = inside.and_then(|lying| still_fine(&lying, &tips)) {
        entry.give_back().map_err(failed)?;
        return Err(reasons);
    }
    Ok(entry)
}

/// Puts a tree into the trash that never was whole: nobody has worked in it, and what is there may be half of a file.
fn put_away_unmade(made: &Made, trash: &Path, now: Time) -> Result<Entry, Vec<Reason>> {
    let failed = |error: WorktreeError| vec![Reason::CannotTell(error.to_string())];
    let own = Lying::at(made, &made.path).ok().map(|lying| lying.own);
    let git = if own.is_some() { Git::at(&made.path) } else { Git::at(&made.common) };
    let entry = Entry::open(trash, now, made, own.as_deref(), &git).map_err(failed)?;
    let moved = entry.take_in();
    moved.map_err(|error| failed(WorktreeError::file("move to the trash", &made.path, error)))?;
    Ok(entry)
}

fn still_fine(lying: &Lying, tips: &[String]) -> Result<(), Vec<Reason>> {
    none_of(lying.passing())?;
    match lying.tips() {
        Ok(now) if now == tips => Ok(()),
        Ok(_) => Err(vec![Reason::CannotTell("something was committed in it just now".into())]),
        Err(error) => Err(vec![cannot_tell(error)]),
    }
}

fn none_of(reasons: Vec<Reason>) -> Result<(), Vec<Reason>> {
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}
