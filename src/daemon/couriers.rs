//! The small tasks that carry what one room reports to the engine.
//! They carry in the order in which things were told and judge nothing; what is late or doubled the fleet sorts out.

use std::time::Duration;

use tokio::sync::mpsc::{Receiver, UnboundedReceiver};

use crate::charter::Upward;
use crate::engine::Handle;
use crate::fleet::input::Sighting;
use crate::fleet::time::Span;
use crate::launch::trees::Trees;
use crate::launch::whole::Wholes;

/// Carries what launchers saw. Long replies are put into files on the way.
pub async fn sightings(handle: Handle, mut seen: Receiver<Sighting>, wholes: Wholes) {
    while let Some(sighting) = seen.recv().await {
        let sighting = match sighting {
            Sighting::Finished { worker, turn, finish, idle } if Wholes::is_long(&finish) => {
                // The turn was handed out, so the fleet that was published knows it.
                let shape = handle.fleet().turn(turn).and_then(|turn| turn.shape.clone());
                let wholes = wholes.clone();
                let work = tokio::task::spawn_blocking(move || wholes.settle(turn, shape.as_deref(), *finish));
                // It ends without an answer only when the daemon goes down.
                let Ok(finish) = work.await else { return };
                Sighting::Finished { worker, turn, finish: Box::new(finish), idle }
            }
            other => other,
        };
        handle.seen(sighting).await;
    }
}

/// Carries what the charter says: steps of runs, new generations, answers of handlers.
pub async fn upward(handle: Handle, mut told: UnboundedReceiver<Upward>) {
    while let Some(message) = told.recv().await {
        match message {
            Upward::Run(input) => handle.run_input(input).await,
            Upward::Team(team) => handle.take_team(team).await,
            Upward::Act(action) => handle.act(action).await,
        }
    }
}

/// Drops history that is older than the retention, now and then.
pub async fn prune(handle: Handle, retention: Span, every: Duration) {
    loop {
        let keep = handle.fleet().still_read();
        match handle.journal().prune(handle.now() - retention, keep).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "old history dropped"),
            Err(error) => tracing::warn!(%error, "old history could not be dropped"),
        }
        tokio::time::sleep(every).await;
    }
}

/// Tries worktrees again that were kept, and deletes what was long enough in the trash, now and then.
pub async fn tidy(trees: Trees, every: Duration) {
    loop {
        let round = trees.clone();
        if tokio::task::spawn_blocking(move || round.tidy()).await.is_err() {
            tracing::error!("the round through the worktrees broke");
        }
        tokio::time::sleep(every).await;
    }
}
