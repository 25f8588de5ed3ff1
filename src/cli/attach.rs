//! `fleetd attach`: a worker's pane in this terminal, to watch it and to type into it. Several may watch at once; the
//! pane has the size of the terminal that did something last.
//!
//! The terminal is put back as it was however this ends. What the worker printed never reaches it as it was: the pane
//! server sends what it drew itself.

mod keys;
mod raw;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::stdio::{stdin, stdout};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::low_level::pipe;

use self::keys::{Keys, Typed};
use self::raw::Raw;
use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use super::window::{self, failure};
use crate::pane::talk::{Talk, TalkError};
use crate::pane::wire::{Ask, Bytes, Came, Death, Line, Shown, Size};

pub const EXAMPLES: &str = "\
Examples:
  fleetd attach w-local-2
  fleetd attach w-local-2 --read-only

To leave: ctrl+\\ and then d; the worker goes on. The last line of the terminal says so, too.
To type ctrl+\\ itself: press it twice.";

/// How one leaves.
const LEAVE: &str = "ctrl+\\ then d";

/// What `attach` is told.
#[derive(Args, Debug)]
pub struct AttachArgs {
    /// The worker
    worker: String,
    /// Only watch: nothing is typed, and the pane keeps its size
    #[arg(long)]
    read_only: bool,
}

/// How it ended.
enum End {
    Left,
    Died(Death),
    Told,
}

/// Shows the pane until one leaves, the worker ends, or the pane server does.
pub fn run(terminal: &Terminal, args: AttachArgs) -> Result<Exit, Failure> {
    if !rustix::termios::isatty(stdin()) || !rustix::termios::isatty(stdout()) {
        let says = format!("attach needs a terminal; without one: fleetd screen {}", args.worker);
        return Err(Failure::Usage(says));
    }
    let (talk, shown) = window::find(terminal, &args.worker)?;
    if let Some(death) = shown.died {
        let message = format!("{} has ended: {death}", args.worker);
        return Err(Failure::Other { message, hints: vec![format!("its last screen: fleetd screen {}", args.worker)] });
    }
    let mut attached = Attached::new(talk, &shown, args.read_only)?;
    let raw = Raw::enter().map_err(|error| Failure::io("cannot prepare this terminal", error))?;
    let end = attached.until_end();
    drop(raw);
    match end? {
        End::Left => terminal.talk(&format!("left {}, which goes on", args.worker)),
        End::Died(death) => terminal.talk(&format!("{} has ended: {death}", args.worker)),
        End::Told => return Ok(Exit::Interrupted),
    }
    Ok(Exit::Ok)
}

/// This terminal and the pane in it.
struct Attached {
    talk: Talk,
    bell: UnixStream,
    resized: std::sync::Arc<std::sync::atomic::AtomicBool>,
    keys: Keys,
    status: String,
    read_only: bool,
    size: Size,
}

impl Attached {
    fn new(mut talk: Talk, shown: &Shown, read_only: bool) -> Result<Attached, Failure> {
        let prepare = |error| Failure::io("cannot hear signals", error);
        let (bell, button) = UnixStream::pair().map_err(prepare)?;
        bell.set_nonblocking(true).map_err(prepare)?;
        let resized = std::sync::Arc::default();
        // In this order: whoever is woken by the bell must find the flag set.
        signal_hook::flag::register(SIGWINCH, std::sync::Arc::clone(&resized)).map_err(prepare)?;
        for signal in [SIGWINCH, SIGTERM, SIGHUP, SIGINT] {
            pipe::register(signal, button.try_clone().map_err(prepare)?).map_err(prepare)?;
        }
        let size = size_of_terminal();
        talk.ask(Ask::Watch { pane: shown.pane.clone(), size: above_status(size), read_only }).map_err(failure)?;
        let looks = if read_only { " (only watching)" } else { "" };
        let status = format!(" {}{looks}  |  leave: {LEAVE} ", shown.worker);
        Ok(Attached { talk, bell, resized, keys: Keys::default(), status, read_only, size })
    }

