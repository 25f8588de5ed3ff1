//! What `run:send` is given: the table of fields, read and checked.
//! Its function `on_ask` never comes here; the prelude has taken it out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Reached, address, cut, step};
use crate::charter::describe;
use crate::charter::spec::{Fields, Wrong};
use crate::fleet::routing::check_files;
use crate::fleet::run::{StepRequest, StepSend};
use crate::fleet::shape::{CORRECTIONS, Shape};
use crate::fleet::team::Team;
use crate::fleet::turn::Priority;

/// Reads what `run:send` was given, but for its function.
pub(super) fn read(spec: &Value, on_ask: bool, team: &Team) -> Result<Reached, String> {
    let read = || {
        let fields = Fields::of("run:send".to_owned(), spec, describe::SEND)?;
        Ok((
            fields.text("to")?,
            fields.text("prompt")?,
            fields.text("kind")?,
            fields.span("deadline")?,
            fields.span("timeout")?,
            fields.count("retries", 0, 0)?,
            fields.text("priority")?,
            fields.texts("files")?.unwrap_or_default(),
            shape(&fields, team)?,
        ))
    };
    let (to, prompt, kind, deadline, timeout, retries, priority, files, shape) =
        read().map_err(|wrong: Wrong| wrong.message)?;
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
    if let Some(timeout) = timeout {
        asked["timeout"] = timeout.0.into();
    }
    if on_ask {
        asked["on_ask"] = Value::Bool(true);
    }
    if let Some(shape) = &shape {
        asked["schema"] = json!(shape);
    }
    let to_said = to.as_ref().map_or("auto".to_owned(), ToString::to_string);
    let what = format!("to {to_said}: {}", cut(&prompt));
    let send = StepSend {
        to,
        because: None,
        routed: None,
        prompt: prompt.into(),
        kind,
        files,
        deadline,
        timeout,
        retries,
        priority,
        shape,
        on_ask,
    };
    Ok(step("send", what, &asked, StepRequest::Send(send)))
}

fn shape(fields: &Fields<'_>, team: &Team) -> Result<Option<Arc<Shape>>, Wrong> {
    let corrections = fields.count("corrections", 0, CORRECTIONS)?;
    let Some(schema) = fields.get("schema") else {
        return match fields.get("corrections") {
            None => Ok(None),
            Some(_) => fields.refuse("corrections", "there is no 'schema' that an answer must fit"),
        };
    };
    match Shape::read(schema, Some(corrections), &team.shapes) {
        Ok(shape) => Ok(Some(Arc::new(shape))),
        Err(why) => fields.refuse("schema", why),
    }
}
