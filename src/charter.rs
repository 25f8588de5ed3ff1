//! Floor 2: the charter. Reads a directory of Lua, keeps the newest good generation in force, asks its rubrics, and
//! executes recipes durably. All of Lua stays behind this room.
//!
//! No SQL, no HTTP, no processes here, and no import of another room of this floor.

mod check;
mod courier;
mod declare;
mod describe;
mod difference;
mod editor;
mod error;
mod explain;
mod handlers;
mod held;
mod homes;
mod json;
mod launchers;
#[cfg(test)]
mod limits;
mod loops;
mod meter;
mod native;
mod offline;
mod plan;
#[cfg(test)]
mod played;
mod point;
mod quote;
mod reference;
mod reload;
#[cfg(test)]
mod replayed;
mod rubric;
mod runs;
mod schema;
mod shapes;
mod shipped;
mod shown;
mod sources;
mod spec;
mod stage;
mod standing;
mod steps;
mod stuck;
mod tally;
pub mod testing;
mod times;
mod vm;
mod watch;
mod world;
mod zones;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, oneshot};

use crate::engine::ports::{Boxed, CharterStatus, Clock, Files, Journal, Policy};
use crate::engine::requests::Replayed;
use crate::fleet::acts::Action;
use crate::fleet::difference::Difference;
use crate::fleet::events::FleetEvent;
use crate::fleet::ids::RecipeName;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::{Run, RunEffect, RunInput};
use crate::fleet::team::{Generation, Routed, Task, Team, TeamLoad};
use courier::Order;
pub use difference::of_dirs;
pub use editor::editor_files;
pub use error::{CharterError, CharterErrors};
pub use handlers::Handled;
use held::Held;
use homes::Left;
pub use offline::{Report, check, plan_of, route, team_of, test};
pub use reference::{meta, reference};
use rubric::Answer;
pub use schema::check_job;
pub use sources::Sources;
use tally::Tally;
use vm::{Job, Loaded, Said, Unfit};
pub use watch::Saves;

/// How many runs that wait are held in memory, some 5 KB each; what comes for another one waits for the replay of its steps.
pub const HELD_RUNS: usize = 1_000;
/// How long a rubric may keep its asker waiting, queue and all.
const ROUTE_WAIT: Duration = Duration::from_secs(2);

/// What the charter tells the daemon.
///
/// The channel has no bound of its own: it holds at most one message per open step of a run, one per run, and one per
/// accepted load.
#[derive(Clone, Debug)]
pub enum Upward {
    /// For the engine: a run's code reached a step or its end.
    Run(RunInput),
    /// For the engine: a new generation is in force.
    Team(Arc<Team>),
    /// For the engine: a handler answered an event.
    Act(Action),
    /// For the engine: something that the leader is told.
    Notice(String),
}

/// How the load of the team is asked for when a run's send leaves the address to the rubrics.
pub type Load = Arc<dyn Fn() -> TeamLoad + Send + Sync>;

/// Where a charter lives and what it works with.
pub struct Options {
    /// The directory of Lua files.
    pub dir: PathBuf,
    /// The state directory, for the copy of the last good files.
    pub state: PathBuf,
    /// The generation that was in force last, if the store knows one.
    pub last: Option<Generation>,
    /// Where runs and sources are kept.
    pub journal: Arc<dyn Journal>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How the team stands.
    pub load: Load,
    /// How often the directory is looked at without any hint that it changed.
    pub poll: Duration,
    /// Whether the system is asked to tell of changes; without, only the looks now and then see them.
    pub hints: bool,
    /// How many runs that wait stay in the memory of a VM; the others begin again from their journal when something
    /// comes for them.
    pub held_runs: usize,
}

/// The charter in force; a cheap handle.
#[derive(Clone)]
pub struct Charter {
    inner: Arc<Inner>,
}

/// The tasks of a charter; the daemon spawns each and ends them by dropping.
pub struct Tasks {
    /// Brings orders to the runs.
    pub down: Boxed<()>,
    /// Brings what runs reached to the engine.
    pub up: Boxed<()>,
    /// Reloads when files change.
    pub watch: Boxed<()>,
    /// Replaces a VM that is stuck.
    pub watchdog: Boxed<()>,
}

