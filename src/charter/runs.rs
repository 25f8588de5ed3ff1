//! The executor: all runs of one VM, each a tree of coroutines that is resumed in a fixed order.
//!
//! A run goes on until all its coroutines wait; only then it takes its next finished step. So its course is decided by
//! the order of its finished steps alone, and a replay from the journal takes the same course. No channels, no clock.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, IntoLua, MultiValue, Table, Thread, Value as LuaValue};
use serde_json::{Value, json};

use super::json as border;
use super::meter::{self, Allowance};
use super::steps::{self, Asked, Reached};
use super::world::World;
use crate::fleet::ids::{RunId, StepPath};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, Step, StepRequest};

/// Running time of one coroutine between two waits.
const STEP_TIME: Duration = Duration::from_millis(100);
/// Running time of a whole run.
const RUN_TIME: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// Under this name a step's value carries its refusal.
const REFUSED: &str = "$refused";

/// All runs of one VM.
#[derive(Default)]
pub(super) struct Runs {
    runs: BTreeMap<RunId, LiveRun>,
    ready: VecDeque<RunId>,
}

struct LiveRun {
    id: RunId,
    at: String,
    strands: Vec<Strand>,
    groups: Vec<Group>,
    runnable: VecDeque<(usize, Resume)>,
    waiting: HashMap<StepPath, Waiting>,
    abandoned: HashSet<StepPath>,
    recorded: HashMap<StepPath, Arc<Step>>,
    finished: VecDeque<FinishedStep>,
    newest: Option<u64>,
    used: Duration,
    queued: bool,
}

/// One coroutine.
struct Strand {
    /// Absent once it has ended: a coroutine holds everything that its locals hold.
    thread: Option<Thread>,
    scope: String,
    counts: HashMap<&'static str, u32>,
    part_of: Option<(usize, usize)>,
    used: Duration,
}

/// The coroutines of one `run:each`.
struct Group {
    parent: usize,
    members: Vec<usize>,
    results: Vec<LuaValue>,
    left: usize,
}

/// How a coroutine goes on.
enum Resume {
    Start(MultiValue),
    Slice,
    Value(LuaValue),
    Error(String),
}

/// A coroutine that waits for a step.
struct Waiting {
    strand: usize,
    verb: &'static str,
    hash: String,
    what: String,
    at: String,
    refused: bool,
}

impl Runs {
    /// Begins a run, or goes on with it from its finished steps.
    pub(super) fn start(
        &mut self,
        world: &World,
        run: &Run,
        job: &Value,
        finished: Vec<FinishedStep>,
        out: &mut dyn FnMut(RunInput),
    ) {
        match LiveRun::new(world, run, job, finished) {
            Ok(live) => {
                self.runs.insert(run.id, live);
                self.wake(run.id);
            }
            Err(why) => out(ended(run.id, RunOutcome::Failed, Some(why), Value::Null)),
        }
    }

    /// Takes the answer of a step; an answer that the journal gave already is ignored.
    pub(super) fn answer(&mut self, run: RunId, step: FinishedStep) {
        if let Some(live) = self.runs.get_mut(&run) {
            let seq = step.step.seq;
            if seq > live.newest {
                live.newest = seq;
                live.finished.push_back(step);
                self.wake(run);
            }
        }
    }

