//! A program run to its end within a time: what it printed comes back, and nothing of it is left running.
//!
//! It has a process group of its own, which is killed when the time is over, and also when the program itself has
//! ended: what it left behind works for nobody. Which program it is, and what its words mean, is not known here.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::process::descendants;

/// How often it is asked whether a program is still wanted.
const ASK: Duration = Duration::from_millis(100);

/// How long those that were killed may take to be dead.
const TO_DIE: Duration = Duration::from_secs(5);

/// How a program ended, and what it printed.
#[derive(Debug)]
pub(super) struct Ran {
    pub status: ExitStatus,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

/// Why there is no ending.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// It could not be started, or not be watched.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The caller wanted it no more, and it was killed with its whole group.
    #[error("it was stopped")]
    Stopped,
    /// It did not end in time and was killed with its whole group; the end of what it printed.
    #[error("it did not end within {} s and was killed", .0.as_secs())]
    TooLong(Duration, Vec<u8>),
}

/// How much of what is printed is kept.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// All of it.
    All,
    /// The end, so many bytes at least.
    End(usize),
}

/// Runs a program to its end. Its stdin is what the caller set.
pub(super) fn run(command: &mut Command, limit: Duration, keep: Keep) -> Result<Ran, RunError> {
    run_unless(command, limit, keep, None)
}

/// As `run`, and kills it once it is not wanted any more, which is asked now and then.
pub(super) fn run_unless(
    command: &mut Command,
    limit: Duration,
    keep: Keep,
    stopped: Option<&dyn Fn() -> bool>,
) -> Result<Ran, RunError> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let watched = watch(&mut child, Instant::now() + limit, keep, stopped);
    // Its pid is its own until it is waited for, so the group is nobody else's.
    kill_group(&child);
    let status = child.wait()?;
    let (over, out, err) = watched?;
    match over {
        true => Ok(Ran { status, out, err }),
        false if stopped.is_some_and(|stopped| stopped()) => Err(RunError::Stopped),
        false => Err(RunError::TooLong(limit, if err.is_empty() { out } else { err })),
    }
}

/// Kills a child with its group, and what has left the group and is still below it.
pub(super) fn kill_group(child: &Child) {
    let below = descendants(child.id());
    for process in &below {
        // One that is gone by now is what was wanted.
        let _ = process.signal(Signal::KILL);
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // Dead in a moment, and until then they would be found in the tree.
    let end = Instant::now() + TO_DIE;
    while below.iter().any(|process| process.is_alive()) && Instant::now() < end {
        let moment = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        let _ = poll(&mut [], Some(&moment));
    }
}

/// Reads until the child has ended, or its time is over, or it is stopped: then `false`.
fn watch(
    child: &mut Child,
    until: Instant,
    keep: Keep,
    stopped: Option<&dyn Fn() -> bool>,
) -> io::Result<(bool, Vec<u8>, Vec<u8>)> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = pidfd_open(pid.ok_or_else(|| io::Error::other("it has no pid"))?, PidfdFlags::empty())?;
    let mut streams = [Stream::of(child.stdout.take(), keep)?, Stream::of(child.stderr.take(), keep)?];
    let over = loop {
        let Some(left) = until.checked_duration_since(Instant::now()) else { break false };
        if stopped.is_some_and(|stopped| stopped()) {
            break false;
        }
        let look = if stopped.is_some() { left.min(ASK) } else { left };
        let left = Timespec::try_from(look).map_err(io::Error::other)?;
        let mut fds = vec![PollFd::new(&ended, PollFlags::IN)];
        fds.extend(streams.iter().filter_map(|stream| Some(PollFd::from_borrowed_fd(stream.fd()?, PollFlags::IN))));
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = fds[0].revents().contains(PollFlags::IN);
        // After it has ended, all that it printed is in the pipes: they are read once more, to what they hold.
        streams.iter_mut().try_for_each(Stream::read)?;
        if has_ended {
            break true;
        }
    };
    let [out, err] = streams;
    Ok((over, out.bytes, err.bytes))
}

/// One pipe from the child, read as far as it is filled.
struct Stream {
    pipe: Option<Box<dyn Pipe>>,
    bytes: Vec<u8>,
    keep: Keep,
}

trait Pipe: Read + AsFd {}

impl<T: Read + AsFd> Pipe for T {}

impl Stream {
    fn of(pipe: Option<impl Pipe + 'static>, keep: Keep) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        let pipe = pipe.map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        Ok(Self { pipe, bytes: Vec::new(), keep })
    }

    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    fn read(&mut self) -> io::Result<()> {
        let mut piece = vec![0; 64 * 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut piece) {
                Ok(0) => self.pipe = None,
                Ok(n) => self.take(&piece[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        if let Keep::End(most) = self.keep
            && self.bytes.len() > 2 * most
        {
            self.bytes.drain(..self.bytes.len() - most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration, keep: Keep) -> Result<Ran, RunError> {
        run(Command::new("sh").args(["-c", script]).stdin(Stdio::null()), limit, keep)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn all_that_is_printed_comes_back_also_more_than_a_pipe_holds() {
        let ran = sh("head -c 300000 /dev/zero; echo no >&2; exit 3", LONG, Keep::All).unwrap();
        assert_eq!((ran.status.code(), ran.out.len(), ran.err.as_slice()), (Some(3), 300_000, &b"no\n"[..]));
        let ran = sh("head -c 300000 /dev/zero; printf end", LONG, Keep::End(10)).unwrap();
        assert!(ran.out.len() <= 64 * 1024 + 20 && ran.out.ends_with(b"end"), "{}", ran.out.len());
    }

    #[test]
    fn what_takes_too_long_is_killed_with_all_it_has_started() {
        let script = "sleep 600 & echo $!; setsid sleep 600 & wait";
        let Err(RunError::TooLong(_, said)) = sh(script, Duration::from_millis(300), Keep::All) else {
            panic!("it cannot have ended")
        };
        let pid: u32 = String::from_utf8_lossy(&said).trim().parse().unwrap();
        let left = crate::process::ProcessId::of(pid).filter(|process| process.is_alive());
        assert!(left.is_none(), "its child lives");
    }

    #[test]
    fn what_it_leaves_behind_ends_with_it_and_is_not_waited_for() {
        let began = Instant::now();
        let ran = sh("sleep 600 & echo $!", LONG, Keep::All).unwrap();
        let pid: u32 = String::from_utf8_lossy(&ran.out).trim().parse().unwrap();
        assert!(began.elapsed() < LONG);
        while crate::process::ProcessId::of(pid).is_some_and(crate::process::ProcessId::is_alive) {
            std::thread::yield_now();
        }
    }
}
