//! Runs as the fleet sees them: steps are recorded once under their path, answered once, in one order.
//! What a recipe does between two steps cannot be seen from here. No Lua and no charter file may come in.

use std::sync::Arc;

use serde_json::Value;

use super::bounds::ended;
use super::caller::Sender;
use super::envelope::{Envelope, Finish};
use super::events::FleetEvent;
use super::ids::{RunId, StepPath, TurnId};
use super::input::Effect;
use super::mail::{About, Asker};
use super::record::{Event, Record};
use super::refusal::{Refusal, RefusalKind};
use super::routing::{check_files, check_kind};
use super::run::{FinishedStep, Run, RunEffect, RunEnd, RunInput, Step, StepRequest, StepSend};
use super::state::{Cx, Fleet, MOST_NOTES};
use super::timers::Timer;
use super::turn::{Outcome, StepRef, Turn};

impl Fleet {
    pub(super) fn run_input(&mut self, cx: &mut Cx, input: RunInput) {
        match input {
            RunInput::Ended { run, end } => {
                let end = ended(self.runs.get(&run).and_then(|run| run.closing.as_ref()), end);
                self.end_run(cx, run, end, false);
            }
            RunInput::Step { run, path, verb, hash, what, at, request } => {
                if self.runs.get(&run).is_none_or(|run| run.outcome.is_some()) {
                    return cx.effect(Effect::Run(RunEffect::Drop(run)));
                }
                if let Some(known) = self.steps.get(&(run, path.clone())) {
                    // A replay reached a step that is under way: it is answered when it ends.
                    if known.verb != verb || known.hash != hash {
                        let refusal = divergence(known, verb, &what, &at);
                        cx.effect(Effect::Run(RunEffect::Refuse { run, path, refusal }));
                    }
                    return;
                }
                if self.is_given_up(run, &path) {
                    return;
                }
                let step = Step { hash, what, ..Step::begun(run, path.clone(), verb, at, cx.now) };
                if let Err(refusal) = self.begin_step(cx, step, *request) {
                    cx.effect(Effect::Run(RunEffect::Refuse { run, path, refusal }));
                }
            }
        }
    }

    fn begin_step(&mut self, cx: &mut Cx, mut step: Step, request: StepRequest) -> Result<(), Refusal> {
        let (run, path) = (step.run, step.path.clone());
        let row = self.runs.get(&run);
        let begun = row.map_or(0, |run| run.finished_steps + (run.sent - run.settled));
        // An answer is owed to a worker, and what is given up costs on; there are no more of them than questions and steps.
        if begun >= self.limits.max_steps as u64 && !matches!(request, StepRequest::Answer(_) | StepRequest::GiveUp(_))
        {
            let message = format!("the run has {} steps, which is the most", self.limits.max_steps);
            return Err(Refusal::new(RefusalKind::QueueFull, message));
        }
        match request {
            StepRequest::Send(send) => return self.begin_send(cx, step, send),
            StepRequest::Command(wanted) => return self.begin_command(cx, step, wanted),
            StepRequest::Recipe(wanted) => return self.begin_child(cx, step, wanted),
            // Where time or money is over nobody sleeps and nobody asks.
            StepRequest::Sleep(_) | StepRequest::Ask(_) if self.is_over(run) => {
                self.put_step(cx, step);
                self.finish_step(cx, run, &path, Value::Null);
            }
            StepRequest::Sleep(span) => {
                let until = cx.now + span;
                step.until = Some(until);
                self.put_step(cx, step);
                self.at(until, Timer::Sleep(run, path));
            }
            StepRequest::Now => {
                self.put_step(cx, step);
                self.finish_step(cx, run, &path, Value::from(cx.now.0 as f64 / 1000.0));
            }
            StepRequest::Value(value) => {
                self.put_step(cx, step);
                self.finish_step(cx, run, &path, value);
            }
            StepRequest::Note { name, value } => {
                let name: Arc<str> = name.into();
                let is_new = value.as_ref().is_some_and(|value| !value.is_null()) && !self.notes.contains_key(&name);
                if is_new && self.notes.len() >= MOST_NOTES {
                    let message = format!("there are {MOST_NOTES} notes, which is the most");
                    return Err(Refusal::new(RefusalKind::QueueFull, message)
                        .hint("run:note(name, fleet.null) removes one that nobody reads any more"));
                }
                self.put_step(cx, step);
                let value = match value {
                    Some(Value::Null) => {
                        if self.notes.remove(&name).is_some() {
                            cx.record(Record::Note(name, None));
                        }
                        Value::Null
                    }
                    Some(value) => {
                        let value = Arc::new(value);
                        self.notes.insert(name.clone(), value.clone());
                        cx.record(Record::Note(name, Some(value.clone())));
                        (*value).clone()
                    }
                    None => self.notes.get(&name).map_or(Value::Null, |value| (**value).clone()),
                };
                self.finish_step(cx, run, &path, value);
            }
            StepRequest::Ask(text) => {
                self.check_text("question", &text)?;
                step.question = self.ask_of_step(cx, run, &path, text);
                self.put_step(cx, step);
                self.tell_run_asked(cx, run);
            }
            StepRequest::Progress(line) => {
                self.put_step(cx, step);
                if let Some(row) = self.runs.get(&run).cloned() {
                    cx.event(Event { at: cx.now, turn: None, run: Some(run), worker: None, what: line.clone() });
                    self.put_run(cx, Run { progress: Some(line), ..(*row).clone() });
                }
                self.finish_step(cx, run, &path, Value::Null);
            }
            StepRequest::Answer(answer) => {
                let at = step.at.clone();
                self.put_step(cx, step);
                let said = self.answer_of_run(cx, run, &at, answer);
                self.finish_step(cx, run, &path, said);
            }
            StepRequest::GiveUp(why) => {
                self.put_step(cx, step);
                self.finish_step(cx, run, &path, Value::Null);
                self.give_up_below(cx, run, &format!("{path}["), &why);
            }
        }
        Ok(())
    }

