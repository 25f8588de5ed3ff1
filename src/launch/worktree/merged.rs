//! Whether the commits of a tree are somewhere else: reached from another branch, pushed, or there in another form.
//!
//! A squash merge or a rebase makes other commits of the same changes. They are known by their patch ids, byte by byte,
//! or because a merge would bring nothing any more. What cannot be shown counts as not merged.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::git::{Git, GitError, Patches};
use super::note::{Made, Several};

/// How many branches are compared with.
const BRANCHES: usize = 100;
/// How many commits of other branches are compared with, the newest first.
const COMMITS: &str = "--max-count=3000";

/// What is asked about.
pub(super) struct Tips<'a> {
    /// git in the tree.
    pub git: &'a Git,
    /// The tree, whose own branch does not count as somewhere else.
    pub made: &'a Made,
}

impl Tips<'_> {
    /// Returns the commits that would be lost with this one, by their subjects.
    pub(super) fn unmerged(&self, tip: &str) -> Result<Option<Several>, GitError> {
        let own = self.own(tip)?;
        if own.is_empty() || self.is_there_now(tip)? {
            return Ok(None);
        }
        let theirs = self.patches_elsewhere(tip)?;
        if self.is_there_in_parts(&own, &theirs)? || self.is_there_as_a_whole(tip, &theirs)? {
            return Ok(None);
        }
        let mut args = vec!["log", "--no-walk=unsorted", "--format=%h %s"];
        args.extend(own.keys().map(String::as_str).take(50));
        let subjects = self.git.lines(&args)?;
        Ok(Some(Several { count: own.len(), ..Several::of(subjects) }))
    }

    /// Returns the commits that only this one reaches, with their parents.
    fn own(&self, tip: &str) -> Result<BTreeMap<String, Vec<String>>, GitError> {
        let elsewhere = elsewhere(&self.made.branch);
        let mut args: Vec<&str> = vec!["rev-list", "--parents", tip];
        args.extend(elsewhere.iter().map(String::as_str));
        // A leader without a branch has its commits by its own checkout. The base is no such place: it may be the
        // work of a tree that has gone since, and that went because this one has it too.
        let leader = match self.made.repo.join(".git") == self.made.common {
            true => Git::at(&self.made.repo).commit("HEAD")?,
            false => None,
        };
        args.extend(leader.as_deref());
        Ok(parents_of(&self.git.lines(&args)?))
    }

    /// Tells whether some branch, as it is now, has all that was changed.
    fn is_there_now(&self, tip: &str) -> Result<bool, GitError> {
        if !self.may_merge() {
            return Ok(false);
        }
        for branch in self.branches()? {
            let Some(base) = self.base_with(tip, &branch)? else { continue };
            // Where nothing is changed in the end, what was done and undone is nowhere else.
            let changes = self.git.ask(&["diff-tree", "--quiet", "-r", &base, tip])?.is_none();
            if changes && self.would_bring_nothing(tip, &branch)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells whether each commit's change was made by another one: rebased, or picked.
    fn is_there_in_parts(
        &self,
        own: &BTreeMap<String, Vec<String>>,
        theirs: &HashSet<String>,
    ) -> Result<bool, GitError> {
        let (merges, plain): (Vec<_>, Vec<_>) = own.iter().partition(|(_, parents)| parents.len() > 1);
        for (merge, _) in merges {
            // What a merge took from either side is looked for there. What it has from neither is its own work.
            let args = ["diff-tree", "--cc", "-p", "--no-commit-id", "--no-ext-diff", "--no-textconv", merge];
            if !self.git.run(&args)?.is_empty() {
                return Ok(false);
            }
        }
        let plain: Vec<String> = plain.into_iter().map(|(commit, _)| commit.clone()).collect();
        let ours = self.git.patch_ids(Patches::Of(&plain))?;
        let with_patch: HashSet<&str> = ours.iter().map(|(_, commit)| commit.as_str()).collect();
        for commit in plain.iter().filter(|commit| !with_patch.contains(commit.as_str())) {
            // A commit of nothing but its message has no patch; one that changes something and has none is not known.
            if !self.git.run(&["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", commit])?.is_empty() {
                return Ok(false);
            }
        }
        Ok(ours.iter().all(|(id, _)| theirs.contains(id)))
    }

    /// Tells whether all changes together were made by one commit: squashed.
    fn is_there_as_a_whole(&self, tip: &str, theirs: &HashSet<String>) -> Result<bool, GitError> {
        let mut bases = BTreeSet::new();
        for branch in self.branches()? {
            bases.extend(self.base_with(tip, &branch)?);
        }
        for base in bases {
            let whole = self.git.patch_ids(Patches::Between(&base, tip))?;
            if whole.first().is_some_and(|(id, _)| theirs.contains(id)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns where a branch and this commit parted.
    fn base_with(&self, tip: &str, branch: &str) -> Result<Option<String>, GitError> {
        let base = self.git.ask(&["merge-base", tip, branch])?;
        Ok(base.map(|base| String::from_utf8_lossy(&base).trim().to_owned()))
    }

    /// Tells whether a merge into this branch would leave it as it is: all that the tree changed is there.
    fn would_bring_nothing(&self, tip: &str, branch: &str) -> Result<bool, GitError> {
        let empty = self.git.line(&["hash-object", "-t", "tree", "/dev/null"])?;
        // Plain merges of text: one by attributes may drop a side without a word, or start a program.
        let attributes = format!("--attr-source={empty}");
        let settings = ["-c", "core.attributesFile=/dev/null", "-c", "merge.default=text"];
        let asked = ["merge-tree", "--write-tree", branch, tip];
        let merged = match self.git.ask(&[&[attributes.as_str()], &settings[..], &asked[..]].concat()) {
            Ok(Some(merged)) => String::from_utf8_lossy(&merged).trim().to_owned(),
            // A conflict, or a git that cannot do it: nothing is shown.
            Ok(None) | Err(GitError::Failed { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(merged == self.git.line(&["rev-parse", &format!("{branch}^{{tree}}")])?)
    }

    /// Tells whether the repository leaves merges as they are: its own attributes cannot be passed over.
    fn may_merge(&self) -> bool {
        let attributes = std::fs::read(self.made.common.join("info/attributes")).unwrap_or_default();
        !String::from_utf8_lossy(&attributes).contains("merge")
    }

    /// Returns the tips of all other branches, the newest first.
    fn branches(&self) -> Result<Vec<String>, GitError> {
        let own = format!("refs/heads/{}", self.made.branch);
        let format = "--format=%(objectname) %(refname)";
        let lines = self.git.lines(&["for-each-ref", "--sort=-committerdate", format, "refs/heads", "refs/remotes"])?;
        let mut seen = HashSet::new();
        let others = lines.iter().filter_map(|line| line.split_once(' ')).filter(|(_, name)| *name != own);
        let others = others.filter(|(commit, _)| seen.insert(commit.to_string()));
        Ok(others.take(BRANCHES).map(|(commit, _)| commit.to_owned()).collect())
    }

    /// Returns the patch ids of what other branches have and this commit does not reach.
    fn patches_elsewhere(&self, tip: &str) -> Result<HashSet<String>, GitError> {
        let exclude = format!("--exclude={}", self.made.branch);
        let args = ["rev-list", "--no-merges", COMMITS, &exclude, "--branches", "--remotes", "--not", tip];
        let commits = self.git.lines(&args)?;
        Ok(self.git.patch_ids(Patches::Of(&commits))?.into_iter().map(|(id, _)| id).collect())
    }
}

/// Returns the arguments that leave out what is reached from anywhere but the tree's own branch and the trash.
pub(super) fn elsewhere(branch: &str) -> [String; 5] {
    let exclude = format!("--exclude={branch}");
    ["--not".into(), exclude, "--branches".into(), "--remotes".into(), "--tags".into()]
}

/// Reads `rev-list --parents`.
pub(super) fn parents_of(lines: &[String]) -> BTreeMap<String, Vec<String>> {
    let line = |line: &String| {
        let mut words = line.split(' ').map(str::to_owned);
        Some((words.next()?, words.collect()))
    };
    lines.iter().filter_map(line).collect()
}
