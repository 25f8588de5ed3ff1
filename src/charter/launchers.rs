//! Launchers: how each profile's launcher is asked for the plan of its workers, once, when a charter is loaded.
//!
//! What only a start knows stands in a plan as a marker. So no Lua is needed to start a worker or to adopt one, and a
//! mistake in a launcher is seen by `fleetd charter check`. What a plan comes to is the launch room's matter.

use std::collections::BTreeMap;

use mlua::{Function, Value as LuaValue};
use serde_json::{Map, Value, json};

use super::declare::At;
use super::describe;
use super::error::CharterError;
use super::json;
use super::meter::Allowance;
use super::plan;
use super::shipped;
use super::spec::{Declared, Fields, Wrong, plain};
use super::world::World;
use crate::fleet::plan::Plan;
use crate::fleet::refusal::nearest;

/// The fields of a profile that a launcher may leave out.
const FIELDS: &[&str] = &["command", "typing", "model", "endpoint"];

/// A launcher as it was declared.
pub(super) struct Launcher {
    /// Its name.
    pub name: String,
    /// What it starts, for people.
    pub about: Option<String>,
    /// Fields that a profile must have, and what for.
    pub needs: BTreeMap<String, String>,
    /// Fields that it may have.
    pub takes: Vec<String>,
    /// Its own options, and what they do.
    pub options: BTreeMap<String, String>,
    /// Where it stands.
    pub at: At,
    /// True if it is one of fleetd's own.
    pub shipped: bool,
    /// The code.
    pub function: Function,
}

/// Reads the spec of a launcher.
pub(super) fn read(name: &str, spec: &Value, function: Function, at: At, shipped: bool) -> Result<Launcher, Wrong> {
    let spec = if spec.is_null() { &json!({}) } else { spec };
    let fields = Fields::of(format!("launcher '{name}'"), spec, describe::LAUNCHER)?;
    let (needs, takes) = (fields.map("needs")?, fields.texts("takes")?.unwrap_or_default());
    for (list, field) in needs.keys().map(|field| ("needs", field)).chain(takes.iter().map(|field| ("takes", field))) {
        if !FIELDS.contains(&field.as_str()) {
            return fields.refuse(list, no_such("field", field, FIELDS.iter().copied()));
        }
    }
    let (about, options) = (fields.text("about")?, fields.map("options")?);
    Ok(Launcher { name: name.to_owned(), about, needs, takes, options, at, shipped, function })
}

/// Asks the launcher of every profile for its plan; each mistake is told.
pub(super) fn plan_all(world: &World) -> Vec<CharterError> {
    let mut errors = Vec::new();
    let profiles: Vec<(Declared, At)> = world.registry.borrow().profiles.clone();
    for (n, (declared, at)) in profiles.iter().enumerate() {
        match plan_of(world, declared, at) {
            Ok(plan) => world.registry.borrow_mut().profiles[n].0.profile.plan = Some(plan.into()),
            Err(error) => errors.push(error),
        }
    }
    errors
}

fn plan_of(world: &World, declared: &Declared, at: &At) -> Result<Plan, CharterError> {
    let profile = &declared.profile;
    let of_profile = |wrong: Wrong| world.blame(at, wrong);
    let what = format!("profile '{}'", profile.name);
    // Taken out first: a launcher that declares something needs the registry for its error.
    let (function, place) = {
        let registry = world.registry.borrow();
        let found = registry.launchers.iter().find(|launcher| launcher.name == profile.launcher);
        let Some(launcher) = found else {
            let mut names: Vec<&str> = registry.launchers.iter().map(|launcher| launcher.name.as_str()).collect();
            names.sort_unstable();
            let names = names.into_iter();
            let message = format!("{what}: field 'launcher': {}", no_such("launcher", &profile.launcher, names));
            return Err(of_profile(Wrong { field: Some("launcher".into()), message }));
        };
        suits(launcher, declared, &what).map_err(of_profile)?;
        (launcher.function.clone(), launcher.at.clone())
    };
    let lua_error = |error: mlua::Error| world.failure(&error, None).error;
    let given = json::from_json(&world.lua, &spec_of(declared)).map_err(lua_error)?;
    let given: LuaValue = world.freeze.call(given).map_err(lua_error)?;
    let label = format!("launcher '{}': the plan for {what}", profile.launcher);
    let values = world.call(&function, given, Allowance::RUBRIC).map_err(|failure| {
        let CharterError { file, line, message, .. } = &failure.error;
        match (file, line) {
            // A mistake that only fleetd's own launcher could make clear is shown where the profile stands.
            (Some(file), _) if file.starts_with(shipped::PREFIX) => of_profile(plain(format!("{label}: {message}"))),
            (Some(_), Some(_)) => CharterError { message: format!("{label}: {message}"), ..failure.error },
            _ => of_profile(plain(format!("{label}: {message}"))),
        }
    })?;
    let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
    let of_launcher = |wrong: Wrong| world.blame(&place, wrong);
    let value = json::to_json(&value, json::STEP_BYTES).map_err(|why| of_launcher(plain(why)))?;
    let mut plan = plan::read(label, &value).map_err(of_launcher)?;
    plan.endpoint.clone_from(&profile.endpoint);
    let of_sessions = [
        ("context_cap", profile.context_cap.is_some()),
        ("restarts", profile.restarts.is_some()),
        ("worktree", profile.worktree.is_some()),
    ];
    if let Some((field, _)) = of_sessions.into_iter().find(|(_, given)| *given && !plan.has_session()) {
        let message = format!(
            "{what}: field '{field}': a worker of the launcher '{}' is a new process for each turn",
            profile.launcher
        );
        return Err(of_profile(Wrong { field: Some(field.into()), message }));
    }
    let is_attached = plan.api.as_ref().is_some_and(|api| api.attach);
    if let Some(field) = ["worktree", "cwd", "env"]
        .into_iter()
        .find(|field| is_attached && declared.given.iter().any(|given| given == field))
    {
        let message = format!(
            "{what}: field '{field}': the program of a worker of the launcher '{}' is started by somebody else, who decides that",
            profile.launcher
        );
        return Err(of_profile(Wrong { field: Some(field.into()), message }));
    }
    if is_attached && profile.endpoint.is_none() {
        let message = format!("{what}: field 'endpoint' is missing: where the program is that it attaches to");
        return Err(of_profile(plain(message)));
    }
    Ok(plan)
}

