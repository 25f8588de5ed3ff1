//! What one generation of the charter changes against another, in words that a person can check before a save counts.
//!
//! Only what is declared is seen here: profiles, roles, recipes, rubrics, shapes and handlers. Which files differ is the charter
//! room's matter. What becomes of what runs is said as `change` does it.

mod order;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::hours::Hours;
use super::team::{Generation, Team};
use super::time::Span;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What kind of thing it is.
    pub of: Part,
    /// What happens to it.
    pub how: How,
    /// Its name: of a rubric its reason text, of a handler its event, of a file its path.
    pub name: String,
    /// What differs and what that does, in words.
    pub words: String,
}

/// The kinds of things that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// How a worker is started.
    Profile,
    /// A pool of workers.
    Role,
    /// A rubric, or the order in which it is asked.
    Rubric,
    /// A recipe.
    Recipe,
    /// Handlers of an event.
    Handler,
    /// A shape that answers may be asked to fit.
    Shape,
    /// A file of the charter.
    File,
}

/// What can happen to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was not there.
    New,
    /// It stays, and is declared differently.
    Changed,
    /// It is not there any more.
    Removed,
}

/// What the files that lie in the charter's directory would change if they came into force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The generation that they are held against.
    pub from: Generation,
    /// The hash of the files; absent when they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Everything that differs; empty when nothing does.
    pub changes: Vec<Change>,
    /// Why the files would be refused, for what is in them or by their own tests. Those that do not load are compared as
    /// files only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Returns everything that is declared differently, in the order profiles, roles, rubrics, recipes, shapes, handlers.
pub fn between(old: &Team, new: &Team) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut say = |of: Part, name: &str, (how, words): (How, String)| {
        changes.push(Change { of, how, name: name.to_owned(), words });
    };
    let gone = "its workers finish what they have and go";
    each(&old.profiles, &new.profiles, |name, how| {
        let of = format!("profile '{name}'");
        let changed = |fields| format!("{of}: {fields}; it counts for workers that start from then on");
        say(Part::Profile, name, how.said(&of, gone, changed));
    });
    each(&old.roles, &new.roles, |name, how| {
        let of = format!("role '{name}'");
        let gone = format!("{gone}, and nothing can be sent to it any more");
        let changed = |fields| format!("{of}: {fields}{}", lowered(old, new, name));
        say(Part::Role, name, how.said(&of, &gone, changed));
    });
    for (name, how, words) in order::rubrics(&old.rubrics, &new.rubrics) {
        say(Part::Rubric, &name, (how, words));
    }
    each(&old.recipes, &new.recipes, |name, how| {
        let of = format!("recipe '{name}'");
        let changed = |fields| format!("{of}: {fields}; its runs go on as they began");
        say(Part::Recipe, name, how.said(&of, "its runs go on with the files they began with", changed));
    });
    each(&old.shapes, &new.shapes, |name, how| {
        let of = format!("shape '{name}'");
        let changed = |fields| format!("{of}: {fields}; it counts for what is sent from then on");
        say(Part::Shape, name, how.said(&of, "no message can ask for it any more", changed));
    });
    for event in old.handlers.difference(&new.handlers) {
        say(Part::Handler, event, (How::Removed, format!("nothing handles {event} any more")));
    }
    for event in new.handlers.difference(&old.handlers) {
        say(Part::Handler, event, (How::New, format!("{event} is handled from then on")));
    }
    changes
}

/// What became of an entry of a map.
enum Entry {
    New,
    Gone,
    /// These fields differ.
    Other(String),
}

impl Entry {
    /// Returns what happens to it, with the words for it.
    fn said(self, of: &str, gone: &str, changed: impl Fn(String) -> String) -> (How, String) {
        match self {
            Entry::New => (How::New, format!("{of} is new")),
            Entry::Gone => (How::Removed, format!("{of} is removed: {gone}")),
            Entry::Other(fields) => (How::Changed, changed(fields)),
        }
    }
}

/// Tells of every entry that is not in both maps as it is.
fn each<K: Ord + ToString, V: Serialize>(
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    mut tell: impl FnMut(&str, Entry),
) {
    let plain = |value: &V| serde_json::to_value(value).unwrap_or_default();
    for (name, was) in old {
        match new.get(name) {
            None => tell(&name.to_string(), Entry::Gone),
            Some(is) => {
                let fields = fields(&plain(was), &plain(is));
                if !fields.is_empty() {
                    tell(&name.to_string(), Entry::Other(fields.join(", ")));
                }
            }
        }
    }
    for name in new.keys().filter(|name| !old.contains_key(name)) {
        tell(&name.to_string(), Entry::New);
    }
}

