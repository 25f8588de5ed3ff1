//! What is left in the turns' directory: files of turns that have ended, and halves of removals.
//!
//! It runs beside the orders and touches no turn that is open. Files that an envelope points to stay as long as the
//! store has that envelope: outputs of processes, and long replies of sessions.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::Desk;
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::TurnId;
use crate::launch::turn_dir::TurnDir;

/// Removes what nobody will ask for again, but nothing of a turn that has a watch.
pub(super) async fn leftovers(desk: Arc<Desk>, watched: HashSet<TurnId>) {
    let turns = desk.options.turns.clone();
    let listed = tokio::task::spawn_blocking(move || list(turns)).await.unwrap_or_default();
    for path in listed {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name.parse::<TurnId>() {
            Ok(turn) if watched.contains(&turn) => {}
            Ok(turn) => forget(desk.clone(), turn).await,
            Err(_) if name.starts_with(TurnDir::REMOVED) => remove(TurnDir::new(path)).await,
            Err(_) => {}
        }
    }
}

/// Removes the files of a turn, unless somebody may still ask for them.
pub(super) async fn forget(desk: Arc<Desk>, turn: TurnId) {
    if is_over(&desk, turn).await {
        remove(desk.dir(turn)).await;
    }
}

/// When the store cannot say, the answer is no: a file too many harms nobody.
async fn is_over(desk: &Desk, turn: TurnId) -> bool {
    let journal = &desk.options.journal;
    let points = |envelope: Option<Arc<Envelope>>| envelope.is_some_and(|envelope| envelope.truncated.is_some());
    // A late reply waits until it is collected, whatever history has forgotten of its turn by then.
    if !journal.late(turn).await.is_ok_and(|late| !points(late)) {
        return false;
    }
    match journal.turn(turn).await {
        Ok(Some(found)) if found.state.is_settled() => {
            journal.envelope(turn).await.is_ok_and(|envelope| !points(envelope))
        }
        Ok(Some(_)) | Err(_) => false,
        Ok(None) => true,
    }
}

async fn remove(dir: TurnDir) {
    drop(tokio::task::spawn_blocking(move || remove_quiet(&dir)).await);
}

fn remove_quiet(dir: &TurnDir) {
    // One whose process still runs is about to be interrupted by order; it is forgotten after that.
    let runs = dir.started().is_ok_and(|started| started.is_some_and(|started| started.is_alive()));
    if !runs && let Err(error) = dir.remove() {
        tracing::warn!(%error, "a turn's files stay until the next look");
    }
}

fn list(turns: PathBuf) -> Vec<PathBuf> {
    fs::read_dir(turns).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
