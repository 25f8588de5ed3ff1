//! What every call is checked against: bounds of texts, the shutdown, and names that must exist.
//! Each refusal names what would be right. Who may do what stands in `rules`.

use std::sync::Arc;

use super::ids::{RoleName, WorkerName};
use super::refusal::{Refusal, RefusalKind};
use super::state::Fleet;
use super::team::{Address, Team};

impl Fleet {
    pub(super) fn check_text(&self, what: &str, text: &str) -> Result<(), Refusal> {
        let most = self.limits.max_prompt_bytes;
        if text.trim().is_empty() {
            return Err(Refusal::invalid(format!("the {what} is empty")));
        }
        if text.len() > most {
            let message = format!("the {what} has {} bytes, the limit is {most}", text.len());
            return Err(Refusal::new(RefusalKind::TooLarge, message)
                .hint("put the long part into a file and name the file in the text"));
        }
        Ok(())
    }

    pub(super) fn check_accepting(&self) -> Result<(), Refusal> {
        match self.draining {
            true => Err(Refusal::new(RefusalKind::Unavailable, "fleetd is shutting down and takes nothing new")
                .hint("send it again when fleetd is back")),
            false => Ok(()),
        }
    }

    pub(super) fn need_team(&self) -> Result<&Arc<Team>, Refusal> {
        self.team.as_ref().ok_or_else(|| {
            Refusal::new(RefusalKind::Unavailable, "no charter is loaded").hint("see fleetd charter check")
        })
    }

    /// Returns the role in whose queue a turn for this address waits.
    pub(super) fn role_of(&self, to: &Address) -> Result<RoleName, Refusal> {
        match to {
            Address::Worker(name) => match self.workers.get(name) {
                Some(worker) => Ok(worker.role.clone()),
                None => Err(self.unknown_worker(name)),
            },
            Address::Role(name) => {
                let team = self.need_team()?;
                match team.roles.contains_key(name) {
                    true => Ok(name.clone()),
                    false => Err(Refusal::unknown("role", name.as_str(), team.roles.keys().map(|role| role.as_str()))),
                }
            }
        }
    }

    /// Returns whether a turn that was accepted for this address can be waited for there once more. Before the charter is
    /// read its role is taken for granted, as it is for the turns that wait already.
    pub(super) fn may_wait_again(&self, to: &Address) -> bool {
        let unread = self.team.is_none() && matches!(to, Address::Role(_));
        unread || self.role_of(to).is_ok()
    }

    /// Returns the name of the queue in which a turn for this address waits, whether the charter knows it or not.
    pub(super) fn queue_of(&self, to: &Address) -> RoleName {
        match to {
            Address::Role(role) => role.clone(),
            // A worker that is gone took its waiting turns with it, so the name itself only serves a broken store.
            Address::Worker(name) => {
                self.workers.get(name).map_or_else(|| RoleName::from(name.as_str()), |worker| worker.role.clone())
            }
        }
    }

    pub(super) fn unknown_worker(&self, name: &WorkerName) -> Refusal {
        Refusal::unknown("worker", name.as_str(), self.workers.keys().map(|worker| worker.as_str()))
    }
}
