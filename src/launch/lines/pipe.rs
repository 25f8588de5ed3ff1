//! The daemon's end of the FIFO from which a session's program reads its lines. Writing never waits: what does not fit
//! stays here until there is room, and it is known how much of it is in the FIFO. What a line means is not known here.

use std::collections::VecDeque;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::unix::pipe::{OpenOptions, Sender};
use tokio::time::Instant;

/// How much is put in at once.
const PIECE: usize = 1024 * 1024;

/// Where lines go.
#[derive(Default)]
pub(super) struct Pipe {
    sender: Option<Sender>,
    waiting: VecDeque<u8>,
    /// How much of what was given was written.
    written: u64,
    /// Since when nothing went in although something waits.
    since: Option<Instant>,
}

impl Pipe {
    /// Opens the FIFO; whoever made it may still be about to.
    pub(super) fn open(&mut self, path: &Path) -> io::Result<()> {
        if self.sender.is_none() {
            self.sender = Some(OpenOptions::new().open_sender(path)?);
        }
        Ok(())
    }

    /// Takes a line, and writes what fits.
    pub(super) fn give(&mut self, line: &[u8]) -> io::Result<()> {
        if self.waiting.is_empty() {
            (self.written, self.since) = (0, Some(Instant::now()));
        }
        self.waiting.extend(line);
        self.write()
    }

    /// Writes as much as there is room for now.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let Some(sender) = &self.sender else { return Err(ErrorKind::NotConnected.into()) };
        while !self.waiting.is_empty() {
            let bytes = self.waiting.make_contiguous();
            match sender.try_write(&bytes[..bytes.len().min(PIECE)]) {
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.written += count as u64;
                    self.since = Some(Instant::now());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        (self.waiting, self.since) = (VecDeque::new(), None);
        Ok(())
    }

    /// Returns when there may be room for what waits; never if nothing does.
    pub(super) async fn has_room(&self) {
        match &self.sender {
            // An error is seen by the next write.
            Some(sender) if !self.waiting.is_empty() => drop(sender.writable().await),
            _ => pending().await,
        }
    }

    /// Returns whether everything that was given is in the FIFO.
    pub(super) fn is_through(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether something waits and nothing of it was written.
    pub(super) fn is_untouched(&self) -> bool {
        !self.waiting.is_empty() && self.written == 0
    }

    /// Returns for how long nothing has gone in although something waits.
    pub(super) fn stuck_for(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Takes back what waits. Returns whether nothing of it was written.
    pub(super) fn take_back(&mut self) -> bool {
        (self.waiting, self.since) = (VecDeque::new(), None);
        self.written == 0
    }

    /// Tells whether a line can be written now, without writing one.
    pub(super) fn takes(&self) -> bool {
        let Some(sender) = &self.sender else { return false };
        let mut watched = [PollFd::new(sender, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().contains(PollFlags::OUT)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn fifo(place: &Path) -> (std::path::PathBuf, File) {
        let path = place.join("in");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it is made");
        let held = File::options().read(true).write(true).open(&path).expect("it is opened");
        (path, held)
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_and_goes_in_when_there_is_room() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let (path, mut held) = fifo(place.path());
        let mut pipe = Pipe::default();
        assert!(pipe.give(b"x").is_err(), "it is not open");
        assert!(pipe.take_back(), "nothing was written");
        pipe.open(&path).expect("somebody reads");
        assert!(pipe.takes());
        let line = vec![b'x'; 300_000];
        pipe.give(&line).expect("nobody waits");
        let soon = Duration::from_secs(60);
        while pipe.takes() {
            tokio::time::timeout(soon, pipe.has_room()).await.expect("there is room");
            pipe.write().expect("it goes in");
        }
        assert!(!pipe.is_through(), "64 KiB fit");
        let mut read = vec![0; 65_536];
        held.read_exact(&mut read).expect("it is there");
        while pipe.written < 100_000 {
            tokio::time::timeout(soon, pipe.has_room()).await.expect("there is room");
            pipe.write().expect("it goes in");
        }
        assert!(!pipe.is_through());
        assert!(!pipe.take_back(), "a part of it was written");
    }

    #[test]
    fn nobody_who_reads_is_an_error_and_no_wait() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let (path, held) = fifo(place.path());
        drop(held);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let _inside = runtime.enter();
        assert!(Pipe::default().open(&path).is_err());
    }
}
