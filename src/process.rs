//! Processes as the kernel shows them under `/proc`: identity by pid and start time, descendants, signals.
//!
//! A pid alone names nobody, since it is used again: whoever is signalled here is first compared with the start time at
//! which it was seen. Rooms of every floor look processes up here; nothing about turns or workers may come in.

use std::collections::HashMap;
use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::fleet::worker::Process;

/// One process for as long as it lives: its pid, and the tick of this boot at which it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// The number of the process.
    pub pid: u32,
    /// Field 22 of `/proc/<pid>/stat`: clock ticks since boot.
    pub start_time: u64,
}

impl ProcessId {
    /// No process: its pid belongs to nobody.
    pub const NOBODY: Self = Self { pid: 0, start_time: 0 };

    /// Returns the calling process.
    ///
    /// # Errors
    ///
    /// Fails when `/proc` is not mounted or cannot be read.
    pub fn current() -> std::io::Result<Self> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let pid = std::process::id();
        let found =
            Stat::parse(&stat).ok_or_else(|| std::io::Error::other("/proc/self/stat is not in its known form"))?;
        Ok(Self { pid, start_time: found.start_time })
    }

    /// Returns the process that has this pid now.
    pub fn of(pid: u32) -> Option<Self> {
        Stat::read(pid).map(|stat| Self { pid, start_time: stat.start_time })
    }

    /// Tells whether this very process still runs. One that only waits to be reaped does not.
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.is_dead())
    }

    /// Sends a signal to this very process and to no later owner of its pid. Returns false if it is gone.
    ///
    /// # Errors
    ///
    /// Fails when the process exists but may not be signalled.
    pub fn signal(self, signal: Signal) -> std::io::Result<bool> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        // The descriptor is opened first and the start time compared after it: what it names cannot change.
        let sent = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => {
                if !self.is_alive() {
                    return Ok(false);
                }
                pidfd_send_signal(&descriptor, signal)
            }
            Err(Errno::SRCH) => return Ok(false),
            Err(_) if self.is_alive() => kill_process(pid, signal),
            Err(_) => return Ok(false),
        };
        match sent {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl From<Process> for ProcessId {
    fn from(process: Process) -> Self {
        Self { pid: u32::try_from(process.pid).unwrap_or(Self::NOBODY.pid), start_time: process.start }
    }
}

impl From<ProcessId> for Process {
    fn from(process: ProcessId) -> Self {
        Self { pid: i32::try_from(process.pid).unwrap_or(0), start: process.start_time }
    }
}

/// Returns a process and its ancestors, nearest first, as far as they can be read.
pub fn lineage(of: ProcessId) -> Vec<ProcessId> {
    let mut found = Vec::new();
    let mut next = of.pid;
    while next != 0 && found.len() < 256 {
        let Some(stat) = Stat::read(next) else { break };
        let process = ProcessId { pid: next, start_time: stat.start_time };
        // A parent is never younger than its child; one that is has only the pid of the dead parent.
        if found.last().is_some_and(|child: &ProcessId| child.start_time < process.start_time) {
            break;
        }
        found.push(process);
        next = stat.parent;
    }
    if found.first() == Some(&of) { found } else { Vec::new() }
}

/// Returns the name that this very process has for the kernel, which is that of its program unless it calls itself otherwise.
pub fn name_of(process: ProcessId) -> Option<String> {
    let name = fs::read(format!("/proc/{}/comm", process.pid)).ok()?;
    process.is_alive().then(|| String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Tells whether this very process is in the foreground of its terminal: what is typed there reaches it.
pub fn is_in_foreground(process: ProcessId) -> bool {
    Stat::read(process.pid).is_some_and(|stat| {
        stat.start_time == process.start_time && !stat.is_dead() && stat.group == stat.terminal_group
    })
}

/// Returns the living processes of a session, such as all that run in one terminal and did not leave it.
pub fn session_of(leader: u32) -> Vec<ProcessId> {
    let in_session = |pid| {
        let stat = Stat::read(pid)?;
        (stat.session == leader && !stat.is_dead()).then_some(ProcessId { pid, start_time: stat.start_time })
    };
    all_pids().filter_map(in_session).collect()
}

/// Returns the living descendants of a process, nearest first, without itself.
pub fn descendants(root: u32) -> Vec<ProcessId> {
    let mut children: HashMap<u32, Vec<(ProcessId, bool)>> = HashMap::new();
    for pid in all_pids() {
        if let Some(stat) = Stat::read(pid) {
            let process = ProcessId { pid, start_time: stat.start_time };
            children.entry(stat.parent).or_default().push((process, stat.is_dead()));
        }
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for (child, is_dead) in children.remove(&parent).unwrap_or_default() {
            // One whose first thread has ended may have others, and they may have children.
            next.push(child.pid);
            if !is_dead {
                found.push(child);
            }
        }
    }
    found
}

/// Returns the living processes whose first environment holds exactly this `NAME=value`.
///
/// It finds what has left its tree: a mark in the environment survives a new session and a double fork.
pub fn marked_with(mark: &str) -> Vec<ProcessId> {
    let marked = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
    };
    all_pids().filter(marked).filter_map(ProcessId::of).collect()
}

/// Returns the id of this boot: pids and start times mean something only within one.
pub fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
}

struct Stat {
    state: u8,
    parent: u32,
    group: i32,
    session: u32,
    terminal_group: i32,
    start_time: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        // A program's name may hold bytes that are no UTF-8, so the line is read as bytes.
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&line))
    }

    /// The name in field 2 may hold spaces and parentheses, so fields are counted from its last parenthesis.
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            terminal_group: fields.get(5)?.parse().unwrap_or(-1),
            // The kernel gives -1 to those that have none, such as threads of its own.
            session: fields.get(3)?.parse().unwrap_or(0),
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "77 (a ) b) c) S 12 77 77 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        let stat = Stat::parse(line).expect("the line is complete");
        assert_eq!((stat.state, stat.parent, stat.session, stat.start_time), (b'S', 12, 77, 987_654));
    }

    #[test]
    fn a_child_that_waits_to_be_reaped_is_no_living_descendant() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep is there");
        let process = ProcessId::of(child.id()).expect("it lives");
        let me = std::process::id();
        assert!(descendants(me).contains(&process));
        child.kill().expect("it is ours");
        while process.is_alive() {
            std::thread::yield_now();
        }
        assert!(ProcessId::of(child.id()).is_some(), "it is not reaped yet");
        assert!(!descendants(me).contains(&process));
        child.wait().expect("it is our child");
    }

    #[test]
    fn a_lineage_begins_with_the_process_and_goes_up() {
        let me = ProcessId::current().expect("/proc is mounted");
        let found = lineage(me);
        assert_eq!(found.first(), Some(&me));
        assert_eq!(found.get(1).map(|parent| parent.pid), Some(std::os::unix::process::parent_id()));
        assert_eq!(lineage(ProcessId { start_time: me.start_time + 1, ..me }), Vec::new(), "it is somebody else");
    }

    #[test]
    fn the_same_pid_with_another_start_time_is_somebody_else() {
        let me = ProcessId::current().expect("/proc is mounted");
        let other = ProcessId { start_time: me.start_time + 1, ..me };
        assert!(me.is_alive());
        assert!(!other.is_alive());
        assert!(!other.signal(Signal::KILL).expect("nobody is signalled"));
    }
}
