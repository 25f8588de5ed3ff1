//! The terminal: raw while the program runs and as it was after, read without blocking for ever, with the signals
//! that a terminal program gets. What the bytes mean is not known here.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};

use super::habits::Options;
use super::screen::Size;

/// Why the program was woken.
pub enum Woken {
    /// Somebody typed.
    Bytes(Vec<u8>),
    /// The time that was asked for is over.
    Time,
    /// The terminal has another size.
    Resized,
    /// The program was told to end, or its terminal is gone.
    Ended,
}

/// The terminal under the program; what was changed on it is undone when this is dropped.
pub struct Terminal {
    before: Option<Termios>,
    undo: Vec<&'static str>,
    plain: bool,
    deaf: bool,
    at_end: bool,
    signals: UnixStream,
    ended: Arc<AtomicBool>,
    resized: Arc<AtomicBool>,
}

impl Terminal {
    /// Makes the terminal raw and listens for signals.
    ///
    /// # Errors
    ///
    /// Fails when the terminal or the signals cannot be set up.
    pub fn open(options: &Options) -> io::Result<Self> {
        let (signals, wake) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let (ended, resized) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGHUP, SIGTERM, SIGINT, SIGWINCH] {
            let flag = if signal == SIGWINCH { &resized } else { &ended };
            // The flag first: whoever is woken must find it.
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
        }
        let stdin = io::stdin();
        let before = if isatty(&stdin) { Some(tcgetattr(&stdin)?) } else { None };
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            tcsetattr(&stdin, OptionalActions::Now, &raw)?;
        }
        let mut terminal = Self {
            before,
            undo: Vec::new(),
            plain: options.plain,
            deaf: options.deaf,
            at_end: false,
            signals,
            ended,
            resized,
        };
        if options.mouse {
            terminal.write(b"\x1b[?1049h\x1b[?1000h\x1b[?1006h")?;
            terminal.undo.push("\x1b[?1006l\x1b[?1000l\x1b[?1049l");
        }
        Ok(terminal)
    }

    /// Asks for bracketed pastes, once.
    ///
    /// # Errors
    ///
    /// Fails when the terminal cannot be written.
    pub fn take_pastes(&mut self) -> io::Result<()> {
        const UNDO: &str = "\x1b[?2004l";
        if self.plain || self.undo.contains(&UNDO) {
            return Ok(());
        }
        self.undo.push(UNDO);
        self.write(b"\x1b[?2004h")
    }

    /// Returns the size in cells; of what is no terminal, a usual one.
    pub fn size(&self) -> Size {
        match tcgetwinsize(io::stdin()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                Size { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) }
            }
            _ => Size { rows: 24, columns: 80 },
        }
    }

    /// Writes bytes at once.
    ///
    /// # Errors
    ///
    /// Fails when the terminal is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Waits until somebody types, a signal comes, or the time is over.
    ///
    /// # Errors
    ///
    /// Fails when the kernel refuses to wait.
    pub fn wait(&mut self, until: Option<Instant>) -> io::Result<Woken> {
        loop {
            if self.ended.swap(false, Ordering::SeqCst) && !self.deaf {
                return Ok(Woken::Ended);
            }
            if self.resized.swap(false, Ordering::SeqCst) {
                return Ok(Woken::Resized);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let stdin = io::stdin();
            let mut watched = vec![PollFd::new(&self.signals, PollFlags::IN)];
            if !self.at_end {
                watched.push(PollFd::new(&stdin, PollFlags::IN));
            }
            match poll(&mut watched, left.as_ref()) {
                Ok(0) => return Ok(Woken::Time),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let typed = watched.get(1).is_some_and(|stdin| !stdin.revents().is_empty());
            let mut sink = [0; 64];
            while (&self.signals).read(&mut sink).is_ok_and(|read| read > 0) {}
            if typed {
                let mut bytes = vec![0; 64 << 10];
                // Not through `stdin`'s own buffer: what lies in it would wake nobody.
                match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
                    Ok(read) if read > 0 => {
                        bytes.truncate(read);
                        return Ok(Woken::Bytes(bytes));
                    }
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    _ if self.deaf => self.at_end = true,
                    _ => return Ok(Woken::Ended),
                }
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        while let Some(undo) = self.undo.pop() {
            let _ = self.write(undo.as_bytes());
        }
        let _ = self.write(b"\r\n");
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
