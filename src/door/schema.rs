//! JSON Schemas of what goes over the doors, made from the Rust types, so that no door tells another shape than serde
//! takes and gives. What goes in is described strictly; what comes out may get more fields with a later version.
//!
//! The types stand where they are used, their texts are their doc comments. No path and no tool is known here.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// What a type says of itself when exactly one of two fields is to be given: `["to", "role"]`. JSON Schema has no plain
/// word for it, and some readers of tool schemas take none of its ways to say so at the top.
const EXACTLY_ONE: &str = "x-exactly-one";

/// Returns the schema of what a caller may send. Everything stands in place: readers of tool schemas follow no `$ref`.
pub fn taken<T: JsonSchema>() -> Map<String, Value> {
    let settings = taken_settings().with(|settings| settings.inline_subschemas = true);
    root::<T>(settings.with_transform(|schema: &mut Schema| drop(schema.remove(EXACTLY_ONE))))
}

/// Returns the schema of what a caller gets, its named parts under `$defs`.
pub fn given<T: JsonSchema>() -> Map<String, Value> {
    root::<T>(given_settings())
}

/// Returns how schemas of what a caller may send are made; what `exactly_one` turns into a rule is still a note.
pub fn taken_settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_deserialize().with_transform(plain)
}

/// Returns how schemas of what a caller gets are made.
pub fn given_settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_serialize().with_transform(plain).with_transform(as_written)
}

/// Turns the note that exactly one of some fields is given into a rule. Null is as good as absent.
pub fn exactly_one(schema: &mut Schema) {
    if let Some(Value::Array(names)) = schema.remove(EXACTLY_ONE) {
        let names = names.iter().filter_map(Value::as_str);
        let one = |name: &str| json!({ "properties": { name: { "type": "string" } }, "required": [name] });
        schema.insert("oneOf".to_owned(), names.map(one).collect());
    }
}

fn root<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    std::mem::take(schema.ensure_object())
}

/// Removes what only says how Rust holds a value and where a comment breaks its lines. A validator that does not know
/// a format complains about it.
fn plain(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        object.remove("format");
        if object.get("default") == Some(&Value::Null) {
            object.remove("default");
        }
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text.replace('\n', " ");
        }
    }
    transform_subschemas(&mut plain, schema);
}

/// Narrows a schema to what serde writes: what is absent is left out, never null. And leaves room for more fields.
fn as_written(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        object.remove("default");
        if object.get("additionalProperties") == Some(&Value::Bool(false)) {
            object.remove("additionalProperties");
        }
        let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            let absent = properties.iter_mut().filter(|(name, _)| !required.iter().any(|one| one == name.as_str()));
            absent.filter_map(|(_, property)| property.as_object_mut()).for_each(without_null);
        }
    }
    transform_subschemas(&mut as_written, schema);
}

/// Removes null from what the property of an object may be.
pub fn without_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(mut choices)) = property.remove("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|one| one != "null"));
    match choices.as_slice() {
        // What the field says of itself goes before what its type does.
        [Value::Object(only)] => only.iter().for_each(|(name, value)| {
            property.entry(name).or_insert_with(|| value.clone());
        }),
        _ => {
            property.insert("anyOf".to_owned(), choices.into());
        }
    }
}

#[cfg(test)]
pub(in crate::door) mod tests;
