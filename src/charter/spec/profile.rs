//! The spec of a profile, read field by field: what every launcher understands. Which of the fields a launcher needs and
//! takes it says itself, once all files are read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::describe;
use super::{Fields, Wrong};
use crate::engine::panes::Key;
use crate::fleet::grants::{Grant, Grants};
use crate::fleet::ids::ProfileName;
use crate::fleet::life::{ContextCap, Restarts};
use crate::fleet::refusal::nearest;
use crate::fleet::team::Profile;
use crate::fleet::typing::Typing;
use crate::fleet::work::{WorktreeSpec, copy_parts};

/// Reads the spec of a profile; its launcher says later which of the fields it needs and takes.
pub(in crate::charter) fn profile(name: &str, value: &Value) -> Result<Declared, Wrong> {
    let fields = Fields::of(format!("profile '{name}'"), value, describe::PROFILE)?;
    let launcher = fields.text("launcher")?;
    let launcher = fields.need("launcher", launcher, "such as \"exec\" or \"typed\"")?;
    let command = fields.texts("command")?.unwrap_or_default();
    if fields.get("command").is_some() && command.first().is_none_or(String::is_empty) {
        return fields.refuse("command", "a worker needs a program to start");
    }
    if command.iter().any(|part| part.contains('\0')) {
        return fields.refuse("command", "a NUL byte cannot be in a command");
    }
    let env = variables(&fields)?;
    let profile = Profile {
        name: ProfileName::from(name),
        about: fields.text("about")?,
        command,
        cwd: fields.text("cwd")?.map(Into::into),
        env,
        timeout: fields.span("timeout")?,
        idle_ttl: fields.span("idle_ttl")?,
        context_cap: context_cap(&fields)?,
        restarts: restarts(&fields)?,
        grants: grants(&fields)?,
        typing: fields.get("typing").map(|_| typing(&fields)).transpose()?,
        model: fields.text("model")?,
        endpoint: fields.text("endpoint")?,
        worktree: worktree(&fields)?,
        plan: None,
        launcher,
    };
    let options = match fields.get("options") {
        None => Map::new(),
        Some(Value::Object(options)) => options.clone(),
        Some(Value::Array(list)) if list.is_empty() => Map::new(),
        Some(other) => return fields.wrong("options", "a table", other),
    };
    Ok(Declared { profile, options, given: fields.map.keys().cloned().collect() })
}

/// Reads how full a session may become.
fn context_cap(fields: &Fields) -> Result<Option<ContextCap>, Wrong> {
    let Some(value) = fields.get("context_cap") else { return Ok(None) };
    let inner = Fields::of(format!("{}: field 'context_cap'", fields.what), value, describe::CONTEXT_CAP)?;
    let given = |name: &str| inner.get(name).map(|_| inner.count(name, 1, 0)).transpose();
    let cap = ContextCap { turns: given("turns")?, tokens: given("tokens")?.map(u64::from) };
    match cap {
        ContextCap { turns: None, tokens: None } => {
            fields.refuse("context_cap", "name what is counted, such as { turns = 40, tokens = 150000 }")
        }
        cap => Ok(Some(cap)),
    }
}

/// Reads how often sessions may fail.
fn restarts(fields: &Fields) -> Result<Option<Restarts>, Wrong> {
    let Some(value) = fields.get("restarts") else { return Ok(None) };
    let inner = Fields::of(format!("{}: field 'restarts'", fields.what), value, describe::RESTARTS)?;
    let usual = Restarts::default();
    let failures = inner.count("failures", 1, usual.failures)?;
    Ok(Some(Restarts { failures, within: inner.span("within")?.unwrap_or(usual.within) }))
}

/// A profile as it was written: its launcher has not seen it yet.
#[derive(Clone, Debug)]
pub(in crate::charter) struct Declared {
    /// What every launcher understands.
    pub profile: Profile,
    /// What only its own does.
    pub options: Map<String, Value>,
    /// The fields that were written.
    pub given: Vec<String>,
}

/// Reads variables that are set for a worker.
pub(in crate::charter) fn variables(fields: &Fields) -> Result<BTreeMap<String, String>, Wrong> {
    let env = fields.map("env")?;
    for (key, text) in &env {
        if key.is_empty() || key.contains(['=', '\0']) || text.contains('\0') {
            return fields.refuse("env", format!("'{key}' cannot be a variable"));
        }
    }
    Ok(env)
}

