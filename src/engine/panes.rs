//! Where sessions live, as a port: pane hosts fulfil it, launchers use it.
//!
//! A host starts programs in panes, types into them and shows their screens. It reports what it sees and decides
//! nothing: which text is typed when is the launcher's matter, what it means the fleet's. One contract suite runs
//! against every host (`tests/it/panes/contract.rs`), so what is written here is what it checks.

mod key;
mod text;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::ports::Boxed;
use crate::fleet::ids::{RoleName, WorkerName};
use crate::fleet::worker::Process;

pub use key::Key;
pub use text::clean;

/// Where a session shall be shown: one place a worker, in a stable order (role, then number of the name).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// The worker's role.
    pub role: RoleName,
    /// The worker; its name is the label that people see.
    pub worker: WorkerName,
}

/// What a host needs to start a program in a pane of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneStart {
    /// Where it is shown.
    pub slot: Slot,
    /// The program and its arguments, started without a shell. Never holds a secret: it is shown and kept by hosts.
    pub argv: Vec<OsString>,
    /// Its whole environment, but for what the host itself must set to work (such as `TERM`).
    pub env: BTreeMap<OsString, OsString>,
    /// Where it runs: an absolute path of a directory.
    pub cwd: PathBuf,
}

/// A pane with the process that was started in it: what is typed goes to this process's terminal or nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pane {
    /// What its host calls it; means something to this host alone, and maybe not for long.
    pub id: String,
    /// The program that was started, which leads the terminal's session.
    pub root: Process,
}

/// A pane as a host lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The pane.
    pub pane: Pane,
    /// Its label, which people may have changed.
    pub label: Option<String>,
}

/// What a pane shows now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// Its rows from top to bottom, without trailing blanks; a row that goes on in the next one is still two.
    pub lines: Vec<String>,
    /// Its width in cells, where the host tells.
    pub columns: Option<u16>,
}

/// What a host saw; a hint to look, never the truth: it may come late, twice or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaneSeen {
    /// Something was printed in this pane.
    Changed(String),
    /// This pane is gone, or its program.
    Gone(String),
    /// The host cannot be reached, and why.
    Down(String),
    /// The host can be reached again: everything must be looked at anew.
    Up,
}

/// Why a host did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaneError {
    /// The pane is gone, or another process is in it. Nothing was typed.
    #[error("the pane is gone: {0}")]
    Gone(String),
    /// It cannot be done as asked (a missing program or directory, say). Nothing was left behind.
    #[error("{0}")]
    Refused(String),
    /// The host cannot be reached or is not able to now. Nothing was typed or started.
    #[error("{0}")]
    Unavailable(String),
    /// The host was asked and did not answer: it may have been done.
    #[error("it is not known whether it was done: {0}")]
    Unknown(String),
}

/// A program that shows sessions in panes. Every call has a bound of its own; no call is repeated by the host if it
/// may have been done.
pub trait PaneHost: Send + Sync + 'static {
    /// Returns its word: `embedded`, `herdr`.
    fn word(&self) -> &'static str;
    /// Returns why it cannot be reached now, if so.
    fn down(&self) -> Option<String>;
    /// Starts a program in a new pane. A wrong directory or program is `Refused` before anything is left behind.
    fn start(&self, start: PaneStart) -> Boxed<Result<Pane, PaneError>>;
    /// Types a text as one paste (bracketed where the program asked for it), cleaned of control characters by
    /// [`clean`]. Just before it is typed, the pane's process is compared with `pane.root`.
    fn paste(&self, pane: Pane, text: Arc<str>) -> Boxed<Result<(), PaneError>>;
    /// Presses keys one after the other. The pane's process is compared as for a paste.
    fn press(&self, pane: Pane, keys: Vec<Key>) -> Boxed<Result<(), PaneError>>;
    /// Returns what the pane shows. Looking never changes what the program sees.
    fn screen(&self, pane: Pane) -> Boxed<Result<Screen, PaneError>>;
    /// Returns the living processes of the pane's terminal and below its root, root included.
    fn processes(&self, pane: Pane) -> Boxed<Result<Vec<Process>, PaneError>>;
    /// Removes the pane; whatever still runs in it gets HUP, and KILL if that does not serve. One that is gone is fine.
    /// A successor in the same place is left alone.
    fn close(&self, pane: Pane) -> Boxed<Result<(), PaneError>>;
    /// Returns the panes of this fleet.
    fn panes(&self) -> Boxed<Result<Vec<Listed>, PaneError>>;
    /// Returns the pane, also one that is not of this fleet, in whose terminal a process runs: `lineage` is the
    /// process and its ancestors, nearest first.
    fn pane_of(&self, lineage: Vec<Process>) -> Boxed<Result<Option<Pane>, PaneError>>;
    /// Returns what it sees from now on. Whoever falls behind is told so and must look at everything anew.
    fn seen(&self) -> broadcast::Receiver<PaneSeen>;
}
