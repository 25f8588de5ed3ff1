//! Sessions of which the fleet knows nothing: those of a daemon whose store is lost, or that died while it cleared away.
//! They are ended and reported, for nobody could reach them any more.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::ending;
use super::files::{SessionDir, Standing};
use super::{Desk, tree};
use crate::launch::turn_dir::TurnDir;
use crate::launch::worktree::Made;
use crate::process::ProcessId;

/// Ends every session that has files and no keeper, and puts away every worktree that has none.
pub(super) async fn leftovers(desk: Arc<Desk>, kept: HashSet<String>, trees: Vec<Made>) {
    let sessions = desk.options.sessions.clone();
    let unowned: Vec<Made> = trees.into_iter().filter(|made| !kept.contains(&made.name())).collect();
    let listed = tokio::task::spawn_blocking(move || list(sessions, &kept)).await.unwrap_or_default();
    for path in listed {
        let dir = SessionDir::new(path);
        match dir.standing() {
            Ok(Standing::Running(root)) => {
                tracing::warn!(session = %dir.path().display(), pid = root.pid, "a session that the fleet does not know is ended");
                ending::end(root).await;
            }
            Ok(Standing::Ended(started, None)) if started.is_this_boot() && started.process != ProcessId::NOBODY => {
                let root = started.process;
                drop(tokio::task::spawn_blocking(move || ending::kill(root)).await);
            }
            Ok(_) => {}
            // What cannot be read may belong to somebody: it stays.
            Err(error) => {
                tracing::warn!(%error, "files of a session stay");
                continue;
            }
        }
        if let Err(error) = dir.on_disk(SessionDir::remove).await {
            tracing::warn!(%error, "files of a session that nobody knows stay");
        }
    }
    // After the sessions, whose processes were in them.
    for made in unowned {
        tracing::warn!(worktree = made.name(), "a worktree that the fleet does not know is put away");
        drop(tree::put_away(&desk, made).await);
    }
}

fn list(sessions: PathBuf, kept: &HashSet<String>) -> Vec<PathBuf> {
    let entries = fs::read_dir(sessions).into_iter().flatten().flatten();
    let unknown = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !kept.contains(name.strip_prefix(TurnDir::REMOVED).unwrap_or(&name))
    });
    unknown.map(|entry| entry.path()).collect()
}
