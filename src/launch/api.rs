//! The launcher of workers that are called over HTTP: a session is a program in a pane, which people may watch, with an API
//! by which it is given texts and tells what it does. It lives between turns and daemons.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, its own record and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here.

mod attach;
mod events;
mod hand;
mod hearing;
mod http;
mod keeper;
mod sessions;
mod settle;
mod start;
mod stop;
mod story;

use std::future::Future;
use std::sync::Arc;

use super::session::common::Common;
use super::session::front::{Front, Pause};
use super::session::handed::HandedOn;
use crate::engine::panes::PaneHost;

/// Returns the launcher, whose programs are in panes of this host, and the task that carries its orders out. When the task
/// is dropped, sessions go on and the next daemon adopts them.
pub fn launcher(common: Common, host: Arc<dyn PaneHost>) -> (Front, impl Future<Output = ()> + Send + 'static) {
    let (front, told) = Front::new();
    let (pause, handed_on, taken) = (front.pause(), HandedOn::default(), attach::Taken::default());
    let desk = Arc::new(Desk { common, host, pause, handed_on, taken });
    (front, sessions::run(desk, told))
}

/// What every keeper shares.
struct Desk {
    common: Common,
    /// Where panes are.
    host: Arc<dyn PaneHost>,
    /// Whether nothing may be given.
    pause: Pause,
    /// Sessions whose worktree is not put away at their end: another takes it over.
    handed_on: HandedOn,
    /// The programs of others that have a worker.
    taken: attach::Taken,
}

impl Desk {
    fn host(&self) -> &dyn PaneHost {
        &*self.host
    }
}
