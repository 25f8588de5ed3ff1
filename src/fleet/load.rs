//! How the team stands, as rubrics see it and people are shown it: roles, endpoints and workers, with what is free, what
//! failed lately and what was used. Only figures: what a rubric makes of them is the charter's matter.
//!
//! What happened lately is counted from the daemon's start: it is for decisions of the moment, and is not recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::envelope::{Finish, Usage};
use super::ids::{RoleName, WorkerName};
use super::state::Fleet;
use super::team::{Role, Team};
use super::time::{Span, Time};
use super::turn::{Outcome, Turn};
use super::worker::WorkerState;

/// How far back failures count as recent.
const RECENT: Span = Span::minutes(10);

/// How far back usage counts.
const USED: Span = Span::minutes(60);

/// The team as a rubric sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TeamLoad {
    /// Every role with its load.
    pub roles: BTreeMap<RoleName, RoleLoad>,
    /// Every endpoint of fleetd.toml, and those that a profile names, with its load.
    pub endpoints: BTreeMap<String, EndpointLoad>,
    /// Every living worker; shared where it tells the same as what was told before it.
    pub workers: Arc<BTreeMap<WorkerName, Arc<WorkerLoad>>>,
}

impl TeamLoad {
    /// Shares with what was told before what tells the same: whoever shows it sees at once that it did not change.
    pub fn share(&mut self, before: &TeamLoad) {
        if self.workers == before.workers {
            self.workers = Arc::clone(&before.workers);
            return;
        }
        for (name, load) in Arc::make_mut(&mut self.workers) {
            if let Some(before) = before.workers.get(name).filter(|before| *before == load) {
                *load = Arc::clone(before);
            }
        }
    }
}

/// One role's load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleLoad {
    /// How many may be busy at once, by its hours now; while it is closed, how many by itself.
    pub max_busy: u32,
    /// How many may live at once, idle ones included; absent = as many as `max_busy` by itself, any number by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// How many are busy.
    pub busy: u32,
    /// How many more could be handed something now: none while the role is closed or parked, or its endpoint full.
    pub free: u32,
    /// How many turns wait in its queue, those of runs included.
    pub waiting: u32,
    /// How many messages may wait in its queue.
    pub max_waiting: u32,
    /// How many workers of it live.
    pub workers: u32,
    /// False outside of its hours, and while it is parked.
    #[serde(default = "yes")]
    pub open: bool,
    /// When its hours change that or `max_busy` next, or it is parked no longer, by the fleet's own time; absent if neither
    /// will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// How many of its turns failed, timed out or were lost in the last ten minutes.
    pub recent_failures: u32,
    /// What its turns of the last hour took.
    #[serde(default)]
    pub used: Used,
}

/// One endpoint's load, of all roles together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndpointLoad {
    /// How many workers may be busy on it at once, as fleetd.toml says; absent = as many as one likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_busy: Option<u32>,
    /// How many are busy.
    pub busy: u32,
    /// How many more may be busy; absent = as many as one likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<u32>,
    /// How many of its turns failed, timed out or were lost in the last ten minutes.
    pub recent_failures: u32,
    /// What its turns of the last hour took.
    #[serde(default)]
    pub used: Used,
}

/// One worker, as a rubric sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLoad {
    /// Its role.
    pub role: String,
    /// Its profile.
    pub profile: String,
    /// What it is doing, in a word.
    pub state: String,
    /// Whether it would be handed something now that waits for it.
    pub free: bool,
    /// Turns that it ended.
    pub turns: u32,
    /// Files of its session's last turns, the latest first.
    pub knows: Vec<String>,
}

/// What turns of the last hour took, as far as their agents told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// How many ended.
    pub turns: u64,
    /// Tokens read, those of the model's cache included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// US dollars.
    pub cost: f64,
}

impl Used {
    fn add(&mut self, other: &Used) {
        self.turns += other.turns;
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cost += other.cost;
    }

    fn of(usage: Option<&Usage>) -> Used {
        let Some(usage) = usage else { return Used { turns: 1, ..Used::default() } };
        let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        Used { turns: 1, input, output: usage.output, cost: usage.cost.unwrap_or(0.0) }
    }
}

/// What happened lately: what the turns of one role on one endpoint took in one minute, and how many failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lately(OrdMap<(u64, RoleName, Option<String>), (Used, u32)>);

impl Lately {
    fn note(&mut self, now: Time, role: RoleName, endpoint: Option<String>, used: &Used, failed: bool) {
        let first = first_of(USED, now);
        while let Some(old) = self.0.get_min().map(|(key, _)| key.clone()).filter(|(minute, ..)| *minute < first) {
            self.0.remove(&old);
        }
        let (sum, failures) = self.0.entry((minute(now), role, endpoint)).or_default();
        sum.add(used);
        *failures += u32::from(failed);
    }
}

fn minute(at: Time) -> u64 {
    at.0 / 60_000
}

/// Returns the first minute that still counts.
fn first_of(span: Span, now: Time) -> u64 {
    (minute(now) + 1).saturating_sub(span.0 / 60_000)
}

fn yes() -> bool {
    true
}

