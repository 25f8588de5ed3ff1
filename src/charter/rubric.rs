//! Asking the rubrics where a task should go: the first answer wins, a broken rubric is skipped and said so.
//! Whether the place has room and the caller may send there is decided by the fleet, after the rubric has spoken.

use std::time::{Duration, Instant};

use mlua::{Function, Table, Value as LuaValue};

use super::declare::At;
use super::error::CharterError;
use super::json;
use super::meter::Allowance;
use super::point;
use super::shown::list;
use super::spec::{self, Wrong};
use super::world::{Failure, World};
use crate::fleet::load::TeamLoad;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::routing::{Asked, Routed, Task, Verdict};
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
    // Taken out first: a rubric that declares something needs the registry for its error.
    let rubrics: Vec<(String, At, Function)> = {
        let registry = world.registry.borrow();
        registry.rubrics.iter().map(|one| (one.name.clone(), one.at.clone(), one.function.clone())).collect()
    };
    let generation = world.team.generation.number;
    let mut asked = Vec::new();
    // Made once: they are frozen by the first rubric that gets them.
    let mut tables = None;
    for (rubric, place, function) in &rubrics {
        let at = place.to_string();
        let said =
            tables_of(world, task, team, &mut tables).and_then(|tables| one(world, function, place, tables, team));
        let (verdict, said, answer) = match said {
            Ok(None) => (Verdict::Nothing, "nothing".to_owned(), None),
            Ok(Some((to, because))) => {
                let because = because.unwrap_or_else(|| rubric.clone());
                (Verdict::Decided, format!("{to}: {because}"), Some((to, because)))
            }
            Err(fault) => {
                let line = place_of(&fault.why);
                // Not its text, which may quote the task; `fleetd charter route` tells it to whoever asks.
                tracing::warn!(target: "charter", rubric = %rubric, at = line.unwrap_or(&at), "rubric skipped");
                let verdict = if fault.stopped { Verdict::Stopped } else { Verdict::Failed };
                let why = if line.is_some() { fault.why } else { format!("{at}: {}", fault.why) };
                (verdict, why, None)
            }
        };
        asked.push(Asked { rubric: rubric.clone(), at, verdict, said });
        if let Some((to, because)) = answer {
            let role = match &to {
                Address::Worker(worker) => team.workers.get(worker).map(|worker| worker.role.as_str().into()),
                Address::Role(_) => None,
            };
            let routed = Routed { to, because, rubric: rubric.clone(), role, asked: asked.clone(), generation };
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

fn one(
    world: &World,
    rubric: &Function,
    at: &At,
    tables: (Table, Table),
    team: &TeamLoad,
) -> Result<Option<(Address, Option<String>)>, Fault> {
    let values = world.call(&world.route, (rubric.clone(), tables.0, tables.1), Allowance::RUBRIC)?;
    let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
    if value.is_nil() {
        return Ok(None);
    }
    let wrong = |field: Option<String>, message| world.blame(at, Wrong { field, message });
    let value =
        json::to_json(&value, json::STEP_BYTES).map_err(|why| wrong(None, format!("a rubric's answer: {why}")))?;
    let (to, because) = spec::routed(&value).map_err(|of| wrong(of.field, of.message))?;
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

fn tables_of(
    world: &World,
    task: &Task,
    team: &TeamLoad,
    made: &mut Option<(Table, Table)>,
) -> Result<(Table, Table), Fault> {
    if let Some(tables) = made {
        return Ok(tables.clone());
    }
    let make = || -> mlua::Result<(Table, Table)> {
        Ok((task_table(world, task)?, world.shown.borrow_mut().team(&world.lua, team)?))
    };
    let tables = make().map_err(|error| Fault::from(world.failure(&error, None)))?;
    *made = Some(tables.clone());
    Ok(tables)
}

fn task_table(world: &World, task: &Task) -> mlua::Result<Table> {
    let table = world.lua.create_table_with_capacity(0, 6)?;
    table.raw_set("prompt", task.prompt.as_str())?;
    if let Some(kind) = &task.kind {
        table.raw_set("kind", kind.as_str())?;
    }
    table.raw_set("files", list(&world.lua, &task.files)?)?;
    table.raw_set("from", task.from.as_str())?;
    table.raw_set("urgent", task.urgent)?;
    table.raw_set("now", task.now.0 as f64 / 1000.0)?;
    Ok(table)
}

#[cfg(test)]
mod tests;
