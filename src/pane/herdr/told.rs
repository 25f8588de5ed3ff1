//! What herdr tells, as far as this client uses it.
//! Fields that are not known are ignored: later versions have more.

use serde::Deserialize;

/// Protocols from here on are spoken.
pub const OLDEST_PROTOCOL: u64 = 19;

/// An answer: a result or an error. Its id is not looked at, since what does not parse is answered without one.
#[derive(Debug, Deserialize)]
pub struct Answer<T> {
    pub result: Option<T>,
    pub error: Option<Refusal>,
}

/// Why something was not done.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    pub code: String,
    pub message: String,
}

/// A result of which nothing is used.
#[derive(Debug, Deserialize)]
pub struct Done {}

/// The answer to `ping`: which herdr it is.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Greeting {
    /// Its version.
    pub version: String,
    /// The protocol that it speaks.
    pub protocol: u64,
}

/// The answer to `session.snapshot`.
#[derive(Debug, Deserialize)]
pub struct Snapshotted {
    pub snapshot: Snapshot,
}

/// All that is open.
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    pub workspaces: Vec<Workspace>,
    pub tabs: Vec<Tab>,
    pub panes: Vec<PaneTold>,
}

/// A workspace.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    pub workspace_id: String,
    pub label: String,
}

/// A tab. Without a label of its own it is labelled with its place.
#[derive(Debug, Deserialize)]
pub struct Tab {
    pub tab_id: String,
    pub workspace_id: String,
    pub label: String,
    pub pane_count: u64,
}

/// A pane.
#[derive(Debug, Deserialize)]
pub struct PaneTold {
    pub pane_id: String,
    pub terminal_id: String,
    pub workspace_id: String,
    pub tab_id: String,
    pub label: Option<String>,
}

/// The answer to `workspace.create`.
#[derive(Debug, Deserialize)]
pub struct WorkspaceCreated {
    pub workspace: Workspace,
    pub root_pane: PaneTold,
}

/// The answer to `layout.apply`.
#[derive(Debug, Deserialize)]
pub struct Applied {
    pub layout: Layout,
}

/// A tab's layout.
#[derive(Debug, Deserialize)]
pub struct Layout {
    pub workspace_id: String,
    pub tab_id: String,
    pub focused_pane_id: String,
}

/// The answer to `tab.list` and `tab.move`.
#[derive(Debug, Deserialize)]
pub struct Tabs {
    pub tabs: Vec<Tab>,
}

/// The answer to `pane.process_info`.
#[derive(Debug, Deserialize)]
pub struct ProcessTold {
    pub process_info: Processes,
}

/// The processes of a pane; only the one that leads its session is used, the others are read from the kernel.
#[derive(Debug, Deserialize)]
pub struct Processes {
    pub pane_id: String,
    pub shell_pid: u32,
}

/// The answer to `pane.read`.
#[derive(Debug, Deserialize)]
pub struct ReadTold {
    pub read: Read,
}

/// What a pane shows.
#[derive(Debug, Deserialize)]
pub struct Read {
    pub text: String,
}

/// An event of a stream: whom it is about. Its kind makes no difference, since each only means "look".
#[derive(Debug, Deserialize)]
pub struct Event {
    pub data: About,
}

/// Whom an event is about.
#[derive(Debug, Default, Deserialize)]
pub struct About {
    pub pane_id: Option<String>,
    pub previous_pane_id: Option<String>,
}
