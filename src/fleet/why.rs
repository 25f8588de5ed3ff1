//! Why a turn waits, in a few words for people: the first reason of all that hold, the widest first.
//! Nothing is decided by these texts.

use std::sync::Arc;

use super::caps::next_profile;
use super::commands::AT_ONCE;
use super::ids::RoleName;
use super::pools::default_profile;
use super::state::Fleet;
use super::team::{Address, Profile, Role, Team};
use super::time::Time;
use super::turn::{Turn, TurnState};
use super::view::why_of;
use super::worker::{Worker, WorkerState};

impl Fleet {
    /// Returns why a turn is not going on.
    pub fn why_it_waits(&self, turn: &Turn, now: Time) -> Option<String> {
        match turn.state {
            TurnState::Asking if self.open_questions(&super::waits::Subject::Turn(turn.id)).is_empty() => {
                Some("asks a question, which its run has first".to_string())
            }
            TurnState::Asking => Some("asks a question".to_string()),
            TurnState::Queued => Some(self.why_queued(turn, now)),
            _ => None,
        }
    }

    fn why_queued(&self, turn: &Turn, now: Time) -> String {
        if self.draining {
            return "draining: fleetd is shutting down".to_string();
        }
        if let Some(pause) = &self.paused {
            return format!("paused: by the {} {} ago; fleetd resume goes on", pause.by, now.since(pause.since));
        }
        if turn.command.is_some() {
            return format!("cap: {AT_ONCE} commands of runs are at work, which is the most at once");
        }
        let Some(team) = &self.team else { return "no charter is loaded".to_string() };
        let role = match (&turn.to, self.role_of(&turn.to)) {
            (Address::Role(role), _) => role.clone(),
            (Address::Worker(_), Ok(role)) => role,
            (Address::Worker(_), Err(refusal)) => return refusal.message,
        };
        let Some(spec) = team.roles.get(&role) else { return self.why_missed(&role, now) };
        if let Address::Worker(name) = &turn.to
            && let Some(worker) = self.workers.get(name).filter(|worker| !worker.is_free())
        {
            return self.why_not_this(worker, now);
        }
        if let Some(why) = self.why_closed(spec, now) {
            return why;
        }
        let (busy, cap) = (self.busy_of(&role), self.cap_of(spec, now));
        if busy >= cap {
            let more = self.when_more(spec, now).map(|more| format!("; {more}")).unwrap_or_default();
            return format!("cap: {busy} of {cap} workers of '{role}' are busy{more}");
        }
        if let Some(endpoint) = self.in_the_way(team, &turn.to, &role) {
            return self.why_endpoint(endpoint);
        }
        self.why_nobody(team, &role, spec, now)
    }

    /// Returns the endpoint whose cap alone keeps a turn waiting: somebody is free, or could be started, but for it.
    fn in_the_way<'a>(&'a self, team: &'a Team, to: &Address, role: &RoleName) -> Option<&'a str> {
        let full = self.full_endpoints();
        let free: Vec<&Profile> = match to {
            Address::Worker(name) => {
                self.workers.get(name).map(|worker| next_profile(team, worker)).into_iter().collect()
            }
            Address::Role(_) => {
                let free = self.of_role(role).filter(|worker| worker.is_free());
                let grown = default_profile(team, role).filter(|_| self.has_room(team, role));
                free.map(|worker| next_profile(team, worker)).chain(grown).collect()
            }
        };
        let first = free.first().filter(|_| !free.iter().any(|profile| full.has_place(profile)))?;
        first.endpoint.as_deref()
    }

    fn why_not_this(&self, worker: &Worker, now: Time) -> String {
        match (worker.turn, worker.life.is_ending()) {
            (Some(other), _) => format!("busy: {} has turn {other}", worker.name),
            (None, true) => format!("starting: {} gets a fresh session", worker.name),
            (None, false) => self.said_of(worker, now),
        }
    }

    /// Says why no worker of a role takes a turn although the cap lets one.
    fn why_nobody(&self, team: &Team, role: &RoleName, spec: &Role, now: Time) -> String {
        let coming = |worker: &&Arc<Worker>| worker.state == WorkerState::Starting || worker.life.is_ending();
        if let Some(worker) = self.of_role(role).find(coming) {
            return self.why_not_this(worker, now);
        }
        let is_full = self.living(role) >= Fleet::most_living(spec);
        if !is_full && let Some(why) = self.why_backs_off(role, now) {
            return why;
        }
        let in_the_way = self.of_role(role).find(|worker| is_barred(worker));
        if let Some(worker) = in_the_way
            && (is_full || self.of_role(role).all(|worker| is_barred(worker) || worker.is_occupied()))
        {
            return self.said_of(worker, now);
        }
        if let Some(most) = spec.max_workers.filter(|_| is_full) {
            return format!("cap: {} workers of '{role}' live, and its max_workers is {most}", self.living(role));
        }
        if self.living_workers() >= self.limits.max_workers && !self.has_room(team, role) {
            return format!(
                "limit: {} workers live, which is limits.max_workers of fleetd.toml; stop one (fleetd stop NAME) or raise it",
                self.living_workers()
            );
        }
        format!("starting: no free worker of '{role}'")
    }

    /// Says that a role is handed nothing, by a handler's park or by its hours, and until when.
    pub(super) fn why_closed(&self, spec: &Role, now: Time) -> Option<String> {
        if let Some(until) = self.parked.get(&spec.name) {
            return Some(format!("parked: '{}' goes on in {}, or at `fleetd resume`", spec.name, until.since(now)));
        }
        let wall = self.wall(now);
        let hours = spec.hours.as_ref().filter(|_| !spec.is_open(wall))?;
        Some(match spec.next_cap(wall, |cap| cap > 0) {
            Some(at) => {
                let (clock, span) = (hours.clock(at, wall), at.since(wall));
                format!("closed: '{}' is handed nothing until {clock} (in {span})", spec.name)
            }
            None => format!("closed: '{}' is handed nothing outside {hours}", spec.name),
        })
    }

    /// Says when a role's hours raise its cap.
    fn when_more(&self, spec: &Role, now: Time) -> Option<String> {
        let (wall, cap) = (self.wall(now), self.cap_of(spec, now) as u32);
        let at = spec.next_cap(wall, |next| next > cap)?;
        let clock = spec.hours.as_ref()?.clock(at, wall);
        Some(format!("{} from {clock} on (in {})", spec.cap(at), at.since(wall)))
    }

    /// Says in a line why a worker that has nothing to do takes nothing.
    fn said_of(&self, worker: &Worker, now: Time) -> String {
        let (name, word) = (&worker.name, worker.state.word());
        match why_of(worker).map(str::to_owned).or_else(|| self.why_start_waits(worker, now)) {
            Some(why) => format!("{word}: {name}, {why}"),
            None => format!("{word}: {name}"),
        }
    }
}

/// Returns whether something is in the way of the next text to a worker that could take it otherwise.
fn is_barred(worker: &Worker) -> bool {
    use super::worker::WorkerState::{Blocked, Failed, Parked, Unreachable};
    matches!(worker.state, Blocked(_) | Unreachable(_) | Parked(_) | Failed(_)) && worker.turn.is_none()
}
