//! `/proc/*/fd`: which processes hold a socket. All of them are read to the end, since one worker among the holders
//! decides; so each costs as little as the kernel allows, and where there are many they are read by several threads.
//!
//! A process that cannot be read (another user's, or one that hides) holds nothing that is seen: that takes rights away.

use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat, readlinkat_raw};
use rustix::io;

/// Processes that are worth a thread of their own.
const WORTH: usize = 128;

/// Threads that read at once at most: what is read is guarded by locks of the kernel's.
const MOST: usize = 4;

/// Room for the names of a directory; a few descriptors need a tenth of it.
const NAMES: usize = 8 << 10;

/// A longer link is no socket's, and may be cut.
const LINK: usize = 32;

/// Returns `(inode, pid)` for every process that holds one of these sockets.
///
/// The daemon's own descriptors, one for each open connection, are read only for sockets that nobody else holds: its
/// own clients live in it under test.
pub(super) fn holders(wanted: &HashSet<u32>) -> Vec<(u32, i32)> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let Ok(proc) = directory(CWD, c"/proc") else { return Vec::new() };
    let me = rustix::process::getpid().as_raw_pid();
    let others: Vec<i32> = pids(&proc).into_iter().filter(|&pid| pid != me).collect();
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut found = by_threads((others.len() / WORTH).clamp(1, cores.min(MOST)), &proc, &others, wanted);
    let elsewhere: HashSet<u32> = found.iter().map(|&(inode, _)| inode).collect();
    if elsewhere.len() < wanted.len() {
        let nobodys = wanted.difference(&elsewhere).copied().collect();
        found.extend(held_by(&proc, &[me], &nobodys));
    }
    found
}

fn by_threads(count: usize, proc: &OwnedFd, pids: &[i32], wanted: &HashSet<u32>) -> Vec<(u32, i32)> {
    let mut parts = pids.chunks(pids.len().div_ceil(count).max(1));
    let ours = parts.next().unwrap_or_default();
    // They end before this does. A holder that was left out could be the worker among them: without each part, also
    // where a thread cannot be begun, there is no answer at all.
    thread::scope(|scope| {
        let rest: Vec<_> = parts.map(|part| scope.spawn(|| held_by(proc, part, wanted))).collect();
        let mut found = held_by(proc, ours, wanted);
        for part in rest {
            found.extend(part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        found
    })
}

/// Reads some of the processes.
fn held_by(proc: &OwnedFd, pids: &[i32], wanted: &HashSet<u32>) -> Vec<(u32, i32)> {
    let mut found = Vec::new();
    let mut names = vec![MaybeUninit::uninit(); NAMES];
    for &pid in pids {
        held(proc, pid, &mut names, |inode| {
            if wanted.contains(&inode) {
                found.push((inode, pid));
            }
        });
    }
    found
}

/// Tells every socket that a process holds. Everything is relative to a directory that is open: a path walk for each of
/// ten thousand descriptors would cost more than all the rest.
fn held(proc: &OwnedFd, pid: i32, names: &mut [MaybeUninit<u8>], mut tell: impl FnMut(u32)) {
    let Ok(folder) = directory(proc, format!("{pid}/fd")) else { return };
    let mut link = [MaybeUninit::uninit(); LINK];
    let mut entries = RawDir::new(&folder, names);
    // An error means that the process has gone.
    while let Some(Ok(entry)) = entries.next() {
        if let Ok((target, _)) = readlinkat_raw(&folder, entry.file_name(), &mut link)
            && let Some(inode) = socket_inode(target)
        {
            tell(inode);
        }
    }
}

fn pids(proc: &OwnedFd) -> Vec<i32> {
    let mut names = vec![MaybeUninit::uninit(); NAMES];
    let mut entries = RawDir::new(proc, &mut names);
    let mut found = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        found.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()));
    }
    found
}

fn directory(at: impl AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// `socket:[123]`.
fn socket_inode(target: &[u8]) -> Option<u32> {
    let digits = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn every_holder_is_found_by_however_many_threads() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, _) = listener.accept().unwrap();
        let proc = directory(CWD, c"/proc").unwrap();
        let link = std::fs::metadata(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&stream))).unwrap();
        let inode = u32::try_from(link.ino()).unwrap();
        let hold = || {
            let stream = OwnedFd::from(stream.try_clone().unwrap());
            Command::new("cat").stdin(Stdio::from(stream)).stdout(Stdio::null()).spawn().unwrap()
        };
        let mut children: Vec<_> = (0..5).map(|_| hold()).collect();
        let mut all: Vec<i32> = children.iter().map(|child| i32::try_from(child.id()).unwrap()).collect();
        all.push(rustix::process::getpid().as_raw_pid());
        let pids: Vec<i32> = all.iter().flat_map(|&pid| [1, pid, i32::MAX]).collect();
        let wanted = HashSet::from([inode]);
        for count in 1..=7 {
            let found: Vec<i32> = by_threads(count, &proc, &pids, &wanted).iter().map(|&(_, pid)| pid).collect();
            assert_eq!(found, all, "by {count} threads");
        }
        assert_eq!(by_threads(4, &proc, &[], &wanted), []);
        drop((stream, ours));
        children.iter_mut().for_each(|child| assert!(child.wait().is_ok()));
    }

    #[test]
    fn socket_links_are_told_from_others() {
        assert_eq!(socket_inode(b"socket:[12]"), Some(12));
        assert_eq!(socket_inode(b"socket:[4294967295]"), Some(u32::MAX));
        assert_eq!(socket_inode(b"pipe:[12]"), None);
        assert_eq!(socket_inode(b"/tmp/socket:[12]"), None);
    }
}
