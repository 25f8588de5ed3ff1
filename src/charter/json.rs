//! Values at the border between Lua and the fleet: JSON on one side, tables on the other.
//!
//! An empty table is a list. `fleet.null` stands for null in lists; a null field of an object is simply absent. Keys
//! of an object are sorted, so that one value has one form. Tables and functions as keys are refused.

use mlua::{Lua, Value as LuaValue};
use serde_json::{Map, Number, Value};

/// How deep a value may be nested.
pub(super) const DEPTH: usize = 32;
/// How large a value given to a step may be, as JSON.
pub(super) const STEP_BYTES: usize = 1024 * 1024;
/// How large the value of a whole run may be, as JSON: it gathers many replies.
pub(super) const RUN_BYTES: usize = 8 * 1024 * 1024;

/// Turns a Lua value into JSON; the error says which part of it cannot cross and why.
pub(super) fn to_json(value: &LuaValue, limit: usize) -> Result<Value, String> {
    let mut left = limit;
    convert(value, &mut Vec::new(), &mut left).map_err(|wrong| match wrong {
        Wrong::TooLarge => format!("the value is larger than {} KiB", limit / 1024),
        Wrong::At(path, why) if path.is_empty() => why,
        Wrong::At(path, why) => format!("{path}: {why}"),
    })
}

/// Turns JSON into a Lua value.
pub(super) fn from_json(lua: &Lua, value: &Value) -> mlua::Result<LuaValue> {
    Ok(match value {
        Value::Null => LuaValue::NULL,
        Value::Bool(b) => LuaValue::Boolean(*b),
        Value::Number(n) => LuaValue::Number(n.as_f64().unwrap_or(f64::NAN)),
        Value::String(s) => LuaValue::String(lua.create_string(s)?),
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (n, item) in items.iter().enumerate() {
                table.raw_seti(n + 1, from_json(lua, item)?)?;
            }
            LuaValue::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, item) in fields {
                if !item.is_null() {
                    table.raw_set(name.as_str(), from_json(lua, item)?)?;
                }
            }
            LuaValue::Table(table)
        }
    })
}

/// Returns a number as JSON: an integer where it is one.
pub(super) fn number(n: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if n.fract() == 0.0 && n.abs() <= EXACT {
        return Some(Value::from(n as i64));
    }
    Number::from_f64(n).map(Value::Number)
}

enum Wrong {
    TooLarge,
    At(String, String),
}

fn at(path: &[String], why: impl Into<String>) -> Wrong {
    Wrong::At(path.concat().trim_start_matches('.').to_owned(), why.into())
}

fn spend(left: &mut usize, bytes: usize) -> Result<(), Wrong> {
    *left = left.checked_sub(bytes).ok_or(Wrong::TooLarge)?;
    Ok(())
}

fn convert(value: &LuaValue, path: &mut Vec<String>, left: &mut usize) -> Result<Value, Wrong> {
    spend(left, 2)?;
    Ok(match value {
        LuaValue::Nil => Value::Null,
        v if v.is_null() => Value::Null,
        LuaValue::Boolean(b) => Value::Bool(*b),
        LuaValue::Integer(n) => Value::from(*n),
        LuaValue::Number(n) => {
            number(*n).ok_or_else(|| at(path, format!("the number {n} cannot be used: it must be finite")))?
        }
        LuaValue::String(s) => {
            spend(left, s.as_bytes().len())?;
            let text = s.to_str().map_err(|_| at(path, "the text is not valid UTF-8"))?;
            Value::String(text.to_owned())
        }
        LuaValue::Table(table) => {
            if path.len() >= DEPTH {
                return Err(at(&path[..4], format!("nested deeper than {DEPTH} levels")));
            }
            table_to_json(table, path, left)?
        }
        other => return Err(at(path, format!("a {} cannot cross", other.type_name()))),
    })
}

fn table_to_json(table: &mlua::Table, path: &mut Vec<String>, left: &mut usize) -> Result<Value, Wrong> {
    let mut items: Vec<(usize, LuaValue)> = Vec::new();
    let mut fields: Vec<(String, LuaValue)> = Vec::new();
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (key, value) = pair.map_err(|error| at(path, error.to_string()))?;
        // Each costs two bytes at least, once it is written; a table too large is not gathered first.
        if (items.len() + fields.len()) * 2 > *left {
            return Err(Wrong::TooLarge);
        }
        match key {
            LuaValue::Integer(n) if n >= 1 => items.push((n as usize, value)),
            LuaValue::Number(n) if n >= 1.0 && n.fract() == 0.0 && n < 1e15 => {
                items.push((n as usize, value));
            }
            LuaValue::String(s) => {
                spend(left, s.as_bytes().len() + 4)?;
                let name = s.to_str().map_err(|_| at(path, "a key is not valid UTF-8"))?.to_owned();
                fields.push((name, value));
            }
            other => {
                let kind = other.type_name();
                return Err(at(path, format!("a {kind} cannot be a key; use a text")));
            }
        }
    }
    if !items.is_empty() && !fields.is_empty() {
        let named = &fields[0].0;
        let why = format!("a table is a list or has names, not both (it has [1] and '{named}')");
        return Err(at(path, why));
    }
    if fields.is_empty() {
        items.sort_unstable_by_key(|(n, _)| *n);
        let mut list = Vec::with_capacity(items.len());
        for (n, value) in items {
            if n != list.len() + 1 {
                let why = format!("the list has a hole at [{}]; use fleet.null", list.len() + 1);
                return Err(at(path, why));
            }
            path.push(format!("[{n}]"));
            list.push(convert(&value, path, left)?);
            path.pop();
        }
        return Ok(Value::Array(list));
    }
    fields.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut object = Map::with_capacity(fields.len());
    for (name, value) in fields {
        path.push(format!(".{name}"));
        let value = convert(&value, path, left)?;
        path.pop();
        object.insert(name, value);
    }
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossed(code: &str) -> Result<Value, String> {
        let lua = Lua::new();
        lua.globals().set("null", LuaValue::NULL).expect("set");
        let value: LuaValue = lua.load(code).eval().expect("runs");
        to_json(&value, 1000)
    }

    #[test]
    fn values_cross_and_keep_their_kind() {
        let json = |code| crossed(code).expect("crosses").to_string();
        assert_eq!(json("{ b = 1, a = 1.5 }"), r#"{"a":1.5,"b":1}"#);
        assert_eq!(json("{ 1, null, {} }"), "[1,null,[]]");
        assert_eq!(json("10 / 2"), "5");
        assert_eq!(json("2 ^ 53"), "9007199254740992");
    }

    #[test]
    fn what_cannot_cross_is_named_with_its_path() {
        let refused = |code| crossed(code).expect_err("refused");
        assert_eq!(refused("{ a = { 1, print } }"), "a[2]: a function cannot cross");
        assert_eq!(refused("0 / 0"), "the number NaN cannot be used: it must be finite");
        assert_eq!(refused("{ [1] = 1, [3] = 3 }"), "the list has a hole at [2]; use fleet.null");
        assert_eq!(refused("{ 1, x = 2 }"), "a table is a list or has names, not both (it has [1] and 'x')");
        assert_eq!(refused("{ [{}] = 1 }"), "a table cannot be a key; use a text");
        assert_eq!(refused("string.rep('x', 2000)"), "the value is larger than 0 KiB");
        assert_eq!(refused("{ x = '\\255' }"), "x: the text is not valid UTF-8");
        let deep = refused("(function() local t = {} for _ = 1, 40 do t = { t } end return t end)()");
        assert_eq!(deep, "[1][1][1][1]: nested deeper than 32 levels");
    }
}
