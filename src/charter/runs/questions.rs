//! Questions that workers ask in the turns of a run's sends: the function beside the send (`on_ask`) is called for each,
//! one after the other, in a coroutine of its own.
//!
//! A question comes as a finished step (`asked`) and goes as a step (`answer`), so a replay does the same. A mistake in
//! the function costs its own answer: the question goes on to the owner, with what was wrong.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use mlua::{Function, Value as LuaValue};
use serde_json::Value;

use super::failed;
use super::live::{LiveRun, native_text};
use super::strands::Place;
use crate::charter::error::CharterError;
use crate::charter::json as border;
use crate::charter::steps;
use crate::charter::world::World;
use crate::fleet::asked::{answer_path, asked_of, send_of};
use crate::fleet::ids::{QuestionId, StepPath};
use crate::fleet::run::{RunAnswer, RunEnd, RunInput, Step};

/// How many characters of a mistake its owner is told.
const FAULT: usize = 1_000;

/// A send whose function answers what is asked in its turns.
pub(super) struct Answering {
    /// Who waits for the send.
    strand: usize,
    function: Function,
    /// Where the send is.
    at: String,
    /// The question that the function is at, and the coroutine in which it is.
    current: Option<(usize, Asked)>,
    waiting: VecDeque<(Asked, Arc<Value>)>,
}

/// A question that was brought to the run.
#[derive(Clone)]
pub(super) struct Asked {
    path: StepPath,
    question: QuestionId,
}

impl LiveRun {
    /// Notes that a function answers what is asked in the turns of a send.
    pub(super) fn answer_with(&mut self, send: StepPath, strand: usize, function: Function, at: String) {
        let answering = Answering { strand, function, at, current: None, waiting: VecDeque::new() };
        self.answering.insert(send, answering);
    }

    /// A question came. Where nobody waits for the send any more it is passed on.
    pub(super) fn question(
        &mut self,
        world: &World,
        step: &Step,
        value: Arc<Value>,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let (Some(send), Some(question)) = (send_of(&step.path), step.question) else {
            return Err(failed(format!("the journal has {} without its question", step.path)));
        };
        let asked = Asked { path: step.path.clone(), question };
        if let Some(answering) = self.answering.get_mut(&send) {
            answering.waiting.push_back((asked, value));
            return self.next_question(world, &send);
        }
        match self.unheard.contains(&send) {
            true => self.say(&asked, &step.at, None, None, out),
            false => Err(failed(format!(
                "divergence: the journal says that {} was asked in {send}, but the code does not answer there",
                step.path
            ))),
        }
    }

    /// A question needs no answer any more: the function is given up where it waits.
    pub(super) fn question_over(
        &mut self,
        world: &World,
        over: &StepPath,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let Some(path) = asked_of(over) else { return Ok(()) };
        let Some(send) = send_of(&path) else { return Ok(()) };
        let Some(answering) = self.answering.get_mut(&send) else { return Ok(()) };
        match &answering.current {
            Some((strand, asked)) if asked.path == path => {
                let strand = *strand;
                answering.current = None;
                self.abandon(vec![strand], out)?;
                self.next_question(world, &send)
            }
            _ => {
                answering.waiting.retain(|(asked, _)| asked.path != path);
                Ok(())
            }
        }
    }

    /// Calls the function for the next question, unless it is at one.
    fn next_question(&mut self, world: &World, send: &StepPath) -> Result<(), RunEnd> {
        let Some(answering) = self.answering.get_mut(send).filter(|answering| answering.current.is_none()) else {
            return Ok(());
        };
        let Some((asked, value)) = answering.waiting.pop_front() else { return Ok(()) };
        let function = answering.function.clone();
        let table = border::from_json(&world.lua, &value).and_then(|table| world.question.call::<LuaValue>(table));
        let table = table.map_err(|error| failed(world.failure(&error, None).error.to_string()))?;
        let scope = format!("{}.", asked.path);
        let strand = self.begin(world, &function, vec![table], scope, Place::Answers { send: send.clone() })?;
        if let Some(answering) = self.answering.get_mut(send) {
            answering.current = Some((strand, asked));
        }
        Ok(())
    }

    /// The function is through with a question: what it returned is the answer, nothing passes it on.
    pub(super) fn question_done(
        &mut self,
        world: &World,
        send: &StepPath,
        returned: Result<LuaValue, &CharterError>,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let Some(answering) = self.answering.get_mut(send) else { return Ok(()) };
        let Some((strand, asked)) = answering.current.take() else { return Ok(()) };
        let at = answering.at.clone();
        self.strands[strand].thread = None;
        let wrong =
            |got: &str| format!("{at}: run:send: on_ask must return a text, or nothing to pass it on; got {got}");
        let (text, fault) = match returned {
            Err(error) => (None, Some(native_text(error).chars().take(FAULT).collect())),
            Ok(LuaValue::Nil) => (None, None),
            Ok(LuaValue::String(text)) => match text.to_str() {
                Ok(text) if text.trim().is_empty() => (None, Some(wrong("an empty text"))),
                Ok(text) => (Some(Arc::from(&*text)), None),
                Err(_) => (None, Some(wrong("a text that is not UTF-8"))),
            },
            Ok(LuaValue::Integer(_)) => (None, Some(wrong("a number"))),
            Ok(other) => (None, Some(wrong(&format!("a {}", other.type_name())))),
        };
        self.say(&asked, &at, text, fault, out)?;
        self.next_question(world, send)
    }

    /// Returns the coroutines that answer for the sends of a coroutine.
    pub(super) fn answerers_of(&self, strand: usize) -> Vec<usize> {
        let of = self.answering.values().filter(|answering| answering.strand == strand);
        of.filter_map(|answering| answering.current.as_ref()).map(|(strand, _)| *strand).collect()
    }

    /// Passes on every question to the sends of coroutines that were given up.
    pub(super) fn pass_on_all(&mut self, dead: &HashSet<usize>, out: &mut dyn FnMut(RunInput)) -> Result<(), RunEnd> {
        let of_dead = self.answering.iter().filter(|(_, answering)| dead.contains(&answering.strand));
        let sends: Vec<StepPath> = of_dead.map(|(send, _)| send.clone()).collect();
        for send in sends {
            let Some(answering) = self.answering.remove(&send) else { continue };
            let current = answering.current.map(|(_, asked)| asked);
            for asked in current.into_iter().chain(answering.waiting.into_iter().map(|(asked, _)| asked)) {
                self.say(&asked, &answering.at, None, None, out)?;
            }
        }
        Ok(())
    }

    /// Hands in what became of a question. Nobody waits for this step.
    fn say(
        &mut self,
        asked: &Asked,
        at: &str,
        text: Option<Arc<str>>,
        fault: Option<String>,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let path = answer_path(&asked.path);
        let step = steps::answer(RunAnswer { question: asked.question, text, fault });
        self.submit(path.clone(), step, at.to_owned(), out)?;
        self.unheard.insert(path);
        Ok(())
    }
}
