//! The restart budget of a role: sessions that it started by itself and that fail make it wait, ever longer, and too many
//! of them make it stop starting any, until somebody spawns one by hand or its profile is changed.
//!
//! Turns that wait stay where they are and say why. A session that a caller spawned is its caller's affair.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{RoleName, WorkerName};
use super::record::{Event, Record};
use super::state::{Cx, Fleet};
use super::team::{Profile, Team};
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::Turn;
use super::worker::{Worker, WorkerState};

/// A session that dies so soon after it was up has failed.
const SHORT: Span = Span::minutes(1);
/// How long a role waits after the first failure; each further one doubles it.
const FIRST: Span = Span::seconds(1);
/// How long a role waits at most.
const LONGEST: Span = Span::minutes(1);

/// What went wrong with the sessions of a role lately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The profile with which they failed; another one deserves another try.
    pub profile: Arc<Profile>,
    /// When, oldest first, as far as it counts.
    pub failures: Vec<Time>,
    /// The last worker that failed.
    pub worker: WorkerName,
    /// Why it did.
    pub why: String,
    /// When the role may start the next one; none = not by itself any more.
    pub until: Option<Time>,
}

impl Budget {
    fn window(&self) -> Span {
        self.profile.restarts.unwrap_or_default().within
    }

    /// Returns whether the role may start nothing by itself now. A clock that went back holds nothing up for long.
    pub fn holds(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until > now && until.since(now) <= LONGEST)
    }

    /// Returns when its own timer is due: at the end of the wait, or when all of it is old.
    pub(super) fn due(&self, now: Time) -> Option<Time> {
        let until = self.until?;
        let old = self.failures.last().copied().unwrap_or_default() + self.window();
        Some(if self.holds(now) { until } else { old.max(until) })
    }
}

impl Fleet {
    /// Returns what went wrong with the sessions of a role lately, if anything.
    pub fn budget(&self, role: &RoleName) -> Option<&Arc<Budget>> {
        self.budgets.get(role)
    }

    /// Returns whether a role starts nothing by itself now.
    pub(super) fn backs_off(&self, role: &RoleName, now: Time) -> bool {
        self.budgets.get(role).is_some_and(|budget| budget.holds(now))
    }

    /// Says why a role starts nothing by itself now.
    pub(super) fn why_backs_off(&self, role: &RoleName, now: Time) -> Option<String> {
        let budget = self.budgets.get(role).filter(|_| self.backs_off(role, now))?;
        let last = budget.why.lines().next().unwrap_or_default().trim_end_matches([':', ';']);
        Some(match budget.until {
            Some(until) => format!(
                "backing off: '{role}' starts the next session in {}; {} failed: {last}",
                until.since(now),
                budget.worker
            ),
            None => format!(
                "stopped: '{role}' starts no session by itself, since {} failed within {}; the last one, {}: {last}; \
                 spawn one by hand, or change profile '{}'",
                budget.failures.len(),
                budget.window(),
                budget.worker,
                budget.profile.name
            ),
        })
    }

    /// Returns whether a session that died by itself has failed: nobody told it to go, and it was hardly there.
    pub(super) fn died_young(&self, worker: &Worker, now: Time) -> bool {
        match worker.state {
            WorkerState::Starting => true,
            WorkerState::Draining | WorkerState::Failed(_) | WorkerState::Gone => false,
            _ => worker.life.up.is_some_and(|up| now.since(up) < SHORT),
        }
    }

    /// Counts a session that failed.
    pub(super) fn setback(&mut self, cx: &mut Cx, worker: &Worker, why: &str) {
        let rule = worker.profile.restarts.unwrap_or_default();
        let before = self.budgets.get(&worker.role);
        let was_stopped = before.is_some_and(|budget| budget.until.is_none());
        let young = |at: &&Time| cx.now.since(**at) < rule.within;
        let mut failures: Vec<Time> =
            before.map(|budget| budget.failures.iter().filter(young).copied().collect()).unwrap_or_default();
        failures.push(cx.now);
        let most = rule.failures.max(1) as usize;
        failures.drain(..failures.len().saturating_sub(most));
        let stops = was_stopped || failures.len() >= most;
        let until = (!stops).then(|| cx.now + wait_after(failures.len()));
        let (name, why) = (worker.name.clone(), why.to_string());
        let budget = Budget { profile: worker.profile.clone(), failures, worker: name, why, until };
        self.put_budget(cx, &worker.role, Some(budget));
        if stops && !was_stopped {
            let why = self.why_backs_off(&worker.role, cx.now).unwrap_or_default();
            let what = format!("role {} starts no session by itself any more", worker.role);
            cx.event(Event { at: cx.now, turn: None, run: None, worker: Some(worker.name.clone()), what });
            self.notice(cx, why);
        }
    }

    /// A session of this role has replied: what went wrong before is over.
    pub(super) fn forgive_role_of(&mut self, cx: &mut Cx, turn: &Turn) {
        let worker = turn.worker.as_ref().and_then(|name| self.workers.get(name));
        if let Some(worker) = worker.filter(|worker| worker.profile.has_session() && worker.elastic).cloned() {
            self.forgive(cx, &worker.role);
        }
    }

    /// Something went well, or somebody wants another try.
    pub(super) fn forgive(&mut self, cx: &mut Cx, role: &RoleName) {
        if self.budgets.contains_key(role) {
            self.put_budget(cx, role, None);
        }
    }

    /// A charter in which the profile that failed is another one deserves another try.
    pub(super) fn forgive_changed(&mut self, cx: &mut Cx, team: &Team) {
        let same = |(role, budget): &(&RoleName, &Arc<Budget>)| {
            let planned = team.roles.get(*role).is_some_and(|role| role.profiles.contains(&budget.profile.name));
            planned && team.profiles.get(&budget.profile.name) == Some(&*budget.profile)
        };
        let changed = self.budgets.iter().filter(|entry| !same(entry)).map(|(role, _)| role.clone());
        for role in changed.collect::<Vec<_>>() {
            self.put_budget(cx, &role, None);
        }
    }

    /// The wait is over, or all of it is old.
    pub(super) fn budget_due(&mut self, cx: &mut Cx, role: &RoleName) {
        let Some(budget) = self.budgets.get(role) else { return };
        match budget.due(cx.now) {
            Some(at) if at > cx.now => self.at(at, Timer::Budget(role.clone())),
            Some(_) => self.put_budget(cx, role, None),
            None => {}
        }
    }

    fn put_budget(&mut self, cx: &mut Cx, role: &RoleName, budget: Option<Budget>) {
        let budget = budget.map(Arc::new);
        match &budget {
            Some(budget) => {
                if let Some(at) = budget.due(cx.now) {
                    self.at(at, Timer::Budget(role.clone()));
                }
                self.budgets.insert(role.clone(), budget.clone());
            }
            None => drop(self.budgets.remove(role)),
        }
        cx.record(Record::Budget(role.clone(), budget));
    }
}

fn wait_after(failures: usize) -> Span {
    let times = u32::try_from(failures.saturating_sub(1)).ok().and_then(|n| 1_u64.checked_shl(n));
    Span(FIRST.0.saturating_mul(times.unwrap_or(u64::MAX)).min(LONGEST.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let waits: Vec<u64> = (1..=8).map(|n| wait_after(n).0 / 1000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(wait_after(64), LONGEST);
        assert_eq!(wait_after(1_000), LONGEST);
    }
}
