//! Asking the rubrics where a task should go: the first answer wins, a broken rubric is skipped and said so.
//! Whether the place has room and the caller may send there is decided by the fleet, after the rubric has spoken.

use mlua::{Function, Table, Value as LuaValue};

use super::declare::At;
use super::json;
use super::meter::Allowance;
use super::point;
use super::spec::{self, Wrong};
use super::world::World;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::team::{Asked, Routed, Task, TeamLoad};

/// What the rubrics said, and how many of them are broken.
pub(super) struct Answer {
    /// Where the task goes.
    pub routed: Result<Routed, Refusal>,
    /// Rubrics that were skipped because of an error.
    pub broken: u64,
    /// What the first of them said, whole.
    pub fault: Option<String>,
}

/// Asks every rubric in order until one answers.
pub(super) fn ask(world: &World, task: &Task, team: &TeamLoad) -> Answer {
    // Taken out first: a rubric that declares something needs the registry for its error.
    let rubrics: Vec<(String, At, Function)> = {
        let registry = world.registry.borrow();
        registry.rubrics.iter().map(|one| (one.name.clone(), one.at.clone(), one.function.clone())).collect()
    };
    let mut asked = Vec::new();
    let (mut broken, mut fault) = (0, None);
    for (name, at, function) in &rubrics {
        let said = one(world, function, at, task, team);
        let (to, because) = match said {
            Ok(None) => {
                asked.push(Asked { rubric: name.clone(), said: "nothing".to_owned() });
                continue;
            }
            Err(why) => {
                broken += 1;
                fault.get_or_insert_with(|| why.clone());
                // Not its text, which may quote the task; `fleetd charter route` tells it to whoever asks.
                tracing::warn!(target: "charter", rubric = %name, at = place(&why), "rubric skipped");
                asked.push(Asked { rubric: name.clone(), said: why });
                continue;
            }
            Ok(Some(answer)) => answer,
        };
        let because = because.unwrap_or_else(|| name.clone());
        asked.push(Asked { rubric: name.clone(), said: format!("{to}: {because}") });
        return Answer {
            routed: Ok(Routed { to, because, rubric: name.clone(), asked, generation: world.team.generation.number }),
            broken,
            fault,
        };
    }
    let mut refusal = Refusal::new(
        RefusalKind::Unknown,
        match rubrics.is_empty() {
            true => "the charter has no rubrics, so a message needs an address",
            false => "no rubric said where this should go",
        },
    );
    for one in asked {
        let first = one.said.lines().next().unwrap_or_default();
        refusal = refusal.hint(format!("'{}' said {first}", one.rubric));
    }
    if let [first, ..] = world.team.roles.keys().collect::<Vec<_>>()[..] {
        refusal = refusal.hint(format!("name a role, such as '{first}', or add a last rubric that always answers"));
    }
    Answer { routed: Err(refusal), broken, fault }
}

/// Returns the `file:line` at the beginning of an error, if it has one.
fn place(why: &str) -> &str {
    let mut parts = why.splitn(3, ':');
    let (file, line) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_place = file.ends_with(".lua") && !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    if is_place { &why[..file.len() + 1 + line.len()] } else { "" }
}

type Said = Result<Option<(crate::fleet::team::Address, Option<String>)>, String>;

fn one(world: &World, rubric: &Function, at: &At, task: &Task, team: &TeamLoad) -> Said {
    let tables = || -> mlua::Result<(Table, Table)> { Ok((task_table(world, task)?, team_table(world, team)?)) };
    let (task, team) = tables().map_err(|error| world.failure(&error, None).error.to_string())?;
    let values = world
        .call(&world.route, (rubric.clone(), task, team), Allowance::RUBRIC)
        .map_err(|failure| failure.error.to_string())?;
    let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
    if value.is_nil() {
        return Ok(None);
    }
    let wrong = |field: Option<String>, message| world.blame(at, Wrong { field, message }).to_string();
    let value =
        json::to_json(&value, json::STEP_BYTES).map_err(|why| wrong(None, format!("a rubric's answer: {why}")))?;
    let (to, because) = spec::routed(&value).map_err(|of| wrong(of.field, of.message))?;
    if let crate::fleet::team::Address::Role(role) = &to
        && !world.team.roles.contains_key(role)
    {
        let names = world.team.roles.keys().map(|role| role.as_str());
        let message = Refusal::unknown("role", role.as_str(), names).to_string();
        let mut error = world.blame(at, Wrong { field: None, message });
        point::at_text(&mut error, &world.sources, role.as_str());
        return Err(error.to_string());
    }
    Ok(Some((to, because)))
}

fn task_table(world: &World, task: &Task) -> mlua::Result<Table> {
    let table = world.lua.create_table_with_capacity(0, 5)?;
    table.raw_set("prompt", task.prompt.as_str())?;
    if let Some(kind) = &task.kind {
        table.raw_set("kind", kind.as_str())?;
    }
    table.raw_set("from", task.from.as_str())?;
    table.raw_set("urgent", task.urgent)?;
    table.raw_set("now", task.now.0 as f64 / 1000.0)?;
    Ok(table)
}

fn team_table(world: &World, team: &TeamLoad) -> mlua::Result<Table> {
    let roles = world.lua.create_table_with_capacity(0, team.roles.len())?;
    for (name, load) in &team.roles {
        let table = world.lua.create_table_with_capacity(0, 7)?;
        table.raw_set("max_busy", load.max_busy)?;
        table.raw_set("busy", load.busy)?;
        table.raw_set("free", load.free)?;
        table.raw_set("waiting", load.waiting)?;
        table.raw_set("max_waiting", load.max_waiting)?;
        table.raw_set("workers", load.workers)?;
        table.raw_set("recent_failures", load.recent_failures)?;
        roles.raw_set(name.as_str(), table)?;
    }
    let table = world.lua.create_table()?;
    table.raw_set("roles", roles)?;
    Ok(table)
}
