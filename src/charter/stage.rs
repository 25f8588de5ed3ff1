//! The stage on which a test plays: an engine in miniature with scripted workers and a clock that jumps.
//!
//! Here is what a test sets up and looks at, and the second playing of each run from its journal. How a run is played
//! is in `play`, its turns in `turns`. What hours do is in `hours`. Caps and queues are not played.

mod asking;
mod bounds;
mod hours;
mod play;
mod turns;
pub(super) mod used;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use mlua::Function;
use serde_json::{Value, json};

use super::error::CharterError;
use super::meter::{Allowance, is_limit};
use super::runs::Runs;
use super::schema::check_job;
use super::testing::in_time;
use super::world::World;
use crate::fleet::caller::Sender;
use crate::fleet::ids::{RecipeName, RunId, StepPath};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, Step};
use crate::fleet::time::Time;
use play::Play;

/// When a stage opens: 2023-11-14T22:13:20Z.
const OPENS: Time = Time(1_700_000_000_000);
/// How many lines a transcript has at most.
pub(super) const MOST_LINES: usize = 1_000;

/// Everything that one test has set up and done.
pub(super) struct Stage<'w> {
    world: &'w World,
    until: Option<Instant>,
    workers: Vec<(String, Function)>,
    answers: Option<Function>,
    commands: Option<Function>,
    sent: Vec<Value>,
    notes: BTreeMap<String, Value>,
    transcript: Vec<String>,
    now: Time,
    /// Whether the test said what time it is, so that hours hold.
    timed: bool,
    turns: u64,
    questions: u64,
    runs: u64,
    drawn: u64,
}

/// One run on the stage: what it was begun with, and what it came to.
struct Played {
    run: Run,
    job: Value,
    /// How its code ended, if it did.
    end: Option<RunEnd>,
    journal: Vec<FinishedStep>,
    reached: HashSet<StepPath>,
}

