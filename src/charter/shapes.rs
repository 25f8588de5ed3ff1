//! `fleet.shape`: named schemas, resolved once all files are read, since a shape may name another one in any file.
//! What a schema is and what fits it, the fleet knows.

use std::collections::BTreeSet;

use serde_json::Value;

use super::declare::At;
use super::spec::Wrong;
use crate::fleet::shape::{Shapes, WORDS, resolve};

/// One declared shape, as it was written.
pub(super) struct Written {
    /// Its name.
    pub name: String,
    /// Its schema, whole or in the short form.
    pub schema: Value,
    /// Where it stands.
    pub at: At,
}

/// Checks the name of a shape.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    match WORDS.contains(&name) {
        true => Err(format!("shape '{name}': that is a type of its own; give it another name")),
        false => Ok(()),
    }
}

/// Turns all shapes into schemas; each mistake with the place of its shape.
pub(super) fn resolve_all(written: &[Written]) -> (Shapes, Vec<(At, Wrong)>) {
    let mut shapes = Shapes::new();
    let mut open: Vec<&Written> = written.iter().collect();
    // Each round resolves those whose parts are there; what stays is wrong, or goes round in a circle.
    loop {
        let known: BTreeSet<String> = open.iter().map(|shape| shape.name.clone()).collect();
        let before = open.len();
        open.retain(|shape| {
            let waits = names_in(&shape.schema).iter().any(|name| known.contains(name));
            match resolve(&shape.schema, &shapes) {
                Ok(schema) if !waits => {
                    shapes.insert(shape.name.clone(), schema);
                    false
                }
                _ => true,
            }
        });
        if open.len() == before {
            break;
        }
    }
    let circle: Vec<&str> = open.iter().map(|shape| shape.name.as_str()).collect();
    let wrong = open.iter().map(|shape| {
        let in_circle = names_in(&shape.schema).into_iter().find(|name| circle.contains(&name.as_str()));
        let why = match (in_circle, resolve(&shape.schema, &shapes)) {
            (Some(other), _) => {
                format!("it contains '{other}', which is wrong or contains it: write it as a JSON Schema")
            }
            (None, Err(why)) => why,
            (None, Ok(_)) => "it cannot be resolved".to_owned(),
        };
        (shape.at.clone(), Wrong { field: None, message: format!("shape '{}': {why}", shape.name) })
    });
    (shapes.clone(), wrong.collect())
}

/// Returns the names that a short form mentions.
fn names_in(schema: &Value) -> Vec<String> {
    let bare = |word: &str| word.strip_suffix('?').unwrap_or(word).trim_end_matches("[]").to_owned();
    match schema {
        Value::String(word) => vec![bare(word)],
        Value::Object(fields) => fields.values().filter_map(Value::as_str).map(bare).collect(),
        _ => Vec::new(),
    }
}
