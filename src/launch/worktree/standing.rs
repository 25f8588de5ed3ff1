//! How far the work in a tree has come since its base, for the envelope of a reply.
//! It only looks; whether anything may be lost is asked in `check`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::WorktreeError;
use super::git::Git;
use super::note::Made;
use super::status::Dirt;
use crate::fleet::work::Work;

/// Looks how a tree stands to its base.
///
/// # Errors
///
/// Fails when the tree is gone or git cannot read it.
pub fn standing(made: &Made) -> Result<Work, WorktreeError> {
    if !made.path.join(".git").is_file() {
        return Err(WorktreeError::Gone { path: made.path.clone() });
    }
    let git = Git::at(&made.path);
    let head = git.ask(&["symbolic-ref", "--short", "--quiet", "HEAD"])?;
    let branch = head.map(|name| String::from_utf8_lossy(&name).trim().to_owned());
    let commits = git.line(&["rev-list", "--count", &format!("{}..HEAD", made.base)])?;
    let dirt = Dirt::of(&git, &made.copied)?;
    let names = git.run(&["diff-tree", "-r", "-z", "--no-renames", "--name-only", &made.base, "HEAD"])?;
    let committed = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut files: BTreeSet<PathBuf> =
        committed.map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned())).collect();
    let dirty = !dirt.is_clean();
    files.extend(dirt.changed.into_iter().chain(dirt.untracked).chain(dirt.hidden));
    Ok(Work {
        branch,
        base: made.base.clone(),
        commits: commits.parse().unwrap_or(0),
        files_changed: files.len() as u64,
        dirty,
    })
}
