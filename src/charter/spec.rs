//! Specs as authors write them, read field by field: what is unknown, missing or of the wrong kind is said by name.
//! Which fields there are is said in `describe`; whether the names in them exist is seen by `check`, at the end.

mod hours;
mod profile;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::describe::{self, Field};
use super::schema;
use crate::fleet::bounds::RunBudget;
use crate::fleet::ids::{ProfileName, RecipeName, RoleName};
use crate::fleet::refusal::nearest;
use crate::fleet::team::{Address, RecipeSpec, Role};
use crate::fleet::time::Span;

pub(super) use profile::{Declared, profile, typing, variables};

/// A wrong field with what is wrong about it; the field's name helps to find its line.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The field, if one is to blame.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// A spec that is being read.
pub(super) struct Fields<'a> {
    what: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Begins to read a spec; refuses unknown fields.
    pub(super) fn of(what: String, value: &'a Value, known: &[Field]) -> Result<Self, Wrong> {
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let map = match value {
            Value::Object(map) => map,
            // An empty table crosses as a list.
            Value::Array(list) if list.is_empty() => &*EMPTY,
            Value::Null => {
                return Err(plain(format!("{what}: expected a table of fields, got nothing")));
            }
            other => {
                let got = kind(other);
                return Err(plain(format!("{what}: expected a table of fields, got {got}")));
            }
        };
        let names: Vec<&str> = known.iter().map(|field| field.name).collect();
        for name in map.keys() {
            if !names.contains(&name.as_str()) {
                let hint = match (nearest(name, names.iter().copied()), owner(name)) {
                    (Some(near), _) => format!("did you mean '{near}'? "),
                    (None, Some(owner)) => format!("it belongs into {owner}; "),
                    (None, None) => String::new(),
                };
                return Err(Wrong {
                    field: Some(name.clone()),
                    message: format!("{what}: unknown field '{name}'; {hint}valid: {}", names.join(", ")),
                });
            }
        }
        Ok(Fields { what, map })
    }

    /// Returns what it is that is read.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn wrong<T>(&self, name: &str, wanted: &str, got: &Value) -> Result<T, Wrong> {
        self.refuse(name, format!("expected {wanted}, got {}", kind(got)))
    }

    pub(super) fn refuse<T>(&self, name: &str, why: impl std::fmt::Display) -> Result<T, Wrong> {
        Err(Wrong { field: Some(name.to_owned()), message: format!("{}: field '{name}': {why}", self.what) })
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => self.wrong(name, "a text", other),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => self.wrong(name, "true or false", other),
        }
    }

    pub(super) fn need<T>(&self, name: &str, found: Option<T>, wanted: &str) -> Result<T, Wrong> {
        found.ok_or_else(|| plain(format!("{}: field '{name}' is missing: {wanted}", self.what)))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Wrong> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let Value::Array(items) = value else {
            return match value.as_str().filter(|text| text.len() <= 40) {
                Some(text) => {
                    let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
                    self.refuse(name, format!("expected a list of texts, got a text; write {{ {} }}", words.join(", ")))
                }
                None => self.wrong(name, "a list of texts", value),
            };
        };
        let mut texts = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other => {
                    let got = kind(other);
                    return self.refuse(name, format!("expected a list of texts, got {got} at [{}]", n + 1));
                }
            }
        }
        Ok(Some(texts))
    }

    pub(super) fn map(&self, name: &str) -> Result<BTreeMap<String, String>, Wrong> {
        match self.get(name) {
            None => Ok(BTreeMap::new()),
            Some(Value::Array(list)) if list.is_empty() => Ok(BTreeMap::new()),
            Some(Value::Object(map)) => {
                let mut texts = BTreeMap::new();
                for (key, value) in map {
                    match value {
                        Value::String(text) => texts.insert(key.clone(), text.clone()),
                        other => {
                            let got = kind(other);
                            return self.refuse(name, format!("expected a text for '{key}', got {got}"));
                        }
                    };
                }
                Ok(texts)
            }
            Some(other) => self.wrong(name, "a table of texts", other),
        }
    }

    pub(super) fn span(&self, name: &str) -> Result<Option<Span>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match span(value) {
                Ok(span) => Ok(Some(span)),
                Err(why) => self.refuse(name, why),
            },
        }
    }

    pub(super) fn count(&self, name: &str, least: u32, absent: u32) -> Result<u32, Wrong> {
        match self.get(name) {
            None => Ok(absent),
            Some(value @ Value::Number(n)) => match n.as_i64().map(u32::try_from) {
                Some(Ok(n)) if n >= least && n <= 1_000_000 => Ok(n),
                _ => self.refuse(name, format!("expected a whole number from {least} to 1000000, got {value}")),
            },
            Some(other) => self.wrong(name, "a whole number", other),
        }
    }
}

