//! What `run:race` and `run:vote` come to: which value is good, which votes agree, and when nothing can change it any more.
//! All of it follows from what the parts returned and in which order, so a replay decides alike.

use mlua::{Lua, Table, Value as LuaValue};
use serde_json::Value;

use super::strands::{Group, Votes};
use crate::charter::json as border;
use crate::charter::steps::Kind;

/// Returns whether a part of a race came to something: it returned a value, and not an envelope without a reply.
pub(super) fn is_good(value: &LuaValue) -> bool {
    match value {
        LuaValue::Table(table) => !is_refused(table),
        other => !other.is_nil() && !other.is_null(),
    }
}

fn is_refused(table: &Table) -> bool {
    matches!(table.raw_get::<LuaValue>("ok"), Ok(LuaValue::Boolean(false)))
}

/// Counts one vote; returns what is decided by it, once that is certain.
pub(super) fn vote(
    lua: &Lua,
    group: &mut Group,
    quorum: usize,
    place: usize,
    value: LuaValue,
) -> Result<Option<(String, Value)>, String> {
    if is_good(&value) {
        let said = said(lua, value)?;
        let key = canonical(&border::to_json(&said, border::STEP_BYTES)?);
        match group.votes.iter_mut().find(|votes| votes.key == key) {
            Some(votes) => votes.parts.push(place),
            None => group.votes.push(Votes { key, value: said, parts: vec![place] }),
        }
    }
    let most = most(group);
    if most >= quorum {
        return Ok(Some((format!("{most} of {} agree", group.members.len()), Value::from(most))));
    }
    let hopeless = most + group.left < quorum;
    Ok(hopeless.then(|| (format!("no value can have {quorum} votes any more"), Value::Null)))
}

fn most(group: &Group) -> usize {
    group.votes.iter().map(|votes| votes.parts.len()).max().unwrap_or(0)
}

/// Returns what an envelope votes for: its checked data, else its text without the white space around it.
fn said(lua: &Lua, value: LuaValue) -> Result<LuaValue, String> {
    let LuaValue::Table(table) = &value else { return Ok(value) };
    let get = |name: &str| table.raw_get::<LuaValue>(name).map_err(|error| error.to_string());
    match (get("ok")?, get("turn")?, get("data")?, get("text")?) {
        (LuaValue::Boolean(true), LuaValue::String(_), LuaValue::Nil, LuaValue::String(text)) => {
            let text = text.to_string_lossy();
            lua.create_string(text.trim()).map(LuaValue::String).map_err(|error| error.to_string())
        }
        (LuaValue::Boolean(true), LuaValue::String(_), data, LuaValue::String(_)) => Ok(data),
        _ => Ok(value),
    }
}

/// Returns a text that is the same for equal values, however their fields are ordered.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields =
                fields.iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// Returns what the coroutine is given that waits for the parts; the prelude says what each verb makes of it.
pub(super) fn outcome(lua: &Lua, group: &mut Group) -> mlua::Result<Table> {
    let results = lua.create_sequence_from(std::mem::take(&mut group.results))?;
    let table = match group.kind {
        Kind::Each => return Ok(results),
        Kind::Race => {
            let table = lua.create_table()?;
            let good = |place: &usize| matches!(results.raw_get(place + 1), Ok(value) if is_good(&value));
            // The first good one decides, so there is only one.
            if let Some(place) = (0..group.came.len()).find(good) {
                table.raw_set("value", results.raw_get::<LuaValue>(place + 1)?)?;
                table.raw_set("place", place + 1)?;
            }
            table
        }
        Kind::Vote { quorum } => voted(lua, group, quorum)?,
    };
    table.raw_set("results", results)?;
    table.raw_set("came", lua.create_sequence_from(group.came.iter().copied())?)?;
    Ok(table)
}

fn voted(lua: &Lua, group: &mut Group, quorum: usize) -> mlua::Result<Table> {
    let (most, table) = (most(group), lua.create_table()?);
    // Stable: of equals the one that came first.
    group.votes.sort_by_key(|votes| std::cmp::Reverse(votes.parts.len()));
    let tally = lua.create_table()?;
    for votes in std::mem::take(&mut group.votes) {
        let row = lua.create_table()?;
        row.raw_set("value", votes.value)?;
        row.raw_set("votes", votes.parts.len())?;
        row.raw_set("parts", lua.create_sequence_from(votes.parts.iter().map(|place| place + 1))?)?;
        tally.raw_push(row)?;
    }
    table.raw_set("decided", quorum > 0 && most >= quorum && most > 0)?;
    table.raw_set("votes", most)?;
    table.raw_set("quorum", quorum)?;
    table.raw_set("of", group.members.len())?;
    table.raw_set("tally", tally)?;
    Ok(table)
}
