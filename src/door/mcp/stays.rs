//! Which sessions are in memory: which stay each is at, whether anybody reads from it, and which has to rest when there
//! are many. One that rests comes back from the store with its client's next message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::transport::streamable_http_server::session::SessionId;

/// Sessions in memory at most, but for those that somebody reads from: a client that opens one for each call, and ends
/// none, would else fill the memory in an hour.
const MOST: usize = 100;

/// The sessions in memory.
#[derive(Default)]
pub(super) struct Stays(Mutex<All>);

#[derive(Default)]
struct All {
    stays: HashMap<SessionId, Stay>,
    /// Counts arrivals and uses, so that each has its place in their order.
    now: u64,
}

struct Stay {
    /// When it came: no other stay has the same.
    came: u64,
    used: u64,
    streams: Arc<()>,
}

/// Somebody reads from a session as long as this is kept.
pub(super) type Reading = Arc<()>;

impl Stays {
    /// Notes that a session begins a stay; returns one that has to rest now, if there are too many.
    pub(super) fn arrived(&self, id: &SessionId) -> Option<SessionId> {
        self.with(|all| {
            all.now += 1;
            let quiet = |stay: &Stay| Arc::strong_count(&stay.streams) == 1;
            let rests = match all.stays.len() < MOST {
                true => None,
                false => all.stays.iter().filter(|(_, stay)| quiet(stay)).min_by_key(|(_, stay)| stay.used),
            };
            let rests = rests.map(|(id, _)| id.clone());
            rests.iter().for_each(|id| drop(all.stays.remove(id)));
            all.stays.insert(id.clone(), Stay { came: all.now, used: all.now, streams: Reading::default() });
            rests
        })
    }

    /// Notes that somebody begins to read from a session; returns which stay it is at.
    pub(super) fn reads(&self, id: &SessionId) -> (u64, Option<Reading>) {
        self.with(|all| {
            all.now += 1;
            let Some(stay) = all.stays.get_mut(id) else { return (0, None) };
            stay.used = all.now;
            (stay.came, Some(stay.streams.clone()))
        })
    }

    /// Returns which stay a session is at.
    pub(super) fn number(&self, id: &SessionId) -> u64 {
        self.with(|all| all.stays.get(id).map_or(0, |stay| stay.came))
    }

    /// Notes that a session has left.
    pub(super) fn left(&self, id: &SessionId) {
        self.with(|all| drop(all.stays.remove(id)));
    }

    fn with<T>(&self, what: impl FnOnce(&mut All) -> T) -> T {
        what(&mut self.0.lock().expect("nobody panics while holding it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> SessionId {
        format!("session {n}").into()
    }

    #[test]
    fn of_too_many_the_one_rests_that_nobody_used_for_longest_and_none_that_is_read_from() {
        let stays = Stays::default();
        for n in 0..MOST {
            assert_eq!(stays.arrived(&id(n)), None);
        }
        let (_, reading) = stays.reads(&id(0));
        drop(stays.reads(&id(1)));
        assert_eq!(stays.arrived(&id(MOST)), Some(id(2)), "the first is read from, and the second was used since");
        drop(reading);
        assert_eq!(stays.arrived(&id(MOST + 1)), Some(id(3)));
        stays.left(&id(4));
        assert_eq!(stays.arrived(&id(MOST + 2)), None, "there is room");
    }

    #[test]
    fn no_two_stays_have_a_number_in_common() {
        let stays = Stays::default();
        stays.arrived(&id(1));
        let first = stays.number(&id(1));
        stays.left(&id(1));
        stays.arrived(&id(2));
        stays.arrived(&id(1));
        assert!(stays.number(&id(1)) != first && stays.number(&id(1)) != stays.number(&id(2)) && first > 0);
    }
}
