//! The bell of the server: signals and its own threads ring it, the loop sleeps until something rings.
//!
//! Signals that a terminal or a closing session sends are taken and not ignored: a child would inherit that.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};
use signal_hook::{flag, low_level};

/// What the loop sleeps on.
pub struct Wake {
    bell: UnixStream,
    button: Arc<UnixStream>,
    ends: Arc<AtomicBool>,
}

/// Rings the bell from another thread.
#[derive(Clone)]
pub struct Button(Arc<UnixStream>);

impl Wake {
    /// Takes the signals over.
    pub fn install() -> io::Result<Wake> {
        let (bell, button) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        button.set_nonblocking(true)?;
        for signal in [SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU] {
            flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let ends = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            // In this order: whoever is woken by the bell must find the flag set.
            flag::register(signal, ends.clone())?;
            low_level::pipe::register(signal, button.try_clone()?)?;
        }
        low_level::pipe::register(SIGCHLD, button.try_clone()?)?;
        Ok(Wake { bell, button: Arc::new(button), ends })
    }

    /// Returns what a thread of ours needs to wake the loop.
    pub fn button(&self) -> Button {
        Button(self.button.clone())
    }

    /// Tells whether the server was told to end since this was asked last.
    pub fn told_to_end(&self) -> bool {
        self.ends.swap(false, Ordering::SeqCst)
    }

    /// Silences the bell.
    pub fn quiet(&self) {
        let mut rings = [0; 256];
        while matches!((&self.bell).read(&mut rings), Ok(read) if read > 0) {}
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Button {
    /// Wakes the loop. A bell that is full of rings rings already.
    pub fn ring(&self) {
        let _ = (&*self.0).write(&[1]);
    }
}
