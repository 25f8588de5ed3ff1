//! Which pane host a daemon has: what the settings name, or what answers at its start.
//! What a host is and does stands in `pane/`; here one is chosen, once, until the next start.

use std::path::Path;
use std::sync::Arc;

use crate::config::PaneHost as Chosen;
use crate::engine::panes::PaneHost;
use crate::engine::ports::Boxed;
use crate::pane::embedded::{self, Embedded};

/// Returns the host with the task that keeps it.
pub(super) async fn host(chosen: Chosen, state: &Path) -> (Arc<dyn PaneHost>, Boxed<()>) {
    let _ = chosen;
    let (host, task) = Embedded::new(embedded::Options::new(state));
    (Arc::new(host), Box::pin(task))
}

/// Returns this program by a path that a pane host can start. After an upgrade the file that it was started from is
/// another one now, which is the one to start.
pub(super) fn own_program() -> std::io::Result<std::path::PathBuf> {
    let path = std::env::current_exe()?;
    let replaced = path.to_string_lossy().strip_suffix(" (deleted)").map(Into::into);
    Ok(replaced.unwrap_or(path))
}
