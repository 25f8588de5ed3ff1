//! Which generation is in force: open, reload, keep the last good one, rebuild an old one for its runs.
//!
//! A new generation is built beside the running one and swapped in one step; a failure changes nothing and is kept.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::courier::Unprepared;
use super::difference;
use super::error::{CharterError, CharterErrors};
use super::sources::Sources;
use super::vm::Loaded;
use super::{Inner, Upward};
use crate::fleet::difference::Change;
use crate::fleet::team::Generation;

/// The file with the last good sources, in the state directory.
const LAST_GOOD: &str = "charter-last-good.json";

/// How many changes are written into the log at a load; all are shown at the doors.
const MOST_TOLD: usize = 20;

/// Why the directory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The daemon starts.
    Start,
    /// Something may have changed; files that were refused before need no second look.
    Hint,
    /// Somebody asked, and wants to hear what is wrong.
    Asked,
}

/// What reloading must remember.
pub(super) struct Memory {
    /// The newest generation that was ever in force.
    last: Option<Generation>,
    /// The hash of the files that were refused last.
    refused: Option<String>,
    /// The hash of the last good copy, at the start.
    copy: Option<String>,
    /// The files that were in force before the present ones.
    pub(super) before: Option<Arc<Sources>>,
    /// Files that cost a VM, and how often.
    costly: Option<(String, u32)>,
}

impl Memory {
    /// Returns the memory of a daemon that knows the last generation of its predecessor.
    pub(super) fn new(last: Option<Generation>) -> Memory {
        Memory { last, refused: None, copy: None, before: None, costly: None }
    }

    /// Counts the VMs that files have cost.
    pub(super) fn cost(&mut self, hash: &str) -> u32 {
        let times = match &self.costly {
            Some((costly, times)) if costly == hash => times + 1,
            _ => 1,
        };
        self.costly = Some((hash.to_owned(), times));
        times
    }

    pub(super) fn next(&self, hash: &str) -> Generation {
        let number = match &self.last {
            Some(last) if last.hash == hash => last.number,
            Some(last) => last.number + 1,
            None => 1,
        };
        Generation { number, hash: hash.to_owned() }
    }
}

impl Inner {
    /// Loads the charter for the first time; a broken one falls back to the last good copy.
    pub(super) async fn open(self: &Arc<Self>) -> Result<(), CharterErrors> {
        let dir = self.dir.clone();
        if !dir.is_dir() {
            return Err(CharterError::plain(format!("the charter directory {} does not exist", dir.display())).into());
        }
        let file = self.state.join(LAST_GOOD);
        let copy = blocking(move || read_copy(&file)).await.flatten();
        if let Some(copy) = &copy {
            let mut memory = self.reloading.lock().await;
            memory.copy = Some(copy.hash().to_owned());
            if let Some(last) = &mut memory.last {
                // The store knows the number, the copy the files: unchanged files keep their number over a restart.
                last.hash = copy.hash().to_owned();
            }
        }
        if self.reload(Why::Start).await.is_ok() {
            return Ok(());
        }
        let Some(sources) = copy else { return Ok(()) };
        tracing::error!("the charter cannot be taken as it is; the last good copy of it comes into force");
        let mut memory = self.reloading.lock().await;
        let generation = memory.next(sources.hash());
        let built = self.build(Arc::new(sources), generation, false).await;
        match built {
            Ok(loaded) => self.swap(&mut memory, loaded, true).await,
            Err(unfit) => tracing::error!(error = %unfit.errors, "the last good copy of the charter does not load"),
        }
        Ok(())
    }

    /// Reads the directory and puts it in force if it changed.
    pub(super) async fn reload(self: &Arc<Self>, why: Why) -> Result<(), CharterErrors> {
        let mut memory = self.reloading.lock().await;
        let dir = self.dir.clone();
        let read = blocking(move || Sources::read(&dir)).await;
        let read = read.unwrap_or_else(|| Err(CharterError::plain("the charter could not be read").into()));
        let sources = match read {
            Ok(sources) => Arc::new(sources),
            Err(errors) => return Err(self.refuse(&mut memory, String::new(), errors, Vec::new())),
        };
        let hash = sources.hash().to_owned();
        if self.current().is_some_and(|current| current.sources.hash() == hash) {
            // The directory is what runs: an earlier refusal is over, and so is the copy.
            let mut status = self.status();
            status.error = None;
            status.stale_since = None;
            status.refused_change.clear();
            status.last_good = false;
            memory.refused = None;
            return Ok(());
        }
        if why == Why::Hint && memory.refused.as_ref() == Some(&hash) {
            return Ok(());
        }
        let generation = memory.next(&hash);
        // At the start there may be nothing that a failing test could keep in force; a copy of other files is.
        let with_tests = why != Why::Start || memory.copy.as_ref().is_some_and(|copy| *copy != hash);
        let built = self.build(Arc::clone(&sources), generation, with_tests).await;
        match built {
            Ok(loaded) => {
                self.swap(&mut memory, loaded, false).await;
                Ok(())
            }
            Err(unfit) => {
                let change = self.current().map_or_else(Vec::new, |current| match &unfit.team {
                    Some(team) => difference::whole((&current.team, &current.sources), (team, &sources)),
                    None => difference::files(&current.sources, &sources),
                });
                Err(self.refuse(&mut memory, hash, unfit.errors, change))
            }
        }
    }

