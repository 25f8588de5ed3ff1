//! Sends of runs that wait for the rubrics. A run that is moved meanwhile comes to the same send again, and must not send
//! twice; one that has ended and is begun again comes to it anew, and what waited for its first time is nobody's any more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard};

use crate::fleet::ids::{RunId, StepPath};

/// Which sends wait.
#[derive(Default)]
pub(super) struct Held(Mutex<Sends>);

#[derive(Default)]
struct Sends {
    /// How many were held by now.
    count: u64,
    /// Each with its number.
    held: HashMap<(RunId, StepPath), u64>,
}

impl Held {
    /// Begins to hold a send and returns its number; nothing if it is held already.
    pub(super) fn hold(&self, run: RunId, path: &StepPath) -> Option<u64> {
        let Sends { count, held } = &mut *self.lock();
        let Entry::Vacant(place) = held.entry((run, path.clone())) else { return None };
        *count += 1;
        Some(*place.insert(*count))
    }

    /// Returns whether a send is still waited for by this number.
    pub(super) fn has(&self, run: RunId, path: &StepPath, number: u64) -> bool {
        self.lock().held.get(&(run, path.clone())) == Some(&number)
    }

    /// A send has its answer.
    pub(super) fn release(&self, run: RunId, path: &StepPath) {
        self.lock().held.remove(&(run, path.clone()));
    }

    /// A run has ended: nothing of it is waited for.
    pub(super) fn forget(&self, run: RunId) {
        self.lock().held.retain(|(of, _), _| *of != run);
    }

    fn lock(&self) -> MutexGuard<'_, Sends> {
        self.0.lock().expect("never poisoned: no code of others runs under it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_is_held_once_and_one_of_an_ended_run_is_nobodys() {
        let (held, path) = (Held::default(), StepPath::from("2"));
        let (one, other) = (RunId(1), RunId(2));
        let first = held.hold(one, &path).expect("it is the first");
        assert_eq!(held.hold(one, &path), None, "the run was moved");
        let others = held.hold(other, &path).expect("it is another run's");
        held.forget(one);
        assert!(!held.has(one, &path, first) && held.has(other, &path, others));
        let anew = held.hold(one, &path).expect("the run was begun again");
        assert!(held.has(one, &path, anew) && !held.has(one, &path, first));
        held.release(one, &path);
        assert!(!held.has(one, &path, anew));
    }
}
