//! The executor: all runs of one VM, each let go on for a slice when its turn has come.
//!
//! How one run goes on is in `live`, its coroutines in `strands`, what races and votes come to in `decided`, the questions
//! that its functions answer in `questions`. No channels and no clock here: what comes in is an order, what goes out is a step or an end.
//! Of runs that wait only so many are held; the others sleep, and begin again from their journal when something comes for them.

mod decided;
pub(super) mod live;
mod questions;
mod strands;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use super::world::World;
use crate::fleet::ids::{RunId, StepPath};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, StepRequest};
use live::LiveRun;

/// Running time of one coroutine between two waits.
pub(super) const STEP_TIME: Duration = Duration::from_millis(100);
/// Running time of a whole run.
const RUN_TIME: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// How the error begins of a run whose code and journal do not fit.
pub(super) const DIVERGENCE: &str = "divergence:";
/// How much a run holds at least that is ended for the room it takes.
const MUCH: isize = 4 * 1024 * 1024;

/// Under this name a step's value carries its refusal.
const REFUSED: &str = "$refused";

/// All runs of one VM.
#[derive(Default)]
pub(super) struct Runs {
    runs: BTreeMap<RunId, LiveRun>,
    ready: VecDeque<RunId>,
    /// Those that wait for something from outside, the longest first.
    resting: BTreeMap<u64, RunId>,
    rested: u64,
    /// How many of them are held; all, where nobody could start a sleeping one again.
    held: Option<usize>,
    /// What is left of the others is their journal.
    asleep: HashSet<RunId>,
}

impl Runs {
    /// Returns an executor that holds so many runs that wait; what comes for another one is answered with "it sleeps".
    pub(super) fn holding(held: usize) -> Runs {
        Runs { held: Some(held), ..Runs::default() }
    }

    /// Returns an executor without runs that holds as many of those that wait.
    #[cfg(test)]
    pub(super) fn anew(&self) -> Runs {
        Runs { held: self.held, ..Runs::default() }
    }

    /// Begins a run, or goes on with it from its finished steps.
    pub(super) fn start(
        &mut self,
        world: &World,
        run: &Run,
        job: &Value,
        finished: Vec<FinishedStep>,
        out: &mut dyn FnMut(RunInput),
    ) {
        self.drop(run.id);
        match LiveRun::new(world, run, job, finished) {
            Ok(live) => {
                self.runs.insert(run.id, live);
                self.wake(run.id);
            }
            Err(why) => out(ended(run.id, RunOutcome::Failed, Some(why), Value::Null)),
        }
    }

    /// Takes the answer of a step; an answer that the journal gave already is ignored.
    ///
    /// Returns false, once, if the run sleeps: it must be started again, and its journal has this answer.
    #[must_use]
    pub(super) fn answer(&mut self, run: RunId, step: FinishedStep) -> bool {
        if let Some(live) = self.runs.get_mut(&run)
            && live.take(step)
        {
            self.wake(run);
        }
        !self.asleep.remove(&run)
    }

    /// Takes the refusal of a step. It is first journaled as the step's value, so that a replay meets it at the same
    /// place; then it is an error at the step's line.
    ///
    /// Returns false, once, if the run sleeps: it must be started again, and comes to this step again.
    #[must_use]
    pub(super) fn refuse(
        &mut self,
        id: RunId,
        path: StepPath,
        refusal: Refusal,
        out: &mut dyn FnMut(RunInput),
    ) -> bool {
        let Some(live) = self.runs.get_mut(&id) else { return !self.asleep.remove(&id) };
        let Some(waiting) = live.waiting.get_mut(&path) else { return true };
        let text = match refusal.kind {
            RefusalKind::Divergence => format!("{DIVERGENCE} {refusal}"),
            _ => format!("{}: run:{}: {refusal}", waiting.at, waiting.verb),
        };
        // A refused refusal would go round for ever; a divergence is nothing that a recipe may catch.
        if waiting.refused || refusal.kind == RefusalKind::Divergence {
            self.drop(id);
            out(ended(id, RunOutcome::Failed, Some(text), Value::Null));
            return true;
        }
        waiting.refused = true;
        out(RunInput::Step {
            run: id,
            path,
            verb: waiting.verb,
            hash: waiting.hash.clone(),
            what: waiting.what.clone(),
            at: waiting.at.clone(),
            request: Box::new(StepRequest::Value(json!({ REFUSED: text }))),
        });
        true
    }

