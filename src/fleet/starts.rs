//! The order in which sessions are started: one after the other with a gap between two, and none while the machine has
//! too little memory left. Workers that live only inside their turns are no affair of this file.
//!
//! How much memory there is comes in as a sighting, which is asked for only when a start is wanted.

use super::ids::WorkerName;
use super::input::{Effect, WorkEffect};
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::time::{Span, Time};
use super::timers::Timer;
use super::waits::Subject;
use super::worker::Worker;

/// How old a reading of the memory may be, and how soon it is asked for again when it was too little or never came.
const READ_AGAIN: Span = Span::seconds(5);

/// What is known of the last start and of the machine's memory. Never recorded: after a restart it is asked anew.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Starts {
    last: Option<Time>,
    asked: Option<Time>,
    /// When it was read, and how many bytes were free; none where the machine does not tell.
    memory: Option<(Time, Option<u64>)>,
}

impl Fleet {
    /// Orders the starts that are due.
    pub(super) fn start_due(&mut self, cx: &mut Cx) {
        while let Some(worker) = self.next_to_start(cx.now) {
            if worker.elastic && !worker.life.is_fresh() && !self.is_still_wanted(&worker, cx.now) {
                self.worker_gone(cx, &worker.name, "nothing waits for it any more");
                continue;
            }
            if let Some(at) = self.gap_until(cx.now) {
                return self.at(at, Timer::Starts);
            }
            let available = match self.memory_now(cx) {
                Ok(available) => available,
                Err(at) => return self.at(at, Timer::Starts),
            };
            match available.filter(|bytes| *bytes < self.limits.memory_floor) {
                None => self.order_start(cx, &worker),
                Some(bytes) if !worker.elastic && !worker.life.is_fresh() => self.refuse_start(cx, &worker.name, bytes),
                Some(_) => {
                    // Read again when it is old.
                    let read = self.starts.memory.map_or(cx.now, |(at, _)| at);
                    return self.at(read + READ_AGAIN, Timer::Starts);
                }
            }
        }
    }

    pub(super) fn seen_memory(&mut self, cx: &Cx, available: Option<u64>) {
        self.starts.memory = Some((cx.now, available));
        self.starts.asked = None;
    }

    /// Returns why the start of a worker that was not ordered yet waits.
    pub(super) fn why_start_waits(&self, worker: &Worker, now: Time) -> Option<String> {
        if worker.life.ordered || !self.to_start.contains(&(worker.session, worker.name.clone())) {
            return None;
        }
        if self.paused.is_some() && worker.elastic && !worker.life.is_fresh() {
            return Some("fleetd is paused".into());
        }
        if let Some(why) = self.why_backs_off(&worker.role, now) {
            return Some(why);
        }
        if let Some((_, Some(bytes))) = self.starts.memory
            && bytes < self.limits.memory_floor
        {
            return Some(self.too_little(bytes));
        }
        let before = self.to_start.iter().take_while(|(session, _)| *session < worker.session).count();
        Some(match before {
            0 => format!("its start waits for the gap of {} after the last one", self.limits.start_stagger),
            1 => format!("one start goes before its own, {} apart", self.limits.start_stagger),
            n => format!("{n} starts go before its own, {} apart", self.limits.start_stagger),
        })
    }

    /// Returns why no session is started at all for now, if so.
    pub(super) fn too_little(&self, bytes: u64) -> String {
        format!(
            "memory: {} available, and limits.memory_floor of fleetd.toml is {}",
            mib(bytes),
            mib(self.limits.memory_floor)
        )
    }

    fn next_to_start(&self, now: Time) -> Option<std::sync::Arc<Worker>> {
        let mut rows = self.to_start.iter().filter_map(|(_, name)| self.workers.get(name));
        let may = |worker: &&std::sync::Arc<Worker>| {
            // What a role wants by itself waits while nothing is handed out.
            let held = self.paused.is_some() && worker.elastic && !worker.life.is_fresh();
            !held && !((worker.elastic || worker.life.is_fresh()) && self.backs_off(&worker.role, now))
        };
        rows.find(may).cloned()
    }

    fn gap_until(&self, now: Time) -> Option<Time> {
        let at = self.starts.last? + self.limits.start_stagger;
        // A clock that went back must not hold anything up for long.
        (at > now && at.since(now) <= self.limits.start_stagger).then_some(at)
    }

    /// Returns how much memory there is, or asks for it and returns when to look again.
    fn memory_now(&mut self, cx: &mut Cx) -> Result<Option<u64>, Time> {
        if self.limits.memory_floor == 0 {
            return Ok(None);
        }
        let young = |(at, _): &(Time, Option<u64>)| cx.now.since(*at) < READ_AGAIN && *at <= cx.now;
        if let Some((_, available)) = self.starts.memory.filter(young) {
            return Ok(available);
        }
        let asked = self.starts.asked.filter(|at| *at <= cx.now && cx.now.since(*at) < READ_AGAIN);
        if asked.is_none() {
            self.starts.asked = Some(cx.now);
            cx.effect(Effect::Work(WorkEffect::Memory));
        }
        Err(self.starts.asked.unwrap_or(cx.now) + READ_AGAIN)
    }

    fn order_start(&mut self, cx: &mut Cx, worker: &Worker) {
        let mut worker = worker.clone();
        worker.life.ordered = true;
        worker.since = cx.now;
        let worker = self.put_worker(cx, worker);
        self.starts.last = Some(cx.now);
        // It takes memory: what was read before it counts no more.
        self.starts.memory = None;
        cx.effect(Effect::Work(WorkEffect::Start(worker)));
    }

    /// Who asked for this worker is told at once, and decides.
    fn refuse_start(&mut self, cx: &mut Cx, name: &WorkerName, bytes: u64) {
        let why = self.too_little(bytes);
        for ticket in self.end_waits(&Subject::Worker(name.clone())) {
            let refusal = Refusal::new(RefusalKind::Unavailable, format!("worker {name} was not started: {why}"))
                .hint("stop a worker that idles, or lower limits.memory_floor in fleetd.toml (0 = none)");
            cx.answer(ticket, Err(refusal));
        }
        self.worker_gone(cx, name, &why);
    }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