    fn until_end(&mut self) -> Result<End, Failure> {
        self.draw_status()?;
        loop {
            // What came with an answer is there already, and no file is ready for it.
            while let Some(line) = self.talk.next(Instant::now()).map_err(broke)? {
                match line {
                    Line::Frame(text) => self.draw(&text)?,
                    Line::Ended(death) => return Ok(End::Died(death)),
                    Line::Answer { came: Came::Not { .. }, .. } => write(b"\x07")?,
                    _ => {}
                }
            }
            let input = stdin();
            let mut fds = [
                PollFd::new(&input, PollFlags::IN),
                PollFd::new(&self.talk, PollFlags::IN),
                PollFd::new(&self.bell, PollFlags::IN),
            ];
            if poll(&mut fds, None).is_err() {
                continue;
            }
            let [typed, _, rang] = fds.map(|fd| !fd.revents().is_empty());
            if rang && !self.heard_resize()? {
                return Ok(End::Told);
            }
            if typed && self.type_in()? {
                return Ok(End::Left);
            }
        }
    }

    /// Returns whether the bell was rung for another size, and not for our end.
    fn heard_resize(&mut self) -> Result<bool, Failure> {
        let mut rings = [0; 64];
        let rung = (&self.bell).read(&mut rings).unwrap_or(0);
        if !self.resized.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Ok(rung == 0);
        }
        let size = size_of_terminal();
        if size != self.size {
            self.size = size;
            self.talk.send(Ask::Resize(above_status(size))).map_err(broke)?;
            self.draw_status()?;
        }
        Ok(true)
    }

    /// Sends what was typed; returns whether that was the order to leave.
    fn type_in(&mut self) -> Result<bool, Failure> {
        let mut bytes = [0; 4096];
        let read = match rustix::io::read(stdin(), &mut bytes) {
            // The terminal is gone, and with it whoever could leave.
            Ok(0) => return Ok(true),
            Ok(read) => read,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(Failure::io("cannot read what is typed", error.into())),
        };
        let Typed { bytes, leaves } = self.keys.typed(&bytes[..read]);
        if !bytes.is_empty() && !self.read_only {
            self.talk.send(Ask::Type(Bytes(bytes))).map_err(broke)?;
        }
        Ok(leaves)
    }

    fn draw(&self, frame: &str) -> Result<(), Failure> {
        write(frame.as_bytes())?;
        // A frame that begins anew has cleared our line, too.
        if frame.contains("\x1b[2J") { self.draw_status() } else { Ok(()) }
    }

    /// Draws the last line, which no frame touches, and leaves the cursor where it was.
    fn draw_status(&self) -> Result<(), Failure> {
        if above_status(self.size) == self.size {
            return Ok(());
        }
        let width = usize::from(self.size.columns);
        let status: String = self.status.chars().take(width).collect();
        write(format!("\x1b7\x1b[{};1H\x1b[0;7m{status:width$}\x1b[0m\x1b8", self.size.rows).as_bytes())
    }
}

/// Returns the size of this terminal; where it does not tell, what every terminal has.
fn size_of_terminal() -> Size {
    match rustix::termios::tcgetwinsize(stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => Size { rows: size.ws_row, columns: size.ws_col },
        _ => Size { rows: 24, columns: 80 },
    }
}

/// Returns what is left of it for the pane. A terminal of very few rows has no room to say how one leaves.
fn above_status(size: Size) -> Size {
    Size { rows: if size.rows > 4 { size.rows - 1 } else { size.rows }, ..size }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| Failure::io("cannot write to this terminal", error))
}

fn broke(error: TalkError) -> Failure {
    match error {
        TalkError::Broken(_) => Failure::Other {
            message: "the pane server is gone, and its panes with it".into(),
            hints: vec!["what became of the worker: fleetd status".into()],
        },
        error => failure(error),
    }
}
