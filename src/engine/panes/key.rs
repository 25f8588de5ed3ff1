//! Keys that are pressed in a pane, by the names that charters and hosts use.
//! Only those that every host can press; when one is pressed is the launcher's matter.

use std::fmt;

/// One key. Only what every host can press is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Enter, which submits.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// A small letter together with the control key.
    Ctrl(char),
    /// A printable ASCII character.
    Char(char),
}

/// The keys that have a name, by it.
const NAMED: &[(&str, Key)] = &[
    ("enter", Key::Enter),
    ("esc", Key::Esc),
    ("tab", Key::Tab),
    ("backspace", Key::Backspace),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
];

impl Key {
    /// Reads a key by its name: `enter`, `esc`, `ctrl+c`, a printable character; the error names the valid ones.
    ///
    /// # Errors
    ///
    /// Fails on any other name.
    pub fn parse(name: &str) -> Result<Key, String> {
        if let Some((_, key)) = NAMED.iter().find(|(word, _)| *word == name) {
            return Ok(*key);
        }
        let mut rest = name.strip_prefix("ctrl+").unwrap_or(name).chars();
        match (rest.next(), rest.next(), name.starts_with("ctrl+")) {
            (Some(letter @ 'a'..='z'), None, true) => Ok(Key::Ctrl(letter)),
            (Some(printable @ '!'..='~'), None, false) => Ok(Key::Char(printable)),
            _ => {
                let names: Vec<&str> = NAMED.iter().map(|(word, _)| *word).collect();
                let names = names.join(", ");
                Err(format!("there is no key '{name}'; valid: {names}, ctrl+a to ctrl+z, or one printable character"))
            }
        }
    }

    /// Returns the bytes that a plain terminal sends for it.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Key::Enter => b"\r".to_vec(),
            Key::Esc => b"\x1b".to_vec(),
            Key::Tab => b"\t".to_vec(),
            Key::Backspace => b"\x7f".to_vec(),
            Key::Up => b"\x1b[A".to_vec(),
            Key::Down => b"\x1b[B".to_vec(),
            Key::Right => b"\x1b[C".to_vec(),
            Key::Left => b"\x1b[D".to_vec(),
            // The control key takes the two high bits away.
            Key::Ctrl(letter) => vec![letter as u8 & 0x1f],
            Key::Char(printable) => printable.to_string().into_bytes(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Ctrl(letter) => write!(f, "ctrl+{letter}"),
            Key::Char(printable) => write!(f, "{printable}"),
            named => {
                let name = NAMED.iter().find(|(_, key)| key == named).map_or("", |(word, _)| word);
                f.write_str(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_by_the_name_it_is_shown_by() {
        let keys = NAMED.iter().map(|(_, key)| *key).chain([Key::Ctrl('c'), Key::Char('y'), Key::Char('+')]);
        for key in keys {
            assert_eq!(Key::parse(&key.to_string()), Ok(key));
        }
        assert_eq!(Key::Ctrl('c').bytes(), [3]);
    }

    #[test]
    fn what_is_no_key_is_refused_with_the_valid_ones() {
        for wrong in ["", "Enter", "ctrl+", "ctrl+C", "ctrl+cc", "é", " ", "pageup", "\u{1b}"] {
            let refused = Key::parse(wrong).expect_err("it is no key");
            assert!(refused.contains("valid: enter, esc"), "{refused}");
        }
    }
}
