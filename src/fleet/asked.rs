//! Questions that a run may answer itself: a worker asks, and the function beside the send (`on_ask`) is asked first.
//!
//! The question is journaled as a finished step below the send, so that a replay meets it at the same place. Only what
//! the function leaves goes on to the owner. What the function does is the charter's matter.

use std::sync::Arc;

use serde_json::{Value, json};

use super::caller::Sender;
use super::ids::{QuestionId, RunId, StepPath, TurnId};
use super::mail::{About, Asker, Question};
use super::record::Event;
use super::run::{RunAnswer, Step};
use super::state::{Cx, Fleet};
use super::time::Time;
use super::turn::StepRef;
use super::waits::Subject;

/// Questions of one turn at most; a worker that asks without end would fill the leader's context.
pub const MOST_QUESTIONS: usize = 32;

/// The verb of the step that brings a question to the run.
pub const ASKED: &str = "asked";
/// The verb of the step with which the run answers, or passes the question on.
pub const ANSWER: &str = "answer";
/// The verb of the step that says: nobody needs this answer any more.
pub const OVER: &str = "over";

/// How many characters of a question are shown as what a step is about.
const SHOWN: usize = 60;

/// Returns the path of the `n`th question, from 1, that was asked in the turns of a send.
pub fn asked_path(send: &StepPath, n: u32) -> StepPath {
    format!("{send}.{ASKED}#{n}").into()
}

/// Returns the path under which a question is answered.
pub fn answer_path(asked: &StepPath) -> StepPath {
    format!("{asked}.{ANSWER}#1").into()
}

/// Returns the path under which a question is over.
pub fn over_path(asked: &StepPath) -> StepPath {
    format!("{asked}.{OVER}#1").into()
}

/// Returns the send in whose turn a question was asked.
pub fn send_of(asked: &StepPath) -> Option<StepPath> {
    asked.as_str().rsplit_once(&format!(".{ASKED}#")).map(|(send, _)| send.into())
}

/// Returns the question that a path says is over.
pub fn asked_of(over: &StepPath) -> Option<StepPath> {
    over.as_str().strip_suffix(&format!(".{OVER}#1")).map(StepPath::from)
}

impl Fleet {
    /// Returns the send of a run that wants to answer what is asked in its turns, if this turn is of such a one.
    pub(super) fn answering_send(&self, turn: TurnId) -> Option<StepRef> {
        let at = self.turns.get(&turn)?.step.clone()?;
        let alive = self.runs.get(&at.run).is_some_and(|run| run.outcome.is_none());
        let step = self.steps.get(&(at.run, at.path.clone()))?;
        (alive && step.seq.is_none() && step.asked.is_some()).then_some(at)
    }

    /// Brings a new question to the run: the executor is told after the commit.
    pub(super) fn bring_question(&mut self, cx: &mut Cx, send: &StepRef, question: &Question) {
        let Some(step) = self.steps.get(&(send.run, send.path.clone())).cloned() else { return };
        let Asker::Turn(turn) = question.asker else { return };
        let worker = self.turns.get(&turn).and_then(|turn| turn.worker.clone());
        let n = step.asked.unwrap_or(0) + 1;
        let path = asked_path(&send.path, n);
        let what = question.text.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
        let asked = Step { question: Some(question.id), what, ..marker(&step, path.clone(), ASKED, cx.now) };
        self.put_step(cx, Step { asked: Some(n), ..(*step).clone() });
        self.put_step(cx, asked);
        let value = json!({"text": question.text, "id": question.id, "turn": turn, "worker": worker});
        self.finish_step(cx, send.run, &path, value);
    }

    /// Does what a run's function decided about a question, and says in a word what came of it.
    pub(super) fn answer_of_run(&mut self, cx: &mut Cx, run: RunId, at: &str, answer: RunAnswer) -> Value {
        let question = self.questions.get(&answer.question).cloned();
        let Some(question) = question.filter(|question| is_with(question, run)) else {
            return Value::from("too late");
        };
        let fault = match answer.text {
            Some(text) => match self.check_text("answer", &text) {
                Ok(()) => {
                    self.give_answer(cx, Sender::Run(run), &question, text);
                    return Value::from("answered");
                }
                Err(refusal) => Some(format!("{at}: {refusal}")),
            },
            None => answer.fault,
        };
        self.pass_on(cx, run, &question, fault);
        Value::from("passed on")
    }

    /// A question that its run did not answer goes to the run's owner, as if there were no function.
    fn pass_on(&mut self, cx: &mut Cx, run: RunId, question: &Question, fault: Option<String>) {
        let (id, Asker::Turn(turn)) = (question.id, &question.asker) else { return };
        let Some(owner) = self.runs.get(&run).map(|run| run.owner) else { return };
        if let Some(fault) = fault {
            let what = format!("on_ask failed; {id} goes to the {owner}");
            cx.event(Event { at: cx.now, turn: Some(*turn), run: Some(run), worker: None, what });
            let text = format!("on_ask of run {run} failed, so {id} of {turn} waits for you: {fault}");
            self.notice_to(cx, owner, text);
        }
        self.put_question(cx, Question { to: owner, ..question.clone() });
        self.tell_question(cx, question, owner);
        let message = self.post(cx, owner, About::Question(id));
        self.put_question(cx, Question { to: owner, message, ..question.clone() });
        self.tell_asked(cx, &Subject::Turn(*turn));
        self.tell_run_asked(cx, run);
    }

    /// Tells a run that a question it still has needs no answer any more; what its function began for it is ended.
    pub(super) fn question_over(&mut self, cx: &mut Cx, question: &Question) {
        let (Sender::Run(run), None, Asker::Turn(turn)) = (question.to, &question.answer, &question.asker) else {
            return;
        };
        let Some(asked) = self.asked_step(run, *turn, question.id) else { return };
        let path = over_path(&asked.path);
        let over = marker(&asked, path.clone(), OVER, cx.now);
        self.put_step(cx, over);
        self.finish_step(cx, run, &path, Value::Null);
        let why = format!("{} needs no answer any more", question.id);
        self.give_up_below(cx, run, &format!("{}.", asked.path), &why);
    }

    fn asked_step(&self, run: RunId, turn: TurnId, id: QuestionId) -> Option<Arc<Step>> {
        self.runs.get(&run).filter(|run| run.outcome.is_none())?;
        let send = self.turns.get(&turn)?.step.clone()?;
        let mut below = self.steps_below(run, &format!("{}.", send.path)).into_iter();
        below.find(|step| step.verb == ASKED && step.question == Some(id))
    }
}

/// Returns whether a question waits for the answer of this run.
fn is_with(question: &Question, run: RunId) -> bool {
    question.to == Sender::Run(run) && question.answer.is_none()
}

/// Returns a step that the fleet itself makes beside one that code reached.
fn marker(beside: &Step, path: StepPath, verb: &str, now: Time) -> Step {
    Step::begun(beside.run, path, verb, beside.at.clone(), now)
}
