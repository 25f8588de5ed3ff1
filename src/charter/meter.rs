//! How long a script may run: it yields after a slice and is stopped at its limit.
//!
//! Time is counted from interrupt to interrupt. A long gap is a long call of the library, or a machine that took the
//! processor away, which must not make a recipe fail: only what the processor itself says counts of it. What never
//! interrupts is the watchdog's matter.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mlua::{Function, Lua, Thread, VmState};
use rustix::time::{ClockId, clock_gettime};

/// After this long a script lets others run.
const SLICE: Duration = Duration::from_millis(1);
/// A longer time between two interrupts counts as what the processor worked for this thread.
const GAP: Duration = Duration::from_millis(5);
/// How many pieces of script are timed by the processor from their beginning on, after one that had a long gap. The
/// others are not: to ask takes a microsecond, and most rubrics take few.
const WARY: u32 = 200;

/// What a piece of script may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Running time until it is stopped.
    pub time: Duration,
    /// What the limit is called when it is passed.
    pub said: &'static str,
    /// Whether it may be interrupted for others.
    pub sliced: bool,
}

impl Allowance {
    /// A rubric, an event handler or a scripted worker.
    pub(super) const RUBRIC: Allowance =
        Allowance { time: Duration::from_millis(50), said: "ran for more than 50 ms", sliced: false };
    /// A test between two of its own waits.
    pub(super) const TEST: Allowance =
        Allowance { time: Duration::from_millis(500), said: "ran for more than 500 ms without waiting", sliced: false };
    /// The load of a generation, all files together.
    pub(super) const LOAD: Allowance = Allowance {
        time: Duration::from_millis(500),
        said: "the charter took more than 500 ms to load",
        sliced: false,
    };
}

/// What is said when a coroutine of a run used up its time between two waits.
pub(super) const NO_WAIT: &str = "ran for more than 100 ms without waiting";
/// What is said when a run used up all its time.
pub(super) const IN_ALL: &str = "the code of this run ran for more than 5 s in all";
/// What is said when a VM used up its memory.
pub(super) const MEMORY: &str = "out of memory: a charter's code may use 64 MiB";

/// Returns whether a run failed because it passed a limit.
pub(super) fn is_limit(why: &str) -> bool {
    [NO_WAIT, IN_ALL, MEMORY].iter().any(|said| why.contains(said))
}

/// The clock of one VM; its interrupt reads it.
pub(super) struct Meter {
    running: RefCell<Option<Thread>>,
    /// What ran last: after an error it still shows where it stood.
    ended: RefCell<Option<Thread>>,
    allowance: Cell<Allowance>,
    used: Cell<Duration>,
    last: Cell<Instant>,
    began: Cell<Instant>,
    /// What the processor said when it was asked last, if that was in this piece.
    cpu: Cell<Option<Duration>>,
    /// What was counted since then.
    since: Cell<Duration>,
    wary: Cell<u32>,
    blown: RefCell<Option<String>>,
    where_is: RefCell<Option<Function>>,
    beat: Arc<AtomicU64>,
}

/// What a piece of script used, and whether it was stopped.
pub(super) struct Used {
    /// Running time.
    pub time: Duration,
    /// The error of the limit it passed, with its position.
    pub blown: Option<String>,
}

impl Meter {
    /// Returns a meter that watches everything this VM runs; `beat` counts up while it does.
    pub(super) fn install(lua: &Lua, beat: Arc<AtomicU64>) -> Rc<Meter> {
        let now = Instant::now();
        let meter = Rc::new(Meter {
            running: RefCell::new(None),
            ended: RefCell::new(None),
            allowance: Cell::new(Allowance::LOAD),
            used: Cell::new(Duration::ZERO),
            last: Cell::new(now),
            began: Cell::new(now),
            cpu: Cell::new(None),
            since: Cell::new(Duration::ZERO),
            wary: Cell::new(0),
            blown: RefCell::new(None),
            where_is: RefCell::new(None),
            beat,
        });
        let inner = Rc::clone(&meter);
        lua.set_interrupt(move |_| inner.interrupt());
        meter
    }

