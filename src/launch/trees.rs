//! All worktrees of a daemon, as its doors and its hourly round ask for them: listed, removed, tidied.
//!
//! Where they are stands here; what keeps one is `worktree`'s. Which worker lives is not known: who asks has looked.

use std::path::{Path, PathBuf};

use super::turn_dir::now;
use super::worktree::{Entry, Made, Progress, entries, remove, standing, tidy};
use crate::engine::ports::Boxed;
use crate::engine::worktrees::{TrashView, WorktreeView, Worktrees};
use crate::fleet::refusal::{Refusal, RefusalKind, nearest};
use crate::fleet::time::{Span, Time};

/// Where the worktrees of a daemon are, and how long they lie in the trash.
#[derive(Clone, Debug)]
pub struct Trees {
    trees: PathBuf,
    trash: PathBuf,
    ttl: Span,
}

impl Trees {
    /// Returns those of a state directory.
    pub fn of(state: &Path, ttl: Span) -> Self {
        Self { trees: state.join("worktrees"), trash: state.join("trash"), ttl }
    }

    /// Lists them. It blocks.
    ///
    /// # Errors
    ///
    /// Fails when the directory cannot be read.
    pub fn list(&self) -> Result<Worktrees, Refusal> {
        let worktrees = self.all()?.iter().map(view).collect();
        // One that is on its way is still where it was.
        let trash = entries(&self.trash).iter().filter(|entry| entry.done).map(|entry| self.in_trash(entry)).collect();
        Ok(Worktrees { worktrees, trash })
    }

    /// Moves one to the trash. It blocks.
    ///
    /// # Errors
    ///
    /// Fails when there is none of this name, or with every reason to keep it.
    pub fn remove(&self, name: &str) -> Result<TrashView, Refusal> {
        let all = self.all()?;
        let Some(made) = all.iter().find(|made| made.name() == name) else {
            let refusal = Refusal::new(RefusalKind::Unknown, format!("there is no worktree '{name}'"));
            let names: Vec<String> = all.iter().map(Made::name).collect();
            let near = nearest(name, names.iter().map(String::as_str)).map(|near| format!("did you mean '{near}'?"));
            let valid = if names.is_empty() { "there is none".into() } else { format!("valid: {}", names.join(", ")) };
            return Err(near.into_iter().chain([valid]).fold(refusal, Refusal::hint));
        };
        match remove(made, &self.trash, Time(now())) {
            Ok(removed) => match removed.trash {
                Some(entry) => Ok(self.in_trash(&entry)),
                None => {
                    let says = format!("worktree '{name}' was gone already: somebody removed it by hand");
                    Err(Refusal::new(RefusalKind::Unknown, says))
                }
            },
            Err(kept) => {
                let refusal =
                    Refusal::new(RefusalKind::Conflict, format!("worktree '{name}' is kept: work could be lost"));
                Err(kept.reasons.iter().map(ToString::to_string).fold(refusal, Refusal::hint))
            }
        }
    }

    /// Tries those again that were kept, and sweeps the trash. It blocks.
    pub fn tidy(&self) {
        tidy(&self.trees, &self.trash, Time(now()), self.ttl);
    }

    fn all(&self) -> Result<Vec<Made>, Refusal> {
        Made::all(&self.trees).map_err(|error| Refusal::new(RefusalKind::Unavailable, error.to_string()))
    }

    fn in_trash(&self, entry: &Entry) -> TrashView {
        TrashView {
            name: entry.name(),
            path: entry.tree().display().to_string(),
            branch: entry.made.branch.clone(),
            held_by: entry.kept.as_ref().map(|(name, _)| name.clone()),
            removed: entry.at,
            until: entry.at + self.ttl,
        }
    }
}

fn view(made: &Made) -> WorktreeView {
    let state = match made.progress {
        Progress::Begun | Progress::Made => "making",
        Progress::SetUp => "in_use",
        Progress::Released => "kept",
    };
    WorktreeView {
        name: made.name(),
        state: state.into(),
        path: made.path.display().to_string(),
        repo: made.repo.display().to_string(),
        branch: made.branch.clone(),
        base: made.base.clone(),
        missing: Some(made.missing.to_string()).filter(|missing| !missing.is_empty()),
        work: standing(made).ok(),
        kept: made.kept.clone(),
    }
}

/// Asks git and the disk where blocking is allowed.
pub(super) fn on_disk<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Boxed<Result<T, Refusal>> {
    Box::pin(async move {
        let asked = tokio::task::spawn_blocking(ask).await;
        asked.unwrap_or_else(|_| Err(Refusal::new(RefusalKind::Unavailable, "fleetd is going down")))
    })
}
