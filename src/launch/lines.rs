//! The launcher of workers that read and write lines of JSON: a session is a program without a screen, and lives between
//! turns and daemons.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, what it wrote and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here.

mod hearing;
mod keeper;
mod output;
mod pipe;
mod sessions;
mod start;
mod stop;
mod story;
mod text;
mod work;

use std::future::Future;
use std::sync::Arc;

use super::session::common::Common;
use super::session::front::{Front, Pause};
use super::session::handed::HandedOn;

/// Returns the launcher and the task that carries its orders out. When the task is dropped, sessions go on and the next
/// daemon adopts them.
pub fn launcher(common: Common) -> (Front, impl Future<Output = ()> + Send + 'static) {
    let (front, told) = Front::new();
    let desk = Arc::new(Desk { common, pause: front.pause(), handed_on: HandedOn::default() });
    (front, sessions::run(desk, told))
}

/// What every keeper shares.
struct Desk {
    common: Common,
    /// Whether nothing may be written.
    pause: Pause,
    /// Sessions whose worktree is not put away at their end: another takes it over.
    handed_on: HandedOn,
}
