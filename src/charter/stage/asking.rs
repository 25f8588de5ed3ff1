//! What scripted workers ask in their turns, and who answers: the run first if its send wants to, else its owner.
//! A turn whose time is over before it has ended by itself ends here, too.

use std::sync::Arc;

use mlua::{MultiValue, Value as LuaValue};
use serde_json::{Value, json};

use super::play::{Due, Play};
use super::turns::{REPLY, Scripted};
use crate::charter::error::CharterError;
use crate::fleet::asked::{ASKED, OVER, asked_path, over_path};
use crate::fleet::ids::{QuestionId, StepPath, TurnId};
use crate::fleet::run::{RunAnswer, Step};
use crate::fleet::time::Time;
use crate::fleet::turn::Outcome;

/// The question that a turn waits with.
pub(super) struct Open {
    question: QuestionId,
    text: String,
    /// The step that brought it to the run, while the run has it.
    with_run: Option<StepPath>,
    timeout: Option<(Time, u64)>,
}

impl Play<'_, '_> {
    /// A worker asks: the run first if it wants to answer, else its owner.
    pub(super) fn asks(&mut self, id: TurnId, text: String) -> Result<(), CharterError> {
        let Some(mut turn) = self.turns.remove(&id) else { return Ok(()) };
        self.stage.questions += 1;
        let question = QuestionId(self.stage.questions);
        let timeout = self.stage.late(&turn).map(|late| self.add(late, Due::Timeout(id)));
        let mut open = Open { question, text: text.clone(), with_run: None, timeout };
        if turn.send.on_ask {
            turn.asked += 1;
            let path = asked_path(&turn.step.path, turn.asked);
            open.with_run = Some(path.clone());
            self.stage.say(format!("{path} {text}"));
            let value = json!({"text": text, "id": question, "turn": id, "worker": turn.worker()});
            let step = Step::begun(turn.step.run, path, ASKED, turn.step.at.clone(), self.stage.now);
            self.finish(Step { what: text, question: Some(question), ..step }, value);
        } else {
            self.stage.say(format!("{id} asks {text}"));
            let answer = self.owner_answers(&turn.step, &format!("worker {}", turn.worker()), &text)?;
            self.add(self.stage.now + REPLY, Due::Hear(id, answer));
        }
        turn.open = Some(open);
        self.turns.insert(id, turn);
        Ok(())
    }

    /// The run has said what becomes of a question.
    pub(super) fn answered(&mut self, answer: RunAnswer) -> Result<Value, CharterError> {
        if let Some(fault) = answer.fault {
            return Err(CharterError::read(&self.stage.world.sources, &fault));
        }
        let is_it = |turn: &Scripted| turn.open.as_ref().is_some_and(|open| open.question == answer.question);
        let Some((id, turn)) = self.turns.iter_mut().find(|(_, turn)| is_it(turn)) else {
            return Ok(Value::from("too late"));
        };
        let (id, step, worker) = (*id, Arc::clone(&turn.step), turn.worker());
        let Some(open) = &mut turn.open else { return Ok(Value::Null) };
        open.with_run = None;
        let question = open.text.clone();
        match answer.text {
            Some(text) => {
                self.add(self.stage.now, Due::Hear(id, text.to_string()));
                Ok(Value::from("answered"))
            }
            None => {
                let text = self.owner_answers(&step, &format!("worker {worker}"), &question)?;
                self.add(self.stage.now + REPLY, Due::Hear(id, text));
                Ok(Value::from("passed on"))
            }
        }
    }

    /// A worker hears an answer and goes on.
    pub(super) fn hears(&mut self, id: TurnId, answer: String) -> Result<(), CharterError> {
        let Some(turn) = self.turns.get_mut(&id) else { return Ok(()) };
        if let Some(open) = turn.open.take() {
            turn.heard.insert(open.text, answer.clone());
            if let Some(timeout) = open.timeout {
                self.take_back(timeout);
            }
        }
        let answer = self.stage.world.lua.create_string(answer);
        let answer = answer.map_err(|error| self.stage.world.failure(&error, None).error)?;
        let args = vec![LuaValue::Boolean(true), LuaValue::String(answer)];
        self.goes_on(id, MultiValue::from_vec(args))
    }

    /// The time of a turn is over while it waits for an answer.
    pub(super) fn times_out(&mut self, id: TurnId, why: &str) -> Result<(), CharterError> {
        match self.leave(id) {
            Some(turn) => self.settle(id, turn, Outcome::TimedOut, why.to_owned()),
            None => Ok(()),
        }
    }

    /// The time of a turn's run is over: nothing is tried again.
    pub(super) fn cut(&mut self, id: TurnId, why: &str) {
        if let Some(turn) = self.leave(id) {
            let envelope = self.envelope(id, &turn, Outcome::TimedOut, why.to_owned());
            self.answer_send(turn, &envelope);
        }
    }

    /// Takes a turn away before it has ended by itself, with what it asks.
    fn leave(&mut self, id: TurnId) -> Option<Scripted> {
        let mut turn = self.turns.remove(&id)?;
        let with_run = turn.open.take().and_then(|open| open.with_run);
        if let Some(path) = &with_run {
            let over = Step::begun(turn.step.run, over_path(path), OVER, turn.step.at.clone(), self.stage.now);
            self.finish(over, Value::Null);
        }
        match &with_run {
            Some(path) => self.take_back_below(turn.step.run, &format!("{path}.")),
            None => self.forget(|_, _| false),
        }
        // What it used is told once its worker stops, and then nobody looks any more.
        turn.usage = None;
        Some(turn)
    }
}
