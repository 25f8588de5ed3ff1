//! Watches whoever sits in the seat: when that process ends, the seat is free.
//! A seat held by a token has no process; its time runs out in the fleet.

use std::sync::Arc;

use tokio::sync::watch;

use crate::engine::Handle;
use crate::fleet::Fleet;
use crate::fleet::seat::Sitter;
use crate::fleet::worker::Process;
use crate::launch;

/// Watches the seat for as long as the engine lives.
pub async fn keep(engine: Handle) {
    let mut published = engine.watch();
    loop {
        let Ok(taken) = published.wait_for(|fleet| sitting(fleet).is_some()).await.map(|fleet| sitting(&fleet)) else {
            return;
        };
        let Some(process) = taken else { continue };
        tokio::select! {
            left = left(&mut published, process) => match left {
                true => continue,
                false => return,
            },
            () = launch::ended(process) => {}
        }
        tracing::info!(pid = process.pid, "the leader's process has ended; the seat is free");
        engine.seat_gone(process).await;
        if !left(&mut published, process).await {
            return;
        }
    }
}

/// Returns once this process does not sit any more; false when the engine has ended.
async fn left(published: &mut watch::Receiver<Arc<Fleet>>, process: Process) -> bool {
    published.wait_for(|fleet| sitting(fleet) != Some(process)).await.is_ok()
}

fn sitting(fleet: &Fleet) -> Option<Process> {
    fleet.seat().and_then(|seat| match seat.sitter {
        Sitter::Process(process) => Some(process),
        Sitter::Session(_) | Sitter::Token => None,
    })
}
