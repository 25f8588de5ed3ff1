//! The embedded host: the daemon's client of the pane server of its state directory, which it starts when the first
//! pane is wanted.
//!
//! One connection carries all calls. Where it breaks after a text was written, nobody knows whether it was typed, and
//! the answer says so; nothing is ever sent twice. What was seen of a server that died with its panes is not kept.

mod begin;
mod link;
mod order;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};

use self::link::Link;
use self::order::{Came, Order};
use super::server::REST;
use super::wire::{Ask, Done, MAX_TEXT, No, Shown, Start};
use crate::engine::panes::{Key, Listed, Pane, PaneError, PaneHost, PaneSeen, PaneStart, Screen, clean};
use crate::engine::ports::Boxed;
use crate::fleet::worker::Process;
use crate::process::{ProcessId, descendants, session_of};

/// The running daemon's own program. Unlike its path, this is right after the file was replaced by a newer one.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Calls that may wait for the connection; more are refused.
const ORDERS: usize = 256;
/// What was seen and not fetched yet, before the oldest is lost to one who is slow.
const SEEN: usize = 1_024;
/// How long typing and looking may take, and what begins or ends processes.
const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(15);

/// What the host works with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The state directory.
    pub state: PathBuf,
    /// The program that has `panes`. Default: the running one.
    pub program: PathBuf,
    /// How long the server stays without panes and clients. Default: 10 s.
    pub rest: Duration,
}

impl Options {
    /// Returns the defaults for a state directory.
    pub fn new(state: impl Into<PathBuf>) -> Options {
        Options { state: state.into(), program: OWN_PROGRAM.into(), rest: REST }
    }
}

/// The pane server, as a host.
pub struct Embedded {
    orders: mpsc::Sender<Order>,
    seen: broadcast::Sender<PaneSeen>,
    down: watch::Receiver<Option<String>>,
}

impl Embedded {
    /// Returns the host and the task that keeps its connection. When the task is dropped, the server and its panes go
    /// on, and the next daemon finds them.
    pub fn new(options: Options) -> (Embedded, impl Future<Output = ()> + Send + 'static) {
        let (orders, taken) = mpsc::channel(ORDERS);
        let (seen, _) = broadcast::channel(SEEN);
        let (is_down, down) = watch::channel(None);
        let link = Link::new(options, seen.clone(), is_down);
        (Embedded { orders, seen, down }, link.run(taken))
    }

    /// Asks, and returns what came within the time.
    fn ask(&self, ask: Ask, bound: Duration) -> impl Future<Output = Came> + Send + 'static {
        order::give(self.orders.clone(), ask, bound)
    }

    /// Asks for something that may have been done although no answer came.
    fn act(&self, ask: Ask, bound: Duration) -> Boxed<Result<(), PaneError>> {
        let came = self.ask(ask, bound);
        Box::pin(async move { came.await.acted().map(|_| ()) })
    }

    /// Asks for the living panes.
    fn living(&self) -> impl Future<Output = Result<Vec<Shown>, PaneError>> + Send + 'static {
        let came = self.ask(Ask::Panes, SHORT);
        async move {
            match came.await {
                Came::Done(Done::Panes(panes)) => Ok(panes.into_iter().filter(|shown| shown.died.is_none()).collect()),
                // Panes die with their server, so none is the truth.
                Came::Nobody => Ok(Vec::new()),
                other => Err(other.looked()),
            }
        }
    }
}

