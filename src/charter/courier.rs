//! The two roads between the engine and the VMs' threads.
//!
//! Down: orders for runs, each start with what the journal has of it. Up: what the code reached, with the address found
//! for sends that leave it to the rubrics. One order after the other, so that an answer never overtakes its start.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::vm::{Job, Loaded};
use super::{Inner, Upward};
use crate::engine::ports::JournalError;
use crate::fleet::ids::RunId;
use crate::fleet::run::{Run, RunEffect, RunEnd, RunInput, RunOutcome, StepRequest};
use crate::fleet::team::Task;
use crate::fleet::turn::Priority;

/// What the courier is told.
pub(super) enum Order {
    /// By the engine.
    Run(RunEffect),
    /// By the watchdog: this generation is stuck; its runs must go on elsewhere.
    Stuck(Arc<Loaded>),
}

/// The road down: it knows which generation executes which run.
pub(super) async fn down(inner: Arc<Inner>, mut orders: UnboundedReceiver<Order>) {
    let mut homes: HashMap<RunId, (Arc<Run>, Arc<Loaded>)> = HashMap::new();
    while let Some(order) = orders.recv().await {
        match order {
            Order::Run(RunEffect::Start { run }) => start(&inner, &mut homes, run).await,
            Order::Run(RunEffect::Answer(run, step)) => {
                if let Some((_, home)) = homes.get(&run) {
                    home.give(Job::Answer(run, step));
                }
            }
            Order::Run(RunEffect::Refuse { run, path, refusal }) => {
                if let Some((_, home)) = homes.get(&run) {
                    home.give(Job::Refuse(run, path, refusal));
                }
            }
            Order::Run(RunEffect::Drop(run)) => {
                if let Some((_, home)) = homes.remove(&run) {
                    home.give(Job::Drop(run));
                }
            }
            Order::Stuck(stuck) => {
                let mut moved: Vec<Arc<Run>> = homes
                    .values()
                    .filter(|(_, home)| Arc::ptr_eq(home, &stuck))
                    .map(|(run, _)| Arc::clone(run))
                    .collect();
                moved.sort_by_key(|run| run.id);
                for run in moved {
                    homes.remove(&run.id);
                    start(&inner, &mut homes, run).await;
                }
            }
        }
        // Runs that ended give their generation free.
        let ended = std::mem::take(&mut *inner.ended.lock().expect("never poisoned: no code runs under it"));
        for run in ended {
            homes.remove(&run);
        }
    }
}

async fn start(inner: &Arc<Inner>, homes: &mut HashMap<RunId, (Arc<Run>, Arc<Loaded>)>, run: Arc<Run>) {
    match prepare(inner, homes, &run).await {
        Ok((home, job, finished)) => {
            homes.insert(run.id, (Arc::clone(&run), Arc::clone(&home)));
            home.give(Job::Start { run, job, finished });
        }
        Err(why) => {
            tracing::error!(run = %run.id, error = %why, "the run cannot go on");
            let end = RunEnd { outcome: RunOutcome::Failed, why: Some(why), value: Value::Null };
            inner.up(Upward::Run(RunInput::Ended { run: run.id, end }));
        }
    }
}

type Prepared = (Arc<Loaded>, Arc<Value>, Vec<crate::fleet::run::FinishedStep>);

async fn prepare(
    inner: &Arc<Inner>,
    homes: &HashMap<RunId, (Arc<Run>, Arc<Loaded>)>,
    run: &Run,
) -> Result<Prepared, String> {
    let unreadable = |error: JournalError| format!("the journal of {} cannot be read: {error}", run.id);
    let hash = &run.generation.hash;
    let known = homes.values().map(|(_, home)| home).find(|home| home.sources.hash() == hash && !home.is_abandoned());
    let home = match inner.current() {
        Some(current) if current.sources.hash() == hash => current,
        _ => match known {
            Some(home) => Arc::clone(home),
            None => inner.rebuild(&run.generation).await?,
        },
    };
    let job = inner.journal.job(run.id).await.map_err(unreadable)?;
    let job = job.ok_or_else(|| format!("the job of {} is not in the journal", run.id))?;
    let finished = inner.journal.finished_steps(run.id).await.map_err(unreadable)?;
    Ok((home, job, finished))
}

/// The road up.
pub(super) async fn up(inner: Arc<Inner>, mut inputs: UnboundedReceiver<RunInput>, _keep: UnboundedSender<Order>) {
    while let Some(mut input) = inputs.recv().await {
        if let RunInput::Ended { run, .. } = &input {
            inner.ended.lock().expect("never poisoned: no code runs under it").push(*run);
        }
        if let RunInput::Step { run, path, request, .. } = &mut input
            && let StepRequest::Send(send) = &mut **request
            && send.to.is_none()
        {
            let task = Task {
                prompt: send.prompt.to_string(),
                kind: send.kind.clone(),
                from: format!("run {run}"),
                urgent: send.priority == Priority::Now,
                now: inner.clock.now(),
            };
            match inner.route(task, (inner.load)()).await {
                Ok(routed) => {
                    send.to = Some(routed.to);
                    send.because = Some(routed.because);
                }
                Err(refusal) => {
                    let refuse = RunEffect::Refuse { run: *run, path: path.clone(), refusal };
                    inner.order(Order::Run(refuse));
                    continue;
                }
            }
        }
        inner.up(Upward::Run(input));
    }
}
