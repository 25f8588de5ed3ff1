//! The OpenAPI 3.1 document of this door, made from the table of paths and the types that serde reads and writes.
//! It says nothing that does not stand there, but for the words about refusals, which every path shares.

mod refusals;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::super::intake::{Nothing, Query};
use super::paths::{Gives, PATHS, Path, Takes};
use crate::door::schema;
use crate::fleet::refusal::Refusal;

/// Where the parts of the document that have a name are.
const PARTS: &str = "/components/schemas";

const ABOUT: &str = "One server for everything on this machine. Who calls is read from the connection, never from the \
    request. Every refusal has the same form, and its hints name what would be right. The same `key` and body is the \
    same turn, run or worker.";

static TEXT: LazyLock<String> = LazyLock::new(|| format!("{:#}\n", document()));

/// This door as a document.
pub(super) async fn openapi(Query(Nothing {}): Query<Nothing>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}

/// Returns the document.
pub(super) fn document() -> Value {
    let mut parts = Parts::new();
    let mut paths = Map::new();
    for path in PATHS.iter() {
        let item = paths.entry(path.path).or_insert_with(|| json!({}));
        item[path.method.as_str().to_ascii_lowercase()] = parts.operation(path);
    }
    let responses = refusals::components(parts.given.subschema_for::<Refusal>());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "fleetd",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "where this document came from" }],
        "paths": paths,
        "components": { "schemas": parts.schemas(), "responses": responses },
    })
}

/// What has a name, of requests and of answers.
struct Parts {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

impl Parts {
    fn new() -> Parts {
        let here = |settings: schemars::generate::SchemaSettings| {
            settings.with(|settings| {
                settings.definitions_path = PARTS.into();
                settings.meta_schema = None;
            })
        };
        let taken = here(schema::taken_settings()).with_transform(schema::exactly_one);
        Parts { taken: taken.into_generator(), given: here(schema::given_settings()).into_generator() }
    }

    /// Returns all named schemas by name. A type that goes both ways has the same one for both.
    fn schemas(mut self) -> Map<String, Value> {
        let mut all = self.taken.take_definitions(true);
        all.extend(self.given.take_definitions(true));
        all.sort_keys();
        all
    }

    fn operation(&mut self, path: &Path) -> Value {
        let mut operation = json!({ "operationId": id_of(path), "summary": path.does });
        let mut parameters: Vec<Value> = Vec::new();
        if let Some(id) = path.id {
            let schema = id(&mut self.taken);
            parameters.push(json!({ "name": "id", "in": "path", "required": true, "schema": schema }));
        }
        match path.takes {
            Takes::Nothing => {}
            Takes::Query(of) => parameters.extend(query(&of())),
            Takes::Body(of) => {
                let schema = of(&mut self.taken);
                operation["requestBody"] =
                    json!({ "required": true, "content": { "application/json": { "schema": schema } } });
            }
        }
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        let mut responses = Map::new();
        for status in statuses(path) {
            let of_status: Vec<&Gives> = path.gives.iter().filter(|gives| gives.status == status).collect();
            let answer = match of_status.as_slice() {
                [] => json!({ "$ref": format!("#/components/responses/{}", refusals::name(status)) }),
                given => self.answer(given),
            };
            responses.insert(status.to_string(), answer);
        }
        operation["responses"] = responses.into();
        operation
    }

    fn answer(&mut self, given: &[&Gives]) -> Value {
        let when: Vec<&str> = given.iter().map(|gives| gives.when).collect();
        let schemas: Vec<Schema> = given.iter().filter_map(|gives| gives.shape).map(|of| of(&mut self.given)).collect();
        let content = match schemas.as_slice() {
            [] => json!({ "text/plain": { "schema": { "type": "string" } } }),
            [one] => json!({ "application/json": { "schema": one } }),
            several => json!({ "application/json": { "schema": { "anyOf": several } } }),
        };
        json!({ "description": when.join(" "), "content": content })
    }
}

/// Returns every status that a path may answer with, in order.
fn statuses(path: &Path) -> Vec<u16> {
    let mut all: Vec<u16> = path.gives.iter().map(|gives| gives.status).collect();
    all.extend(refusals::statuses(path));
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the fields of a query as parameters. What is left out is absent; there is no null in a query.
fn query(schema: &Map<String, Value>) -> Vec<Value> {
    let required =
        |name: &str| schema.get("required").and_then(Value::as_array).is_some_and(|r| r.iter().any(|one| one == name));
    let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let parameter = |(name, property): (&String, &Value)| {
        let mut property = property.as_object().cloned().unwrap_or_default();
        schema::without_null(&mut property);
        let about = property.shift_remove("description");
        json!({ "name": name, "in": "query", "required": required(name), "description": about, "schema": property })
    };
    properties.iter().map(parameter).collect()
}

/// Returns a path as a word: `/v1/turns/{id}/wait` is `turns_id_wait`.
fn id_of(path: &Path) -> String {
    let words = path.path.split(['/', '.']).map(|word| word.trim_matches(['{', '}']));
    words.filter(|word| !matches!(*word, "" | "v1")).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests;
