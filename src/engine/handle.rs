//! How everything above talks to the engine: a cheap handle with one method for each thing that can be wanted.
//!
//! Names in a request are resolved here (role, worker or the rubrics); who calls is decided by the door before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::actor::{Actor, Message, Parts};
use super::desk::LONGEST_WAIT;
use super::ports::{Clock, Journal, Launchers, Policy, Report, RubricStatus, Source};
use crate::fleet::Fleet;
use crate::fleet::acts::Action;
use crate::fleet::caller::Caller;
use crate::fleet::ids::{Ticket, WorkerName};
use crate::fleet::input::{Answer, Call, Input, Sighting};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::routing::{check_files, check_kind};
use crate::fleet::run::RunInput;
use crate::fleet::team::{Address, Routed, Task, Team};
use crate::fleet::time::{Span, Time};

/// Inputs that may wait for the engine; when it is full, callers wait in turn and launchers too.
const INBOX: usize = 4_096;

/// How long a rubric that failed counts as one that fails.
const LATELY: Span = Span::minutes(10);

/// How much longer than its own bound a call waits for an engine that cannot answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// A way to the engine; the engine ends when the last one is gone. A clone is one count: each request makes several.
#[derive(Clone)]
pub struct Handle(Arc<Ways>);

struct Ways {
    inbox: mpsc::Sender<Message>,
    published: watch::Receiver<Arc<Fleet>>,
    trouble: watch::Receiver<Option<String>>,
    tickets: AtomicU64,
    journal: Arc<dyn Journal>,
    policy: Arc<dyn Policy>,
    launchers: Arc<dyn Launchers>,
    clock: Arc<dyn Clock>,
}

/// What the engine is built from.
pub struct Ports {
    /// Where records are kept.
    pub journal: Arc<dyn Journal>,
    /// Who starts workers.
    pub launchers: Arc<dyn Launchers>,
    /// Who decides and executes recipes.
    pub policy: Arc<dyn Policy>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// Builds the engine around a restored fleet; the future is the engine itself and ends with its last handle.
pub fn build(fleet: Fleet, ports: Ports) -> (Handle, impl Future<Output = ()> + Send) {
    let (inbox, taken) = mpsc::channel(INBOX);
    let (publish, published) = watch::channel(Arc::new(fleet.clone()));
    let (troubled, trouble) = watch::channel(None);
    let handle = Handle(Arc::new(Ways {
        inbox,
        published,
        trouble,
        tickets: AtomicU64::new(1),
        journal: ports.journal.clone(),
        policy: ports.policy.clone(),
        launchers: ports.launchers.clone(),
        clock: ports.clock.clone(),
    }));
    let actor = Actor::new(Parts {
        fleet,
        journal: ports.journal,
        launchers: ports.launchers,
        policy: ports.policy,
        clock: ports.clock,
        inbox: taken,
        published: publish,
        trouble: troubled,
    });
    (handle, actor.run())
}

impl Handle {
    /// Returns the fleet as it was after the last commit.
    pub fn fleet(&self) -> Arc<Fleet> {
        self.0.published.borrow().clone()
    }

    /// Returns the fleet as it is after each commit to come.
    pub fn watch(&self) -> watch::Receiver<Arc<Fleet>> {
        self.0.published.clone()
    }

    /// Returns the present moment.
    pub fn now(&self) -> Time {
        self.0.clock.now()
    }

    /// Returns the charter's side of the house.
    pub fn policy(&self) -> &Arc<dyn Policy> {
        &self.0.policy
    }

    /// Returns those who start workers.
    pub(super) fn launchers(&self) -> &Arc<dyn Launchers> {
        &self.0.launchers
    }

    /// Returns the store's reading side.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.0.journal
    }

