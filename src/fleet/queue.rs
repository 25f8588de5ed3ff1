//! The queue of one role: first in first out per sender and address, fair between senders.
//!
//! Every sender (the leader, the operator, each run) has a lane; lanes are served in rotation, so a fan-out of 500
//! holds up another sender by one turn at most. Urgent turns go before all lanes, in their own order.

use imbl::{OrdMap, OrdSet, Vector};

use super::caller::Sender;
use super::ids::TurnId;
use super::team::Address;

/// What waits for the workers of one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    urgent: OrdMap<Address, OrdMap<Sender, OrdSet<TurnId>>>,
    lanes: OrdMap<Sender, Lane>,
    rotation: Vector<Sender>,
}

/// One sender's turns, by address; ids grow, so their order is the order of acceptance.
type Lane = OrdMap<Address, OrdSet<TurnId>>;

impl Queue {
    /// Adds a turn at the end of its sender's lane, or to the urgent ones.
    pub fn push(&mut self, id: TurnId, sender: Sender, to: Address, urgent: bool) {
        if urgent {
            self.urgent.entry(to).or_default().entry(sender).or_default().insert(id);
            return;
        }
        if !self.lanes.contains_key(&sender) {
            self.rotation.push_back(sender);
        }
        self.lanes.entry(sender).or_default().entry(to).or_default().insert(id);
    }

    /// Puts back a turn that was taken out and not served after all: its sender keeps the place that it had.
    pub fn put_back(&mut self, id: TurnId, sender: Sender, to: Address, urgent: bool) {
        self.push(id, sender, to, urgent);
        if !urgent {
            self.rotation.retain(|other| *other != sender);
            self.rotation.push_front(sender);
        }
    }

    /// Returns the next turn whose address can be served now, in fair order.
    pub fn next(&self, can_serve: impl Fn(&Address) -> bool) -> Option<TurnId> {
        // An address is asked about once, however much waits for it.
        let urgent = self.urgent.iter().filter(|(to, _)| can_serve(to)).flat_map(|(_, senders)| senders.values());
        urgent.filter_map(|turns| turns.get_min().copied()).min().or_else(|| {
            self.rotation.iter().find_map(|sender| {
                let heads = self.lanes.get(sender)?.iter().filter(|(to, _)| can_serve(to));
                heads.filter_map(|(_, turns)| turns.get_min().copied()).min()
            })
        })
    }

    /// Takes out a turn that is served now: its sender goes to the end of the rotation.
    pub fn serve(&mut self, id: TurnId, sender: Sender, to: &Address) {
        let was_urgent = self.is_urgent(id, sender);
        self.remove(id, sender, to);
        if !was_urgent && self.lanes.contains_key(&sender) {
            self.rotation.retain(|other| *other != sender);
            self.rotation.push_back(sender);
        }
    }

    /// Takes out a turn that will not be served; the rotation stays.
    pub fn remove(&mut self, id: TurnId, sender: Sender, to: &Address) {
        if self.is_urgent(id, sender) {
            return self.remove_urgent(id, sender, to);
        }
        let Some(lane) = self.lanes.get_mut(&sender) else { return };
        if let Some(turns) = lane.get_mut(to) {
            turns.remove(&id);
            if turns.is_empty() {
                lane.remove(to);
            }
        }
        if lane.is_empty() {
            self.lanes.remove(&sender);
            self.rotation.retain(|other| *other != sender);
        }
    }

    fn is_urgent(&self, id: TurnId, sender: Sender) -> bool {
        self.urgent.values().any(|senders| senders.get(&sender).is_some_and(|turns| turns.contains(&id)))
    }

    fn remove_urgent(&mut self, id: TurnId, sender: Sender, to: &Address) {
        let Some(senders) = self.urgent.get_mut(to) else { return };
        if let Some(turns) = senders.get_mut(&sender) {
            turns.remove(&id);
            if turns.is_empty() {
                senders.remove(&sender);
            }
        }
        if senders.is_empty() {
            self.urgent.remove(to);
        }
    }

