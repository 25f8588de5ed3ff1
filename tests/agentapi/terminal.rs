//! The program in its terminal: what is written goes in, what it shows is a text.
//! Knows nothing of messages.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use tokio::sync::oneshot;

/// A program in a terminal; it is hung up when this is dropped.
pub struct Terminal {
    screen: Arc<Mutex<vt100::Parser>>,
    input: mpsc::SyncSender<Vec<u8>>,
    _master: Mutex<Box<dyn MasterPty + Send>>,
}

/// So many writes may wait for a program that does not read.
const WAITING: usize = 1_024;

impl Terminal {
    /// Starts the program; how it ended is told once.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be started.
    pub fn start(program: &[String], (columns, rows): (u16, u16)) -> io::Result<(Terminal, oneshot::Receiver<u32>)> {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).map_err(io::Error::other)?;
        let mut argv: Vec<OsString> = program.iter().map(Into::into).collect();
        if let Some(first) = argv.first_mut()
            && program[0].contains('/')
        {
            *first = std::fs::canonicalize(&*first)?.into();
        }
        let mut command = CommandBuilder::from_argv(argv);
        command.env("TERM", "vt100");
        command.cwd(std::env::current_dir()?);
        let mut child = pair.slave.spawn_command(command).map_err(io::Error::other)?;
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().map_err(io::Error::other)?;
        let mut writer = pair.master.take_writer().map_err(io::Error::other)?;
        let cells = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 0)));
        let shown = Arc::clone(&screen);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("screen").spawn(move || {
            let mut bytes = [0; 8 << 10];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..read]);
            }
        })?;
        let (input, typed) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        thread("input").spawn(move || {
            for bytes in typed {
                if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
                    return;
                }
            }
        })?;
        let (end, ended) = oneshot::channel();
        thread("end").spawn(move || {
            let code = child.wait().map_or(1, |status| status.exit_code());
            // Whoever waited may be gone.
            let _ = end.send(code);
        })?;
        Ok((Terminal { screen, input, _master: Mutex::new(pair.master) }, ended))
    }

    /// Writes bytes to the program, as they are.
    ///
    /// # Errors
    ///
    /// Fails when the program is gone, or has not read for long.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.input.try_send(bytes.to_vec()).map_err(|error| io::Error::other(error.to_string()))
    }

    /// Returns all rows of the terminal, each without the blanks at its end.
    pub fn screen(&self) -> String {
        let parser = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, columns) = parser.screen().size();
        let rows: Vec<String> = parser.screen().rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n")
    }
}
