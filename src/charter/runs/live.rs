//! One run: a tree of coroutines that is resumed in a fixed order.
//!
//! It goes on until all its coroutines wait; only then it takes its next finished step. So its course is decided by the
//! order of its finished steps alone, and a replay from the journal takes the same course.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mlua::{IntoLua, Lua, MultiValue, Table, Thread, Value as LuaValue};
use serde_json::Value;

use super::questions::Answering;
use super::strands::{Group, Place, Resume, Strand, Waiting};
use super::{DIVERGENCE, REFUSED, RUN_TIME, STEP_TIME, failed};
use crate::charter::error::CharterError;
use crate::charter::explain::both_sides;
use crate::charter::json as border;
use crate::charter::meter::{self, Allowance};
use crate::charter::steps::{self, Asked, Reached};
use crate::charter::world::World;
use crate::fleet::asked::{ASKED, OVER};
use crate::fleet::ids::{RunId, StepPath};
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, Step};

/// How deep `run:each` may be nested: each level makes the paths of all steps below it longer.
pub(in crate::charter) const DEEPEST: usize = 16;

/// A run that is executed.
pub(super) struct LiveRun {
    id: RunId,
    at: String,
    pub(super) strands: Vec<Strand>,
    pub(super) groups: Vec<Group>,
    pub(super) runnable: VecDeque<(usize, Resume)>,
    pub(super) waiting: HashMap<StepPath, Waiting>,
    /// The sends whose functions answer what is asked in their turns.
    pub(super) answering: BTreeMap<StepPath, Answering>,
    /// Steps that may still be answered and for which nobody waits.
    pub(super) unheard: HashSet<StepPath>,
    recorded: HashMap<StepPath, Arc<Step>>,
    finished: VecDeque<FinishedStep>,
    newest: Option<u64>,
    used: Duration,
    /// What the memory grew by while its code ran, as far as can be told: garbage is collected at any time.
    pub(super) held: isize,
    pub(super) queued: bool,
    /// Its place among those that wait for something from outside.
    pub(super) rests: Option<u64>,
}

impl LiveRun {
    pub(super) fn new(world: &World, run: &Run, job: &Value, finished: Vec<FinishedStep>) -> Result<LiveRun, String> {
        let recipe = run.recipe.as_str();
        let Some(spec) = world.team.recipes.get(&run.recipe) else {
            return Err(format!("the charter has no recipe '{recipe}'"));
        };
        let at = spec.at.clone();
        let function = world.instance(recipe).map_err(|failure| failure.error.to_string())?;
        let began = || -> mlua::Result<(Thread, MultiValue)> {
            let args = vec![
                LuaValue::Function(function),
                border::from_json(&world.lua, job)?,
                run.id.to_string().into_lua(&world.lua)?,
                recipe.into_lua(&world.lua)?,
                fields_of(&world.lua, &spec.input)?.into_lua(&world.lua)?,
            ];
            let thread = world.lua.create_thread(world.main.clone())?;
            Ok((thread, MultiValue::from_vec(args)))
        };
        let (thread, args) = began().map_err(|error| world.failure(&error, None).error.to_string())?;
        Ok(LiveRun {
            id: run.id,
            at,
            strands: vec![Strand::new(thread, String::new(), Place::Recipe)],
            groups: Vec::new(),
            runnable: VecDeque::from([(0, Resume::Start(args))]),
            waiting: HashMap::new(),
            answering: BTreeMap::new(),
            unheard: HashSet::new(),
            recorded: finished.iter().map(|done| (done.step.path.clone(), Arc::clone(&done.step))).collect(),
            newest: finished.last().and_then(|done| done.step.seq),
            finished: finished.into(),
            used: Duration::ZERO,
            held: 0,
            queued: false,
            rests: None,
        })
    }

    /// Takes a newly finished step; returns false if the journal had it already.
    pub(super) fn take(&mut self, step: FinishedStep) -> bool {
        let seq = step.step.seq;
        if seq <= self.newest {
            return false;
        }
        self.newest = seq;
        self.finished.push_back(step);
        true
    }

    /// Returns how the run ends that must make room for the others.
    pub(super) fn too_large(&self) -> RunEnd {
        failed(format!("{}: {}, and this run held most of it", self.at, meter::MEMORY))
    }

