//! One daemon from start to end: refuse early, restore, adopt, serve, drain.
//!
//! Order matters. The port and the state are taken before anything is changed; the store is read before any worker is
//! touched; the doors open last, so that nobody is answered by half a fleet.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::audit::AuditThread;
use super::clock::SteadyClock;
use super::settings::Settings;
use super::tasks::Tasks;
use crate::charter::{self, Charter, CharterErrors};
use crate::config::OnRestart;
use crate::door;
use crate::engine::ports::{Clock, Journal, JournalError};
use crate::engine::{self, Handle, Ports};
use crate::fleet::Fleet;
use crate::fleet::input::Input;
use crate::fleet::team::{Generation, TeamLoad};
use crate::fleet::time::Span;
use crate::launch;
use crate::store::{StateDir, Store, StoreError};

/// Sightings that may wait for the engine; launchers wait in turn when it is full.
const SIGHTINGS: usize = 1_024;

/// How often history is pruned, and worktrees are tidied.
const PRUNE: Duration = Duration::from_secs(3_600);

/// How often the charter directory is looked at without any hint that it changed.
const POLL: Duration = Duration::from_secs(5);

/// How long open requests may take to end at a shutdown.
const GRACE: Duration = Duration::from_secs(2);

/// What is known once the doors are open.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Where it really listens.
    pub listen: SocketAddr,
    /// Which charter is in force.
    pub charter: crate::engine::ports::CharterStatus,
    /// Why fleetd does not work as it should; empty = all is well.
    pub degraded: Vec<String>,
    /// Turns that were under way when the last daemon ended.
    pub adopted: usize,
    /// Runs that go on.
    pub resumed: usize,
    /// Sessions of the last daemon that are stopped instead of adopted.
    pub reaped: usize,
}

/// Why a daemon did not start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The state directory or the store refused.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// What was stored could not be read.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The address could not be taken.
    #[error("{0}")]
    Listen(std::io::Error),
    /// The named charter is not there.
    #[error("{0}")]
    Charter(CharterErrors),
    /// The charter inside the program could not be written where it is read.
    #[error("the built-in charter cannot be written into the state directory: {0}")]
    BuiltIn(std::io::Error),
    /// The thread of the audit cannot be started.
    #[error("cannot start the thread that writes the audit: {0}")]
    Audit(std::io::Error),
    /// Where the pane host would be is not known.
    #[error("the pane host cannot be reached: {0}")]
    Panes(String),
    /// Its own program cannot be found, which every worker's pane-exec is.
    #[error("the path of fleetd's own program cannot be found: {0}")]
    Program(std::io::Error),
    /// Signals cannot be heard.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
    /// A task that should run as long as the daemon has ended.
    #[error("the daemon's part '{name}' ended: {why}; what was accepted is stored, a restart goes on with it")]
    Part {
        /// Which.
        name: &'static str,
        /// How.
        why: String,
    },
}

impl ServeError {
    /// Returns what can be done about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            ServeError::Store(error) => Some(error.hint()),
            ServeError::Listen(_) => Some("another program has the port: stop it, or give --listen".into()),
            ServeError::Charter(_) => Some("name a directory with Lua files, or make one: fleetd init".into()),
            _ => None,
        }
    }
}

