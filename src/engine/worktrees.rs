//! Worktrees of workers as the doors show them, and what may be asked of them. Field names here are a promise to every
//! client. What a tree is and what keeps one is the launchers' matter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::handle::Handle;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{self, Verb};
use crate::fleet::time::Time;
use crate::fleet::work::Work;

/// The worktrees of workers: those that stand, and those in the trash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worktrees {
    /// Those that stand, by name.
    pub worktrees: Vec<WorktreeView>,
    /// Those that were removed, by name.
    pub trash: Vec<TrashView>,
}

/// A worktree that stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeView {
    /// Its name: that of its worker with the number of the session.
    pub name: String,
    /// `making`, `in_use` by its worker, or `kept` although that is gone.
    pub state: String,
    /// Where it is.
    pub path: String,
    /// The repository's checkout that it was made from.
    pub repo: String,
    /// Its branch.
    pub branch: String,
    /// The commit that it began with.
    pub base: String,
    /// What the base lacked of the work in the checkout, for people; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// What was done in it; absent when git cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// Why it is kept and what to do about it, as it was when it was last to be removed.
    #[serde(default)]
    pub kept: Vec<String>,
}

/// A worktree in the trash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrashView {
    /// Its name there.
    pub name: String,
    /// Where it is; git still works there.
    pub path: String,
    /// The branch that it had.
    pub branch: String,
    /// The ref that holds commits that no branch has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// When it was removed.
    pub removed: Time,
    /// When it is deleted.
    pub until: Time,
}

/// A worktree to be removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveWorktreeRequest {
    /// Its name.
    pub name: String,
}

impl Handle {
    /// Returns the worktrees of workers.
    pub async fn worktrees(&self, caller: &Caller) -> Result<Worktrees, Refusal> {
        rules::check(caller, Verb::List)?;
        self.launchers().worktrees().await
    }

    /// Moves the worktree of a worker that is gone to the trash, unless work would be lost.
    pub async fn remove_worktree(&self, caller: &Caller, request: RemoveWorktreeRequest) -> Result<TrashView, Refusal> {
        rules::check(caller, Verb::Stop)?;
        let fleet = self.fleet();
        let owner = fleet.workers().find(|worker| {
            let mut sessions = [Some(worker.session), worker.life.tree].into_iter().flatten();
            sessions.any(|session| format!("{}-{session}", worker.name) == request.name)
        });
        if let Some(worker) = owner {
            let says = format!("worktree '{}' belongs to worker '{}', which lives", request.name, worker.name);
            return Err(Refusal::new(RefusalKind::Conflict, says)
                .hint(format!("stop the worker; its worktree goes with it: fleetd stop {}", worker.name)));
        }
        self.launchers().remove_worktree(request.name).await
    }
}
