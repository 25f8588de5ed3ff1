//! Which pane host a daemon has: what the settings name, or what answers at its start.
//! What a host is and does stands in `pane/`; here one is chosen, once, until the next start.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::PaneHost as Chosen;
use crate::engine::panes::PaneHost;
use crate::engine::ports::Boxed;
use crate::pane::embedded::{self, Embedded};
use crate::pane::herdr::{self, Herdr};

/// How long herdr may take to answer at the start before the embedded server is taken.
const ANSWER: Duration = Duration::from_secs(1);

/// A pane host with the task that keeps it.
type Kept = (Arc<dyn PaneHost>, Boxed<()>);

/// Returns the host of this daemon.
///
/// # Errors
///
/// Fails when herdr is wanted and nothing says where its socket would be.
pub(super) async fn host(chosen: Chosen, state: &Path) -> Result<Kept, String> {
    match chosen {
        Chosen::Embedded => Ok(embedded(state)),
        Chosen::Herdr => herdr().map(|(host, task)| -> Kept { (Arc::new(host), task) }),
        Chosen::Auto => match herdr() {
            Ok((host, task)) if host.answers(ANSWER).await.is_ok() => Ok((Arc::new(host), task)),
            _ => Ok(embedded(state)),
        },
    }
}

fn embedded(state: &Path) -> Kept {
    let (host, task) = Embedded::new(embedded::Options::new(state));
    (Arc::new(host), Box::pin(task))
}

fn herdr() -> Result<(Herdr, Boxed<()>), String> {
    let socket = herdr::socket(None, &herdr::Env::of_this_process())?;
    let (host, task) = Herdr::new(herdr::Options { workspace: workspace(), ..herdr::Options::new(socket) });
    Ok((host, Box::pin(task)))
}

/// Returns the name of the fleet's workspace: several fleets may share one herdr, each in its own project.
fn workspace() -> String {
    let project = std::env::current_dir().ok().and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
    project.map_or_else(|| "fleet".into(), |project| format!("fleet {project}"))
}

/// Returns the address under which workers on this machine reach the doors.
pub(super) fn url_of(listen: SocketAddr) -> String {
    let ip = if listen.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { listen.ip() };
    format!("http://{}", SocketAddr::new(ip, listen.port()))
}

/// Returns this program by a path that a pane host can start. After an upgrade the file that it was started from is
/// another one now, which is the one to start.
pub(super) fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let replaced = path.to_string_lossy().strip_suffix(" (deleted)").map(PathBuf::from);
    Ok(replaced.unwrap_or(path))
}
