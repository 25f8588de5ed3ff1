//! The server's log file, bounded: when it is full it becomes the old one, and the old one goes.
//! It must never end the server: what cannot be written is lost.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// How large each of the two files may be.
const LIMIT: u64 = 512 * 1024;

/// A file that never grows beyond a bound.
#[derive(Debug)]
pub struct Bounded {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
}

impl Bounded {
    /// Opens it, or makes it.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be opened.
    pub fn open(path: PathBuf) -> io::Result<Bounded> {
        Bounded::with_limit(path, LIMIT)
    }

    fn with_limit(path: PathBuf, limit: u64) -> io::Result<Bounded> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        let written = file.metadata()?.len();
        Ok(Bounded { path, file, written, limit })
    }

    fn turn(&mut self) -> io::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".old");
        std::fs::rename(&self.path, old)?;
        *self = Bounded::with_limit(self.path.clone(), self.limit)?;
        Ok(())
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written + bytes.len() as u64 > self.limit && self.written > 0 {
            self.turn()?;
        }
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_becomes_the_old_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("panes.log");
        let mut log = Bounded::with_limit(path.clone(), 100).expect("a file");
        for n in 0..100 {
            log.write_all(format!("line {n:04}\n").as_bytes()).expect("written");
        }
        let read = |path| std::fs::read_to_string(path).expect("a file");
        let (new, old) = (read(path), read(dir.path().join("panes.log.old")));
        assert!(new.len() <= 100 && old.len() <= 100);
        assert!(new.ends_with("line 0099\n") && old.ends_with("\n"));
        assert!(Bounded::with_limit(dir.path().join("panes.log"), 100).expect("a file").written <= 100);
    }
}
