//! Caps: how many may be busy at once, by role and by endpoint, and how many may live. They bound what is handed out
//! anew and end nothing: where more are busy than a lowered cap says, nothing is handed out until enough have ended.
//!
//! What is counted are the rows of the workers, so a restart counts the same, and a run's turns count like all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ids::RoleName;
use super::refusal::nearest;
use super::state::Fleet;
use super::team::{Profile, Role, Team};
use super::time::Time;
use super::worker::Worker;

impl Fleet {
    /// Returns whether a role as a whole takes no further turn now, whoever of it is free.
    pub(super) fn is_held(&self, spec: &Role, now: Time) -> bool {
        self.parked.contains_key(&spec.name) || self.busy_of(&spec.name) >= self.cap_of(spec, now)
    }

    /// Returns how many workers of a role may be busy now.
    pub(super) fn cap_of(&self, spec: &Role, now: Time) -> usize {
        spec.cap(self.wall(now)) as usize
    }

    /// Returns what the clock on the wall shows at a moment of the fleet's time. Hours go by it and nothing else does: it
    /// may be set, and a machine that slept has not aged its deadlines until the next start.
    pub(super) fn wall(&self, at: Time) -> Time {
        Time(at.0.saturating_add_signed(self.wall_ahead))
    }

    /// Returns the moment of the fleet's time at which the clock on the wall shows another.
    pub(super) fn of_wall(&self, wall: Time) -> Time {
        Time(wall.0.saturating_add_signed(self.wall_ahead.saturating_neg()))
    }

    /// Returns how far the clock on the wall is ahead of the fleet's time, in milliseconds, as it was told last.
    pub fn wall_ahead(&self) -> i64 {
        self.wall_ahead
    }

    /// Returns whether the clock on the wall decides anything: some role has hours.
    pub fn goes_by_the_wall(&self) -> bool {
        self.team.as_ref().is_some_and(|team| team.roles.values().any(|role| role.hours.is_some()))
    }

    /// Returns how many workers of a role are busy.
    pub(super) fn busy_of(&self, role: &RoleName) -> usize {
        self.of_role(role).filter(|worker| worker.is_occupied()).count()
    }

    /// Returns how many workers of every endpoint are busy.
    pub(super) fn busy_of_endpoints(&self) -> BTreeMap<&str, usize> {
        let mut busy = BTreeMap::new();
        for worker in self.workers.values().filter(|worker| worker.is_occupied()) {
            if let Some(endpoint) = &worker.profile.endpoint {
                *busy.entry(endpoint.as_str()).or_default() += 1;
            }
        }
        busy
    }

    /// Says which profiles of the charter name an endpoint that fleetd.toml does not list: none of their workers can start.
    pub fn unlisted_endpoints(&self) -> Vec<String> {
        let profiles = self.team.iter().flat_map(|team| team.profiles.values());
        let lost = |profile: &Profile| {
            let endpoint = profile.endpoint.as_deref().filter(|name| !self.limits.endpoints.contains_key(*name))?;
            let valid: Vec<&str> = self.limits.endpoints.keys().map(String::as_str).collect();
            let hint = match (nearest(endpoint, valid.iter().copied()), valid.is_empty()) {
                (Some(near), _) => format!("did you mean '{near}'?"),
                (None, true) => "it lists none".to_owned(),
                (None, false) => format!("valid: {}", valid.join(", ")),
            };
            let name = &profile.name;
            Some(format!("profile '{name}' cannot start: there is no endpoint '{endpoint}' in fleetd.toml; {hint}"))
        };
        profiles.filter_map(lost).collect()
    }

    /// Returns the endpoints of which as many workers are busy as fleetd.toml allows, all roles together.
    pub(super) fn full_endpoints(&self) -> Full {
        if self.limits.endpoints.values().all(Option::is_none) {
            return Full::default();
        }
        let busy = self.busy_of_endpoints();
        let caps = self.limits.endpoints.iter().filter_map(|(name, cap)| Some((name, (*cap)?)));
        let full = caps.filter(|(name, cap)| busy.get(name.as_str()).is_some_and(|busy| *busy >= *cap as usize));
        Full(full.map(|(name, _)| name.clone()).collect())
    }

    /// Returns how many more workers of an endpoint may be busy; none = as many as one likes.
    pub(super) fn free_of_endpoint(&self, endpoint: Option<&str>) -> Option<usize> {
        let cap = (*self.limits.endpoints.get(endpoint?)?)? as usize;
        Some(cap.saturating_sub(self.busy_of_endpoints().get(endpoint?).copied().unwrap_or(0)))
    }

    /// Returns how many workers of a role may live that it started by itself. Hours that lower its cap let none of them go:
    /// those that have nothing to do go by their `idle_ttl`.
    pub(super) fn most_living(spec: &Role) -> usize {
        spec.max_workers.unwrap_or_else(|| spec.most_busy()) as usize
    }

    /// Says that an endpoint has as many busy workers as it may have.
    pub(super) fn why_endpoint(&self, endpoint: &str) -> String {
        let busy = self.busy_of_endpoints().get(endpoint).copied().unwrap_or(0);
        let cap = self.limits.endpoints.get(endpoint).copied().flatten().unwrap_or(0);
        format!("cap of endpoint '{endpoint}': {busy} of {cap} workers on it are busy")
    }
}

/// Endpoints on which no further turn may be worked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Full(BTreeSet<String>);

impl Full {
    /// Returns whether a worker is free and its endpoint has a place for it.
    pub(super) fn lets(&self, team: &Team, worker: &Arc<Worker>) -> bool {
        worker.is_free() && self.has_place(next_profile(team, worker))
    }

    /// Returns whether a worker with this profile would find a place on its endpoint.
    pub(super) fn has_place(&self, profile: &Profile) -> bool {
        profile.endpoint.as_ref().is_none_or(|endpoint| !self.0.contains(endpoint))
    }
}

/// Returns the profile with which a worker would work at its next turn: one that lives only inside its turns goes by the
/// newest charter.
pub(super) fn next_profile<'a>(team: &'a Team, worker: &'a Worker) -> &'a Profile {
    let newest = team.profiles.get(&worker.profile.name).filter(|profile| !profile.has_session());
    newest.filter(|_| !worker.profile.has_session()).unwrap_or(&worker.profile)
}
