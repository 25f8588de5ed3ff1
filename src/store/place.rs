//! Whether the files of the store are still where it was opened. SQLite goes on writing into a file that was moved or
//! removed, and what was accepted into that one the next start does not find.
//! Only looked at, before each commit: nothing is opened here, since closing such a file would drop SQLite's own locks.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of a store, each with what tells it from another one of its name.
pub(super) struct Place {
    files: [(PathBuf, (u64, u64)); 2],
}

impl Place {
    /// Notes which files these are; the store has been opened by now.
    pub(super) fn of(file: &Path) -> io::Result<Place> {
        let mut wal = file.as_os_str().to_owned();
        wal.push("-wal");
        let noted = |path: PathBuf| Ok::<_, io::Error>((path.clone(), number(&path)?));
        Ok(Place { files: [noted(file.into())?, noted(wal.into())?] })
    }

    /// Says what is wrong if they are not there any more.
    pub(super) fn check(&self) -> Result<(), String> {
        for (path, opened) in &self.files {
            let what = match number(path) {
                Ok(found) if found == *opened => continue,
                Ok(_) => "replaced".to_owned(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => "moved or removed".to_owned(),
                Err(error) => format!("hidden ({error})"),
            };
            let path = path.display();
            return Err(format!(
                "{path} was {what} while fleetd has it open, and the next start would not find what is written now: \
                 put it back, or restart fleetd to go on with what lies there"
            ));
        }
        Ok(())
    }
}

fn number(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}