struct Inner {
    dir: PathBuf,
    state: PathBuf,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    load: Load,
    held_runs: usize,
    current: Mutex<Option<Arc<Loaded>>>,
    living: Mutex<Vec<Weak<Loaded>>>,
    status: Mutex<CharterStatus>,
    tally: Mutex<Tally>,
    /// Runs that left their VM, until the road down looks; it is told that it should.
    left: Mutex<Vec<Left>>,
    /// Sends of runs that wait for the rubrics.
    held: Held,
    freed: Notify,
    orders: UnboundedSender<Order>,
    inputs: UnboundedSender<Said>,
    upward: UnboundedSender<Upward>,
    reloading: tokio::sync::Mutex<reload::Memory>,
}

impl Charter {
    /// Reads the charter and puts it in force; a broken one leaves the last good copy in force, or nothing.
    ///
    /// Fails only when the directory cannot be read at all.
    #[expect(
        clippy::disallowed_methods,
        reason = "a VM's thread must never wait for the engine; what each channel can hold is bounded by the open steps of runs"
    )]
    pub async fn open(options: Options) -> Result<(Charter, UnboundedReceiver<Upward>, Tasks), CharterErrors> {
        let (orders, order_inbox) = unbounded_channel();
        let (inputs, input_inbox) = unbounded_channel();
        let (upward, told) = unbounded_channel();
        let inner = Arc::new(Inner {
            status: Mutex::new(CharterStatus {
                dir: options.dir.display().to_string(),
                generation: options.last.clone().unwrap_or_default(),
                ..CharterStatus::default()
            }),
            dir: options.dir,
            state: options.state,
            journal: options.journal,
            clock: options.clock,
            load: options.load,
            held_runs: options.held_runs,
            tally: Mutex::default(),
            current: Mutex::new(None),
            living: Mutex::new(Vec::new()),
            left: Mutex::default(),
            held: Held::default(),
            freed: Notify::new(),
            orders: orders.clone(),
            inputs,
            upward,
            reloading: tokio::sync::Mutex::new(reload::Memory::new(options.last)),
        });
        inner.open().await?;
        let tasks = Tasks {
            down: Box::pin(courier::down(Arc::clone(&inner), order_inbox)),
            up: Box::pin(courier::up(Arc::clone(&inner), input_inbox, orders)),
            watch: Box::pin(watch::watch(Arc::clone(&inner), options.poll, options.hints)),
            watchdog: Box::pin(stuck::watchdog(Arc::clone(&inner))),
        };
        Ok((Charter { inner }, told, tasks))
    }

    /// Returns what the charter in force declares; an empty team while there is none.
    pub fn team(&self) -> Arc<Team> {
        self.inner.current().map_or_else(Arc::default, |loaded| Arc::clone(&loaded.team))
    }
}

impl Policy for Charter {
    fn route(&self, task: Task, team: TeamLoad) -> Boxed<Result<Routed, Refusal>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.route(task, team).await })
    }

    fn check_job(&self, recipe: &RecipeName, job: &serde_json::Value) -> Result<(), Refusal> {
        let team = self.team();
        match team.recipes.get(recipe) {
            Some(spec) => check_job(spec, job),
            None => Err(Refusal::unknown("recipe", recipe.as_str(), team.recipes.keys().map(|name| name.as_str()))),
        }
    }

    fn replay(&self, run: Run, current: bool) -> Boxed<Result<Replayed, Refusal>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.replay(run, current).await })
    }

    fn run(&self, order: RunEffect) {
        self.inner.order(Order::Run(order));
    }

    fn event(&self, event: FleetEvent) {
        if let Ok(payload) = serde_json::to_value(&event) {
            Inner::tell(&self.inner, event.word(), payload);
        }
    }

    fn status(&self) -> CharterStatus {
        self.inner.whole_status()
    }

    fn difference(&self, files: Option<Files>) -> Boxed<Difference> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.difference(files).await })
    }

    fn reload(&self) -> Boxed<Result<CharterStatus, Refusal>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            inner.reload(reload::Why::Asked).await.map_err(Refusal::from)?;
            Ok(inner.whole_status())
        })
    }
}

impl Inner {
    fn current(&self) -> Option<Arc<Loaded>> {
        self.current.lock().expect("never poisoned: no code runs under it").clone()
    }

    /// Shows a generation to the watchdog, which forgets it when its last run and its time in force are over.
    fn watched(&self, loaded: Loaded) -> Arc<Loaded> {
        let loaded = Arc::new(loaded);
        let mut living = self.living.lock().expect("never poisoned: no code runs under it");
        living.retain(|one| one.strong_count() > 0);
        living.push(Arc::downgrade(&loaded));
        loaded
    }

