//! Finds the files that the demo inspects: in a stable order, never through a link, never without bounds.
//!
//! Reads names and sizes only. What is in the files is the workers' business, how they are dealt out is `batch`'s.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that hold what others made or what a tool keeps for itself.
const NOT_OURS: [&str; 8] = [".git", ".hg", ".svn", ".jj", "target", "node_modules", "__pycache__", ".venv"];

/// How much a walk takes on at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Files in all.
    pub files: usize,
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes of one file; what is bigger is no source text.
    pub file_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { files: 50_000, bytes: 1 << 30, file_bytes: 1 << 20 }
    }
}

/// What a walk found.
#[derive(Debug)]
pub struct Walked {
    /// The directory, absolute and without links.
    pub root: PathBuf,
    /// Its files, folder by folder in byte order.
    pub files: Vec<Found>,
    /// What was not taken.
    pub left_out: LeftOut,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative to the root.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// What a walk did not take, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files over the limit.
    pub big: usize,
    /// Symbolic links.
    pub links: usize,
    /// Pipes, sockets, devices.
    pub special: usize,
    /// Folders that are not ours to judge, such as `.git` and `target`.
    pub folders: usize,
    /// Folders and entries that could not be read.
    pub unreadable: usize,
    /// Whether the walk stopped at its bounds with more to come.
    pub stopped: bool,
}

impl LeftOut {
    /// Returns the counts with their words, those that are not zero.
    pub fn reasons(&self) -> Vec<String> {
        let counts = [
            (self.big, "too big to be source text"),
            (self.links, "not followed (symbolic links)"),
            (self.special, "of another kind (pipe, socket, device)"),
            (self.folders, "kept by tools, such as .git or target"),
            (self.unreadable, "unreadable"),
        ];
        let mut reasons: Vec<String> =
            counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        if self.stopped {
            reasons.push("everything beyond the bounds of a demo".into());
        }
        reasons
    }
}

/// Why there is nothing to walk.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// The directory cannot be opened.
    #[error("cannot inspect {}: {why}", path.display())]
    Root {
        /// As it was given.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The user had enough.
    #[error("interrupted")]
    Interrupted,
}

/// Walks `root`; `go_on` is asked at every folder with the number of files found so far.
pub fn walk(root: &Path, bounds: Bounds, mut go_on: impl FnMut(usize) -> bool) -> Result<Walked, WalkError> {
    let refused = |why| WalkError::Root { path: root.to_owned(), why };
    let real = root.canonicalize().map_err(refused)?;
    fs::read_dir(&real).map_err(refused)?;

    let mut found = Walked { root: real, files: Vec::new(), left_out: LeftOut::default() };
    let mut bytes = 0;
    // Deeper folders are pushed last first, so that they are taken in order and right after their parent's files.
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        if !go_on(found.files.len()) {
            return Err(WalkError::Interrupted);
        }
        let mut deeper = Vec::new();
        for (name, entry) in sorted(&found.root.join(&folder), &mut found.left_out) {
            let path = folder.join(&name);
            match entry {
                Entry::Folder if NOT_OURS.iter().any(|other| name == *other) => {
                    found.left_out.folders += 1;
                }
                Entry::Folder => deeper.push(path),
                Entry::File(size) if size > bounds.file_bytes => found.left_out.big += 1,
                Entry::File(size) => {
                    if found.files.len() == bounds.files || bytes + size > bounds.bytes {
                        found.left_out.stopped = true;
                        return Ok(found);
                    }
                    bytes += size;
                    found.files.push(Found { path, bytes: size });
                }
            }
        }
        folders.extend(deeper.into_iter().rev());
    }
    Ok(found)
}

enum Entry {
    Folder,
    File(u64),
}

/// Reads one folder in byte order; what is neither a folder nor a plain file is only counted.
fn sorted(folder: &Path, left_out: &mut LeftOut) -> Vec<(OsString, Entry)> {
    let Ok(entries) = fs::read_dir(folder) else {
        left_out.unreadable += 1;
        return Vec::new();
    };
    let mut taken = Vec::new();
    for entry in entries {
        // `DirEntry::metadata` does not follow links.
        let Ok((name, meta)) = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?))) else {
            left_out.unreadable += 1;
            continue;
        };
        if meta.is_dir() {
            taken.push((name, Entry::Folder));
        } else if meta.is_file() {
            taken.push((name, Entry::File(meta.len())));
        } else if meta.is_symlink() {
            left_out.links += 1;
        } else {
            left_out.special += 1;
        }
    }
    taken.sort_by(|a, b| a.0.cmp(&b.0));
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(walked: &Walked) -> Vec<&str> {
        walked.files.iter().map(|found| found.path.to_str().expect("made here")).collect()
    }

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a place for files");
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("inside the tree")).expect("made");
            fs::write(path, "x\n").expect("written");
        }
        dir
    }

    #[test]
    fn files_come_folder_by_folder_and_in_order() {
        let dir = tree(&["b/z", "a/y", "c", "a/b/x", "-dash", "a b\nc"]);
        let walked = walk(dir.path(), Bounds::default(), |_| true).expect("walked");
        assert_eq!(names(&walked), ["-dash", "a b\nc", "c", "a/y", "a/b/x", "b/z"]);
        assert_eq!(walked.left_out, LeftOut::default());
    }

    #[test]
    fn links_are_counted_and_never_followed() {
        let dir = tree(&["a/file"]);
        std::os::unix::fs::symlink("..", dir.path().join("a/loop")).expect("made");
        std::os::unix::fs::symlink("file", dir.path().join("a/other")).expect("made");
        let walked = walk(dir.path(), Bounds::default(), |_| true).expect("walked");
        assert_eq!(names(&walked), ["a/file"]);
        assert_eq!(walked.left_out.links, 2);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let dir = tree(&[".git/HEAD", "target/debug/x", "small"]);
        fs::write(dir.path().join("big"), vec![b'x'; 300]).expect("written");
        let bounds = Bounds { file_bytes: 256, ..Bounds::default() };
        let walked = walk(dir.path(), bounds, |_| true).expect("walked");
        assert_eq!(names(&walked), ["small"]);
        assert_eq!(
            walked.left_out.reasons(),
            ["1 too big to be source text", "2 kept by tools, such as .git or target"]
        );
    }

    #[test]
    fn a_walk_ends_at_its_bounds_and_says_so() {
        let dir = tree(&["a", "b", "c"]);
        let bounds = Bounds { files: 2, ..Bounds::default() };
        let walked = walk(dir.path(), bounds, |_| true).expect("walked");
        assert_eq!(names(&walked), ["a", "b"]);
        assert!(walked.left_out.stopped);
    }

    #[test]
    fn a_root_that_is_no_directory_is_an_error_with_its_name() {
        let dir = tree(&["file"]);
        for name in ["file", "nothing"] {
            let refused = walk(&dir.path().join(name), Bounds::default(), |_| true).expect_err("nothing to walk");
            assert!(refused.to_string().contains(name), "{refused}");
        }
    }

    #[test]
    fn the_user_can_stop_it() {
        let dir = tree(&["a/b", "c"]);
        let stopped = walk(dir.path(), Bounds::default(), |found| found == 0);
        assert!(matches!(stopped, Err(WalkError::Interrupted)));
    }
}