/// Returns the verb or the step whose spec has a field of this name.
fn owner(field: &str) -> Option<&'static str> {
    let specs = [
        ("fleet.profile", describe::PROFILE),
        ("fleet.role", describe::ROLE),
        ("fleet.recipe", describe::RECIPE),
        ("run:send", describe::SEND),
    ];
    specs.into_iter().find(|(_, fields)| fields.iter().any(|one| one.name == field)).map(|(verb, _)| verb)
}

/// Reads a length of time: a text such as "90s" or a number of seconds.
pub(super) fn span(value: &Value) -> Result<Span, String> {
    match value {
        Value::String(text) => Span::parse(text),
        Value::Number(n) => n
            .as_f64()
            .and_then(Span::from_seconds_f64)
            .ok_or_else(|| format!("{n} seconds is not a usable length of time")),
        other => Err(format!(
            "expected a length of time such as \"90s\", \"8m\", \"2h\", or a number of seconds, got {}",
            kind(other)
        )),
    }
}

/// Reads the spec of a role.
pub(super) fn role(name: &str, value: &Value) -> Result<Role, Wrong> {
    let what = format!("role '{name}'");
    let fields = Fields::of(what, value, describe::ROLE)?;
    let profiles = fields.texts("profiles")?;
    let profiles = fields.need("profiles", profiles, "name at least one")?;
    if profiles.is_empty() {
        return fields.refuse("profiles", "name at least one profile");
    }
    let hours = hours::read(&fields)?;
    // Without hours a role that is never handed anything is a mistake.
    let least = if hours.as_ref().is_some_and(|hours| !hours.closes) { 0 } else { 1 };
    let max_busy = fields.count("max_busy", least, 1)?;
    if hours.as_ref().is_some_and(|hours| hours.most(max_busy) == 0) {
        return fields.refuse("hours", "this role is never handed anything: no window has a 'max_busy' above 0");
    }
    Ok(Role {
        name: RoleName::from(name),
        about: fields.text("about")?,
        profiles: profiles.into_iter().map(ProfileName::from).collect(),
        max_busy,
        max_workers: fields.get("max_workers").map(|_| fields.count("max_workers", 1, 1)).transpose()?,
        max_waiting: fields.count("max_waiting", 1, 100)?,
        hours: hours.map(Arc::new),
    })
}

/// Reads the spec of a recipe.
pub(super) fn recipe(name: &str, value: &Value, at: String) -> Result<RecipeSpec, Wrong> {
    let fields = Fields::of(format!("recipe '{name}'"), value, describe::RECIPE)?;
    let input = match fields.get("input") {
        None => schema::anything(),
        Some(short) => match schema::from_short(short) {
            Ok(schema) => schema,
            Err(why) => return fields.refuse("input", why),
        },
    };
    Ok(RecipeSpec {
        name: RecipeName::from(name),
        about: fields.text("about")?,
        input,
        deadline: fields.span("deadline")?,
        budget: budget(&fields)?,
        at,
    })
}

/// Reads what a run may use at most.
pub(super) fn budget(fields: &Fields<'_>) -> Result<Option<RunBudget>, Wrong> {
    let Some(value) = fields.get("budget") else { return Ok(None) };
    let inner = Fields::of(format!("{}: field 'budget'", fields.what()), value, describe::BUDGET)?;
    let whole = |name: &str| match inner.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64().filter(|n| n.fract() == 0.0 && (1.0..9e15).contains(n)) {
            Some(n) => Ok(Some(n as u64)),
            None => inner.refuse(name, format!("expected a whole number from 1, got {value}")),
        },
    };
    let cost = match inner.get("cost") {
        None => None,
        Some(value) => match value.as_f64().filter(|cost| cost.is_finite() && *cost > 0.0) {
            Some(cost) => Some(cost),
            None => return inner.refuse("cost", format!("expected US dollars, more than 0, got {value}")),
        },
    };
    let budget = RunBudget { turns: whole("turns")?, tokens: whole("tokens")?, cost };
    match budget == RunBudget::default() {
        true => fields.refuse("budget", "say how many 'turns', 'tokens' or US dollars ('cost')"),
        false => Ok(Some(budget)),
    }
}

/// Reads what a rubric gave back.
pub(super) fn routed(value: &Value) -> Result<(Address, Option<String>), Wrong> {
    let fields = Fields::of("a rubric's answer".to_owned(), value, describe::ROUTED)?;
    match (fields.text("role")?, fields.text("worker")?, fields.text("because")?) {
        (Some(role), None, because) => Ok((Address::Role(role.into()), because)),
        (None, Some(worker), because) => Ok((Address::Worker(worker.into()), because)),
        (Some(_), Some(_), _) => Err(plain("a rubric's answer names a role or a worker, not both".to_owned())),
        (None, None, _) => Err(plain("a rubric's answer must name a role or a worker".to_owned())),
    }
}

/// Returns what kind of value it is, for an error text.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

pub(super) fn plain(message: String) -> Wrong {
    Wrong { field: None, message }
}
