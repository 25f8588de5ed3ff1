//! What a recipe asks for when it waits: the table that the prelude yielded, read and checked.
//! Nothing is sent or recorded here. The hash covers what was asked for and never what was drawn, or no replay fits.

use mlua::{Function, Table, Value as LuaValue};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::describe;
use super::json;
use super::sources::hex;
use super::spec::{Fields, kind, span};
use crate::fleet::asked::ANSWER;
use crate::fleet::routing::check_files;
use crate::fleet::run::{RunAnswer, StepRequest, StepSend};
use crate::fleet::team::{Address, Team};
use crate::fleet::turn::Priority;

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
    Each {
        /// The items.
        items: Vec<LuaValue>,
        /// What to do.
        function: Function,
    },
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

/// How many items `run:each` takes.
const MOST_ITEMS: usize = 10_000;
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
        "each" => return each(request),
        "send" => {
            let on_ask: Option<Function> = request.raw_get("on_ask").map_err(|error| error.to_string())?;
            let step = Box::new(send(&get("spec")?, on_ask.is_some(), team)?);
            return Ok(Asked::Step { step, on_ask });
        }
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
            let what = match value.is_null() {
                true => name.clone(),
                false => cut(&format!("{name} = {value}")),
            };
            let asked = json!([name, value]);
            let value = (!value.is_null()).then_some(value);
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

fn each(request: &Table) -> Result<Asked, String> {
    let wrong = |error: mlua::Error| format!("run:each: {error}");
    let list: Table = request.raw_get("list").map_err(wrong)?;
    let length = list.raw_len();
    if length > MOST_ITEMS {
        return Err(format!("run:each takes at most {MOST_ITEMS} items, got {length}; give each part several of them"));
    }
    let first: LuaValue = list.raw_get(1).map_err(wrong)?;
    if length == 0 || first.is_nil() {
        let (key, _) = match list.pairs::<LuaValue, LuaValue>().next() {
            Some(pair) => pair.map_err(wrong)?,
            None => (LuaValue::Nil, LuaValue::Nil),
        };
        if !key.is_nil() {
            return Err(
                "run:each: expected a list, got a table with names; their order would not be certain".to_owned()
            );
        }
    }
    let mut items = Vec::with_capacity(length);
    for n in 1..=length {
        items.push(list.raw_get(n).map_err(wrong)?);
    }
    Ok(Asked::Each { items, function: request.raw_get("fn").map_err(wrong)? })
}

fn send(spec: &Value, on_ask: bool, team: &Team) -> Result<Reached, String> {
    let read = || {
        let fields = Fields::of("run:send".to_owned(), spec, describe::SEND)?;
        Ok((
            fields.text("to")?,
            fields.text("prompt")?,
            fields.text("kind")?,
            fields.span("deadline")?,
            fields.count("retries", 0, 0)?,
            fields.text("priority")?,
            fields.texts("files")?.unwrap_or_default(),
        ))
    };
    let (to, prompt, kind, deadline, retries, priority, files) =
        read().map_err(|wrong: super::spec::Wrong| wrong.message)?;
    check_files(&files).map_err(|refusal| format!("run:send: field 'files': {refusal}"))?;
    let prompt = prompt.ok_or("run:send: field 'prompt' is missing")?;
    if prompt.trim().is_empty() {
        return Err("run:send: the prompt is empty".to_owned());
    }
    let priority = match priority.as_deref() {
        None | Some("normal") => Priority::Normal,
        Some("now") => Priority::Now,
        Some(other) => {
            return Err(format!("run:send: field 'priority': there is no priority '{other}'; valid: now, normal"));
        }
    };
    let to = match to.as_deref() {
        None | Some("auto") => None,
        Some(name) => Some(address(name, team)),
    };
    let mut asked = json!({
        "to": to.as_ref().map(ToString::to_string),
        "prompt": prompt,
        "kind": kind,
        "deadline": deadline.map(|span| span.0),
        "retries": retries,
        "priority": priority,
    });
    // Only then, so that a send without them keeps the hash that earlier versions recorded.
    if !files.is_empty() {
        asked["files"] = files.clone().into();
    }
    if on_ask {
        asked["on_ask"] = Value::Bool(true);
    }
    let to_said = to.as_ref().map_or("auto".to_owned(), ToString::to_string);
    let what = format!("to {to_said}: {}", cut(&prompt));
    let prompt = prompt.into();
    let send = StepSend { to, because: None, routed: None, prompt, kind, files, deadline, retries, priority, on_ask };
    Ok(step("send", what, &asked, StepRequest::Send(send)))
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
