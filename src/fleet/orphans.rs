//! Turns whose worker is gone before it had them. What a sender addressed to this worker alone has nowhere to go and
//! fails, in a run as `lost`; what the rubrics gave to it, since it knew the files, goes to any other of its role.

use super::calls::event_of;
use super::envelope::Finish;
use super::ids::{TurnId, WorkerName};
use super::routing::Decision;
use super::state::{Cx, Fleet};
use super::team::Address;
use super::turn::{Outcome, Priority, TurnState};

/// The word for the error of a run's send whose worker is not there any more.
pub const LOST: &str = "lost";

/// Says that a worker is not there any more.
pub fn no_such_worker(name: &WorkerName) -> String {
    format!("there is no worker {name} any more")
}

impl Fleet {
    /// Returns where a new turn goes: the rubrics were asked a moment ago, and the worker may be gone since. And a name that
    /// was no role's in the charter of its run may be one by now.
    pub(super) fn still_there(&self, to: Address, routed: Option<&Decision>) -> Address {
        let Address::Worker(name) = &to else { return to };
        if self.workers.contains_key(name) {
            return to;
        }
        let named = self.team.as_ref().and_then(|team| team.roles.get_key_value(&name.as_str().into()));
        let named = named.map(|(role, _)| Address::Role(role.clone()));
        self.any_of_role(routed).or(named).unwrap_or(to)
    }

    /// Returns the worker of an address if a role could have it and it is not there: then it has gone. Before the charter is
    /// read every role could be there.
    pub(super) fn lost_worker(&self, to: &Address) -> Option<WorkerName> {
        let Address::Worker(name) = to else { return None };
        let role = name.role().filter(|_| !self.workers.contains_key(name))?;
        self.team.as_ref().is_none_or(|team| team.roles.contains_key(&role)).then(|| name.clone())
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
