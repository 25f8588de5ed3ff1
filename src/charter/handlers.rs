//! Handlers of events: called in order, each may give back one action of a fixed list.
//! Whether the action is carried out is for the fleet to decide; a handler that fails stops neither the others nor it.

use mlua::{Function, Value as LuaValue};
use serde_json::Value;

use super::json;
use super::meter::Allowance;
use super::spec::kind;
use super::world::World;
use crate::fleet::acts::Action;

/// What a handler may want done.
pub(super) const ACTIONS: &[&str] = &["tell_leader", "stop_worker", "park_role", "retry_turn"];

/// What one handler said to an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Handled {
    /// Where the handler is declared, `hooks.lua:3`.
    pub at: String,
    /// Nothing, one action with its fields, or the handler's error.
    pub said: Result<Option<Value>, String>,
}

impl Handled {
    /// Returns the action that the handler wants, if any; the error says which field of it is wrong.
    pub fn action(&self) -> Result<Option<Action>, String> {
        match &self.said {
            Ok(Some(value)) => serde_json::from_value(value.clone()).map(Some).map_err(|error| error.to_string()),
            Ok(None) => Ok(None),
            Err(error) => Err(error.clone()),
        }
    }
}

/// Calls every handler of an event.
pub(super) fn call(world: &World, event: &str, payload: &Value) -> Vec<Handled> {
    // Taken out first: a handler that declares something needs the registry for its error.
    let handlers: Vec<(String, Function)> = world
        .registry
        .borrow()
        .handlers
        .iter()
        .filter(|one| one.name == event)
        .map(|one| (one.at.to_string(), one.function.clone()))
        .collect();
    handlers.into_iter().map(|(at, function)| Handled { said: one(world, &function, event, payload), at }).collect()
}

fn one(world: &World, function: &Function, event: &str, payload: &Value) -> Result<Option<Value>, String> {
    let lua_error = |error: mlua::Error| world.failure(&error, None).error.to_string();
    let payload = json::from_json(&world.lua, payload).map_err(lua_error)?;
    let args = (function.clone(), event, payload);
    let values = world.call(&world.handle, args, Allowance::RUBRIC).map_err(|failure| failure.error.to_string())?;
    let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
    if value.is_nil() {
        return Ok(None);
    }
    let value = json::to_json(&value, json::STEP_BYTES)?;
    match value.get("action").and_then(Value::as_str) {
        Some(action) if ACTIONS.contains(&action) => Ok(Some(value)),
        Some(action) => Err(format!("there is no action '{action}'; valid: {}", ACTIONS.join(", "))),
        None => Err(format!(
            "a handler gives back nothing or {{ action = … }} with one of {}, got {}",
            ACTIONS.join(", "),
            kind(&value)
        )),
    }
}
