//! The thread of one generation: it owns the VM, serves rubrics between slices, and lets runs go on.
//!
//! A plain thread with a plain channel: no async in here, and no lock is held while a script runs.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::error::{CharterError, CharterErrors};
use super::handlers::{self, Handled};
use super::rubric::{self, Answer};
use super::runs::Runs;
use super::sources::Sources;
use super::testing;
use super::world::World;
use crate::fleet::ids::{RunId, StepPath};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{FinishedStep, Run, RunInput};
use crate::fleet::team::{Generation, Task, Team, TeamLoad};

/// How long a build may take by the real clock: two loads, the tests, and what a busy machine adds to both.
const LONGEST_BUILD: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 15 });

/// How many events may wait for their handlers.
const MOST_EVENTS: usize = 1000;

/// One thing that a VM's thread says of a run.
pub(super) enum Said {
    /// Its code came to something.
    Reached(RunInput),
    /// Something came for it while it slept: it must be started again.
    Asleep(RunId),
}

/// One thing for the VM's thread to do.
pub(super) enum Job {
    /// Ask the rubrics.
    Route {
        /// What.
        task: Task,
        /// How the team stands.
        team: TeamLoad,
        /// Where the answer goes.
        reply: oneshot::Sender<Answer>,
    },
    /// Begin or go on with a run.
    Start {
        /// The run.
        run: Arc<Run>,
        /// Its job.
        job: Arc<Value>,
        /// What its journal has.
        finished: Vec<FinishedStep>,
    },
    /// A step was answered.
    Answer(RunId, FinishedStep),
    /// A step was refused.
    Refuse(RunId, StepPath, Refusal),
    /// Forget a run.
    Drop(RunId),
    /// Call the handlers of an event.
    Event {
        /// Its name.
        event: String,
        /// What handlers are given.
        payload: Value,
        /// Where their answers go.
        reply: Box<dyn FnOnce(Vec<Handled>) + Send>,
    },
}

/// One loaded charter with the thread that executes it; the thread ends when the last handle is dropped.
pub(super) struct Loaded {
    /// What it declares.
    pub team: Arc<Team>,
    /// What it was read from.
    pub sources: Arc<Sources>,
    jobs: Sender<Job>,
    pulse: Arc<Pulse>,
}

/// A charter that is not taken.
pub(super) struct Unfit {
    /// Why.
    pub errors: CharterErrors,
    /// What it declares, where only its tests failed.
    pub team: Option<Arc<Team>>,
}

impl From<CharterErrors> for Unfit {
    fn from(errors: CharterErrors) -> Unfit {
        Unfit { errors, team: None }
    }
}

impl From<CharterError> for Unfit {
    fn from(error: CharterError) -> Unfit {
        CharterErrors::from(error).into()
    }
}

/// The signs of life of a VM's thread.
#[derive(Default)]
struct Pulse {
    /// Counts up while scripts run and jobs are done.
    beat: Arc<AtomicU64>,
    /// True while there is something to do.
    busy: AtomicBool,
    /// The run whose code is executed just now; nothing is 0, since runs are counted from 1.
    running: AtomicU64,
    /// Set when its memory is full of what no script lets go.
    exhausted: AtomicBool,
    /// Set when nobody listens to this thread any more.
    abandoned: AtomicBool,
}

impl Loaded {
    /// Builds a generation on a new thread: loads it, checks it, and runs its tests if asked to. Of runs that wait the
    /// thread holds so many at most.
    pub(super) async fn build(
        sources: Arc<Sources>,
        generation: Generation,
        with_tests: bool,
        held_runs: usize,
        out: UnboundedSender<Said>,
    ) -> Result<Loaded, Unfit> {
        let (jobs, inbox) = channel();
        let (built, outcome) = oneshot::channel();
        let pulse = Arc::new(Pulse::default());
        let (for_thread, its_sources) = (Arc::clone(&pulse), Arc::clone(&sources));
        thread::Builder::new()
            .name(format!("charter-{}", generation.number))
            .spawn(move || {
                let beat = Arc::clone(&for_thread.beat);
                match World::load(its_sources, generation, beat) {
                    Err(errors) => drop(built.send(Err(errors.into()))),
                    Ok(world) => {
                        let refused = with_tests.then(|| testing::before_swap(&world)).flatten();
                        if let Some(errors) = refused {
                            let _ = built.send(Err(Unfit { errors, team: Some(Arc::clone(&world.team)) }));
                            return;
                        }
                        if built.send(Ok(Arc::clone(&world.team))).is_ok() {
                            serve(&world, Runs::holding(held_runs), &inbox, &out, &for_thread);
                        }
                    }
                }
            })
            .map_err(|error| CharterError::plain(format!("cannot start the charter's thread: {error}")))?;
        // A thread that is stuck cannot be ended; nobody waits for it, and it ends when it comes back.
        let outcome = tokio::time::timeout(LONGEST_BUILD, outcome).await.map_err(|_| {
            pulse.abandoned.store(true, Ordering::Release);
            CharterError::plain(format!(
                "the charter was not ready after {} s: something in its files or tests does not come back",
                LONGEST_BUILD.as_secs()
            ))
        })?;
        let team = outcome.map_err(|_| CharterError::plain("the charter's thread ended while it was loading"))??;
        Ok(Loaded { team, sources, jobs, pulse })
    }

