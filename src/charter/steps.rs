//! What a recipe asks for when it waits: the table that the prelude yielded, read and checked.
//! Nothing is sent or recorded here. The hash covers what was asked for and never what was drawn, or no replay fits.

mod send;

use mlua::{Function, Table, Value as LuaValue};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::describe;
use super::json;
use super::schema::check_job;
use super::sources::hex;
use super::spec::{Fields, budget, kind, span};
use crate::fleet::asked::ANSWER;
use crate::fleet::commands::{self, Command};
use crate::fleet::ids::RecipeName;
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{RunAnswer, StepCommand, StepRecipe, StepRequest};
use crate::fleet::team::{Address, Team};

/// A request of a recipe.
pub(super) enum Asked {
    /// A step for the fleet.
    Step {
        /// The step.
        step: Box<Reached>,
        /// What answers the questions that are asked in its turns.
        on_ask: Option<Function>,
    },
    /// Do this for every item at once.
    Parts {
        /// What comes of it.
        kind: Kind,
        /// The items.
        items: Vec<LuaValue>,
        /// What to do.
        function: Function,
    },
}

/// What comes of parts that are begun at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What each of them returned.
    Each,
    /// The first good one.
    Race,
    /// What so many of them agree on.
    Vote {
        /// How many.
        quorum: usize,
    },
}

impl Kind {
    /// Returns the verb.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Kind::Each => "each",
            Kind::Race => "race",
            Kind::Vote { .. } => "vote",
        }
    }
}

/// A step with what identifies it.
pub(super) struct Reached {
    /// The verb.
    pub verb: &'static str,
    /// The request in a few words.
    pub what: String,
    /// The hash of the request.
    pub hash: String,
    /// What it wants.
    pub request: StepRequest,
}

/// How many items `run:each` takes, and its like.
pub(super) const MOST_ITEMS: usize = 10_000;
/// The one field of what `run:command` is given first.
const ARGV: &[describe::Field] = &[describe::Field { name: "argv", kind: "string[]", about: "" }];
/// How many bytes of a text are shown in `what`.
const SHOWN: usize = 60;

/// Reads a request; the error is the author's mistake.
pub(super) fn read(request: &Table, team: &Team, draw: &mut dyn FnMut() -> u64) -> Result<Asked, String> {
    let verb: String = request.get("verb").map_err(|error| error.to_string())?;
    let get = |name: &str| -> Result<Value, String> {
        let value: LuaValue = request.raw_get(name).map_err(|error| error.to_string())?;
        json::to_json(&value, json::STEP_BYTES).map_err(|why| format!("run:{verb}: {why}"))
    };
    let text = |name: &str, said: &str| match get(name)? {
        Value::String(text) => Ok(text),
        other => Err(format!("run:{verb}: expected {said}, got {}", kind(&other))),
    };
    let step = match verb.as_str() {
        "each" | "race" | "vote" => return parts(request, &verb),
        "send" => {
            let on_ask: Option<Function> = request.raw_get("on_ask").map_err(|error| error.to_string())?;
            let step = Box::new(send::read(&get("spec")?, on_ask.is_some(), team)?);
            return Ok(Asked::Step { step, on_ask });
        }
        "recipe" => {
            let (name, spec) = (text("name", "the recipe's name, a text")?, get("spec")?);
            recipe(&name, get("job")?, &spec, team)?
        }
        "command" => command(&get("list")?, &get("spec")?)?,
        "sleep" => {
            let span = span(&get("span")?).map_err(|why| format!("run:sleep: {why}"))?;
            step("sleep", span.to_string(), &json!(span.0), StepRequest::Sleep(span))
        }
        "now" => step("now", String::new(), &Value::Null, StepRequest::Now),
        "random" => {
            let (low, high) = (get("low")?, get("high")?);
            let drawn = random(&low, &high, draw).map_err(|why| format!("run:random: {why}"))?;
            let what = match (&low, &high) {
                (Value::Null, _) => String::new(),
                (low, Value::Null) => low.to_string(),
                (low, high) => format!("{low}, {high}"),
            };
            step("random", what, &json!([low, high]), StepRequest::Value(drawn))
        }
        "note" => {
            let name = text("name", "the note's name, a text")?;
            let value = get("value")?;
            let sets: bool = request.raw_get("sets").map_err(|error| error.to_string())?;
            let what = match sets {
                true => cut(&format!("{name} = {value}")),
                false => name.clone(),
            };
            // Earlier versions took null for a question; their journals fit all the same.
            let asked = json!([name, value]);
            let value = sets.then_some(value);
            step("note", what, &asked, StepRequest::Note { name, value })
        }
        "progress" => {
            let line = text("text", "a text")?;
            step("progress", cut(&line), &json!(line), StepRequest::Progress(line.clone()))
        }
        "ask_leader" => {
            let question = text("text", "the question, a text")?;
            if question.trim().is_empty() {
                return Err("run:ask_leader: the question is empty".to_owned());
            }
            step("ask_leader", cut(&question), &json!(question), StepRequest::Ask(question.as_str().into()))
        }
        other => return Err(format!("'{other}' is not a step")),
    };
    Ok(Asked::Step { step: Box::new(step), on_ask: None })
}

