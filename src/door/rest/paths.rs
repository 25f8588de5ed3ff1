//! Every path of the door: its method, the rule it falls under, what it takes and what it gives. `admit` obeys the
//! table, refusals name the valid choices from it, and the OpenAPI document is made of it.

mod runs;
mod table;

use axum::http::Method;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::fleet::caller::Caller;
use crate::fleet::ids::{RunId, TurnId};
use crate::fleet::refusal::RefusalKind;
use crate::fleet::rules::Verb;

pub(super) use table::PATHS;

/// Where the other doors are; what they take is theirs to say.
pub(super) const OTHER_DOORS: [&str; 2] = ["/mcp", "/hook"];

/// One path.
#[derive(Debug)]
pub(super) struct Path {
    /// The method it takes.
    pub method: Method,
    /// The path; `{id}` stands for a name or number.
    pub path: &'static str,
    /// What a request to it wants to do.
    pub verb: Verb,
    /// What it does, in a sentence.
    pub does: &'static str,
    /// What `{id}` is.
    pub id: Option<Shape>,
    /// What it takes beside its path.
    pub takes: Takes,
    /// What it gives when it does not refuse.
    pub gives: &'static [Gives],
    /// How it may refuse, beside what any path with such a request may say.
    pub refuses: &'static [RefusalKind],
}

/// Adds a type's schema to a document and returns what stands for it there.
pub(super) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// What a request carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// Fields in the query: the schema of them all, with every part in place.
    Query(fn() -> Map<String, Value>),
    /// A JSON body.
    Body(Shape),
}

/// One answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gives {
    /// Its status.
    pub status: u16,
    /// When it is given.
    pub when: &'static str,
    /// Its type; none is plain text.
    pub shape: Option<Shape>,
}

/// Returns what a request wants to do, if the path takes its method.
pub(super) fn verb(method: &Method, path: &str) -> Option<Verb> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    PATHS.iter().find(|p| p.method == *method && p.fits(path)).map(|p| p.verb)
}

/// Returns what a caller wants by a path: a worker replies to its own turn where others answer a question.
pub(super) fn verb_of(verb: Verb, caller: &Caller) -> Verb {
    match (verb, caller) {
        (Verb::Answer, Caller::Worker { .. }) => Verb::Reply,
        (verb, _) => verb,
    }
}

/// Returns a path as the metrics name it: all that are not ours are one.
pub(super) fn label(path: &str) -> &'static str {
    match OTHER_DOORS.into_iter().find(|other| *other == path) {
        Some(other) => other,
        None => PATHS.iter().find(|p| p.fits(path)).map_or("other", |p| p.path),
    }
}

/// Returns the id of a turn or run in a path, if it has one of the right form.
pub(super) fn id(path: &str) -> Option<&str> {
    let ours = PATHS.iter().find(|p| p.fits(path))?;
    let place = ours.path.split('/').position(|part| part == "{id}")?;
    let id = path.split('/').nth(place)?;
    (id.parse::<TurnId>().is_ok() || id.parse::<RunId>().is_ok()).then_some(id)
}

/// Returns the methods that a path takes.
pub(super) fn methods(path: &str) -> impl Iterator<Item = &'static Method> {
    PATHS.iter().filter(move |p| p.fits(path)).map(|p| &p.method)
}

impl Path {
    fn fits(&self, path: &str) -> bool {
        let (mut ours, mut theirs) = (self.path.split('/'), path.split('/'));
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (Some("{id}"), Some(id)) if !id.is_empty() => {}
                (Some(a), Some(b)) if a == b => {}
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_in_the_reference() {
        let reference = include_str!("../../../docs/rest.md");
        for p in PATHS.iter() {
            let row = format!("| `{} {}` |", p.method, p.path);
            assert!(reference.contains(&row), "docs/rest.md has no row for {} {}", p.method, p.path);
        }
    }

    #[test]
    fn a_path_with_an_id_is_known_by_its_form() {
        assert_eq!(label("/v1/turns/t17/wait"), "/v1/turns/{id}/wait");
        assert_eq!(label("/v1/turns/t17"), "/v1/turns/{id}");
        for stranger in ["/v1/turns/", "/v1/turns", "/v1/turns/t17/", "/v1/turns/t17/wait/x", "", "//"] {
            assert_eq!(label(stranger), "other", "{stranger}");
        }
        assert_eq!(verb(&Method::HEAD, "/v1/runs/r1"), Some(Verb::Status));
        assert_eq!(verb(&Method::POST, "/v1/runs/r1"), None);
        assert_eq!((id("/v1/turns/t17/wait"), id("/v1/runs/r1")), (Some("t17"), Some("r1")));
        assert_eq!((id("/v1/turns/a-secret"), id("/v1/poll"), id("/t17")), (None, None, None));
    }
}
