//! From an owner to a standing: worker, operator or anonymous. A pure function: what is not known for sure takes
//! rights away and never gives any.

use std::collections::HashMap;

use super::{Holder, Owner, Process};

/// A pane-exec of this fleet, as the engine knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root<W> {
    /// The worker that runs below it.
    pub worker: W,
    /// The agent's own process, once pane-exec has reported it; everything else below the root is a child of it.
    pub agent: Option<Process>,
}

/// Who a connection comes from, as far as it decides rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing<W> {
    /// A process below a worker's pane-exec.
    Worker {
        /// The worker.
        worker: W,
        /// True if not the agent itself but something that it started holds the connection.
        via_child: bool,
    },
    /// A human or a script of our own user on this machine.
    Operator,
    /// Everybody else, with the reason.
    Anonymous(Doubt),
}

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

/// Returns the standing of a caller.
///
/// Any worker among the holders wins, by the nearest root above it, also through a proxy: being a worker only takes
/// rights away. The operator is our own user, in no worker's tree, with the whole chain of ancestors seen.
pub fn classify<W: Clone + PartialEq>(
    owner: Option<&Owner>,
    our_uid: u32,
    roots: &HashMap<Process, Root<W>>,
    proxied: bool,
) -> Standing<W> {
    let Some(owner) = owner else {
        return Standing::Anonymous(Doubt::NotFound);
    };
    let mut found: Option<(W, bool)> = None;
    for (worker, agent_itself) in owner.holders.iter().filter_map(|h| above(h, roots)) {
        found = match found {
            Some((other, _)) if other != worker => return Standing::Anonymous(Doubt::Shared),
            // Between fork and exec a child holds what the agent holds: one holder that is the agent is enough.
            Some((_, seen)) => Some((worker, seen || agent_itself)),
            None => Some((worker, agent_itself)),
        };
    }
    if let Some((worker, agent_itself)) = found {
        return Standing::Worker {
            worker,
            via_child: !agent_itself,
        };
    }
    if owner.holders.is_empty() {
        Standing::Anonymous(Doubt::NotFound)
    } else if owner.holders.iter().any(|h| !h.whole) {
        Standing::Anonymous(Doubt::Broken)
    } else if owner.holders.iter().any(|h| h.marked) {
        Standing::Anonymous(Doubt::Stray)
    } else if owner.uid != our_uid {
        Standing::Anonymous(Doubt::OtherUser)
    } else if proxied {
        Standing::Anonymous(Doubt::Proxied)
    } else {
        Standing::Operator
    }
}

/// Returns whether one of these header names says that the request was passed on by something else.
pub fn proxied<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.any(|n| {
        let n = n.to_ascii_lowercase();
        n == "forwarded" || n == "via" || n == "x-real-ip" || n.starts_with("x-forwarded-")
    })
}