    /// Returns how many turns wait.
    pub fn len(&self) -> usize {
        let urgent = self.urgent.values().flat_map(OrdMap::values).map(OrdSet::len).sum::<usize>();
        urgent + self.lanes.values().flat_map(OrdMap::values).map(OrdSet::len).sum::<usize>()
    }

    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.lanes.is_empty()
    }

    /// Returns whether something urgent waits whose address can be served now.
    pub fn has_urgent(&self, can_serve: impl Fn(&Address) -> bool) -> bool {
        self.urgent.keys().any(can_serve)
    }

    /// Returns how many turns wait for one address.
    pub fn len_to(&self, address: &Address) -> usize {
        let urgent = self.urgent.get(address).map_or(0, |senders| senders.values().map(OrdSet::len).sum());
        urgent + self.lanes.values().filter_map(|lane| lane.get(address)).map(OrdSet::len).sum::<usize>()
    }

    /// Returns how many turns wait that no run keeps: the ones that `max_waiting` counts.
    pub fn len_without_runs(&self) -> usize {
        let of_callers = |sender: &Sender| !matches!(sender, Sender::Run(_) | Sender::Fleetd);
        let urgent = self.urgent.values().flatten().filter(|(sender, _)| of_callers(sender));
        let lanes = self.lanes.iter().filter(|(sender, _)| of_callers(sender));
        let lanes = lanes.flat_map(|(_, lane)| lane.values());
        urgent.map(|(_, turns)| turns).chain(lanes).map(OrdSet::len).sum()
    }

    /// Returns how many turns of the same sender go before this one; 0 = it is the sender's next.
    pub fn ahead(&self, id: TurnId, sender: Sender) -> usize {
        let urgent = self.urgent.values().flat_map(OrdMap::values);
        if self.is_urgent(id, sender) {
            return urgent.map(|turns| before(turns, id)).sum();
        }
        let lane = self.lanes.get(&sender).into_iter().flat_map(OrdMap::values);
        urgent.map(OrdSet::len).sum::<usize>() + lane.map(|turns| before(turns, id)).sum::<usize>()
    }

    /// Returns every waiting turn's id with its sender and address, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (TurnId, Sender, &Address)> {
        let urgent = self.urgent.iter().flat_map(|(to, senders)| {
            senders.iter().flat_map(move |(sender, turns)| turns.iter().map(move |id| (*id, *sender, to)))
        });
        let lanes = self.lanes.iter().flat_map(|(sender, lane)| {
            lane.iter().flat_map(move |(to, turns)| turns.iter().map(move |id| (*id, *sender, to)))
        });
        urgent.chain(lanes)
    }
}

