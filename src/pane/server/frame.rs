//! What a watcher's terminal is sent so that it shows a pane: the rows that have changed since the last frame, the
//! cursor, and the modes on which the input depends. A view that is smaller than the pane shows the part with the cursor.
//!
//! Only what `screen` paints is sent, so nothing that a program printed reaches a watcher's terminal as it was.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::screen::{Cursor, Modes, Screen};
use crate::pane::wire::Size;

/// What one watcher's terminal shows.
pub struct View {
    size: Size,
    read_only: bool,
    rows: Vec<u64>,
    top: u16,
    cursor: Option<Cursor>,
    modes: Option<Modes>,
}

impl View {
    /// Returns a view of which nothing is drawn yet.
    pub fn new(size: Size, read_only: bool) -> View {
        View { size, read_only, rows: Vec::new(), top: 0, cursor: None, modes: None }
    }

    /// Gives it another size, after which everything is drawn anew.
    pub fn resize(&mut self, size: Size) {
        *self = View { modes: self.modes, ..View::new(size, self.read_only) };
    }

    /// Returns what must be sent so that it shows the screen, if that is anything.
    pub fn frame(&mut self, screen: &mut Screen) -> Option<String> {
        let mut cursor = screen.cursor();
        let height = self.size.rows.min(screen.size().rows);
        // The part with the cursor; it stays where it is as long as the cursor does not leave it.
        let lowest = screen.size().rows - height;
        let top = self.top.clamp(cursor.row.saturating_sub(height - 1), cursor.row).min(lowest);
        let mut text = String::new();
        if self.rows.is_empty() || top != self.top {
            self.rows.clear();
            text.push_str("\x1b[0m\x1b[2J");
        }
        self.top = top;
        self.rows.resize(usize::from(height), hash(""));
        for row in 0..height {
            let painted = screen.row(top + row, self.size.columns);
            let shown = &mut self.rows[usize::from(row)];
            if std::mem::replace(shown, hash(&painted)) != *shown {
                // Writing to a text cannot fail. The row is cleared first: after its last cell that would take a letter.
                let _ = write!(text, "\x1b[{};1H\x1b[0m\x1b[2K{painted}", row + 1);
            }
        }
        let modes = screen.modes();
        if !self.read_only && self.modes.replace(modes) != Some(modes) {
            text.push_str(&modes.set());
        }
        cursor.row -= top;
        cursor.seen &= cursor.column < self.size.columns;
        if text.is_empty() && self.cursor == Some(cursor) {
            return None;
        }
        if self.cursor.is_none_or(|before| before.shape != cursor.shape) {
            let _ = write!(text, "\x1b[{} q", cursor.shape);
        }
        self.cursor = Some(cursor);
        let seen = if cursor.seen { 'h' } else { 'l' };
        let _ = write!(text, "\x1b[{};{}H\x1b[?25{seen}", cursor.row + 1, cursor.column.min(self.size.columns - 1) + 1);
        // Terminals that know this mode show the frame in one go, others pass over it.
        Some(format!("\x1b[?2026h\x1b[?25l{text}\x1b[?2026l"))
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const SIZE: Size = Size { rows: 5, columns: 20 };

    fn print(screen: &mut Screen, text: &str) {
        let taken = screen.print(text.as_bytes(), Instant::now() + Duration::from_secs(60));
        assert_eq!(taken, text.len());
    }

    /// What a terminal shows that is sent all frames.
    fn shown(terminal: &mut Screen) -> Vec<String> {
        terminal.view(true, 0).coloured
    }

    #[test]
    fn a_terminal_that_is_sent_the_frames_shows_the_screen() {
        let (mut screen, mut terminal) = (Screen::new(SIZE), Screen::new(SIZE));
        let mut view = View::new(SIZE, false);
        let printed = [
            "one\r\n\x1b[31mtwo\x1b[m\r\n漢字",
            "\x1b[2J\x1b[Hnew",
            "\x1b[5;1H12345678901234567890",
            "x\r\ny\r\n",
            "\x1b[?1049h\x1b[?2004h\x1b[?1h\x1b[?1002h\x1b[?1006h\x1b[2;3Halt\x1b[?25l",
            "\x1b[?1049l\x1b[?25h\x1b[?1002l\x1b[4 q",
        ];
        for text in printed {
            print(&mut screen, text);
            let frame = view.frame(&mut screen).expect("something changed");
            print(&mut terminal, &frame);
            assert_eq!(shown(&mut terminal), shown(&mut screen), "{text:?}");
            assert_eq!((terminal.cursor(), terminal.modes()), (screen.cursor(), screen.modes()), "{text:?}");
            assert_eq!(view.frame(&mut screen), None, "nothing changed since");
        }
        print(&mut screen, "\x1b[3;1Hthird");
        let frame = view.frame(&mut screen).expect("a row changed");
        assert!(frame.contains("third") && !frame.contains("new"), "only what changed is sent: {frame:?}");
    }

    #[test]
    fn a_smaller_view_shows_the_part_with_the_cursor() {
        let mut screen = Screen::new(SIZE);
        let small = Size { rows: 2, columns: 6 };
        let (mut view, mut terminal) = (View::new(small, false), Screen::new(small));
        for (text, wanted) in [
            ("first 漢字\r\nsecond", ["first", "second"]),
            ("\r\n3\r\n4\r\n5", ["4", "5"]),
            ("\x1b[4;1H", ["4", "5"]),
            ("\x1b[H", ["first", "second"]),
        ] {
            print(&mut screen, text);
            let frame = view.frame(&mut screen).expect("the cursor moved");
            print(&mut terminal, &frame);
            assert_eq!(terminal.view(false, 0).lines, wanted, "{text:?}");
        }
    }

    #[test]
    fn who_only_looks_gets_no_modes() {
        let mut screen = Screen::new(SIZE);
        print(&mut screen, "\x1b[?2004h\x1b[?1003hx");
        let frame = View::new(SIZE, true).frame(&mut screen).expect("a first frame");
        assert!(!frame.contains("2004") && !frame.contains("1003"), "{frame:?}");
    }
}
