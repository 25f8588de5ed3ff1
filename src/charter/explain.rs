//! A replay that does nothing: a run's code goes through its journal in a fresh VM, and it is said where each step came
//! from and where it stops. With the charter that it began with, or the one in force, before it is resumed with that.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::Inner;
use super::error::CharterErrors;
use super::reload;
use super::runs::Runs;
use super::sources::Sources;
use super::world::World;
use crate::engine::ports::JournalError;
use crate::engine::requests::{Replayed, ReplayedFrom, ReplayedStep, ReplayedTo};
use crate::fleet::begun_anew::begun_anew;
use crate::fleet::ids::StepPath;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::{FinishedStep, Run, RunInput, RunOutcome, Step};
use crate::fleet::team::Generation;

/// How many characters of a value are shown.
const SHOWN: usize = 200;

/// What is replayed.
struct Kept {
    run: Run,
    job: Arc<Value>,
    finished: Vec<FinishedStep>,
    /// All steps, those that are open too.
    steps: Vec<Step>,
}

impl Inner {
    /// Goes through the journal of a run without doing anything.
    pub(super) async fn replay(&self, run: Run, current: bool) -> Result<Replayed, Refusal> {
        let unreadable = |error: JournalError| {
            Refusal::new(RefusalKind::Unavailable, format!("the journal of {} cannot be read: {error}", run.id))
        };
        let (sources, generation) = match current {
            true => match self.current() {
                Some(current) => (Arc::clone(&current.sources), current.team.generation.clone()),
                None => return Err(Refusal::new(RefusalKind::Unavailable, "there is no charter in force")),
            },
            false => {
                let kept = self.journal.sources(run.generation.hash.clone()).await.map_err(unreadable)?;
                let Some(kept) = kept else {
                    let message = format!("the charter that {} began with is not kept any more", run.id);
                    return Err(Refusal::new(RefusalKind::Unknown, message).hint("replay it with the one in force"));
                };
                let sources = Sources::from_text(&kept).map_err(|why| Refusal::new(RefusalKind::Internal, why))?;
                (Arc::new(sources), run.generation.clone())
            }
        };
        let job = self.journal.job(run.id).await.map_err(unreadable)?;
        let Some(job) = job else {
            return Err(Refusal::new(RefusalKind::Unknown, format!("the job of {} is not in the journal", run.id)));
        };
        let finished = self.journal.finished_steps(run.id).await.map_err(unreadable)?;
        let steps = self.journal.steps(run.id).await.map_err(unreadable)?;
        let kept = Kept { run, job, finished, steps };
        let replayed = reload::blocking(move || replay(sources, generation, kept)).await;
        let replayed = replayed.ok_or_else(|| Refusal::new(RefusalKind::Internal, "the replay broke"))?;
        replayed.map_err(|errors| Refusal::new(RefusalKind::Conflict, format!("its charter does not load: {errors}")))
    }
}

/// Replays a run by a charter.
fn replay(sources: Arc<Sources>, generation: Generation, kept: Kept) -> Result<Replayed, CharterErrors> {
    let world = World::load(sources, generation.clone(), Arc::default())?;
    let Kept { run, job, mut finished, steps } = kept;
    // What a failed run begins anew when it goes on is not told to its code, and may be something else by then.
    let anew = match run.outcome {
        Some(RunOutcome::Failed) => begun_anew(&steps),
        _ => HashSet::new(),
    };
    finished.retain(|done| !anew.contains(&done.step.path));
    let (mut runs, mut inputs, mut left) = (Runs::default(), Vec::new(), finished.len());
    runs.start(&world, &run, &job, finished.clone(), &mut |input| inputs.push(input));
    // The run is gone once it has ended: how far it came is what it had left before.
    while let Some(now) = runs.unread(run.id) {
        left = now;
        if !runs.slice(&world, &mut || 0, &mut |input| inputs.push(input)) {
            break;
        }
    }
    let open: HashMap<&StepPath, &Step> = steps
        .iter()
        .filter(|step| step.seq.is_none() || anew.contains(&step.path))
        .map(|step| (&step.path, step))
        .collect();
    let read = finished.len() - left;
    let mut out: Vec<ReplayedStep> = finished
        .iter()
        .enumerate()
        .map(|(n, done)| {
            let from = if n < read { ReplayedFrom::Journal } else { ReplayedFrom::NotReached };
            let value: String = done.value.to_string().chars().take(SHOWN).collect();
            replayed(&done.step, from, Some(value))
        })
        .collect();
    let (mut to, mut why, mut value) = (ReplayedTo::Waits, None, None);
    for input in inputs {
        match input {
            RunInput::Ended { end, .. } => {
                let diverged = end.why.as_deref().is_some_and(|why| why.starts_with(super::runs::DIVERGENCE));
                to = match (end.outcome, diverged) {
                    (_, true) => ReplayedTo::Diverged,
                    (RunOutcome::Failed, _) => ReplayedTo::Failed,
                    _ => ReplayedTo::Ended,
                };
                (why, value) = (end.why, Some(end.value));
            }
            RunInput::Step { path, verb, hash, what, at, .. } => {
                let reached = Step { hash, what, ..Step::begun(run.id, path, verb, at, run.started) };
                match open.get(&reached.path) {
                    Some(known) if known.hash != reached.hash && anew.contains(&known.path) => {
                        out.push(replayed(&reached, ReplayedFrom::New, None));
                    }
                    Some(known) if known.verb != reached.verb || known.hash != reached.hash => {
                        (to, why) = (ReplayedTo::Diverged, Some(both_sides(known, &reached)));
                        out.push(replayed(&reached, ReplayedFrom::Open, None));
                    }
                    Some(_) => out.push(replayed(&reached, ReplayedFrom::Open, None)),
                    None => out.push(replayed(&reached, ReplayedFrom::New, None)),
                }
            }
        }
    }
    Ok(Replayed { run: run.id, charter: generation, steps: out, to, why, value })
}

fn replayed(step: &Step, from: ReplayedFrom, value: Option<String>) -> ReplayedStep {
    let (path, verb, what, at) = (step.path.clone(), step.verb.clone(), step.what.clone(), step.at.clone());
    ReplayedStep { path, verb, what, at, from, value }
}

/// Says what the journal has and what the code came to, each with its place.
pub(super) fn both_sides(record: &Step, reached: &Step) -> String {
    format!(
        "{} the journal says that {} was run:{} ({}) at {}, but the code came to run:{} ({}) at {}",
        super::runs::DIVERGENCE,
        record.path,
        record.verb,
        record.what,
        record.at,
        reached.verb,
        reached.what,
        reached.at
    )
}