fn no_such<'a>(what: &str, name: &str, valid: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest(name, valid.clone()).map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
    format!("there is no {what} '{name}'; {near}valid: {}", valid.collect::<Vec<_>>().join(", "))
}

/// Sees whether a profile has what its launcher needs, and nothing that it would not look at.
fn suits(launcher: &Launcher, declared: &Declared, what: &str) -> Result<(), Wrong> {
    for (field, why) in &launcher.needs {
        if !declared.given.contains(field) {
            return Err(plain(format!("{what}: field '{field}' is missing: {why}")));
        }
    }
    for field in &declared.given {
        let is_free = !FIELDS.contains(&field.as_str());
        if is_free || launcher.needs.contains_key(field) || launcher.takes.contains(field) {
            continue;
        }
        let takes: Vec<&str> = launcher.needs.keys().chain(&launcher.takes).map(String::as_str).collect();
        let takes = if takes.is_empty() { "none of these fields".to_owned() } else { takes.join(", ") };
        let message =
            format!("{what}: field '{field}': the launcher '{}' has no use for it; it takes {takes}", launcher.name);
        return Err(Wrong { field: Some(field.clone()), message });
    }
    let valid = launcher.options.keys().map(String::as_str);
    match declared.options.keys().find(|name| !launcher.options.contains_key(*name)) {
        Some(name) if launcher.options.is_empty() => Err(Wrong {
            field: Some(name.clone()),
            message: format!("{what}: field 'options': the launcher '{}' has none", launcher.name),
        }),
        Some(name) => Err(Wrong {
            field: Some(name.clone()),
            message: format!("{what}: field 'options': {}", no_such("option", name, valid)),
        }),
        None => Ok(()),
    }
}

/// Returns what a launcher is given of a profile.
fn spec_of(declared: &Declared) -> Value {
    let profile = &declared.profile;
    let mut spec: Map<String, Value> =
        ["name", "role", "cwd", "home", "user_home", "id", "url", "fleetd", "identity", "text", "turn"]
            .into_iter()
            .chain(["port", "password", "conversation"])
            .map(|name| (name.to_owned(), marker(name).into()))
            .collect();
    spec.insert("profile".into(), profile.name.as_str().into());
    spec.insert("options".into(), Value::Object(declared.options.clone()));
    if !profile.command.is_empty() {
        spec.insert("command".into(), profile.command.clone().into());
    }
    if !profile.env.is_empty() {
        spec.insert("env".into(), json!(profile.env));
    }
    if let Some(model) = &profile.model {
        spec.insert("model".into(), model.as_str().into());
    }
    if let Some(endpoint) = &profile.endpoint {
        let endpoint = json!({"name": endpoint, "url": marker("endpoint.url"), "key": marker("endpoint.key")});
        spec.insert("endpoint".into(), endpoint);
    }
    if let Some(typing) = &profile.typing {
        spec.insert("typing".into(), serde_json::to_value(typing).unwrap_or_default());
    }
    Value::Object(spec)
}

fn marker(name: &str) -> String {
    format!("{}{name}}}", crate::fleet::plan::MARKER)
}

#[cfg(test)]
mod tests;
