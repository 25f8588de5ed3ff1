//! A session's program in a pane: started under pane-exec at a pane host, found again by its process, and closed once
//! nothing of it runs. What it shows means nothing here.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::super::pane_exec::{Args, MAX_OUTPUT, Mode};
use super::super::plan::Prepared;
use super::begin::Obstacle;
use super::dir::{Facts, SessionDir, Standing};
use crate::engine::panes::{Pane, PaneError, PaneHost, PaneStart, Screen, Slot};
use crate::fleet::worker::Worker;
use crate::process::ProcessId;

/// How long a pane-exec may take to claim its session after its pane was there.
const TO_CLAIM: Duration = Duration::from_secs(5);
/// How often it is looked while something is expected of a process that tells nobody.
const LOOK: Duration = Duration::from_millis(20);
/// How many lines of the screen are told when a program did not come up.
const LAST_LINES: usize = 12;

/// Starts a session's pane-exec in a pane.
pub(in crate::launch) async fn start(
    host: &dyn PaneHost,
    program: &Path,
    worker: &Worker,
    dir: &SessionDir,
    (plan, facts): (Prepared, &Facts),
) -> Result<Pane, Obstacle> {
    let args = Args {
        dir: dir.path().into(),
        cwd: None,
        timeout: None,
        max_output: MAX_OUTPUT,
        mode: Mode::Terminal,
        argv: plan.argv,
    };
    let mut argv: Vec<OsString> = vec![program.into(), "pane-exec".into()];
    argv.extend(args.to_words());
    let slot = Slot { role: worker.role.clone(), worker: worker.name.clone() };
    let started = host.start(PaneStart { slot, argv, env: plan.env, cwd: facts.cwd.clone() }).await;
    started.map_err(|error| match error {
        PaneError::Refused(why) => Obstacle::Final(why),
        // Whether it runs, its claim will tell; a second one loses the claim and ends.
        other => Obstacle::Passing(other.to_string()),
    })
}

/// Waits until the pane-exec of a pane has claimed the session.
pub(in crate::launch) async fn claimed(dir: &SessionDir, root: ProcessId) -> Result<(), Obstacle> {
    let until = Instant::now() + TO_CLAIM;
    while matches!(dir.standing(), Ok(Standing::Unclaimed)) {
        if !root.is_alive() {
            return Err(Obstacle::Passing("its pane-exec ended before it could claim the session".into()));
        }
        if Instant::now() >= until {
            return Err(Obstacle::Passing("its pane-exec runs and does not claim the session".into()));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Returns the pane in which a session runs, by its process.
pub(in crate::launch) async fn find(host: &dyn PaneHost, dir: &SessionDir) -> Result<Pane, String> {
    let Ok(Standing::Running(root)) = dir.standing() else { return Err("its program is gone".into()) };
    let found = host.pane_of(vec![root.into()]).await.map_err(|error| error.to_string())?;
    found.ok_or_else(|| format!("{} has no pane in which it runs", host.word()))
}

/// Closes the pane of a session of which nothing runs any more.
pub(in crate::launch) async fn close(host: &dyn PaneHost, pane: Option<Pane>, worker: &Worker) {
    if let Some(pane) = pane
        && let Err(error) = host.close(pane).await
    {
        tracing::info!(worker = %worker.name, %error, "the pane of a session that ended was not closed");
    }
}

/// Returns why a program did not come up, with the last lines that it showed.
pub(in crate::launch) fn with_screen(why: String, screen: Option<&Screen>) -> String {
    let lines = screen.map(|screen| screen.lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()));
    let lines: Vec<&str> = lines.into_iter().flatten().collect();
    if lines.is_empty() {
        return why;
    }
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    format!("{why}; the last lines of its screen:\n{}", last.join("\n"))
}
