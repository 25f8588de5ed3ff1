//! Sessions of which the fleet knows nothing: those of a daemon whose store is lost, or that died while it cleared away.
//! They are ended and reported, for nobody could reach them any more.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use super::super::ending;
use super::dir::{SessionDir, Standing};
use super::tree;
use crate::launch::turn_dir::TurnDir;
use crate::launch::worktree::Made;
use crate::process::ProcessId;

/// How the directory of a session ends that reads lines: its launcher keeps those, and no others.
pub(in crate::launch) const LINES: &str = ".lines";

/// Ends every session that has files and no keeper, of those that read lines or of all others, and puts away every one
/// of these worktrees that has none.
pub(in crate::launch) async fn leftovers(sessions: PathBuf, lines: bool, kept: HashSet<String>, trees: Vec<Made>) {
    let place = sessions.clone();
    // A tree belongs to whoever has the session's directory; one without any is nobody's, and put away by one of the two.
    let is_unowned = |made: &Made| {
        let name = format!("{}{LINES}", made.name());
        match (lines, place.join(&name).exists()) {
            (true, true) => !kept.contains(&name),
            (false, false) => !kept.contains(&made.name()),
            _ => false,
        }
    };
    let unowned: Vec<Made> = trees.into_iter().filter(is_unowned).collect();
    let listed = tokio::task::spawn_blocking(move || list(sessions, lines, &kept)).await.unwrap_or_default();
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
        drop(tree::put_away(&place, made).await);
    }
}

fn list(sessions: PathBuf, lines: bool, kept: &HashSet<String>) -> Vec<PathBuf> {
    let entries = fs::read_dir(sessions).into_iter().flatten().flatten();
    let unknown = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.ends_with(LINES) == lines && !kept.contains(name.strip_prefix(TurnDir::REMOVED).unwrap_or(&name))
    });
    unknown.map(|entry| entry.path()).collect()
}
