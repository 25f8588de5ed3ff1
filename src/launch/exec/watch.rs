//! One turn of an `exec` worker from hand to end, or from wherever an earlier daemon left it.
//!
//! No `started` file: it was not run. An `exit` record: it ended. `started` alone: wait for that process; when it is
//! gone without a record, nobody knows how the turn ended, and that is what is reported.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::Options;
use crate::fleet::envelope::{Exit, Finish, Truncated};
use crate::fleet::ids::{TurnId, WorkerName};
use crate::fleet::input::Sighting;
use crate::fleet::turn::{Outcome, Turn};
use crate::fleet::worker::{Process, Worker};
use crate::launch::env;
use crate::launch::pane_exec::{Args, MAX_OUTPUT};
use crate::launch::plan::Plan;
use crate::launch::process::{self, ProcessId, boot_id};
use crate::launch::turn_dir::{Claim, Ended, ExitRecord, Started, TEXT_LIMIT, TurnDir, TurnDirError};

/// How long pane-exec may take to kill its tree before it is killed itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a claim is looked for while pane-exec starts, at first and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// One turn that is watched.
pub(super) struct Watch {
    pub worker: WorkerName,
    pub turn: TurnId,
    pub dir: TurnDir,
    pub options: Options,
}

impl Watch {
    /// Runs the turn, or goes on with it, until it has ended.
    pub async fn hand(self, worker: Arc<Worker>, turn: Arc<Turn>, stop: CancellationToken) {
        let finish = match self.dir.started() {
            Ok(Some(_)) => self.adopt(&stop).await,
            Ok(None) => self.begin(&worker, &turn, &stop).await,
            Err(error) => Err(error.to_string()),
        };
        let finish = finish.unwrap_or_else(|why| Finish::without_reply(Outcome::Failed, why));
        self.report(finish).await;
    }

    /// Ends a turn that an earlier daemon left.
    pub async fn end(self, stop: CancellationToken) {
        let finish = match self.forestall() {
            Ok(true) => Ok(interrupted()),
            Ok(false) => self.adopt(&stop).await,
            Err(error) => Err(error.to_string()),
        };
        self.report(finish.unwrap_or_else(|why| Finish::without_reply(Outcome::Unknown, why))).await;
    }

    async fn report(&self, finish: Finish) {
        let (worker, turn) = (self.worker.clone(), self.turn);
        let sighting = Sighting::Finished { worker, turn, finish: Box::new(finish), idle: true };
        let _ = self.options.sightings.send(sighting).await;
    }

    async fn taken(&self, started: &Started) {
        let process = Process { pid: started.process.pid as i32, start: started.process.start_time };
        let (worker, turn) = (self.worker.clone(), self.turn);
        let _ = self.options.sightings.send(Sighting::Taken { worker, turn, process: Some(process) }).await;
    }

    /// Starts pane-exec. An error means that nothing was run.
    async fn begin(&self, worker: &Worker, turn: &Turn, stop: &CancellationToken) -> Result<Finish, String> {
        let plan = Plan::of(worker, turn, &self.options.executables).map_err(|error| error.to_string())?;
        let prompt = self.options.journal.prompt(turn.prompt_of).await.map_err(|error| error.to_string())?;
        let prompt = prompt.ok_or_else(|| format!("the prompt of {} is not stored any more", turn.prompt_of))?;
        self.dir.create().and_then(|()| self.dir.write_prompt(prompt.as_bytes())).map_err(|error| error.to_string())?;
        let mut child = self.spawn(plan).map_err(|error| format!("pane-exec could not be started: {error}"))?;
        let mut look = LOOK.0;
        // The claim is a file: it is looked for quickly at first, and never after pane-exec has ended.
        let ended = loop {
            if let Some(started) = self.started()? {
                self.taken(&started).await;
                break None;
            }
            tokio::select! {
                ended = child.wait() => break Some(ended),
                () = stop.cancelled() => match self.forestall() {
                    Ok(true) => {
                        let _ = child.wait().await;
                        return Ok(interrupted());
                    }
                    _ => continue,
                },
                () = tokio::time::sleep(look) => look = (look * 2).min(LOOK.1),
            }
        };
        if ended.is_none() {
            let root = self.started()?.map(|started| started.process);
            self.until(child.wait(), root, stop).await;
        }
        match self.started()? {
            Some(started) if ended.is_some() => {
                self.taken(&started).await;
                // Another pane-exec had claimed it: an earlier daemon's, which is waited for.
                self.adopt(stop).await
            }
            Some(started) => self.conclude(&started),
            None => Err("pane-exec ended before it could claim the turn; see the daemon's log".into()),
        }
    }

    fn spawn(&self, plan: Plan) -> std::io::Result<tokio::process::Child> {
        let args = Args {
            dir: self.dir.path().to_path_buf(),
            cwd: plan.cwd,
            timeout: plan.timeout,
            max_output: MAX_OUTPUT,
            argv: plan.argv,
        };
        Command::new(std::env::current_exe()?)
            .arg("pane-exec")
            .args(args.to_words())
            .env_clear()
            .envs(plan.env)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            // Away from the daemon's terminal: its Ctrl-C is not the worker's affair.
            .process_group(0)
            .spawn()
    }

