//! A glance at a state directory from outside, while a daemon may have it or none: nothing is opened for writing, no
//! lock is taken, and no SQLite either, since even its readers write files. What is told may be a moment old.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use super::schema::{APPLICATION, VERSION};
use super::state_dir::STORE;

/// How much of an SQLite file its header takes.
const HEADER: usize = 100;

/// What is at a place for the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dir {
    /// Nothing yet; this is the directory in which it would be made.
    Missing {
        /// The nearest directory above that is there.
        above: PathBuf,
        /// Whether we may write there.
        is_writable: bool,
    },
    /// No directory of ours, or one that we may not write into.
    Unusable(String),
    /// One that a daemon could take.
    Usable,
}

/// What is known of the file of a store by its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// There is no file, or an empty one.
    None,
    /// A store of this version; later ones than `known` are not read.
    Version {
        /// Its version.
        found: i64,
        /// The version that this program writes.
        known: i64,
    },
    /// Something else.
    NotOurs(String),
}

/// Looks at a place for the state.
pub fn dir(path: &Path) -> Dir {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let above = path.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(Path::new("/"));
            return Dir::Missing { above: above.into(), is_writable: may_write(above) };
        }
        Err(error) => return Dir::Unusable(error.to_string()),
    };
    let me = rustix::process::geteuid().as_raw();
    match found {
        found if !found.is_dir() => Dir::Unusable("it is a file and not a directory".into()),
        found if found.uid() != me => Dir::Unusable(format!("it belongs to uid {}, and this is uid {me}", found.uid())),
        _ if !may_write(path) => Dir::Unusable("it cannot be written".into()),
        _ => Dir::Usable,
    }
}

/// Looks at the file of the store in a state directory.
pub fn schema(state: &Path) -> Schema {
    let mut head = Vec::new();
    match File::open(state.join(STORE)).and_then(|file| file.take(HEADER as u64).read_to_end(&mut head)) {
        Ok(_) => of_header(&head),
        Err(error) if error.kind() == ErrorKind::NotFound => Schema::None,
        Err(error) => Schema::NotOurs(error.to_string()),
    }
}

/// Returns how many bytes are left for us where a path is, or would be.
pub fn free(path: &Path) -> io::Result<u64> {
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let disk = statvfs(there)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn may_write(dir: &Path) -> bool {
    access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

fn of_header(head: &[u8]) -> Schema {
    if head.is_empty() {
        return Schema::None;
    }
    let number =
        |at: usize| head.get(at..at + 4).map(|four| four.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte)));
    match (head.starts_with(b"SQLite format 3\0"), number(60), number(68)) {
        // A daemon that was killed in its first moment leaves this behind.
        (true, Some(0), Some(0)) => Schema::None,
        (true, Some(found), Some(APPLICATION)) => Schema::Version { found, known: VERSION },
        (true, Some(_), Some(_)) => Schema::NotOurs("it is an SQLite file of another program".into()),
        _ => Schema::NotOurs("it does not begin as an SQLite file does".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{StateDir, Store};
    use super::*;

    #[test]
    fn a_store_is_known_by_its_header() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("state");
        assert_eq!(schema(&path), Schema::None);
        drop(Store::open(&StateDir::take(&path).expect("taken")).expect("opened"));
        assert_eq!(schema(&path), Schema::Version { found: VERSION, known: VERSION });
        let names = || fs::read_dir(&path).expect("there").map(|entry| entry.expect("read").file_name());
        let mut before: Vec<_> = names().collect();
        let (_, _) = (schema(&path), dir(&path));
        let mut after: Vec<_> = names().collect();
        before.sort();
        after.sort();
        assert_eq!(before, after, "a glance leaves nothing behind");
        fs::write(path.join(STORE), "no store").expect("written");
        assert!(matches!(schema(&path), Schema::NotOurs(_)));
    }

    #[test]
    fn a_header_of_others_is_not_ours() {
        let mut head = [0; HEADER];
        head[..16].copy_from_slice(b"SQLite format 3\0");
        assert_eq!(of_header(&head), Schema::None);
        head[71] = 1;
        assert!(matches!(of_header(&head), Schema::NotOurs(_)));
        head[68..72].copy_from_slice(&[0x66, 0x6c, 0x65, 0x65]);
        head[63] = 200;
        assert_eq!(of_header(&head), Schema::Version { found: 200, known: VERSION });
        assert!(matches!(of_header(&head[..40]), Schema::NotOurs(_)));
    }

    #[test]
    fn a_directory_is_looked_at_and_not_made() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("a/b");
        assert_eq!(dir(&path), Dir::Missing { above: home.path().into(), is_writable: true });
        assert!(!home.path().join("a").exists());
        assert_eq!(dir(home.path()), Dir::Usable);
        fs::write(home.path().join("a"), "").expect("written");
        assert!(matches!(dir(&home.path().join("a")), Dir::Unusable(_)));
        assert!(free(&path).expect("a disk") > 0);
    }
}