/// Returns the step with which a run answers a question, or passes it on.
pub(super) fn answer(answer: RunAnswer) -> Reached {
    let what = match (&answer.text, &answer.fault) {
        (Some(text), _) => cut(text),
        (None, Some(fault)) => format!("failed: {}", cut(fault)),
        (None, None) => "passed on".to_owned(),
    };
    // What was wrong is for people, and may be said in other words by a later version.
    let asked = json!([answer.question, answer.text]);
    step(ANSWER, what, &asked, StepRequest::Answer(answer))
}

/// Returns the step that gives up the parts that go on: `decided` is what decided it.
pub(super) fn give_up(kind: Kind, what: String, decided: &Value) -> Reached {
    step(kind.verb(), what.clone(), decided, StepRequest::GiveUp(what))
}

fn parts(request: &Table, verb: &str) -> Result<Asked, String> {
    let wrong = |error: mlua::Error| format!("run:{verb}: {error}");
    let list: Table = request.raw_get("list").map_err(wrong)?;
    let length = list.raw_len();
    if length > MOST_ITEMS {
        return Err(format!(
            "run:{verb} takes at most {MOST_ITEMS} items, got {length}; give each part several of them"
        ));
    }
    let first: LuaValue = list.raw_get(1).map_err(wrong)?;
    if length == 0 || first.is_nil() {
        let (key, _) = match list.pairs::<LuaValue, LuaValue>().next() {
            Some(pair) => pair.map_err(wrong)?,
            None => (LuaValue::Nil, LuaValue::Nil),
        };
        if !key.is_nil() {
            return Err(format!(
                "run:{verb}: expected a list, got a table with names; their order would not be certain"
            ));
        }
    }
    let mut items = Vec::with_capacity(length);
    for n in 1..=length {
        items.push(list.raw_get(n).map_err(wrong)?);
    }
    let kind = match verb {
        "race" => Kind::Race,
        "vote" => Kind::Vote { quorum: quorum(request, items.len())? },
        _ => Kind::Each,
    };
    Ok(Asked::Parts { kind, items, function: request.raw_get("fn").map_err(wrong)? })
}

/// Reads how many votes decide: more than half of the parts, unless it is said.
fn quorum(request: &Table, parts: usize) -> Result<usize, String> {
    let spec: LuaValue = request.raw_get("spec").map_err(|error| format!("run:vote: {error}"))?;
    if spec.is_nil() {
        return Ok(parts / 2 + 1);
    }
    let spec = json::to_json(&spec, json::STEP_BYTES).map_err(|why| format!("run:vote: {why}"))?;
    let read = || Fields::of("run:vote".to_owned(), &spec, describe::VOTE)?.count("quorum", 1, 0);
    let said = read().map_err(|wrong| wrong.message)? as usize;
    match said {
        0 => Ok(parts / 2 + 1),
        said if said > parts => Err(format!("run:vote: a quorum of {said} cannot be reached with {parts} parts")),
        said => Ok(said),
    }
}

