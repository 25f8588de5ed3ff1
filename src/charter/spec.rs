//! Specs as authors write them, read field by field: what is unknown, missing or of the wrong kind is said by name.
//! Which fields there are is said in `describe`; whether the names in them exist is seen by `check`, at the end.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::describe::{self, Field};
use super::schema;
use crate::engine::panes::Key;
use crate::fleet::grants::{Grant, Grants};
use crate::fleet::ids::{ProfileName, RecipeName, RoleName};
use crate::fleet::life::{ContextCap, Restarts};
use crate::fleet::refusal::nearest;
use crate::fleet::team::{Address, Profile, RecipeSpec, Role};
use crate::fleet::time::Span;
use crate::fleet::typing::Typing;
use crate::fleet::work::{WorktreeSpec, copy_parts};

/// Fields that are planned; an author who read of them is told so.
const LATER: &[&str] = &["schema", "budget"];

/// A wrong field with what is wrong about it; the field's name helps to find its line.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The field, if one is to blame.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// A spec that is being read.
pub(super) struct Fields<'a> {
    what: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Begins to read a spec; refuses unknown fields.
    pub(super) fn of(what: String, value: &'a Value, known: &[Field]) -> Result<Self, Wrong> {
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let map = match value {
            Value::Object(map) => map,
            // An empty table crosses as a list.
            Value::Array(list) if list.is_empty() => &*EMPTY,
            Value::Null => {
                return Err(plain(format!("{what}: expected a table of fields, got nothing")));
            }
            other => {
                let got = kind(other);
                return Err(plain(format!("{what}: expected a table of fields, got {got}")));
            }
        };
        let names: Vec<&str> = known.iter().map(|field| field.name).collect();
        for name in map.keys() {
            if LATER.contains(&name.as_str()) && !names.contains(&name.as_str()) {
                return Err(Wrong {
                    field: Some(name.clone()),
                    message: format!("{what}: field '{name}' is not in this version; valid: {}", names.join(", ")),
                });
            }
            if !names.contains(&name.as_str()) {
                let hint = match nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean '{near}'? "),
                    None => String::new(),
                };
                return Err(Wrong {
                    field: Some(name.clone()),
                    message: format!("{what}: unknown field '{name}'; {hint}valid: {}", names.join(", ")),
                });
            }
        }
        Ok(Fields { what, map })
    }

    /// Returns what it is that is read.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn wrong<T>(&self, name: &str, wanted: &str, got: &Value) -> Result<T, Wrong> {
        self.refuse(name, format!("expected {wanted}, got {}", kind(got)))
    }

    pub(super) fn refuse<T>(&self, name: &str, why: impl std::fmt::Display) -> Result<T, Wrong> {
        Err(Wrong { field: Some(name.to_owned()), message: format!("{}: field '{name}': {why}", self.what) })
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => self.wrong(name, "a text", other),
        }
    }

    pub(super) fn need<T>(&self, name: &str, found: Option<T>, wanted: &str) -> Result<T, Wrong> {
        found.ok_or_else(|| plain(format!("{}: field '{name}' is missing: {wanted}", self.what)))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Wrong> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let Value::Array(items) = value else {
            return self.wrong(name, "a list of texts", value);
        };
        let mut texts = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other => {
                    let got = kind(other);
                    return self.refuse(name, format!("expected a list of texts, got {got} at [{}]", n + 1));
                }
            }
        }
        Ok(Some(texts))
    }

    pub(super) fn map(&self, name: &str) -> Result<BTreeMap<String, String>, Wrong> {
        match self.get(name) {
            None => Ok(BTreeMap::new()),
            Some(Value::Array(list)) if list.is_empty() => Ok(BTreeMap::new()),
            Some(Value::Object(map)) => {
                let mut texts = BTreeMap::new();
                for (key, value) in map {
                    match value {
                        Value::String(text) => texts.insert(key.clone(), text.clone()),
                        other => {
                            let got = kind(other);
                            return self.refuse(name, format!("expected a text for '{key}', got {got}"));
                        }
                    };
                }
                Ok(texts)
            }
            Some(other) => self.wrong(name, "a table of texts", other),
        }
    }

    pub(super) fn span(&self, name: &str) -> Result<Option<Span>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match span(value) {
                Ok(span) => Ok(Some(span)),
                Err(why) => self.refuse(name, why),
            },
        }
    }

    pub(super) fn count(&self, name: &str, least: u32, absent: u32) -> Result<u32, Wrong> {
        match self.get(name) {
            None => Ok(absent),
            Some(value @ Value::Number(n)) => match n.as_i64().map(u32::try_from) {
                Some(Ok(n)) if n >= least && n <= 1_000_000 => Ok(n),
                _ => self.refuse(name, format!("expected a whole number from {least} to 1000000, got {value}")),
            },
            Some(other) => self.wrong(name, "a whole number", other),
        }
    }
}