    fn living(&self) -> Vec<Arc<Loaded>> {
        self.living.lock().expect("never poisoned: no code runs under it").iter().filter_map(Weak::upgrade).collect()
    }

    /// Builds a generation on a thread of its own.
    async fn build(&self, sources: Arc<Sources>, generation: Generation, with_tests: bool) -> Result<Loaded, Unfit> {
        Loaded::build(sources, generation, with_tests, self.held_runs, self.inputs.clone()).await
    }

    fn status(&self) -> MutexGuard<'_, CharterStatus> {
        self.status.lock().expect("never poisoned: no code runs under it")
    }

    /// Returns the status with what was counted of the rubrics in force.
    fn whole_status(&self) -> CharterStatus {
        let mut status = self.status().clone();
        if let Some(current) = self.current() {
            let tally = self.tally.lock().expect("never poisoned: no code runs under it");
            status.rubrics = tally.of(&current.team);
            status.rubric_times = tally.times(&current.team);
        }
        status
    }

    /// Calls the handlers of an event; what they want done goes up.
    fn tell(self: &Arc<Self>, event: &str, payload: serde_json::Value) {
        let Some(current) = self.current() else { return };
        if !current.team.handlers.contains(event) {
            return;
        }
        // The thread of a VM may outlive the charter, and must not hold its journal.
        let inner = Arc::downgrade(self);
        let reply = Box::new(move |handled: Vec<Handled>| {
            let Some(inner) = inner.upgrade() else { return };
            for one in handled {
                match one.said {
                    Ok(Some((_, action))) => inner.up(Upward::Act(action)),
                    Ok(None) => {}
                    Err(error) => {
                        let place = error.place().unwrap_or(one.at);
                        // Not its text, which may quote a message; `fleetd charter status` tells it to whoever asks.
                        tracing::warn!(at = place, "a handler of the charter failed");
                        let mut status = inner.status();
                        status.handler_errors += 1;
                        status.handler_error = Some(error.to_string());
                        status.handler_place = Some(place).filter(|place| !place.is_empty());
                        status.handler_failed_at = Some(inner.clock.now());
                    }
                }
            }
        });
        current.give(Job::Event { event: event.to_owned(), payload, reply });
    }

    fn order(&self, order: Order) {
        // Nobody listens only while the daemon is shutting down.
        let _ = self.orders.send(order);
    }

    /// Lets the road down know of a run that left its VM, which may end then.
    fn leave(&self, left: Left) {
        self.left.lock().expect("never poisoned: no code runs under it").push(left);
        self.freed.notify_one();
    }

    fn up(&self, message: Upward) {
        let _ = self.upward.send(message);
    }

    async fn route(self: &Arc<Self>, task: Task, team: TeamLoad) -> Result<Routed, Refusal> {
        let Some(current) = self.current() else {
            let why = self.status().error.clone().unwrap_or_default();
            let refusal = Refusal::new(
                RefusalKind::Unavailable,
                "there is no charter in force, so nobody can say where this should go",
            );
            return Err(refusal.hint(why));
        };
        let (told, answer) = oneshot::channel();
        let (inner, asked) = (Arc::downgrade(self), Instant::now());
        // What nobody waits for any more is counted as well: it is the answer that says which rubric took so long.
        let reply = Box::new(move |answer: Answer| {
            if let Some(inner) = inner.upgrade() {
                let broken = inner.count(&answer);
                if broken == 0 && asked.elapsed() >= ROUTE_WAIT {
                    inner.status().rubric_errors += 1;
                }
            }
            let _ = told.send(answer.routed);
        });
        current.give(Job::Route { task, team, reply });
        match tokio::time::timeout(ROUTE_WAIT, answer).await {
            Ok(Ok(routed)) => routed,
            _ => Err(Refusal::new(RefusalKind::Unavailable, "the charter did not answer within 2 s")),
        }
    }

    /// Counts what rubrics said; returns how many were skipped.
    fn count(&self, answer: &Answer) -> u64 {
        let broken = answer.asked.iter().filter(|one| one.verdict.is_fault()).count() as u64;
        self.status().rubric_errors += broken;
        let mut tally = self.tally.lock().expect("never poisoned: no code runs under it");
        tally.count(answer.generation, &answer.asked, answer.took, self.clock.now());
        broken
    }
}