/// Runs a daemon until it is told to end; `opened` is called once when the doors are open.
pub async fn serve(settings: Settings, opened: impl FnOnce(&Opened) + Send) -> Result<(), ServeError> {
    let mut signals = super::signals::Signals::hear().map_err(ServeError::Signals)?;
    let state = StateDir::take(&settings.state)?;
    let listener = door::server::Listener::bind(settings.listen).await.map_err(ServeError::Listen)?;
    let store = Store::open(&state)?;
    super::limits::raise_open_files();
    let journal: Arc<dyn Journal> = store.clone();
    let saved = journal.load().await?;
    let clock: Arc<dyn Clock> = Arc::new(SteadyClock::start_after(saved.last_moment()));

    let last = Generation { number: saved.generation, hash: String::new() };
    let mut fleet = Fleet::restore(saved, settings.limits.clone());
    let mut reaped = 0;
    if settings.on_restart == OnRestart::Reap {
        reaped = fleet.workers().filter(|worker| worker.profile.has_session()).count();
        // Recorded before the engine runs; the orders to stop are among those that it gives again after a restart.
        let step = fleet.step(clock.now(), Input::Reap);
        journal.commit(step.records).await?;
    }
    let adopted = fleet.workers().filter(|worker| worker.is_occupied()).count();
    let resumed = fleet.runs().filter(|run| run.outcome.is_none()).count();

    let mut tasks = Tasks::default();
    let engine_handle: Arc<OnceLock<Handle>> = Arc::default();
    let (charter, told, charter_tasks) = Charter::open(charter::Options {
        dir: settings.charter.directory(state.path()).map_err(ServeError::BuiltIn)?,
        state: state.path().to_path_buf(),
        last: (last.number > 0).then_some(last),
        journal: journal.clone(),
        clock: clock.clone(),
        load: load_of(engine_handle.clone()),
        poll: POLL,
        hints: true,
        held_runs: charter::HELD_RUNS,
    })
    .await
    .map_err(ServeError::Charter)?;

    let (sightings, seen) = mpsc::channel(SIGHTINGS);
    let wholes = launch::whole::Wholes::new(state.turns());
    let (exec, exec_task) = launch::exec::Exec::new(launch::exec::Options {
        turns: state.turns(),
        policy: settings.policy.clone(),
        journal: journal.clone(),
        sightings: sightings.clone(),
    });
    let (host, host_task) = super::panes::host(settings.pane_host, state.path()).await.map_err(ServeError::Panes)?;
    let common = launch::Common {
        sessions: state.sessions(),
        program: super::panes::own_program().map_err(ServeError::Program)?,
        policy: settings.policy.clone(),
        url: super::panes::url_of(listener.local()),
        journal: journal.clone(),
        sightings,
    };
    let leader = settings.nudge.on.then_some(settings.nudge.screen);
    let (typed, typed_task) = launch::typed::Typed::new(common.clone(), host.clone(), leader);
    let (lines, lines_task) = launch::lines::launcher(common.clone());
    let (api, api_task) = launch::api::launcher(common, host);
    let trees = launch::trees::Trees::of(state.path(), settings.trash_ttl);
    let launchers = Arc::new(launch::All { exec, typed, lines, api, trees: trees.clone() });
    let ports = Ports { journal: journal.clone(), launchers, policy: Arc::new(charter), clock };
    let (handle, engine) = engine::build(fleet, ports);
    let _ = engine_handle.set(handle.clone());

    tasks.spawn("engine", engine);
    tasks.spawn("exec", exec_task);
    tasks.spawn("typed", typed_task);
    tasks.spawn("lines", lines_task);
    tasks.spawn("api", api_task);
    tasks.spawn("panes", host_task);
    tasks.spawn("sightings", super::couriers::sightings(handle.clone(), seen, wholes));
    tasks.spawn("charter-up", super::couriers::upward(handle.clone(), told));
    tasks.spawn("charter-orders", charter_tasks.down);
    tasks.spawn("charter-inputs", charter_tasks.up);
    tasks.spawn("charter-watch", charter_tasks.watch);
    tasks.spawn("charter-watchdog", charter_tasks.watchdog);
    tasks.spawn("seat", super::seat::keep(handle.clone()));
    tasks.spawn("worktrees", super::couriers::tidy(trees, PRUNE));
    tasks.spawn("prune", super::couriers::prune(handle.clone(), settings.retention, PRUNE));

    // Nobody is answered before the fleet goes by the charter that is in force.
    let charter = handle.policy().status();
    if !charter.files.is_empty() {
        handle.in_force(charter.generation.number).await;
    }
    let stop = CancellationToken::new();
    let listen = listener.local();
    state.announce(&listen.to_string())?;
    let audit = AuditThread::start(state.audit_file()).map_err(ServeError::Audit)?;
    let shared = door::shared::Shared::new(handle.clone(), stop.clone()).auth(settings.auth).audit(audit.doors());
    let (mcp, telling) = door::mcp::Mcp::new(shared.clone(), store.clone());
    tasks.spawn("mcp-changes", telling);
    let others = mcp.router().merge(door::hook::router(shared.clone()));
    let router = door::rest::Door::new(shared).router(others);
    tasks.spawn("doors", listener.serve(router, stop.clone(), GRACE));
    let status = handle.policy().status();
    opened(&Opened { listen, charter: status, degraded: handle.degraded(), adopted, resumed, reaped });
    tracing::info!(%listen, adopted, resumed, reaped, "ready");
    if !listen.ip().is_loopback() {
        tracing::warn!(%listen, "other machines can reach fleetd, and it speaks no TLS: put a proxy before it");
    }

    tokio::select! {
        signal = signals.next() => tracing::info!(signal, "draining"),
        (name, panicked) = tasks.first_end() => {
            let why = panicked.map_or_else(|| "without a word".to_string(), |text| format!("panic: {text}"));
            return Err(ServeError::Part { name, why });
        }
    }
    drain(&handle, settings.drain, &mut signals).await;
    stop.cancel();
    // The doors end by themselves within their grace; everything else has nothing left to tell.
    let _ = tokio::time::timeout(GRACE * 2, tasks.end_of("doors")).await;
    let going_on = handle.fleet().workers().filter(|worker| worker.is_occupied()).count();
    drop(audit);
    tracing::info!(turns_going_on = going_on, "ended");
    Ok(())
}

/// Waits for open turns; what still runs stays and is adopted at the next start. A second signal does not wait.
async fn drain(handle: &Handle, longest: Span, signals: &mut super::signals::Signals) {
    let idle = async {
        handle.drain().await;
        let mut published = handle.watch();
        while published.borrow_and_update().workers().any(|worker| worker.is_occupied()) {
            if published.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = idle => {}
        () = tokio::time::sleep(longest.std()) => tracing::info!("some turns are still open; they go on and are adopted"),
        _ = signals.next() => {}
    }
}

fn load_of(handle: Arc<OnceLock<Handle>>) -> charter::Load {
    let last = Mutex::new(TeamLoad::default());
    Arc::new(move || {
        let mut load = handle.get().map_or_else(TeamLoad::default, |handle| handle.fleet().load(handle.now()));
        let mut last = last.lock().expect("never poisoned: what is compared under it does not panic");
        load.share(&last);
        *last = load.clone();
        load
    })
}
