//! One process in a terminal of its own, and what that terminal shows.
//! Ends are told to whoever started it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// How many rows are kept that have left the screen.
const KEPT_ROWS: usize = 2_000;

/// A process in a terminal.
pub struct Terminal {
    /// Its pid, which leads the terminal's session.
    pub pid: u32,
    screen: Arc<Mutex<vt100::Parser>>,
    input: mpsc::Sender<Vec<u8>>,
    // The terminal is hung up when this goes.
    _master: Mutex<Box<dyn MasterPty + Send>>,
}

impl Terminal {
    /// Starts a process; `ended` is called once, from another thread, when it has ended.
    ///
    /// # Errors
    ///
    /// Fails when the process cannot be started.
    pub fn start(
        command: CommandBuilder,
        (columns, rows): (u16, u16),
        ended: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).map_err(io::Error::other)?;
        let mut child = pair.slave.spawn_command(command).map_err(io::Error::other)?;
        let pid = child.process_id().ok_or_else(|| io::Error::other("the process has no pid"))?;
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().map_err(io::Error::other)?;
        let mut writer = second_end(pair.master.as_ref())?;
        let cells = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(columns), KEPT_ROWS)));
        let shown = Arc::clone(&screen);
        let (input, typed) = mpsc::channel::<Vec<u8>>();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("screen").spawn(move || {
            let mut bytes = [0; 8 << 10];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..read]);
            }
        })?;
        // What is queued is `ok` for whoever sent it, whether the program reads it or not.
        thread("input").spawn(move || {
            for bytes in typed {
                if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
                    return;
                }
            }
        })?;
        thread("end").spawn(move || {
            let _ = child.wait();
            ended();
        })?;
        Ok(Self { pid, screen, input, _master: Mutex::new(pair.master) })
    }

    /// Queues bytes for the program.
    pub fn write(&self, bytes: &[u8]) {
        let _ = self.input.send(bytes.to_vec());
    }

    fn screen(&self) -> MutexGuard<'_, vt100::Parser> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether the program wants pastes in brackets.
    pub fn wants_brackets(&self) -> bool {
        self.screen().screen().bracketed_paste()
    }

    /// Tells whether arrows are sent in their application form.
    pub fn application_cursor(&self) -> bool {
        self.screen().screen().application_cursor()
    }

    /// Tells whether a long read makes the real server turn the wheel: a full screen, and mouse reports.
    pub fn scrolls_by_wheel(&self) -> bool {
        let parser = self.screen();
        let screen = parser.screen();
        screen.alternate_screen() && screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None
    }

    /// Returns the rows on the screen, without blank ones at its end.
    pub fn visible(&self) -> Vec<String> {
        let parser = self.screen();
        trimmed(rows_of(parser.screen()))
    }

    /// Returns the rows that have left the screen and those on it, as many as wanted.
    pub fn recent(&self, wanted: usize) -> (Vec<String>, bool) {
        let mut parser = self.screen();
        let visible = trimmed(rows_of(parser.screen()));
        let kept = parser.screen().scrollback_len();
        let from = kept.min((wanted + 200).saturating_sub(visible.len()));
        let mut rows = Vec::new();
        for back in (1..=from).rev() {
            parser.screen_mut().set_scrollback(back);
            rows.extend(rows_of(parser.screen()).into_iter().next());
        }
        parser.screen_mut().set_scrollback(0);
        rows.extend(visible);
        let left_out = rows.len() > wanted || from < kept;
        let rows = rows.split_off(rows.len().saturating_sub(wanted));
        (rows, left_out)
    }
}

/// Returns another descriptor of the terminal. The library's own writer types a line end and an end of file when it
/// goes, which whoever is left in the terminal would read.
fn second_end(master: &dyn MasterPty) -> io::Result<File> {
    let raw = master.as_raw_fd().ok_or_else(|| io::Error::other("the terminal has no descriptor"))?;
    let us = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(File::from(pidfd_getfd(&us, raw, PidfdGetfdFlags::empty())?))
}

fn rows_of(screen: &vt100::Screen) -> Vec<String> {
    let (_, columns) = screen.size();
    screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
}

fn trimmed(mut rows: Vec<String>) -> Vec<String> {
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}
