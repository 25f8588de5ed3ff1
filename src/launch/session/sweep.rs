//! Sessions of which the fleet knows nothing: those of a daemon whose store is lost, or that died while it cleared away.
//! They are ended and reported, for nobody could reach them any more.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use super::super::ending;
use super::dir::{SessionDir, Standing};
use super::tree;
use crate::fleet::ids::WorkerName;
use crate::launch::turn_dir::TurnDir;
use crate::launch::worktree::Made;
use crate::process::ProcessId;

/// Whose launcher keeps a session, which is seen by the end of its directory's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::launch) enum Kind {
    /// It is typed to.
    Typed,
    /// It reads lines.
    Lines,
    /// It is called.
    Api,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Typed, Kind::Lines, Kind::Api];

    fn end(self) -> &'static str {
        match self {
            Kind::Typed => "",
            Kind::Lines => ".lines",
            Kind::Api => ".api",
        }
    }

    fn of(name: &str) -> Kind {
        [Kind::Lines, Kind::Api].into_iter().find(|kind| name.ends_with(kind.end())).unwrap_or(Kind::Typed)
    }

    /// Returns the name of the directory of a session of this kind.
    pub(in crate::launch) fn dir_name(self, worker: &WorkerName, session: u64) -> String {
        format!("{worker}-{session}{}", self.end())
    }

    /// Returns the name of a session without what its kind adds.
    pub(in crate::launch) fn plain(name: &str) -> &str {
        name.strip_suffix(Kind::of(name).end()).unwrap_or(name)
    }
}

/// Ends every session of this kind that has files and no keeper, and puts away every one of these worktrees that has none.
pub(in crate::launch) async fn leftovers(sessions: PathBuf, kind: Kind, kept: HashSet<String>, trees: Vec<Made>) {
    let place = sessions.clone();
    // A tree belongs to whoever has the session's directory; one without any is nobody's, and put away by one of them.
    let is_unowned = |made: &Made| {
        let name = |kind: Kind| format!("{}{}", made.name(), kind.end());
        let owner = Kind::ALL.into_iter().find(|kind| place.join(name(*kind)).exists());
        owner.unwrap_or(Kind::Typed) == kind && !kept.contains(&name(kind))
    };
    let unowned: Vec<Made> = trees.into_iter().filter(is_unowned).collect();
    let listed = tokio::task::spawn_blocking(move || list(sessions, kind, &kept)).await.unwrap_or_default();
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

fn list(sessions: PathBuf, kind: Kind, kept: &HashSet<String>) -> Vec<PathBuf> {
    let entries = fs::read_dir(sessions).into_iter().flatten().flatten();
    let unknown = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        Kind::of(&name) == kind && !kept.contains(name.strip_prefix(TurnDir::REMOVED).unwrap_or(&name))
    });
    unknown.map(|entry| entry.path()).collect()
}
