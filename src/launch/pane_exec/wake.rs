//! What can wake pane-exec: a child that ended, an order to end, the clock.
//!
//! The signals that a terminal sends to a whole group (INT, QUIT, TSTP) are taken and forgotten: they are meant for
//! the worker. A handler is set, not "ignore", because a child would inherit that. Nothing is killed here.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::{flag, low_level};

/// Sleeps until something happened.
pub(super) struct Wake {
    bell: UnixStream,
    told_to_end: Arc<AtomicBool>,
}

impl Wake {
    /// Takes the signals over.
    pub(super) fn install() -> io::Result<Self> {
        let (bell, button) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        button.set_nonblocking(true)?;
        let told_to_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGQUIT, SIGTSTP] {
            flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        for signal in [SIGTERM, SIGHUP] {
            // In this order: whoever is woken by the bell must find the flag set.
            flag::register(signal, Arc::clone(&told_to_end))?;
            low_level::pipe::register(signal, button.try_clone()?)?;
        }
        low_level::pipe::register(SIGCHLD, button)?;
        Ok(Self { bell, told_to_end })
    }

    /// Tells whether TERM or HUP came.
    pub(super) fn told_to_end(&self) -> bool {
        self.told_to_end.load(Ordering::SeqCst)
    }

    /// Sleeps until a signal came, or the time is over. It may return early; the caller looks what is true.
    pub(super) fn wait(&self, limit: Option<Duration>) {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        // An interrupted or failed poll is an early return like any other.
        let _ = poll(&mut [PollFd::new(&self.bell, PollFlags::IN)], limit.as_ref());
        let mut rings = [0; 64];
        while matches!((&self.bell).read(&mut rings), Ok(read) if read > 0) {}
    }
}
