//! How a session that reads lines comes up: started without a screen, and ready once its program has listed the fleet's
//! tools. What does not come up is ended whole, and its last words are told.

use std::fs::{self, File};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::pane_exec::{Args, MAX_OUTPUT, Mode};
use super::super::session::begin::{Coming, Obstacle, record_of};
use super::super::session::dir::{SessionDir, Standing, said};
use super::super::session::tree::Tree;
use super::keeper::Keeper;
use crate::fleet::input::Sighting;
use crate::fleet::worker::Worker;
use crate::process::ProcessId;

/// How long a pane-exec may take to claim its session.
const TO_CLAIM: Duration = Duration::from_secs(5);
/// How often it is looked while something is expected of a process that tells nobody.
const LOOK: Duration = Duration::from_millis(20);

impl Coming for Keeper {
    fn worker(&mut self) -> &mut Arc<Worker> {
        &mut self.worker
    }

    fn dir(&self) -> &SessionDir {
        &self.dir
    }

    fn tree(&self) -> Tree<'_> {
        Keeper::tree(self)
    }

    fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    fn recall(&mut self) {
        Keeper::recall(self);
    }

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
        let mut command = Command::new(&self.desk.common.program);
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

    /// Waits until the program has listed the fleet's tools; it writes nothing before its first text.
    async fn until_ready(&mut self, root: ProcessId, until: Instant) -> bool {
        let why = loop {
            if self.stop.is_cancelled() {
                self.end(root, "it was stopped").await;
                return false;
            }
            if !root.is_alive() {
                break said(record_of(&self.dir).as_deref());
            }
            let wants_tools = self.plan().is_some_and(|plan| plan.lists_tools) && !self.listed;
            let missing = match self.pipe.open(&self.dir.input()) {
                Err(error) => format!("its input cannot be opened: {error}"),
                Ok(()) if wants_tools => "it has not listed the fleet's tools".to_owned(),
                Ok(()) => {
                    self.desk.common.tell(Sighting::Up { worker: self.worker.name.clone() }).await;
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
        self.not_up(why, true).await;
        false
    }

    async fn not_up(&mut self, why: String, _ran: bool) {
        let why = self.last_words(why);
        let why = why + &self.clear_away().await;
        self.desk.common.tell(Sighting::NotUp { worker: self.worker.name.clone(), why }).await;
    }

    async fn report_gone(&mut self) {
        Keeper::report_gone(self).await;
    }

    async fn tell(&self, sighting: Sighting) {
        self.desk.common.tell(sighting).await;
    }
}
