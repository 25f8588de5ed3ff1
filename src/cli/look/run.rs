//! Runs: one line each, one in full, and the recipes that can be started.
//! How long an open run takes is told from a moment that is handed in; its steps are drawn in `steps`.

use std::collections::HashMap;

use serde_json::Value;

use super::answer::question;
use super::table::{Column, draw as table};
use super::{Look, safe, steps, wrap};
use crate::engine::requests::{Recipes, RunDetail, RunResult};
use crate::fleet::ids::RunId;
use crate::fleet::run::{Run, RunOutcome};
use crate::fleet::time::{Span, Time};

const RUNS: &[Column] = &[
    Column::new("RUN", 9),
    Column::new("RECIPE", 8),
    Column::new("STATE", 9),
    Column::new("TURNS", 6).right(),
    Column::new("TOOK", 5).right(),
    Column::new("OWNER", 2),
    Column::new("PROGRESS", 4).bends(),
];

/// Draws a run in one line; `now` tells how long an open one takes.
pub fn line(run: &Run, now: Option<Time>, look: &Look) -> String {
    let mut parts = vec![look.bold(&run.id.to_string()), safe(run.recipe.as_str()).into_owned()];
    let took = run.ended.or(now).map(|end| end.since(run.started));
    parts.push(match (run.outcome, took) {
        (Some(outcome), Some(took)) => format!("{} in {took}", look.state(outcome.word())),
        (Some(outcome), None) => look.state(outcome.word()),
        (None, Some(took)) => format!("running for {took}"),
        (None, None) => "running".to_string(),
    });
    parts.push(format!("{}/{} turns", run.settled, run.sent));
    let said = if run.outcome.is_some() { &run.why } else { &run.progress };
    parts.extend(said.as_ref().map(|said| safe(said).into_owned()));
    parts.join(look.dot())
}

/// Draws the value of a run as JSON.
pub fn value(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Draws the value of an ended run; one that came to nothing has none.
pub fn value_of(result: &RunResult) -> Option<String> {
    match result.run.outcome {
        None => None,
        Some(RunOutcome::Done) => Some(value(&result.value)),
        Some(_) if result.value.is_null() => None,
        Some(_) => Some(value(&result.value)),
    }
}

/// Draws the newest runs.
pub fn list(runs: &[Run], now: Time, look: &Look) -> String {
    if runs.is_empty() {
        return "no runs yet; fleetd recipes lists what can be started".to_string();
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let said = if run.outcome.is_some() { &run.why } else { &run.progress };
            vec![
                run.id.to_string(),
                safe(run.recipe.as_str()).into_owned(),
                look.state(run.outcome.map_or("running", |outcome| outcome.word())),
                format!("{}/{}", run.settled, run.sent),
                run.ended.unwrap_or(now).since(run.started).to_string(),
                run.owner.to_string(),
                safe(said.as_deref().unwrap_or_default()).lines().next().unwrap_or_default().to_string(),
            ]
        })
        .collect();
    table(look, RUNS, &rows)
}

/// Draws a run in full: its line, its steps, its questions. Its value goes elsewhere.
pub fn detail(detail: &RunDetail, below: &HashMap<RunId, RunDetail>, now: Time, look: &Look) -> String {
    let run = &detail.result.run;
    let mut out = vec![line(run, Some(now), look)];
    out.extend(bounds(run, now).map(|text| format!("  {}", safe(&text))));
    out.extend(steps::tree(detail, below, now, look));
    out.extend(detail.questions.iter().map(|asked| question(asked, look)));
    out.join("\n")
}

