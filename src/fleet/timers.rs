//! What happens by itself when time passes.
//!
//! A timer is a hint: it is checked against the rows when it fires, so an outdated one does nothing. Those of which
//! there may be many are withdrawn all the same, to keep the set small.

use std::sync::Arc;

use super::caller::Sender;
use super::envelope::Finish;
use super::ids::{Key, MessageId, RoleName, RunId, StepPath, Ticket, TurnId, WorkerName};
use super::input::{Effect, WorkEffect};
use super::record::Record;
use super::run::RunOutcome;
use super::state::{Cx, Fleet};
use super::team::Team;
use super::time::Time;
use super::turn::Outcome;
use super::worker::{Worker, WorkerState};

/// One thing that is due at a moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A turn must be settled.
    Deadline(TurnId),
    /// Whoever has a turn should have ended it.
    Timeout(TurnId),
    /// A wait is over.
    Wait(Ticket),
    /// A run's sleep is over.
    Sleep(RunId, StepPath),
    /// A run must come to its end.
    RunDeadline(RunId),
    /// A run that reached a bound must have ended.
    RunGrace(RunId),
    /// An idle worker that started by itself may go.
    Idle(WorkerName),
    /// An interrupted worker should be idle by now.
    Grace(WorkerName, TurnId),
    /// A parked role may go on.
    Unpark(RoleName),
    /// A key is too old.
    Key(Sender, Key),
    /// A notice, or a reply that was shown, was never acknowledged and is too old.
    Shown(Sender, MessageId),
    /// A seat held by a token was not used.
    Seat,
    /// The leader may have to be told that something waits.
    Nudge,
    /// A session that waits for its start may be started.
    Starts,
    /// A role that waits after a failure may go on, or what failed is long ago.
    Budget(RoleName),
    /// What waits for a role that was removed fails.
    Missed(RoleName),
    /// The hours of a role change how much it may be handed, and something waits for it.
    Opening(RoleName),
}

impl Fleet {
    pub(super) fn at(&mut self, time: Time, timer: Timer) {
        self.timers.insert((time, timer));
    }

    /// Times an idle worker that started by itself; one timer a worker, however often it works meanwhile.
    pub(super) fn time_idle(&mut self, worker: &Worker) {
        if worker.elastic && worker.is_free() && self.idle_timed.insert(worker.name.clone()).is_none() {
            self.at(self.idle_until(worker), Timer::Idle(worker.name.clone()));
        }
    }

    fn idle_until(&self, worker: &Worker) -> Time {
        worker.since + worker.profile.idle_ttl.unwrap_or(self.limits.idle_ttl)
    }

    /// Times the moment at which a role for which something waits may be handed more.
    pub(super) fn time_opening(&mut self, cx: &Cx, team: &Team, role: &RoleName) {
        let Some(spec) = team.roles.get(role).filter(|spec| spec.hours.is_some()) else { return };
        let (wall, cap) = (self.wall(cx.now), self.cap_of(spec, cx.now) as u32);
        if let Some(at) = spec.next_cap(wall, |next| next > cap) {
            self.at(self.of_wall(at), Timer::Opening(role.clone()));
        }
    }

    /// The clock on the wall is so far ahead now: what was timed by it is timed anew, at the end of the step.
    pub(super) fn wall_moved(&mut self, ahead: i64) {
        self.wall_ahead = ahead;
        let by_the_wall = self.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Opening(_)));
        for timed in by_the_wall.cloned().collect::<Vec<_>>() {
            self.timers.remove(&timed);
        }
    }

    pub(super) fn fire_timers(&mut self, cx: &mut Cx) {
        while let Some((at, timer)) = self.timers.get_min().cloned() {
            if at > cx.now {
                break;
            }
            self.timers.remove(&(at, timer.clone()));
            self.fire(cx, timer);
        }
    }

    fn fire(&mut self, cx: &mut Cx, timer: Timer) {
        match timer {
            Timer::Deadline(id) => {
                let Some(turn) = self.turns.get(&id).filter(|turn| turn.deadline.is_some_and(|at| at <= cx.now)) else {
                    return;
                };
                let turn = turn.clone();
                let span = turn.deadline.unwrap_or_default().since(turn.accepted);
                let why = match turn.hands() {
                    0 => {
                        let waits = self.why_it_waits(&turn, cx.now).map(|why| format!(": {why}")).unwrap_or_default();
                        format!("no worker took it within {span}{waits}")
                    }
                    _ => format!("not settled within {span} of its acceptance"),
                };
                self.end_turn(cx, id, Finish::without_reply(Outcome::TimedOut, why));
            }
            Timer::Timeout(id) => {
                let Some(turn) = self.turns.get(&id).filter(|turn| turn.timeout.is_some_and(|at| at <= cx.now)) else {
                    return;
                };
                let why = match (turn.may_take, turn.must_end()) {
                    (Some(span), Some(at)) if at <= cx.now => format!("not settled within {span} of its hand-over"),
                    _ => "its profile's timeout passed and its process did not end".to_string(),
                };
                self.end_turn(cx, id, Finish::without_reply(Outcome::TimedOut, why));
            }
            Timer::Wait(ticket) => self.wait_over(cx, ticket),
            Timer::Sleep(run, path) => self.wake_step(cx, run, &path),
            Timer::RunDeadline(id) => {
                let Some(run) = self.runs.get(&id).filter(|run| run.deadline.is_some_and(|at| at <= cx.now)) else {
                    return;
                };
                let span = run.whole().unwrap_or_default();
                self.close(cx, id, RunOutcome::TimedOut, &format!("not ended within {span}"));
            }
            Timer::RunGrace(id) => self.grace_over(cx, id),
            Timer::Idle(name) => {
                self.idle_timed.remove(&name);
                let Some(worker) = self.workers.get(&name).filter(|worker| worker.elastic && worker.is_free()).cloned()
                else {
                    return;
                };
                if self.idle_until(&worker) > cx.now {
                    return self.time_idle(&worker);
                }
                self.retire(cx, &name, "idle for its idle_ttl");
            }
            Timer::Grace(name, turn) => {
                let Some(worker) = self.workers.get(&name) else { return };
                let over = self.turns.get(&turn).is_none_or(|turn| turn.state.is_settled());
                if over && worker.turn == Some(turn) {
                    // Who is to be stopped takes nothing more, even if it listens in this very moment.
                    let mut worker = Arc::clone(worker);
                    if worker.state != WorkerState::Draining {
                        worker = self.put_worker(cx, worker.draining(cx.now));
                    }
                    cx.effect(Effect::Work(WorkEffect::Stop(worker)));
                    self.at(cx.now + self.limits.grace, Timer::Grace(name, turn));
                }
            }
            Timer::Unpark(role) => self.unpark(cx, role),
            Timer::Key(sender, key) => {
                let ttl = self.limits.key_ttl;
                if self.keys.get(&(sender, key.clone())).is_some_and(|used| used.at + ttl <= cx.now) {
                    self.keys.remove(&(sender, key.clone()));
                    cx.record(Record::KeyGone(sender, key));
                }
            }
            Timer::Shown(sender, id) => {
                if self.messages.get(&(sender, id)).and_then(|message| message.expires).is_some_and(|at| at <= cx.now) {
                    self.collect(cx, sender, id);
                }
            }
            Timer::Seat => self.seat_over(cx),
            Timer::Nudge => self.nudge_due(cx),
            // What is due is found at the end of the step.
            Timer::Starts | Timer::Opening(_) => {}
            Timer::Budget(role) => self.budget_due(cx, &role),
            Timer::Missed(role) => self.missed_long(cx, &role),
        }
    }
}
