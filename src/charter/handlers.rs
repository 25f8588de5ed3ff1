//! Handlers of events: called in order, each may give back one action of a fixed list.
//! Whether the action is carried out is for the fleet to decide; a handler that fails stops neither the others nor it.

use mlua::{Function, Value as LuaValue};
use serde_json::Value;

use super::declare::At;
use super::describe::{self, Field};
use super::error::CharterError;
use super::json;
use super::meter::Allowance;
use super::point;
use super::spec::{Fields, Wrong, plain};
use super::world::World;
use crate::fleet::acts::Action;
use crate::fleet::refusal::Refusal;

/// What a handler may want done, each with the fields that it takes.
pub(super) const ACTIONS: &[(&str, &[&str])] = &[
    ("tell_leader", &["text"]),
    ("stop_worker", &["worker", "now"]),
    ("park_role", &["role", "for"]),
    ("retry_turn", &["turn"]),
];

/// What one handler said to an event.
#[derive(Clone, Debug)]
pub struct Handled {
    /// Where the handler is declared, `hooks.lua:3`.
    pub at: String,
    /// Nothing, one action as the handler wrote it and as it was read, or the mistake in the handler.
    pub said: Result<Option<(Value, Action)>, CharterError>,
}

/// Calls every handler of an event.
pub(super) fn call(world: &World, event: &str, payload: &Value) -> Vec<Handled> {
    // Taken out first: a handler that declares something needs the registry for its error.
    let handlers: Vec<(At, Function)> = world
        .registry
        .borrow()
        .handlers
        .iter()
        .filter(|one| one.name == event)
        .map(|one| (one.at.clone(), one.function.clone()))
        .collect();
    let handled = |(at, function): (At, Function)| Handled {
        said: one(world, &at, &function, event, payload),
        at: at.to_string(),
    };
    handlers.into_iter().map(handled).collect()
}

fn one(
    world: &World,
    at: &At,
    function: &Function,
    event: &str,
    payload: &Value,
) -> Result<Option<(Value, Action)>, CharterError> {
    let payload = json::from_json(&world.lua, payload).map_err(|error| world.failure(&error, None).error)?;
    let args = (function.clone(), event, payload);
    let values = world.call(&world.handle, args, Allowance::RUBRIC).map_err(|failure| failure.error)?;
    let value = values.into_iter().next().unwrap_or(LuaValue::Nil);
    if value.is_nil() {
        return Ok(None);
    }
    let value = json::to_json(&value, json::STEP_BYTES)
        .map_err(|why| world.blame(at, plain(format!("a handler's answer: {why}"))))?;
    match action(world, &value) {
        Ok(action) => Ok(Some((value, action))),
        Err(Mistake { wrong, word }) => {
            let mut error = world.blame(at, wrong);
            if let Some(word) = word {
                point::at_text(&mut error, &world.sources, &word);
            }
            Err(error)
        }
    }
}

/// What is wrong with an answer, and the word in it that is to blame.
struct Mistake {
    wrong: Wrong,
    word: Option<String>,
}

impl From<Wrong> for Mistake {
    fn from(wrong: Wrong) -> Mistake {
        Mistake { wrong, word: None }
    }
}

fn unknown<'a>(what: &str, word: &str, valid: impl Iterator<Item = &'a str>) -> Mistake {
    let wrong = plain(format!("a handler's answer: {}", Refusal::unknown(what, word, valid)));
    Mistake { wrong, word: Some(word.to_owned()) }
}

/// Reads the action that a handler gave back.
fn action(world: &World, value: &Value) -> Result<Action, Mistake> {
    let known: Vec<Field> =
        describe::ACTION.iter().map(|field| Field { name: written(field.name), ..*field }).collect();
    let fields = Fields::of("a handler's answer".to_owned(), value, &known)?;
    let words = || ACTIONS.iter().map(|(word, _)| *word);
    let wanted = format!("one of {}", words().collect::<Vec<_>>().join(", "));
    let word = fields.need("action", fields.text("action")?, &wanted)?;
    let Some((_, takes)) = ACTIONS.iter().find(|(one, _)| *one == word) else {
        return Err(unknown("action", &word, words()));
    };
    let other = known
        .iter()
        .find(|field| field.name != "action" && fields.get(field.name).is_some() && !takes.contains(&field.name));
    if let Some(other) = other {
        return Ok(fields.refuse(other.name, format!("'{word}' takes {}", takes.join(" and ")))?);
    }
    let text = |name: &str, about: &str| fields.need(name, fields.text(name)?, about);
    match word.as_str() {
        "tell_leader" => Ok(Action::TellLeader { text: text("text", "the notice")? }),
        "stop_worker" => {
            let now = fields.flag("now")?.unwrap_or_default();
            Ok(Action::StopWorker { worker: text("worker", "which one")?.into(), now })
        }
        "park_role" => {
            let role = text("role", "which one")?;
            let roles = &world.team.roles;
            if !roles.contains_key(&role.as_str().into()) {
                return Err(unknown("role", &role, roles.keys().map(|role| role.as_str())));
            }
            let r#for = fields.need("for", fields.span("for")?, "how long, such as \"5m\"")?;
            Ok(Action::ParkRole { role: role.into(), r#for })
        }
        _ => {
            let turn = text("turn", "which one")?;
            match serde_json::from_value(Value::from(turn.as_str())) {
                Ok(turn) => Ok(Action::RetryTurn { turn }),
                Err(_) => Ok(fields.refuse("turn", format!("'{turn}' is no turn's id"))?),
            }
        }
    }
}

/// Returns the name of a field without the signs around one that is a word of Lua.
fn written(name: &'static str) -> &'static str {
    name.trim_start_matches("[\"").trim_end_matches("\"]")
}