/// Says what a run may use and has used, and how long it may go on.
fn bounds(run: &Run, now: Time) -> Option<String> {
    let mut parts = Vec::new();
    if let (Some(deadline), None) = (run.deadline, run.outcome) {
        parts.push(match deadline > now {
            true => format!("{} to its deadline", deadline.since(now)),
            false => "its deadline has passed".to_string(),
        });
    }
    parts.extend(run.usage.as_ref().map(|usage| format!("used {}", steps::used(usage))));
    if let Some(budget) = &run.budget {
        let turns = budget.turns.map(|n| format!("{n} turns"));
        let tokens = budget.tokens.map(|n| format!("{n} tokens"));
        let cost = budget.cost.map(|cost| format!("${cost:.2}"));
        let all: Vec<String> = [turns, tokens, cost].into_iter().flatten().collect();
        parts.push(format!("its budget: {}", all.join(", ")));
    }
    parts.extend(run.parent.as_ref().map(|parent| format!("below {} ({})", parent.run, parent.path)));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Draws the recipes of the charter in force.
pub fn recipes(recipes: &Recipes, look: &Look) -> String {
    if recipes.recipes.is_empty() {
        return format!("charter generation {} declares no recipes", recipes.generation);
    }
    let one = |recipe: &crate::fleet::team::RecipeSpec| {
        let mut out = look.bold(&safe(recipe.name.as_str()));
        if let Some(about) = &recipe.about {
            out = format!("{out}\n{}", wrap(&safe(about), look.width, "  "));
        }
        let deadline = recipe.deadline.map(|span: Span| format!("; at most {span}")).unwrap_or_default();
        let job = format!("job: {}{deadline}", fields(&recipe.input));
        format!("{out}\n{}", wrap(&safe(&job), look.width, "  "))
    };
    recipes.recipes.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Returns the fields of a job's schema in a few words: `parts: array of string, quorum: integer (optional)`.
fn fields(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|map| !map.is_empty()) else {
        return "nothing".to_string();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let one = |(name, schema): (&String, &Value)| {
        let optional = if is_required(name) { "" } else { " (optional)" };
        format!("{name}: {}{optional}", kind(schema))
    };
    properties.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn kind(schema: &Value) -> String {
    match (schema.get("type"), schema.get("items")) {
        (Some(Value::String(name)), Some(items)) if name == "array" => format!("array of {}", kind(items)),
        (Some(Value::String(name)), _) => name.clone(),
        _ => "anything".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    fn run() -> Value {
        json!({
            "id": "r3", "recipe": "bug-hunt", "owner": "operator", "generation": {"number": 1, "hash": "x"}, "started": 1000,
            "finished_steps": 1, "sent": 8, "settled": 5, "progress": "judging 5 lists, 3 missing"
        })
    }

    #[test]
    fn runs_are_listed_with_where_they_stand() {
        let mut ended = run();
        ended["outcome"] = json!("timed_out");
        ended["why"] = json!("30m passed");
        ended["ended"] = json!(62_000);
        let runs: Vec<Run> = serde_json::from_value(json!([run(), ended])).expect("runs");
        insta::assert_snapshot!(list(&runs, Time(5_200), &plain(80)), @"
        RUN  RECIPE    STATE      TURNS   TOOK  OWNER     PROGRESS
        r3   bug-hunt  running      5/8   4.2s  operator  judging 5 lists, 3 missing
        r3   bug-hunt  timed_out    5/8  1m01s  operator  30m passed
        ");
        insta::assert_snapshot!(list(&runs, Time(5_200), &plain(40)), @"
        RUN  RECIPE    STATE      TURNS   TOOK
        r3   bug-hunt  running      5/8   4.2s
        r3   bug-hunt  timed_out    5/8  1m01s
        ");
    }

    #[test]
    fn a_run_is_shown_with_its_steps_and_questions() {
        let mut shown = run();
        shown["value"] = Value::Null;
        shown["steps"] = json!([
            {"run": "r3", "path": "each#1[1].send#1", "verb": "send", "hash": "x", "what": "to w-local: Look for bugs in a", "at": "recipes/hunt.lua:7", "began": 1_012, "turn": "t4", "seq": 0},
            {"run": "r3", "path": "ask_leader#1", "verb": "ask_leader", "hash": "y", "what": "Merge?", "at": "recipes/hunt.lua:12", "began": 4_000, "question": "q5"}
        ]);
        shown["questions"] = json!([{"question": "q5", "run": "r3", "text": "Merge?", "at": 4000}]);
        let shown: RunDetail = serde_json::from_value(shown).expect("a run");
        insta::assert_snapshot!(detail(&shown, &HashMap::new(), Time(5_200), &plain(80)), @"
        r3 · bug-hunt · running for 4.2s · 5/8 turns · judging 5 lists, 3 missing
                each#1[1]
          +12ms   ● send#1 t4: to w-local: Look for bugs in a (recipes/hunt.lua:7)
            +3s ○ ask_leader#1 for 1.2s: Merge? (recipes/hunt.lua:12)
          q5 of r3: Merge?
          answer: fleetd reply q5 TEXT
        ");
    }

    #[test]
    fn a_recipe_says_what_its_job_needs() {
        let shown: Recipes = serde_json::from_value(json!({"generation": 1, "recipes": [{
            "name": "bug-hunt", "about": "Workers search parts; a judge ranks.", "deadline": "30m", "at": "recipes/hunt.lua:1",
            "input": {"type": "object", "required": ["parts"], "properties": {"parts": {"type": "array", "items": {"type": "string"}}, "quorum": {"type": "integer"}}}
        }]}))
        .expect("recipes");
        insta::assert_snapshot!(recipes(&shown, &plain(80)), @"
        bug-hunt
          Workers search parts; a judge ranks.
          job: parts: array of string, quorum: integer (optional); at most 30m00s
        ");
    }
}