    /// Takes the refusal of a step. It is first journaled as the step's value, so that a replay meets it at the same
    /// place; then it is an error at the step's line.
    pub(super) fn refuse(&mut self, id: RunId, path: StepPath, refusal: Refusal, out: &mut dyn FnMut(RunInput)) {
        let Some(live) = self.runs.get_mut(&id) else { return };
        let Some(waiting) = live.waiting.get_mut(&path) else { return };
        let text = format!("{}: run:{}: {refusal}", waiting.at, waiting.verb);
        // A refused refusal would go round for ever; a divergence is nothing that a recipe may catch.
        if waiting.refused || refusal.kind == RefusalKind::Divergence {
            self.runs.remove(&id);
            out(ended(id, RunOutcome::Failed, Some(text), Value::Null));
            return;
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
    }

    /// Forgets a run.
    pub(super) fn drop(&mut self, run: RunId) {
        self.runs.remove(&run);
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
        match live.advance(world, draw, out) {
            Ok(true) => self.wake(id),
            Ok(false) => {}
            Err(end) => {
                self.runs.remove(&id);
                out(RunInput::Ended { run: id, end });
            }
        }
        true
    }

    fn wake(&mut self, id: RunId) {
        if let Some(live) = self.runs.get_mut(&id)
            && !live.queued
        {
            live.queued = true;
            self.ready.push_back(id);
        }
    }
}

impl LiveRun {
    fn new(world: &World, run: &Run, job: &Value, finished: Vec<FinishedStep>) -> Result<LiveRun, String> {
        let recipe = run.recipe.as_str();
        let at = match world.team.recipes.get(&run.recipe) {
            Some(spec) => spec.at.clone(),
            None => return Err(format!("the charter has no recipe '{recipe}'")),
        };
        let function = world.instance(recipe).map_err(|failure| failure.error.to_string())?;
        let began = || -> mlua::Result<(Thread, MultiValue)> {
            let args = vec![
                LuaValue::Function(function),
                border::from_json(&world.lua, job)?,
                run.id.to_string().into_lua(&world.lua)?,
                recipe.into_lua(&world.lua)?,
            ];
            let thread = world.lua.create_thread(world.main.clone())?;
            Ok((thread, MultiValue::from_vec(args)))
        };
        let (thread, args) = began().map_err(|error| world.failure(&error, None).error.to_string())?;
        Ok(LiveRun {
            id: run.id,
            at,
            strands: vec![Strand::new(thread, String::new(), None)],
            groups: Vec::new(),
            runnable: VecDeque::from([(0, Resume::Start(args))]),
            waiting: HashMap::new(),
            abandoned: HashSet::new(),
            recorded: finished.iter().map(|done| (done.step.path.clone(), Arc::clone(&done.step))).collect(),
            newest: finished.last().and_then(|done| done.step.seq),
            finished: finished.into(),
            used: Duration::ZERO,
            queued: false,
        })
    }

