//! Output files as text: bounded, and cut between characters, whatever bytes are in them.
//!
//! Bytes that are no UTF-8 are shown as U+FFFD; the file keeps them as they were. No record is read here.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The most text that a reply carries.
pub const TEXT_LIMIT: usize = 1024 * 1024;

/// An output file as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// The text, at most as long as was asked for.
    pub text: String,
    /// Whether the file holds more.
    pub truncated: bool,
}

impl Text {
    /// Reads at most `limit` bytes of text.
    pub(super) fn of(file: impl Read, limit: usize) -> io::Result<Self> {
        let mut bytes = Vec::new();
        // Three bytes more, so that a character across the limit is seen whole and not as a broken one.
        file.take(limit as u64 + 3).read_to_end(&mut bytes)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let truncated = text.len() > limit;
        text.truncate(text.floor_char_boundary(limit));
        Ok(Self { text, truncated })
    }
}

/// Returns the last `limit` bytes of a file as text.
pub(super) fn tail_of(path: &Path, limit: usize) -> io::Result<String> {
    let mut file = File::open(path)?;
    let skipped = file.metadata()?.len().saturating_sub(limit as u64);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(tail_text(&bytes, skipped > 0))
}

/// Returns bytes as text; when they are the end of something longer, from the first whole character on.
pub(crate) fn tail_text(bytes: &[u8], cut: bool) -> String {
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let broken = if cut { bytes.iter().take(3).take_while(is_inside).count() } else { 0 };
    String::from_utf8_lossy(&bytes[broken..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], limit: usize) -> (String, bool) {
        let read = Text::of(bytes, limit).expect("memory can be read");
        (read.text, read.truncated)
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(text("aé".as_bytes(), 3), ("aé".into(), false));
        assert_eq!(text("aé".as_bytes(), 2), ("a".into(), true));
        assert_eq!(text("a𝄞b".as_bytes(), 3), ("a".into(), true));
        assert_eq!(text(b"", 4), (String::new(), false));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_pass_the_limit() {
        let (read, truncated) = text(&[0xff; 100], 100);
        assert!(truncated);
        assert_eq!(read, "\u{fffd}".repeat(33));
    }

    #[test]
    fn a_tail_begins_with_a_whole_character() {
        assert_eq!(tail_text(&"é!".as_bytes()[1..], true), "!");
        assert_eq!(tail_text("é!".as_bytes(), false), "é!");
    }
}
