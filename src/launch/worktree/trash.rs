//! The trash: a directory for each tree that was removed, with the tree, its own directory of the repository, and a
//! note. The commits are held by a ref. After its time an entry is deleted for good.
//!
//! Whether a tree may go there is not decided here. Each step can be done again, in the same order.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::WorktreeError;
use super::git::{Git, GitError};
use super::merged::{elsewhere, parents_of};
use super::note::{Made, Progress};
use super::repo::Lock;
use super::submodules::{self, Moved};
use crate::fleet::time::{Span, Time};
use crate::launch::turn_dir::durable;

/// The refs that hold commits of the trash.
pub(super) const REFS: &str = "refs/fleet/trash";

/// One removed tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its directory.
    #[serde(skip)]
    pub path: PathBuf,
    /// What it was.
    pub made: Made,
    /// When it was removed.
    pub at: Time,
    /// The commit that was checked out.
    pub head: Option<String>,
    /// The commit at which its branch stood.
    pub tip: Option<String>,
    /// The tree's own directory in the repository.
    pub own: Option<PathBuf>,
    /// The ref that holds commits that no branch has, and the commit it names.
    pub kept: Option<(String, String)>,
    /// Everything that belongs to the removal is done.
    pub done: bool,
}

impl Entry {
    /// Makes an entry into which the tree can be moved, and holds its commits.
    pub(super) fn open(
        trash: &Path,
        at: Time,
        made: &Made,
        own: Option<&Path>,
        git: &Git,
    ) -> Result<Self, WorktreeError> {
        let made_dir = DirBuilder::new().recursive(true).mode(0o700).create(trash);
        let trash = made_dir.and_then(|()| trash.canonicalize());
        let trash = trash.map_err(|error| WorktreeError::file("make", &made.path, error))?;
        let mut n = 1;
        let path = loop {
            let name = if n == 1 { made.name() } else { format!("{}.{n}", made.name()) };
            let path = trash.join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => n += 1,
                Err(error) => return Err(WorktreeError::file("make", &path, error)),
            }
        };
        let own = own.map(Path::to_owned);
        let entry = Self { path, made: made.clone(), at, head: None, tip: None, own, kept: None, done: false };
        let held = entry.clone().hold(git);
        if held.is_err() {
            // Empty, or found by the next sweep.
            drop(fs::remove_dir(&entry.path));
        }
        held
    }

    /// Notes where the tree stands, and sees that its commits stay.
    fn hold(mut self, git: &Git) -> Result<Self, WorktreeError> {
        if self.own.is_some() {
            self.head = git.commit("HEAD")?;
        }
        self.tip = git.commit(&format!("refs/heads/{}", self.made.branch))?;
        if self.made.progress == Progress::Begun {
            // Any other commit is somebody else's branch of the same name.
            self.tip = self.tip.filter(|tip| *tip == self.made.base);
        }
        if let Some(commit) = self.to_hold(git)? {
            // By the time too: a later tree of the same name may hold something else.
            let name = format!("{REFS}/{}-{}", self.name(), self.at.0);
            self.kept = Some((name.clone(), commit.clone()));
            // Before the ref is there: it must be known to be let go of.
            self.write()?;
            git.run(&["update-ref", &name, &commit])?;
        }
        self.write()?;
        Ok(self)
    }

    /// Reads the entry in a directory, if there is one.
    fn read(path: &Path) -> io::Result<Self> {
        let entry: Self = serde_json::from_slice(&fs::read(path.join("entry.json"))?)?;
        Ok(Self { path: path.to_owned(), ..entry })
    }

    /// Returns the name of its directory.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns where the tree is.
    pub fn tree(&self) -> PathBuf {
        self.path.join("tree")
    }

    fn write(&self) -> Result<(), WorktreeError> {
        let bytes = serde_json::to_vec_pretty(self).expect("an entry is plain data");
        durable::replace(&self.path, "entry.json", &bytes)
            .map_err(|error| WorktreeError::file("write", &self.path, error))
    }

    /// Returns a commit from which all that only this tree reaches can be reached: its head, its branch, and where
    /// they stood before.
    fn to_hold(&self, git: &Git) -> Result<Option<String>, GitError> {
        let mut tips: Vec<String> = self.head.iter().chain(&self.tip).cloned().collect();
        let branch = format!("refs/heads/{}", self.made.branch);
        for (name, there) in [("HEAD", self.head.is_some()), (&branch, self.tip.is_some())] {
            if there {
                tips.extend(git.lines(&["log", "-g", "--format=%H", name])?);
            }
        }
        tips.sort();
        tips.dedup();
        if tips.is_empty() {
            return Ok(None);
        }
        let mut args = vec!["rev-list", "--ignore-missing", "--parents"];
        args.extend(tips.iter().map(String::as_str));
        let elsewhere = elsewhere(&self.made.branch);
        args.extend(elsewhere.iter().map(String::as_str));
        let own = parents_of(&git.lines(&args)?);
        let parents: Vec<&String> = own.values().flatten().collect();
        let heads: Vec<&String> = own.keys().filter(|commit| !parents.contains(commit)).collect();
        match heads[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => {
                let tree = git.line(&["rev-parse", &format!("{}^{{tree}}", heads[0])])?;
                let mut args = vec!["commit-tree", &tree, "-m", "What a worktree held when fleetd removed it."];
                heads.iter().for_each(|head| args.extend(["-p", head]));
                git.line(&args).map(Some)
            }
        }
    }

    /// Moves the tree in. Either it is at its place or here, whatever happens.
    pub(super) fn take_in(&self) -> io::Result<()> {
        fs::rename(&self.made.path, self.tree())?;
        durable::sync(&self.path)?;
        self.made.path.parent().map_or(Ok(()), durable::sync)
    }

    /// Puts the tree back to its place, if nothing is there.
    pub(super) fn give_back(self) -> Result<(), WorktreeError> {
        if self.made.path.symlink_metadata().is_ok() {
            return Err(WorktreeError::PlaceTaken { path: self.made.path.clone(), by: "something new".into() });
        }
        fs::rename(self.tree(), &self.made.path)
            .map_err(|error| WorktreeError::file("put back", &self.made.path, error))?;
        self.drop_empty()
    }

    /// Removes an entry into which nothing was moved.
    fn drop_empty(&self) -> Result<(), WorktreeError> {
        let wrong = |error| WorktreeError::file("remove", &self.path, error);
        self.release()?;
        // Its note, and what a kill may have left beside it; never a directory.
        for entry in fs::read_dir(&self.path).map_err(wrong)?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                fs::remove_file(entry.path()).map_err(wrong)?;
            }
        }
        fs::remove_dir(&self.path).map_err(wrong)
    }

    /// Does what follows once the tree is here: the branch goes, the repository forgets the tree.
    pub(super) fn finish(mut self) -> Result<Self, WorktreeError> {
        let git = Git::at(&self.made.common);
        let branch = format!("refs/heads/{}", self.made.branch);
        if let Some(tip) = &self.tip
            && git.commit(&branch)?.as_ref() == Some(tip)
        {
            git.run(&["update-ref", "-d", &branch, tip])?;
            // Where it was to be pushed; most have no such section.
            drop(git.ask(&["config", "--local", "--remove-section", &format!("branch.{}", self.made.branch)]));
        }
        if let Some(own) = self.own.clone().filter(|own| own.is_dir()) {
            let wrong = |error| WorktreeError::file("move to the trash", &own, error);
            move_directory(&own, &self.path.join("git")).map_err(wrong)?;
        }
        // So git still works in the trash, for whoever wants something back.
        if let (Some(head), true) = (&self.head, self.path.join("git").is_dir()) {
            let wrong = |error| WorktreeError::file("write", &self.path, error);
            let inner = self.path.join("git");
            durable::replace(&inner, "HEAD", format!("{head}\n").as_bytes()).map_err(wrong)?;
            let common = format!("{}\n", self.made.common.display());
            durable::replace(&inner, "commondir", common.as_bytes()).map_err(wrong)?;
            durable::replace(&self.tree(), ".git", format!("gitdir: {}\n", inner.display()).as_bytes())
                .map_err(wrong)?;
            if let Some(own) = &self.own {
                submodules::follow(&Moved { own, top: &self.made.path, new_own: &inner, new_top: &self.tree() })
                    .map_err(wrong)?;
            }
        }
        self.made.forget()?;
        self.done = true;
        self.write()?;
        Ok(self)
    }

    /// Lets go of the commits.
    fn release(&self) -> Result<(), GitError> {
        let Some((name, commit)) = &self.kept else { return Ok(()) };
        if !self.made.common.is_dir() {
            return Ok(());
        }
        let git = Git::at(&self.made.common);
        match git.commit(name)? {
            Some(found) if found == *commit => git.run(&["update-ref", "-d", name, commit]).map(drop),
            _ => Ok(()),
        }
    }
}

