//! `fleetd panes`: the pane server of one state directory. It owns the terminals of the panes and their screens, and
//! outlives the daemons that are its clients.
//!
//! A process of its own with one thread and no runtime: it waits for whatever can happen (`round`), hears clients
//! before it reads what panes print, and reads that in small slices, the quietest pane first. What a screen means, or
//! when something is typed, is not known here.

mod client;
mod desk;
mod end;
mod frame;
mod log;
mod pane;
mod queue;
mod round;
mod screen;
mod spawn;
mod start;
mod wake;

use std::path::PathBuf;
use std::time::Duration;

pub use self::log::Bounded;
pub use self::start::{HELD, READY, ServerError, take};

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The state directory.
    pub state: PathBuf,
    /// How long it stays when it has no pane and no client any more.
    pub rest: Duration,
}

/// How long a server stays without panes and clients, if nothing else is said.
pub const REST: Duration = Duration::from_secs(10);
/// Panes at most, dead ones not counted.
const MAX_PANES: usize = 256;
/// Clients at most.
const MAX_CLIENTS: usize = 128;
/// Dead panes that are kept so that their last screen can be read.
const MAX_DEAD: usize = 32;
/// How long they are kept.
const KEEP_DEAD: Duration = Duration::from_secs(600);
/// The size of a pane that nobody watches. Wide enough for what agents draw, and what most terminals can show.
const SIZE: super::wire::Size = super::wire::Size { rows: 40, columns: 120 };
/// The least and the greatest size that a watcher can ask for; memory follows it.
const LEAST: super::wire::Size = super::wire::Size { rows: 2, columns: 10 };
const GREATEST: super::wire::Size = super::wire::Size { rows: 300, columns: 500 };
