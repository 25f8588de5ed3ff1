//! How a session ended whose pane-exec is gone by itself: by its record; and what a killed one left running is ended.
//! What that means for a turn, its keeper says.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::ending;
use super::dir::{SessionDir, Standing};
use crate::fleet::ids::WorkerName;
use crate::launch::turn_dir::ExitRecord;

/// How long to wait before what cannot be read now is tried again.
const REST: Duration = Duration::from_secs(1);

/// Returns the record of the end, if pane-exec could leave one.
pub(in crate::launch) async fn how_it_ended(
    dir: &SessionDir,
    worker: &WorkerName,
    stop: &CancellationToken,
) -> Option<Box<ExitRecord>> {
    let (started, record) = loop {
        match dir.standing() {
            Ok(Standing::Ended(started, record)) => break (Some(started), record),
            Ok(_) => break (None, None),
            Err(error) => {
                tracing::warn!(%worker, %error, "how a session ended cannot be read");
                tokio::select! {
                    () = tokio::time::sleep(REST) => {}
                    () = stop.cancelled() => {}
                }
            }
        }
    };
    if record.is_none()
        && let Some(root) = started.filter(|started| started.is_this_boot()).map(|started| started.process)
    {
        tracing::warn!(%worker, pid = root.pid, "a session's pane-exec was killed, and not by fleetd");
        drop(dir.on_disk(move |_| ending::kill(root)).await);
    }
    record
}