/// Says what a lowered cap does to what is busy.
fn lowered(old: &Team, new: &Team, role: &str) -> String {
    let (Some(was), Some(is)) = (old.roles.get(&role.into()), new.roles.get(&role.into())) else {
        return String::new();
    };
    if was.profiles.first() != is.profiles.first()
        && let Some(first) = is.profiles.first()
    {
        return format!(
            "; what it started by itself finishes what it has and goes, and the next ones are of '{first}'"
        );
    }
    // A window of its hours may allow more than the cap for all day.
    let windows = is.hours.as_ref().is_some_and(|hours| !hours.closes);
    match (was.max_busy, is.max_busy) {
        (was, is) if is < was && is > 0 && !windows => {
            format!("; what is busy goes on, and nothing more starts before fewer than {is} are")
        }
        _ if was.hours != is.hours => {
            "; it counts for what is handed out from then on, and what is busy goes on".into()
        }
        _ => String::new(),
    }
}

/// Returns the fields of two tables that differ, each as `name old → new`.
fn fields(old: &Value, new: &Value) -> Vec<String> {
    let empty = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let mut names: Vec<&String> = new.keys().chain(old.keys().filter(|name| !new.contains_key(*name))).collect();
    // Where it stands is no difference in what it is.
    names.retain(|name| *name != "at" && old.get(*name) != new.get(*name));
    // What a launcher makes of the other fields is only told where they do not tell it.
    if names.len() > 1 {
        names.retain(|name| *name != "plan");
    }
    names.into_iter().map(|name| field(name, old.get(name), new.get(name))).collect()
}

fn field(name: &str, old: Option<&Value>, new: Option<&Value>) -> String {
    match name {
        // A value may be a secret, though it should not stand in a charter; its name says enough.
        "env" => format!("env differs in {}", keys(old, new)),
        "input" => format!("input differs in {}", keys(properties(old), properties(new))),
        "plan" => format!("its launcher plans otherwise: {} differ", keys(old, new)),
        "hours" => format!("{} {} → {}", hours_field(old, new), hours(old), hours(new)),
        _ => format!("{name} {} → {}", shown(old), shown(new)),
    }
}

/// Returns by which field an author wrote the hours of a role.
fn hours_field(old: Option<&Value>, new: Option<&Value>) -> &'static str {
    let caps = |value: Option<&Value>| {
        value.and_then(|value| Hours::deserialize(value).ok()).is_some_and(|hours| !hours.closes)
    };
    if caps(old) || caps(new) { "hours" } else { "between" }
}

/// Returns the hours of a role as an author would write them.
fn hours(value: Option<&Value>) -> String {
    let hours = value.and_then(|value| Hours::deserialize(value).ok());
    hours.map_or_else(|| "nothing".to_owned(), |hours| hours.to_string())
}

fn properties(schema: Option<&Value>) -> Option<&Value> {
    schema.and_then(|schema| schema.get("properties"))
}

/// Returns the names of the entries that differ.
fn keys(old: Option<&Value>, new: Option<&Value>) -> String {
    let empty = Map::new();
    let map = |value: Option<&Value>| value.and_then(Value::as_object).unwrap_or(&empty).clone();
    let (old, new) = (map(old), map(new));
    let mut names: Vec<&str> = old.keys().chain(new.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| old.get(*name) != new.get(*name));
    match names.is_empty() {
        true => "what may be left out".to_owned(),
        false => names.join(", "),
    }
}

/// Returns a value as an author would write it, cut where it is long.
fn shown(value: Option<&Value>) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        None | Some(Value::Null) => return "nothing".to_owned(),
        Some(Value::String(text)) if is_span(text) => {
            return Span::parse(text).map_or_else(|_| text.clone(), |span| span.to_string());
        }
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| shown(Some(item))).collect();
            format!("{{ {} }}", items.join(", "))
        }
        Some(Value::Object(map)) => {
            let fields: Vec<String> =
                map.iter().map(|(name, value)| format!("{name} = {}", shown(Some(value)))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Some(other) => other.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns whether a text is how a length of time is written down.
fn is_span(text: &str) -> bool {
    text.strip_suffix("ms").is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
