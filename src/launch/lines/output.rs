//! What a program has written, line by line, from a given place on: a file that grows while it is read.
//!
//! What was read and is not needed any more is taken off the disk, while the places of all later lines stay what they
//! were. What a line means is not known here.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use serde_json::Value;

use super::super::read;

/// How long a line may be; a longer one is passed over.
const LONGEST: usize = 64 * 1024 * 1024;
/// How much is read in one go, so that a flood of lines keeps nobody waiting.
const GO: u64 = 4 * 1024 * 1024;

/// A line, with the place where it ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Where the next one begins.
    pub end: u64,
    /// What it says; nothing if it is no JSON or too long.
    pub said: Option<Value>,
}

/// What a program writes, read up to some place.
#[derive(Debug, Default)]
pub(super) struct Output {
    path: PathBuf,
    /// How far it was read.
    read: u64,
    /// The beginning of a line whose end is not there yet.
    begun: Vec<u8>,
    /// Whether that line is too long already.
    skips: bool,
    longest: usize,
}

impl Output {
    /// Reads from this place on, where a line begins.
    pub(super) fn from(path: PathBuf, at: u64) -> Output {
        Output { path, read: at, longest: LONGEST, ..Output::default() }
    }

    /// Returns how far it was read.
    pub(super) fn place(&self) -> u64 {
        self.read
    }

    /// Returns how much was written by now.
    pub(super) fn length(&self) -> u64 {
        self.path.metadata().map_or(0, |found| found.len())
    }

    /// Tells whether there is more than was read.
    pub(super) fn has_more(&self) -> bool {
        self.length() > self.read
    }

    /// Reads lines that are whole, up to a bound.
    pub(super) fn read(&mut self) -> io::Result<Vec<Line>> {
        let mut file = match read::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(GO).read_to_end(&mut bytes)?;
        Ok(self.take(&bytes))
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.read += piece.len() as u64;
            if !self.skips {
                self.begun.extend_from_slice(piece);
            }
            if self.begun.len() > self.longest {
                tracing::warn!(file = %self.path.display(), "a line of a worker's program is too long and is passed over");
                self.begun = Vec::new();
                self.skips = true;
            }
            if piece.ends_with(b"\n") {
                let said = serde_json::from_slice(&self.begun).ok().filter(|_| !self.skips);
                lines.push(Line { end: self.read, said });
                self.begun.clear();
                self.skips = false;
            }
        }
        lines
    }
}

/// Takes a part of the file off the disk: it reads as zeros from then on, and all later places stay.
pub(super) fn punch(path: &Path, from: u64, to: u64) -> io::Result<()> {
    if !path.symlink_metadata()?.is_file() {
        return Err(ErrorKind::Unsupported.into());
    }
    let file = File::options().write(true).open(path)?;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, flags, from, to.saturating_sub(from))?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_read_when_they_are_whole_and_each_once() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let path = place.path().join("out");
        let mut output = Output::from(path.clone(), 0);
        assert_eq!(output.read().expect("no file is no line"), []);
        let write = |text: &str| {
            let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("opened");
            file.write_all(text.as_bytes()).expect("written");
        };
        write("{\"a\":1}\nno JSON\n{\"b\":");
        let lines = output.read().expect("read");
        assert_eq!(lines, [Line { end: 8, said: Some(json!({"a": 1})) }, Line { end: 16, said: None }]);
        assert!(!output.has_more());
        assert_eq!(output.read().expect("read"), []);
        write("2}\n");
        assert!(output.has_more());
        assert_eq!(output.read().expect("read"), [Line { end: 24, said: Some(json!({"b": 2})) }]);
        let again = Output::from(path.clone(), 16).read().expect("read");
        assert_eq!(again, [Line { end: 24, said: Some(json!({"b": 2})) }], "from a place on, as often as wanted");
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        let mut output = Output { longest: 10, ..Output::default() };
        assert_eq!(output.take(b"\"12345678"), []);
        assert_eq!(output.take(b"90123456"), []);
        assert!(output.begun.is_empty(), "it is not kept");
        let lines = output.take(b"789\"\n\"short\"\n");
        assert_eq!(lines, [Line { end: 22, said: None }, Line { end: 30, said: Some(json!("short")) }]);
    }

    #[test]
    fn what_is_punched_out_takes_no_room_and_the_rest_stays_where_it_was() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let path = place.path().join("out");
        let old = "x".repeat(3 * 1024 * 1024) + "\n";
        fs::write(&path, format!("{old}{{\"b\":2}}\n")).expect("written");
        let before = fs::metadata(&path).expect("there").blocks();
        punch(&path, 0, old.len() as u64).expect("this file system can");
        let after = fs::metadata(&path).expect("there");
        assert!(after.blocks() < before / 10, "{} blocks of {before}", after.blocks());
        let lines = Output::from(path, old.len() as u64).read().expect("read");
        assert_eq!(lines, [Line { end: after.len(), said: Some(json!({"b": 2})) }]);
    }
}
