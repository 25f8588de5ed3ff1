//! Runs below runs (`run:recipe`): a child has a journal of its own, ends with its parent at the latest, and answers the
//! step that began it. What it came to is a value there; nobody else is told. Its questions go to the owner of them all.

use std::sync::Arc;

use serde_json::{Value, json};

use super::bounds::not_begun;
use super::envelope::Usage;
use super::ids::{RecipeName, RunId};
use super::input::Effect;
use super::record::{Event, Record};
use super::refusal::Refusal;
use super::run::{Run, RunEffect, RunEnd, RunOutcome, Step, StepRecipe};
use super::state::{Cx, Fleet};
use super::timers::Timer;
use super::turn::StepRef;
use super::waits::Subject;

/// How many runs may stand above one another; recipes that call each other without end are found by it.
pub const MOST_DEPTH: u32 = 8;

impl Fleet {
    pub(super) fn begin_child(&mut self, cx: &mut Cx, mut step: Step, wanted: StepRecipe) -> Result<(), Refusal> {
        let (parent, path) = (step.run, step.path.clone());
        let Some(above) = self.runs.get(&parent).cloned() else { return Ok(()) };
        let up = self.up_from(parent);
        let names = up.iter().rev().filter_map(|id| Some(self.runs.get(id)?.recipe.clone()));
        check_depth(&wanted.recipe, above.depth, names)?;
        let closed = self.closed(cx, parent);
        let refused = closed.or_else(|| self.too_many_runs().map(|why| not_begun(cx.now, "busy", &why)));
        if let Some(value) = refused {
            self.put_step(cx, step);
            self.finish_step(cx, parent, &path, value);
            return Ok(());
        }
        let id = RunId(self.fresh());
        let deadline = wanted.deadline.map(|span| cx.now + span).into_iter().chain(above.deadline).min();
        if let Some(at) = deadline {
            self.at(at, Timer::RunDeadline(id));
        }
        step.child = Some(id);
        self.put_step(cx, step);
        cx.record(Record::Job(id, wanted.job));
        let child = Run {
            deadline,
            budget: wanted.budget,
            depth: above.depth + 1,
            parent: Some(StepRef { run: parent, path }),
            ..Run::begun(id, wanted.recipe, above.owner, above.generation.clone(), cx.now)
        };
        let child = self.put_run(cx, child);
        let what = format!("recipe {} started by {parent}", child.recipe);
        cx.event(Event { at: cx.now, turn: None, run: Some(id), worker: None, what });
        cx.effect(Effect::Run(RunEffect::Start { run: child }));
        Ok(())
    }

    /// A child has ended: its parent's step is answered, and nobody has to collect it.
    pub(super) fn close_child(&mut self, cx: &mut Cx, child: &Run, parent: &StepRef, value: &Arc<Value>) -> Arc<Run> {
        let child = self.put_run(cx, Run { collected: true, ..child.clone() });
        self.runs.remove(&child.id);
        self.tell_run_ended(cx, &child);
        let outcome = child.outcome.unwrap_or(RunOutcome::Failed);
        let end = RunEnd { outcome, why: child.why.clone(), value: (**value).clone() };
        let answer = came_to(child.id, &child.recipe, child.usage.as_ref(), &end);
        self.finish_step(cx, parent.run, &parent.path, answer);
        child
    }

    /// Ends all runs that stand directly below a run; they end those below them.
    pub(super) fn end_children(&mut self, cx: &mut Cx, parent: RunId, why: &str) {
        for child in self.children(parent) {
            self.cancel_child(cx, child, why);
        }
    }

    /// Returns the open runs directly below a run.
    fn children(&self, parent: RunId) -> Vec<RunId> {
        let from = (Some(parent), RunId(0));
        self.open_runs.range(from..).take_while(|(above, _)| *above == Some(parent)).map(|(_, run)| *run).collect()
    }

    /// Says why no further run can begin, if none can.
    pub(super) fn too_many_runs(&self) -> Option<String> {
        let open = self.open_runs.len();
        (open >= self.limits.max_runs).then(|| format!("{open} runs are under way, which is the most"))
    }

    pub(super) fn cancel_child(&mut self, cx: &mut Cx, child: RunId, why: &str) {
        let end = RunEnd { outcome: RunOutcome::Cancelled, why: Some(why.to_string()), value: Value::Null };
        self.end_run(cx, child, end, true);
    }

    /// Returns a run and all that stand above it.
    pub(super) fn up_from(&self, run: RunId) -> Vec<RunId> {
        let mut up = vec![run];
        let mut next = Some(run);
        while let Some(above) = next.and_then(|run| self.runs.get(&run)?.parent.as_ref()) {
            up.push(above.run);
            next = Some(above.run);
        }
        up
    }

    /// Returns all open runs that stand below a run.
    pub(super) fn below(&self, run: RunId) -> Vec<RunId> {
        let (mut below, mut next) = (Vec::new(), vec![run]);
        while let Some(run) = next.pop() {
            let children = self.children(run);
            next.extend(&children);
            below.extend(children);
        }
        below.sort_unstable();
        below
    }

    /// Tells whoever waits for a run, or for one above it, that it asks something.
    pub(super) fn tell_run_asked(&mut self, cx: &mut Cx, run: RunId) {
        for id in self.up_from(run) {
            self.tell_asked(cx, &Subject::Run(id));
        }
    }
}

/// Refuses a recipe that would stand too deep below others.
pub fn check_depth(recipe: &RecipeName, above: u32, names: impl Iterator<Item = RecipeName>) -> Result<(), Refusal> {
    if above + 1 < MOST_DEPTH {
        return Ok(());
    }
    let chain: Vec<String> = names.map(|name| name.to_string()).collect();
    let message =
        format!("'{recipe}' would stand {} deep, and {MOST_DEPTH} is the most: {}", above + 2, chain.join(" > "));
    Err(Refusal::invalid(message).hint("does a recipe run itself without end?"))
}

/// Returns what the step is answered that began a run.
pub fn came_to(run: RunId, recipe: &RecipeName, usage: Option<&Usage>, end: &RunEnd) -> Value {
    let ok = matches!(end.outcome, RunOutcome::Done | RunOutcome::Partial);
    let mut answer = json!({"ok": ok, "outcome": end.outcome.word(), "value": end.value, "run": run, "recipe": recipe});
    let usage = usage.and_then(|usage| serde_json::to_value(usage).ok());
    let more = [
        ("error", (!ok).then(|| Value::from(end.outcome.word()))),
        ("why", end.why.as_deref().map(Value::from)),
        ("usage", usage),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            answer[name] = value;
        }
    }
    answer
}
