//! Hints that the charter's files changed. A hint only starts a timer; what counts is the hash of what is then read.
//!
//! The directory is watched with all below it, and its parent, since a directory that was removed and made again is
//! only heard there. A slow poll is the net below both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, channel};

use super::reload::{Why, blocking};
use super::sources::Sources;
use super::{Inner, Upward};

/// How long it must be quiet before the files are read.
const REST: Duration = Duration::from_millis(100);
/// How often whoever has no daemon looks at the files without any hint.
const LOOK: Duration = Duration::from_secs(2);
/// After this long an unquiet directory is read as well: somebody else may write beside the charter for ever.
const CAP: Duration = Duration::from_secs(1);
/// How long the charter itself may go on changing before it is taken as it is.
const LONGEST: Duration = Duration::from_secs(10);

/// Reloads when the directory changes.
///
/// With `listens` the system is asked to tell of changes; without, only the poll sees them.
pub(super) async fn watch(inner: Arc<Inner>, poll: Duration, listens: bool) {
    // One hint is as good as many: a full channel means that the files will be read anyway.
    let (hint, mut hints) = channel(1);
    let ours = hint.clone();
    let mut ears = listens.then(|| {
        Ears::new(&inner.dir, move || {
            let _ = ours.try_send(());
        })
    });
    let mut told = None;
    loop {
        // Before the look, so that no change falls between the two; again each time, for a directory made anew.
        if let Some(ears) = &mut ears {
            ears.arm();
        }
        // A refusal is in the status and in the log; nobody waits for it here.
        let _ = inner.reload(Why::Hint).await;
        match tokio::time::timeout(poll, hints.recv()).await {
            Ok(_) => settle(&inner, &mut hints).await,
            // Whoever edits sees it at once; the leader hears of what was left as it is.
            Err(_) => {
                tell_leader(&inner, &mut told);
                rest(&inner).await;
            }
        }
    }
}

/// Waits until the files are at rest, where they changed and no hint came: half of a checkout may be a charter too.
async fn rest(inner: &Inner) {
    let (began, mut still) = (Instant::now(), Still::default());
    while still.look(inner).await == Seen::Moving && began.elapsed() < LONGEST {
        tokio::time::sleep(REST).await;
    }
}

/// What was read of a charter that changes: its hash, or why it cannot be read.
#[derive(Default)]
struct Still {
    seen: Option<String>,
}

/// What one more look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// The files in force.
    InForce,
    /// The same as the last time.
    Same,
    /// The same as the last time, but it cannot be read, or files are missing that are in force: they may be written anew.
    Holes,
    /// Something else.
    Moving,
}

impl Still {
    async fn look(&mut self, inner: &Inner) -> Seen {
        let dir = inner.dir.clone();
        let now = blocking(move || Sources::read(&dir).map_err(|errors| errors.to_string())).await;
        let in_force = inner.current().map(|current| Arc::clone(&current.sources)).unwrap_or_default();
        self.judge(&now.unwrap_or_else(|| Err(String::new())), &in_force)
    }

    fn judge(&mut self, now: &Result<Sources, String>, in_force: &Sources) -> Seen {
        let what = now.as_ref().map_or_else(String::clone, |sources| sources.hash().to_owned());
        let is_known = self.seen.as_ref() == Some(&what);
        self.seen = Some(what);
        match now {
            Ok(now) if now.hash() == in_force.hash() => Seen::InForce,
            _ if !is_known => Seen::Moving,
            Ok(now) if in_force.iter().all(|(name, _)| now.text(name).is_some()) => Seen::Same,
            _ => Seen::Holes,
        }
    }
}

/// Tells the leader once of files that stay refused.
fn tell_leader(inner: &Inner, told: &mut Option<String>) {
    let error = inner.status().error.clone();
    if *told == error {
        return;
    }
    if let Some(error) = &error {
        let text = format!("the charter's newest files were not taken, the ones before stay in force: {error}");
        inner.up(Upward::Notice(text));
    }
    *told = error;
}

/// Waits until the directory was quiet for a while. If it never is, until two looks have found the same files, and none of
/// those in force vanished: each half of a slow checkout may be a charter, too, and would take away whole roles.
async fn settle(inner: &Inner, hints: &mut Receiver<()>) {
    let (began, mut looked, mut still) = (Instant::now(), Instant::now(), Still::default());
    while began.elapsed() < LONGEST {
        if tokio::time::timeout(REST, hints.recv()).await.is_err() {
            return;
        }
        if began.elapsed() >= CAP && looked.elapsed() >= REST {
            looked = Instant::now();
            if matches!(still.look(inner).await, Seen::InForce | Seen::Same) {
                return;
            }
        }
    }
}