impl<'w> Stage<'w> {
    /// Returns an empty stage; what plays on it is stopped at a moment if one is given.
    pub(super) fn new(world: &'w World, until: Option<Instant>) -> Stage<'w> {
        *world.printed.borrow_mut() = Some(Vec::new());
        Stage {
            world,
            until,
            workers: Vec::new(),
            answers: None,
            commands: None,
            sent: Vec::new(),
            notes: BTreeMap::new(),
            transcript: Vec::new(),
            now: OPENS,
            timed: false,
            turns: 0,
            questions: 0,
            runs: 0,
            drawn: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Scripts the workers of a role, or one worker.
    pub(super) fn script(&mut self, name: String, function: Function) {
        self.workers.retain(|(other, _)| *other != name);
        self.workers.push((name, function));
    }

    /// Scripts the answers to questions.
    pub(super) fn answer_with(&mut self, function: Function) {
        self.answers = Some(function);
    }

    /// Scripts the commands of runs.
    pub(super) fn command_with(&mut self, function: Function) {
        self.commands = Some(function);
    }

    /// Returns what was sent so far.
    pub(super) fn sent(&self) -> &[Value] {
        &self.sent
    }

    /// Returns when the play must be over, by the real clock.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the virtual time.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Returns what happened, line by line.
    pub(super) fn into_transcript(mut self) -> Vec<String> {
        self.hears_prints();
        self.transcript
    }

    /// Runs a recipe to its end and replays it; the inner error is the test's own mistake.
    pub(super) fn run(&mut self, recipe: &str, job: Value) -> Result<Result<RunEnd, Refusal>, CharterError> {
        let recipe = RecipeName::from(recipe);
        let Some(spec) = self.world.team.recipes.get(&recipe) else {
            let names = self.world.team.recipes.keys().map(|name| name.as_str());
            return Ok(Err(Refusal::unknown("recipe", recipe.as_str(), names)));
        };
        // An empty Lua table is a list; as a job it is an object without fields.
        let job = match job {
            Value::Array(list) if list.is_empty() => json!({}),
            Value::Null => json!({}),
            job => job,
        };
        if let Err(refusal) = check_job(spec, &job) {
            return Ok(Err(refusal));
        }
        self.runs += 1;
        let (id, generation) = (RunId(self.runs), self.world.team.generation.clone());
        let run = Run {
            deadline: spec.deadline.map(|span| self.now + span),
            budget: spec.budget,
            ..Run::begun(id, recipe, Sender::Operator, generation, self.now)
        };
        let (end, over) = Play::new(self).play(run, job)?;
        for played in over {
            // How far a run comes before a limit stops it depends on the machine.
            if let Some(first) = played.end.as_ref().filter(|end| !end.why.as_deref().is_some_and(is_limit)) {
                self.replay(&played, first)?;
            }
        }
        Ok(Ok(end))
    }

    /// Goes through the run once more in a fresh VM, with nothing but its journal.
    fn replay(&mut self, first: &Played, first_end: &RunEnd) -> Result<(), CharterError> {
        let (run, job) = (&first.run, &first.job);
        let sources = Arc::clone(&self.world.sources);
        let fresh = World::load(sources, run.generation.clone(), Arc::default())
            .map_err(|errors| CharterError::plain(format!("the charter loaded once and not again: {errors}")))?;
        let mut runs = Runs::default();
        let mut inputs = Vec::new();
        runs.start(&fresh, run, job, first.journal.clone(), &mut |input| inputs.push(input));
        while runs.slice(&fresh, &mut || 0, &mut |input| inputs.push(input)) {
            in_time(self.until)?;
        }
        let mut end = None;
        for input in inputs {
            match input {
                RunInput::Ended { end: ended, .. } => end = Some(ended),
                RunInput::Step { path, .. } if first.reached.contains(&path) => {}
                RunInput::Step { path, at, .. } => {
                    return Err(CharterError::plain(format!(
                        "a replay of {} came to {path} at {at}, the run itself did not",
                        run.id
                    )));
                }
            }
        }
        match end {
            Some(end) if end == *first_end => Ok(()),
            other => Err(CharterError::plain(format!(
                "a replay of {} ended as {}, the run itself as {}: something in it is not repeatable",
                run.id,
                other.as_ref().map_or("nothing".to_owned(), ending),
                ending(first_end)
            ))),
        }
    }

    /// Calls a scripted function that may not wait.
    fn call(&self, function: &Function, argument: impl mlua::IntoLua) -> Result<(String, String), CharterError> {
        let args = (function.clone(), argument);
        let values = self.world.call(&self.world.scripted, args, Allowance::RUBRIC).map_err(|failure| failure.error)?;
        self.world.lua.unpack_multi(values).map_err(|error| self.world.failure(&error, None).error)
    }

    /// Returns an error at the line of a step.
    fn at(&self, step: &Step, why: String) -> CharterError {
        CharterError::read(&self.world.sources, &format!("{}: {why}", step.at))
    }

    /// Adds a line to the transcript.
    pub(super) fn say(&mut self, line: String) {
        self.hears_prints();
        self.tell(line);
    }

    /// Adds what was printed up to now.
    fn hears_prints(&mut self) {
        let printed = self.world.printed.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default();
        for line in printed {
            self.tell(format!("print {line}"));
        }
    }

    /// Lets virtual time go on.
    fn goes_on_at(&mut self, at: Time) {
        self.hears_prints();
        self.now = self.now.max(at);
    }

    fn tell(&mut self, line: String) {
        if self.transcript.len() < MOST_LINES {
            let seconds = self.now.since(OPENS);
            self.transcript.push(format!("{seconds} {line}"));
        }
    }
}

fn ending(end: &RunEnd) -> String {
    let value = end.value.to_string();
    let shown: String = value.chars().take(200).collect();
    let value = if shown.len() < value.len() { format!("{shown}…") } else { shown };
    match &end.why {
        Some(why) => format!("{} ({why}) with {value}", end.outcome.word()),
        None => format!("{} with {value}", end.outcome.word()),
    }
}
