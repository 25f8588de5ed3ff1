//! The screen of one pane: what the program printed, as a terminal would show it, with the rows that have left it.
//!
//! The emulator is somebody else's, and a program may print anything: a panic in it costs this screen and nothing
//! else, one sequence never takes long, and no sequence makes it hold more. What is shown is not understood here.

mod notes;
mod paint;

use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use vt100::{MouseProtocolEncoding, MouseProtocolMode, Parser};

use self::notes::Notes;
use crate::pane::wire::{Size, View};

/// How many bytes are given to the emulator at once, and how many sequences they may begin: a short one can repeat a
/// letter 65,535 times, and between two pieces others get their turn.
const PIECE: usize = 256;
const SEQUENCES: usize = 8;

/// With `std` the parser of `vt100` keeps a control string whole, however long it is; without, it has 1 KiB of room in
/// itself. Features are the union of what everybody asks for, so this does not compile where somebody asks for `std`.
const _: () = assert!(size_of::<Parser<()>>() - size_of::<vt100::Screen>() > 1024, "vt100 must be built without std");

/// An emulated terminal.
pub struct Screen {
    parser: Parser<Notes>,
    size: Size,
}

/// What of a terminal's modes its input depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Pastes are bracketed.
    pub bracketed_paste: bool,
    /// Arrows are sent in their application form.
    pub application_cursor: bool,
    application_keypad: bool,
    mouse: MouseProtocolMode,
    encoding: MouseProtocolEncoding,
}

/// Row and column from 0, whether it is seen, and its shape as `DECSCUSR` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub row: u16,
    pub column: u16,
    pub seen: bool,
    pub shape: u8,
}

impl Screen {
    /// Returns an empty screen.
    pub fn new(size: Size) -> Screen {
        Screen { parser: parser(size, Notes::default()), size }
    }

    /// Returns its size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Takes what the program printed, until the time is over; returns how many bytes were taken.
    pub fn print(&mut self, bytes: &[u8], until: Instant) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            let piece = &bytes[taken..taken + piece(&bytes[taken..])];
            taken += piece.len();
            self.guarded(|screen| screen.parser.process(piece));
            if Instant::now() >= until {
                break;
            }
        }
        taken
    }

    /// Gives the screen another size.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.guarded(|screen| screen.parser.set_size(cells(size.rows), cells(size.columns)));
    }

    /// Returns what the terminal answers to what the program asked it since the last call.
    pub fn answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.parser.callbacks_mut().answers)
    }

    /// Returns the modes that the program has set.
    pub fn modes(&self) -> Modes {
        let screen = self.parser.screen();
        Modes {
            bracketed_paste: screen.bracketed_paste(),
            application_cursor: screen.application_cursor(),
            application_keypad: screen.application_keypad(),
            mouse: screen.mouse_protocol_mode(),
            encoding: screen.mouse_protocol_encoding(),
        }
    }

    /// Returns where the cursor is.
    pub fn cursor(&self) -> Cursor {
        let screen = self.parser.screen();
        let (row, column) = screen.cursor_position();
        // After the last column it waits for the next letter before it wraps; it is shown in the last one.
        let column = column.min(self.size.columns - 1);
        Cursor { row, column, seen: !screen.hide_cursor(), shape: paint::shape(screen.cursor_style()) }
    }

    /// Returns what it shows.
    pub fn view(&mut self, colours: bool, history: usize) -> View {
        let lines = self.guarded(|screen| {
            let lines = screen.parser.screen().rows(0, screen.size.columns);
            lines.map(|line| line.trim_end().to_string()).collect()
        });
        let size = self.size;
        let coloured =
            if colours { (0..size.rows).map(|row| self.row(row, size.columns)).collect() } else { Vec::new() };
        let cursor = self.cursor();
        View {
            lines,
            coloured,
            history: self.parser.callbacks().history.newest(history),
            columns: size.columns,
            cursor: cursor.seen.then_some((cursor.row, cursor.column)),
            died: None,
        }
    }

    /// Returns one row with its colours, cut to a width; it begins and ends with plain attributes.
    pub fn row(&mut self, row: u16, width: u16) -> String {
        self.guarded(|screen| paint::row(screen.parser.screen(), row, width.min(screen.size.columns)))
    }

    /// Does something with the emulator. If that panics, the screen is empty from then on, but for what left it before.
    fn guarded<T: Default>(&mut self, work: impl FnOnce(&mut Screen) -> T) -> T {
        // What the panic left half done is thrown away below, and nothing else is reached by it.
        catch_unwind(AssertUnwindSafe(|| work(&mut *self))).unwrap_or_else(|_| {
            tracing::error!("the emulator of a pane broke; its screen begins anew");
            let notes = std::mem::take(self.parser.callbacks_mut());
            self.parser = parser(self.size, notes);
            T::default()
        })
    }
}

impl Modes {
    /// Returns what sets a watcher's terminal to these modes, whatever it had before.
    pub fn set(self) -> String {
        let on = |is: bool| if is { 'h' } else { 'l' };
        let mut text = format!(
            "\x1b[?1{}\x1b{}\x1b[?2004{}\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l",
            on(self.application_cursor),
            if self.application_keypad { '=' } else { '>' },
            on(self.bracketed_paste),
        );
        text.push_str(match self.mouse {
            MouseProtocolMode::None => "",
            MouseProtocolMode::Press => "\x1b[?9h",
            MouseProtocolMode::PressRelease => "\x1b[?1000h",
            MouseProtocolMode::ButtonMotion => "\x1b[?1002h",
            MouseProtocolMode::AnyMotion => "\x1b[?1003h",
        });
        text.push_str(match self.encoding {
            MouseProtocolEncoding::Default => "",
            MouseProtocolEncoding::Utf8 => "\x1b[?1005h",
            MouseProtocolEncoding::Sgr => "\x1b[?1006h",
        });
        text
    }
}

fn parser(size: Size, notes: Notes) -> Parser<Notes> {
    // Rows that leave the screen are kept by the notes, as text: as cells they would be thirty times as large.
    Parser::new_with_callbacks(cells(size.rows), cells(size.columns), 0, notes)
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN)
}

/// Returns how long the next piece is.
fn piece(bytes: &[u8]) -> usize {
    let longest = &bytes[..bytes.len().min(PIECE)];
    let escapes = longest.iter().enumerate().filter(|(_, byte)| **byte == 0x1b);
    escapes.map(|(at, _)| at).nth(SEQUENCES).unwrap_or(longest.len())
}

#[cfg(test)]
mod tests;
