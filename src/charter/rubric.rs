//! Asking the rubrics where a task should go: the first answer wins, a broken rubric is skipped and said so.
//! Whether the place has room and the caller may send there is decided by the fleet, after the rubric has spoken.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{MultiValue, Table, Value as LuaValue};

use super::declare::Named;
use super::error::CharterError;
use super::json;
use super::meter::Allowance;
use super::point;
use super::shown::list;
use super::spec::{self, Wrong};
use super::world::{Failure, World};
use crate::fleet::load::TeamLoad;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::routing::{Asked, Routed, Task, Verdict, cut};
use crate::fleet::team::Address;

/// What the rubrics said.
pub(super) struct Answer {
    /// Where the task goes.
    pub routed: Result<Routed, Refusal>,
    /// What each that was asked came to, in order.
    pub asked: Vec<Asked>,
    /// The generation that was asked.
    pub generation: u64,
    /// How long they took all together, with what they are shown.
    pub took: Duration,
}

impl Answer {
    /// Returns what a rubric said that was skipped for a mistake: `file:line: message`, and its line.
    pub(super) fn broken(&self) -> Option<&str> {
        self.asked.iter().find(|one| one.verdict.is_fault()).map(|one| one.said.as_str())
    }
}

/// Asks every rubric in order until one answers.
pub(super) fn ask(world: &World, task: &Task, team: &TeamLoad) -> Answer {
    let began = Instant::now();
    // Held here: a rubric that declares something needs the registry for its error.
    let rubrics = Rc::clone(&world.registry.borrow().rubrics);
    let generation = world.team.generation.number;
    let mut asked = Vec::new();
    let mut told = Told { task, team, task_table: None, team_table: None };
    for rubric in rubrics.iter() {
        let at = rubric.at.to_string();
        let said = one(world, rubric, &mut told);
        let (verdict, said, answer) = match said {
            Ok(None) => (Verdict::Nothing, "nothing".to_owned(), None),
            Ok(Some((to, because))) => {
                let mut because = because.unwrap_or_else(|| rubric.name.clone());
                // It goes along with its turn wherever that is shown, and may quote a whole prompt.
                cut(&mut because);
                (Verdict::Decided, format!("{to}: {because}"), Some((to, because)))
            }
            Err(fault) => {
                let line = place_of(&fault.why);
                // Not its text, which may quote the task; `fleetd charter route` tells it to whoever asks.
                tracing::warn!(target: "charter", rubric = %rubric.name, at = line.unwrap_or(&at), "rubric skipped");
                let verdict = if fault.stopped { Verdict::Stopped } else { Verdict::Failed };
                let why = if line.is_some() { fault.why } else { format!("{at}: {}", fault.why) };
                (verdict, why, None)
            }
        };
        asked.push(Asked { rubric: rubric.name.clone(), at, verdict, said });
        if let Some((to, because)) = answer {
            let role = match &to {
                Address::Worker(worker) => team.workers.get(worker).map(|worker| worker.role.as_str().into()),
                Address::Role(_) => None,
            };
            let routed = Routed { to, because, rubric: rubric.name.clone(), role, asked: asked.clone(), generation };
            return Answer { routed: Ok(routed), asked, generation, took: began.elapsed() };
        }
    }
    let mut refusal = Refusal::new(
        RefusalKind::Unknown,
        match rubrics.is_empty() {
            true => "the charter has no rubrics, so a message needs an address",
            false => "no rubric said where this should go",
        },
    );
    for one in &asked {
        let first = one.said.lines().next().unwrap_or_default();
        refusal = refusal.hint(format!("'{}' said {first}", one.rubric));
    }
    if let [first, ..] = world.team.roles.keys().collect::<Vec<_>>()[..] {
        refusal = refusal.hint(format!("name a role, such as '{first}', or add a last rubric that always answers"));
    }
    Answer { routed: Err(refusal), asked, generation, took: began.elapsed() }
}