/// Reads how a program is typed to.
pub(in crate::charter) fn typing(fields: &Fields) -> Result<Box<Typing>, Wrong> {
    let value = fields.get("typing").unwrap_or(&Value::Null);
    let inner = Fields::of(format!("{}: field 'typing'", fields.what), value, describe::TYPING)?;
    let usual = Typing::default();
    let list = |name: &str, usual: Vec<String>| match inner.texts(name)? {
        Some(words) if words.iter().any(|word| word.trim().is_empty()) => {
            inner.refuse(name, "an empty text is on every screen")
        }
        found => Ok(found.unwrap_or(usual)),
    };
    let (interrupt, clear) = (list("interrupt", usual.interrupt)?, list("clear", usual.clear)?);
    for (name, keys) in [("interrupt", &interrupt), ("clear", &clear)] {
        if let Some(wrong) = keys.iter().find_map(|key| Key::parse(key).err()) {
            return inner.refuse(name, wrong);
        }
    }
    let prompt = list("prompt", usual.prompt)?;
    if prompt.is_empty() {
        return inner.refuse("prompt", "without a mark of the composer nothing could ever be typed");
    }
    Ok(Box::new(Typing {
        prompt,
        placeholder: list("placeholder", usual.placeholder)?,
        busy: list("busy", usual.busy)?,
        dialog: list("dialog", usual.dialog)?,
        pasted: list("pasted", usual.pasted)?,
        near: inner.count("near", 0, usual.near as u32)? as usize,
        interrupt,
        clear,
        ready_timeout: inner.span("ready_timeout")?.unwrap_or(usual.ready_timeout),
        quiet: inner.span("quiet")?.unwrap_or(usual.quiet),
        limit: inner.count("limit", 200, usual.limit as u32)? as usize,
    }))
}

/// Reads which worktree the workers of a profile get.
fn worktree(fields: &Fields) -> Result<Option<Box<WorktreeSpec>>, Wrong> {
    let none = Value::Object(Map::new());
    let value = match fields.get("worktree") {
        None | Some(Value::Bool(false)) => return Ok(None),
        Some(Value::Bool(true)) => &none,
        Some(value @ Value::Object(_)) => value,
        // An empty table crosses as a list.
        Some(Value::Array(list)) if list.is_empty() => &none,
        Some(other) => return fields.wrong("worktree", "true, or a table such as { base = \"main\" }", other),
    };
    let inner = Fields::of(format!("{}: field 'worktree'", fields.what), value, describe::WORKTREE)?;
    let base = inner.text("base")?;
    if base.as_ref().is_some_and(|base| base.trim().is_empty() || base.starts_with('-') || base.contains('\0')) {
        return inner.refuse("base", "expected a branch, a tag or a commit");
    }
    let copy = inner.texts("copy")?.unwrap_or_default();
    if let Some((pattern, why)) = copy.iter().find_map(|pattern| Some((pattern, copy_parts(pattern).err()?))) {
        return inner.refuse("copy", format!("'{pattern}': {why}"));
    }
    let setup = inner.texts("setup")?.unwrap_or_default();
    if setup.first().is_some_and(String::is_empty) || setup.iter().any(|part| part.contains('\0')) {
        return inner.refuse("setup", "expected a program and its arguments, such as { \"npm\", \"ci\" }");
    }
    let setup_timeout = inner.span("setup_timeout")?.unwrap_or(WorktreeSpec::SETUP);
    Ok(Some(Box::new(WorktreeSpec { base, copy, setup, setup_timeout })))
}

fn grants(fields: &Fields) -> Result<Grants, Wrong> {
    let Some(words) = fields.texts("grants")? else { return Ok(Grants::default()) };
    let valid = Grant::ALL.map(Grant::word);
    let known = |word: &String| match Grant::ALL.into_iter().find(|grant| grant.word() == word) {
        Some(grant) => Ok(grant),
        None => {
            let near = nearest(word, valid.iter().copied()).map(|near| format!("did you mean '{near}'? "));
            let near = near.unwrap_or_default();
            fields.refuse("grants", format!("there is no grant '{word}'; {near}valid: {}", valid.join(", ")))
        }
    };
    words.iter().map(known).collect()
}

#[cfg(test)]
mod tests;
