//! Lines out of a stream of bytes, none longer than a bound. Both ends use it, and nobody's memory grows by what the
//! other end sends.

use memchr::memchr;

use super::MAX_LINE;

/// The bytes that came and were not read yet.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// What is before it was given out.
    taken: usize,
    /// What is before it holds no line end.
    seen: usize,
}

/// A line is longer than [`MAX_LINE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {MAX_LINE} bytes")]
pub struct TooLong;

impl Lines {
    /// Adds what came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            (self.taken, self.seen) = (0, 0);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next whole line without its end, if there is one.
    ///
    /// # Errors
    ///
    /// Fails when what came without a line end is longer than a line may be.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let Some(end) = memchr(b'\n', &self.bytes[self.seen..]) else {
            self.seen = self.bytes.len();
            return if self.seen - self.taken > MAX_LINE { Err(TooLong) } else { Ok(None) };
        };
        let end = self.seen + end;
        let line = self.bytes[self.taken..end].to_vec();
        (self.taken, self.seen) = (end + 1, end + 1);
        if self.taken > 64 * 1024 {
            self.bytes.drain(..self.taken);
            (self.taken, self.seen) = (0, 0);
            // What one long line needed is not kept for ever.
            self.bytes.shrink_to(64 * 1024);
        }
        if line.len() > MAX_LINE { Err(TooLong) } else { Ok(Some(line)) }
    }

    /// Tells whether a whole line waits.
    pub fn has_line(&self) -> bool {
        memchr(b'\n', &self.bytes[self.seen..]).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_however_they_came_in() {
        let text = b"one\n\nthree is longer\nfour\n";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for chunk in text.chunks(size) {
                lines.push(chunk);
                while let Some(line) = lines.take().expect("short") {
                    found.push(String::from_utf8(line).expect("text"));
                }
            }
            assert_eq!(found, ["one", "", "three is longer", "four"]);
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut lines = Lines::default();
        for _ in 0..MAX_LINE / 65_536 {
            lines.push(&[b'x'; 65_536]);
            assert_eq!(lines.take(), Ok(None));
        }
        lines.push(b"y");
        assert_eq!(lines.take(), Err(TooLong));
    }
}