    /// Returns every reason for which fleetd does not work as it should, worst first; empty = all is well.
    pub fn degraded(&self) -> Vec<String> {
        let store = self.0.trouble.borrow().clone();
        let status = self.0.policy.status();
        let charter = status.error.map(|error| format!("charter: {error}"));
        let lately = |rubric: &RubricStatus| rubric.failed_at.is_some_and(|at| self.now().since(at) <= LATELY);
        let rubrics = status.rubrics.iter().filter(|rubric| lately(rubric)).map(|rubric| {
            // Not its error, which may quote a task: this is told to everybody.
            let place = rubric.place.as_deref().unwrap_or_default();
            format!(
                "rubric '{}' was skipped {} of {} times, the last time at {place}; fleetd charter status says why",
                rubric.rubric, rubric.failed, rubric.asked
            )
        });
        let handlers = status.handler_failed_at.filter(|at| self.now().since(*at) <= LATELY).map(|_| {
            let place = status.handler_place.map(|place| format!(", the last time at {place}")).unwrap_or_default();
            format!("handlers failed {} times{place}; fleetd charter status says why", status.handler_errors)
        });
        let unlisted = self.fleet().unlisted_endpoints();
        let troubles = store.into_iter().chain(charter).chain(unlisted).chain(self.0.launchers.trouble());
        troubles.chain(rubrics).chain(handlers).collect()
    }

    /// Takes what a worker's own program reports by a hook; the answer is what the program is told, if anything.
    pub async fn report(&self, worker: &WorkerName, report: Report) -> Result<Option<Value>, Refusal> {
        match self.fleet().worker(worker).cloned() {
            Some(worker) => self.0.launchers.report(worker, report).await,
            None => Err(Refusal::new(RefusalKind::Conflict, format!("worker {worker} is gone"))),
        }
    }

    /// Hears that a process of a worker has listed the fleet's tools.
    pub fn listed(&self, worker: &WorkerName, source: Source) {
        self.0.launchers.listed(worker, source);
    }

    /// Tells the engine what a launcher saw.
    pub async fn seen(&self, sighting: Sighting) {
        self.input(Input::Seen(sighting)).await;
    }

    /// Tells the engine that a generation of the charter is in force.
    pub async fn take_team(&self, team: Arc<Team>) {
        self.input(Input::Team(team)).await;
    }

    /// Tells the engine what a run's code reached; a send's address is found already.
    pub async fn run_input(&self, input: RunInput) {
        self.input(Input::Run(input)).await;
    }

    /// Does what a handler of the charter answered to an event.
    pub async fn act(&self, action: Action) {
        self.input(Input::Act(action)).await;
    }

    /// Lays a notice into the mailboxes of the leader and the operator.
    pub async fn notice(&self, text: String) {
        self.input(Input::Notice(text)).await;
    }

    /// Waits until the fleet goes by this generation of the charter or a newer one, so that what a caller was told is
    /// in force is in force. A store that takes nothing ends the wait too: the reason is among the degraded ones.
    pub async fn in_force(&self, generation: u64) {
        let mut published = self.0.published.clone();
        let there = published.wait_for(|fleet| fleet.team().is_some_and(|team| team.generation.number >= generation));
        if tokio::time::timeout(PATIENCE, there).await.is_err() {
            tracing::warn!(generation, "the charter was loaded, but the fleet does not go by it yet");
        }
    }

    /// Stops handing out turns; what runs goes on.
    pub async fn drain(&self) {
        self.input(Input::Drain).await;
    }

    pub(super) async fn input(&self, input: Input) {
        // A closed engine means that the daemon is going down: what is lost here is found again at the next start.
        let _ = self.0.inbox.send(Message::Input(input)).await;
    }

