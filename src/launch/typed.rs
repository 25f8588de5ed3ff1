//! The launcher of workers that are typed to: a session is a program in a pane, and lives between turns.
//!
//! Orders come from the engine, sightings go back. What a session came to is read from its directory, its pane and
//! living processes alone, so an order may be given twice, also after a restart. No agent is known here: how one is
//! read stands in its profile. No rule about turns may come in.

mod ends;
mod hand;
mod keeper;
mod leaders;
mod look;
mod nudge;
mod prompt_file;
mod report;
mod sessions;
mod settle;
mod start;
mod stop;
mod submit;
mod text;
mod transcript;
mod work;

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use super::session::common::Common;
use super::session::front::{Front, Pause};
use super::session::handed::HandedOn;
use crate::config::ScreenWords;
use crate::engine::panes::PaneHost;
use crate::engine::ports::{Boxed, Launchers, Report, Source};
use crate::fleet::ids::WorkerName;
use crate::fleet::input::WorkEffect;
use crate::fleet::refusal::Refusal;
use crate::fleet::worker::Worker;

/// The engine's way to the launcher.
pub struct Typed {
    front: Front,
    desk: Arc<Desk>,
}

impl Typed {
    /// Returns the launcher, whose programs are in panes of this host, and the task that carries its orders out. When the
    /// task is dropped, sessions go on and the next daemon adopts them. `leader` is what the operator says of the leader's
    /// screen; it is told nothing in its pane without.
    pub fn new(
        common: Common,
        host: Arc<dyn PaneHost>,
        leader: Option<ScreenWords>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (front, told) = Front::new();
        let (pause, handed_on) = (front.pause(), HandedOn::default());
        let desk = Arc::new(Desk { common, host, leader, telling: tokio::sync::Mutex::default(), pause, handed_on });
        (Self { front, desk: desk.clone() }, sessions::Sessions::new(desk).run(told))
    }
}

impl Launchers for Typed {
    fn carry_out(&self, order: WorkEffect) {
        self.front.carry_out(order);
    }

    fn report(&self, worker: Arc<Worker>, report: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        self.front.report(worker, report)
    }

    fn listed(&self, worker: &WorkerName, source: Source) {
        self.front.listed(worker, source);
    }

    fn trouble(&self) -> Option<String> {
        self.desk.host().down().map(|why| format!("panes: {why}"))
    }
}

/// What every keeper shares.
struct Desk {
    common: Common,
    /// Where panes are.
    host: Arc<dyn PaneHost>,
    /// What the operator says of the leader's screen; none if it is not to be told anything in its pane.
    leader: Option<ScreenWords>,
    /// Held by whoever tells the leader something: two would press Enter for one line.
    telling: tokio::sync::Mutex<()>,
    /// Whether nothing may be typed.
    pause: Pause,
    /// Sessions whose worktree is not put away at their end: another takes it over.
    handed_on: HandedOn,
}

impl Desk {
    fn host(&self) -> &dyn PaneHost {
        &*self.host
    }
}