    /// Builds a VM from sources that were kept, for runs that began under them.
    pub(super) async fn rebuild(&self, generation: &Generation) -> Result<Arc<Loaded>, Unprepared> {
        let number = generation.number;
        let impossible = |why: String| Unprepared::Impossible(format!("the charter of generation {number} {why}"));
        let kept = self
            .journal
            .sources(generation.hash.clone())
            .await
            .map_err(|error| {
                Unprepared::Unreadable(format!("the charter of generation {number} cannot be read: {error}"))
            })?
            .ok_or_else(|| impossible("is not in the journal any more".into()))?;
        let sources = Arc::new(Sources::from_text(&kept).map_err(Unprepared::Impossible)?);
        self.build(sources, generation.clone(), false)
            .await
            .map(|loaded| self.watched(loaded))
            .map_err(|unfit| impossible(format!("does not load any more: {}", unfit.errors)))
    }

    /// Puts a generation in force that lies in the directory, or that is the last good one.
    pub(super) async fn swap(self: &Arc<Self>, memory: &mut Memory, loaded: Loaded, last_good: bool) {
        let (text, hash) = (Arc::<str>::from(loaded.sources.to_text()), loaded.sources.hash().to_owned());
        // Before any run can begin under it: its sources must be there when it is replayed.
        if let Err(error) = self.journal.save_sources(hash, Arc::clone(&text)).await {
            tracing::error!(%error, "the charter's sources could not be kept; runs would not survive a change of the charter");
        }
        let file = self.state.join(LAST_GOOD);
        blocking(move || keep(&file, &text)).await;
        let team = Arc::clone(&loaded.team);
        let sources = Arc::clone(&loaded.sources);
        let now = Some(self.watched(loaded));
        let old = std::mem::replace(&mut *self.current.lock().expect("never poisoned: no code runs under it"), now);
        let change =
            old.as_ref().map_or_else(Vec::new, |old| difference::whole((&old.team, &old.sources), (&team, &sources)));
        memory.before = old.map(|old| Arc::clone(&old.sources));
        memory.costly = None;
        memory.last = Some(team.generation.clone());
        {
            let mut status = self.status();
            status.generation = team.generation.clone();
            status.since = Some(self.clock.now());
            status.files = sources.names();
            status.last_good = last_good;
            status.last_change.clone_from(&change);
            // What is in force now has not failed yet.
            (status.handler_place, status.handler_failed_at) = (None, None);
            if !last_good {
                status.error = None;
                status.stale_since = None;
                status.refused_change.clear();
                memory.refused = None;
            }
        }
        tracing::info!(generation = team.generation.number, last_good, "charter in force");
        for one in change.iter().take(MOST_TOLD) {
            tracing::info!(generation = team.generation.number, "changed: {}", one.words);
        }
        let event = json!({"event": "charter_loaded", "generation": team.generation.number, "last_good": last_good});
        self.up(Upward::Team(team));
        self.tell("charter_loaded", event);
    }

    /// Keeps what is in force, and why something else was not taken with what that would have changed.
    pub(super) fn refuse(
        self: &Arc<Self>,
        memory: &mut Memory,
        hash: String,
        errors: CharterErrors,
        change: Vec<Change>,
    ) -> CharterErrors {
        let mut status = self.status();
        // The same broken files looked at twice are one refused load.
        let is_new = memory.refused.as_ref() != Some(&hash);
        if is_new {
            status.rejected += 1;
            tracing::warn!(error = %errors, "charter refused; the old one stays in force");
        }
        memory.refused = Some(hash);
        status.error = Some(errors.to_string());
        status.stale_since.get_or_insert_with(|| self.clock.now());
        status.refused_change = change;
        let generation = status.generation.number;
        drop(status);
        if is_new {
            let event = json!({"event": "charter_refused", "generation": generation, "error": errors.to_string()});
            self.tell("charter_refused", event);
        }
        errors
    }
}

/// Reads the last good copy; a copy that is there and cannot be read is as good as none, but not in silence.
fn read_copy(file: &Path) -> Option<Sources> {
    let read = match fs::read_to_string(file) {
        Ok(text) => Sources::from_text(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Err(format!("cannot read the last good copy: {error}")),
    };
    read.map_err(|error| tracing::error!(file = %file.display(), error, "the last good copy is of no use")).ok()
}

fn keep(file: &Path, text: &str) {
    let beside = file.with_extension("json.new");
    let write = || {
        let mut new = fs::File::create(&beside)?;
        new.write_all(text.as_bytes())?;
        // A name that outlives a power cut must not be the name of an empty file.
        new.sync_all()?;
        fs::rename(&beside, file)
    };
    let done: io::Result<()> = write();
    if let Err(error) = done {
        tracing::warn!(%error, file = %file.display(), "the last good charter could not be kept");
    }
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