/// Counts the turns before one, from the nearer end: who asks has mostly just sent, and is the last of very many.
fn before(turns: &OrdSet<TurnId>, id: TurnId) -> usize {
    let (mut before, mut after) = (turns.range(..id), turns.range(id..));
    let mut n = 0;
    loop {
        if before.next().is_none() {
            return n;
        }
        if after.next().is_none() {
            return turns.len() - n;
        }
        n += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::ids::RunId;

    fn role() -> Address {
        Address::Role("w".into())
    }

    fn drain(queue: &mut Queue, turns: &[(u64, Sender)]) -> Vec<u64> {
        let mut order = Vec::new();
        while let Some(id) = queue.next(|_| true) {
            let (_, sender) = turns.iter().find(|(n, _)| *n == id.0).expect("only what was pushed");
            queue.serve(id, *sender, &role());
            order.push(id.0);
        }
        order
    }

    #[test]
    fn a_fan_out_of_500_holds_up_another_sender_by_one_turn() {
        let mut turns: Vec<(u64, Sender)> = (0..500).map(|n| (n, Sender::Run(RunId(1)))).collect();
        turns.push((500, Sender::Leader));
        let mut queue = Queue::default();
        for (n, sender) in &turns {
            queue.push(TurnId(*n), *sender, role(), false);
        }
        let order = drain(&mut queue, &turns);
        assert_eq!(order[..3], [0, 500, 1]);
        assert_eq!(order.len(), 501);
        assert!(queue.is_empty());
    }

    #[test]
    fn urgent_turns_go_first_and_do_not_cost_their_sender_its_place() {
        let turns = [(1, Sender::Operator), (2, Sender::Leader), (3, Sender::Operator)];
        let mut queue = Queue::default();
        queue.push(TurnId(1), Sender::Operator, role(), false);
        queue.push(TurnId(2), Sender::Leader, role(), false);
        queue.push(TurnId(3), Sender::Operator, role(), true);
        assert_eq!(drain(&mut queue, &turns), [3, 1, 2]);
    }

    #[test]
    fn a_turn_for_a_busy_worker_does_not_block_its_senders_other_turns() {
        let mut queue = Queue::default();
        let busy = Address::Worker("w-1".into());
        queue.push(TurnId(1), Sender::Leader, busy.clone(), false);
        queue.push(TurnId(2), Sender::Leader, role(), false);
        assert_eq!(queue.next(|to| *to != busy), Some(TurnId(2)));
        assert_eq!(queue.next(|_| true), Some(TurnId(1)));
    }

    #[test]
    fn who_was_not_served_after_all_is_the_next() {
        let mut queue = Queue::default();
        queue.push(TurnId(1), Sender::Leader, role(), false);
        queue.push(TurnId(2), Sender::Operator, role(), false);
        queue.push(TurnId(3), Sender::Leader, role(), false);
        queue.serve(TurnId(1), Sender::Leader, &role());
        queue.put_back(TurnId(1), Sender::Leader, role(), false);
        let turns = [(1, Sender::Leader), (2, Sender::Operator), (3, Sender::Leader)];
        assert_eq!(drain(&mut queue, &turns), [1, 2, 3]);
    }

    #[test]
    fn withdrawing_leaves_nothing_behind() {
        let mut queue = Queue::default();
        for urgent in [false, true] {
            queue.push(TurnId(1), Sender::Leader, role(), urgent);
            queue.remove(TurnId(1), Sender::Leader, &role());
            assert_eq!(queue, Queue::default());
        }
    }

    #[test]
    fn urgent_turns_go_in_their_own_order_whoever_sent_them_and_to_whom_and_each_address_is_asked_about_once() {
        let mut queue = Queue::default();
        let worker = Address::Worker("w-1".into());
        let turns = [(Sender::Operator, &worker), (Sender::Leader, &role()), (Sender::Leader, &worker)];
        for n in 0..90 {
            let (sender, to) = turns[n % 3];
            queue.push(TurnId(n as u64), sender, to.clone(), true);
        }
        queue.push(TurnId(90), Sender::Leader, role(), false);
        let asked = std::cell::Cell::new(0);
        let busy = |_: &Address| {
            asked.set(asked.get() + 1);
            false
        };
        assert_eq!((queue.has_urgent(busy), asked.replace(0)), (false, 2));
        assert_eq!((queue.next(busy), asked.get()), (None, 3), "two of what is urgent, and one of the lane");
        assert_eq!((queue.len(), queue.len_to(&worker), queue.len_without_runs()), (91, 60, 91));
        assert_eq!((queue.ahead(TurnId(31), Sender::Leader), queue.ahead(TurnId(90), Sender::Leader)), (31, 90));
        assert_eq!(queue.iter().count(), 91);
        assert_eq!(queue.next(|to| *to != worker), Some(TurnId(1)));
        for n in 0..90 {
            assert_eq!(queue.next(|_| true), Some(TurnId(n)));
            let (sender, to) = turns[n as usize % 3];
            queue.serve(TurnId(n), sender, to);
        }
        assert_eq!((queue.next(|_| true), queue.len()), (Some(TurnId(90)), 1));
    }
}