/// Reads a length of time: a text such as "90s" or a number of seconds.
pub(super) fn span(value: &Value) -> Result<Span, String> {
    match value {
        Value::String(text) => Span::parse(text),
        Value::Number(n) => n
            .as_f64()
            .and_then(Span::from_seconds_f64)
            .ok_or_else(|| format!("{n} seconds is not a usable length of time")),
        other => Err(format!(
            "expected a length of time such as \"90s\", \"8m\", \"2h\", or a number of seconds, got {}",
            kind(other)
        )),
    }
}

/// Reads the spec of a profile; its launcher says later which of the fields it needs and takes.
pub(super) fn profile(name: &str, value: &Value) -> Result<Declared, Wrong> {
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
pub(super) struct Declared {
    /// What every launcher understands.
    pub profile: Profile,
    /// What only its own does.
    pub options: Map<String, Value>,
    /// The fields that were written.
    pub given: Vec<String>,
}

/// Reads variables that are set for a worker.
pub(super) fn variables(fields: &Fields) -> Result<BTreeMap<String, String>, Wrong> {
    let env = fields.map("env")?;
    for (key, text) in &env {
        if key.is_empty() || key.contains(['=', '\0']) || text.contains('\0') {
            return fields.refuse("env", format!("'{key}' cannot be a variable"));
        }
    }
    Ok(env)
}

/// Reads how a program is typed to.
pub(super) fn typing(fields: &Fields) -> Result<Box<Typing>, Wrong> {
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

/// Reads the spec of a role.
pub(super) fn role(name: &str, value: &Value) -> Result<Role, Wrong> {
    let what = format!("role '{name}'");
    let fields = Fields::of(what, value, describe::ROLE)?;
    let profiles = fields.texts("profiles")?;
    let profiles = fields.need("profiles", profiles, "name at least one")?;
    if profiles.is_empty() {
        return fields.refuse("profiles", "name at least one profile");
    }
    Ok(Role {
        name: RoleName::from(name),
        about: fields.text("about")?,
        profiles: profiles.into_iter().map(ProfileName::from).collect(),
        max_busy: fields.count("max_busy", 1, 1)?,
        max_waiting: fields.count("max_waiting", 1, 100)?,
    })
}

/// Reads the spec of a recipe.
pub(super) fn recipe(name: &str, value: &Value, at: String) -> Result<RecipeSpec, Wrong> {
    let fields = Fields::of(format!("recipe '{name}'"), value, describe::RECIPE)?;
    let input = match fields.get("input") {
        None => schema::anything(),
        Some(short) => match schema::from_short(short) {
            Ok(schema) => schema,
            Err(why) => return fields.refuse("input", why),
        },
    };
    Ok(RecipeSpec {
        name: RecipeName::from(name),
        about: fields.text("about")?,
        input,
        deadline: fields.span("deadline")?,
        at,
    })
}

/// Reads what a rubric gave back.
pub(super) fn routed(value: &Value) -> Result<(Address, Option<String>), String> {
    let read = || -> Result<_, Wrong> {
        let fields = Fields::of("a rubric's answer".to_owned(), value, describe::ROUTED)?;
        Ok((fields.text("role")?, fields.text("worker")?, fields.text("because")?))
    };
    match read().map_err(|wrong| wrong.message)? {
        (Some(role), None, because) => Ok((Address::Role(role.into()), because)),
        (None, Some(worker), because) => Ok((Address::Worker(worker.into()), because)),
        (Some(_), Some(_), _) => Err("a rubric's answer names a role or a worker, not both".to_owned()),
        (None, None, _) => Err("a rubric's answer must name a role or a worker".to_owned()),
    }
}

/// Returns what kind of value it is, for an error text.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

pub(super) fn plain(message: String) -> Wrong {
    Wrong { field: None, message }
}

#[cfg(test)]
mod tests;