fn command(argv: &Value, spec: &Value) -> Result<Reached, String> {
    let read = || {
        let argv = json!({ "argv": argv });
        let argv = Fields::of("run:command".to_owned(), &argv, ARGV)?.texts("argv")?.unwrap_or_default();
        let empty = json!({});
        let spec = if spec.is_null() { &empty } else { spec };
        let fields = Fields::of("run:command".to_owned(), spec, describe::COMMAND)?;
        let timeout = fields.span("timeout")?.unwrap_or(commands::TIMEOUT);
        if timeout > commands::MOST {
            return fields.refuse("timeout", format!("a command may take {} at most", commands::MOST));
        }
        Ok((argv, fields.text("cwd")?, fields.text("stdin")?.unwrap_or_default(), timeout))
    };
    let (argv, cwd, stdin, timeout) = read().map_err(|wrong: super::spec::Wrong| wrong.message)?;
    match argv.first() {
        None => return Err("run:command: name a program and its arguments, such as { \"cargo\", \"test\" }".to_owned()),
        Some(_) if argv.iter().any(|word| word.contains('\0')) => {
            return Err("run:command: an argument holds a zero byte".to_owned());
        }
        Some(_) => {}
    }
    let asked = json!([argv, cwd, stdin, timeout.0]);
    let what = cut(&argv.join(" "));
    let command = Command { argv, cwd: cwd.map(Into::into), timeout };
    Ok(step("command", what, &asked, StepRequest::Command(StepCommand { command, stdin: stdin.into() })))
}

fn recipe(name: &str, job: Value, spec: &Value, team: &Team) -> Result<Reached, String> {
    let recipe = RecipeName::from(name);
    let Some(declared) = team.recipes.get(&recipe) else {
        let names = team.recipes.keys().map(|name| name.as_str());
        return Err(format!("run:recipe: {}", Refusal::unknown("recipe", name, names)));
    };
    // An empty Lua table is a list; as a job it is an object without fields.
    let job = match job {
        Value::Null => json!({}),
        Value::Array(list) if list.is_empty() => json!({}),
        job => job,
    };
    check_job(declared, &job).map_err(|refusal| format!("run:recipe: {refusal}"))?;
    let read = || {
        let empty = json!({});
        let fields = Fields::of("run:recipe".to_owned(), if spec.is_null() { &empty } else { spec }, describe::SUB)?;
        Ok((fields.span("deadline")?, budget(&fields)?))
    };
    let (deadline, budget) = read().map_err(|wrong: super::spec::Wrong| wrong.message)?;
    let asked = json!([name, job, deadline.map(|span| span.0), budget]);
    let what = format!("{name} {}", cut(&job.to_string()));
    let wanted = StepRecipe {
        recipe,
        job: job.into(),
        deadline: deadline.into_iter().chain(declared.deadline).min(),
        budget: budget.or(declared.budget),
    };
    Ok(step("recipe", what, &asked, StepRequest::Recipe(wanted)))
}

/// Returns what a name addresses: a role of the team, else a worker.
pub(super) fn address(name: &str, team: &Team) -> Address {
    match team.roles.get_key_value(&name.into()) {
        Some((role, _)) => Address::Role(role.clone()),
        None => Address::Worker(name.into()),
    }
}

fn step(verb: &'static str, what: String, asked: &Value, request: StepRequest) -> Reached {
    let mut digest = Sha256::new();
    digest.update(verb);
    digest.update([0]);
    digest.update(asked.to_string());
    let hash = hex(&digest.finalize()[..16]);
    Reached { verb, what, hash, request }
}

fn random(low: &Value, high: &Value, draw: &mut dyn FnMut() -> u64) -> Result<Value, String> {
    let whole = |value: &Value, which: &str| {
        value
            .as_i64()
            .filter(|n| n.abs() < 1 << 53)
            .ok_or_else(|| format!("{which} must be a whole number, got {value}"))
    };
    let (low, high) = match (low, high) {
        (Value::Null, Value::Null) => {
            let fraction = (draw() >> 11) as f64 / (1u64 << 53) as f64;
            return Ok(Value::from(fraction));
        }
        (high, Value::Null) => (1, whole(high, "the limit")?),
        (low, high) => (whole(low, "the lower limit")?, whole(high, "the upper limit")?),
    };
    if low > high {
        return Err(format!("the range {low}..{high} is empty"));
    }
    let width = high.abs_diff(low) + 1;
    let offset = (u128::from(draw()) * u128::from(width)) >> 64;
    Ok(Value::from(low + offset as i64))
}

fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let mut end = line.len().min(SHOWN);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    match end < text.trim_end().len() {
        true => format!("{}…", &line[..end]),
        false => line.to_owned(),
    }
}
