//! The launch room: how a worker's program is planned, started, watched and ended.
//!
//! Here live the parent program of every worker (`pane_exec`), the directory through which it and the daemon speak
//! (`turn_dir`), and the launchers: `exec` for one process a turn, `typed` for sessions in panes. No rule about turns
//! may come in here: this room reports what happened, the fleet decides what it means.

mod ended;
mod ending;
pub mod env;
pub mod exec;
pub mod pane_exec;
pub mod plan;
pub mod trees;
pub mod turn_dir;
pub mod typed;
pub mod worktree;

pub use ended::ended;

use crate::engine::ports::{Boxed, Launchers};
use crate::engine::worktrees::{TrashView, Worktrees};
use crate::fleet::input::WorkEffect;
use crate::fleet::refusal::Refusal;

/// The launchers of this version as one: an order goes to the one that starts such workers.
pub struct Both {
    /// For workers that live only inside their turns.
    pub exec: exec::Exec,
    /// For workers with a session.
    pub typed: typed::Typed,
    /// The worktrees of those.
    pub trees: trees::Trees,
}

impl Launchers for Both {
    fn carry_out(&self, order: WorkEffect) {
        match &order {
            WorkEffect::Start(worker)
            | WorkEffect::Watch(worker)
            | WorkEffect::Hand(worker, _)
            | WorkEffect::Replied(worker, _)
            | WorkEffect::Interrupt(worker, _)
            | WorkEffect::Stop(worker) => match worker.profile.has_session() {
                true => self.typed.carry_out(order),
                false => self.exec.carry_out(order),
            },
            WorkEffect::Nudge(..) => self.typed.carry_out(order),
            WorkEffect::Forget(_) => {
                self.typed.carry_out(order.clone());
                self.exec.carry_out(order);
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        self.typed.trouble()
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
