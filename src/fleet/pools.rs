//! Elastic pools: when a role starts one more worker by itself, and which worker of another role makes room for it.
//!
//! A worker that lives only inside its turns is there at once and is started together with its turn. A session takes a
//! while to come up: it is started for turns that wait, and no turn is promised to it before it is ready.

use std::sync::Arc;

use super::caps::Full;
use super::ids::{RoleName, WorkerName};
use super::state::{Cx, Fleet};
use super::team::{Address, Profile, Team};
use super::time::Time;
use super::worker::{Worker, WorkerState};

impl Fleet {
    /// Returns whether a message to this address would be handed out at once.
    pub(super) fn could_start(&self, to: &Address, now: Time) -> bool {
        let (Some(team), Ok(role)) = (&self.team, self.role_of(to)) else { return false };
        let Some(spec) = team.roles.get(&role) else { return false };
        let full = self.full_endpoints();
        let someone = match to {
            Address::Worker(name) => self.workers.get(name).is_some_and(|worker| full.lets(team, worker)),
            Address::Role(_) => {
                self.of_role(&role).any(|worker| full.lets(team, worker)) || self.grows_at_once(team, &role, &full)
            }
        };
        !self.draining && self.paused.is_none() && !self.is_held(spec, now) && someone
    }

    /// Returns whether a role may start one more worker that can take a turn at once.
    pub(super) fn grows_at_once(&self, team: &Team, role: &RoleName, full: &Full) -> bool {
        let default = default_profile(team, role).filter(|profile| !profile.has_session());
        default.is_some_and(|profile| full.has_place(profile)) && self.has_room(team, role)
    }

    /// Starts as many sessions as turns wait for that nobody is there or on the way.
    pub(super) fn grow(&mut self, cx: &mut Cx, team: &Arc<Team>, role: &RoleName) {
        let Some(profile) = default_profile(team, role).filter(|profile| profile.has_session()) else { return };
        if self.parked.contains_key(role) || self.backs_off(role, cx.now) {
            return;
        }
        let wanted = self.wanted(team, role, cx.now);
        let mut there = self.of_role(role).filter(|worker| worker.is_free() || is_coming(worker)).count();
        while there < wanted && self.has_room(team, role) {
            if self.start_worker(cx, team, role, &profile.name, true).is_err() {
                return;
            }
            there += 1;
        }
    }

    /// Returns how many turns wait for any worker of a role and could be worked at now.
    fn wanted(&self, team: &Team, role: &RoleName, now: Time) -> usize {
        let Some(spec) = team.roles.get(role) else { return 0 };
        let waiting = self.queues.get(role).map_or(0, |queue| queue.len_to(&Address::Role(role.clone())));
        let endpoint = default_profile(team, role).and_then(|profile| profile.endpoint.as_deref());
        let places = self.cap_of(spec, now).saturating_sub(self.busy_of(role));
        waiting.min(places).min(self.free_of_endpoint(endpoint).unwrap_or(usize::MAX))
    }

    /// Returns whether a session that its role wanted and that is not started yet is still wanted.
    pub(super) fn is_still_wanted(&self, worker: &Worker, now: Time) -> bool {
        let Some(team) = &self.team else { return true };
        let ahead = |other: &&Arc<Worker>| {
            other.name != worker.name && (other.is_free() || (is_coming(other) && other.session < worker.session))
        };
        self.of_role(&worker.role).filter(ahead).count() < self.wanted(team, &worker.role, now)
    }

    /// Returns how many workers of a role live. One that failed does not: it only tells why.
    pub(super) fn living(&self, role: &RoleName) -> usize {
        self.of_role(role).filter(|worker| !matches!(worker.state, WorkerState::Failed(_))).count()
    }

    /// Returns how many workers of a role live and are not on their way out.
    pub(super) fn staying(&self, role: &RoleName) -> usize {
        let goes = |worker: &Worker| worker.state == WorkerState::Draining && !worker.life.is_ending();
        let living = self.of_role(role).filter(|worker| !matches!(worker.state, WorkerState::Failed(_)));
        living.filter(|worker| !goes(worker)).count()
    }

    /// Returns whether one more worker of a role would be within its cap and the limit of all workers.
    pub(super) fn has_room(&self, team: &Team, role: &RoleName) -> bool {
        let Some(spec) = team.roles.get(role) else { return false };
        self.living(role) < Fleet::most_living(spec)
            && (self.living_workers() < self.limits.max_workers || self.spare(role).is_some())
    }

    /// Returns the worker of another role that is longest idle and that nobody would miss: it lives only as a name.
    pub(super) fn spare(&self, role: &RoleName) -> Option<WorkerName> {
        let others = self.workers.values().filter(|worker| worker.role != *role && worker.elastic && worker.is_free());
        let spare = others.filter(|worker| !worker.profile.has_session() && !self.is_awaited(worker));
        spare.min_by_key(|worker| worker.since).map(|worker| worker.name.clone())
    }

    pub(super) fn is_awaited(&self, worker: &Worker) -> bool {
        let queue = self.queues.get(&worker.role);
        queue.is_some_and(|queue| queue.len_to(&Address::Worker(worker.name.clone())) > 0)
    }
}

/// Returns the profile of the workers that a role starts by itself.
pub(super) fn default_profile<'a>(team: &'a Team, role: &RoleName) -> Option<&'a Profile> {
    team.profiles.get(team.roles.get(role)?.profiles.first()?)
}

fn is_coming(worker: &Worker) -> bool {
    worker.state == WorkerState::Starting
}
