//! Which run is executed by which VM, and how many VMs of earlier generations are kept for runs that wait.
//!
//! A VM lives as long as a run is awake in it, or its generation is in force. One that was not used for long lets its runs
//! sleep, and ends; whoever comes for one of them builds it anew. No waiting and no journal here.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::vm::{Job, Loaded, Pulse};
use crate::fleet::ids::RunId;
use crate::fleet::run::Run;

/// How many VMs of generations that are not in force hold runs that wait.
const KEPT: usize = 4;

/// How a run left its VM.
pub(super) enum Left {
    /// It ended.
    Ended(RunId),
    /// It fell asleep in the VM that has this pulse.
    Asleep(RunId, Arc<Pulse>),
}

/// Where a run is.
pub(super) enum Place {
    /// In a VM.
    At(Arc<Loaded>),
    /// In its journal only.
    Asleep(Arc<Run>),
    /// It ended, or never was.
    Nowhere,
}

/// All runs that go on.
#[derive(Default)]
pub(super) struct Homes {
    runs: HashMap<RunId, (Arc<Run>, Option<Arc<Loaded>>)>,
    /// The VMs that hold what waits; the one that was used last is the last.
    holding: Vec<Weak<Loaded>>,
}

impl Homes {
    /// Returns where a run is, and counts its VM as used.
    pub(super) fn place(&mut self, run: RunId, held: usize) -> Place {
        let place = match self.runs.get(&run) {
            Some((_, Some(home))) => Place::At(Arc::clone(home)),
            Some((run, None)) => Place::Asleep(Arc::clone(run)),
            None => Place::Nowhere,
        };
        if let Place::At(home) = &place {
            self.used(home, held);
        }
        place
    }

    /// Gives a run its VM.
    pub(super) fn put(&mut self, run: Arc<Run>, home: Arc<Loaded>, held: usize) {
        self.used(&home, held);
        self.runs.insert(run.id, (run, Some(home)));
    }

    /// Takes a run out; returns its VM if it is awake.
    pub(super) fn remove(&mut self, run: RunId) -> Option<Arc<Loaded>> {
        self.runs.remove(&run)?.1
    }

    /// Returns a VM that has these files and is of use.
    pub(super) fn with(&self, hash: &str) -> Option<Arc<Loaded>> {
        let mut homes = self.runs.values().filter_map(|(_, home)| home.as_ref());
        homes.find(|home| home.sources.hash() == hash && !home.is_abandoned()).cloned()
    }

    /// Returns the runs in a VM, in their order.
    pub(super) fn of(&self, home: &Arc<Loaded>) -> Vec<Arc<Run>> {
        let here = |at: &Option<Arc<Loaded>>| at.as_ref().is_some_and(|at| Arc::ptr_eq(at, home));
        let mut runs: Vec<Arc<Run>> =
            self.runs.values().filter(|(_, at)| here(at)).map(|(run, _)| Arc::clone(run)).collect();
        runs.sort_by_key(|run| run.id);
        runs
    }

    /// Takes note of runs that left; one that is in another VM by now stays there.
    pub(super) fn leave(&mut self, left: Vec<Left>) {
        for one in left {
            match one {
                // It may have been moved to another VM in the moment in which its code ended.
                Left::Ended(run) => {
                    if let Some(home) = self.remove(run) {
                        home.give(Job::Drop(run));
                    }
                }
                Left::Asleep(run, pulse) => {
                    if let Some((_, home)) = self.runs.get_mut(&run) {
                        home.take_if(|home| home.has(&pulse));
                    }
                }
            }
        }
    }

    /// Lets all sleep that waits in the VMs that were not used for longest.
    pub(super) fn thin(&mut self, current: Option<&Arc<Loaded>>) {
        let mut old: Vec<Arc<Loaded>> = self.holding.iter().filter_map(Weak::upgrade).collect();
        old.retain(|home| current.is_none_or(|current| !Arc::ptr_eq(current, home)));
        old.truncate(old.len().saturating_sub(KEPT));
        for home in old {
            home.give(Job::Hold(0));
            self.forget(&home);
        }
    }

    fn used(&mut self, home: &Arc<Loaded>, held: usize) {
        // One that had to let all sleep holds again.
        if !self.forget(home) {
            home.give(Job::Hold(held));
        }
        self.holding.push(Arc::downgrade(home));
    }

    /// Returns whether it was among those that hold what waits.
    fn forget(&mut self, home: &Arc<Loaded>) -> bool {
        let is = |one: &Weak<Loaded>| std::ptr::eq(one.as_ptr(), Arc::as_ptr(home));
        let known = self.holding.iter().any(is);
        self.holding.retain(|one| one.strong_count() > 0 && !is(one));
        known
    }
}
