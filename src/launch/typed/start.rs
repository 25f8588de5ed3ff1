//! How a session comes up: started in a pane if nobody has, adopted if somebody has, and ready once it shows an empty
//! composer. What does not come up is ended whole, and its screen is told.

use std::time::Duration;

use tokio::time::Instant;

use super::super::pane_exec::{Args, MAX_OUTPUT, Mode};
use super::super::session::dir::{SessionDir, Standing, said};
use super::super::session::tree::moved_in;
use super::keeper::Keeper;
use super::look::Look;
use crate::engine::panes::{PaneError, PaneStart, Screen, Slot};
use crate::fleet::input::Sighting;
use crate::fleet::worker::WorkerState;
use crate::process::ProcessId;

/// How long a pane-exec may take to claim its session after its pane was there.
const TO_CLAIM: Duration = Duration::from_secs(5);
/// How often it is looked while something is expected of a process that tells nobody.
const LOOK: Duration = Duration::from_millis(20);
/// How often the screen is looked at until it is ready.
const LOOK_READY: Duration = Duration::from_millis(50);
/// How many lines of the screen are told when it did not come up.
const LAST_LINES: usize = 12;

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
        match self.tree().settle_in(may_start).await {
            Ok(cwd) => self.worker = moved_in(&self.worker, cwd),
            Err(why) if matches!(self.dir.on_disk(SessionDir::seal).await, Ok(true)) => {
                self.not_up(&why, None).await;
                return None;
            }
            Err(_) => {}
        }
        let until = Instant::now() + self.typing().ready_timeout.std();
        loop {
            match self.dir.standing() {
                Ok(Standing::Running(root)) => {
                    self.recall();
                    self.tell_began(root).await;
                    if self.worker.state == WorkerState::Starting && !self.until_ready(root, until).await {
                        return None;
                    }
                    return Some(root);
                }
                Ok(Standing::Ended(_, record)) if self.worker.state == WorkerState::Starting && may_start => {
                    let why = said(record.as_deref());
                    let screen = self.screen().await.ok();
                    self.not_up(&why, screen.as_ref()).await;
                    return None;
                }
                Ok(Standing::Ended(..)) => {
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
                            self.not_up(&why, None).await;
                            return None;
                        }
                    }
                },
                Err(error) => self.trouble(&error.to_string()).await,
            }
        }
    }

    /// Starts the session's pane-exec in a pane and waits until it has claimed the session.
    async fn start(&mut self) -> Result<(), Obstacle> {
        self.dir.on_disk(SessionDir::create).await.map_err(|error| Obstacle::Passing(error.to_string()))?;
        let (plan, facts) = self.site().prepare().await.map_err(Obstacle::Final)?;
        self.facts = facts;
        let cwd = self.facts.cwd.clone();
        let args = Args {
            dir: self.dir.path().into(),
            cwd: None,
            timeout: None,
            max_output: MAX_OUTPUT,
            mode: Mode::Terminal,
            argv: plan.argv,
        };
        let mut argv = vec![self.desk.options.program.clone().into_os_string(), "pane-exec".into()];
        argv.extend(args.to_words());
        let slot = Slot { role: self.worker.role.clone(), worker: self.worker.name.clone() };
        let started = self.desk.host().start(PaneStart { slot, argv, env: plan.env, cwd }).await;
        let pane = started.map_err(|error| match error {
            PaneError::Refused(why) => Obstacle::Final(why),
            // Whether it runs, its claim will tell; a second one loses the claim and ends.
            other => Obstacle::Passing(other.to_string()),
        })?;
        let root = ProcessId::from(pane.root);
        self.place(pane).await;
        let until = Instant::now() + TO_CLAIM;
        while matches!(self.dir.standing(), Ok(Standing::Unclaimed)) {
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

    /// Waits until the agent shows an empty composer; else ends the session and says why it did not come up.
    async fn until_ready(&mut self, root: ProcessId, until: Instant) -> bool {
        let typing = self.typing();
        let mut last = Screen::default();
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
                // A pane keeps what its program showed last.
                if let Ok(screen) = self.screen().await {
                    last = screen;
                }
                break said(record.as_deref());
            }
            let said = match self.screen().await {
                Ok(screen) => {
                    let look = Look::of(&screen, &typing);
                    last = screen;
                    let wants_tools = self.plan().is_some_and(|plan| plan.lists_tools) && !self.listed;
                    if look.is_idle() && !wants_tools {
                        self.desk.tell(Sighting::Up { worker: self.worker.name.clone() }).await;
                        return true;
                    }
                    match look.obstacle() {
                        Some(why) => why,
                        None if look.busy => "it is still busy".into(),
                        None => "it has not listed the fleet's tools".into(),
                    }
                }
                Err(why) => why,
            };
            if Instant::now() >= until {
                break format!("not ready within {}: {said}", typing.ready_timeout);
            }
            // Its reports are answered meanwhile: it may wait for that before it comes up.
            match tokio::time::timeout(LOOK_READY, self.orders.recv()).await {
                Ok(Some(order)) => self.take(order).await,
                Ok(None) => return false,
                Err(_) => {}
            }
        };
        super::super::ending::end(root).await;
        self.not_up(&why, Some(&last)).await;
        false
    }

    async fn not_up(&mut self, why: &str, screen: Option<&Screen>) {
        let mut why = why.to_owned();
        let lines =
            screen.map(|screen| screen.lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()));
        let lines: Vec<&str> = lines.into_iter().flatten().collect();
        if !lines.is_empty() {
            let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
            why = format!("{why}; the last lines of its screen:\n{}", last.join("\n"));
        }
        why += &self.clear_away().await;
        self.desk.tell(Sighting::NotUp { worker: self.worker.name.clone(), why }).await;
    }

    async fn tell_began(&self, root: ProcessId) {
        self.desk.tell(Sighting::Began { worker: self.worker.name.clone(), process: root.into() }).await;
    }

    async fn trouble(&self, why: &str) {
        tracing::warn!(worker = %self.worker.name, why, "a session cannot be started or found; it is tried until it can");
        self.rest().await;
    }
}
