//! A run that failed goes on (`fleetd run resume`): from its finished steps, with the charter that it began with or the one
//! in force. What was open when it failed was ended then and is begun anew, as are the errors that its code was given last
//! (`begun_anew`); what was answered with a value is never done again.

use std::sync::Arc;

use super::begun_anew::begun_anew;
use super::caller::Sender;
use super::ids::{RunId, StepPath};
use super::input::{Answer, Effect};
use super::record::{Event, Record};
use super::refusal::{Refusal, RefusalKind};
use super::run::{Run, RunEffect, RunOutcome, Step};
use super::state::{Cx, Fleet};
use super::team::Generation;
use super::timers::Timer;

/// A run that is to go on, as the store has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// The run.
    pub run: Run,
    /// All its steps.
    pub steps: Vec<Step>,
    /// The charter with which it goes on.
    pub generation: Generation,
}

impl Fleet {
    pub(super) fn resume_run(&mut self, cx: &mut Cx, by: Sender, wanted: Resumed) -> Result<Answer, Refusal> {
        self.check_accepting()?;
        let id = wanted.run.id;
        let row = self.runs.get(&id).map_or(wanted.run, |run| (**run).clone());
        if let Some(parent) = &row.parent {
            let top = parent.run;
            return Err(Refusal::new(RefusalKind::Conflict, format!("run {id} is a step of run {top}"))
                .hint(format!("if {top} failed, resume that one: what {id} had finished is lost with it")));
        }
        match row.outcome {
            Some(RunOutcome::Failed) => {}
            None => return Err(Refusal::new(RefusalKind::Conflict, format!("run {id} is under way"))),
            Some(outcome) => {
                let message = format!("run {id} ended as {}; only a failed run goes on", outcome.word());
                return Err(Refusal::new(RefusalKind::Conflict, message).hint("start it anew"));
            }
        }
        if let Some(why) = self.too_many_runs() {
            return Err(Refusal::new(RefusalKind::QueueFull, why));
        }
        if let Some(message) = row.message
            && let Some(message) = self.drop_message(cx, row.owner, message)
            && let Some(at) = message.expires
        {
            self.timers.remove(&(at, Timer::Shown(row.owner, message.id)));
        }
        let anew = begun_anew(&wanted.steps);
        let mut finished_steps = 0;
        for step in wanted.steps {
            match step.seq {
                Some(seq) if !anew.contains(&step.path) => {
                    finished_steps = finished_steps.max(seq + 1);
                    self.steps.insert((id, step.path.clone()), Arc::new(step));
                }
                _ => cx.record(Record::StepGone(id, step.path)),
            }
        }
        // One whose time is over gets as much again.
        let granted = row.whole();
        let deadline = row.deadline.filter(|at| *at > cx.now).or_else(|| granted.map(|span| cx.now + span));
        if let Some(at) = deadline {
            self.at(at, Timer::RunDeadline(id));
        }
        let why = row.why.clone().unwrap_or_default();
        let run = self.put_run(
            cx,
            Run {
                generation: wanted.generation,
                deadline,
                granted,
                finished_steps,
                closing: None,
                outcome: None,
                why: None,
                ended: None,
                collected: false,
                message: None,
                ..row
            },
        );
        let what = format!("resumed by {by} with charter generation {}; it had failed: {why}", run.generation.number);
        cx.event(Event { at: cx.now, turn: None, run: Some(id), worker: None, what });
        cx.effect(Effect::Run(RunEffect::Start { run: run.clone() }));
        Ok(Answer::Started(run))
    }

    /// Returns how many questions were brought to a send before its run failed: the next one has the next number.
    pub(super) fn asked_before(&self, run: RunId, send: &StepPath) -> u32 {
        let asked = |n: &u32| self.steps.contains_key(&(run, super::asked::asked_path(send, *n)));
        (1..).take_while(asked).count() as u32
    }
}
