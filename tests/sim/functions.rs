//! The functions with which a scripted run answers what its workers ask: at once, after steps of their own, with a
//! mistake, or not at all. One is at one question of a send at a time; the rest waits.

use std::collections::VecDeque;

use fleetd::fleet::asked::{answer_path, asked_of, send_of};
use fleetd::fleet::ids::{QuestionId, StepPath};
use fleetd::fleet::run::{RunAnswer, Step, StepRequest};
use serde_json::Value;

use super::rng::{Rng, mix};
use super::runs::{Code, send};

/// A function that is at a question of a send, with the questions that wait for it.
#[derive(Clone, Debug)]
pub struct Function {
    question: QuestionId,
    waiting: VecDeque<(StepPath, QuestionId)>,
}

impl Code {
    /// A question was brought; the error says why it cannot have been.
    pub fn question(&mut self, step: &Step, value: &Value) -> Result<(), String> {
        let path = &step.path;
        let (Some(send), Some(question)) = (send_of(path), step.question) else {
            return Err(format!("{path}, which is no question"));
        };
        if value["id"] != question.to_string() {
            return Err(format!("{path} with the question {value}"));
        }
        if self.is_lost(path) {
            return Ok(());
        }
        let request = self.asked.get(&send).or_else(|| self.below.get(&send));
        if !matches!(request, Some(StepRequest::Send(send)) if send.on_ask) {
            return Err(format!("{path}, and does not answer there"));
        }
        let at_one = self.functions.iter_mut().find(|(asked, _)| send_of(asked).as_ref() == Some(&send));
        match at_one {
            Some((_, function)) => function.waiting.push_back((path.clone(), question)),
            None => self.begin(path.clone(), question, VecDeque::new()),
        }
        Ok(())
    }

    /// A question needs no answer any more: the function is given up with all that it asked for.
    pub fn question_over(&mut self, over: &StepPath) -> Result<(), String> {
        let Some(path) = asked_of(over) else { return Err(format!("{over}, which is no question")) };
        if self.is_lost(over) {
            return Ok(());
        }
        if !self.given_up.insert(path.clone()) {
            return Err(format!("{over} twice"));
        }
        let below = |other: &StepPath| other.as_str().starts_with(&format!("{path}."));
        if let Some(function) = self.functions.remove(&path) {
            self.below.retain(|other, _| !below(other));
            self.functions.retain(|other, _| !below(other));
            self.next(function.waiting);
        }
        self.said.retain(|other, _| !below(other));
        for function in self.functions.values_mut() {
            function.waiting.retain(|(other, _)| *other != path);
        }
        Ok(())
    }

    /// Takes the answer of a step and returns what was asked for, unless nobody waits for it any more.
    pub fn take(&mut self, path: &StepPath, value: &Value) -> Result<Option<StepRequest>, String> {
        let over = self.given_up.iter().any(|over| path.as_str().starts_with(&format!("{over}.")));
        let gone = over || self.is_lost(path);
        if let Some(request) = self.asked.remove(path).or_else(|| self.said.remove(path)) {
            let ends_early = self.functions.keys().any(|asked| send_of(asked).as_ref() == Some(path));
            return if ends_early {
                Err(format!("{path}, and was still asked something in it"))
            } else {
                Ok(Some(request))
            };
        }
        let Some(request) = self.below.remove(path) else {
            return if gone { Ok(None) } else { Err(format!("{path}, for which it does not wait")) };
        };
        let asked = self.functions.keys().filter(|asked| path.as_str().starts_with(&format!("{asked}.")));
        if let Some(asked) = asked.max_by_key(|asked| asked.as_str().len()).cloned() {
            let text = value.to_string().len();
            self.say(&asked, Some(format!("after {text}")), None);
        }
        Ok(Some(request))
    }

    /// A part has won: what the others asked for, and what is done for them, is given up.
    pub fn give_up_rest(&mut self) {
        let first = self.asked.keys().next().and_then(|path| path.as_str().split_once('['));
        let Some(base) = first.map(|(base, _)| base.to_string()) else { return };
        let prefix = format!("{base}[");
        let goes_on = |path: &StepPath| !path.as_str().starts_with(&prefix);
        self.asked.clear();
        self.below.retain(|path, _| goes_on(path));
        self.said.retain(|path, _| goes_on(path));
        self.functions.retain(|path, _| goes_on(path));
        self.lost.insert(prefix);
        self.said.insert(base.into(), StepRequest::GiveUp("a part won".to_string()));
    }

    fn is_lost(&self, path: &StepPath) -> bool {
        self.lost.iter().any(|prefix| path.as_str().starts_with(prefix))
    }

    fn begin(&mut self, path: StepPath, question: QuestionId, waiting: VecDeque<(StepPath, QuestionId)>) {
        self.functions.insert(path.clone(), Function { question, waiting });
        let mut rng = Rng::new(mix(question.0) ^ path.as_str().len() as u64);
        let deep = path.as_str().matches(".asked#").count() > 1;
        match rng.below(if deep { 6 } else { 10 }) {
            0..3 => self.say(&path, Some("yes".to_string()), None),
            3 => self.say(&path, None, None),
            4 => self.say(&path, None, Some("recipes/program.lua:9: boom".to_string())),
            5 => drop(self.below.insert(format!("{path}.now#1").into(), StepRequest::Now)),
            6 => drop(self.below.insert(format!("{path}.ask_leader#1").into(), StepRequest::Ask("shall I?".into()))),
            _ => drop(self.below.insert(format!("{path}.send#1").into(), StepRequest::Send(send(&mut rng)))),
        }
    }

    fn say(&mut self, path: &StepPath, text: Option<String>, fault: Option<String>) {
        let Some(function) = self.functions.remove(path) else { return };
        let answer = RunAnswer { question: function.question, text: text.map(Into::into), fault };
        self.said.insert(answer_path(path), StepRequest::Answer(answer));
        self.next(function.waiting);
    }

    fn next(&mut self, mut waiting: VecDeque<(StepPath, QuestionId)>) {
        if let Some((path, question)) = waiting.pop_front() {
            self.begin(path, question, waiting);
        }
    }
}