    /// Resumes one coroutine, or takes one finished step; returns whether there may be more to do.
    pub(super) fn advance(
        &mut self,
        world: &World,
        draw: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<bool, RunEnd> {
        if let Some((strand, resume)) = self.runnable.pop_front() {
            // A coroutine that was given up may still have been about to go on.
            if let Some(thread) = self.strands[strand].thread.clone() {
                self.resume(world, strand, &thread, resume, draw, out)?;
            }
            return Ok(true);
        }
        let Some(next) = self.finished.pop_front() else {
            return Ok(false);
        };
        let (step, value) = (next.step, next.value);
        match step.verb.as_str() {
            ASKED => self.question(world, &step, value, out)?,
            OVER => self.question_over(world, &step.path, out)?,
            _ => self.answered(world, &step, &value)?,
        }
        Ok(true)
    }

    /// Lets the coroutine go on that waits for a step.
    fn answered(&mut self, world: &World, step: &Step, value: &Value) -> Result<(), RunEnd> {
        let Some(waiting) = self.waiting.remove(&step.path) else {
            if self.unheard.remove(&step.path) {
                return Ok(());
            }
            return Err(failed(format!(
                "{DIVERGENCE} the journal says that run:{} ({}) was called at {} as {}, but the code {}",
                step.verb,
                step.what,
                step.at,
                step.path,
                self.where_it_is()
            )));
        };
        self.answering.remove(&step.path);
        let resume = match (waiting.verb, value.get(REFUSED).and_then(Value::as_str)) {
            (_, Some(refused)) => Resume::Error(refused.to_owned()),
            ("sleep" | "progress", _) => Resume::Value(LuaValue::Nil),
            _ => match border::from_json(&world.lua, value) {
                Ok(value) => Resume::Value(value),
                Err(error) => return Err(failed(world.failure(&error, None).error.to_string())),
            },
        };
        self.runnable.push_back((waiting.strand, resume));
        Ok(())
    }

    fn resume(
        &mut self,
        world: &World,
        index: usize,
        thread: &Thread,
        resume: Resume,
        draw: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let (run_left, strand) = (RUN_TIME.saturating_sub(self.used), &mut self.strands[index]);
        let step_left = STEP_TIME.saturating_sub(strand.used);
        let allowance = match run_left < step_left {
            true => Allowance { time: run_left, said: meter::IN_ALL, sliced: true },
            false => Allowance { time: step_left, said: meter::NO_WAIT, sliced: true },
        };
        let args = match resume {
            Resume::Start(args) => args,
            Resume::Slice => MultiValue::new(),
            Resume::Value(value) => MultiValue::from_vec(vec![LuaValue::Boolean(true), value]),
            Resume::Error(text) => match text.into_lua(&world.lua) {
                Ok(text) => MultiValue::from_vec(vec![LuaValue::Boolean(false), text]),
                Err(error) => return Err(failed(world.failure(&error, None).error.to_string())),
            },
        };
        world.relieve();
        world.meter.begin(thread, allowance);
        let result = thread.resume::<MultiValue>(args);
        let used = world.meter.end();
        strand.used += used.time;
        self.used += used.time;
        let waits = thread.is_resumable();
        match result {
            Ok(_) if used.blown.is_some() => {
                let failure = world.failure(&mlua::Error::StackError, used.blown);
                Err(failed(failure.error.to_string()))
            }
            Ok(values) if waits && values.is_empty() => {
                // First again: where a slice ends depends on the machine, and must not change the order within a run.
                self.runnable.push_front((index, Resume::Slice));
                Ok(())
            }
            Ok(values) if waits => self.asked(world, index, values, draw, out),
            Ok(values) => self.returned(world, index, values, out),
            Err(error) => {
                let failure = world.failure(&error, used.blown);
                match (failure.fatal, self.strands[index].place.clone()) {
                    (false, Place::Part { group, place }) => self.broke(group, place, native_text(&failure.error), out),
                    (false, Place::Answers { send }) => self.question_done(world, &send, Err(&failure.error), out),
                    _ => Err(failed(failure.error.to_string())),
                }
            }
        }
    }

    fn asked(
        &mut self,
        world: &World,
        index: usize,
        values: MultiValue,
        draw: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        self.strands[index].used = Duration::ZERO;
        let read: mlua::Result<(Table, String, u32)> = world.lua.unpack_multi(values);
        let (request, file, line) = match read {
            Ok(read) => read,
            Err(error) => return Err(failed(format!("a coroutine yielded something strange: {error}"))),
        };
        let at = format!("{file}:{line}");
        match steps::read(&request, &world.team, draw) {
            Err(why) => {
                self.runnable.push_back((index, Resume::Error(format!("{at}: {why}"))));
                Ok(())
            }
            Ok(Asked::Parts { kind, .. }) if self.strands[index].scope.matches('[').count() >= DEEPEST => {
                let why = format!("{at}: run:{} is nested deeper than {DEEPEST} levels", kind.verb());
                self.runnable.push_back((index, Resume::Error(why)));
                Ok(())
            }
            Ok(Asked::Parts { kind, items, function }) => self.parts(world, index, (kind, at), items, &function),
            Ok(Asked::Step { step, on_ask }) => {
                let path = StepPath::from(self.path(index, step.verb));
                if let Some(function) = on_ask {
                    self.answer_with(path.clone(), index, function, at.clone());
                }
                let waiting = Waiting {
                    strand: index,
                    verb: step.verb,
                    hash: step.hash.clone(),
                    what: step.what.clone(),
                    at: at.clone(),
                    refused: false,
                };
                self.submit(path.clone(), *step, at, out)?;
                self.waiting.insert(path, waiting);
                Ok(())
            }
        }
    }

    /// Hands in a step, unless the journal has it; what it has must be the same.
    pub(super) fn submit(
        &mut self,
        path: StepPath,
        step: Reached,
        at: String,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        match self.recorded.get(&path) {
            Some(record) if record.verb != step.verb || record.hash != step.hash => {
                let reached = Step { what: step.what, ..Step::begun(self.id, path, step.verb, at, record.began) };
                Err(failed(both_sides(record, &reached)))
            }
            Some(_) => Ok(()),
            None => {
                out(RunInput::Step {
                    run: self.id,
                    path,
                    verb: step.verb,
                    hash: step.hash,
                    what: step.what,
                    at,
                    request: Box::new(step.request),
                });
                Ok(())
            }
        }
    }

    fn returned(
        &mut self,
        world: &World,
        index: usize,
        values: MultiValue,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let place = self.strands[index].place.clone();
        if place == Place::Recipe {
            return Err(self.left_out().unwrap_or_else(|| self.end(world, values)));
        }
        let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
        self.strands[index].thread = None;
        match place {
            Place::Part { group, place } => self.gather(world, group, place, value, out),
            Place::Answers { send } => self.question_done(world, &send, Ok(value), out),
            Place::Recipe => Ok(()),
        }
    }

    /// Returns how many finished steps the code has not come to yet.
    pub(super) fn unread(&self) -> usize {
        self.finished.len()
    }

    /// Returns the end of a run whose code has ended although its journal has more: a step that no part of it asked for.
    fn left_out(&self) -> Option<RunEnd> {
        let asked_for = |step: &Step| {
            let by_fleet = matches!(step.verb.as_str(), ASKED | OVER);
            by_fleet || self.waiting.contains_key(&step.path) || self.unheard.contains(&step.path)
        };
        let left = self.finished.iter().map(|done| &done.step).find(|step| !asked_for(step))?;
        Some(failed(format!(
            "{DIVERGENCE} the journal says that run:{} ({}) was called at {} as {}, but the code of the recipe at {} has ended",
            left.verb, left.what, left.at, left.path, self.at
        )))
    }

    /// Says where the code is that did not come where its journal was.
    fn where_it_is(&self) -> String {
        let mut waits: Vec<String> =
            self.waiting.iter().map(|(path, waiting)| format!("{path} at {}", waiting.at)).collect();
        waits.sort();
        waits.truncate(3);
        match waits.is_empty() {
            true => format!("of the recipe at {} never came there", self.at),
            false => format!("never came there; it waits for {}", waits.join(", ")),
        }
    }

    fn end(&self, world: &World, values: MultiValue) -> RunEnd {
        let read: mlua::Result<(String, LuaValue, Option<String>)> = world.lua.unpack_multi(values);
        let (word, value, why) = match read {
            Ok(read) => read,
            Err(error) => return failed(format!("{}: {error}", self.at)),
        };
        let value = match border::to_json(&value, border::RUN_BYTES) {
            Ok(value) => value,
            Err(why) => return failed(format!("{}: the value of the recipe cannot be kept: {why}", self.at)),
        };
        let outcome = match word.as_str() {
            "done" => RunOutcome::Done,
            "partial" => RunOutcome::Partial,
            _ => RunOutcome::Failed,
        };
        RunEnd { outcome, why, value }
    }
}

/// Returns an error as the text that Lua code sees.
pub(super) fn native_text(error: &CharterError) -> String {
    match (&error.file, error.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: {}", error.message),
        _ => error.message.clone(),
    }
}

/// Returns the fields that a job may have, if its recipe says so.
fn fields_of(lua: &Lua, input: &Value) -> mlua::Result<Option<Table>> {
    let properties = input.get("properties").and_then(Value::as_object);
    properties.map(|fields| lua.create_table_from(fields.keys().map(|name| (name.as_str(), true)))).transpose()
}