impl Fleet {
    /// Counts a turn that has ended.
    pub(super) fn note_ended(&mut self, now: Time, turn: &Turn, finish: &Finish) {
        let failed = matches!(finish.outcome, Outcome::Failed | Outcome::TimedOut | Outcome::Lost);
        let (role, endpoint) = match turn.worker.as_ref().map(|name| self.workers.get(name)) {
            Some(Some(worker)) => (worker.role.clone(), worker.profile.endpoint.clone()),
            // A role whose queue does not move is in no better health than one whose workers fail.
            None if failed => (self.queue_of(&turn.to), None),
            _ => return,
        };
        self.lately.note(now, role, endpoint, &Used::of(finish.usage.as_ref()), failed);
    }

    /// Returns how the team stands, as rubrics see it.
    pub fn load(&self, now: Time) -> TeamLoad {
        let Some(team) = &self.team else { return TeamLoad::default() };
        let mut load = TeamLoad {
            roles: team.roles.values().map(|spec| (spec.name.clone(), self.load_of_role(team, spec, now))).collect(),
            endpoints: self.load_of_endpoints(team),
            workers: Arc::new(self.load_of_workers(team, now)),
        };
        let recent = first_of(RECENT, now);
        for ((minute, role, endpoint), (used, failed)) in &self.lately.0 {
            if *minute < first_of(USED, now) {
                continue;
            }
            let failed = if *minute < recent { 0 } else { *failed };
            if let Some(load) = load.roles.get_mut(role) {
                load.used.add(used);
                load.recent_failures += failed;
            }
            if let Some(load) = endpoint.as_ref().and_then(|endpoint| load.endpoints.get_mut(endpoint)) {
                load.used.add(used);
                load.recent_failures += failed;
            }
        }
        load
    }

    fn load_of_role(&self, team: &Team, spec: &Role, now: Time) -> RoleLoad {
        let (role, wall) = (&spec.name, self.wall(now));
        let (cap, open) = (spec.cap(wall), spec.is_open(wall));
        let parked = self.parked.get(role).copied();
        RoleLoad {
            max_busy: if open { cap } else { spec.max_busy },
            max_workers: spec.max_workers,
            busy: self.busy_of(role) as u32,
            free: self.free_of(team, spec, now) as u32,
            waiting: self.queues.get(role).map_or(0, |queue| queue.len() as u32),
            max_waiting: spec.max_waiting,
            workers: self.of_role(role).count() as u32,
            open: open && parked.is_none(),
            until: parked.or_else(|| spec.next_cap(wall, |next| next != cap).map(|at| self.of_wall(at))),
            recent_failures: 0,
            used: Used::default(),
        }
    }

    /// Returns how many more workers of a role could be handed something now, started for it or not.
    fn free_of(&self, team: &Team, spec: &Role, now: Time) -> usize {
        if self.is_held(spec, now) {
            return 0;
        }
        let idle = self.of_role(&spec.name).filter(|worker| worker.is_free() || worker.state == WorkerState::Starting);
        let places = idle.count() + Fleet::most_living(spec).saturating_sub(self.living(&spec.name));
        let profiles = spec.profiles.iter().filter_map(|name| team.profiles.get(name));
        let endpoints: BTreeSet<Option<&str>> = profiles.map(|profile| profile.endpoint.as_deref()).collect();
        let on_endpoints = endpoints.into_iter().map(|endpoint| self.free_of_endpoint(endpoint).unwrap_or(usize::MAX));
        let on_endpoints = on_endpoints.fold(0, usize::saturating_add);
        self.cap_of(spec, now).saturating_sub(self.busy_of(&spec.name)).min(places).min(on_endpoints)
    }

    fn load_of_endpoints(&self, team: &Team) -> BTreeMap<String, EndpointLoad> {
        let busy = self.busy_of_endpoints();
        let named = team.profiles.values().filter_map(|profile| profile.endpoint.clone());
        let names: BTreeSet<String> = self.limits.endpoints.keys().cloned().chain(named).collect();
        let load = |name: String| {
            let max_busy = self.limits.endpoints.get(&name).copied().flatten();
            let busy = busy.get(name.as_str()).copied().unwrap_or(0) as u32;
            let free = max_busy.map(|most| most.saturating_sub(busy));
            (name, EndpointLoad { max_busy, busy, free, ..EndpointLoad::default() })
        };
        names.into_iter().map(load).collect()
    }

    fn load_of_workers(&self, team: &Team, now: Time) -> BTreeMap<WorkerName, Arc<WorkerLoad>> {
        let full = self.full_endpoints();
        let held: BTreeSet<&RoleName> =
            team.roles.values().filter(|spec| self.is_held(spec, now)).map(|spec| &spec.name).collect();
        let load = self.workers.values().map(|worker| {
            let goes = team.roles.contains_key(&worker.role) && !held.contains(&worker.role);
            let load = WorkerLoad {
                role: worker.role.to_string(),
                profile: worker.profile.name.to_string(),
                state: worker.state.word().to_owned(),
                free: goes && full.lets(team, worker),
                turns: worker.turns,
                knows: worker.life.knows.clone(),
            };
            (worker.name.clone(), Arc::new(load))
        });
        load.collect()
    }
}
