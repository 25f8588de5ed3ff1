//! This terminal while a pane is in it: raw, and on its alternate screen. Dropping it puts everything back, whatever
//! the pane had set, so it is dropped however the command ends.

use std::io::{self, Write};

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Away from what is on the screen now.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[0m\x1b[2J\x1b[H";
/// Everything that a frame may have set, as it is in a terminal that nobody has touched; then back.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[?1l\x1b>\x1b[?2004l\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\
\x1b[?1005l\x1b[?1006l\x1b[0 q\x1b[?25h\x1b[?1049l";

/// A terminal that is ours for a while.
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Takes it.
    pub fn enter() -> io::Result<Raw> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        // From here on it is put back, also when it takes no more text.
        let taken = Raw { before };
        write(ENTER)?;
        Ok(taken)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing put back.
        let _ = write(LEAVE);
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.before);
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
