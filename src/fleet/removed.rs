//! Roles that the charter has no more while something waits for them. A save may be undone, so that goes on waiting for a
//! while; then it fails, for nobody would ever take it.

use super::caller::Sender;
use super::difference::{Change, Difference, How, Part};
use super::envelope::Finish;
use super::ids::{RoleName, TurnId};
use super::state::{Cx, Fleet};
use super::team::Team;
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::Outcome;

/// How long what waits for a removed role goes on waiting.
const UNDO: Span = Span::minutes(1);

/// A role for which something waits and that is not in the charter. Not recorded: after a restart it is missed anew.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Missed {
    /// When what waits for it fails.
    until: Time,
    /// The generation that does not have it.
    generation: u64,
}

impl Fleet {
    /// Begins to miss roles for which something waits, and ends it where they came back or nothing waits any more.
    pub(super) fn miss(&mut self, cx: &Cx, team: &Team, waiting: &[RoleName]) {
        let gone = |role: &RoleName| !team.roles.contains_key(role) && waiting.contains(role);
        for role in self.missed.keys().filter(|role| !gone(role)).cloned().collect::<Vec<_>>() {
            self.missed.remove(&role);
        }
        for role in waiting.iter().filter(|role| !team.roles.contains_key(*role)) {
            if !self.missed.contains_key(role) {
                let until = cx.now + UNDO;
                self.missed.insert(role.clone(), Missed { until, generation: team.generation.number });
                self.at(until, Timer::Missed(role.clone()));
            }
        }
    }

    /// Nobody has undone it: what waits for a removed role fails, and who stayed for it goes with that.
    pub(super) fn missed_long(&mut self, cx: &mut Cx, role: &RoleName) {
        let Some(missed) = self.missed.get(role).filter(|missed| missed.until <= cx.now) else { return };
        let why = format!("role '{role}' was removed by generation {}", missed.generation);
        self.missed.remove(role);
        let waiting: Vec<TurnId> =
            self.queues.get(role).into_iter().flat_map(|queue| queue.iter()).map(|(id, ..)| id).collect();
        for id in waiting {
            self.end_turn(cx, id, Finish::without_reply(Outcome::Failed, why.clone()));
        }
    }

    /// Says that the role of a turn was removed, and until when it waits all the same.
    pub(super) fn why_missed(&self, role: &RoleName, now: Time) -> String {
        match self.missed.get(role) {
            Some(missed) => format!(
                "role '{role}' was removed by generation {}; what waits for it fails in {} unless it comes back",
                missed.generation,
                missed.until.since(now)
            ),
            None => format!("role '{role}' is not in the charter any more"),
        }
    }

    /// Adds to what a save would change what would fail by it.
    pub fn foresee(&self, difference: &mut Difference) {
        let removes_role = |change: &&mut Change| (change.of, change.how) == (Part::Role, How::Removed);
        for change in difference.changes.iter_mut().filter(removes_role) {
            if let Some(fails) = self.would_fail(&RoleName::from(change.name.as_str())) {
                change.words.push_str(&fails);
            }
        }
    }

    fn would_fail(&self, role: &RoleName) -> Option<String> {
        let queue = self.queues.get(role).filter(|queue| !queue.is_empty())?;
        let steps = queue.iter().filter(|(_, sender, _)| matches!(sender, Sender::Run(_))).count();
        let counted = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let parts = [counted(queue.len() - steps, "message"), counted(steps, "step")];
        let (what, verb) = (parts.into_iter().flatten().collect::<Vec<_>>().join(" and "), queue.len() == 1);
        let verb = if verb { "waits for it fails" } else { "wait for it fail" };
        Some(format!("; {what} that {verb} {UNDO} later"))
    }
}
