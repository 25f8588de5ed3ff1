//! Who gets the next turn: queues meet free workers, within the caps of their role.
//! Which turn of a queue is next, `queue` knows; and no rubric is asked here, for by now every turn has its address.

use std::sync::Arc;

use super::caps::Full;
use super::events::FleetEvent;
use super::ids::{ProfileName, RoleName, Ticket, TurnId, WorkerName};
use super::input::{Answer, Effect, WorkEffect};
use super::life::{Life, Renewal};
use super::record::{Event, Record};
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::team::{Address, Team};
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::TurnState;
use super::waits::Subject;
use super::worker::{Worker, WorkerState};

/// How long the name of a worker that is gone is not given to another: what is still reported of the old one must not
/// be taken for the new one. Nothing under way survives a restart, so this is not recorded.
const NAME_REST: Span = Span::minutes(10);

impl Fleet {
    /// Hands out every turn that can start now.
    pub(super) fn dispatch(&mut self, cx: &mut Cx) {
        if self.draining {
            return;
        }
        if let Some(team) = self.team.clone().filter(|_| self.paused.is_none()) {
            self.renew_due(cx, &team);
            self.hand_out(cx, &team);
        }
        if self.paused.is_none() {
            self.start_commands(cx);
        }
        self.start_due(cx);
    }

