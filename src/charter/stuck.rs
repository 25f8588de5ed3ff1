//! VMs that are of no use any more: a thread that does not come back, or a memory that is full for good.
//!
//! Such a VM is left alone, its files are loaded anew, and its runs go on there, but for the one whose code hangs. Files
//! that cost a second VM are put aside: the generation before them comes back into force.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Inner;
use super::courier::Order;
use super::error::CharterError;
use super::vm::Loaded;

/// How long a VM's thread may be silent while it has something to do.
const SILENCE: Duration = Duration::from_secs(2);
/// How many VMs the same files may cost before others come into force.
const MOST: u32 = 2;

/// Replaces every VM that is of no use: the one in force, and those that only finish their runs.
pub(super) async fn watchdog(inner: Arc<Inner>) {
    let mut seen: Vec<(Arc<Loaded>, u64, Instant)> = Vec::new();
    let mut tried = Instant::now();
    loop {
        tokio::time::sleep(SILENCE / 4).await;
        let mut busy = Vec::new();
        for home in inner.living() {
            if home.is_abandoned() {
                // Nothing could take its place; as long as it is in force that is tried again.
                if tried.elapsed() >= SILENCE && inner.is_in_force(&home) {
                    inner.load_anew(&home, None).await;
                    tried = Instant::now();
                }
                continue;
            }
            let exhausted = home.is_exhausted();
            let beat = match home.beat() {
                Some(beat) => beat,
                None if exhausted => 0,
                None => continue,
            };
            let since = seen.iter().find(|(one, old, _)| Arc::ptr_eq(one, &home) && *old == beat);
            let since = since.map_or_else(Instant::now, |(_, _, since)| *since);
            if since.elapsed() < SILENCE && !exhausted {
                busy.push((home, beat, since));
                continue;
            }
            let trouble = if exhausted { Trouble::Full } else { Trouble::Silent(beat) };
            inner.replace(home, trouble).await;
            tried = Instant::now();
        }
        // Held until the next look only, or a generation without runs would never be let go.
        seen = busy;
    }
}

/// What is wrong with a VM.
#[derive(Clone, Copy)]
enum Trouble {
    /// Its thread gave no sign of life since this one.
    Silent(u64),
    /// Its memory is full of what no script lets go.
    Full,
}

impl Trouble {
    fn said(self) -> &'static str {
        match self {
            Trouble::Silent(_) => "its code did not come back for 2 s",
            Trouble::Full => "its memory was full of what its code did not let go",
        }
    }
}

impl Inner {
    /// Gives up a VM and lets its runs go on elsewhere, without the one whose code hangs.
    async fn replace(self: &Arc<Self>, home: Arc<Loaded>, trouble: Trouble) {
        home.abandon();
        let running = home.running();
        // If it came back just now, nobody knows any more which run it was.
        let hung = match trouble {
            Trouble::Silent(beat) => running.filter(|_| home.beat() == Some(beat)),
            Trouble::Full => None,
        };
        tracing::error!(
            generation = home.team.generation.number,
            run = hung.map(|run| run.to_string()),
            why = trouble.said(),
            "the charter's VM is given up; its files are loaded anew"
        );
        // A run's own code is the run's matter, and that run ends.
        self.load_anew(&home, hung.is_none().then_some(trouble)).await;
        // A generation that only finishes its runs is built anew by the courier, for the runs that are left.
        self.order(Order::Stuck { home, hung });
    }

    fn is_in_force(&self, home: &Arc<Loaded>) -> bool {
        self.current().is_some_and(|current| Arc::ptr_eq(&current, home))
    }

    /// Puts a new VM in the place of one that is in force; `trouble` is what its files are to blame for.
    async fn load_anew(self: &Arc<Self>, home: &Arc<Loaded>, trouble: Option<Trouble>) {
        // While a reload is under way this waits: what it swaps in may be newer than what is given up.
        let mut memory = self.reloading.lock().await;
        if !self.is_in_force(home) {
            return;
        }
        let times = trouble.map_or(0, |_| memory.cost(home.sources.hash()));
        if let (Some(trouble), Some(before)) = (trouble, memory.before.clone().filter(|_| times >= MOST)) {
            let generation = memory.next(before.hash());
            let why = format!(
                "generation {} is put aside: {}, twice; the one before it is in force until its files change",
                home.team.generation.number,
                trouble.said()
            );
            match self.build(before, generation, false).await {
                Ok(loaded) => {
                    self.swap(&mut memory, loaded, true).await;
                    memory.before = None;
                    self.refuse(
                        &mut memory,
                        home.sources.hash().to_owned(),
                        CharterError::plain(why).into(),
                        Vec::new(),
                    );
                    return;
                }
                Err(unfit) => tracing::error!(error = %unfit.errors, "the generation before does not load any more"),
            }
        }
        let generation = home.team.generation.clone();
        match self.build(Arc::clone(&home.sources), generation, false).await {
            Ok(fresh) => {
                let fresh = self.watched(fresh);
                *self.current.lock().expect("never poisoned: no code runs under it") = Some(fresh);
            }
            // The next save is loaded as ever; until then the rubrics do not answer.
            Err(unfit) => tracing::error!(error = %unfit.errors, "the charter could not be loaded anew"),
        }
    }
}
