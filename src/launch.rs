//! The launch room: how a worker's program is planned, started, watched and ended.
//!
//! Here live the parent program of every worker (`pane_exec`), the directory through which it and the daemon speak
//! (`turn_dir`), and the launchers: `exec` for one process a turn, `typed` for sessions in panes, `lines` for sessions
//! without a screen, `api` for sessions that are called over HTTP. No rule about turns may come in here: this room reports what happened, the fleet decides what it
//! means.

pub mod api;
mod ended;
mod ending;
pub mod env;
mod exclude;
pub mod exec;
pub mod fill;
mod guard;
mod home;
pub mod lines;
mod memory;
pub mod pane_exec;
pub mod plan;
pub mod policy;
mod read;
mod session;
mod task;
pub mod trees;
pub mod turn_dir;
pub mod typed;
pub mod whole;
pub mod worktree;

use std::sync::Arc;

use serde_json::Value;

use crate::engine::ports::{Boxed, Launchers, Report, Source};
use crate::engine::worktrees::{TrashView, Worktrees};
use crate::fleet::ids::WorkerName;
use crate::fleet::input::WorkEffect;
use crate::fleet::plan::Drive;
use crate::fleet::refusal::Refusal;
use crate::fleet::worker::Worker;

pub use ended::ended;
pub use session::common::Common;
pub use session::front::Front;

/// The launchers of this version as one: an order goes to the one that starts such workers.
pub struct All {
    /// For workers that live only inside their turns.
    pub exec: exec::Exec,
    /// For workers with a session that is typed to.
    pub typed: typed::Typed,
    /// For workers with a session that reads and writes lines.
    pub lines: Front,
    /// For workers with a session that is called over HTTP.
    pub api: Front,
    /// The worktrees of those.
    pub trees: trees::Trees,
}

impl All {
    fn of(&self, worker: &Worker) -> &dyn Launchers {
        let drive = worker.profile.plan.as_ref().map(|plan| plan.drive);
        match drive {
            _ if !worker.profile.has_session() => &self.exec,
            Some(Drive::Lines) => &self.lines,
            Some(Drive::Api) => &self.api,
            _ => &self.typed,
        }
    }

    /// Those of sessions.
    fn of_sessions(&self) -> [&dyn Launchers; 3] {
        [&self.typed, &self.lines, &self.api]
    }
}

impl Launchers for All {
    fn carry_out(&self, order: WorkEffect) {
        match &order {
            WorkEffect::Start(worker)
            | WorkEffect::Watch(worker)
            | WorkEffect::Hand(worker, _)
            | WorkEffect::Replied(worker, _)
            | WorkEffect::Interrupt(worker, _)
            | WorkEffect::Stop(worker) => self.of(worker).carry_out(order),
            WorkEffect::Nudge(..) | WorkEffect::Memory => self.typed.carry_out(order),
            // What a process was given, it has.
            WorkEffect::Pause(_) => self.of_sessions().into_iter().for_each(|one| one.carry_out(order.clone())),
            WorkEffect::Forget(_) => {
                self.of_sessions().into_iter().for_each(|one| one.carry_out(order.clone()));
                self.exec.carry_out(order);
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        self.typed.trouble()
    }

    fn report(&self, worker: Arc<Worker>, report: Report) -> Boxed<Result<Option<Value>, Refusal>> {
        self.of(&worker).report(worker, report)
    }

    fn listed(&self, worker: &WorkerName, source: Source) {
        // Whoever does not keep it has nothing to do with it.
        self.of_sessions().into_iter().for_each(|one| one.listed(worker, source));
    }

    fn worktrees(&self) -> Boxed<Result<Worktrees, Refusal>> {
        let trees = self.trees.clone();
        trees::on_disk(move || trees.list())
    }

    fn remove_worktree(&self, name: String) -> Boxed<Result<TrashView, Refusal>> {
        let trees = self.trees.clone();
        trees::on_disk(move || trees.remove(&name))
    }
}
