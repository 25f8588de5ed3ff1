//! What is typed while attached: passed on as it comes, but for the keys by which one leaves.
//! Ctrl+\ is a key that hardly any program uses, and is passed on when it is pressed twice or before another key.

/// Ctrl+\ as terminals send it.
const PREFIX: u8 = 0x1c;

/// Remembers whether the last key was the first half of leaving.
#[derive(Debug, Default)]
pub struct Keys {
    prefixed: bool,
}

/// What came of some bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// What is passed on.
    pub bytes: Vec<u8>,
    /// Whether one leaves; what was typed after that is not passed on.
    pub leaves: bool,
}

impl Keys {
    /// Takes what was typed.
    pub fn typed(&mut self, bytes: &[u8]) -> Typed {
        let mut typed = Typed::default();
        for byte in bytes {
            match (std::mem::take(&mut self.prefixed), byte) {
                // The control key may still be held.
                (true, b'd' | b'D' | 0x04) => {
                    typed.leaves = true;
                    return typed;
                }
                (false, &PREFIX) => self.prefixed = true,
                (true, &PREFIX) => typed.bytes.push(PREFIX),
                (true, byte) => typed.bytes.extend([PREFIX, *byte]),
                (false, byte) => typed.bytes.push(*byte),
            }
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(bytes: &[u8]) -> Typed {
        Typed { bytes: bytes.to_vec(), leaves: false }
    }

    #[test]
    fn everything_is_passed_on_but_the_way_out() {
        let mut keys = Keys::default();
        assert_eq!(keys.typed(b"text \x1b[A\x03d"), passed(b"text \x1b[A\x03d"));
        assert_eq!(keys.typed(b"a\x1c\x1cb\x1cx"), passed(b"a\x1cb\x1cx"));
        assert_eq!(keys.typed(b"\x1c"), passed(b""));
        assert_eq!(keys.typed(b"dlate"), Typed { bytes: Vec::new(), leaves: true });
        assert_eq!(keys.typed(b"x\x1c\x04"), Typed { bytes: b"x".to_vec(), leaves: true });
    }
}