    /// Forgets a run.
    pub(super) fn drop(&mut self, run: RunId) {
        self.asleep.remove(&run);
        if let Some(live) = self.runs.remove(&run)
            && let Some(place) = live.rests
        {
            self.resting.remove(&place);
        }
    }

    /// Returns how many finished steps a run has not come to yet, if it has not ended.
    pub(super) fn unread(&self, run: RunId) -> Option<usize> {
        self.runs.get(&run).map(LiveRun::unread)
    }

    /// Returns the run that the next slice belongs to.
    pub(super) fn next(&self) -> Option<RunId> {
        self.ready.front().copied()
    }

    /// Lets one run go on for one slice; returns false when none can.
    pub(super) fn slice(
        &mut self,
        world: &World,
        draw: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(RunInput),
    ) -> bool {
        let Some(id) = self.ready.pop_front() else {
            return false;
        };
        let Some(live) = self.runs.get_mut(&id) else {
            return true;
        };
        live.queued = false;
        if live.rests.is_some() {
            return true;
        }
        let before = world.lua.used_memory() as isize;
        let done = live.advance(world, draw, out);
        live.held = (live.held + world.lua.used_memory() as isize - before).max(0);
        match done {
            Ok(true) => self.wake(id),
            Ok(false) => self.rest(id),
            Err(end) => {
                self.drop(id);
                out(RunInput::Ended { run: id, end });
            }
        }
        self.make_room(world, out);
        true
    }

    /// Lets a run wait, and those sleep that wait longest.
    fn rest(&mut self, id: RunId) {
        if let Some(live) = self.runs.get_mut(&id) {
            self.rested += 1;
            live.rests = Some(self.rested);
            self.resting.insert(self.rested, id);
        }
        if let Some(held) = self.held {
            self.sleep(held);
        }
    }

    /// Lets all those sleep that wait but the last so many; returns whether there were any.
    fn sleep(&mut self, held: usize) -> bool {
        let many = self.resting.len().saturating_sub(held);
        for _ in 0..many {
            if let Some((_, id)) = self.resting.pop_first() {
                self.runs.remove(&id);
                self.asleep.insert(id);
            }
        }
        many > 0
    }

    /// Makes room in a memory that is nearly full: all live in it, and the next one to need some would otherwise be the
    /// one to fail. What waits falls asleep, and if that is not enough, the run ends that holds most.
    fn make_room(&mut self, world: &World, out: &mut dyn FnMut(RunInput)) {
        while world.is_crowded() {
            if self.held.is_some() && self.sleep(0) {
                continue;
            }
            let largest = self.runs.iter().max_by_key(|(_, live)| live.held);
            let Some((id, live)) = largest.filter(|(_, live)| live.held >= MUCH) else {
                return world.bear_crowd();
            };
            let (id, end) = (*id, live.too_large());
            self.drop(id);
            out(RunInput::Ended { run: id, end });
        }
    }

    fn wake(&mut self, id: RunId) {
        if let Some(live) = self.runs.get_mut(&id)
            && !live.queued
        {
            live.queued = true;
            if let Some(place) = live.rests.take() {
                self.resting.remove(&place);
            }
            self.ready.push_back(id);
        }
    }
}

fn failed(why: String) -> RunEnd {
    RunEnd { outcome: RunOutcome::Failed, why: Some(why), value: Value::Null }
}

fn ended(run: RunId, outcome: RunOutcome, why: Option<String>, value: Value) -> RunInput {
    RunInput::Ended { run, end: RunEnd { outcome, why, value } }
}
