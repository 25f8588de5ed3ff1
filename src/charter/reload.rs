//! Which generation is in force: open, reload, keep the last good one, rebuild an old one for its runs.
//!
//! A new generation is built beside the running one and swapped in one step; a failure changes nothing and is kept.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::courier::{Order, Unprepared};
use super::error::{CharterError, CharterErrors};
use super::sources::Sources;
use super::vm::Loaded;
use super::{Inner, Upward};
use crate::fleet::team::Generation;

/// The file with the last good sources, in the state directory.
const LAST_GOOD: &str = "charter-last-good.json";
/// How long a VM's thread may be silent while it has something to do.
const SILENCE: Duration = Duration::from_secs(2);

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
}

impl Memory {
    /// Returns the memory of a daemon that knows the last generation of its predecessor.
    pub(super) fn new(last: Option<Generation>) -> Memory {
        Memory { last, refused: None, copy: None }
    }

    fn next(&self, hash: &str) -> Generation {
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
        let built = Loaded::build(Arc::new(sources), generation, false, self.inputs.clone()).await;
        match built {
            Ok(loaded) => self.swap(&mut memory, loaded, true).await,
            Err(errors) => tracing::error!(error = %errors, "the last good copy of the charter does not load"),
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
            Err(errors) => return Err(self.refuse(&mut memory, String::new(), errors)),
        };
        let hash = sources.hash().to_owned();
        if self.current().is_some_and(|current| current.sources.hash() == hash) {
            // The directory is what runs: an earlier refusal is over, and so is the copy.
            let mut status = self.status();
            status.error = None;
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
        let built = Loaded::build(sources, generation, with_tests, self.inputs.clone()).await;
        match built {
            Ok(loaded) => {
                self.swap(&mut memory, loaded, false).await;
                Ok(())
            }
            Err(errors) => Err(self.refuse(&mut memory, hash, errors)),
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
        Loaded::build(sources, generation.clone(), false, self.inputs.clone())
            .await
            .map(|loaded| self.watched(loaded))
            .map_err(|errors| impossible(format!("does not load any more: {errors}")))
    }

    /// Gives up a stuck generation and lets its runs go on elsewhere, without the one whose code hangs; gives the
    /// generation back if it is in force and nothing can take its place.
    async fn replace(self: &Arc<Self>, stuck: Arc<Loaded>, beat: u64) -> Result<(), Arc<Loaded>> {
        stuck.abandon();
        let running = stuck.running();
        // If it came back just now, nobody knows any more which run it was.
        let hung = running.filter(|_| stuck.beat() == Some(beat));
        let generation = stuck.team.generation.clone();
        tracing::error!(
            generation = generation.number,
            run = hung.map(|run| run.to_string()),
            "the charter's thread is stuck; its charter is loaded anew"
        );
        if self.current().is_some_and(|current| Arc::ptr_eq(&current, &stuck)) {
            let built = Loaded::build(Arc::clone(&stuck.sources), generation, false, self.inputs.clone()).await;
            let fresh = match built {
                Ok(fresh) => self.watched(fresh),
                Err(errors) => {
                    tracing::error!(error = %errors, "the stuck charter could not be loaded anew");
                    return Err(stuck);
                }
            };
            let mut slot = self.current.lock().expect("never poisoned: no code runs under it");
            // A reload may have been quicker; then its generation stays.
            if slot.as_ref().is_some_and(|now| Arc::ptr_eq(now, &stuck)) {
                *slot = Some(fresh);
            }
        }
        // A generation that only finishes its runs is built anew by the courier, for the runs that are left.
        self.order(Order::Stuck { home: stuck, hung });
        Ok(())
    }

    async fn swap(self: &Arc<Self>, memory: &mut Memory, loaded: Loaded, last_good: bool) {
        let (text, hash) = (Arc::<str>::from(loaded.sources.to_text()), loaded.sources.hash().to_owned());
        // Before any run can begin under it: its sources must be there when it is replayed.
        if let Err(error) = self.journal.save_sources(hash, Arc::clone(&text)).await {
            tracing::error!(%error, "the charter's sources could not be kept; runs would not survive a change of the charter");
        }
        let file = self.state.join(LAST_GOOD);
        blocking(move || keep(&file, &text)).await;
        let team = Arc::clone(&loaded.team);
        let files = loaded.sources.names();
        *self.current.lock().expect("never poisoned: no code runs under it") = Some(self.watched(loaded));
        memory.last = Some(team.generation.clone());
        {
            let mut status = self.status();
            status.generation = team.generation.clone();
            status.since = Some(self.clock.now());
            status.files = files;
            status.last_good = last_good;
            if !last_good {
                status.error = None;
                memory.refused = None;
            }
        }
        tracing::info!(generation = team.generation.number, last_good, "charter in force");
        let event = json!({"event": "charter_loaded", "generation": team.generation.number, "last_good": last_good});
        self.up(Upward::Team(team));
        self.tell("charter_loaded", event);
    }

    fn refuse(&self, memory: &mut Memory, hash: String, errors: CharterErrors) -> CharterErrors {
        let mut status = self.status();
        // The same broken files looked at twice are one refused load.
        if memory.refused.as_ref() != Some(&hash) {
            status.rejected += 1;
            tracing::warn!(error = %errors, "charter refused; the old one stays in force");
        }
        memory.refused = Some(hash);
        status.error = Some(errors.to_string());
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Replaces every VM whose thread is silent though it has something to do: the one in force, and those that only
/// finish their runs.
pub(super) async fn watchdog(inner: Arc<Inner>) {
    let mut seen: Vec<(Arc<Loaded>, u64, Instant)> = Vec::new();
    loop {
        tokio::time::sleep(SILENCE / 4).await;
        let mut busy = Vec::new();
        for home in inner.living() {
            let Some(beat) = home.beat() else { continue };
            let since = seen.iter().find(|(one, old, _)| Arc::ptr_eq(one, &home) && *old == beat);
            let since = since.map_or_else(Instant::now, |(_, _, since)| *since);
            if since.elapsed() < SILENCE {
                busy.push((home, beat, since));
            } else if let Err(home) = inner.replace(home, beat).await {
                // Only what is in force must be replaced; it is tried again as long as it is.
                busy.push((home, beat, Instant::now()));
            }
        }
        // Held until the next look only, or a generation without runs would never be let go.
        seen = busy;
    }
}
