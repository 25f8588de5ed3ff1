//! Turns whose worker is gone before it had them. What a sender addressed to this worker alone has nowhere to go and
//! fails; what the rubrics gave to it, since it knew the files, goes to any other of its role.

use super::calls::event_of;
use super::envelope::Finish;
use super::ids::{TurnId, WorkerName};
use super::routing::Decision;
use super::state::{Cx, Fleet};
use super::team::Address;
use super::turn::{Outcome, Priority, TurnState};

impl Fleet {
    /// Returns where a new turn goes: the rubrics were asked a moment ago, and the worker may be gone since.
    pub(super) fn still_there(&self, to: Address, routed: Option<&Decision>) -> Address {
        match &to {
            Address::Worker(name) if !self.workers.contains_key(name) => self.any_of_role(routed).unwrap_or(to),
            _ => to,
        }
    }

    fn any_of_role(&self, routed: Option<&Decision>) -> Option<Address> {
        let role = routed?.role.as_ref()?;
        let is_known = self.team.as_ref().is_none_or(|team| team.roles.contains_key(role));
        is_known.then(|| Address::Role(role.clone()))
    }

    /// Finds a place for what waits for a worker that goes.
    pub(super) fn send_on(&mut self, cx: &mut Cx, name: &WorkerName, why: &str) {
        let Some(role) = self.workers.get(name).map(|worker| worker.role.clone()) else { return };
        let gone = Address::Worker(name.clone());
        let waiting = self.queues.get(&role).into_iter().flat_map(|queue| queue.iter());
        let orphans: Vec<TurnId> = waiting.filter(|(_, _, to)| **to == gone).map(|(id, _, _)| id).collect();
        for id in orphans {
            if self.goes_elsewhere(cx, id) {
                continue;
            }
            let Some(turn) = self.turns.get(&id).cloned() else { continue };
            let Some(to) = self.any_of_role(turn.routed.as_deref()) else {
                let why = format!("worker {name} is gone: {why}");
                self.end_turn(cx, id, Finish::without_reply(Outcome::Failed, why));
                continue;
            };
            if let Some(queue) = self.queues.get_mut(&role) {
                queue.remove(id, turn.sender, &gone);
            }
            let mut turn = (*turn).clone();
            let note = format!("{name} is gone; now for any of {to}");
            turn.to = to;
            turn.enter(TurnState::Queued, cx.now, Some(note.clone()));
            cx.event(event_of(&turn, cx.now, note));
            let queue = self.queues.entry(self.queue_of(&turn.to)).or_default();
            queue.push(id, turn.sender, turn.to.clone(), turn.priority == Priority::Now);
            self.put_turn(cx, turn);
        }
    }
}
