//! Hints that the charter's files changed. A hint only starts a timer; what counts is the hash of what is then read.
//!
//! The directory is watched with all below it, and its parent, since a directory that was removed and made again is
//! only heard there. A slow poll is the net below both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::Inner;
use super::reload::Why;

/// How long it must be quiet before the files are read.
const REST: Duration = Duration::from_millis(100);
/// How long an unquiet directory can put that off.
const CAP: Duration = Duration::from_secs(1);

/// Reloads when the directory changes.
pub(super) async fn watch(inner: Arc<Inner>, poll: Duration) {
    // One hint is as good as many: a full channel means that the files will be read anyway.
    let (hint, mut hints) = channel(1);
    let dir = inner.dir.clone();
    let mut ears = Ears::new(dir, hint);
    loop {
        // Before the look, so that no change falls between the two; again each time, for a directory made anew.
        ears.arm();
        // A refusal is in the status and in the log; nobody waits for it here.
        let _ = inner.reload(Why::Hint).await;
        if tokio::time::timeout(poll, hints.recv()).await.is_ok_and(|hint| hint.is_some()) {
            settle(&mut hints).await;
        }
    }
}

async fn settle(hints: &mut Receiver<()>) {
    let began = Instant::now();
    while began.elapsed() < CAP {
        if tokio::time::timeout(REST, hints.recv()).await.is_err() {
            return;
        }
    }
}

/// The watches on the directory, its parent and, where it is a link, the link's target.
struct Ears {
    places: Vec<(PathBuf, RecursiveMode)>,
    watcher: Option<notify::RecommendedWatcher>,
}

impl Ears {
    fn new(dir: PathBuf, hint: Sender<()>) -> Ears {
        let absolute = std::path::absolute(&dir).unwrap_or(dir);
        let mut places = vec![(absolute.clone(), RecursiveMode::Recursive)];
        if let Some(parent) = absolute.parent() {
            places.push((parent.to_owned(), RecursiveMode::NonRecursive));
        }
        let ours = absolute.clone();
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| matters(&event, &ours)) {
                let _ = hint.try_send(());
            }
        });
        let watcher = match made {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "the charter's files cannot be watched; they are looked at now and then");
                None
            }
        };
        Ears { places, watcher }
    }

    fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (place, mode) in &self.places {
            // Neither call can be relied on: a place may have gone, or never have been there; the poll remains.
            let _ = watcher.unwatch(place);
            let _ = watcher.watch(place, *mode);
        }
    }
}

/// Returns whether an event is about the charter and not only about somebody who reads it.
fn matters(event: &Event, dir: &Path) -> bool {
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(|path| path.starts_with(dir))
}
