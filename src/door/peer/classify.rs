//! From an owner to a caller: worker, leader, operator or anonymous. A pure function: what is not known for sure takes
//! rights away and never gives any. Who may sit in the seat is not decided here; only who sits there already.

use super::{Holder, Owner};
use crate::fleet::caller::Caller;
use crate::fleet::ids::WorkerName;
use crate::fleet::worker::Process;

/// Why a caller is anonymous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The owner could not be found: the connection comes from elsewhere, is closed, or its process cannot be read.
    #[error("the process behind the connection could not be found")]
    NotFound,
    /// The socket belongs to another user.
    #[error("the connection belongs to another user of this machine")]
    OtherUser,
    /// The request was passed on by something else.
    #[error("the request came through a proxy (Forwarded, X-Forwarded-*, X-Real-IP or Via)")]
    Proxied,
    /// An ancestor vanished in every attempt to read the chain.
    #[error("the ancestors of the process could not be read to the end")]
    Broken,
    /// The environment of the process says it is a worker, but it is below no pane-exec of this fleet.
    #[error("the process carries a worker's mark and is below no worker of this fleet")]
    Stray,
    /// Processes of several workers hold the one socket.
    #[error("processes of several workers hold the connection")]
    Shared,
}

/// Returns who is calling.
///
/// `root` tells whose pane-exec a process is. Any worker among the holders wins, by the nearest root above it, also
/// through a proxy: being a worker only takes rights away. The operator is our own user, in no worker's tree, with
/// the whole chain of ancestors seen. The leader is that too, and every holder is the process in the seat or below it.
pub fn classify<'a>(
    owner: Option<&Owner>,
    our_uid: u32,
    root: impl Fn(&Process) -> Option<&'a WorkerName>,
    seat: Option<Process>,
    proxied: bool,
) -> Caller {
    let Some(owner) = owner.filter(|o| !o.holders.is_empty()) else {
        return Doubt::NotFound.into();
    };
    let mut found: Option<(&WorkerName, bool)> = None;
    for (worker, agent) in owner.holders.iter().filter_map(|h| above(h, &root)) {
        found = match found {
            Some((other, _)) if other != worker => return Doubt::Shared.into(),
            // Between fork and exec a child holds what the agent holds: one holder that is the agent is enough.
            Some((_, seen)) => Some((worker, seen || agent)),
            None => Some((worker, agent)),
        };
    }
    if let Some((worker, agent)) = found {
        return Caller::Worker { name: worker.clone(), via_child: !agent };
    }
    if owner.holders.iter().any(|h| !h.whole) {
        Doubt::Broken.into()
    } else if owner.holders.iter().any(|h| h.marked) {
        Doubt::Stray.into()
    } else if owner.uid != our_uid {
        Doubt::OtherUser.into()
    } else if proxied {
        Doubt::Proxied.into()
    } else if seat.is_some_and(|seat| owner.holders.iter().all(|h| h.process == seat || h.ancestors.contains(&seat))) {
        Caller::Leader
    } else {
        Caller::Operator
    }
}

impl From<Doubt> for Caller {
    fn from(doubt: Doubt) -> Caller {
        Caller::Anonymous { why: doubt.to_string() }
    }
}

/// Returns whether one of these header names says that the request was passed on by something else.
pub fn proxied<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    let begins = |name: &str, with: &str| name.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    let is = |name: &str, word: &str| name.eq_ignore_ascii_case(word);
    names.any(|n| is(n, "forwarded") || is(n, "via") || is(n, "x-real-ip") || begins(n, "x-forwarded-"))
}