/// The worker above (or at) a holder, and whether the holder is the agent itself.
fn above<W: Clone>(holder: &Holder, roots: &HashMap<Process, Root<W>>) -> Option<(W, bool)> {
    let chain = std::iter::once(&holder.process).chain(&holder.ancestors);
    let (depth, root) = chain
        .enumerate()
        .find_map(|(depth, p)| roots.get(p).map(|r| (depth, r)))?;
    let agent_itself = match root.agent {
        Some(agent) => agent == holder.process,
        None => depth <= 1,
    };
    Some((root.worker.clone(), agent_itself))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: Process = Process {
        pid: 1,
        start_time: 0,
    };
    const US: u32 = 1000;

    fn p(pid: u32) -> Process {
        Process {
            pid,
            start_time: u64::from(pid) * 10,
        }
    }

    fn holder(pid: u32, above: &[u32]) -> Holder {
        let ancestors = above.iter().map(|&a| p(a)).chain([INIT]).collect();
        Holder {
            process: p(pid),
            ancestors,
            whole: true,
            marked: false,
        }
    }

    fn owner(holders: Vec<Holder>) -> Owner {
        Owner { uid: US, holders }
    }

    fn roots(list: &[(u32, &'static str, Option<u32>)]) -> HashMap<Process, Root<&'static str>> {
        list.iter()
            .map(|&(pid, worker, agent)| {
                (
                    p(pid),
                    Root {
                        worker,
                        agent: agent.map(p),
                    },
                )
            })
            .collect()
    }

    fn worker(worker: &'static str, via_child: bool) -> Standing<&'static str> {
        Standing::Worker { worker, via_child }
    }

    #[test]
    fn nearest_root_wins() {
        let r = roots(&[(10, "outer", None), (30, "inner", None)]);
        let o = owner(vec![holder(50, &[40, 30, 20, 10])]);
        assert_eq!(classify(Some(&o), US, &r, false), worker("inner", true));
        let o = owner(vec![holder(20, &[10])]);
        assert_eq!(classify(Some(&o), US, &r, false), worker("outer", false));
    }

    #[test]
    fn a_root_with_the_same_pid_but_another_start_time_is_no_root() {
        let mut r = roots(&[]);
        r.insert(
            Process {
                pid: 10,
                start_time: 7,
            },
            Root {
                worker: "w",
                agent: None,
            },
        );
        let o = owner(vec![holder(20, &[10])]);
        assert_eq!(classify(Some(&o), US, &r, false), Standing::Operator);
    }

    #[test]
    fn an_orphan_that_the_root_took_in_is_not_the_agent() {
        let r = roots(&[(10, "w", Some(20))]);
        assert_eq!(
            classify(Some(&owner(vec![holder(20, &[10])])), US, &r, false),
            worker("w", false)
        );
        assert_eq!(
            classify(Some(&owner(vec![holder(21, &[10])])), US, &r, false),
            worker("w", true)
        );
    }

    #[test]
    fn one_worker_among_the_holders_is_enough_and_two_are_too_many() {
        let r = roots(&[(10, "a", None), (11, "b", None)]);
        let (free, a, b) = (holder(90, &[80]), holder(20, &[10]), holder(21, &[11]));
        assert_eq!(
            classify(Some(&owner(vec![free.clone(), a.clone()])), US, &r, false),
            worker("a", false)
        );
        assert_eq!(
            classify(Some(&owner(vec![a, free, b])), US, &r, false),
            Standing::Anonymous(Doubt::Shared)
        );
    }

    #[test]
    fn the_agent_among_its_children_counts_as_the_agent() {
        let r = roots(&[(10, "a", Some(20))]);
        let o = owner(vec![holder(20, &[10]), holder(25, &[20, 10])]);
        assert_eq!(classify(Some(&o), US, &r, false), worker("a", false));
    }

    #[test]
    fn a_worker_stays_a_worker_behind_a_proxy_or_as_another_user() {
        let r = roots(&[(10, "a", None)]);
        let mut o = owner(vec![holder(20, &[10])]);
        o.uid = 1;
        assert_eq!(classify(Some(&o), US, &r, true), worker("a", false));
    }

    #[test]
    fn every_doubt_takes_the_rights_away() {
        let r = roots(&[]);
        let plain = owner(vec![holder(20, &[19])]);
        assert_eq!(classify(Some(&plain), US, &r, false), Standing::Operator);
        assert_eq!(
            classify(None, US, &r, false),
            Standing::Anonymous(Doubt::NotFound)
        );
        assert_eq!(
            classify(Some(&owner(vec![])), US, &r, false),
            Standing::Anonymous(Doubt::NotFound)
        );
        assert_eq!(
            classify(Some(&plain), 0, &r, false),
            Standing::Anonymous(Doubt::OtherUser)
        );
        assert_eq!(
            classify(Some(&plain), US, &r, true),
            Standing::Anonymous(Doubt::Proxied)
        );
        let mut marked = plain.clone();
        marked.holders[0].marked = true;
        assert_eq!(
            classify(Some(&marked), US, &r, false),
            Standing::Anonymous(Doubt::Stray)
        );
        let mut broken = plain;
        broken.holders[0].whole = false;
        assert_eq!(
            classify(Some(&broken), US, &r, false),
            Standing::Anonymous(Doubt::Broken)
        );
    }

    #[test]
    fn proxy_headers_are_known_in_any_case() {
        for name in [
            "Forwarded",
            "via",
            "X-Real-Ip",
            "x-forwarded-for",
            "X-FORWARDED-HOST",
        ] {
            assert!(proxied(["host", name].into_iter()), "{name}");
        }
        assert!(!proxied(
            ["host", "accept", "x-forwarder", "forward"].into_iter()
        ));
    }
}
