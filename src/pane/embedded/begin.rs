//! Starting the pane server: with nothing of ours but the state directory's name, and away from everything that ends
//! with the daemon. Whether it runs is its own word, or the lock's.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use super::Options;
use crate::pane::server::{HELD, READY};

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(10);

/// Starts a server, and returns when one listens or is about to.
pub(super) async fn begin(options: &Options) -> Result<(), String> {
    let failed = |what: &str, error: std::io::Error| format!("cannot {what} the pane server: {error}");
    let state = std::path::absolute(&options.state).map_err(|error| failed("find the directory of", error))?;
    let mut command = Command::new(&options.program);
    command.arg0("fleetd").arg("panes").arg("--state").arg(&state);
    command.arg("--rest").arg(format!("{}ms", options.rest.as_millis()));
    // It leaves our session by itself, and takes nothing along: neither our environment nor our directory.
    command.env_clear().current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed("start", error))?;
    let said = child.stdout.take().expect("it was piped");
    let complained = child.stderr.take().expect("it was piped");
    let line = async {
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).await.map(|_| line)
    };
    match tokio::time::timeout(START, line).await {
        Ok(Ok(line)) if matches!(line.trim(), READY | HELD) => Ok(()),
        Ok(_) => {
            let mut why = String::new();
            let _ = complained.take(2_000).read_to_string(&mut why).await;
            Err(format!("the pane server did not start: {}", why.trim()))
        }
        Err(_) => Err(format!("the pane server did not start within {} s", START.as_secs())),
    }
}