    /// Resumes one coroutine, or takes one finished step; returns whether there may be more to do.
    fn advance(
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
        let Some(next) = self.finished.front() else {
            return Ok(false);
        };
        let path = next.step.path.clone();
        if let Some(waiting) = self.waiting.remove(&path) {
            let next = self.finished.pop_front().expect("it was looked at just now");
            let resume = match (waiting.verb, next.value.get(REFUSED).and_then(Value::as_str)) {
                (_, Some(refused)) => Resume::Error(refused.to_owned()),
                ("sleep" | "progress", _) => Resume::Value(LuaValue::Nil),
                _ => match border::from_json(&world.lua, &next.value) {
                    Ok(value) => Resume::Value(value),
                    Err(error) => return Err(failed(world.failure(&error, None).error.to_string())),
                },
            };
            self.runnable.push_back((waiting.strand, resume));
            return Ok(true);
        }
        if self.abandoned.contains(&path) {
            self.finished.pop_front();
            return Ok(true);
        }
        let step = &self.finished[0].step;
        Err(failed(format!(
            "divergence: the journal says that run:{} ({}) was called at {} as {}, but the code never came there",
            step.verb, step.what, step.at, step.path
        )))
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
            Ok(values) => self.returned(world, index, values),
            Err(error) => {
                let failure = world.failure(&error, used.blown);
                match (failure.fatal, self.strands[index].part_of) {
                    (false, Some((group, _))) => {
                        let parent = self.groups[group].parent;
                        self.abandon(group);
                        let text = native_text(&failure.error);
                        self.runnable.push_back((parent, Resume::Error(text)));
                        Ok(())
                    }
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
            Ok(Asked::Each { items, function }) => {
                let path = self.path(index, "each");
                self.each(world, index, &path, items, &function)
            }
            Ok(Asked::Step(step)) => {
                let path = StepPath::from(self.path(index, step.verb));
                self.reached(index, path, *step, at, out)
            }
        }
    }

    fn reached(
        &mut self,
        strand: usize,
        path: StepPath,
        step: Reached,
        at: String,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let recorded = self.recorded.get(&path);
        if let Some(record) = recorded
            && (record.verb != step.verb || record.hash != step.hash)
        {
            return Err(failed(format!(
                "divergence: the journal says that {path} was run:{} ({}) at {}, but the code came to run:{} ({}) at {at}",
                record.verb, record.what, record.at, step.verb, step.what
            )));
        }
        let waiting = Waiting {
            strand,
            verb: step.verb,
            hash: step.hash.clone(),
            what: step.what.clone(),
            at: at.clone(),
            refused: false,
        };
        if recorded.is_none() {
            out(RunInput::Step {
                run: self.id,
                path: path.clone(),
                verb: step.verb,
                hash: step.hash,
                what: step.what,
                at,
                request: Box::new(step.request),
            });
        }
        self.waiting.insert(path, waiting);
        Ok(())
    }

    fn each(
        &mut self,
        world: &World,
        parent: usize,
        path: &str,
        items: Vec<LuaValue>,
        function: &Function,
    ) -> Result<(), RunEnd> {
        let group = self.groups.len();
        let left = items.len();
        let mut members = Vec::with_capacity(left);
        for (n, item) in items.into_iter().enumerate() {
            let thread = match world.lua.create_thread(function.clone()) {
                Ok(thread) => thread,
                Err(error) => return Err(failed(world.failure(&error, None).error.to_string())),
            };
            let scope = format!("{path}[{}].", n + 1);
            members.push(self.strands.len());
            let args = vec![item, LuaValue::Number((n + 1) as f64)];
            let start = Resume::Start(MultiValue::from_vec(args));
            self.runnable.push_back((self.strands.len(), start));
            self.strands.push(Strand::new(thread, scope, Some((group, n))));
        }
        self.groups.push(Group { parent, members, results: vec![LuaValue::NULL; left], left });
        match left {
            0 => self.gathered(world, group),
            _ => Ok(()),
        }
    }

    fn returned(&mut self, world: &World, index: usize, values: MultiValue) -> Result<(), RunEnd> {
        let Some((group, place)) = self.strands[index].part_of else {
            return Err(self.end(world, values));
        };
        let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
        self.strands[index].thread = None;
        let of = &mut self.groups[group];
        if !value.is_nil() {
            of.results[place] = value;
        }
        of.left -= 1;
        match of.left {
            0 => self.gathered(world, group),
            _ => Ok(()),
        }
    }

    fn gathered(&mut self, world: &World, group: usize) -> Result<(), RunEnd> {
        let results = std::mem::take(&mut self.groups[group].results);
        match world.lua.create_sequence_from(results) {
            Ok(table) => {
                let parent = self.groups[group].parent;
                self.runnable.push_back((parent, Resume::Value(LuaValue::Table(table))));
                Ok(())
            }
            Err(error) => Err(failed(world.failure(&error, None).error.to_string())),
        }
    }

    /// Gives up the coroutines of an `each`, with all below them; what they wait for may still come and is ignored.
    fn abandon(&mut self, group: usize) {
        let mut groups = vec![group];
        let mut dead = HashSet::new();
        while let Some(group) = groups.pop() {
            for member in &self.groups[group].members {
                self.strands[*member].thread = None;
                dead.insert(*member);
                groups.extend((0..self.groups.len()).filter(|n| self.groups[*n].parent == *member));
            }
        }
        let gone: Vec<StepPath> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| dead.contains(&waiting.strand))
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            self.waiting.remove(&path);
            self.abandoned.insert(path);
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

    fn path(&mut self, strand: usize, verb: &'static str) -> String {
        let strand = &mut self.strands[strand];
        let count = strand.counts.entry(verb).or_default();
        *count += 1;
        format!("{}{verb}#{count}", strand.scope)
    }
}

impl Strand {
    fn new(thread: Thread, scope: String, part_of: Option<(usize, usize)>) -> Strand {
        Strand { thread: Some(thread), scope, counts: HashMap::new(), part_of, used: Duration::ZERO }
    }
}

/// Returns an error as the text that Lua code sees.
fn native_text(error: &super::error::CharterError) -> String {
    match (&error.file, error.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: {}", error.message),
        _ => error.message.clone(),
    }
}

fn failed(why: String) -> RunEnd {
    RunEnd { outcome: RunOutcome::Failed, why: Some(why), value: Value::Null }
}

fn ended(run: RunId, outcome: RunOutcome, why: Option<String>, value: Value) -> RunInput {
    RunInput::Ended { run, end: RunEnd { outcome, why, value } }
}
