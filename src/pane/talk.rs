//! A plain client of a pane server, without a runtime: what the command line speaks through.
//! It asks one thing after the other; what comes unasked is kept until it is fetched.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::wire::{Ask, Came, Dial, Done, Hello, Line, Lines, No, OLDEST, PROTOCOL, Place, Request};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a pane server.
pub struct Talk {
    stream: UnixStream,
    lines: Lines,
    unasked: VecDeque<Line>,
    asked: u64,
    /// Who the server is.
    pub hello: Hello,
}

/// Why a server did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    /// No server runs for this state directory.
    #[error("no pane server runs")]
    Nobody,
    /// It said no.
    #[error("{why}")]
    Not {
        /// How so.
        how: No,
        /// Why.
        why: String,
    },
    /// It speaks a protocol that this program does not know any more, or does not speak at all.
    #[error("the pane server cannot be understood: {0}")]
    Stranger(String),
    /// It cannot be reached, or is gone.
    #[error("the pane server cannot be reached: {0}")]
    Broken(#[from] io::Error),
}

impl Talk {
    /// Connects to the server of a state directory.
    ///
    /// # Errors
    ///
    /// Fails when none runs, or it cannot be reached or understood.
    pub fn open(state: &Path) -> Result<Talk, TalkError> {
        let place = match Place::open(state) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(TalkError::Nobody),
            place => place?,
        };
        let stream = match place.dial() {
            Dial::Connected(stream) => stream,
            Dial::Nobody => return Err(TalkError::Nobody),
            Dial::Failed(error) => return Err(error.into()),
        };
        stream.set_write_timeout(Some(PATIENCE))?;
        let hello =
            Hello { protocol: 0, version: String::new(), process: crate::fleet::worker::Process { pid: 0, start: 0 } };
        let mut talk = Talk { stream, lines: Lines::default(), unasked: VecDeque::new(), asked: 0, hello };
        match talk.line(Instant::now() + PATIENCE)? {
            Line::Hello(hello) if hello.protocol >= OLDEST => talk.hello = hello,
            Line::Hello(hello) => {
                let why = format!("it speaks protocol {}, and this program {OLDEST} to {PROTOCOL}", hello.protocol);
                return Err(TalkError::Stranger(why));
            }
            _ => return Err(TalkError::Stranger("it did not say who it is".into())),
        }
        Ok(talk)
    }

    /// Asks for something and waits for the answer.
    ///
    /// # Errors
    ///
    /// Fails when the server says no, or does not answer in time.
    pub fn ask(&mut self, ask: Ask) -> Result<Done, TalkError> {
        let asked = self.send(ask)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match self.line(until)? {
                Line::Answer { id, came: Came::Done(done) } if id == asked => return Ok(done),
                Line::Answer { id, came: Came::Not { how, why } } if id == asked => {
                    return Err(TalkError::Not { how, why });
                }
                Line::Answer { .. } => {}
                unasked => self.unasked.push_back(unasked),
            }
        }
    }

    /// Asks for something without waiting; returns the number that its answer has.
    ///
    /// # Errors
    ///
    /// Fails when the server is gone.
    pub fn send(&mut self, ask: Ask) -> Result<u64, TalkError> {
        self.asked += 1;
        let request = Request { id: self.asked, ask };
        let mut bytes = serde_json::to_vec(&request).map_err(io::Error::from)?;
        bytes.push(b'\n');
        self.stream.write_all(&bytes)?;
        Ok(self.asked)
    }

    /// Returns the next line that came, and waits for it until a moment; none if none came.
    ///
    /// # Errors
    ///
    /// Fails when the server is gone.
    pub fn next(&mut self, until: Instant) -> Result<Option<Line>, TalkError> {
        if let Some(line) = self.unasked.pop_front() {
            return Ok(Some(line));
        }
        match self.line(until) {
            Ok(line) => Ok(Some(line)),
            Err(TalkError::Broken(error)) if error.kind() == ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn line(&mut self, until: Instant) -> Result<Line, TalkError> {
        loop {
            if let Some(line) = self.lines.take().map_err(|error| TalkError::Stranger(error.to_string()))? {
                // What a newer server tells, and is not known here, is passed over.
                match serde_json::from_slice(&line) {
                    Ok(line) => return Ok(line),
                    Err(error) if self.hello.protocol == 0 => return Err(TalkError::Stranger(error.to_string())),
                    Err(_) => continue,
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            // A wait of no time would be one of the kernel's ticks.
            self.stream.set_nonblocking(left.is_zero())?;
            if !left.is_zero() {
                self.stream.set_read_timeout(Some(left))?;
            }
            let mut bytes = [0; 16 * 1024];
            let read = self.stream.read(&mut bytes);
            self.stream.set_nonblocking(false)?;
            match read {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(read) => self.lines.push(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted && Instant::now() < until => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "it did not answer in time").into());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Talk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
