//! Where the pane server of a state directory is: its socket, its lock, its log.
//!
//! The path of a socket has 107 bytes at most, and a state directory may lie deep. So the directory is opened, and the
//! socket is reached through the name that the open directory has in `/proc`.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The socket in the state directory.
pub const SOCKET: &str = "panes.sock";
/// The file whose lock a server holds as long as it lives.
pub const LOCK: &str = "panes.lock";
/// What a server has to say.
pub const LOG: &str = "panes.log";

/// An open state directory.
#[derive(Debug)]
pub struct Place {
    dir: File,
    path: PathBuf,
}

/// What became of an attempt to reach a server.
#[derive(Debug)]
pub enum Dial {
    /// It is there.
    Connected(UnixStream),
    /// None runs: no one holds the lock.
    Nobody,
    /// One runs, or may run, and could not be reached now.
    Failed(io::Error),
}

impl Place {
    /// Opens a state directory; it must be ours and closed to others.
    ///
    /// # Errors
    ///
    /// Fails when it is not there, not ours, or open to others.
    pub fn open(path: &Path) -> io::Result<Place> {
        let dir = File::open(path)?;
        let found = dir.metadata()?;
        let wrong = |why: String| Err(io::Error::new(ErrorKind::PermissionDenied, why));
        if !found.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return wrong("the directory belongs to another user".into());
        }
        if found.mode() & 0o077 != 0 {
            return wrong(format!("the directory is open to others (mode {:o})", found.mode() & 0o7777));
        }
        Ok(Place { dir, path: path.into() })
    }

    /// Makes the directory where it is missing, and opens it.
    ///
    /// # Errors
    ///
    /// Fails as [`Place::open`] does, and when it cannot be made.
    pub fn make(path: &Path) -> io::Result<Place> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Place::open(path)
    }

    /// Returns the directory as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a short path of a file in it, good as long as this lives.
    pub fn short(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.dir.as_raw_fd()).into()
    }

    /// Listens on the socket; whoever calls this holds the lock, so what an older server left is removed.
    ///
    /// # Errors
    ///
    /// Fails when the socket cannot be made.
    pub fn listen(&self) -> io::Result<UnixListener> {
        let socket = self.short(SOCKET);
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => UnixListener::bind(&socket),
        }
    }

    /// Tries to reach the server. Its socket must be ours, or it is not used.
    pub fn dial(&self) -> Dial {
        match UnixStream::connect(self.short(SOCKET)) {
            Ok(stream) if is_of_our_user(&stream) => Dial::Connected(stream),
            Ok(_) => Dial::Failed(io::Error::new(ErrorKind::PermissionDenied, "another user listens there")),
            Err(_) if self.is_free() => Dial::Nobody,
            Err(error) => Dial::Failed(error),
        }
    }

    /// Tells whether no server holds the lock. One that starts in this moment may take it just after.
    pub fn is_free(&self) -> bool {
        match File::open(self.short(LOCK)) {
            // It is shared with others who look, and given back at once: a server that starts waits that long.
            Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_ok(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }
}

/// Tells whether the process at the other end belongs to our user.
pub fn is_of_our_user(stream: &impl AsFd) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}