    fn begin_send(&mut self, cx: &mut Cx, mut step: Step, send: StepSend) -> Result<(), Refusal> {
        self.check_text("prompt", &send.prompt)?;
        check_kind(send.kind.as_deref())?;
        check_files(&send.files)?;
        let Some(to) = send.to else {
            return Err(Refusal::new(RefusalKind::Internal, "a send without an address reached the fleet"));
        };
        let to = self.still_there(to, send.routed.as_deref());
        self.role_of(&to)?;
        if let Some(value) = self.closed(cx, step.run) {
            let (run, path) = (step.run, step.path.clone());
            self.put_step(cx, step);
            self.finish_step(cx, run, &path, value);
            return Ok(());
        }
        let id = TurnId(self.fresh());
        let prompt = super::calls::asking(&send.prompt, send.shape.as_deref());
        let prompt_bytes = prompt.len() as u64;
        cx.record(Record::Prompt(id, prompt));
        step.turn = Some(id);
        step.retries = send.retries;
        step.deadline = send.deadline;
        step.asked = send.on_ask.then(|| self.asked_before(step.run, &step.path));
        let at = StepRef { run: step.run, path: step.path.clone() };
        self.put_step(cx, step);
        let turn = Turn {
            because: send.because,
            kind: send.kind,
            files: send.files,
            routed: send.routed,
            priority: send.priority,
            prompt_bytes,
            shape: send.shape,
            deadline: send.deadline.map(|span| cx.now + span),
            may_take: send.timeout,
            step: Some(at.clone()),
            ..Turn::accepted(id, Sender::Run(at.run), to, cx.now, self.generation())
        };
        self.accept(cx, turn);
        self.count_turn(cx, at.run, 1, 0, None);
        Ok(())
    }

    /// Sends a step's turn again as a new one, if it may be; nothing is ever retried from `unknown`.
    pub(super) fn retry_step(&mut self, cx: &mut Cx, turn: &Turn, outcome: Outcome) -> bool {
        let Some(at) = turn.step.clone() else { return false };
        let Some(step) = self.steps.get(&(at.run, at.path.clone())).cloned() else { return false };
        let alive = self.runs.get(&at.run).is_some_and(|run| run.outcome.is_none());
        if !alive || !outcome.may_retry() || step.retries == 0 || !self.may_wait_again(turn.sent_to()) {
            return false;
        }
        if self.closed(cx, at.run).is_some() {
            return false;
        }
        let id = TurnId(self.fresh());
        self.put_step(cx, Step { turn: Some(id), retries: step.retries - 1, ..(*step).clone() });
        let again = turn.again(id, cx.now, step.deadline, self.generation());
        self.accept(cx, again);
        self.count_turn(cx, at.run, 1, 0, None);
        true
    }

    /// Answers the step whose turn has ended for good.
    pub(super) fn answer_send(&mut self, cx: &mut Cx, at: &StepRef, envelope: &Envelope) {
        let value = serde_json::to_value(envelope).expect("an envelope is plain data");
        self.finish_step(cx, at.run, &at.path, value);
    }

    pub(super) fn wake_step(&mut self, cx: &mut Cx, run: RunId, path: &StepPath) {
        let due = self.steps.get(&(run, path.clone())).is_some_and(|step| step.until.is_some_and(|at| at <= cx.now));
        if due {
            self.finish_step(cx, run, path, Value::Null);
        }
    }

