//! How any session comes up, whatever its program is given texts by: its worktree first, then started if nobody has, or
//! adopted if somebody has, and ready by the proof of its kind. What does not come up is ended whole.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::dir::{SessionDir, Standing, said};
use super::tree::{Tree, moved_in};
use crate::fleet::input::Sighting;
use crate::fleet::worker::{Worker, WorkerState};
use crate::launch::turn_dir::ExitRecord;
use crate::process::ProcessId;

/// How long to wait before what cannot be read or reached now is tried again.
const REST: Duration = Duration::from_secs(1);

/// What is in the way of a start.
pub(in crate::launch) enum Obstacle {
    /// It can never be started as it is.
    Final(String),
    /// A later try may succeed.
    Passing(String),
}

/// A keeper whose session is to come up.
pub(in crate::launch) trait Coming: Send {
    /// Returns whose session it is.
    fn worker(&mut self) -> &mut Arc<Worker>;
    /// Returns its directory.
    fn dir(&self) -> &SessionDir;
    /// Returns its worktree, which there may be.
    fn tree(&self) -> Tree<'_>;
    /// Tells that the session is to end.
    fn stop(&self) -> &CancellationToken;
    /// Takes up what an earlier daemon wrote down of it.
    fn recall(&mut self);
    /// Starts its pane-exec and waits until that has claimed the session.
    fn start(&mut self) -> impl Future<Output = Result<(), Obstacle>> + Send;
    /// Waits until its program is ready; else ends it and says why it did not come up.
    fn until_ready(&mut self, root: ProcessId, until: Instant) -> impl Future<Output = bool> + Send;
    /// It did not come up; `ran`: its program ran.
    fn not_up(&mut self, why: String, ran: bool) -> impl Future<Output = ()> + Send;
    /// It has ended while nobody kept it.
    fn report_gone(&mut self) -> impl Future<Output = ()> + Send;
    /// Tells the engine what was seen.
    fn tell(&self, sighting: Sighting) -> impl Future<Output = ()> + Send;
}

/// Brings a session up, or finds it; returns its pane-exec once it is known, and nothing when it is over already.
pub(in crate::launch) async fn begin(keeper: &mut impl Coming, may_start: bool) -> Option<ProcessId> {
    if may_start {
        // There before its tree, so that nobody takes that for one without a session.
        drop(keeper.dir().on_disk(SessionDir::create).await);
    }
    let settled: Result<Option<PathBuf>, String> = keeper.tree().settle_in(may_start).await;
    match settled {
        Ok(cwd) => *keeper.worker() = moved_in(keeper.worker(), cwd),
        Err(why) if seal(keeper).await => {
            keeper.not_up(why, false).await;
            return None;
        }
        Err(_) => {}
    }
    let until = Instant::now() + keeper.worker().profile.typing().ready_timeout.std();
    let is_starting = keeper.worker().state == WorkerState::Starting;
    loop {
        match keeper.dir().standing() {
            Ok(Standing::Running(root)) => {
                keeper.recall();
                let worker = keeper.worker().name.clone();
                keeper.tell(Sighting::Began { worker, process: root.into() }).await;
                if is_starting && !keeper.until_ready(root, until).await {
                    return None;
                }
                return Some(root);
            }
            Ok(Standing::Ended(_, record)) if is_starting && may_start => {
                keeper.not_up(said(record.as_deref()), true).await;
                return None;
            }
            Ok(Standing::Ended(..)) => {
                keeper.recall();
                keeper.report_gone().await;
                return None;
            }
            Ok(Standing::Unclaimed) if keeper.stop().is_cancelled() || !may_start => {
                match keeper.dir().on_disk(SessionDir::seal).await {
                    Ok(true) => {
                        keeper.report_gone().await;
                        return None;
                    }
                    Ok(false) => {}
                    Err(error) => trouble(keeper, &error.to_string()).await,
                }
            }
            Ok(Standing::Unclaimed) => match keeper.start().await {
                Ok(()) => {}
                Err(Obstacle::Passing(why)) if Instant::now() < until => trouble(keeper, &why).await,
                Err(Obstacle::Passing(why) | Obstacle::Final(why)) => {
                    // One that is still on its way must find that it is not wanted.
                    if seal(keeper).await {
                        keeper.not_up(why, false).await;
                        return None;
                    }
                }
            },
            Err(error) => trouble(keeper, &error.to_string()).await,
        }
    }
}

/// Returns how the program of a session ended whose process is gone.
pub(in crate::launch) fn record_of(dir: &SessionDir) -> Option<Box<ExitRecord>> {
    match dir.standing() {
        Ok(Standing::Ended(_, record)) => record,
        _ => None,
    }
}

async fn seal(keeper: &mut impl Coming) -> bool {
    matches!(keeper.dir().on_disk(SessionDir::seal).await, Ok(true))
}

async fn trouble(keeper: &mut impl Coming, why: &str) {
    tracing::warn!(worker = %keeper.worker().name, why, "a session cannot be started or found; it is tried until it can");
    let stop = keeper.stop().clone();
    tokio::select! {
        () = tokio::time::sleep(REST) => {}
        () = stop.cancelled() => {}
    }
}
