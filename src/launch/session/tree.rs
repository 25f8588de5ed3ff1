//! The worktree of a session: made before its program starts, found by whoever adopts it, put away after its end.
//!
//! What is known of it lies beside it. How a tree is made and what keeps it is `worktree`'s; a profile says whether
//! there is one at all.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::env::{Provenance, of_worker};
use super::super::plan::permitted;
use super::super::policy::Policy;
use super::dir::{SessionDir, Standing};
use super::sweep::Kind;
use crate::fleet::plan::MARKER;
use crate::fleet::time::Time;
use crate::fleet::work::{Work, WorktreeSpec};
use crate::fleet::worker::Worker;
use crate::launch::turn_dir::now;
use crate::launch::worktree::{Made, Progress, Wanted, WorktreeError, make, remove, set_up, standing};

/// How long an ended turn waits to be told what was done in the tree.
const TO_TELL: Duration = Duration::from_secs(20);

/// How long somebody may still be in a tree that is being made: what a killed daemon had started there.
const TO_BE_LEFT: Duration = Duration::from_secs(60);

/// How long a tree that is in use is waited for between two looks.
const REST: Duration = Duration::from_secs(1);

/// Returns where the trees are.
fn trees(sessions: &Path) -> PathBuf {
    sessions.with_file_name("worktrees")
}

/// Returns where removed trees are.
fn trash(sessions: &Path) -> PathBuf {
    sessions.with_file_name("trash")
}

/// The tree of one session.
pub(in crate::launch) struct Tree<'a> {
    /// Whose session it is.
    pub worker: &'a Worker,
    /// Its directory.
    pub dir: &'a SessionDir,
    /// What the operator allows.
    pub policy: &'a Policy,
    /// Tells that the session is to end.
    pub stop: &'a CancellationToken,
    /// Whether another session takes the tree over at its end.
    pub is_handed_on: bool,
}