impl PaneHost for Embedded {
    fn word(&self) -> &'static str {
        "embedded"
    }

    fn down(&self) -> Option<String> {
        self.down.borrow().clone()
    }

    fn start(&self, start: PaneStart) -> Boxed<Result<Pane, PaneError>> {
        let PaneStart { slot, argv, env, cwd } = start;
        let (role, worker) = (slot.role.to_string(), slot.worker.to_string());
        let argv = argv.iter().map(|word| word.as_os_str().into()).collect();
        let env = env.iter().map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into())).collect();
        let ask = Ask::Start(Start { role, worker, argv, env, cwd: cwd.as_os_str().into() });
        let came = self.ask(ask, LONG);
        Box::pin(async move {
            match came.await.acted()? {
                Done::Started(pane) => Ok(pane),
                _ => Err(PaneError::Unknown("the pane server gave another answer".into())),
            }
        })
    }

    fn paste(&self, pane: Pane, text: Arc<str>) -> Boxed<Result<(), PaneError>> {
        let text = clean(&text);
        if text.len() > MAX_TEXT {
            let why = format!("the text has more than {MAX_TEXT} bytes");
            return Box::pin(std::future::ready(Err(PaneError::Refused(why))));
        }
        self.act(Ask::Paste { pane, text }, SHORT)
    }

    fn press(&self, pane: Pane, keys: Vec<Key>) -> Boxed<Result<(), PaneError>> {
        self.act(Ask::Press { pane, keys: keys.iter().map(Key::to_string).collect() }, SHORT)
    }

    fn screen(&self, pane: Pane) -> Boxed<Result<Screen, PaneError>> {
        let came = self.ask(Ask::Screen { pane, colours: false, history: 0 }, SHORT);
        Box::pin(async move {
            match came.await {
                Came::Done(Done::Screen(view)) => Ok(Screen { lines: view.lines, columns: Some(view.columns) }),
                other => Err(other.looked()),
            }
        })
    }

    fn processes(&self, pane: Pane) -> Boxed<Result<Vec<Process>, PaneError>> {
        let living = self.living();
        Box::pin(async move {
            if !living.await?.iter().any(|shown| shown.pane == pane) {
                return Err(PaneError::Gone(format!("no pane '{}' has process {} in it", pane.id, pane.root.pid)));
            }
            let found = looked_up(move || {
                let root = ProcessId::from(pane.root);
                let mut found = vec![root];
                found.extend(session_of(root.pid));
                found.extend(descendants(root.pid));
                found.sort_by_key(|process| (process.pid, process.start_time));
                found.dedup();
                // What was found counts only if the pid was the root's until now.
                root.is_alive().then_some(found)
            });
            let found = found.await?.ok_or_else(|| PaneError::Gone("its program has just ended".into()))?;
            Ok(found.into_iter().map(Process::from).collect())
        })
    }

    fn close(&self, pane: Pane) -> Boxed<Result<(), PaneError>> {
        let came = self.ask(Ask::Close { pane }, LONG);
        Box::pin(async move {
            match came.await {
                Came::Nobody | Came::Not(No::Gone, _) => Ok(()),
                other => other.acted().map(|_| ()),
            }
        })
    }

    fn panes(&self) -> Boxed<Result<Vec<Listed>, PaneError>> {
        let living = self.living();
        let listed = |shown: Shown| Listed { pane: shown.pane, label: Some(shown.worker) };
        Box::pin(async move { Ok(living.await?.into_iter().map(listed).collect()) })
    }

    fn pane_of(&self, lineage: Vec<Process>) -> Boxed<Result<Option<Pane>, PaneError>> {
        let living = self.living();
        Box::pin(async move {
            let panes: Vec<Pane> = living.await?.into_iter().map(|shown| shown.pane).collect();
            let of_root = |process: &Process| panes.iter().find(|pane| pane.root == *process).cloned();
            if let Some(pane) = lineage.iter().find_map(of_root) {
                return Ok(Some(pane));
            }
            // One whose parents have died may still be in a terminal's session.
            let Some(process) = lineage.first().map(|process| ProcessId::from(*process)) else { return Ok(None) };
            looked_up(move || {
                panes.into_iter().find(|pane| session_of(ProcessId::from(pane.root).pid).contains(&process))
            })
            .await
        })
    }

    fn seen(&self) -> broadcast::Receiver<PaneSeen> {
        self.seen.subscribe()
    }
}

/// Looks something up in `/proc`, which blocks.
async fn looked_up<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Result<T, PaneError> {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.map_err(|error| PaneError::Unavailable(format!("cannot look at processes: {error}")))
}
