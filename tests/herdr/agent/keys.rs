//! Bytes of a terminal as keys and pastes, however they are cut into reads.
//! What a key does is not known here.

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What somebody did at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A text that came as one paste.
    Paste(String),
    /// A character, line feed and tab included.
    Char(char),
    /// The Enter key: a carriage return.
    Enter,
    /// The Escape key.
    Esc,
    /// Backspace.
    Backspace,
    /// An arrow, by the last letter of its sequence: A up, B down, C right, D left.
    Arrow(u8),
    /// A small letter together with the control key.
    Ctrl(char),
    /// Something that the terminal reports and nobody typed, such as the mouse.
    Report,
}

/// What has arrived and is not a whole key yet.
#[derive(Default)]
pub struct Keys {
    pending: Vec<u8>,
}

impl Keys {
    /// Takes bytes and returns the keys that are complete with them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut found = Vec::new();
        while let Some((key, length)) = first(&self.pending) {
            self.pending.drain(..length);
            found.push(key);
        }
        found
    }

    /// Returns what was left when nothing more came: a lone Escape is the key.
    pub fn rest(&mut self) -> Vec<Key> {
        if self.pending == b"\x1b" {
            self.pending.clear();
            return vec![Key::Esc];
        }
        Vec::new()
    }
}

/// Returns the first whole key and how many bytes it takes.
fn first(bytes: &[u8]) -> Option<(Key, usize)> {
    match *bytes.first()? {
        0x1b => escaped(bytes),
        b'\r' => Some((Key::Enter, 1)),
        byte @ (b'\n' | b'\t') => Some((Key::Char(char::from(byte)), 1)),
        0x7f | 0x08 => Some((Key::Backspace, 1)),
        control @ 0x01..=0x1a => Some((Key::Ctrl(char::from(control | 0x60)), 1)),
        0x00 | 0x1c..=0x1f => Some((Key::Report, 1)),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let width = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let whole = bytes.get(..width)?;
    match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
        Some(letter) => Some((Key::Char(letter), width)),
        None => Some((Key::Char(char::REPLACEMENT_CHARACTER), 1)),
    }
}

fn escaped(bytes: &[u8]) -> Option<(Key, usize)> {
    if bytes.starts_with(PASTE_BEGINS) {
        let body = &bytes[PASTE_BEGINS.len()..];
        let end = body.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
        let text = String::from_utf8_lossy(&body[..end]).into_owned();
        return Some((Key::Paste(text), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
    }
    match *bytes.get(1)? {
        b'[' => {
            let last = bytes[2..].iter().position(|byte| matches!(byte, 0x40..=0x7e))? + 2;
            let key = match bytes[last] {
                arrow @ b'A'..=b'D' if last == 2 => Key::Arrow(arrow),
                _ => Key::Report,
            };
            Some((key, last + 1))
        }
        // The arrows of a terminal in application mode.
        b'O' => {
            let last = *bytes.get(2)?;
            Some((if matches!(last, b'A'..=b'D') { Key::Arrow(last) } else { Key::Report }, 3))
        }
        // Escape, and something else after it.
        _ => Some((Key::Esc, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8], piece: usize) -> Vec<Key> {
        let mut keys = Keys::default();
        let mut found: Vec<Key> = bytes.chunks(piece).flat_map(|part| keys.feed(part)).collect();
        found.extend(keys.rest());
        found
    }

    #[test]
    fn keys_are_the_same_however_the_bytes_are_cut() {
        let bytes = "aé漢👩\r\n\x1b[200~x\ny\r\x1b[Bz\x1b[201~\x1b[A\x1b[<64;3;4M\x03\x7f\x1b".as_bytes();
        let whole = read_all(bytes, bytes.len());
        let expected = [
            Key::Char('a'),
            Key::Char('é'),
            Key::Char('漢'),
            Key::Char('👩'),
            Key::Enter,
            Key::Char('\n'),
            Key::Paste("x\ny\r\x1b[Bz".to_owned()),
            Key::Arrow(b'A'),
            Key::Report,
            Key::Ctrl('c'),
            Key::Backspace,
            Key::Esc,
        ];
        assert_eq!(whole, expected);
        for piece in 1..bytes.len() {
            assert_eq!(read_all(bytes, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn an_escape_before_a_letter_is_a_key_of_its_own() {
        assert_eq!(read_all(b"\x1bx", 2), [Key::Esc, Key::Char('x')]);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(read_all(b"\xffa", 2), [Key::Char('\u{fffd}'), Key::Char('a')]);
    }
}
