//! What waits to be typed into one pane. A program that does not read fills its terminal, and then this, up to a bound;
//! from then on texts are refused whole, and none is typed in part.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::engine::panes::Key;
use crate::pane::wire::MAX_TEXT;

/// How much may wait: one longest text, its brackets, and some keys.
const MAX_WAITING: usize = MAX_TEXT + 64 * 1024;
/// Answers to questions of the program itself are only given while little waits.
const MAX_REPLIES: usize = 4 * 1024;
/// How long nothing follows an escape key, so that it is not read as the begin of another key.
const AFTER_ESCAPE: Duration = Duration::from_millis(60);

/// Bytes for one terminal, in their order.
#[derive(Debug, Default)]
pub struct Queue {
    chunks: VecDeque<Chunk>,
    waiting: usize,
    rests_until: Option<Instant>,
}

#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    typed: usize,
    /// How long nothing follows it.
    rest: Duration,
}

impl Queue {
    /// Takes a text, or none of it.
    pub fn text(&mut self, text: &str, bracketed: bool) -> bool {
        let bytes = match bracketed {
            true => [b"\x1b[200~", text.as_bytes(), b"\x1b[201~"].concat(),
            false => text.as_bytes().to_vec(),
        };
        !text.is_empty() && self.take(bytes, Duration::ZERO) || text.is_empty()
    }

    /// Takes keys, or none of them. Arrows are sent as the program wants them.
    pub fn keys(&mut self, keys: &[Key], application_cursor: bool) -> bool {
        if self.waiting + keys.len() * 3 > MAX_WAITING {
            return false;
        }
        let mut bytes = Vec::new();
        for (n, key) in keys.iter().enumerate() {
            bytes.extend(bytes_of(*key, application_cursor));
            if *key == Key::Esc || n + 1 == keys.len() {
                let rest = if *key == Key::Esc { AFTER_ESCAPE } else { Duration::ZERO };
                self.take(std::mem::take(&mut bytes), rest);
            }
        }
        true
    }

    /// Takes what a watcher typed, or none of it.
    pub fn raw(&mut self, bytes: Vec<u8>) -> bool {
        bytes.is_empty() || self.take(bytes, Duration::ZERO)
    }

    /// Takes an answer to a question of the program, unless it asks without reading.
    pub fn reply(&mut self, bytes: Vec<u8>) {
        if self.waiting + bytes.len() <= MAX_REPLIES {
            self.take(bytes, Duration::ZERO);
        }
    }

    /// Returns what can be typed now.
    pub fn next(&self, now: Instant) -> Option<&[u8]> {
        if self.rests_until.is_some_and(|until| until > now) {
            return None;
        }
        self.chunks.front().map(|chunk| &chunk.bytes[chunk.typed..])
    }

    /// Notes that so many bytes of it were typed.
    pub fn typed(&mut self, bytes: usize, now: Instant) {
        let Some(chunk) = self.chunks.front_mut() else { return };
        chunk.typed += bytes;
        self.waiting -= bytes;
        if chunk.typed == chunk.bytes.len() {
            self.rests_until = (!chunk.rest.is_zero()).then(|| now + chunk.rest);
            self.chunks.pop_front();
        }
    }

    /// Returns when more can be typed, if something waits for that.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        self.rests_until.filter(|until| *until > now && !self.chunks.is_empty())
    }

    fn take(&mut self, bytes: Vec<u8>, rest: Duration) -> bool {
        if self.waiting + bytes.len() > MAX_WAITING {
            return false;
        }
        self.waiting += bytes.len();
        self.chunks.push_back(Chunk { bytes, typed: 0, rest });
        true
    }
}

/// In application mode an arrow is told from an escape key and letters by its second byte.
fn bytes_of(key: Key, application_cursor: bool) -> Vec<u8> {
    let mut bytes = key.bytes();
    if application_cursor && matches!(key, Key::Up | Key::Down | Key::Left | Key::Right) {
        bytes[1] = b'O';
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queue: &mut Queue, now: Instant) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = queue.next(now).map(<[u8]>::to_vec) {
            queue.typed(bytes.len(), now);
            all.extend(bytes);
        }
        all
    }

    #[test]
    fn a_text_that_does_not_fit_is_refused_whole() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        assert!(queue.text(&"x".repeat(MAX_TEXT), true));
        assert!(!queue.text(&"y".repeat(MAX_TEXT / 2), false));
        assert!(queue.keys(&[Key::Enter], false));
        let typed = all(&mut queue, now);
        assert_eq!(typed.len(), MAX_TEXT + 13);
        assert!(typed.ends_with(b"x\x1b[201~\r"));
        assert!(queue.text("z", false), "there is room again");
    }

    #[test]
    fn nothing_follows_an_escape_key_at_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        assert!(queue.keys(&[Key::Char('a'), Key::Esc, Key::Char('b')], false));
        assert!(queue.text("text", false));
        assert_eq!(all(&mut queue, now), b"a\x1b");
        let due = queue.due(now).expect("more waits");
        assert_eq!(all(&mut queue, due), b"btext");
        assert_eq!(queue.due(due), None);
    }

    #[test]
    fn arrows_are_sent_as_the_program_wants_them() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        assert!(queue.keys(&[Key::Up, Key::Tab], true) && queue.keys(&[Key::Up], false));
        assert_eq!(all(&mut queue, now), b"\x1bOA\t\x1b[A");
    }

    #[test]
    fn a_program_that_asks_without_reading_gets_few_answers() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        (0..10_000).for_each(|_| queue.reply(b"\x1b[0n".to_vec()));
        assert!(all(&mut queue, now).len() <= MAX_REPLIES);
    }
}
