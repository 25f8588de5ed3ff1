//! What an earlier daemon left in the turns' directory: files of turns that have ended, and halves of removals.
//!
//! It runs once, beside the first orders, and touches no turn that is open. Files that an envelope points to stay.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Desk, orders};
use crate::fleet::ids::TurnId;
use crate::launch::turn_dir::TurnDir;

/// Removes what nobody will ask for again.
pub(super) async fn leftovers(desk: Arc<Desk>) {
    let turns = desk.options.turns.clone();
    let listed = tokio::task::spawn_blocking(move || list(turns)).await.unwrap_or_default();
    for path in listed {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_needless = match name.parse::<TurnId>() {
            Ok(turn) => is_over(&desk, turn).await,
            Err(_) => name.starts_with(TurnDir::REMOVED),
        };
        if is_needless {
            let removed = tokio::task::spawn_blocking(move || remove_quiet(&TurnDir::new(path))).await;
            drop(removed);
        }
    }
}

/// When the store cannot say, the answer is no: a file too many harms nobody.
async fn is_over(desk: &Desk, turn: TurnId) -> bool {
    let journal = &desk.options.journal;
    match journal.turn(turn).await {
        Ok(Some(found)) if found.state.is_settled() => {
            let envelope = journal.envelope(turn).await;
            envelope.is_ok_and(|envelope| envelope.is_none_or(|envelope| envelope.truncated.is_none()))
        }
        Ok(Some(_)) | Err(_) => false,
        Ok(None) => true,
    }
}

fn remove_quiet(dir: &TurnDir) {
    // One whose process still runs is about to be interrupted by order; it is forgotten after that.
    let runs = dir.started().is_ok_and(|started| started.is_some_and(|started| started.is_alive()));
    if !runs {
        orders::remove(dir);
    }
}

fn list(turns: PathBuf) -> Vec<PathBuf> {
    fs::read_dir(turns).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
