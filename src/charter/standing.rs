//! How a team stands in a test of rubrics: free, but for what the test says of roles, endpoints and workers.
//! Read field by field like any spec, so that a misspelt field is a mistake and no test that proves nothing.

use std::sync::Arc;

use serde_json::Value;

use super::describe::{self, Field};
use super::spec::{Fields, Wrong, plain};
use crate::fleet::load::{RoleLoad, TeamLoad, Used, WorkerLoad};
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Time;

/// Returns a team that stands as a test says.
pub(super) fn with(mut team: TeamLoad, told: &Value) -> Result<TeamLoad, String> {
    if told.is_null() {
        return Ok(team);
    }
    apply(&mut team, told).map_err(|wrong| wrong.message)?;
    Ok(team)
}

fn apply(team: &mut TeamLoad, told: &Value) -> Result<(), Wrong> {
    let fields = Fields::of("the team".to_owned(), told, describe::TEAM)?;
    for (name, told) in entries(&fields, "roles")? {
        let names: Vec<String> = team.roles.keys().map(ToString::to_string).collect();
        let Some(load) = team.roles.get_mut(&name.as_str().into()) else {
            return Err(unknown("role", name, &names));
        };
        role(load, &read("role", name, told, describe::LOAD)?)?;
    }
    for (name, told) in entries(&fields, "endpoints")? {
        let names: Vec<String> = team.endpoints.keys().cloned().collect();
        let Some(load) = team.endpoints.get_mut(name) else { return Err(unknown("endpoint", name, &names)) };
        let told = read("endpoint", name, told, describe::ENDPOINT_LOAD)?;
        number(&told, "busy", &mut load.busy)?;
        number(&told, "recent_failures", &mut load.recent_failures)?;
        load.max_busy = given(&told, "max_busy")?.or(load.max_busy);
        load.free = given(&told, "free")?.or(load.max_busy.map(|most| most.saturating_sub(load.busy)));
        used(&told, &mut load.used)?;
    }
    for (name, told) in entries(&fields, "workers")? {
        let told = read("worker", name, told, describe::WORKER_LOAD)?;
        let of_name = || name.rsplit_once('-').map_or("", |(role, _)| role).to_owned();
        let role = told.text("role")?.unwrap_or_else(of_name);
        if !team.roles.contains_key(&role.as_str().into()) {
            let names: Vec<String> = team.roles.keys().map(ToString::to_string).collect();
            return Err(unknown(&format!("role of worker '{name}'"), &role, &names));
        }
        let mut turns = 0;
        number(&told, "turns", &mut turns)?;
        let worker = WorkerLoad {
            role,
            profile: told.text("profile")?.unwrap_or_default(),
            state: told.text("state")?.unwrap_or_else(|| "ready".to_owned()),
            free: told.flag("free")?.unwrap_or(true),
            turns,
            knows: told.texts("knows")?.unwrap_or_default(),
        };
        Arc::make_mut(&mut team.workers).insert(name.as_str().into(), Arc::new(worker));
    }
    Ok(())
}

fn role(load: &mut RoleLoad, told: &Fields) -> Result<(), Wrong> {
    number(told, "max_busy", &mut load.max_busy)?;
    number(told, "busy", &mut load.busy)?;
    load.open = told.flag("open")?.unwrap_or(load.open);
    let free = if load.open { load.max_busy.saturating_sub(load.busy) } else { 0 };
    load.free = given(told, "free")?.unwrap_or(free);
    load.max_workers = given(told, "max_workers")?.or(load.max_workers);
    number(told, "waiting", &mut load.waiting)?;
    number(told, "max_waiting", &mut load.max_waiting)?;
    number(told, "workers", &mut load.workers)?;
    number(told, "recent_failures", &mut load.recent_failures)?;
    load.until = told.get("until").and_then(Value::as_f64).map(|seconds| Time((seconds * 1000.0) as u64));
    used(told, &mut load.used)
}

fn used(told: &Fields, used: &mut Used) -> Result<(), Wrong> {
    let Some(value) = told.get("used") else { return Ok(()) };
    let told = Fields::of(format!("{}: field 'used'", told.what()), value, describe::USED)?;
    let whole = |name: &str| told.get(name).map_or(Some(0), Value::as_u64);
    for (name, place) in [("turns", &mut used.turns), ("input", &mut used.input), ("output", &mut used.output)] {
        match whole(name) {
            Some(n) => *place = n,
            None => return told.refuse(name, "expected a whole number"),
        }
    }
    used.cost = told.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    Ok(())
}

fn read<'v>(what: &str, name: &str, told: &'v Value, known: &[Field]) -> Result<Fields<'v>, Wrong> {
    Fields::of(format!("{what} '{name}' of the team"), told, known)
}

fn entries<'v>(fields: &Fields<'v>, name: &str) -> Result<Vec<(&'v String, &'v Value)>, Wrong> {
    match fields.get(name) {
        None => Ok(Vec::new()),
        Some(Value::Object(map)) => Ok(map.iter().collect()),
        Some(Value::Array(list)) if list.is_empty() => Ok(Vec::new()),
        Some(other) => fields.wrong(name, "a table by name", other),
    }
}

fn given(told: &Fields, name: &str) -> Result<Option<u32>, Wrong> {
    told.get(name).map(|_| told.count(name, 0, 0)).transpose()
}

fn number(told: &Fields, name: &str, place: &mut u32) -> Result<(), Wrong> {
    *place = given(told, name)?.unwrap_or(*place);
    Ok(())
}

fn unknown(what: &str, name: &str, names: &[String]) -> Wrong {
    plain(Refusal::unknown(what, name, names.iter().map(String::as_str)).to_string())
}
