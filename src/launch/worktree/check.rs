//! What would be lost, or whom it would disturb, if a tree went now.
//! It only looks: nothing is changed here, and what follows from it is decided in `remove`.

use std::fs;
use std::path::{Path, PathBuf};

use super::git::{Git, GitError};
use super::merged::Tips;
use super::note::{Made, Several};
use super::reason::Reason;
use super::status::{Dirt, shown};
use super::users::users_of;

/// What git leaves in a tree's own directory between the beginning and the end of something long.
const UNFINISHED: &[(&str, &str)] = &[
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisection"),
    ("sequencer", "sequence of picks"),
];

/// A tree as it lies somewhere: at its place, or in the trash.
pub(super) struct Lying<'a> {
    pub made: &'a Made,
    /// Where it is now.
    pub top: &'a Path,
    pub git: Git,
    /// The tree's own directory in the repository.
    pub own: PathBuf,
}

impl<'a> Lying<'a> {
    /// Finds the tree at this place; the error says what is there instead.
    pub(super) fn at(made: &'a Made, top: &'a Path) -> Result<Self, Reason> {
        let another = |found: &str| Reason::Another { path: top.to_owned(), found: found.to_owned() };
        let text = fs::read_to_string(top.join(".git")).map_err(|_| another("it has no file .git"))?;
        let own = top.join(text.strip_prefix("gitdir: ").unwrap_or_default().trim_end_matches('\n'));
        let own = own.canonicalize().unwrap_or(own);
        if own.parent() != Some(&made.common.join("worktrees")) {
            return Err(another("its file .git names another repository"));
        }
        if !own.is_dir() {
            return Err(another("the repository does not know it any more"));
        }
        let git = Git::at(top);
        let seen = git.line(&["rev-parse", "--show-toplevel"]).map_err(cannot_tell)?;
        if Path::new(&seen) != top {
            return Err(another(&format!("git takes it for {seen}")));
        }
        Ok(Self { made, top, git, own })
    }

    /// Returns all reasons to keep it.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let mut reasons = self.passing();
        for look in [Self::stashed, Self::unmerged, Self::submodules] {
            match look(self) {
                Ok(more) => reasons.extend(more),
                Err(error) => reasons.push(cannot_tell(error)),
            }
        }
        reasons
    }

    /// Returns the reasons that may come up at any moment, without a commit being made.
    pub(super) fn passing(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        match users_of(self.top) {
            Ok(users) if users.is_empty() => {}
            Ok(users) => reasons.push(Reason::InUse(Several::of(users))),
            Err(error) => reasons.push(Reason::CannotTell(format!("/proc: {error}"))),
        }
        let unfinished = UNFINISHED.iter().find(|(file, _)| self.own.join(file).exists());
        reasons.extend(unfinished.map(|(_, what)| Reason::Unfinished(what)));
        let lock = self.own.join("index.lock");
        if lock.exists() {
            reasons.push(Reason::GitAtWork(lock));
        }
        if let Ok(why) = fs::read_to_string(self.own.join("locked")) {
            reasons.push(Reason::Locked(why.trim().to_owned()));
        }
        // Links to the repositories of submodules are relative: from the trash they lead nowhere.
        let look = if self.top == self.made.path { Dirt::of } else { Dirt::without_submodules };
        match look(&self.git, &self.made.copied) {
            Ok(dirt) => {
                let mut add = |files: &[PathBuf], reason: fn(Several) -> Reason| {
                    if !files.is_empty() {
                        reasons.push(reason(Several::of(shown(files))));
                    }
                };
                add(&dirt.changed, Reason::Changed);
                add(&dirt.untracked, Reason::Untracked);
                add(&dirt.hidden, Reason::Hidden);
            }
            Err(error) => reasons.push(cannot_tell(error)),
        }
        reasons
    }

    /// Returns the commits at which the tree and its branch stand: two, if something else is checked out.
    pub(super) fn tips(&self) -> Result<Vec<String>, GitError> {
        let branch = format!("refs/heads/{}", self.made.branch);
        let mut tips: Vec<String> = Vec::new();
        for name in ["HEAD", &branch] {
            tips.extend(self.git.commit(name)?.filter(|tip| !tips.contains(tip)));
        }
        Ok(tips)
    }

    fn unmerged(&self) -> Result<Vec<Reason>, GitError> {
        let asked = Tips { git: &self.git, made: self.made };
        let at = self.git.commit(&format!("refs/heads/{}", self.made.branch))?;
        for tip in self.tips()? {
            if let Some(commits) = asked.unmerged(&tip)? {
                let branch = at.filter(|at| *at == tip).map(|_| self.made.branch.clone());
                return Ok(vec![Reason::Unmerged { commits, branch, path: self.top.to_owned() }]);
            }
        }
        Ok(Vec::new())
    }

    /// Stashes are the repository's and stay; but who made one here meant to go on here.
    fn stashed(&self) -> Result<Vec<Reason>, GitError> {
        if self.git.commit("refs/stash")?.is_none() {
            return Ok(Vec::new());
        }
        let head = self.git.ask(&["symbolic-ref", "--short", "--quiet", "HEAD"])?.unwrap_or_default();
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        let here: Vec<String> = self.git.lines(&["log", "-g", "--format=%H", "HEAD"])?;
        let all = self.git.lines(&["log", "-g", "--format=%gd%x00%P%x00%gs", "refs/stash"])?;
        let ours = all.iter().filter_map(|line| {
            let mut fields = line.splitn(3, '\0');
            let (name, parents, said) = (fields.next()?, fields.next()?, fields.next()?);
            let on = said.strip_prefix("WIP on ").or_else(|| said.strip_prefix("On "))?;
            let (branch, _) = on.split_once(": ")?;
            let is_ours = match branch {
                "(no branch)" => parents.split(' ').next().is_some_and(|at| here.iter().any(|seen| seen == at)),
                branch => branch == self.made.branch || branch == head,
            };
            is_ours.then(|| format!("{name}: {said}"))
        });
        let ours = Several::of(ours);
        Ok(if ours.count == 0 { Vec::new() } else { vec![Reason::Stashed(ours)] })
    }

    /// The repositories of a tree's submodules lie in the tree's own directory and go with it.
    fn submodules(&self) -> Result<Vec<Reason>, GitError> {
        let mut reasons = Vec::new();
        for path in Dirt::of(&self.git, &[])?.submodules {
            let git = Git::at(self.top.join(&path));
            let own = git.line(&["rev-list", "--count", "HEAD", "--branches", "--not", "--remotes", "--tags"])?;
            if own != "0" || git.commit("refs/stash")?.is_some() {
                reasons.push(Reason::Submodule(path.display().to_string()));
            }
        }
        Ok(reasons)
    }
}

pub(super) fn cannot_tell(error: GitError) -> Reason {
    Reason::CannotTell(error.to_string())
}