/// Returns what is in the trash, by name. What cannot be read as an entry is left out: it is not ours to judge.
pub fn entries(trash: &Path) -> Vec<Entry> {
    let listed = trash.canonicalize().and_then(fs::read_dir).into_iter().flatten().flatten();
    let mut found: Vec<Entry> = listed.filter_map(|entry| Entry::read(&entry.path()).ok()).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// What a sweep of the trash came to.
#[derive(Debug, Default)]
pub struct Swept {
    /// Entries that are deleted, by name.
    pub deleted: Vec<String>,
    /// Entries that could not be, and why.
    pub failed: Vec<String>,
}

/// Finishes removals that were cut short, and deletes entries that are older than `ttl`.
pub fn sweep(trash: &Path, now: Time, ttl: Span) -> Swept {
    let mut swept = Swept::default();
    for entry in entries(trash) {
        let name = entry.name();
        match sweep_one(entry, now, ttl) {
            Ok(true) => swept.deleted.push(name),
            Ok(false) => {}
            Err(error) => swept.failed.push(format!("{name}: {error}")),
        }
    }
    swept
}

fn sweep_one(entry: Entry, now: Time, ttl: Span) -> Result<bool, WorktreeError> {
    // Without its repository nothing can be finished.
    let entry = match entry.done || !entry.made.common.is_dir() {
        true => entry,
        false => {
            let _lock = Lock::of(&entry.made.common)?;
            // Whoever had the lock may have finished it, or put the tree back.
            match Entry::read(&entry.path) {
                Ok(entry) if entry.done => entry,
                Ok(entry) => match resume(entry)? {
                    Some(entry) => entry,
                    None => return Ok(false),
                },
                Err(_) => return Ok(false),
            }
        }
    };
    if now.since(entry.at) < ttl {
        return Ok(false);
    }
    // The entry's note goes last: what is half deleted is found again.
    for part in ["tree", "git", "git.part"] {
        let path = entry.path.join(part);
        delete(&path).map_err(|error| WorktreeError::file("delete", &path, error))?;
    }
    entry.drop_empty()?;
    Ok(true)
}

/// Deletes a directory, also one with directories in it that nobody may write to, as some caches have.
fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(path)?;
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        deleted => deleted,
    }
}

fn make_writable(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Of the entry itself: what a link leads to is not in the trash.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Goes on with a removal that was cut short. One that had not moved the tree yet is given up: nothing has happened.
/// The caller has the lock.
pub(super) fn resume(entry: Entry) -> Result<Option<Entry>, WorktreeError> {
    match entry.tree().is_dir() {
        true => entry.finish().map(Some),
        false => entry.drop_empty().map(|()| None),
    }
}

/// Moves a directory, also to another file system; there it is whole under its name or not there at all.
fn move_directory(from: &Path, to: &Path) -> io::Result<()> {
    if to.is_dir() {
        // It was copied whole before, and the daemon ended before it could remove the first one.
        return fs::remove_dir_all(from);
    }
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            let beside = to.with_extension("part");
            if beside.exists() {
                fs::remove_dir_all(&beside)?;
            }
            copy_directory(from, &beside)?;
            fs::rename(&beside, to)?;
            to.parent().map_or(Ok(()), durable::sync)?;
            fs::remove_dir_all(from)
        }
        moved => moved,
    }
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            fs::File::open(&target)?.sync_all()?;
        }
    }
    durable::sync(to)
}
