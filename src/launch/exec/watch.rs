//! One turn from the order to its report: started if nobody has, adopted if somebody has, ended if told to.
//!
//! It looks how the turn stands, does the one thing that follows, and looks again. So it makes no difference whether
//! it is the first to look or a daemon that came back.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::super::ending;
use super::super::env::Provenance;
use super::super::fill::Fill;
use super::super::pane_exec::{Args, MAX_OUTPUT, Mode};
use super::super::plan::Prepared;
use super::super::policy::variable;
use super::super::task::text_of;
use super::super::turn_dir::{Ended, ExitRecord, Started, TurnDir, TurnDirError};
use super::Desk;
use super::finish::{Standing, of_record, of_vanished, standing};
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::turn::Turn;
use crate::fleet::worker::{Process, Worker};
use crate::process::ProcessId;

/// How long to wait before something is tried again, times the number of tries.
const REST: Duration = Duration::from_millis(200);
/// The longest such wait.
const LONGEST_REST: Duration = Duration::from_secs(5);

/// What a watch is for.
#[derive(Clone)]
pub(super) enum Job {
    /// See that the turn is run, once.
    Run(Arc<Turn>),
    /// See that nothing of it runs any more.
    End,
}

/// Whether a watch has reported the end.
enum Step {
    Again,
    Over,
}

/// What is in the way of a start.
enum Obstacle {
    /// The turn can never be run, for this reason.
    Final(String),
    /// Nothing was run, and a later try may succeed.
    Passing(String),
}

/// The watch of one turn.
pub(super) struct Watch {
    desk: Arc<Desk>,
    worker: Arc<Worker>,
    turn: TurnId,
    dir: TurnDir,
    stop: CancellationToken,
}

impl Watch {
    pub(super) fn new(desk: Arc<Desk>, worker: Arc<Worker>, turn: TurnId, stop: CancellationToken) -> Self {
        let dir = desk.dir(turn);
        Self { desk, worker, turn, dir, stop }
    }

    /// Goes with the turn to its end and reports it. What cannot be read or written now is no end: it is tried until
    /// it can be.
    pub(super) async fn run(self, job: Job) {
        let mut failed = 0;
        loop {
            match self.step(&job).await {
                Ok(Step::Over) => return,
                Ok(Step::Again) => failed = 0,
                Err(why) => {
                    failed += 1;
                    if failed == 1 {
                        tracing::warn!(turn = %self.turn, why, "a turn's process cannot be started or watched; it is tried until it can");
                    }
                    self.rest(failed).await;
                }
            }
        }
    }

