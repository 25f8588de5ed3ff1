//! The short form of a recipe's input (`"string[]?"`), its JSON Schema, and the check of a job against it.
//! Only the words of the short form are known here; this is no validator of arbitrary JSON Schemas.

use serde_json::{Map, Value, json};

use super::spec::kind;
use crate::fleet::refusal::{Refusal, nearest};
use crate::fleet::team::RecipeSpec;

const WORDS: &[&str] = &["string", "integer", "number", "boolean", "any"];

/// Returns the schema that takes any job.
pub(super) fn anything() -> Value {
    json!({})
}

/// Turns `{ parts = "string[]", quorum = "integer?" }` into a JSON Schema.
pub(super) fn from_short(short: &Value) -> Result<Value, String> {
    let empty = Map::new();
    let fields = match short {
        Value::Object(fields) => fields,
        Value::Array(list) if list.is_empty() => &empty,
        other => return Err(format!("expected a table of fields, got {}", kind(other))),
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, word) in fields {
        let Value::String(word) = word else {
            let got = kind(word);
            return Err(format!("'{name}': expected a type such as \"string[]\", got {got}"));
        };
        let (bare, optional) = match word.strip_suffix('?') {
            Some(bare) => (bare, true),
            None => (word.as_str(), false),
        };
        let schema = type_of(bare).ok_or_else(|| {
            let hint = match nearest(bare.trim_end_matches("[]"), WORDS.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"? "),
                None => String::new(),
            };
            format!(
                "'{name}': there is no type \"{word}\"; {hint}valid: {}, each with [] for a list and ? for one that may be left out",
                WORDS.join(", ")
            )
        })?;
        if !optional {
            required.push(Value::from(name.as_str()));
        }
        properties.insert(name.clone(), schema);
    }
    Ok(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

fn type_of(word: &str) -> Option<Value> {
    if let Some(inner) = word.strip_suffix("[]") {
        return type_of(inner).map(|items| json!({ "type": "array", "items": items }));
    }
    match word {
        "any" => Some(json!({})),
        "string" | "integer" | "number" | "boolean" => Some(json!({ "type": word })),
        _ => None,
    }
}

/// Checks a job against a recipe's input; the refusal names the field, what was wanted and what was given.
pub fn check_job(spec: &RecipeSpec, job: &Value) -> Result<(), Refusal> {
    let recipe = &spec.name;
    let Some(properties) = spec.input.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    let names = || properties.keys().map(String::as_str);
    let describe = || match properties.is_empty() {
        true => format!("recipe '{recipe}' takes an empty job"),
        false => format!("recipe '{recipe}' takes {}", summary(&spec.input)),
    };
    let Some(fields) = job.as_object() else {
        let message = format!("the job of recipe '{recipe}' must be an object, not {}", json_kind(job));
        return Err(Refusal::invalid(message).hint(describe()));
    };
    for (name, value) in fields {
        let Some(wanted) = properties.get(name) else {
            let message = format!("the job of recipe '{recipe}' has an unknown field '{name}'");
            let refusal = match nearest(name, names()) {
                Some(near) => Refusal::invalid(message).hint(format!("did you mean '{near}'?")),
                None => Refusal::invalid(message),
            };
            return Err(refusal.hint(describe()));
        };
        let needed = is_required(&spec.input, name);
        if value.is_null() && !needed {
            continue;
        }
        if let Err((path, wanted, got)) = matches(wanted, value, name.clone()) {
            let message = format!("the job of recipe '{recipe}': '{path}' must be {wanted}, not {got}");
            return Err(Refusal::invalid(message).hint(describe()));
        }
    }
    for name in names() {
        if is_required(&spec.input, name) && !fields.contains_key(name) {
            let message = format!("the job of recipe '{recipe}' lacks the field '{name}'");
            return Err(Refusal::invalid(message).hint(describe()));
        }
    }
    Ok(())
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == name))
}

fn matches(schema: &Value, value: &Value, path: String) -> Result<(), (String, String, String)> {
    let word = schema.get("type").and_then(Value::as_str);
    let fits = match word {
        None => true,
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        Some("array") => value.is_array(),
        Some(_) => false,
    };
    if !fits {
        let got = match value {
            Value::Number(n) => n.to_string(),
            other => json_kind(other).to_owned(),
        };
        return Err((path, said(schema), got));
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (n, item) in list.iter().enumerate() {
            matches(items, item, format!("{path}[{n}]"))?;
        }
    }
    Ok(())
}

/// Returns the type of a schema in words.
fn said(schema: &Value) -> String {
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => format!("a list, each item {}", said(&schema["items"])),
        Some("string") => "a string".to_owned(),
        Some("integer") => "an integer".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        _ => "anything".to_owned(),
    }
}

/// Returns the short form of a schema, `{ parts: string[], quorum: integer? }`.
pub(super) fn summary(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "any".to_owned();
    };
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, inner)| {
            let mark = if is_required(schema, name) { "" } else { "?" };
            format!("{name}: {}{mark}", short(inner))
        })
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

fn short(schema: &Value) -> String {
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => format!("{}[]", short(&schema["items"])),
        Some(word) => word.to_owned(),
        None => "any".to_owned(),
    }
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> RecipeSpec {
        RecipeSpec {
            name: "hunt".into(),
            about: None,
            input: from_short(&json!({"parts": "string[]", "quorum": "integer?"})).expect("valid"),
            deadline: None,
            budget: None,
            at: "hunt.lua:1".to_owned(),
        }
    }

    #[test]
    fn a_good_job_passes() {
        for job in [
            json!({"parts": ["a"]}),
            json!({"parts": [], "quorum": 2}),
            json!({"parts": [], "quorum": null}),
            json!({"parts": [], "quorum": 2.0}),
        ] {
            check_job(&spec(), &job).expect("fits");
        }
    }

    #[test]
    fn a_bad_job_is_told_the_field_and_the_type() {
        let refused = |job: Value| check_job(&spec(), &job).expect_err("refused").to_string();
        let takes = "recipe 'hunt' takes { parts: string[], quorum: integer? }";
        assert_eq!(refused(json!([])), format!("the job of recipe 'hunt' must be an object, not a list; {takes}"));
        assert_eq!(refused(json!({})), format!("the job of recipe 'hunt' lacks the field 'parts'; {takes}"));
        assert_eq!(
            refused(json!({"parts": ["a", 1]})),
            format!("the job of recipe 'hunt': 'parts[1]' must be a string, not 1; {takes}")
        );
        assert_eq!(
            refused(json!({"parts": [], "quorum": 1.5})),
            format!("the job of recipe 'hunt': 'quorum' must be an integer, not 1.5; {takes}")
        );
        assert_eq!(
            refused(json!({"part": []})),
            format!("the job of recipe 'hunt' has an unknown field 'part'; did you mean 'parts'?; {takes}")
        );
    }

    #[test]
    fn an_unknown_type_is_named() {
        assert_eq!(
            from_short(&json!({"n": "interger[]"})).expect_err("no such type"),
            "'n': there is no type \"interger[]\"; did you mean \"integer\"? valid: string, integer, number, boolean, any, each with [] for a list and ? for one that may be left out"
        );
    }
}
