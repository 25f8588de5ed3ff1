//! The document is a committed file, so that a change of it is seen, and it says neither more nor less than the router.
//! Whether the daemon keeps to it is judged from outside, in `e2e/judges`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::super::paths::PATHS;
use super::*;
use crate::fleet::refusal::RefusalKind;

#[test]
fn the_document_is_the_committed_one_golden() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    if std::env::var_os("FLEETD_BLESS").is_some() {
        std::fs::write(&path, TEXT.as_str()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == *TEXT, "docs/openapi.json is stale: FLEETD_BLESS=1 cargo nextest run golden, and look at it");
}

#[test]
fn every_route_is_in_the_table_and_every_row_has_a_route() {
    let source = include_str!("../../rest.rs");
    let mut routes = BTreeSet::new();
    for line in source.lines().filter_map(|line| line.trim().strip_prefix(".route(\"")) {
        let (path, handler) = line.split_once("\", ").expect("a path and a handler");
        let method = handler.split('(').next().unwrap_or_default();
        routes.insert((method.to_ascii_uppercase(), path.to_owned()));
    }
    let table: BTreeSet<_> = PATHS.iter().map(|row| (row.method.to_string(), row.path.to_owned())).collect();
    assert_eq!(routes, table);
    assert_eq!(table.len(), PATHS.len(), "a row is there twice");
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_own_name() {
    let document = document();
    let mut names = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name), "{name} is there twice");
        }
    }
    let mut rest = vec![&document];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(object) => {
                if let Some(Value::String(to)) = object.get("$ref") {
                    assert!(document.pointer(to.trim_start_matches('#')).is_some(), "{to} leads nowhere");
                }
                rest.extend(object.values());
            }
            Value::Array(list) => rest.extend(list),
            _ => {}
        }
    }
}

/// One name, one shape: a type that is read and written in two forms needs two names.
#[test]
fn a_type_that_goes_both_ways_has_one_schema() {
    let mut parts = Parts::new();
    PATHS.iter().for_each(|path| drop(parts.operation(path)));
    let (taken, given) = (parts.taken.take_definitions(true), parts.given.take_definitions(true));
    let both: Vec<&String> = taken.keys().filter(|name| given.contains_key(*name)).collect();
    assert!(!both.is_empty());
    for name in both {
        assert_eq!(taken[name], given[name], "{name}");
    }
}

#[test]
fn every_refusal_status_is_documented() {
    let document = document();
    let kinds = serde_json::to_value(RefusalKind::json_schema(&mut SchemaGenerator::default())).unwrap();
    let kinds = kinds["oneOf"].as_array().unwrap().iter().map(|kind| kind["const"].clone());
    let kinds: Vec<RefusalKind> = kinds.map(|kind| serde_json::from_value(kind).unwrap()).collect();
    assert!(kinds.len() > 5);
    let responses = document["components"]["responses"].as_object().unwrap();
    for kind in kinds {
        let status = crate::door::refused::status(kind).as_u16();
        assert!(
            responses.contains_key(refusals::name(status)) && (status == 500) == (refusals::name(status) == "Internal")
        );
    }
    assert!(responses["QueueFull"]["headers"]["Retry-After"].is_object());
}

#[test]
fn exactly_one_of_two_fields_is_a_rule_where_null_is_as_good_as_absent() {
    let send = &document()["components"]["schemas"]["SendRequest"];
    let rule = json!({"oneOf": send["oneOf"]});
    let fits = |body: Value| jsonschema::is_valid(&rule, &body);
    assert!(fits(json!({"to": "auto"})) && fits(json!({"role": "w", "to": null})));
    assert!(!fits(json!({})) && !fits(json!({"to": "w", "role": "w"})) && !fits(json!({"to": null})));
}
