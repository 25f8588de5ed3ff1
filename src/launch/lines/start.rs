//! How a session comes up: started if nobody has, adopted if somebody has, and ready once its program has listed the
//! fleet's tools; it writes nothing before its first text. What does not come up is ended whole.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;

use super::super::pane_exec::{Args, MAX_OUTPUT, Mode};
use super::super::session::dir::{SessionDir, Standing, said};
use super::super::session::tree::moved_in;
use super::keeper::Keeper;
use crate::fleet::input::Sighting;
use crate::fleet::worker::WorkerState;
use crate::process::ProcessId;

/// How long a pane-exec may take to claim its session.
const TO_CLAIM: Duration = Duration::from_secs(5);
/// How often it is looked while something is expected of a process that tells nobody.
const LOOK: Duration = Duration::from_millis(20);

/// What is in the way of a start.
enum Obstacle {
    /// It can never be started as it is.
    Final(String),
    /// A later try may succeed.
    Passing(String),
}

impl Keeper {
    /// Brings the session up, or finds it; returns its pane-exec once it is known, and nothing when it is over already.
    pub(super) async fn begin(&mut self, may_start: bool) -> Option<ProcessId> {
        if may_start {
            // There before its tree, so that nobody takes that for one without a session.
            drop(self.dir.on_disk(SessionDir::create).await);
        }
        match self.tree().settle_in(may_start).await {
            Ok(cwd) => self.worker = moved_in(&self.worker, cwd),
            Err(why) if matches!(self.dir.on_disk(SessionDir::seal).await, Ok(true)) => {
                self.not_up(why).await;
                return None;
            }
            Err(_) => {}
        }
        let until = Instant::now() + self.worker.profile.typing().ready_timeout.std();
        let is_starting = self.worker.state == WorkerState::Starting;
        loop {
            match self.dir.standing() {
                Ok(Standing::Running(root)) => {
                    self.recall();
                    let worker = self.worker.name.clone();
                    self.desk.tell(Sighting::Began { worker, process: root.into() }).await;
                    if is_starting && !self.until_ready(root, until).await {
                        return None;
                    }
                    return Some(root);
                }
                Ok(Standing::Ended(_, record)) if is_starting && may_start => {
                    self.not_up(said(record.as_deref())).await;
                    return None;
                }
                Ok(Standing::Ended(..)) => {
                    self.recall();
                    self.report_gone().await;
                    return None;
                }
                Ok(Standing::Unclaimed) if self.stop.is_cancelled() || !may_start => {
                    match self.dir.on_disk(SessionDir::seal).await {
                        Ok(true) => {
                            self.report_gone().await;
                            return None;
                        }
                        Ok(false) => {}
                        Err(error) => self.trouble(&error.to_string()).await,
                    }
                }
                Ok(Standing::Unclaimed) => match self.start().await {
                    Ok(()) => {}
                    Err(Obstacle::Passing(why)) if Instant::now() < until => self.trouble(&why).await,
                    Err(Obstacle::Passing(why) | Obstacle::Final(why)) => {
                        // One that is still on its way must find that it is not wanted.
                        if matches!(self.dir.on_disk(SessionDir::seal).await, Ok(true)) {
                            self.not_up(why).await;
                            return None;
                        }
                    }
                },
                Err(error) => self.trouble(&error.to_string()).await,
            }
        }
    }

    /// Starts the session's pane-exec and waits until it has claimed the session.
    async fn start(&mut self) -> Result<(), Obstacle> {
        self.dir.on_disk(SessionDir::create).await.map_err(|error| Obstacle::Passing(error.to_string()))?;
        let (plan, facts) = self.site().prepare().await.map_err(Obstacle::Final)?;
        let args = Args {
            dir: self.dir.path().into(),
            cwd: Some(facts.cwd.clone()),
            timeout: None,
            max_output: MAX_OUTPUT,
            mode: Mode::Lines,
            argv: plan.argv,
        };
        self.facts = facts;
        let passing = |error: std::io::Error| Obstacle::Passing(format!("cannot start pane-exec: {error}"));
        // A file of its own and not the daemon's stderr, which would stay open as long as the worker runs.
        let trouble = File::create(self.dir.trouble()).map_err(passing)?;
        let mut command = Command::new(&self.desk.options.program);
        command.arg0("fleetd").arg("pane-exec").args(args.to_words()).env_clear().envs(plan.env);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(trouble);
        let mut child = command.spawn().map_err(passing)?;
        let until = Instant::now() + TO_CLAIM;
        while matches!(self.dir.standing(), Ok(Standing::Unclaimed)) {
            if let Ok(Some(status)) = child.try_wait()
                && matches!(self.dir.standing(), Ok(Standing::Unclaimed))
            {
                let said = fs::read_to_string(self.dir.trouble()).unwrap_or_default();
                let why = format!("pane-exec ended before it could claim the session ({status}): {}", said.trim());
                return Err(Obstacle::Passing(why));
            }
            if Instant::now() >= until {
                return Err(Obstacle::Passing("its pane-exec runs and does not claim the session".into()));
            }
            tokio::time::sleep(LOOK).await;
        }
        self.child = Some(child);
        Ok(())
    }

    /// Waits until the program has listed the fleet's tools; else ends the session and says why it did not come up.
    async fn until_ready(&mut self, root: ProcessId, until: Instant) -> bool {
        let why = loop {
            if self.stop.is_cancelled() {
                self.end(root, "it was stopped").await;
                return false;
            }
            if !root.is_alive() {
                let record = match self.dir.standing() {
                    Ok(Standing::Ended(_, record)) => record,
                    _ => None,
                };
                break said(record.as_deref());
            }
            let wants_tools = self.plan().is_some_and(|plan| plan.lists_tools) && !self.listed;
            let missing = match self.pipe.open(&self.dir.input()) {
                Err(error) => format!("its input cannot be opened: {error}"),
                Ok(()) if wants_tools => "it has not listed the fleet's tools".to_owned(),
                Ok(()) => {
                    self.desk.tell(Sighting::Up { worker: self.worker.name.clone() }).await;
                    return true;
                }
            };
            if Instant::now() >= until {
                let timeout = self.worker.profile.typing().ready_timeout;
                break format!("not ready within {timeout}: {missing}");
            }
            // Its reports are answered meanwhile: it may wait for that before it comes up.
            match tokio::time::timeout(LOOK, self.orders.recv()).await {
                Ok(Some(order)) => self.take(order).await,
                Ok(None) => return false,
                Err(_) => {}
            }
        };
        super::super::ending::end(root).await;
        self.not_up(why).await;
        false
    }

    async fn not_up(&mut self, why: String) {
        let why = self.last_words(why);
        let why = why + &self.clear_away().await;
        self.desk.tell(Sighting::NotUp { worker: self.worker.name.clone(), why }).await;
    }

    async fn trouble(&self, why: &str) {
        tracing::warn!(worker = %self.worker.name, why, "a session cannot be started or found; it is tried until it can");
        self.rest().await;
    }
}
