//! Becoming the server of a state directory, or finding that another one is: the lock decides.
//! Everything a start can fail by is here; the loop itself has no way to fail.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::Options;
use super::round::Rounds;
use super::wake::Wake;
use crate::pane::wire::{LOCK, Place};
use crate::process::ProcessId;

/// What a server says on standard output, as a line, when it listens.
pub const READY: &str = "ready";
/// What it says when another one has the directory.
pub const HELD: &str = "held";

/// How often the lock is tried: whoever only looks whether it is free holds it for a moment.
const TRIES: usize = 50;
const BETWEEN: Duration = Duration::from_millis(4);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another one has the state directory.
    #[error("another pane server has the state directory")]
    Held,
    /// The state directory cannot be used.
    #[error("the state directory {dir} cannot be used: {source}")]
    Directory {
        /// Which.
        dir: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something else that a start needs.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// A server that has its directory and its socket, and serves nobody yet.
pub struct Server {
    rounds: Rounds,
    // Last, so that the lock goes when everything else is gone.
    _lock: File,
}

/// Takes the state directory. From now on signals are heard, and clients may connect.
///
/// # Errors
///
/// Fails when another server has it, or the system gives no socket.
pub fn take(options: &Options) -> Result<Server, ServerError> {
    let dir = options.state.display().to_string();
    let place = Place::make(&options.state).map_err(|source| ServerError::Directory { dir, source })?;
    let lock = lock(&place)?;
    let wake = Wake::install().map_err(system("cannot hear signals"))?;
    let me = ProcessId::current().map_err(system("cannot look at this process"))?;
    // For people; who holds the lock is the kernel's matter.
    let holder = serde_json::json!({ "pid": me.pid, "start": me.start_time });
    lock.set_len(0).and_then(|()| writeln!(&lock, "{holder}")).map_err(system("cannot write the lock"))?;
    let listener = listen(&place).map_err(system("cannot listen on the socket"))?;
    Ok(Server { rounds: Rounds::new(place, listener, wake, me, options.rest), _lock: lock })
}

impl Server {
    /// Serves until there is nothing left to serve, or it is told to end.
    pub fn run(self) {
        // Away from the terminal on which it was started. Fails only for a group's leader, who is there on purpose.
        let _ = rustix::process::setsid();
        let Server { rounds, _lock } = self;
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "the pane server begins");
        rounds.run();
        tracing::info!("the pane server ends");
    }
}

#[expect(clippy::disallowed_methods, reason = "the lock is held by those who look, for a moment, and told by nobody")]
fn lock(place: &Place) -> Result<File, ServerError> {
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(place.short(LOCK));
    let lock = lock.map_err(system("cannot open the lock"))?;
    for _ in 0..TRIES {
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(lock);
        }
        std::thread::sleep(BETWEEN);
    }
    Err(ServerError::Held)
}

fn listen(place: &Place) -> io::Result<UnixListener> {
    let listener = place.listen()?;
    // The directory is closed to others; the socket is too, in case that changes.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(place.short(crate::pane::wire::SOCKET), mode)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> ServerError {
    move |source| ServerError::System { what, source }
}
