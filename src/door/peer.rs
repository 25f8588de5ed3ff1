//! Who is on the other end of a TCP connection: the owning processes of the peer's socket, and their ancestors.
//!
//! Two halves: finding out (`Resolver`, which reads the kernel's tables) and judging (`classify`, which is pure).
//! No name in a request may ever come in here; only addresses, process ids and start times count.

mod classify;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod macos;
mod resolver;

use std::net::{IpAddr, SocketAddr};

use crate::fleet::worker::Process;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
use macos as os;

pub use classify::{Doubt, classify, proxied};
pub use resolver::{Ears, Resolver};

/// The two ends of an accepted connection, with IPv4-mapped addresses written as IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ends {
    /// Our end.
    pub local: SocketAddr,
    /// The other end: the socket whose owner is looked for.
    pub peer: SocketAddr,
}

impl Ends {
    /// Returns the ends as they are looked up: mapped addresses become IPv4, and scope and flow of IPv6 are dropped.
    pub fn new(local: SocketAddr, peer: SocketAddr) -> Self {
        let plain = |a: SocketAddr| SocketAddr::new(a.ip().to_canonical(), a.port());
        Self { local: plain(local), peer: plain(peer) }
    }

    /// Returns whether both ends are on this machine, so that a process of it is the owner: both loopback, or one
    /// address twice, for nobody else can answer at an address of ours.
    pub fn of_this_machine(&self) -> bool {
        self.loopback() || self.local.ip() == self.peer.ip()
    }

    /// Returns whether both ends are loopback addresses.
    pub fn loopback(&self) -> bool {
        let here = |a: IpAddr| a.is_loopback();
        here(self.local.ip()) && here(self.peer.ip())
    }
}

/// A process that holds the peer's socket, with everything above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process itself.
    pub process: Process,
    /// Its ancestors, nearest first, up to the first process of this pid namespace.
    pub ancestors: Vec<Process>,
    /// False where the chain could not be read to its end: then nothing may be concluded from what is absent in it.
    pub whole: bool,
    /// True where it or an ancestor looks like a worker's process: by a mark in its environment that the daemon
    /// itself does not carry, or because it was called as a pane-exec.
    pub marked: bool,
}

/// The owner of the peer's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The user that made the socket.
    pub uid: u32,
    /// All processes that hold it (a socket may be inherited or passed on), in order of pid; never empty.
    pub holders: Vec<Holder>,
}
