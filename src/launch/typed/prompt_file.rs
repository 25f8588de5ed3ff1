//! A text that is too long to be typed: a file in the worker's directory, where git does not see it.
//!
//! The worker, and whatever repository it works in, may have put links in the way: none is followed, so nothing outside
//! of the directory is written or removed. When it is written and when removed is decided elsewhere.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::fleet::ids::TurnId;
use crate::launch::exclude::hide_ours;

/// Where such files lie, below the worker's directory.
const DIRECTORY: &str = ".fleet";

/// Returns where the text of a turn lies, below the worker's directory.
pub(super) fn file_of(turn: TurnId) -> String {
    format!("{DIRECTORY}/{}", name_of(turn))
}

/// Writes the text of a turn; only its owner reads it.
pub(super) fn write(cwd: &Path, turn: TurnId, text: &[u8]) -> io::Result<()> {
    if let Some(common) = git_dir(cwd) {
        hide_ours(&common)?;
    }
    let top = open(cwd, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    match mkdirat(&top, DIRECTORY, Mode::from_raw_mode(0o700)) {
        Err(error) if error != Errno::EXIST => return Err(error.into()),
        _ => {}
    }
    let directory = directory(&top)?;
    remove_in(&directory, turn)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    File::from(openat(&directory, name_of(turn), flags, Mode::from_raw_mode(0o600))?).write_all(text)
}

/// Removes the file of a turn, if there is one.
pub(super) fn remove(cwd: &Path, turn: TurnId) -> io::Result<()> {
    let top = match open(cwd, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        top => top?,
    };
    match statat(&top, DIRECTORY, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        _ => remove_in(&directory(&top)?, turn),
    }
}

fn name_of(turn: TurnId) -> String {
    format!("{turn}.md")
}

/// Opens the directory of these files, which must be a real one.
fn directory(top: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(top, DIRECTORY, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => io::Error::other(format!("{DIRECTORY} is a link, or no directory: remove it")),
        error => error.into(),
    })
}

fn remove_in(directory: &OwnedFd, turn: TurnId) -> io::Result<()> {
    let name = name_of(turn);
    let found = match statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        found => found?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(io::Error::other(format!("{DIRECTORY}/{name} is a link, or no file: remove it")));
    }
    Ok(unlinkat(directory, &name, AtFlags::empty())?)
}

/// Returns the common directory of the repository around a directory, if there is one.
fn git_dir(cwd: &Path) -> Option<PathBuf> {
    let mut git = Command::new("git");
    // Whoever started fleetd may have meant another repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"] {
        git.env_remove(name);
    }
    let found = git.args(["rev-parse", "--git-common-dir"]).current_dir(cwd).output().ok()?;
    found.status.success().then(|| cwd.join(String::from_utf8_lossy(&found.stdout).trim_end_matches('\n')))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_text_is_written_for_its_owner_alone_over_what_was_left_and_removed() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let file = place.path().join(file_of(TurnId(7)));
        for text in ["one", "two"] {
            write(place.path(), TurnId(7), text.as_bytes()).expect("it is written");
            assert_eq!(fs::read_to_string(&file).expect("there"), text);
        }
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        remove(place.path(), TurnId(7)).and_then(|()| remove(place.path(), TurnId(7))).expect("it is removed");
        assert!(!file.exists());
        remove(&place.path().join("gone"), TurnId(7)).expect("nothing is there");
    }

    #[test]
    fn no_link_is_followed() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let (cwd, there) = (place.path().join("work"), place.path().join("there"));
        for made in [&cwd, &there] {
            fs::create_dir(made).expect("made");
        }
        fs::write(there.join("t7.md"), "theirs").expect("written");
        let is_untouched = || fs::read_to_string(there.join("t7.md")).is_ok_and(|text| text == "theirs");
        symlink(&there, cwd.join(".fleet")).expect("linked");
        for refused in [write(&cwd, TurnId(7), b"x"), remove(&cwd, TurnId(7))] {
            assert_eq!(refused.expect_err("a link").to_string(), ".fleet is a link, or no directory: remove it");
        }
        fs::remove_file(cwd.join(".fleet")).expect("removed");
        fs::create_dir(cwd.join(".fleet")).expect("made");
        symlink(there.join("t7.md"), cwd.join(".fleet/t7.md")).expect("linked");
        for refused in [write(&cwd, TurnId(7), b"x"), remove(&cwd, TurnId(7))] {
            assert_eq!(refused.expect_err("a link").to_string(), ".fleet/t7.md is a link, or no file: remove it");
        }
        assert!(is_untouched());
    }
}