    /// Gives the thread something to do; nothing happens if it was abandoned.
    pub(super) fn give(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    /// Returns the count of signs of life, or nothing while the thread has nothing to do.
    pub(super) fn beat(&self) -> Option<u64> {
        let pulse = &self.pulse;
        pulse.busy.load(Ordering::Acquire).then(|| pulse.beat.load(Ordering::Relaxed))
    }

    /// Returns the run whose code is executed just now.
    pub(super) fn running(&self) -> Option<RunId> {
        let id = self.pulse.running.load(Ordering::Acquire);
        (id != 0).then_some(RunId(id))
    }

    /// Returns whether nobody listens to the thread any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.pulse.abandoned.load(Ordering::Acquire)
    }

    /// Returns whether its memory is full for good.
    pub(super) fn is_exhausted(&self) -> bool {
        self.pulse.exhausted.load(Ordering::Acquire)
    }

    /// Stops listening to the thread: it ends as soon as it comes back from what it is stuck in.
    pub(super) fn abandon(&self) {
        self.pulse.abandoned.store(true, Ordering::Release);
    }
}

fn serve(world: &World, mut runs: Runs, inbox: &Receiver<Job>, out: &UnboundedSender<Said>, pulse: &Pulse) {
    let mut draw = entropy();
    let tell = |said: Said| {
        if !pulse.abandoned.load(Ordering::Acquire) {
            let _ = out.send(said);
        }
    };
    let mut more = false;
    let mut events: VecDeque<Job> = VecDeque::new();
    loop {
        // Everything that came in goes first: a rubric waits for one slice, or one event, at most.
        let job = match more {
            true => match inbox.try_recv() {
                Ok(job) => Some(job),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return,
            },
            false => {
                pulse.busy.store(false, Ordering::Release);
                match inbox.recv() {
                    Ok(job) => Some(job),
                    Err(RecvError) => return,
                }
            }
        };
        pulse.beat.fetch_add(1, Ordering::Relaxed);
        pulse.busy.store(true, Ordering::Release);
        if pulse.abandoned.load(Ordering::Acquire) {
            return;
        }
        let running = match &job {
            Some(Job::Start { run, .. }) => Some(run.id),
            Some(_) => None,
            None => runs.next(),
        };
        pulse.running.store(running.map_or(0, |run| run.0), Ordering::Release);
        match job {
            Some(event @ Job::Event { .. }) => {
                match events.len() < MOST_EVENTS {
                    true => events.push_back(event),
                    false => drop_event(event),
                }
                more = true;
            }
            Some(job) => {
                take(world, &mut runs, job, &tell);
                more = true;
            }
            None => {
                more = runs.slice(world, &mut draw, &mut |input| tell(Said::Reached(input)));
                // Handlers react to what has happened, and nobody waits for them.
                if let Some(event) = events.pop_front() {
                    pulse.running.store(0, Ordering::Release);
                    take(world, &mut runs, event, &tell);
                }
                more |= !events.is_empty();
            }
        }
        if world.is_exhausted() {
            pulse.exhausted.store(true, Ordering::Release);
        }
    }
}

/// Tells that an event finds no room: the fleet does more than its handlers can look at.
fn drop_event(job: Job) {
    if let Job::Event { event, reply, .. } = job {
        let why = format!("{MOST_EVENTS} events wait for their handlers already; {event} is not told");
        reply(vec![Handled { at: String::new(), said: Err(CharterError::plain(why)) }]);
    }
}

fn take(world: &World, runs: &mut Runs, job: Job, tell: &dyn Fn(Said)) {
    let mut reached = |input| tell(Said::Reached(input));
    match job {
        Job::Route { task, team, reply } => {
            let _ = reply.send(rubric::ask(world, &task, &team));
        }
        Job::Start { run, job, finished } => runs.start(world, &run, &job, finished, &mut reached),
        Job::Answer(run, step) => {
            if !runs.answer(run, step) {
                tell(Said::Asleep(run));
            }
        }
        Job::Refuse(run, path, refusal) => {
            if !runs.refuse(run, path, refusal, &mut reached) {
                tell(Said::Asleep(run));
            }
        }
        Job::Drop(run) => runs.drop(run),
        Job::Event { event, payload, reply } => {
            reply(handlers::call(world, &event, &payload));
        }
    }
}

/// Returns a source of numbers that nobody can foresee; each is journaled by the step that drew it.
fn entropy() -> impl FnMut() -> u64 {
    let mut drawn = 0u64;
    move || {
        drawn += 1;
        // Every RandomState has keys of its own, made from the system's randomness.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(drawn);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that is never written.
    struct Stuck;

    impl std::io::Write for Stuck {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the inputs of runs have no bound of their own")]
    async fn a_charter_that_never_comes_back_is_not_waited_for() {
        // No script can do it by itself; the log holds whoever prints.
        tracing::subscriber::set_global_default(tracing_subscriber::fmt().with_writer(|| Stuck).finish())
            .expect("no other test of this process has one");
        let text = "print('hang')";
        let sources = Arc::new(Sources::from_files([("a.lua", text)]));
        let (out, _inbox) = tokio::sync::mpsc::unbounded_channel();
        let built = Loaded::build(sources, Generation::default(), true, 0, out).await;
        let errors = built.map(drop).map_err(|unfit| unfit.errors).expect_err("it is given up");
        assert!(errors.to_string().starts_with("the charter was not ready after 3 s"), "{errors}");
    }
}