    /// Gives a step its number and its value; the executor is told after the commit.
    pub(super) fn finish_step(&mut self, cx: &mut Cx, run: RunId, path: &StepPath, value: Value) {
        let Some(row) = self.runs.get(&run).filter(|run| run.outcome.is_none()).cloned() else { return };
        let Some(step) = self.steps.get(&(run, path.clone())).filter(|step| step.seq.is_none()).cloned() else {
            return;
        };
        let seq = row.finished_steps;
        self.put_run(cx, Run { finished_steps: seq + 1, ..(*row).clone() });
        let step = self.put_step(cx, Step { seq: Some(seq), ..(*step).clone() });
        let value = Arc::new(value);
        cx.record(Record::StepValue(run, path.clone(), value.clone()));
        cx.effect(Effect::Run(RunEffect::Answer(run, FinishedStep { step, value })));
    }

    /// Ends a run once: its open turns are cancelled, its questions withdrawn, its owner told.
    pub(super) fn end_run(&mut self, cx: &mut Cx, id: RunId, end: RunEnd, from_outside: bool) {
        let Some(run) = self.runs.get(&id).filter(|run| run.outcome.is_none()).cloned() else { return };
        let mut run = (*run).clone();
        if let Some(at) = run.deadline {
            self.timers.remove(&(at, Timer::RunDeadline(id)));
        }
        if let Some(closing) = &run.closing {
            self.timers.remove(&(closing.until, Timer::RunGrace(id)));
        }
        run.outcome = Some(end.outcome);
        run.why = end.why;
        run.ended = Some(cx.now);
        // Recorded as ended first, so that nothing below is answered into it or tried again.
        self.put_run(cx, run);
        let mut open: Vec<TurnId> = self.open_steps(id).filter_map(|step| step.turn).collect();
        open.sort_unstable();
        for turn in open {
            self.end_turn(cx, turn, Finish::without_reply(Outcome::Cancelled, "its run has ended"));
        }
        self.end_children(cx, id, "the run above it has ended");
        let asked = self.questions.values().filter(|q| matches!(&q.asker, Asker::Step { run, .. } if *run == id));
        let asked: Vec<_> = asked.map(|question| question.id).collect();
        for question in asked {
            self.withdraw_question(cx, question, "its run has ended");
        }
        let steps = self.steps.range((id, StepPath::from(""))..).take_while(|((run, _), _)| *run == id);
        let steps: Vec<_> = steps.map(|(key, _)| key.clone()).collect();
        for key in steps {
            self.steps.remove(&key);
        }
        self.close_run(cx, id, Arc::new(end.value));
        if from_outside {
            cx.effect(Effect::Run(RunEffect::Drop(id)));
        }
    }

    fn close_run(&mut self, cx: &mut Cx, id: RunId, value: Arc<Value>) {
        let Some(run) = self.runs.get(&id).cloned() else { return };
        cx.record(Record::RunValue(id, value.clone()));
        let what = match (&run.outcome, &run.why) {
            (Some(outcome), Some(why)) => format!("run ended as {}: {why}", outcome.word()),
            (Some(outcome), None) => format!("run ended as {}", outcome.word()),
            (None, _) => "run ended".to_string(),
        };
        cx.event(Event { at: cx.now, turn: None, run: Some(id), worker: None, what });
        if let Some(parent) = run.parent.clone() {
            return self.close_child(cx, &run, &parent, &value);
        }
        let message = super::ids::MessageId(self.fresh());
        let run = self.put_run(cx, Run { message: Some(message), ..(*run).clone() });
        let about = About::Run(id);
        self.put_message(
            cx,
            super::mail::Message { id: message, to: run.owner, at: cx.now, about, shown: false, expires: None },
        );
        let event =
            |outcome| FleetEvent::RunEnded { run: id, recipe: run.recipe.clone(), outcome, why: run.why.clone() };
        if let Some(outcome) = run.outcome {
            self.tell(cx, || event(outcome), "run_ended");
        }
        if self.tell_run_ended(cx, &run) {
            self.show(cx, run.owner, Some(message));
        } else {
            self.tell_mail(cx, run.owner);
        }
    }
}

fn divergence(known: &Step, verb: &str, what: &str, at: &str) -> Refusal {
    Refusal::new(
        RefusalKind::Divergence,
        format!(
            "the journal says that {} is run:{} ({}) from {}, but the code came to run:{verb} ({what}) at {at}",
            known.path, known.verb, known.what, known.at
        ),
    )
    .hint("mend the charter, or go on with the one it began with: fleetd run resume --as-begun")
}
