//! Which sessions are in memory: which stay each is at, whether anybody reads from it, and which has to rest when there
//! are many. One that rests comes back from the store with its client's next message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::transport::streamable_http_server::session::SessionId;

use crate::fleet::time::{Span, Time};

/// Sessions in memory at most, but for those that somebody reads from: a client that opens one for each call, and ends
/// none, would else fill the memory in an hour.
const MOST: usize = 100;

/// The sessions in memory.
#[derive(Default)]
pub(super) struct Stays(Mutex<All>);

#[derive(Default)]
struct All {
    stays: HashMap<SessionId, Stay>,
    /// How many requests are on their way to each session, in memory or not.
    underway: HashMap<SessionId, u32>,
    /// How many stays of each were ended by us, of which the library has yet to say that they have ended.
    resting: HashMap<SessionId, u32>,
    /// Counts arrivals and uses, so that each has its place in their order.
    now: u64,
}

struct Stay {
    /// When it came: no other stay has the same.
    came: u64,
    used: u64,
    /// It is not open yet.
    opens: bool,
    /// When the library last heard of it.
    heard: Time,
    streams: Arc<()>,
}

/// Somebody reads from a session as long as this is kept.
pub(super) type Reading = Arc<()>;

/// A request is on its way to a session as long as this is kept.
pub(super) struct Underway<'a> {
    stays: &'a Stays,
    id: SessionId,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.stays.with(|all| one_less(&mut all.underway, &self.id));
    }
}

impl Stays {
    /// Returns one that has to rest if there is no room for one more. Its stay is over, and the library, which is to
    /// be told, will say once that it has ended.
    pub(super) fn one_too_many(&self) -> Option<SessionId> {
        self.with(|all| {
            if all.stays.len() < MOST {
                return None;
            }
            let quiet = all.stays.iter().filter(|(id, stay)| {
                !stay.opens && Arc::strong_count(&stay.streams) == 1 && !all.underway.contains_key(*id)
            });
            let (id, _) = quiet.min_by_key(|(_, stay)| stay.used)?;
            let id = id.clone();
            all.rests(&id);
            Some(id)
        })
    }

    /// Makes a session rest, if it is in memory.
    pub(super) fn rests(&self, id: &SessionId) {
        self.with(|all| all.rests(id));
    }

    /// Notes that the library says of a session that its stay has ended; returns whether that is so. It says so once
    /// of each stay, also of one that we ended, and after which there may be another.
    pub(super) fn has_ended(&self, id: &SessionId) -> bool {
        self.with(|all| {
            let of_a_rest = one_less(&mut all.resting, id);
            if !of_a_rest {
                all.stays.remove(id);
            }
            !of_a_rest
        })
    }

    /// Notes that a session begins a stay.
    pub(super) fn arrived(&self, id: &SessionId, heard: Time) {
        self.with(|all| {
            all.now += 1;
            let stay = Stay { came: all.now, used: all.now, opens: true, heard, streams: Reading::default() };
            all.stays.insert(id.clone(), stay);
        });
    }

    /// Notes that a session which begins a stay is open.
    pub(super) fn came(&self, id: &SessionId) {
        self.with(|all| all.stays.get_mut(id).into_iter().for_each(|stay| stay.opens = false));
    }

