//! One client: what it sent and was not read yet, what it was not sent yet, and what it wants to be told.
//! Both are bounded: who does not read is not listened to, and who never reads is let go.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::frame::View;
use crate::pane::wire::{Came, Line, Lines, Request, Size};

/// Unsent bytes above which a client is not listened to.
const HIGH: usize = 1 << 20;
/// Unsent bytes above which it gets no frames.
const FEW: usize = 64 * 1024;
/// Unsent bytes above which it is let go: its next connection will look at everything anew.
const TOO_MANY: usize = 24 << 20;
/// How long after a change a frame is drawn, so that what belongs together is in it, and the least time between two.
const GATHER: Duration = Duration::from_millis(2);
const BETWEEN: Duration = Duration::from_millis(16);

/// A connection.
pub struct Client {
    /// Its stream.
    pub stream: UnixStream,
    /// Whether it wants to be told what is seen.
    pub subscribed: bool,
    /// What it watches.
    pub watch: Option<Watch>,
    /// Whether it is to be let go.
    pub gone: bool,
    /// Whether it is a program in one of our panes: those may ask for nothing.
    pub is_inside: bool,
    lines: Lines,
    out: Vec<u8>,
    sent: usize,
}

/// What a client watches.
pub struct Watch {
    /// Which pane.
    pub pane: String,
    /// What its terminal shows.
    pub view: View,
    /// How large that is.
    pub size: Size,
    /// Whether it only looks.
    pub read_only: bool,
    /// A number that is the greater the later it did something: the last one decides the pane's size.
    pub active: u64,
    drawn: Option<Instant>,
    due: Option<Instant>,
}

impl Client {
    /// Takes a new connection.
    pub fn new(stream: UnixStream) -> Client {
        Client {
            stream,
            subscribed: false,
            watch: None,
            gone: false,
            is_inside: false,
            lines: Lines::default(),
            out: Vec::new(),
            sent: 0,
        }
    }

    /// Reads what came.
    pub fn hear(&mut self) {
        let mut bytes = [0; 64 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => self.gone = true,
            Ok(read) => self.lines.push(&bytes[..read]),
            Err(error) => self.gone |= !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    /// Returns the next request: its id, and what it asks if that is known here.
    pub fn request(&mut self) -> Option<(u64, Result<Request, String>)> {
        if !self.is_listened_to() {
            return None;
        }
        let line = match self.lines.take() {
            Ok(line) => line?,
            Err(error) => {
                tracing::warn!(%error, "a client is let go");
                self.gone = true;
                return None;
            }
        };
        match serde_json::from_slice::<Request>(&line) {
            Ok(request) => Some((request.id, Ok(request))),
            // A newer client may ask for what is not known here; it is told so under its own number.
            Err(error) => Some((id_of(&line), Err(format!("this pane server does not know what was asked: {error}")))),
        }
    }

    /// Tells whether a request waits that may be read.
    pub fn has_request(&self) -> bool {
        self.is_listened_to() && self.lines.has_line()
    }

    /// Tells whether what it sends is read now.
    pub fn is_listened_to(&self) -> bool {
        !self.gone && self.unsent() <= HIGH
    }

    /// Sends an answer.
    pub fn answer(&mut self, id: u64, came: Came) {
        self.say(&Line::Answer { id, came });
    }

    /// Sends a line, sooner or later.
    pub fn say(&mut self, line: &Line) {
        match serde_json::to_vec(line) {
            Ok(bytes) => self.out.extend(bytes),
            Err(error) => return tracing::error!(%error, "a line cannot be written"),
        }
        self.out.push(b'\n');
        if self.unsent() > TOO_MANY {
            tracing::warn!("a client that does not read is let go");
            self.gone = true;
        }
    }

    /// Writes what the client takes now.
    pub fn send(&mut self) {
        while self.unsent() > 0 {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.gone |= error.kind() != ErrorKind::WouldBlock;
                    break;
                }
            }
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.out.shrink_to(FEW);
            self.sent = 0;
        } else if self.sent > HIGH {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Returns how much was not sent yet.
    pub fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Notes that what it watches has changed.
    pub fn owe_frame(&mut self, now: Instant) {
        if let Some(watch) = &mut self.watch {
            let soonest = watch.drawn.map_or(now, |drawn| drawn + BETWEEN).max(now + GATHER);
            watch.due.get_or_insert(soonest);
        }
    }

    /// Returns when a frame is due. While much is unsent none is: what is drawn then is what is there then.
    pub fn frame_due(&self) -> Option<Instant> {
        self.watch.as_ref().and_then(|watch| watch.due).filter(|_| self.unsent() <= FEW)
    }

    /// Returns the watch if a frame is to be drawn now.
    pub fn take_due(&mut self, now: Instant) -> Option<&mut Watch> {
        self.frame_due().filter(|due| *due <= now)?;
        let watch = self.watch.as_mut()?;
        (watch.due, watch.drawn) = (None, Some(now));
        Some(watch)
    }
}

impl Watch {
    /// Returns the watch of a pane of which nothing was drawn.
    pub fn new(pane: String, size: Size, read_only: bool, active: u64) -> Watch {
        Watch { pane, view: View::new(size, read_only), size, read_only, active, drawn: None, due: None }
    }
}

/// Returns the number of a request that cannot be read.
fn id_of(line: &[u8]) -> u64 {
    let value: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    value.get("id").and_then(serde_json::Value::as_u64).unwrap_or(0)
}
