//! The two roads between the engine and the VMs' threads.
//!
//! Down: orders for runs, each start with what the journal has of it. Up: what the code reached, with the address found
//! for sends that leave it to the rubrics. One order after the other, so that an answer never overtakes its start.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use super::homes::{Homes, Left, Place};
use super::vm::{Job, Loaded, Said};
use super::{Inner, Upward};
use crate::engine::ports::JournalError;
use crate::fleet::ids::RunId;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::{Run, RunEffect, RunEnd, RunInput, RunOutcome, StepRequest};
use crate::fleet::team::{Decision, Routed, Task};
use crate::fleet::turn::Priority;

/// Why a run failed whose code held the thread of all others.
const STUCK: &str = "charter_stuck: its code did not come back for 2 s";

/// How long a send waits before the rubrics are asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// How long it waits at most between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What the courier is told.
pub(super) enum Order {
    /// By the engine.
    Run(RunEffect),
    /// By a VM: something came for this run while it slept.
    Wake(RunId),
    /// By the watchdog: this generation is stuck; its runs must go on elsewhere.
    Stuck {
        /// The generation.
        home: Arc<Loaded>,
        /// The run whose code it is stuck in: anywhere else it would only hang again.
        hung: Option<RunId>,
    },
}

/// The road down: it knows which generation executes which run.
pub(super) async fn down(inner: Arc<Inner>, mut orders: UnboundedReceiver<Order>) {
    let mut homes = Homes::default();
    // Runs that sleep on, since the store could not be read when something came for them.
    let mut later: JoinSet<RunId> = JoinSet::new();
    loop {
        let order = tokio::select! {
            order = orders.recv() => match order {
                Some(order) => Some(order),
                None => return,
            },
            Some(Ok(run)) = later.join_next() => Some(Order::Wake(run)),
            () = inner.freed.notified() => None,
        };
        // Before the order, which may be to begin one of them again.
        homes.leave(std::mem::take(&mut *inner.left.lock().expect("never poisoned: no code runs under it")));
        match order {
            Some(Order::Run(RunEffect::Start { run })) => start(&inner, &mut homes, run).await,
            Some(Order::Run(RunEffect::Answer(run, step))) => match homes.place(run, inner.held_runs) {
                Place::At(home) => home.give(Job::Answer(run, step)),
                // Its journal has what came for it.
                Place::Asleep(run) => wake(&inner, &mut homes, run, &mut later).await,
                Place::Nowhere => {}
            },
            Some(Order::Run(RunEffect::Refuse { run, path, refusal })) => match homes.place(run, inner.held_runs) {
                Place::At(home) => home.give(Job::Refuse(run, path, refusal)),
                // It comes to that step again.
                Place::Asleep(run) => wake(&inner, &mut homes, run, &mut later).await,
                Place::Nowhere => {}
            },
            Some(Order::Run(RunEffect::Drop(run))) => {
                inner.held.forget(run);
                if let Some(home) = homes.remove(run) {
                    home.give(Job::Drop(run));
                }
            }
            // If it ended meanwhile, or is awake again, nobody is to be woken.
            Some(Order::Wake(run)) => {
                if let Place::Asleep(run) = homes.place(run, inner.held_runs) {
                    wake(&inner, &mut homes, run, &mut later).await;
                }
            }
            Some(Order::Stuck { home: stuck, hung }) => {
                for run in homes.of(&stuck) {
                    homes.remove(run.id);
                    match hung == Some(run.id) {
                        true => fail(&inner, run.id, STUCK.to_owned()),
                        false => start(&inner, &mut homes, run).await,
                    }
                }
            }
            None => {}
        }
        homes.thin(inner.current().as_ref());
    }
}

