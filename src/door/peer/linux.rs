//! Linux: the peer's socket by `sock_diag` (or `/proc/net/tcp` where the kernel has none), its holders by one walk
//! over `/proc/*/fd`, their ancestors by `/proc/PID/stat`. Blocking: never to be called on an async worker thread.

mod fds;
mod procfs;
mod sock_diag;
mod socket_table;

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::{Ends, Owner};
use procfs::Tree;
use sock_diag::SockDiag;
use socket_table::SocketTable;

/// What the kernel says about one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    uid: u32,
    inode: u32,
}

/// Returns the owners for a batch of connections, in order, by one walk over the processes.
pub(super) fn owners(batch: &[Ends]) -> Vec<Option<Owner>> {
    let sockets = sockets(batch);
    let mut tree = Tree::new();
    let wanted = sockets.iter().flatten().map(|s| s.inode).collect();
    let mut holders: HashMap<u32, Vec<i32>> = HashMap::new();
    for (inode, pid) in fds::holders(&wanted) {
        holders.entry(inode).or_default().push(pid);
    }
    let owner = |socket: Option<Socket>| {
        let socket = socket?;
        let pids = holders.get(&socket.inode)?;
        // By pid, so that an answer does not depend on the order in which /proc was read.
        let found: BTreeMap<_, _> = pids.iter().filter_map(|&pid| tree.holder(pid)).map(|h| (h.process, h)).collect();
        (!found.is_empty()).then(|| Owner { uid: socket.uid, holders: found.into_values().collect() })
    };
    sockets.into_iter().map(owner).collect()
}

/// Looks up every socket: by exact query, else in the kernel's text table.
fn sockets(batch: &[Ends]) -> Vec<Option<Socket>> {
    let ask = || -> io::Result<Vec<Option<Socket>>> {
        let mut diag = SockDiag::open()?;
        batch.iter().map(|ends| diag.find(ends)).collect()
    };
    ask().unwrap_or_else(|_| {
        let table = SocketTable::read();
        batch.iter().map(|ends| table.find(ends)).collect()
    })
}

/// Returns the user this daemon runs as.
pub(super) fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests;
