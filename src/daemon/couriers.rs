//! The small tasks that carry what one room reports to the engine.
//! They carry in the order in which things were told and judge nothing; what is late or doubled the fleet sorts out.

use std::time::Duration;

use tokio::sync::mpsc::{Receiver, UnboundedReceiver};

use crate::charter::Upward;
use crate::engine::Handle;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::time::Span;
use crate::launch::trees::Trees;
use crate::launch::whole::{NoRoom, Wholes};

/// How long a full disk is left alone before a long reply is tried again.
const ROOM: Duration = Duration::from_millis(500);

/// Carries what launchers saw. Long replies are put into files on the way.
pub async fn sightings(handle: Handle, mut seen: Receiver<Sighting>, wholes: Wholes) {
    while let Some(sighting) = seen.recv().await {
        let sighting = match sighting {
            Sighting::Finished { worker, turn, finish, idle } if Wholes::is_long(&finish) => {
                // The turn was handed out, so the fleet that was published knows it.
                let shape = handle.fleet().turn(turn).and_then(|turn| turn.shape.clone());
                let wholes = wholes.clone();
                let look = move |finish| wholes.settle(turn, shape.as_deref(), finish);
                let Some(finish) = looked_at(turn, *finish, look).await else { return };
                Sighting::Finished { worker, turn, finish: Box::new(finish), idle }
            }
            other => other,
        };
        handle.seen(sighting).await;
    }
}

/// Has a long reply looked at until there is room for it: what other workers say could not be stored before that either.
/// It ends without an answer only when the daemon goes down.
async fn looked_at(
    turn: TurnId,
    finish: Finish,
    look: impl Fn(Finish) -> Result<Finish, NoRoom> + Clone + Send + 'static,
) -> Option<Finish> {
    let mut is_told = false;
    loop {
        let (look, finish_now) = (look.clone(), finish.clone());
        match tokio::task::spawn_blocking(move || look(finish_now)).await {
            Ok(Ok(finish)) => return Some(finish),
            Ok(Err(error)) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::error!(%turn, %error, "what workers report waits until there is room");
                }
                tokio::time::sleep(ROOM).await;
            }
            // A fault of ours ends this turn, and not the daemon, which would meet it again at its next start.
            Err(error) if error.is_panic() => {
                tracing::error!(%turn, "looking at a long reply broke");
                return Some(Wholes::unseen(finish));
            }
            Err(_) => return None,
        }
    }
}

/// Carries what the charter says: steps of runs, new generations, answers of handlers.
pub async fn upward(handle: Handle, mut told: UnboundedReceiver<Upward>) {
    while let Some(message) = told.recv().await {
        match message {
            Upward::Run(input) => handle.run_input(input).await,
            Upward::Team(team) => handle.take_team(team).await,
            Upward::Act(action) => handle.act(action).await,
            Upward::Notice(text) => handle.notice(text).await,
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

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::fleet::envelope::Usage;
    use crate::fleet::turn::Outcome;
    use crate::fleet::work::Work;

    fn said(bytes: usize) -> Finish {
        let usage = Some(Usage { output: 7, ..Usage::default() });
        let work = Some(Work::default());
        let text = "x".repeat(bytes).into();
        Finish { text, why: None, usage, work, ..Finish::without_reply(Outcome::Replied, "") }
    }

    #[tokio::test]
    async fn a_panic_over_a_long_reply_ends_its_turn_and_keeps_what_it_took() {
        let finish = looked_at(TurnId(1), said(2 << 20), |_| panic!("on purpose")).await.expect("it is answered");
        assert_eq!((finish.outcome, finish.text.len()), (Outcome::Failed, 1 << 20));
        assert_eq!(finish.why.as_deref(), Some("its long reply could not be looked at"));
        assert_eq!((finish.usage, finish.work), (said(0).usage, said(0).work));
    }

    #[tokio::test]
    async fn a_long_reply_waits_for_room_and_is_whole_then() {
        let times = Arc::new(AtomicU32::new(0));
        let count = times.clone();
        let look = move |finish| match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err(NoRoom::from(std::io::Error::from(ErrorKind::StorageFull))),
            _ => Ok(finish),
        };
        assert_eq!(looked_at(TurnId(1), said(2 << 20), look).await, Some(said(2 << 20)));
        assert_eq!(times.load(Ordering::SeqCst), 2);
    }
}
