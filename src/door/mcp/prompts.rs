//! The recipes of the charter in force as prompts: a client shows them as commands, and each asks its model to run one.
//! A prompt runs nothing by itself.

use std::collections::BTreeSet;

use rmcp::model::{ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

use super::super::conn::Identity;
use super::Mcp;
use crate::fleet::refusal::Refusal;
use crate::fleet::rules::{self, Door, Verb, Verdict};
use crate::fleet::team::RecipeSpec;

/// Returns the prompts that a caller may have: those who may run recipes, all of them.
pub(super) fn list(door: &Mcp, identity: &Identity) -> Vec<Prompt> {
    if !may_run(door, identity) {
        return Vec::new();
    }
    let fleet = door.engine.fleet();
    let recipes = fleet.team().into_iter().flat_map(|team| team.recipes.values());
    recipes.map(|recipe| Prompt::new(recipe.name.as_str(), recipe.about.clone(), Some(arguments(recipe)))).collect()
}

/// Returns what a prompt says, with the arguments put into the job as its fields want them.
pub(super) fn get(
    door: &Mcp,
    identity: &Identity,
    wanted: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let fleet = door.engine.fleet();
    let recipes = fleet.team().filter(|_| may_run(door, identity)).map(|team| &team.recipes);
    let recipe = recipes.and_then(|recipes| recipes.get(&wanted.name.as_str().into()));
    let Some(recipe) = recipe else {
        let valid = recipes.into_iter().flat_map(|recipes| recipes.keys()).map(|name| name.as_str());
        return Err(ErrorData::invalid_params(Refusal::unknown("prompt", &wanted.name, valid).to_string(), None));
    };
    let given = wanted.arguments.clone().unwrap_or_default();
    let properties = properties(recipe);
    let known: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
    if let Some(stranger) = given.keys().find(|name| !known.contains(name.as_str())) {
        let refusal = Refusal::unknown("argument", stranger, known.iter().copied());
        return Err(ErrorData::invalid_params(refusal.to_string(), None));
    }
    let read = |(name, value): (&String, &Value)| (name.clone(), read(&properties[name], value));
    let job: Map<String, Value> = given.iter().map(read).collect();
    let missing: Vec<&str> = required(recipe).into_iter().filter(|name| !job.contains_key(*name)).collect();
    let mut text = format!(
        "Run fleetd's recipe \"{}\" with the tool fleet_run: recipe \"{}\", job {}.",
        recipe.name,
        recipe.name,
        Value::Object(job.clone())
    );
    if !missing.is_empty() {
        text += &format!(" The job still needs {}: ask me, or find out.", missing.join(", "));
    }
    if let Err(misfit) = door.engine.check_job(&recipe.name, &Value::Object(job))
        && missing.is_empty()
    {
        text += &format!(" It is not taken so: {misfit}. Mend the job first.");
    }
    text += " Give it a `wait` and tell me what came of it; if it asks something, ask me.";
    let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    Ok(match &recipe.about {
        Some(about) => result.with_description(about.clone()),
        None => result,
    })
}

fn may_run(door: &Mcp, identity: &Identity) -> bool {
    match rules::allowed(identity.caller.kind(), Verb::Run, Door::Mcp) {
        Verdict::Yes => true,
        Verdict::WithSeat => door.engine.fleet().seat().is_none(),
        Verdict::No => false,
    }
}

fn arguments(recipe: &RecipeSpec) -> Vec<PromptArgument> {
    let required = required(recipe);
    let argument = |(name, schema): (&String, &Value)| {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or("value");
        let about = schema.get("description").and_then(Value::as_str).map_or_else(|| kind.to_string(), String::from);
        let needed = required.contains(name.as_str());
        PromptArgument::new(name.as_str()).with_description(about).with_required(needed)
    };
    properties(recipe).iter().map(argument).collect()
}

fn properties(recipe: &RecipeSpec) -> Map<String, Value> {
    recipe.input.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn required(recipe: &RecipeSpec) -> BTreeSet<&str> {
    let list = recipe.input.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A client gives every argument as a text: where a text is wanted it is one, whatever it looks like. All else is written
/// as JSON, and a list of one text may stand there as that text.
fn read(schema: &Value, given: &Value) -> Value {
    let kinds = |schema: &Value| match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.clone()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let wants = |schema: &Value, kind: &str| kinds(schema).iter().any(|one| one == kind);
    let Some(text) = given.as_str().filter(|_| !wants(schema, "string")) else { return given.clone() };
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => Value::Array(list),
        Ok(value) if !wants(schema, "array") => value,
        _ if wants(schema, "array") && schema.get("items").is_some_and(|items| wants(items, "string")) => {
            Value::Array(vec![given.clone()])
        }
        _ => given.clone(),
    }
}
