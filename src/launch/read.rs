//! Reading files that others may have put there: only regular ones, and only so much of them.
//!
//! A link to a device tells the length 0 and never ends, and a pipe blocks whoever opens it. What is read is not
//! understood here.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file; whatever else stands there is refused, and never waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::Unsupported, "it is no regular file")),
    }
}

/// Reads a regular file that is not longer than this.
pub(super) fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Its length may change while it is read.
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// Reads a regular file of text that is not longer than this.
pub(super) fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    /// Makes a pipe at a path, which would block whoever opens it to read.
    pub(in super::super) fn pipe(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe is made");
    }

    #[test]
    fn only_regular_files_of_a_bounded_length_are_read() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "12345").expect("written");
        symlink("file", at("link")).expect("linked");
        assert_eq!(text(&at("link"), 5).expect("it is read"), "12345");
        let kind = |path: &Path| bytes(path, 4).expect_err("it is refused").kind();
        assert_eq!(kind(&at("file")), ErrorKind::FileTooLarge);
        symlink("/dev/zero", at("zero")).expect("linked");
        pipe(&at("pipe"));
        for other in [at("zero"), at("pipe"), place.path().to_owned()] {
            assert_eq!(kind(&other), ErrorKind::Unsupported, "{}", other.display());
        }
        assert_eq!(kind(&at("none")), ErrorKind::NotFound);
        fs::write(at("bytes"), [0xff, 0xfe]).expect("written");
        assert_eq!(text(&at("bytes"), 9).expect_err("it is refused").kind(), ErrorKind::InvalidData);
    }
}