/// The worker above (or at) a holder, and whether the holder is the agent: pane-exec's own child. An orphan that
/// pane-exec took in looks the same; whoever counts proofs of readiness must compare with the agent's pid.
fn above<'a>(holder: &Holder, root: impl Fn(&Process) -> Option<&'a WorkerName>) -> Option<(&'a WorkerName, bool)> {
    let mut chain = std::iter::once(&holder.process).chain(&holder.ancestors).enumerate();
    chain.find_map(|(depth, p)| root(p).map(|worker| (worker, depth <= 1)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const INIT: Process = Process { pid: 1, start: 0 };
    const US: u32 = 1000;

    fn p(pid: i32) -> Process {
        Process { pid, start: pid as u64 * 10 }
    }

    fn holder(pid: i32, above: &[i32]) -> Holder {
        let ancestors = above.iter().map(|&a| p(a)).chain([INIT]).collect();
        Holder { process: p(pid), ancestors, whole: true, marked: false }
    }

    fn owner(holders: Vec<Holder>) -> Owner {
        Owner { uid: US, holders }
    }

    fn roots(list: &[(i32, &str)]) -> HashMap<Process, WorkerName> {
        list.iter().map(|&(pid, name)| (p(pid), name.into())).collect()
    }

    fn worker(name: &str, via_child: bool) -> Caller {
        Caller::Worker { name: name.into(), via_child }
    }

    #[test]
    fn nearest_root_wins() {
        let r = roots(&[(10, "outer"), (30, "inner")]);
        let o = owner(vec![holder(50, &[40, 30, 20, 10])]);
        assert_eq!(classify(Some(&o), US, |p| r.get(p), None, false), worker("inner", true));
        let o = owner(vec![holder(20, &[10])]);
        assert_eq!(classify(Some(&o), US, |p| r.get(p), None, false), worker("outer", false));
    }

    #[test]
    fn a_root_with_the_same_pid_but_another_start_time_is_no_root() {
        let mut r = roots(&[]);
        r.insert(Process { pid: 10, start: 7 }, "w".into());
        let o = owner(vec![holder(20, &[10])]);
        assert_eq!(classify(Some(&o), US, |p| r.get(p), None, false), Caller::Operator);
    }

    #[test]
    fn one_worker_among_the_holders_is_enough_and_two_are_too_many() {
        let r = roots(&[(10, "a"), (11, "b")]);
        let (free, a, b) = (holder(90, &[80]), holder(20, &[10]), holder(21, &[11]));
        assert_eq!(
            classify(Some(&owner(vec![free.clone(), a.clone()])), US, |p| r.get(p), None, false),
            worker("a", false)
        );
        assert_eq!(
            classify(Some(&owner(vec![a, free, b])), US, |p| r.get(p), None, false),
            Caller::from(Doubt::Shared)
        );
    }

    #[test]
    fn the_agent_among_its_children_counts_as_the_agent() {
        let r = roots(&[(10, "a")]);
        let o = owner(vec![holder(20, &[10]), holder(25, &[20, 10])]);
        assert_eq!(classify(Some(&o), US, |p| r.get(p), None, false), worker("a", false));
    }

    #[test]
    fn a_worker_stays_a_worker_behind_a_proxy_or_as_another_user() {
        let r = roots(&[(10, "a")]);
        let mut o = owner(vec![holder(20, &[10])]);
        o.uid = 1;
        assert_eq!(classify(Some(&o), US, |p| r.get(p), None, true), worker("a", false));
    }

    #[test]
    fn the_leader_is_the_process_in_the_seat_and_everything_below_it() {
        let none = roots(&[]);
        let (seat, child, stranger) = (holder(50, &[40]), holder(60, &[50, 40]), holder(70, &[40]));
        let judge = |holders: &[&Holder], roots: &HashMap<Process, WorkerName>| {
            classify(
                Some(&owner(holders.iter().map(|&h| h.clone()).collect())),
                US,
                |p| roots.get(p),
                Some(p(50)),
                false,
            )
        };
        assert_eq!(judge(&[&seat], &none), Caller::Leader);
        assert_eq!(judge(&[&seat, &child], &none), Caller::Leader);
        assert_eq!(judge(&[&stranger], &none), Caller::Operator);
        assert_eq!(judge(&[&child, &stranger], &none), Caller::Operator, "one holder outside is enough");
        // The daemon was started from the leader's shell, and its worker is below the leader too.
        assert_eq!(judge(&[&child], &roots(&[(60, "w")])), worker("w", false));
        let reused = Some(Process { pid: 50, start: 7 });
        assert_eq!(classify(Some(&owner(vec![seat.clone()])), US, |p| none.get(p), reused, false), Caller::Operator);
        assert_eq!(classify(Some(&owner(vec![seat])), US, |p| none.get(p), Some(p(50)), true), Doubt::Proxied.into());
    }

    #[test]
    fn every_doubt_takes_the_rights_away() {
        let r = roots(&[]);
        let plain = owner(vec![holder(20, &[19])]);
        assert_eq!(classify(Some(&plain), US, |p| r.get(p), None, false), Caller::Operator);
        assert_eq!(classify(None, US, |p| r.get(p), None, false), Caller::from(Doubt::NotFound));
        assert_eq!(classify(Some(&owner(vec![])), US, |p| r.get(p), None, false), Caller::from(Doubt::NotFound));
        assert_eq!(classify(Some(&plain), 0, |p| r.get(p), None, false), Caller::from(Doubt::OtherUser));
        assert_eq!(classify(Some(&plain), US, |p| r.get(p), None, true), Caller::from(Doubt::Proxied));
        let mut marked = plain.clone();
        marked.holders[0].marked = true;
        assert_eq!(classify(Some(&marked), US, |p| r.get(p), None, false), Caller::from(Doubt::Stray));
        let mut broken = plain;
        broken.holders[0].whole = false;
        assert_eq!(classify(Some(&broken), US, |p| r.get(p), None, false), Caller::from(Doubt::Broken));
    }

    #[test]
    fn proxy_headers_are_known_in_any_case() {
        for name in ["Forwarded", "via", "X-Real-Ip", "x-forwarded-for", "X-FORWARDED-HOST"] {
            assert!(proxied(["host", name].into_iter()), "{name}");
        }
        assert!(!proxied(["host", "accept", "x-forwarder", "forward"].into_iter()));
    }
}
