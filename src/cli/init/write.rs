//! Files are written beside their place and then put there in one step: whoever looks sees the old file or the new one,
//! and a kill leaves both whole. What came in between is not written over.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Gid, RenameFlags, Uid, fchown, renameat_with};
use rustix::io::Errno;

use super::standing::File;
use crate::cli::exit::Failure;

/// Writes a file where none is, and the directories above it.
pub fn create(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::io(format!("cannot write {}", path.display()), error);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let aside = Aside::beside(path, text, None).map_err(failed)?;
    match renameat_with(CWD, &aside.0, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Not every file system can do that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if std::fs::symlink_metadata(path).is_err() => {
            std::fs::rename(&aside.0, path).map_err(failed)
        }
        Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(meanwhile(path)),
        Err(error) => Err(failed(error.into())),
    }
}

/// Changes a file that is still as it was looked at; its mode and owner stay.
pub fn change(path: &Path, file: &File, text: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::io(format!("cannot write {}", path.display()), error);
    let aside = Aside::beside(&file.at, text, Some(file)).map_err(failed)?;
    if std::fs::read(&file.at).map_err(failed)? != file.bytes {
        return Err(meanwhile(path));
    }
    std::fs::rename(&aside.0, &file.at).map_err(failed)
}

fn meanwhile(path: &Path) -> Failure {
    let message = format!("cannot write {}: somebody else has just written it", path.display());
    Failure::Other { message, hints: vec!["look at it, and run fleetd init again".into()] }
}

/// A file that is not at its place yet; it goes when this is dropped before.
struct Aside(PathBuf);

impl Aside {
    fn beside(path: &Path, text: &[u8], like: Option<&File>) -> io::Result<Aside> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let at = path.with_file_name(format!(".{name}.fleetd-{}", std::process::id()));
        let mut open = OpenOptions::new();
        open.write(true).create_new(true);
        let mut file = match open.open(&at) {
            // Left by one that was killed, whose number we have now.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                std::fs::remove_file(&at)?;
                open.open(&at)?
            }
            opened => opened?,
        };
        let aside = Aside(at);
        if let Some(like) = like {
            // Only root may give a file away; everybody else owns what they write.
            let (user, group) = like.owner;
            let _ = fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
            file.set_permissions(like.permissions.clone())?;
        }
        file.write_all(text)?;
        file.sync_all()?;
        Ok(aside)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Gone already, if it is at its place.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::standing::Standing;
    use super::*;

    fn file(path: &Path) -> File {
        match Standing::at(path).expect("it can be looked at") {
            Standing::File(file) => file,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_came_meanwhile_is_not_written_over_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a/b.md");
        create(&path, b"new").expect("written");
        assert!(create(&path, b"newer").is_err_and(|error| error.to_string().contains("somebody else")));
        assert_eq!(std::fs::read(&path).expect("there"), b"new");

        let seen = file(&path);
        std::fs::write(&path, "mine").expect("written");
        assert!(change(&path, &seen, b"newer").is_err_and(|error| error.to_string().contains("somebody else")));
        assert_eq!(std::fs::read(&path).expect("there"), b"mine");
        assert_eq!(std::fs::read_dir(dir.path().join("a")).expect("there").count(), 1);
    }

    #[test]
    fn a_changed_file_keeps_its_mode_and_a_link_leads_to_it_still() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (path, link) = (dir.path().join("AGENTS.md"), dir.path().join("CLAUDE.md"));
        std::fs::write(&path, "old").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("its mode");
        std::os::unix::fs::symlink("AGENTS.md", &link).expect("a link");
        change(&link, &file(&link), b"new").expect("changed");
        assert_eq!(std::fs::read(&path).expect("there"), b"new");
        assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    }
}