impl Tree<'_> {
    /// Returns the directory in which the session works, if that is in its tree; it is made if nobody has started the
    /// session yet.
    pub(in crate::launch) async fn settle_in(&self, may_start: bool) -> Result<Option<PathBuf>, String> {
        let Some(spec) = self.worker.profile.worktree.as_deref().cloned() else { return Ok(None) };
        let is_new = may_start && !self.stop.is_cancelled() && matches!(self.dir.standing(), Ok(Standing::Unclaimed));
        let made = match is_new && self.handed_on().is_none() {
            true => self.make_tree(spec).await.map(Some),
            false => self.find_tree(),
        };
        match made.map_err(|error| error.to_string()) {
            Ok(made) => Ok(made.map(|made| made.cwd)),
            Err(why) if is_new => Err(why),
            Err(why) => {
                tracing::warn!(worker = %self.worker.name, why, "the worktree of a session is not found");
                Ok(None)
            }
        }
    }

    /// Puts the tree away. Returns why it is kept, if it is.
    pub(in crate::launch) async fn put_away(&self) -> Option<String> {
        self.worker.profile.worktree.as_ref()?;
        if self.is_handed_on {
            return None;
        }
        match self.find_tree() {
            Ok(made) => put_away(self.sessions(), made?).await,
            Err(error) => Some(format!("is kept: {error}")),
        }
    }

    /// Returns what was done in the tree, if there is one and git can tell.
    pub(in crate::launch) async fn work_done(&self) -> Option<Work> {
        self.worker.profile.worktree.as_ref()?;
        let made = self.find_tree().ok()??;
        let told = tokio::time::timeout(TO_TELL, tokio::task::spawn_blocking(move || standing(&made))).await;
        let why = match told {
            Ok(Ok(Ok(work))) => return Some(work),
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(_)) | Err(_) => "git takes too long".into(),
        };
        tracing::warn!(worker = %self.worker.name, why, "what was done in a worktree is not known");
        None
    }

    fn find_tree(&self) -> Result<Option<Made>, WorktreeError> {
        Made::find(&trees(self.sessions()).join(self.tree_name()))
    }

    /// Returns where all sessions are.
    fn sessions(&self) -> &Path {
        self.dir.path().parent().unwrap_or(Path::new(""))
    }

    /// A tree has the name of its session, or of the session whose place this one took.
    fn tree_name(&self) -> String {
        let own = || {
            let name = self.dir.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            Kind::plain(&name).to_owned()
        };
        self.handed_on().unwrap_or_else(own)
    }

    /// Returns the name of the tree that the session before this one left to it, if that is whole. One that was put away
    /// because that session died may go any time.
    fn handed_on(&self) -> Option<String> {
        let name = format!("{}-{}", self.worker.name, self.worker.life.tree?);
        let made = Made::find(&trees(self.sessions()).join(&name)).ok()??;
        (made.progress == Progress::SetUp && made.path.join(".git").is_file()).then_some(name)
    }

    /// Makes the tree, or finishes it, and sets it up.
    async fn make_tree(&self, spec: WorktreeSpec) -> Result<Made, WorktreeError> {
        let (worker, name) = (&self.worker, self.tree_name());
        let profile = worker.profile.clone();
        let wanted = Wanted {
            repo: profile.cwd.clone().unwrap_or_else(|| ".".into()),
            base: spec.base,
            copy: spec.copy,
            place: trees(self.sessions()).join(&name),
            branch: format!("fleet/{name}"),
            // Numbers of sessions begin anew with a new store.
            owner: format!("{name} since {}", worker.since.0),
        };
        let not_allowed = |why: String| WorktreeError::Setup {
            command: spec.setup.join(" "),
            path: wanted.place.clone(),
            why,
            last: String::new(),
        };
        let state = self.sessions().parent().map(|state| state.display().to_string());
        let provenance =
            Provenance { turn: None, worker: worker.name.to_string(), state: state.unwrap_or_default(), token: None };
        // What stands for an address or a key is the agent's alone.
        let variables = profile.env.iter().filter(|(_, value)| !value.contains(MARKER));
        let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        let environment = of_worker(|name| env::var_os(name), &variables, &provenance);
        let environment = environment.map_err(|error| not_allowed(error.to_string()))?;
        let mut command: Vec<OsString> = spec.setup.iter().map(OsString::from).collect();
        if let (Some(first), Some(program)) = (command.first_mut(), spec.setup.first()) {
            let program = permitted(&profile, program, &self.policy.executables);
            *first = program.map_err(|error| not_allowed(error.to_string()))?;
        }
        // Whoever waits for it here may go: at a stop, and when the daemon ends.
        let gone = Dropped::default();
        let (stop, is_gone) = (self.stop.clone(), gone.0.clone());
        let work = Arc::new(move || {
            let mut made = make(&wanted)?;
            let is_unwanted = || stop.is_cancelled() || is_gone.load(Ordering::Relaxed);
            set_up(&mut made, &command, &environment, spec.setup_timeout.std(), &is_unwanted)?;
            Ok::<Made, WorktreeError>(made)
        });
        let until = Instant::now() + TO_BE_LEFT;
        let made = loop {
            let once = work.clone();
            match self.dir.on_disk(move |_| once()).await {
                Err(WorktreeError::Busy { .. }) if Instant::now() < until && !self.stop.is_cancelled() => {
                    tokio::select! {
                        () = tokio::time::sleep(REST) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
                made => break made?,
            }
        };
        if !made.missing.is_nothing() {
            tracing::info!(worker = %worker.name, worktree = name, missing = %made.missing, "a worktree lacks work of the leader's");
        }
        Ok(made)
    }
}

/// Returns the worker with the directory in which its session works.
pub(in crate::launch) fn moved_in(worker: &Arc<Worker>, cwd: Option<PathBuf>) -> Arc<Worker> {
    let Some(cwd) = cwd else { return worker.clone() };
    let mut worker = Worker::clone(worker);
    Arc::make_mut(&mut worker.profile).cwd = Some(cwd);
    Arc::new(worker)
}

/// Tells by its end that nobody waits any more.
#[derive(Default)]
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns all trees that have a note.
pub(in crate::launch) fn all(sessions: &Path) -> Vec<Made> {
    Made::all(&trees(sessions)).unwrap_or_else(|error| {
        tracing::warn!(%error, "the worktrees cannot be listed");
        Vec::new()
    })
}

/// Moves a tree to the trash. Returns why it is kept, if it is.
pub(in crate::launch) async fn put_away(sessions: &Path, made: Made) -> Option<String> {
    let (trash, name) = (trash(sessions), made.name());
    let removed = tokio::task::spawn_blocking(move || remove(&made, &trash, Time(now()))).await;
    match removed {
        Ok(Ok(_)) => {
            tracing::info!(worktree = name, "a worktree is in the trash");
            None
        }
        Ok(Err(kept)) => {
            tracing::warn!(worktree = name, %kept, "a worktree is kept");
            Some(kept.to_string())
        }
        // The daemon goes down: the next one does it.
        Err(_) => None,
    }
}
