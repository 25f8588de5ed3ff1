//! One output stream of the worker: from its pipe into its file, up to a limit.
//!
//! The pipe is always read to its end, so that no worker hangs on a full one; what does not fit is counted.
//! A disk that is full is noted in the result and never stops the reading. What the bytes mean is unknown here.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::thread::{Builder, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};

use crate::launch::turn_dir::{Kept, tail_text};

const CHUNK: usize = 64 * 1024;
/// A pipe holds at most 1 MiB for an ordinary user, so after so many chunks what was in it is read.
const CHUNKS_AFTER_STOP: usize = 16;

/// A thread that copies one stream.
pub(super) struct Copying {
    thread: JoinHandle<Kept>,
    stop: PipeWriter,
}

impl Copying {
    /// Starts to copy; `tail` bytes of the end are remembered in case they do not fit.
    pub(super) fn start(name: &str, source: OwnedFd, file: File, limit: u64, tail: usize) -> io::Result<Self> {
        let (stopped, stop) = io::pipe()?;
        let mut copy = Copy { kept: Kept::default(), file, limit, tail: Vec::new(), tail_limit: tail };
        let thread = Builder::new().name(name.to_owned()).stack_size(256 * 1024).spawn(move || {
            copy.read_all(File::from(source), &stopped);
            copy.finish()
        })?;
        Ok(Self { thread, stop })
    }

    /// Takes what is in the pipe now and ends, even if a stranger still holds the other end.
    pub(super) fn finish(self) -> Kept {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|_| Kept { error: Some("the thread that copied it panicked".into()), ..Kept::default() })
    }
}

struct Copy {
    kept: Kept,
    file: File,
    limit: u64,
    tail: Vec<u8>,
    tail_limit: usize,
}

impl Copy {
    fn read_all(&mut self, mut source: File, stopped: &PipeReader) {
        let mut chunk = vec![0; CHUNK];
        let mut after_stop = 0;
        while after_stop < CHUNKS_AFTER_STOP {
            let mut watched = [PollFd::new(&source, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
            if poll(&mut watched, None).is_err() {
                continue;
            }
            let (has_more, is_stopped) = (!watched[0].revents().is_empty(), !watched[1].revents().is_empty());
            if !has_more {
                return;
            }
            after_stop += usize::from(is_stopped);
            match source.read(&mut chunk) {
                Ok(0) => return,
                Ok(read) => self.keep(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.kept.error = Some(format!("cannot read it: {error}")),
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.tail_limit > 0 {
            self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(self.tail_limit)..]);
            self.tail.drain(..self.tail.len().saturating_sub(self.tail_limit));
        }
        let room = usize::try_from(self.limit - self.kept.bytes).unwrap_or(usize::MAX).min(bytes.len());
        let mut rest = &bytes[..room];
        // After the first failure nothing more is written, so that the file has no hole in its middle.
        while !rest.is_empty() && self.kept.error.is_none() {
            match self.file.write(rest) {
                Ok(0) => self.kept.error = Some("cannot write it: the file takes no more".into()),
                Ok(written) => {
                    self.kept.bytes += written as u64;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.kept.error = Some(format!("cannot write it: {error}")),
            }
        }
        self.kept.dropped += (bytes.len() - room + rest.len()) as u64;
    }

    fn finish(mut self) -> Kept {
        if self.kept.bytes > 0
            && let Err(error) = self.file.sync_data()
        {
            self.kept.error.get_or_insert(format!("cannot make it durable: {error}"));
        }
        if self.kept.dropped > 0 && self.tail_limit > 0 {
            self.kept.tail = Some(tail_text(&self.tail, self.tail.len() == self.tail_limit));
        }
        self.kept
    }
}
