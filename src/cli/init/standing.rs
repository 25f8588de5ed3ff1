//! What stands where a file is to be: nothing, a file, or something that it cannot be written over. Links are followed to
//! where they lead, since that is what would be written. Nothing is changed here.

use std::fs::{Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::cli::exit::Failure;

/// What stands at a path.
#[derive(Debug)]
pub enum Standing {
    /// Nothing.
    Free,
    /// A link that leads to nothing.
    Nowhere,
    /// A file.
    File(File),
}

/// A file that is there.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is, links followed.
    pub at: PathBuf,
    pub bytes: Vec<u8>,
    pub permissions: Permissions,
    pub owner: (u32, u32),
}

impl Standing {
    /// Looks at a path.
    pub fn at(path: &Path) -> Result<Standing, Failure> {
        let failed = |error| Failure::io(format!("cannot look at {}", path.display()), error);
        match std::fs::symlink_metadata(path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Standing::Free),
            Err(error) => return Err(failed(error)),
        }
        let at = match std::fs::canonicalize(path) {
            Ok(at) => at,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Standing::Nowhere),
            Err(error) => return Err(failed(error)),
        };
        let meta = std::fs::metadata(&at).map_err(failed)?;
        if !meta.is_file() {
            let message = format!("cannot write {}: it is {}", path.display(), kind(&meta));
            return Err(Failure::Other { message, hints: vec!["move it away, or name another directory".into()] });
        }
        let bytes = std::fs::read(&at).map_err(failed)?;
        let owner = (meta.uid(), meta.gid());
        Ok(Standing::File(File { at, bytes, permissions: meta.permissions(), owner }))
    }
}

fn kind(meta: &Metadata) -> &'static str {
    if meta.is_dir() { "a directory" } else { "no plain file" }
}

/// Tells whether links lead from a path below a directory to somewhere else.
pub fn leads_out(dir: &Path, path: &Path) -> bool {
    let real = |path: &Path| path.ancestors().find_map(|path| std::fs::canonicalize(or_here(path)).ok());
    match (std::fs::canonicalize(or_here(dir)), real(path)) {
        (Ok(dir), Some(real)) => !real.starts_with(dir),
        // A directory that is not there yet has no links in it.
        _ => false,
    }
}

/// Fails where a file could not be written, so that this is known before anything is.
pub fn must_be_writable(path: &Path) -> Result<(), Failure> {
    let parents = path.ancestors().skip(1).map(or_here);
    let Some(there) = parents.into_iter().find(|dir| dir.exists()) else { return Ok(()) };
    let failed = |error| Failure::io(format!("cannot write {}: {}", path.display(), there.display()), error);
    if !there.is_dir() {
        return Err(failed(io::Error::from(ErrorKind::NotADirectory)));
    }
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| failed(error.into()))
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