    /// Goes on with a turn that was claimed before.
    async fn adopt(&self, stop: &CancellationToken) -> Result<Finish, String> {
        let Some(started) = self.started()? else { return Err("the claim of the turn is gone".into()) };
        if self.dir.exit().map_err(|error| error.to_string())?.is_none() && started.is_alive() {
            self.taken(&started).await;
            self.until(gone(started.process), Some(started.process), stop).await;
        }
        self.conclude(&started)
    }

    /// Waits for the end; told to stop, makes it come.
    async fn until(&self, end: impl Future, root: Option<ProcessId>, stop: &CancellationToken) {
        tokio::pin!(end);
        tokio::select! {
            _ = &mut end => return,
            () = stop.cancelled() => {}
        }
        if let Some(root) = root {
            let _ = root.signal(Signal::TERM);
            if tokio::time::timeout(PATIENCE, &mut end).await.is_ok() {
                return;
            }
            tracing::warn!(turn = %self.turn, "pane-exec did not end its tree in time; it is killed");
            kill_tree(root);
        }
        end.await;
    }

    /// Returns how the turn ended, by the exit record or by its absence.
    fn conclude(&self, started: &Started) -> Result<Finish, String> {
        match self.dir.exit().map_err(|error| error.to_string())? {
            Some(record) => self.finish(&record).map_err(|error| error.to_string()),
            None => {
                // Whatever its pane-exec left behind belongs to nobody any more.
                for orphan in process::marked_with(&env::root_mark(started.process)) {
                    let _ = orphan.signal(Signal::KILL);
                }
                let why = match started.is_this_boot() {
                    true => "its pane-exec died without a record of how the program ended",
                    false => "the machine was restarted while it ran",
                };
                Ok(Finish::without_reply(Outcome::Unknown, why))
            }
        }
    }

    fn finish(&self, record: &ExitRecord) -> Result<Finish, TurnDirError> {
        let text = self.dir.text(TEXT_LIMIT)?;
        let (outcome, why, exit) = match &record.ended {
            Ended::Code(0) => (Outcome::Replied, None, Some(Exit::Code(0))),
            Ended::Code(code) => (Outcome::Failed, Some(format!("exit {code}")), Some(Exit::Code(*code))),
            Ended::Signal(signal) => {
                (Outcome::Failed, Some(format!("ended by signal {signal}")), Some(Exit::Signal(*signal)))
            }
            Ended::TimedOut => (Outcome::TimedOut, Some("its profile's timeout passed".to_string()), None),
            Ended::Killed => (Outcome::Lost, Some("its process was told to end from outside".to_string()), None),
            Ended::NotStarted(why) => (Outcome::Failed, Some(format!("it could not be started: {why}")), None),
        };
        // A reply that could not be kept whole is no reply, whatever the program's exit code says.
        let (outcome, why) = match (&record.stdout.error, outcome) {
            (Some(error), Outcome::Replied) => (Outcome::Failed, Some(format!("its output could not be kept: {error}"))),
            _ => (outcome, why),
        };
        let truncated = (text.truncated || record.stdout.dropped > 0).then(|| Truncated {
            path: self.dir.stdout().display().to_string(),
            bytes: record.stdout.bytes + record.stdout.dropped,
        });
        let stderr = self.dir.stderr_tail();
        Ok(Finish {
            outcome,
            why,
            text: text.text.into(),
            truncated,
            exit,
            stderr: (!stderr.is_empty()).then_some(stderr),
            usage: None,
            model: None,
            proof: Some("exit_status".into()),
        })
    }

    fn started(&self) -> Result<Option<Started>, String> {
        self.dir.started().map_err(|error| error.to_string())
    }

    /// Claims the turn itself, so that no pane-exec that is still starting can run it; false = one has claimed it.
    fn forestall(&self) -> Result<bool, TurnDirError> {
        self.dir.create()?;
        let Ok(process) = ProcessId::current() else { return Ok(false) };
        let claim = Started { process, boot: boot_id(), at: 0 };
        Ok(self.dir.claim(&claim)? == Claim::Won)
    }
}

fn interrupted() -> Finish {
    Finish::without_reply(Outcome::Cancelled, "ended before its program was started")
}

fn kill_tree(root: ProcessId) {
    // The children first: once pane-exec is dead they are nobody's children.
    let mut tree = process::descendants(root.pid);
    tree.extend(process::marked_with(&env::root_mark(root)));
    let _ = root.signal(Signal::KILL);
    for process in tree {
        let _ = process.signal(Signal::KILL);
    }
}

/// Waits until a process that is not our child has ended.
async fn gone(process: ProcessId) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    let Some(Ok(descriptor)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK)) else { return };
    // The descriptor is opened first and the start time compared after it: what it names cannot change.
    if !process.is_alive() {
        return;
    }
    if let Ok(ended) = AsyncFd::register(descriptor) {
        let _ = ended.readable().await;
    }
}
