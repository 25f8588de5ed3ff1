//! The client of herdr, a terminal multiplexer that people use: workers are tabs of one of its workspaces.
//!
//! What is here was read from recorded sessions of two versions, not from a manual (`docs/decisions.md`). herdr's word
//! is never the proof of anything: an `ok` says that a request was parsed, an event is a hint to look, and an id may
//! mean another process after a restart. So each pane is known by the process that was started in it.

mod find;
mod order;
mod place;
mod start;
mod told;
mod watch;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, broadcast};

use crate::engine::panes::{Key, Listed, Pane, PaneError, PaneHost, PaneSeen, PaneStart, Screen, Slot};
use crate::engine::ports::Boxed;
use crate::fleet::worker::Process;

pub use place::{Env, socket};
pub use told::Greeting;

/// How many sightings a listener may be behind.
const SIGHTINGS: usize = 256;

/// How herdr is reached.
#[derive(Clone, Debug)]
pub struct Options {
    /// herdr's socket; see [`socket`] for the rules by which it is found.
    pub socket: PathBuf,
    /// The label of the workspace in which workers are shown.
    pub workspace: String,
    /// How often all is looked at anew, whatever events say.
    pub look_every: Duration,
    /// How long one request may take. herdr stands still for half a second while it closes a stubborn pane.
    pub answer_within: Duration,
}

impl Options {
    /// Returns the usual options for a socket.
    pub fn new(socket: PathBuf) -> Self {
        let (look_every, answer_within) = (Duration::from_secs(10), Duration::from_secs(5));
        Self { socket, workspace: "fleet".to_owned(), look_every, answer_within }
    }
}

/// herdr as a pane host.
#[derive(Clone)]
pub struct Herdr {
    desk: Arc<Desk>,
}

impl Herdr {
    /// Returns the host and the task that watches herdr: it tells what is seen, and finds herdr again when it was away.
    /// Without the task calls still work; nothing is seen then.
    pub fn new(options: Options) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (seen, _) = broadcast::channel(SIGHTINGS);
        let down = format!("herdr was not asked yet ({})", options.socket.display());
        let desk = Arc::new(Desk {
            options,
            state: Mutex::new(State { down: Some(down), ..State::default() }),
            seen,
            nudge: Notify::new(),
            arranging: tokio::sync::Mutex::new(()),
        });
        (Self { desk: Arc::clone(&desk) }, watch::run(desk))
    }

    /// Asks whether a herdr that we can speak with is there, and which; the error says why not.
    ///
    /// # Errors
    ///
    /// Fails where none answers in time, or one that is too old.
    pub async fn answers(&self, within: Duration) -> Result<Greeting, String> {
        match tokio::time::timeout(within, self.desk.greet()).await {
            Ok(answered) => answered.map_err(|fault| PaneError::from(fault).to_string()),
            Err(_) => Err(format!("herdr at {} does not answer within {within:?}", self.desk.options.socket.display())),
        }
    }
}

impl PaneHost for Herdr {
    fn word(&self) -> &'static str {
        "herdr"
    }

    fn down(&self) -> Option<String> {
        self.desk.state().down.clone()
    }

    fn start(&self, start: PaneStart) -> Boxed<Result<Pane, PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { start::start(&desk, start).await })
    }

    fn paste(&self, pane: Pane, text: Arc<str>) -> Boxed<Result<(), PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::paste(&desk, &pane, &text).await })
    }

    fn press(&self, pane: Pane, keys: Vec<Key>) -> Boxed<Result<(), PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::press(&desk, &pane, &keys).await })
    }

    fn screen(&self, pane: Pane) -> Boxed<Result<Screen, PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::screen(&desk, &pane).await })
    }

    fn processes(&self, pane: Pane) -> Boxed<Result<Vec<Process>, PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::processes(&desk, &pane).await })
    }

    fn close(&self, pane: Pane) -> Boxed<Result<(), PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::close(&desk, &pane).await })
    }

    fn panes(&self) -> Boxed<Result<Vec<Listed>, PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::panes(&desk).await })
    }

    fn pane_of(&self, lineage: Vec<Process>) -> Boxed<Result<Option<Pane>, PaneError>> {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { find::pane_of(&desk, &lineage).await })
    }

    fn seen(&self) -> broadcast::Receiver<PaneSeen> {
        self.desk.seen.subscribe()
    }
}

/// What all calls and the watch share.
struct Desk {
    options: Options,
    state: Mutex<State>,
    seen: broadcast::Sender<PaneSeen>,
    /// Wakes the watch: something that it should look at.
    nudge: Notify,
    /// Held while tabs are made and moved, so that there is one workspace and one order.
    arranging: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    down: Option<String>,
    /// Whether this server's protocol was found to be one that we speak.
    is_known: bool,
    /// The panes that were handed out, by the process in them.
    known: HashMap<Process, Known>,
    /// Which process leads which terminal; an id of a terminal is never used again.
    roots: HashMap<String, Process>,
}

/// A pane that somebody else has in hand.
struct Known {
    /// All ids by which it was handed out; a move to another workspace gives it a new one.
    ids: Vec<String>,
    slot: Option<Slot>,
    /// Until when it is looked at for changes, since somebody looked; and what it showed last.
    looked_at: Option<(Instant, Vec<String>)>,
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, seen: PaneSeen) {
        // Nobody may be listening, which is fine.
        let _ = self.seen.send(seen);
    }

    /// Remembers that a pane was handed out.
    fn hand_out(&self, pane: &Pane, slot: Option<Slot>) {
        let mut state = self.state();
        let known = state.known.entry(pane.root).or_insert(Known { ids: Vec::new(), slot: None, looked_at: None });
        if !known.ids.contains(&pane.id) {
            known.ids.push(pane.id.clone());
        }
        if slot.is_some() {
            known.slot = slot;
        }
    }
}
