//! What stands in a checkout beside what is committed: changed and untracked files, as git reports them.
//!
//! What fleetd itself put into a tree does not count: `.fleet/`, and files brought along that are still as they came.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::git::{Git, GitError};
use super::note::Copied;

/// What is not committed in a checkout.
#[derive(Debug, Default)]
pub(super) struct Dirt {
    /// Tracked files that differ from the last commit, also staged ones.
    pub changed: Vec<PathBuf>,
    /// Files that are not tracked and not ignored.
    pub untracked: Vec<PathBuf>,
    /// Changed files that git was told not to look at.
    pub hidden: Vec<PathBuf>,
    /// Submodules whose repositories are there.
    pub submodules: Vec<PathBuf>,
}

impl Dirt {
    /// Looks at a checkout from its top.
    pub(super) fn of(git: &Git, copied: &[Copied]) -> Result<Self, GitError> {
        Self::with(git, copied, "--ignore-submodules=none")
    }

    /// As `of`, where the links to the repositories of submodules lead nowhere.
    pub(super) fn without_submodules(git: &Git, copied: &[Copied]) -> Result<Self, GitError> {
        Self::with(git, copied, "--ignore-submodules=all")
    }

    fn with(git: &Git, copied: &[Copied], submodules: &str) -> Result<Self, GitError> {
        let args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", submodules];
        let copied: HashMap<&Path, &str> = copied.iter().map(|file| (file.path.as_path(), &*file.hash)).collect();
        let is_as_it_came = |path: &Path| {
            copied.get(path).is_some_and(|hash| hash_of(&git.dir().join(path)).is_ok_and(|found| found == **hash))
        };
        let mut dirt = Self::default();
        for entry in git.run(&args)?.split(|byte| *byte == 0) {
            // The fields before the path: 8 for an ordinary change, 10 for a conflict, 1 for what is not tracked.
            let (kind, fields) = match entry.first() {
                Some(b'1') => (b'1', 8),
                Some(b'u') => (b'u', 10),
                Some(b'?') => (b'?', 1),
                _ => continue,
            };
            let Some(path) = entry.splitn(fields + 1, |byte| *byte == b' ').nth(fields) else { continue };
            let path = PathBuf::from(OsStr::from_bytes(path));
            let is_staged = kind == b'1' && entry.get(2) != Some(&b'.');
            match kind {
                b'?' if path.starts_with(".fleet") || is_as_it_came(&path) => {}
                b'?' => dirt.untracked.push(path),
                b'1' if !is_staged && is_as_it_came(&path) => {}
                _ => dirt.changed.push(path),
            }
        }
        dirt.look_behind_the_index(git)?;
        Ok(dirt)
    }

    /// Tells whether nothing would be lost with the checkout but what is committed.
    pub(super) fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty() && self.hidden.is_empty()
    }

    /// Finds what `git status` does not tell: files marked `assume-unchanged` or `skip-worktree`, and submodules.
    fn look_behind_the_index(&mut self, git: &Git) -> Result<(), GitError> {
        let mut marked = Vec::new();
        for entry in git.run(&["ls-files", "-v", "-s", "-z"])?.split(|byte| *byte == 0) {
            // `H 100644 <object> 0<tab><path>`; another letter than H is a mark.
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
            let (head, path) = (&entry[..tab], PathBuf::from(OsStr::from_bytes(&entry[tab + 1..])));
            let head = String::from_utf8_lossy(head);
            let fields: Vec<&str> = head.split(' ').collect();
            let [mark, mode, object, ..] = fields[..] else { continue };
            if mode == "160000" && git.dir().join(&path).join(".git").exists() {
                self.submodules.push(path);
            } else if matches!(mark, "h" | "s" | "S") && git.dir().join(&path).symlink_metadata().is_ok() {
                marked.push((path, mode.to_owned(), object.to_owned()));
            }
        }
        for (path, mode, object) in marked {
            let now = match mode.as_str() {
                // A link has its target as its content, and git would read what it points to.
                "120000" => None,
                _ => git.ask(&["hash-object".as_ref(), "--".as_ref(), path.as_os_str()])?,
            };
            if now.is_none_or(|now| String::from_utf8_lossy(&now).trim() != object) {
                self.hidden.push(path);
            }
        }
        Ok(())
    }
}

/// Returns the hex SHA-256 of a file's content; of a link, that of its target.
pub(super) fn hash_of(path: &Path) -> std::io::Result<String> {
    let found = fs::symlink_metadata(path)?;
    let bytes = match found.is_symlink() {
        true => fs::read_link(path)?.into_os_string().into_encoded_bytes(),
        false if found.is_file() => fs::read(path)?,
        false => return Err(ErrorKind::InvalidInput.into()),
    };
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns paths as people read them.
pub(super) fn shown(paths: &[PathBuf]) -> impl Iterator<Item = String> + '_ {
    paths.iter().map(|path| path.display().to_string())
}