    /// Tells the meter the function that finds where a coroutine stands.
    pub(super) fn locate_with(&self, where_is: Function) {
        *self.where_is.borrow_mut() = Some(where_is);
    }

    /// Begins to count for a coroutine.
    pub(super) fn begin(&self, thread: &Thread, allowance: Allowance) {
        self.cpu.set((self.wary.get() > 0).then(worked));
        self.wary.set(self.wary.get().saturating_sub(1));
        self.since.set(Duration::ZERO);
        let now = Instant::now();
        *self.running.borrow_mut() = Some(thread.clone());
        self.ended.borrow_mut().take();
        self.allowance.set(allowance);
        self.used.set(Duration::ZERO);
        self.last.set(now);
        self.began.set(now);
        *self.blown.borrow_mut() = None;
    }

    /// Notes that memory ran out: what is running may not go on, whatever it catches.
    pub(super) fn out_of_memory(&self) {
        let running = self.running.borrow().clone();
        if let Some(running) = running {
            let text = self.memory_text(&running);
            self.blown.borrow_mut().get_or_insert(text);
        }
    }

    /// Returns what is said of memory that ran out in what ran last, with the line at which it stood.
    pub(super) fn out_of_memory_at_the_end(&self) -> String {
        match self.ended.borrow_mut().take() {
            Some(thread) => self.memory_text(&thread),
            None => MEMORY.to_owned(),
        }
    }

    /// Forgets what ran last, and with it all that its locals hold.
    pub(super) fn forget(&self) {
        self.ended.borrow_mut().take();
    }

    fn memory_text(&self, thread: &Thread) -> String {
        match self.position(thread) {
            Some(at) => format!("{at}: {MEMORY}"),
            None => MEMORY.to_owned(),
        }
    }

    /// Ends counting.
    pub(super) fn end(&self) -> Used {
        self.count(Instant::now());
        *self.ended.borrow_mut() = self.running.borrow_mut().take();
        Used { time: self.used.get(), blown: self.blown.borrow_mut().take() }
    }

    fn count(&self, now: Instant) {
        let gap = now.saturating_duration_since(self.last.replace(now));
        let counts = if gap > GAP { self.long(gap) } else { gap };
        self.since.set(if gap > GAP { Duration::ZERO } else { self.since.get() + gap });
        self.used.set(self.used.get() + counts);
    }

    /// Returns how much of a long gap counts. Of the first one nobody knows what it was; all others in this piece and
    /// those after it are known.
    fn long(&self, gap: Duration) -> Duration {
        self.wary.set(WARY);
        let now = worked();
        let known = |before| now.saturating_sub(before).saturating_sub(self.since.get()).min(gap);
        self.cpu.replace(Some(now)).map_or(GAP, known)
    }

    fn interrupt(&self) -> mlua::Result<VmState> {
        if self.running.borrow().is_none() {
            return Ok(VmState::Continue);
        }
        let now = Instant::now();
        self.count(now);
        self.beat.fetch_add(1, Ordering::Relaxed);
        let allowance = self.allowance.get();
        if self.blown.borrow().is_some() || self.used.get() >= allowance.time {
            // It stays blown: a script that catches the error meets it again at its next instruction.
            if self.blown.borrow().is_none() {
                let running = self.running.borrow().clone();
                let text = match running.and_then(|running| self.position(&running)) {
                    Some(at) => format!("{at}: {}", allowance.said),
                    None => allowance.said.to_owned(),
                };
                *self.blown.borrow_mut() = Some(text);
            }
            let text = self.blown.borrow().clone().unwrap_or_default();
            return Err(mlua::Error::runtime(text));
        }
        if allowance.sliced && now.saturating_duration_since(self.began.get()) >= SLICE {
            return Ok(VmState::Yield);
        }
        Ok(VmState::Continue)
    }

    fn position(&self, thread: &Thread) -> Option<String> {
        let where_is = self.where_is.borrow().clone()?;
        where_is.call::<Option<String>>(thread).ok()?
    }
}

/// Returns how long the processor has worked for this thread.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.try_into().unwrap_or_default())
}
