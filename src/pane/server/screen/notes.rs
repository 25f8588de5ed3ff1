//! What the emulator tells beside the screen: rows that leave it at the top, and questions of the program to its
//! terminal, which get the answers that a program may wait for.
//!
//! A program can set neither the clipboard nor the title nor the size of anything here.

use std::collections::VecDeque;
use std::fmt::Write;

use vt100::capture::{BasicFormattedCaptureState, RowContents};
use vt100::{Callbacks, Screen};

/// How many rows are kept that have left the screen, and how many bytes they may have together.
const MAX_ROWS: usize = 2_000;
const MAX_BYTES: usize = 256 * 1024;
/// Answers are dropped while so much of them was not fetched.
const MAX_ANSWERS: usize = 4 * 1024;

/// Notes beside one screen.
#[derive(Default)]
pub struct Notes {
    /// Rows that have left the screen.
    pub history: History,
    /// What the terminal says to the program.
    pub answers: Vec<u8>,
}

/// The newest rows that have left the screen, with their colours.
#[derive(Default)]
pub struct History {
    rows: VecDeque<String>,
    bytes: usize,
}

impl History {
    /// Returns so many of the newest rows, oldest first, without their colours.
    pub fn newest(&self, count: usize) -> Vec<String> {
        let from = self.rows.len() - count.min(self.rows.len());
        let plain = |row: &String| vt100::capture::basic_formatted_to_plain(row).collect::<String>();
        self.rows.range(from..).map(|row| plain(row).trim_end().to_string()).collect()
    }

    fn push(&mut self, row: String) {
        self.bytes += row.len();
        self.rows.push_back(row);
        while self.rows.len() > MAX_ROWS || self.bytes > MAX_BYTES {
            let Some(row) = self.rows.pop_front() else { return };
            self.bytes -= row.len();
        }
    }
}

impl Notes {
    fn answer(&mut self, text: &str) {
        if self.answers.len() + text.len() <= MAX_ANSWERS {
            self.answers.extend_from_slice(text.as_bytes());
        }
    }
}

impl Callbacks for Notes {
    fn on_scroll(&mut self, row: RowContents<'_>, alternate_screen: bool) {
        if alternate_screen {
            return;
        }
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = row.write_formatted_basic(&mut text, &mut BasicFormattedCaptureState::new());
        text.shrink_to_fit();
        self.history.push(text);
    }

    fn unhandled_csi(&mut self, screen: &mut Screen, i1: Option<u8>, i2: Option<u8>, params: &[&[u16]], end: char) {
        let first = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        match (i1, i2, end, first) {
            // Who are you: a VT220 with colours; and no other way of saying more.
            (None, None, 'c', 0) => self.answer("\x1b[?62;22c"),
            (Some(b'>'), None, 'c', 0) => self.answer("\x1b[>1;10;0c"),
            (Some(b'>'), None, 'q', 0) => {
                self.answer(concat!("\x1bP>|fleetd ", env!("CARGO_PKG_VERSION"), "\x1b\\"));
            }
            // Are you well.
            (None, None, 'n', 5) => self.answer("\x1b[0n"),
            // Where is the cursor.
            (None, None, 'n', 6) => {
                let (row, column) = screen.cursor_position();
                let (_, columns) = screen.size();
                let mut text = String::new();
                let _ = write!(text, "\x1b[{};{}R", row + 1, column.min(columns.get() - 1) + 1);
                self.answer(&text);
            }
            // Is this mode set.
            (Some(b'?'), Some(b'$'), 'p', mode) => {
                let is = |set: bool| if set { 1 } else { 2 };
                let state = match mode {
                    1 => is(screen.application_cursor()),
                    25 => is(!screen.hide_cursor()),
                    1049 => is(screen.alternate_screen()),
                    2004 => is(screen.bracketed_paste()),
                    _ => 0,
                };
                self.answer(&format!("\x1b[?{mode};{state}$y"));
            }
            // How large is the text area.
            (None, None, 't', 18) => {
                let (rows, columns) = screen.size();
                self.answer(&format!("\x1b[8;{rows};{columns}t"));
            }
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        // Light on dark: nobody may be watching, and somebody's terminal is not asked for what it looks like.
        match params {
            [b"10", b"?"] => self.answer("\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
            [b"11", b"?"] => self.answer("\x1b]11;rgb:0000/0000/0000\x1b\\"),
            #[cfg(test)]
            [b"panic"] => panic!("on purpose"),
            _ => {}
        }
    }
}
