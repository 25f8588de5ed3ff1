//! Watching a process that is not ours to wait for: a pane-exec of an earlier daemon, the leader's session.
//! Nobody is ended here.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::fleet::worker::Process;
use crate::process::ProcessId;

/// How often it is looked where the kernel cannot tell.
const LOOK: Duration = Duration::from_millis(100);

/// Returns when this very process runs no more, and at once if it is gone already.
pub async fn ended(process: Process) {
    let pid = u32::try_from(process.pid).unwrap_or(ProcessId::NOBODY.pid);
    gone(ProcessId { pid, start_time: process.start }).await;
}

/// Returns when this very process runs no more.
pub(super) async fn gone(process: ProcessId) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    let descriptor = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
    let watched = descriptor.and_then(watch);
    // Compared after it was opened: what the descriptor names cannot change any more.
    if !process.is_alive() {
        return;
    }
    if let Some(watched) = watched
        && watched.readable().await.is_ok()
    {
        return;
    }
    while process.is_alive() {
        tokio::time::sleep(LOOK).await;
    }
}

#[expect(
    deprecated,
    reason = "its successor is an unsafe function; for an OwnedFd, which is what is given here, this one is sound"
)]
fn watch(descriptor: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE).ok()
}
