//! `/proc`: which processes hold a socket, and what is above a process.
//!
//! Everything here may vanish while it is read. What is gone is left out; what cannot be read to its end says so.

use std::collections::{HashMap, HashSet};

use super::super::Holder;
use crate::fleet::worker::Process;

/// The variables that `fleetd` sets for every worker.
const MARKS: [&[u8]; 2] = [b"FLEET_WORKER=", b"FLEET_ROOT="];

/// What a worker's pane-exec is called with.
const PANE_EXEC: &[u8] = b"pane-exec";

/// Looks at a process that is between two programs, which takes it some microseconds.
const LOOKS: usize = 1_000;

/// Attempts to read a chain of ancestors that changes while it is read.
const ATTEMPTS: usize = 8;

/// The processes as one batch has seen them: each is read once.
pub(super) struct Tree {
    holders: HashMap<i32, Option<Holder>>,
    marked: HashMap<Process, bool>,
    ours: Ours,
}

/// What the daemon itself was born with. A fleet may run inside another fleet's worker: what is above it, and the
/// marks that it inherited, say nothing about its callers.
struct Ours {
    ancestors: HashSet<Process>,
    marks: Vec<Vec<u8>>,
}

impl Tree {
    /// Returns an empty picture; it fills as processes are asked for.
    pub(super) fn new() -> Self {
        let me = rustix::process::getpid().as_raw_pid();
        let ancestors = lineage(me).map(|(_, ancestors, _)| ancestors.into_iter().collect());
        let ours = Ours { ancestors: ancestors.unwrap_or_default(), marks: marks(me) };
        Self { holders: HashMap::new(), marked: HashMap::new(), ours }
    }

    /// Returns a process with its ancestors, or `None` if it is gone.
    pub(super) fn holder(&mut self, pid: i32) -> Option<Holder> {
        if let Some(known) = self.holders.get(&pid) {
            return known.clone();
        }
        let found = lineage(pid).map(|(process, ancestors, whole)| {
            let chain = std::iter::once(&process).chain(&ancestors);
            let below_us = chain.take_while(|&p| !self.ours.ancestors.contains(p)).copied();
            let marked = below_us.collect::<Vec<_>>().into_iter().any(|p| self.is_marked(p));
            Holder { process, ancestors, whole, marked }
        });
        self.holders.insert(pid, found.clone());
        found
    }

    fn is_marked(&mut self, process: Process) -> bool {
        let ours = &self.ours.marks;
        let read = |p: Process| is_pane_exec(p.pid) || marks(p.pid).iter().any(|m| !ours.contains(m));
        *self.marked.entry(process).or_insert_with(|| read(process))
    }
}

/// A process, its ancestors, and whether the chain was read to its end.
fn lineage(pid: i32) -> Option<(Process, Vec<Process>, bool)> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let (whole, mut chain) = chain(pid);
        if chain.is_empty() {
            return None;
        }
        let process = chain.remove(0);
        if whole {
            return Some((process, chain, true));
        }
        last = Some((process, chain, false));
    }
    last
}

/// One walk upwards: whole only if it ended at the top and no ancestor was younger than its child (a reused pid).
fn chain(pid: i32) -> (bool, Vec<Process>) {
    let mut chain: Vec<Process> = Vec::new();
    let mut next = pid;
    while next != 0 {
        let Some((process, parent)) = stat(next) else {
            return (false, chain);
        };
        if chain.last().is_some_and(|child| child.start < process.start) {
            return (false, chain);
        }
        chain.push(process);
        next = parent;
    }
    (true, chain)
}

/// A process and its parent's pid.
fn stat(pid: i32) -> Option<(Process, i32)> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let (parent, start) = parse_stat(&text)?;
    Some((Process { pid, start }, parent))
}

/// `pid (comm) state ppid … starttime …`. The name may hold spaces, parentheses and any byte: only the last `)` counts.
fn parse_stat(text: &[u8]) -> Option<(i32, u64)> {
    let end = text.iter().rposition(|&b| b == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let field: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some((field.get(1)?.parse().ok()?, field.get(19)?.parse().ok()?))
}

/// Returns whether a process is just between two programs: then its environment reads as empty, whatever it will be.
fn is_between_programs(stat: &[u8]) -> bool {
    // The end of the environment in its memory is the 51st field.
    let fields = stat.iter().rposition(|&b| b == b')').and_then(|end| std::str::from_utf8(stat.get(end + 1..)?).ok());
    fields.and_then(|fields| fields.split_ascii_whitespace().nth(48)) == Some("0")
}

/// The worker's marks in a process's environment, empty where it cannot be read. One that is between two programs for
/// as long as it is looked at counts as marked: nobody knows what it is.
fn marks(pid: i32) -> Vec<Vec<u8>> {
    let mut environ = Vec::new();
    for look in 0.. {
        // What may not be read may not be judged by it either: its owner is another user.
        let Ok(read) = std::fs::read(format!("/proc/{pid}/environ")) else { break };
        environ = read;
        let stat = || std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        if !environ.is_empty() || !is_between_programs(&stat()) {
            break;
        }
        if look == LOOKS {
            return vec![MARKS[0].to_vec()];
        }
        std::thread::yield_now();
    }
    let marked = environ.split(|&b| b == 0).filter(|v| MARKS.iter().any(|m| v.starts_with(m)));
    marked.map(<[u8]>::to_vec).collect()
}

/// Whether a process is a pane-exec, perhaps one that the fleet has not heard of yet. A program that only pretends
/// to be one loses rights by it.
fn is_pane_exec(pid: i32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|&b| b == 0).nth(1) == Some(PANE_EXEC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_between_two_programs_is_known() {
        let stat = |end: &str| format!("42 (a) b) S {}{end} 0", "7 ".repeat(47));
        assert!(is_between_programs(stat("0").as_bytes()) && !is_between_programs(stat("140721").as_bytes()));
        assert!(!is_between_programs(b"") && !is_between_programs(b"42 (x) S 1"));
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let tail = "S 41 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        for comm in ["(cat)", "(a b)", "(a) R 1 2)", "(()) )(())", "(\u{fffd} 1)"] {
            let line = format!("42 {comm} {tail}");
            assert_eq!(parse_stat(line.as_bytes()), Some((41, 98765)), "{comm}");
        }
        assert_eq!(parse_stat(b"42 (x\xff\xfe) S 41"), None);
        assert_eq!(parse_stat(b""), None);
    }

    fn me() -> i32 {
        rustix::process::getpid().as_raw_pid()
    }

    #[test]
    fn our_own_chain_reaches_the_top() {
        let (found, above, whole) = lineage(me()).expect("this process is there");
        assert!(whole);
        assert_eq!(found.pid, me());
        assert!(above.iter().is_sorted_by(|a, b| a.start >= b.start), "{above:?}");
    }
}