async fn start(inner: &Arc<Inner>, homes: &mut Homes, run: Arc<Run>) {
    let mut pause = FIRST_PAUSE;
    loop {
        match prepare(inner, homes, &run).await {
            Ok(prepared) => return begin(inner, homes, run, prepared),
            // While the store cannot be read no other run could start either, so the road may rest. A row that is
            // broken for good ends in the run's failure, after some eight seconds.
            Err(Unprepared::Unreadable(why)) if pause <= LONGEST_PAUSE => {
                tracing::warn!(run = %run.id, error = %why, "the run waits for the store");
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            Err(Unprepared::Unreadable(why) | Unprepared::Impossible(why)) => {
                homes.remove(run.id);
                return fail(inner, run.id, why);
            }
        }
    }
}

/// Begins a run again that sleeps. Its journal is there as soon as the store can be read, so the road goes on meanwhile,
/// and it is tried again.
async fn wake(inner: &Arc<Inner>, homes: &mut Homes, run: Arc<Run>, later: &mut JoinSet<RunId>) {
    match prepare(inner, homes, &run).await {
        Ok(prepared) => begin(inner, homes, run, prepared),
        Err(Unprepared::Unreadable(why)) => {
            tracing::warn!(run = %run.id, error = %why, "the run sleeps on until the store can be read");
            later.spawn(async move {
                tokio::time::sleep(LONGEST_PAUSE).await;
                run.id
            });
        }
        Err(Unprepared::Impossible(why)) => {
            homes.remove(run.id);
            fail(inner, run.id, why);
        }
    }
}

fn begin(inner: &Inner, homes: &mut Homes, run: Arc<Run>, (home, job, finished): Prepared) {
    homes.put(Arc::clone(&run), Arc::clone(&home), inner.held_runs);
    home.give(Job::Start { run, job, finished });
}

/// Why a run cannot go on now.
pub(super) enum Unprepared {
    /// The store did not answer, which may pass.
    Unreadable(String),
    /// What it needs is not there or does not load.
    Impossible(String),
}

fn fail(inner: &Inner, run: RunId, why: String) {
    tracing::error!(%run, error = %why, "the run cannot go on");
    let end = RunEnd { outcome: RunOutcome::Failed, why: Some(why), value: Value::Null };
    inner.up(Upward::Run(RunInput::Ended { run, end }));
}

type Prepared = (Arc<Loaded>, Arc<Value>, Vec<crate::fleet::run::FinishedStep>);

async fn prepare(inner: &Arc<Inner>, homes: &Homes, run: &Run) -> Result<Prepared, Unprepared> {
    let unreadable =
        |error: JournalError| Unprepared::Unreadable(format!("the journal of {} cannot be read: {error}", run.id));
    let hash = &run.generation.hash;
    let home = match inner.current() {
        Some(current) if current.sources.hash() == hash => current,
        _ => match homes.with(hash) {
            Some(home) => home,
            None => inner.rebuild(&run.generation).await?,
        },
    };
    let job = inner.journal.job(run.id).await.map_err(unreadable)?;
    let job = job.ok_or_else(|| Unprepared::Impossible(format!("the job of {} is not in the journal", run.id)))?;
    let finished = inner.journal.finished_steps(run.id).await.map_err(unreadable)?;
    Ok((home, job, finished))
}

/// A send that waits for the rubrics, and the number by which it is held.
struct Waiting {
    input: RunInput,
    number: u64,
}

/// The road up.
///
/// Sends without an address are asked for one after the other, in their order. While the rubrics cannot be asked, each
/// such send waits beside the road and everything else goes on.
pub(super) async fn up(inner: Arc<Inner>, mut inputs: UnboundedReceiver<Said>, _keep: UnboundedSender<Order>) {
    let mut waiting: JoinSet<(Waiting, Result<Routed, Refusal>, Duration)> = JoinSet::new();
    loop {
        let (Waiting { mut input, number }, routed, pause) = tokio::select! {
            Some(asked) = waiting.join_next() => match asked {
                Ok(asked) => asked,
                Err(error) => {
                    // Not its text: a panic may quote what it worked on.
                    tracing::error!(panicked = error.is_panic(), "a send that waited for the rubrics was lost");
                    continue;
                }
            },
            input = inputs.recv() => {
                let input = match input {
                    Some(Said::Reached(input)) => input,
                    Some(Said::Sleeps(run, pulse)) => {
                        inner.leave(Left::Asleep(run, pulse));
                        continue;
                    }
                    Some(Said::Asleep(run)) => {
                        inner.order(Order::Wake(run));
                        continue;
                    }
                    None => return,
                };
                if let RunInput::Ended { run, .. } = &input {
                    inner.leave(Left::Ended(*run));
                    inner.held.forget(*run);
                }
                let Some(task) = task_of(&inner, &input) else {
                    inner.up(Upward::Run(input));
                    continue;
                };
                let RunInput::Step { run, path, .. } = &input else { continue };
                let Some(number) = inner.held.hold(*run, path) else { continue };
                let one = Waiting { input, number };
                match waiting.is_empty() {
                    true => (one, inner.route(task, (inner.load)()).await, FIRST_PAUSE),
                    false => {
                        waiting.spawn(ask_after(Arc::clone(&inner), one, Duration::ZERO, FIRST_PAUSE));
                        continue;
                    }
                }
            }
        };
        let RunInput::Step { run, path, request, .. } = &mut input else { continue };
        if !inner.held.has(*run, path, number) {
            continue;
        }
        if !matches!(&routed, Err(refusal) if refusal.kind == RefusalKind::Unavailable) {
            inner.held.release(*run, path);
        }
        match (routed, &mut **request) {
            (Ok(routed), StepRequest::Send(send)) => {
                send.to = Some(routed.to.clone());
                send.because = Some(routed.because.clone());
                send.routed = Some(Box::new(Decision::from(routed)));
                inner.up(Upward::Run(input));
            }
            (Err(refusal), _) if refusal.kind == RefusalKind::Unavailable => {
                tracing::warn!(%run, %path, error = %refusal, "the send waits for the rubrics");
                waiting.spawn(ask_after(
                    Arc::clone(&inner),
                    Waiting { input, number },
                    pause,
                    (pause * 2).min(LONGEST_PAUSE),
                ));
            }
            (Err(refusal), _) => {
                let refuse = RunEffect::Refuse { run: *run, path: path.clone(), refusal };
                inner.order(Order::Run(refuse));
            }
            (Ok(_), _) => inner.up(Upward::Run(input)),
        }
    }
}

/// Asks the rubrics after a pause; gives back the pause before the next try as well.
async fn ask_after(
    inner: Arc<Inner>,
    waiting: Waiting,
    pause: Duration,
    next: Duration,
) -> (Waiting, Result<Routed, Refusal>, Duration) {
    tokio::time::sleep(pause).await;
    let routed = match task_of(&inner, &waiting.input) {
        Some(task) => inner.route(task, (inner.load)()).await,
        None => Err(Refusal::new(RefusalKind::Internal, "a step without a task waited for the rubrics")),
    };
    (waiting, routed, next)
}

/// Returns what the rubrics are asked about a step: nothing, unless it is a send without an address.
fn task_of(inner: &Inner, input: &RunInput) -> Option<Task> {
    let RunInput::Step { run, request, .. } = input else { return None };
    let StepRequest::Send(send) = &**request else { return None };
    send.to.is_none().then(|| Task {
        prompt: send.prompt.to_string(),
        kind: send.kind.clone(),
        files: send.files.clone(),
        from: format!("run {run}"),
        urgent: send.priority == Priority::Now,
        now: inner.clock.now(),
    })
}