    /// Notes that a request for a session is on its way: it does not rest before that is there.
    pub(super) fn underway(&self, id: SessionId) -> Underway<'_> {
        self.with(|all| *all.underway.entry(id.clone()).or_default() += 1);
        Underway { stays: self, id }
    }

    /// Returns whether the library has heard of a session in so long a time; if not, it hears of it now.
    pub(super) fn was_heard(&self, id: &SessionId, now: Time, within: Span) -> bool {
        self.with(|all| match all.stays.get_mut(id) {
            Some(stay) if now.since(stay.heard) > within => {
                stay.heard = now;
                false
            }
            _ => true,
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

    /// Notes that a session has left for good.
    pub(super) fn left(&self, id: &SessionId) {
        self.with(|all| drop(all.stays.remove(id)));
    }

    fn with<T>(&self, what: impl FnOnce(&mut All) -> T) -> T {
        what(&mut self.0.lock().expect("nobody panics while holding it"))
    }
}

impl All {
    fn rests(&mut self, id: &SessionId) {
        if self.stays.remove(id).is_some() {
            *self.resting.entry(id.clone()).or_default() += 1;
        }
    }
}

/// Takes one off a count, which is there only while it counts something; returns whether there was one.
fn one_less(counts: &mut HashMap<SessionId, u32>, id: &SessionId) -> bool {
    let Some(count) = counts.get_mut(id) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(id);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> SessionId {
        format!("session {n}").into()
    }

    /// A session is opened, after others made room for it; returns those.
    fn opened(stays: &Stays, n: usize) -> Vec<SessionId> {
        let rest = std::iter::from_fn(|| stays.one_too_many()).collect();
        stays.arrived(&id(n), Time(0));
        stays.came(&id(n));
        rest
    }

    fn full() -> Stays {
        let stays = Stays::default();
        for n in 0..MOST {
            assert_eq!(opened(&stays, n), []);
        }
        stays
    }

    #[test]
    fn of_too_many_the_one_rests_that_nobody_used_for_longest_and_none_that_is_read_from() {
        let stays = full();
        let (_, reading) = stays.reads(&id(0));
        drop(stays.reads(&id(1)));
        assert_eq!(opened(&stays, MOST), [id(2)], "the first is read from, and the second was used since");
        drop(reading);
        assert_eq!(opened(&stays, MOST + 1), [id(3)]);
        stays.left(&id(4));
        assert_eq!(opened(&stays, MOST + 2), [], "there is room");
    }

    #[test]
    fn none_rests_that_opens_or_that_a_request_is_on_its_way_to() {
        let stays = full();
        stays.left(&id(1));
        stays.arrived(&id(1), Time(0));
        let underway: Vec<_> = (2..MOST).chain([2]).map(|n| stays.underway(id(n))).collect();
        assert_eq!(stays.one_too_many(), Some(id(0)));
        stays.arrived(&id(0), Time(0));
        assert_eq!(stays.one_too_many(), None, "two open, and all others are wanted");
        stays.came(&id(1));
        assert_eq!(stays.one_too_many(), Some(id(1)));
        stays.arrived(&id(1), Time(0));
        let mut underway = underway.into_iter();
        drop(underway.next());
        assert_eq!(stays.one_too_many(), None, "a second request is on its way to the first of them");
        drop(underway);
        assert_eq!(stays.one_too_many(), Some(id(2)));
    }

    #[test]
    fn once_there_is_room_again_as_many_rest_as_are_too_many() {
        let stays = full();
        let readings: Vec<_> = (0..MOST).map(|n| stays.reads(&id(n))).collect();
        for n in MOST..MOST + 2 {
            stays.arrived(&id(n), Time(0));
        }
        drop(readings);
        assert_eq!(opened(&stays, MOST + 2), [id(0), id(1), id(2)]);
    }

    #[test]
    fn the_end_of_a_stay_that_we_ended_is_told_once_and_is_not_that_of_the_next_one() {
        let stays = full();
        assert_eq!(opened(&stays, MOST), [id(0)]);
        opened(&stays, 0);
        stays.rests(&id(0));
        stays.rests(&id(0));
        opened(&stays, 0);
        let told = [(); 3].map(|()| (stays.has_ended(&id(0)), stays.number(&id(0)) > 0));
        assert_eq!(told, [(false, true), (false, true), (true, false)], "it rested twice, and was there but once");
        assert!(stays.has_ended(&id(7)));
    }

    #[test]
    fn the_library_hears_now_and_then_of_a_session_whose_client_only_looks() {
        let (stays, span) = (Stays::default(), Span::minutes(30));
        stays.arrived(&id(1), Time(0));
        let minutes = |n| Time(Span::minutes(n).0);
        let heard = [0, 30, 31, 60, 61, 62].map(|n| stays.was_heard(&id(1), minutes(n), span));
        assert_eq!(heard, [true, true, false, true, true, false]);
        assert!(stays.was_heard(&id(2), minutes(62), span), "one that is not there does not go");
    }

    #[test]
    fn no_two_stays_have_a_number_in_common() {
        let stays = Stays::default();
        opened(&stays, 1);
        let first = stays.number(&id(1));
        stays.left(&id(1));
        opened(&stays, 2);
        opened(&stays, 1);
        assert!(stays.number(&id(1)) != first && stays.number(&id(1)) != stays.number(&id(2)) && first > 0);
    }
}
