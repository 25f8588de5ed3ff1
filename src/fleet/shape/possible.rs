//! Schemas that nothing can fit, as far as that is plain to see: a lower bound above its upper one, a field that must be there
//! and may not, a choice of nothing. What is not plain is left to whoever answers.

use serde_json::{Map, Value};

/// Pairs of keywords of which the first may not be more than the second.
const BOUNDS: [(&str, &str); 4] =
    [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")];

/// How deep is looked.
const DEEP: usize = 16;

/// Returns where and why nothing can fit a schema; nothing if that is not seen.
pub(super) fn contradiction(schema: &Value) -> Option<String> {
    within(schema, "", DEEP)
}

fn within(schema: &Value, at: &str, deep: usize) -> Option<String> {
    let map = schema.as_object().filter(|_| deep > 0)?;
    if let Some(why) = plain(map) {
        let at = if at.is_empty() { "at the top" } else { at };
        return Some(format!("{at}: {why}"));
    }
    // Only what must be there makes the whole impossible; a list may be empty, and a field left out.
    let properties = map.get("properties")?.as_object()?;
    let required = map.get("required")?.as_array()?;
    let needed = required.iter().filter_map(Value::as_str).filter_map(|name| Some((name, properties.get(name)?)));
    needed.into_iter().find_map(|(name, inner)| within(inner, &format!("{at}/{name}"), deep - 1))
}

fn plain(map: &Map<String, Value>) -> Option<String> {
    for (low, high) in BOUNDS {
        let number = |name: &str| map.get(name).and_then(Value::as_f64);
        // Bounds of a kind hold for values of that kind alone, so another kind would fit.
        let kind = match low {
            "minimum" => ["number", "integer"].as_slice(),
            "minLength" => &["string"],
            "minItems" => &["array"],
            _ => &["object"],
        };
        let is_of_kind = map.get("type").and_then(Value::as_str).is_some_and(|word| kind.contains(&word));
        if let (Some(least), Some(most), true) = (number(low), number(high), is_of_kind)
            && least > most
        {
            return Some(format!("{low} {least} is more than {high} {most}"));
        }
    }
    if map.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        return Some("enum lists nothing".to_owned());
    }
    let is_object = map.get("type").and_then(Value::as_str) == Some("object");
    let is_closed =
        map.get("additionalProperties") == Some(&Value::Bool(false)) && !map.contains_key("patternProperties");
    let known = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array).filter(|_| is_object && is_closed)?;
    let missing =
        required.iter().filter_map(Value::as_str).find(|name| !known.is_some_and(|known| known.contains_key(*name)));
    missing.map(|name| format!("'{name}' is required, and not among the properties, which are all there may be"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nothing_can_fit_is_said_with_its_place() {
        for (schema, why) in [
            (json!({"type": "integer", "minimum": 3, "maximum": 1}), "at the top: minimum 3 is more than maximum 1"),
            (json!({"enum": []}), "at the top: enum lists nothing"),
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"], "additionalProperties": false}),
                "at the top: 'b' is required, and not among the properties, which are all there may be",
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLength": 9, "maxLength": 2}}}),
                "/a: minLength 9 is more than maxLength 2",
            ),
        ] {
            assert_eq!(contradiction(&schema).as_deref(), Some(why), "{schema}");
        }
    }

    #[test]
    fn what_something_fits_is_left_alone() {
        for schema in [
            json!({"minimum": 3, "maximum": 1}),
            json!({"type": "integer", "minimum": 1, "maximum": 1}),
            json!({"type": "object", "properties": {"a": {"enum": []}}}),
            json!({"type": "array", "items": {"enum": []}}),
            json!({"type": "object", "required": ["b"], "properties": {"a": {}}}),
            json!({"type": "object", "required": ["b"], "patternProperties": {"^b": {}}, "additionalProperties": false}),
            json!({"required": ["b"], "additionalProperties": false}),
            json!(true),
        ] {
            assert_eq!(contradiction(&schema), None, "{schema}");
        }
    }
}