    /// Looks and does what follows. `Err` says what went wrong for now; nothing was reported.
    async fn step(&self, job: &Job) -> Result<Step, String> {
        match self.look().await? {
            Standing::Ended(record) => {
                self.tell_taken().await;
                self.report(record).await;
                return Ok(Step::Over);
            }
            Standing::Vanished(started) => {
                self.tell_taken().await;
                self.report_vanished(started).await;
                return Ok(Step::Over);
            }
            Standing::Running(started) => {
                self.tell_taken().await;
                self.until_gone(started.process).await;
            }
            Standing::Unclaimed => {
                let started = match job {
                    Job::End if !self.is_there().await? => {
                        self.tell_idle().await;
                        return Ok(Step::Over);
                    }
                    _ if self.stop.is_cancelled() => Err(Ended::Killed),
                    Job::End => Err(Ended::Killed),
                    Job::Run(turn) => match self.start(turn).await {
                        Ok(()) => Ok(()),
                        Err(Obstacle::Passing(why)) => return Err(why),
                        Err(Obstacle::Final(why)) => Err(Ended::NotStarted(why)),
                    },
                };
                if let Err(ended) = started {
                    self.seal(ended).await.map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(Step::Again)
    }

    async fn look(&self) -> Result<Standing, String> {
        self.with_dir(standing).await.map_err(|error| error.to_string())
    }

    async fn is_there(&self) -> Result<bool, String> {
        let seen = self.with_dir(|dir| dir.path().try_exists()).await;
        seen.map_err(|error| format!("cannot look for {}: {error}", self.dir.path().display()))
    }

    /// Starts a pane-exec for the turn and stays with it until it is gone.
    async fn start(&self, turn: &Turn) -> Result<(), Obstacle> {
        let prompt = text_of(&self.desk.options.journal, turn, &self.worker).await;
        let prompt = prompt.map_err(|error| Obstacle::Passing(error.to_string()))?;
        let prompt = prompt.ok_or_else(|| Obstacle::Final("its prompt is not in the store".into()))?;
        let provenance = Provenance {
            turn: Some((turn.id.to_string(), turn.sender.to_string())),
            worker: self.worker.name.to_string(),
            state: self.desk.options.turns.parent().unwrap_or(Path::new("")).display().to_string(),
            token: None,
        };
        let policy = &self.desk.options.policy;
        let fill = Fill::default().with("name", self.worker.name.as_str()).with("role", self.worker.role.as_str());
        let fill = policy.fill(fill, &self.worker.profile, variable);
        let plan = fill.and_then(|fill| Prepared::of(&self.worker.profile, &provenance, policy, &fill));
        let plan = plan.map_err(|error| Obstacle::Final(error.to_string()))?;
        let prepared = self.with_dir(move |dir| dir.create().and_then(|()| dir.write_prompt(prompt.as_bytes()))).await;
        prepared.map_err(|error| Obstacle::Passing(error.to_string()))?;
        let mut child = self.spawn(plan).map_err(|error| {
            let why = format!("cannot start pane-exec: {error}");
            match error.kind() {
                // No later try has fewer words. All else may pass: a shortage of processes, memory or files.
                ErrorKind::ArgumentListTooLong => Obstacle::Final(why),
                _ => Obstacle::Passing(why),
            }
        })?;
        self.until_claimed(&mut child).await;
        let status = child.wait().await;
        let status = status.map_err(|error| Obstacle::Passing(format!("cannot wait for pane-exec: {error}")))?;
        self.judge(status).await.map_err(Obstacle::Passing)
    }

    fn spawn(&self, plan: Prepared) -> std::io::Result<Child> {
        let args = Args {
            dir: self.dir.path().into(),
            cwd: plan.cwd,
            timeout: plan.timeout,
            max_output: MAX_OUTPUT,
            mode: Mode::Turn,
            argv: plan.argv,
        };
        // A file of its own and not the daemon's stderr, which would stay open as long as the worker runs.
        let trouble = File::create(self.dir.trouble())?;
        let mut command = Command::new(&self.desk.program);
        command.arg0("fleetd").arg("pane-exec").args(args.to_words()).env_clear().envs(plan.env);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(trouble).spawn()
    }

    /// Goes with our own pane-exec: reports when it has claimed the turn, ends it when told to.
    async fn until_claimed(&self, child: &mut Child) {
        let process = child.id().and_then(ProcessId::of);
        if let Some(stdout) = child.stdout.take() {
            let mut said = String::new();
            let mut stdout = BufReader::new(stdout);
            tokio::select! {
                _ = stdout.read_line(&mut said) => {}
                () = self.stop.cancelled() => {}
            }
        }
        self.tell_taken().await;
        if let Some(process) = process {
            self.until_gone(process).await;
        }
    }

    async fn until_gone(&self, process: ProcessId) {
        tokio::select! {
            () = super::super::ended::gone(process) => {}
            () = self.stop.cancelled() => ending::end(process).await,
        }
    }

    /// Our pane-exec has ended. That is of interest only if the turn is unclaimed: else the directory tells more.
    async fn judge(&self, status: ExitStatus) -> Result<(), String> {
        if !matches!(self.look().await?, Standing::Unclaimed) {
            return Ok(());
        }
        let said = fs::read_to_string(self.dir.trouble()).unwrap_or_default();
        Err(format!("pane-exec ended before it could claim the turn ({status}): {}", said.trim()))
    }

    /// Waits longer after each failure. A stop shortens the one wait in which it comes, no later one.
    async fn rest(&self, failed: u32) {
        let rest = tokio::time::sleep((REST * failed.min(100)).min(LONGEST_REST));
        if self.stop.is_cancelled() {
            return rest.await;
        }
        tokio::select! {
            () = rest => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Claims the turn for nobody, so that a pane-exec of an earlier daemon cannot run it after its end was reported.
    /// If one was faster, the next look sees it.
    async fn seal(&self, ended: Ended) -> Result<(), TurnDirError> {
        self.with_dir(move |dir| {
            dir.create()?;
            dir.claim(&Started::by(ProcessId::NOBODY))?;
            match dir.started()? {
                Some(started) if started.process == ProcessId::NOBODY => {
                    dir.write_exit(&ExitRecord::without_a_run(ended))
                }
                _ => Ok(()),
            }
        })
        .await
    }

    async fn report(&self, record: ExitRecord) {
        let worker = self.worker.clone();
        let left = record.left.clone();
        let finish = self.with_dir(move |dir| of_record(dir, &record, &worker)).await;
        self.tell_end(finish, left).await;
    }

    async fn report_vanished(&self, started: Started) {
        let root = started.process;
        if started.is_this_boot() && root != ProcessId::NOBODY && !self.stop.is_cancelled() {
            // What had left its tree and emptied its environment is not found any more, and passes for the operator's.
            tracing::warn!(worker = %self.worker.name, turn = %self.turn, pid = root.pid, "a worker's pane-exec was killed, and not by fleetd");
        }
        let left = match started.is_this_boot() {
            true => self.with_dir(move |_| ending::kill(root)).await,
            false => Vec::new(),
        };
        let processes = left.clone();
        let finish = self.with_dir(move |dir| of_vanished(dir, &started, &processes)).await;
        self.tell_end(finish, left).await;
    }

    /// Reports the end, and that the worker is idle only once nobody is left.
    async fn tell_end(&self, finish: Finish, left: Vec<ProcessId>) {
        let is_idle = left.is_empty();
        self.tell_finished(finish, is_idle).await;
        if !is_idle {
            for process in left {
                super::super::ended::gone(process).await;
            }
            self.tell_idle().await;
        }
    }

    /// A claim is the proof that the text was taken. One of nobody is the proof that it never will be.
    async fn tell_taken(&self) {
        let started = self.with_dir(TurnDir::started).await.ok().flatten();
        let Some(started) = started.filter(|started| started.process != ProcessId::NOBODY) else { return };
        let pid = i32::try_from(started.process.pid).unwrap_or_default();
        let process = Some(Process { pid, start: started.process.start_time });
        self.desk.tell(Sighting::Taken { worker: self.worker.name.clone(), turn: self.turn, process }).await;
    }

    async fn tell_finished(&self, finish: Finish, idle: bool) {
        let worker = self.worker.name.clone();
        self.desk.tell(Sighting::Finished { worker, turn: self.turn, finish: Box::new(finish), idle }).await;
    }

    async fn tell_idle(&self) {
        self.desk.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
    }

    /// Works on the directory where blocking is allowed.
    async fn with_dir<T: Send + 'static>(&self, work: impl FnOnce(&TurnDir) -> T + Send + 'static) -> T {
        let dir = self.dir.clone();
        match tokio::task::spawn_blocking(move || work(&dir)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime goes down with the daemon.
                Err(_) => std::future::pending().await,
            },
        }
    }
}
