//! Files that are there whole or not at all, also after a power cut.
//!
//! Both ways write beside the name first and give the name last; which of the two is right depends on whether
//! a second writer replaces or loses. What the bytes mean is no concern of this file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a file under its name, in place of one that may be there.
pub(in crate::launch) fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let beside = write_beside(directory, name, bytes, File::sync_all)?;
    fs::rename(&beside, directory.join(name)).inspect_err(|_| drop(fs::remove_file(&beside)))?;
    sync(directory)
}

/// As [`replace`], but only against a crash of a program, not of the machine.
pub(in crate::launch) fn replace_softly(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let beside = write_beside(directory, name, bytes, |_| Ok(()))?;
    fs::rename(&beside, directory.join(name)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Writes a file under its name, or fails with `AlreadyExists` and leaves the one that is there.
pub(in crate::launch) fn create_once(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let beside = write_beside(directory, name, bytes, File::sync_all)?;
    // A link gives the name to a file that is complete, and fails where a rename would replace.
    let linked = fs::hard_link(&beside, directory.join(name));
    drop(fs::remove_file(&beside));
    linked?;
    sync(directory)
}

/// Makes the names in a directory durable.
pub(in crate::launch) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn write_beside(
    directory: &Path,
    name: &str,
    bytes: &[u8],
    settle: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let beside = directory.join(format!(".{name}.{}", std::process::id()));
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside);
    let written = opened.and_then(|mut file| {
        file.write_all(bytes)?;
        settle(&file)
    });
    match written {
        Ok(()) => Ok(beside),
        Err(error) => {
            drop(fs::remove_file(&beside));
            Err(error)
        }
    }
}
