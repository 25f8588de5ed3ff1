//! The worktree of a session: made before its program starts, found by whoever adopts it, put away after its end.
//!
//! What is known of it lies beside it. How a tree is made and what keeps it is `worktree`'s; a profile says whether
//! there is one at all.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::super::env::{Provenance, of_worker};
use super::super::plan::permitted;
use super::Desk;
use super::files::Standing;
use super::keeper::Keeper;
use super::sessions::dir_name;
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

impl Desk {
    /// Returns where the trees are.
    fn trees(&self) -> PathBuf {
        self.options.sessions.with_file_name("worktrees")
    }

    /// Returns where removed trees are.
    fn trash(&self) -> PathBuf {
        self.options.sessions.with_file_name("trash")
    }
}

impl Keeper {
    /// Sees that the session works in its tree, which is made if nobody has started the session yet.
    pub(super) async fn settle_in(&mut self, may_start: bool) -> Result<(), String> {
        let Some(spec) = self.worker.profile.worktree.as_deref().cloned() else { return Ok(()) };
        let is_new = may_start && !self.stop.is_cancelled() && matches!(self.dir.standing(), Ok(Standing::Unclaimed));
        let made = match is_new && self.handed_on().is_none() {
            true => self.make_tree(spec).await.map(Some),
            false => self.find_tree(),
        };
        match made.map_err(|error| error.to_string()) {
            Ok(Some(made)) => {
                let mut worker = Worker::clone(&self.worker);
                Arc::make_mut(&mut worker.profile).cwd = Some(made.cwd);
                self.worker = Arc::new(worker);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(why) if is_new => Err(why),
            Err(why) => {
                tracing::warn!(worker = %self.worker.name, why, "the worktree of a session is not found");
                Ok(())
            }
        }
    }

    /// Puts the tree away. Returns why it is kept, if it is.
    pub(super) async fn put_tree_away(&self) -> Option<String> {
        self.worker.profile.worktree.as_ref()?;
        if self.desk.hands_tree_on(&self.worker) {
            return None;
        }
        match self.find_tree() {
            Ok(made) => put_away(&self.desk, made?).await,
            Err(error) => Some(format!("is kept: {error}")),
        }
    }

    /// Returns what was done in the tree, if there is one and git can tell.
    pub(super) async fn work_done(&self) -> Option<Work> {
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
        Made::find(&self.desk.trees().join(self.tree_name()))
    }

    /// A tree has the name of its session's files, or of those of the session whose place this one took.
    fn tree_name(&self) -> String {
        let own = || self.dir.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.handed_on().unwrap_or_else(own)
    }

    /// Returns the name of the tree that the session before this one left to it, if that is whole. One that was put away
    /// because that session died may go any time.
    fn handed_on(&self) -> Option<String> {
        let name = dir_name(&self.worker.name, self.worker.life.tree?);
        let made = Made::find(&self.desk.trees().join(&name)).ok()??;
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
            place: self.desk.trees().join(&name),
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
        let state = self.desk.options.sessions.parent().map(|state| state.display().to_string());
        let provenance =
            Provenance { turn: None, worker: worker.name.to_string(), state: state.unwrap_or_default(), token: None };
        // What stands for an address or a key is the agent's alone.
        let variables = profile.env.iter().filter(|(_, value)| !value.contains(MARKER));
        let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        let environment = of_worker(|name| env::var_os(name), &variables, &provenance);
        let environment = environment.map_err(|error| not_allowed(error.to_string()))?;
        let mut command: Vec<OsString> = spec.setup.iter().map(OsString::from).collect();
        if let (Some(first), Some(program)) = (command.first_mut(), spec.setup.first()) {
            let program = permitted(&profile, program, &self.desk.options.policy.executables);
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
                    self.rest().await;
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

/// Tells by its end that nobody waits any more.
#[derive(Default)]
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns all trees that have a note.
pub(super) fn all(desk: &Desk) -> Vec<Made> {
    Made::all(&desk.trees()).unwrap_or_else(|error| {
        tracing::warn!(%error, "the worktrees cannot be listed");
        Vec::new()
    })
}

/// Moves a tree to the trash. Returns why it is kept, if it is.
pub(super) async fn put_away(desk: &Desk, made: Made) -> Option<String> {
    let (trash, name) = (desk.trash(), made.name());
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