/// Returns the `file:line` at the beginning of an error, if it has one.
pub(super) fn place_of(why: &str) -> Option<&str> {
    let mut parts = why.splitn(3, ':');
    let (file, line) = (parts.next()?, parts.next()?);
    let is_place = file.ends_with(".lua") && !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    is_place.then(|| &why[..file.len() + 1 + line.len()])
}

/// Why a rubric was skipped.
struct Fault {
    why: String,
    /// Whether it passed a limit.
    stopped: bool,
}

impl From<CharterError> for Fault {
    fn from(error: CharterError) -> Fault {
        Fault { why: error.to_string(), stopped: false }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        Fault { why: failure.error.to_string(), stopped: failure.fatal }
    }
}

/// What the rubrics of one task are told: its tables are made for the first one and frozen, so they are the same for all.
struct Told<'a> {
    task: &'a Task,
    team: &'a TeamLoad,
    task_table: Option<Table>,
    team_table: Option<Table>,
}

impl Told<'_> {
    /// Calls a rubric; returns its answer and, where that is as nearly all are, its fields.
    fn to(&mut self, world: &World, rubric: &Named) -> Result<MultiValue, Failure> {
        let failed = |error| world.failure(&error, None);
        let team = match &self.team_table {
            Some(team) => team,
            None => {
                let team = world.shown.borrow_mut().team(&world.lua, self.team).map_err(failed)?;
                self.team_table.insert(team)
            }
        };
        let (route, function) = (&world.route, &rubric.function);
        let mut values = match &self.task_table {
            Some(task) => world.call(route, (function, team, task), Allowance::RUBRIC)?,
            None => {
                let Task { prompt, kind, files, from, urgent, now } = self.task;
                let files = (!files.is_empty()).then(|| list(&world.lua, files)).transpose().map_err(failed)?;
                let fields = (prompt.as_str(), kind.as_deref(), from.as_str(), *urgent, now.0 as f64 / 1000.0);
                world.call(route, (function, team, LuaValue::Nil, files, fields), Allowance::RUBRIC)?
            }
        };
        if let Some(LuaValue::Table(task)) = values.pop_front() {
            self.task_table = Some(task);
        }
        Ok(values)
    }
}

/// Returns an answer whose fields were told.
fn at_once(fields: &MultiValue) -> Option<(Address, Option<String>)> {
    let text = |value: &LuaValue| value.as_string()?.to_str().ok().map(|text| text.to_owned());
    let (role, worker, because) = (fields.get(1)?, fields.get(2)?, fields.get(3)?);
    let to = match worker.is_nil() {
        true => Address::Role(text(role)?.into()),
        false => Address::Worker(text(worker)?.into()),
    };
    let because = if because.is_nil() { None } else { Some(text(because)?) };
    Some((to, because))
}

fn one(world: &World, rubric: &Named, told: &mut Told<'_>) -> Result<Option<(Address, Option<String>)>, Fault> {
    let wrong = |field: Option<String>, message| world.blame(&rubric.at, Wrong { field, message });
    let values = told.to(world, rubric)?;
    let answer = values.front().unwrap_or(&LuaValue::Nil);
    if answer.is_nil() {
        return Ok(None);
    }
    let (to, because) = match at_once(&values) {
        Some(read) => read,
        None => {
            let answer = json::to_json(answer, json::STEP_BYTES)
                .map_err(|why| wrong(None, format!("a rubric's answer: {why}")))?;
            spec::routed(&answer).map_err(|of| wrong(of.field, of.message))?
        }
    };
    let team = told.team;
    let unknown = match &to {
        Address::Role(role) if !world.team.roles.contains_key(role) => {
            Some(Refusal::unknown("role", role.as_str(), world.team.roles.keys().map(|role| role.as_str())))
        }
        Address::Worker(worker) if !team.workers.contains_key(worker) => {
            Some(Refusal::unknown("worker", worker.as_str(), team.workers.keys().map(|worker| worker.as_str())))
        }
        _ => None,
    };
    match unknown {
        Some(refusal) => {
            let mut error = wrong(None, refusal.to_string());
            point::at_text(&mut error, &world.sources, &to.to_string());
            Err(error.into())
        }
        None => Ok(Some((to, because))),
    }
}

#[cfg(test)]
mod tests;