    /// Gives a call to the fleet and waits for its answer. Dropping the future ends the wait, never the turn.
    pub async fn call(&self, caller: &Caller, call: Call) -> Result<Answer, Refusal> {
        let ticket = Ticket(self.0.tickets.fetch_add(1, Ordering::Relaxed));
        let until = bound_of(&call, self.now());
        let (reply, answer) = oneshot::channel();
        let message = Message::Call { ticket, caller: caller.clone(), call, reply };
        // The way in is part of the wait: behind a store that hangs the inbox is full.
        let end = Instant::now() + until.map_or(Duration::ZERO, |at| at.since(self.now()).std()) + PATIENCE;
        let mut leaving = Leaving { inbox: &self.0.inbox, ticket: Some(ticket) };
        match self.0.inbox.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Closed(_)) => return Err(shutting_down()),
            // Boxed: ten thousand calls that wait for their answer need no room for their way in.
            Err(TrySendError::Full(message)) => {
                let sent = Box::pin(timeout_at(end, self.0.inbox.send(message))).await;
                sent.map_err(|_| too_late())?.map_err(|_| shutting_down())?;
            }
        }
        match timeout_at(end, answer).await {
            Ok(answered) => {
                leaving.ticket = None;
                answered.map_err(|_| shutting_down())?
            }
            Err(_) => Err(too_late()),
        }
    }

    /// Returns what a name in a request means: the rubrics (`auto`), a role or a worker.
    pub async fn address(
        &self,
        to: &str,
        task: impl FnOnce(Time) -> Task,
    ) -> Result<(Address, Option<Routed>), Refusal> {
        if to == "auto" {
            let routed = self.ask_rubrics(task(self.now())).await?;
            return Ok((routed.to.clone(), Some(routed)));
        }
        let fleet = self.fleet();
        let roles: Vec<_> = fleet.team().map(|team| team.roles.keys().cloned().collect()).unwrap_or_default();
        if roles.iter().any(|role| role.as_str() == to) {
            return Ok((Address::Role(to.into()), None));
        }
        let worker = WorkerName::from(to);
        if fleet.worker(&worker).is_some() {
            return Ok((Address::Worker(worker), None));
        }
        if fleet.team().is_none() {
            return Err(self.no_charter());
        }
        let names = roles.iter().map(|role| role.as_str()).chain(fleet.workers().map(|worker| worker.name.as_str()));
        Err(Refusal::unknown("role or worker", to, names.chain(["auto"])))
    }

    /// Asks the rubrics where a task would go.
    pub async fn ask_rubrics(&self, task: Task) -> Result<Routed, Refusal> {
        check_kind(task.kind.as_deref())?;
        check_files(&task.files)?;
        let load = self.fleet().load(task.now);
        self.0.policy.route(task, load).await
    }

    pub(super) fn no_charter(&self) -> Refusal {
        let error = self.0.policy.status().error.unwrap_or_else(|| "none was loaded yet".into());
        Refusal::new(RefusalKind::Unavailable, format!("there is no charter in force: {error}"))
            .hint("mend the charter; a good save is taken at once")
    }
}

/// Tells the engine when a caller stops to wait.
struct Leaving<'a> {
    inbox: &'a mpsc::Sender<Message>,
    ticket: Option<Ticket>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            // A full inbox only means that the wait ends by its own bound instead.
            let _ = self.inbox.try_send(Message::Input(Input::Leave(ticket)));
        }
    }
}

fn bound_of(call: &Call, now: Time) -> Option<Time> {
    match call {
        Call::WaitTurn { until, .. } | Call::WaitRun { until, .. } | Call::Ask { until, .. } => Some(*until),
        Call::Resume { until, .. } => Some(*until),
        Call::Poll { until, .. } => *until,
        // A worker comes up, or does not, within its profile's ready_timeout: that is the launcher's bound, not ours.
        Call::Spawn { .. } => Some(now + LONGEST_WAIT),
        _ => None,
    }
}

fn too_late() -> Refusal {
    Refusal::new(RefusalKind::Unavailable, "fleetd did not get to an answer in time")
        .hint("see /healthz; nothing is lost, and the same key makes a repetition safe")
}

fn shutting_down() -> Refusal {
    Refusal::new(RefusalKind::Unavailable, "fleetd is shutting down").hint("ask again when it is back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spawn_waits_as_long_as_its_launcher_does() {
        let spawn = Call::Spawn { role: "s".into(), profile: None, key: None };
        assert_eq!(bound_of(&spawn, Time(5)), Some(Time(5) + LONGEST_WAIT));
    }
}