    fn hand_out(&mut self, cx: &mut Cx, team: &Arc<Team>) {
        let waiting: Vec<RoleName> =
            self.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(role, _)| role.clone()).collect();
        self.miss(cx, team, &waiting);
        let mut order = self.in_order(team, &waiting);
        while let Some(role) = order.first().cloned() {
            match self.next_pair(cx, team, &role) {
                Some((turn, worker)) => {
                    self.hand(cx, team, turn, &worker);
                    // Roles may share an endpoint: each has its turn, as each sender has within a role.
                    order = self.in_order(team, &order);
                }
                None => drop(order.remove(0)),
            }
        }
        for role in waiting {
            self.grow(cx, team, &role);
            self.time_opening(cx, team, &role);
        }
    }

    /// Returns roles in the order in which they are served: who has something urgent that can go, then who was served
    /// longest ago.
    fn in_order(&self, team: &Team, roles: &[RoleName]) -> Vec<RoleName> {
        let full = self.full_endpoints();
        let mut order = roles.to_vec();
        order.sort_by_cached_key(|role| (!self.has_urgent(team, role, &full), self.served.get(role).copied()));
        order
    }

    fn has_urgent(&self, team: &Team, role: &RoleName, full: &Full) -> bool {
        let is_free = |worker: &Arc<Worker>| full.lets(team, worker);
        let can_go = |to: &Address| match to {
            Address::Role(_) => self.of_role(role).any(is_free) || self.grows_at_once(team, role, full),
            Address::Worker(name) => self.workers.get(name).is_some_and(is_free),
        };
        self.queues.get(role).is_some_and(|queue| queue.has_urgent(can_go))
    }

    /// Returns the next turn of a role together with the worker that takes it, starting one if the role may grow.
    fn next_pair(&mut self, cx: &mut Cx, team: &Arc<Team>, role: &RoleName) -> Option<(TurnId, WorkerName)> {
        if team.roles.get(role).is_none_or(|spec| self.is_held(spec, cx.now)) {
            return None;
        }
        let full = self.full_endpoints();
        let free = self.of_role(role).find(|worker| full.lets(team, worker)).map(|worker| worker.name.clone());
        let grows = free.is_none() && self.grows_at_once(team, role, &full);
        let queue = self.queues.get(role)?;
        let turn = queue.next(|to| match to {
            Address::Role(_) => free.is_some() || grows,
            Address::Worker(name) => self.workers.get(name).is_some_and(|worker| full.lets(team, worker)),
        })?;
        match (&self.turns.get(&turn)?.to, free) {
            (Address::Worker(name), _) => Some((turn, name.clone())),
            (Address::Role(_), Some(free)) => Some((turn, self.untried(cx, team, turn, role, &full).unwrap_or(free))),
            (Address::Role(_), None) => Some((turn, self.start_free(cx, team, role)?)),
        }
    }

    fn start_free(&mut self, cx: &mut Cx, team: &Arc<Team>, role: &RoleName) -> Option<WorkerName> {
        let profile = team.roles.get(role)?.profiles.first()?;
        let worker = self.start_worker(cx, team, role, profile, true).ok()?;
        worker.is_free().then(|| worker.name.clone())
    }

    /// Returns a worker that did not have the turns that this one tries again, if one is free or can be at once. It does
    /// not wait for one: another try by the same worker is worth more than none.
    fn untried(
        &mut self,
        cx: &mut Cx,
        team: &Arc<Team>,
        turn: TurnId,
        role: &RoleName,
        full: &Full,
    ) -> Option<WorkerName> {
        let tried = &self.turns.get(&turn).filter(|turn| !turn.tried.is_empty())?.tried;
        let other = |worker: &&Arc<Worker>| full.lets(team, worker) && !tried.contains(&worker.name);
        if let Some(other) = self.of_role(role).find(other) {
            return Some(other.name.clone());
        }
        match self.grows_at_once(team, role, full) {
            true => self.start_free(cx, team, role),
            false => None,
        }
    }

    pub(super) fn hand(&mut self, cx: &mut Cx, team: &Team, turn: TurnId, worker: &WorkerName) {
        let (Some(turn), Some(worker)) = (self.turns.get(&turn), self.workers.get(worker)) else { return };
        let (mut turn, mut worker) = ((**turn).clone(), (**worker).clone());
        if let Some(queue) = self.queues.get_mut(&worker.role) {
            queue.serve(turn.id, turn.sender, &turn.to);
        }
        let last = self.served.values().max().copied().unwrap_or(0);
        self.served.insert(worker.role.clone(), last + 1);
        // A worker without a session is a new process each time, so a saved charter counts from the next turn on.
        let newest = team.profiles.get(&worker.profile.name).filter(|profile| !profile.has_session());
        if let Some(newest) = newest.filter(|_| !worker.profile.has_session()) {
            worker.profile = Arc::new(newest.clone());
            worker.generation = team.generation.number;
        }
        worker.state = WorkerState::Busy;
        worker.since = cx.now;
        worker.turn = Some(turn.id);
        // What is kept of an earlier turn says nothing of this one.
        (worker.late, worker.cut) = (None, None);
        if worker.profile.has_session() {
            worker.life.learn(&turn.files);
        }
        turn.worker = Some(worker.name.clone());
        turn.enter(TurnState::Handed, cx.now, Some(format!("to {}", worker.name)));
        turn.timeout = turn.must_end();
        if let Some(at) = turn.timeout {
            self.at(at, Timer::Timeout(turn.id));
        }
        let turn = self.put_turn(cx, turn);
        let worker = self.put_worker(cx, worker);
        cx.effect(Effect::Work(WorkEffect::Hand(worker, turn)));
    }

    // === workers ===

    pub(super) fn of_role(&self, role: &RoleName) -> impl Iterator<Item = &Arc<Worker>> {
        self.workers.values().filter(move |worker| worker.role == *role)
    }

    pub(super) fn start_worker(
        &mut self,
        cx: &mut Cx,
        team: &Team,
        role: &RoleName,
        profile: &ProfileName,
        elastic: bool,
    ) -> Result<Arc<Worker>, Refusal> {
        if let Some(most) = team.roles.get(role).and_then(|spec| spec.max_workers)
            && self.living(role) >= most as usize
        {
            let message =
                format!("{} workers of '{role}' live already, and its max_workers is {most}", self.living(role));
            return Err(Refusal::new(RefusalKind::QueueFull, message)
                .hint("stop one (fleetd stop NAME), or raise max_workers in the charter"));
        }
        let most = self.limits.max_workers;
        if self.living_workers() >= most
            && let Some(spare) = self.spare(role)
        {
            self.retire(cx, &spare, "its place is needed");
        }
        if self.living_workers() >= most {
            return Err(Refusal::new(
                RefusalKind::QueueFull,
                format!("{most} workers live already, which is the most"),
            )
            .hint("stop one, or raise limits.max_workers in fleetd.toml"));
        }
        let Some(profile) = team.profiles.get(profile) else {
            let valid = team.profiles.keys().map(|name| name.as_str());
            return Err(Refusal::unknown("profile", profile.as_str(), valid));
        };
        let (state, session) = match profile.has_session() {
            true => (WorkerState::Starting, self.fresh()),
            false => (WorkerState::Ready, 0),
        };
        let worker = self.put_worker(
            cx,
            Worker {
                name: self.free_name(role, cx.now),
                role: role.clone(),
                profile: Arc::new(profile.clone()),
                generation: team.generation.number,
                state,
                since: cx.now,
                turn: None,
                elastic,
                process: None,
                turns: 0,
                session,
                // It tells two of one name apart.
                born: if session == 0 { cx.now.0 } else { session },
                late: None,
                cut: None,
                life: Life::default(),
            },
        );
        // A session is started when its turn to start comes, which may be at the end of this very step.
        self.worker_event(cx, &worker.name, format!("started with profile {}", worker.profile.name));
        Ok(worker)
    }

    fn free_name(&self, role: &RoleName, now: Time) -> WorkerName {
        let rests = |name: &WorkerName| self.resting.get(name).is_some_and(|since| now.since(*since) < NAME_REST);
        (1..)
            .map(|n| WorkerName::from(format!("{role}-{n}")))
            .find(|name| !self.workers.contains_key(name) && !rests(name))
            .expect("there are more numbers than workers and resting names")
    }

    pub(super) fn tell_worker_or_wait(&mut self, cx: &mut Cx, ticket: Ticket, worker: &Arc<Worker>) {
        match worker.state {
            WorkerState::Starting => {
                // The launcher's ready_timeout ends it long before.
                let until = cx.now + self.limits.key_ttl;
                self.wait(ticket, Subject::Worker(worker.name.clone()), None, until, None);
            }
            _ => cx.answer(ticket, Ok(Answer::Worker(worker.clone()))),
        }
    }

    /// Makes a worker free for its next turn, or lets it go if it should not stay.
    pub(super) fn free_worker(&mut self, cx: &mut Cx, name: &WorkerName) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        if worker.is_command() {
            return self.worker_gone(cx, name, "its command has ended");
        }
        let mut worker = (*worker).clone();
        let draining = worker.state == WorkerState::Draining;
        if worker.turn.take().is_some() {
            worker.life.turns += 1;
        }
        worker.process = if worker.profile.has_session() { worker.process } else { None };
        worker.state = WorkerState::Ready;
        worker.since = cx.now;
        (worker.late, worker.cut) = (None, None);
        if !draining && self.is_full(&worker) && !self.is_surplus(&worker) {
            worker.life.renewal = Some(Renewal::Due);
        }
        let worker = self.put_worker(cx, worker);
        if draining && worker.life.is_ending() {
            self.end_session(cx, &worker);
        } else if draining {
            self.end_worker(cx, &worker.name, "drained");
        } else if self.is_surplus(&worker) {
            self.retire(cx, name, "no longer in the charter's plan");
        } else {
            self.time_idle(&worker);
        }
    }

    /// Returns whether a free worker would not be started today: role or profile gone, or more of them than the cap.
    pub(super) fn is_surplus(&self, worker: &Worker) -> bool {
        let Some(team) = &self.team else { return false };
        let Some(role) = team.roles.get(&worker.role) else { return true };
        if !role.profiles.contains(&worker.profile.name) {
            return true;
        }
        let default = role.profiles.first() == Some(&worker.profile.name);
        worker.elastic && (!default || self.staying(&worker.role) > Fleet::most_living(role))
    }

    /// Lets a free worker go.
    pub(super) fn retire(&mut self, cx: &mut Cx, name: &WorkerName, why: &str) {
        let is_awaited = self.workers.get(name).is_some_and(|worker| self.is_awaited(worker));
        if !is_awaited {
            self.end_worker(cx, name, why);
        }
    }

    /// Ends a worker that has no turn: a session is stopped first, anything else is gone at once.
    pub(super) fn end_worker(&mut self, cx: &mut Cx, name: &WorkerName, why: &str) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        if worker.profile.has_session() {
            self.worker_event(cx, name, format!("told to go: {why}"));
            let mut worker = worker.draining(cx.now);
            worker.life.renewal = None;
            let worker = self.put_worker(cx, worker);
            cx.effect(Effect::Work(WorkEffect::Stop(worker)));
        } else {
            self.worker_gone(cx, name, why);
        }
    }

    pub(super) fn worker_gone(&mut self, cx: &mut Cx, name: &WorkerName, why: &str) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        // It takes none of what waits for it now.
        self.set_worker(Arc::new(Worker { state: WorkerState::Gone, ..(*worker).clone() }));
        self.send_on(cx, name, why);
        self.workers.remove(name);
        let rested = self.resting.iter().filter(|(_, since)| cx.now.since(**since) >= NAME_REST);
        for rested in rested.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.resting.remove(&rested);
        }
        self.resting.insert(name.clone(), cx.now);
        cx.record(Record::WorkerGone(name.clone()));
        self.worker_event(cx, name, format!("gone: {why}"));
        if !worker.is_command() {
            let event = || FleetEvent::WorkerGone { worker: name.clone(), role: worker.role.clone(), why: why.into() };
            self.tell(cx, event, "worker_gone");
        }
        for ticket in self.end_waits(&Subject::Worker(name.clone())) {
            cx.answer(ticket, Err(Refusal::new(RefusalKind::PeerUnreachable, format!("worker {name} is gone: {why}"))));
        }
    }

    pub(super) fn worker_event(&mut self, cx: &mut Cx, name: &WorkerName, what: String) {
        cx.event(Event { at: cx.now, turn: None, run: None, worker: Some(name.clone()), what });
    }
}