/// The saves of a charter, one after the other, for whoever has no daemon.
pub struct Saves {
    dir: PathBuf,
    ears: Ears,
    hints: mpsc::Receiver<()>,
    seen: Option<String>,
}

impl Saves {
    /// Returns the saves below a directory; what lies there already is the first one.
    pub fn of(dir: &Path) -> Saves {
        let (hint, hints) = mpsc::sync_channel(1);
        let ears = Ears::new(dir, move || {
            let _ = hint.try_send(());
        });
        Saves { dir: dir.to_owned(), ears, hints, seen: None }
    }

    /// Waits until the files are others than the last time, or cannot be read for another reason.
    pub fn next(&mut self) {
        loop {
            self.ears.arm();
            let now = match Sources::read(&self.dir) {
                Ok(sources) => sources.hash().to_owned(),
                Err(errors) => errors.to_string(),
            };
            if self.seen.as_ref() != Some(&now) {
                self.seen = Some(now);
                return;
            }
            if self.hints.recv_timeout(LOOK).is_err() {
                continue;
            }
            let began = Instant::now();
            while began.elapsed() < CAP && self.hints.recv_timeout(REST).is_ok() {}
        }
    }
}

/// The watches on the directory, its parent, and the places of every link on the way to it.
struct Ears {
    dir: PathBuf,
    watcher: Option<notify::RecommendedWatcher>,
}

impl Ears {
    fn new(dir: &Path, hint: impl Fn() + Send + 'static) -> Ears {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let ours = dir.clone();
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| matters(&event, &ours)) {
                hint();
            }
        });
        let watcher = match made {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "the charter's files cannot be watched; they are looked at now and then");
                None
            }
        };
        Ears { dir, watcher }
    }

    fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (place, mode) in places(&self.dir) {
            // Neither call can be relied on: a place may have gone, or never have been there; the poll remains.
            let _ = watcher.unwatch(&place);
            let _ = watcher.watch(&place, mode);
        }
    }
}

/// Returns what is watched for a directory: itself, the folder in which its name stands, and the folders in which the
/// names of links stand that lead to it, since a link that is switched is heard of only there.
fn places(dir: &Path) -> Vec<(PathBuf, RecursiveMode)> {
    let mut places = vec![(dir.to_owned(), RecursiveMode::Recursive)];
    let mut add = |path: Option<&Path>| {
        if let Some(path) = path.filter(|path| places.iter().all(|(place, _)| place != path)) {
            places.push((path.to_owned(), RecursiveMode::NonRecursive));
        }
    };
    add(dir.parent());
    for link in dir.ancestors().filter(|path| path.is_symlink()) {
        add(link.parent());
        // What it leads to may be replaced as well, under its own name.
        add(link.canonicalize().ok().as_deref().and_then(Path::parent));
    }
    places
}

/// Returns whether an event is about the charter, or about something on the way to it, and not only about somebody who
/// reads it. A place that only lies beside it says nothing.
fn matters(event: &Event, dir: &Path) -> bool {
    let real = || dir.canonicalize().unwrap_or_default();
    !matches!(event.kind, EventKind::Access(_))
        && event.paths.iter().any(|path| {
            path.starts_with(dir) || dir.starts_with(path) || real().starts_with(path) || path.starts_with(real())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_still_once_two_looks_find_the_same_and_none_is_missing() {
        let files = |names: &[&'static str]| Sources::from_files(names.iter().map(|name| (*name, "-- x")));
        let (in_force, whole, part) =
            (files(&["a.lua", "b.lua"]), files(&["a.lua", "b.lua", "c.lua"]), files(&["a.lua"]));
        let mut still = Still::default();
        let looks = [
            (Ok(part.clone()), Seen::Moving),
            (Ok(part), Seen::Holes),
            (Err("it is empty".to_owned()), Seen::Moving),
            (Err("it is empty".to_owned()), Seen::Holes),
            (Ok(whole.clone()), Seen::Moving),
            (Ok(whole), Seen::Same),
            (Ok(in_force.clone()), Seen::InForce),
        ];
        for (now, seen) in looks {
            assert_eq!(still.judge(&now, &in_force), seen);
        }
    }
}
