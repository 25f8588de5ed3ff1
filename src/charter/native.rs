//! The functions that the prelude calls: they refuse with nil and a message, so that the prelude can raise the error
//! at the author's line.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, LuaString, Table, Value as LuaValue};

use super::declare::Registry;
use super::error::{CharterError, cut};
use super::json;
use super::loops;
use super::meter::Meter;
use super::point;
use super::quote;
use super::shipped;
use super::sources::Sources;
use super::stage::{MOST_LINES, used};
use crate::fleet::refusal::nearest;

/// What scripts printed, `file:line: text`, where somebody wants to see it beside the log.
pub(super) type Printed = Rc<RefCell<Option<Vec<String>>>>;

/// Returns the table of all native functions.
pub(super) fn table(
    lua: &Lua,
    registry: Rc<RefCell<Registry>>,
    sources: Arc<Sources>,
    meter: Rc<Meter>,
    printed: Printed,
) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("null", LuaValue::NULL)?;
    table.set("each_name", loops::EACH)?;
    table.set(
        "nearest",
        lua.create_function(|_, (name, names): (String, Vec<String>)| {
            Ok(nearest(&name, names.iter().map(String::as_str)).map(str::to_owned))
        })?,
    )?;
    table.set("quote", lua.create_function(quote::quote)?)?;
    table.set("find_plain", lua.create_function(find_plain)?)?;
    table.set("split", lua.create_function(split)?)?;
    table.set(
        "longest_set",
        lua.create_function(|_, pattern: LuaString| Ok(longest_set(&pattern.as_bytes()) as f64))?,
    )?;
    table.set("error_text", lua.create_function(|_, value: LuaValue| Ok(value.as_error().map(text_of)))?)?;
    table.set(
        "is_memory",
        lua.create_function(move |_, value: LuaValue| {
            let out_of_memory = match &value {
                LuaValue::String(text) => text.as_bytes() == OUT_OF_MEMORY.as_bytes(),
                other => other.as_error().is_some_and(is_memory),
            };
            if out_of_memory {
                meter.out_of_memory();
            }
            Ok(out_of_memory)
        })?,
    )?;
    table.set(
        "print",
        lua.create_function(move |_, (file, line, text): (String, i64, LuaString)| {
            let text = text.to_string_lossy();
            let text = cut(&text, PRINTED);
            if let Some(printed) = printed.borrow_mut().as_mut().filter(|printed| printed.len() < MOST_LINES) {
                printed.push(format!("{file}:{line}: {text}"));
            }
            tracing::info!(target: "charter", at = %format_args!("{file}:{line}"), "{text}");
            Ok(())
        })?,
    )?;
    table.set(
        "json",
        lua.create_function(|_, value: LuaValue| {
            Ok(match json::to_json(&value, json::STEP_BYTES) {
                Ok(value) => (serde_json::to_string_pretty(&value).ok(), None),
                Err(why) => (None, Some(why)),
            })
        })?,
    )?;
    table.set(
        "show",
        lua.create_function(|_, value: LuaValue| {
            Ok(match json::to_json(&value, json::STEP_BYTES) {
                Ok(serde_json::Value::Null) => "nil".to_owned(),
                Ok(value) => value.to_string(),
                Err(_) => value.type_name().to_owned(),
            })
        })?,
    )?;
    table.set("wrong_use", lua.create_function(|_, used: LuaValue| Ok(used::read(&used).err()))?)?;
    let known = Arc::clone(&sources);
    table.set(
        "local_near",
        lua.create_function(move |_, (file, name): (String, String)| {
            Ok(point::local_near(&known, &file, &name).map(str::to_owned))
        })?,
    )?;
    let known = Arc::clone(&sources);
    table.set(
        "positioned",
        lua.create_function(move |_, text: String| Ok(CharterError::read(&known, &text).file.is_some()))?,
    )?;
    table.set(
        "declare",
        lua.create_function(move |_, (verb, name, spec, function, file, line): Declaration| {
            Ok(match registry.borrow_mut().declare(&verb, &name, &spec, function, &file, line) {
                Ok(()) => (true, None),
                Err(why) => (false, Some(why)),
            })
        })?,
    )?;
    table.set(
        "module",
        lua.create_function(move |lua, (name, env): (String, LuaValue)| {
            Ok(match module(lua, &sources, &name, env) {
                Ok(function) => (Some(function), None),
                Err(why) => (None, Some(why)),
            })
        })?,
    )?;
    Ok(table)
}

/// How many bytes of a text `print` puts into the log.
const PRINTED: usize = 4096;
/// What Lua says when memory ran out.
const OUT_OF_MEMORY: &str = "not enough memory";

type Declaration = (String, LuaValue, LuaValue, Option<Function>, String, u32);

/// Compiles one file for an environment.
pub(super) fn compile(lua: &Lua, sources: &Sources, name: &str, env: LuaValue) -> mlua::Result<Function> {
    let text = sources.text(name).ok_or_else(|| mlua::Error::runtime(format!("there is no file {name}")))?;
    let text = loops::guarded(text);
    let chunk = lua.load(&*text).set_name(format!("={name}")).set_mode(mlua::chunk::ChunkMode::Text);
    match env {
        LuaValue::Table(env) => chunk.set_environment(env).into_function(),
        _ => chunk.into_function(),
    }
}

/// Returns whether an error of Lua says that memory ran out.
pub(super) fn is_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => is_memory(cause),
        mlua::Error::RuntimeError(text) => text.starts_with(OUT_OF_MEMORY),
        _ => false,
    }
}

/// Reads an error of Lua: its text, its position, or else the first position of its traceback.
pub(super) fn read_error(sources: &Sources, error: &mlua::Error) -> CharterError {
    let text = text_of(error);
    let mut read = CharterError::read(sources, &text);
    if read.file.is_none() {
        let whole = whole_text(error);
        let trace = whole.split_once("stack traceback:").map_or("", |(_, t)| t);
        let position = trace.lines().find_map(|line| {
            let (file, rest) = line.trim().split_once(':')?;
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            sources.text(file)?;
            Some((file, rest[..digits].parse().ok()?))
        });
        if let Some((file, line)) = position {
            read = CharterError::at(sources, file, line, read.message);
        }
    }
    read
}

/// Returns the message of an error without its traceback.
pub(super) fn text_of(error: &mlua::Error) -> String {
    let text = whole_text(error);
    let message = match text.split_once("\nstack traceback:") {
        Some((message, _)) => message.trim_end(),
        None => text.as_str(),
    };
    match kind_of(message) {
        Some(kind) => format!("an error that is a {kind} and no text"),
        None => message.to_owned(),
    }
}

/// Returns the kind of an error that is no text, from the form that shows its address: that would differ in a replay.
fn kind_of(text: &str) -> Option<&str> {
    let (kind, address) = text.split_once(": 0x")?;
    let kinds = ["table", "function", "userdata", "thread"];
    (kinds.contains(&kind) && address.bytes().all(|b| b.is_ascii_hexdigit())).then_some(kind)
}

fn whole_text(error: &mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text)
        | mlua::Error::MemoryError(text)
        | mlua::Error::SyntaxError { message: text, .. } => text.clone(),
        mlua::Error::CallbackError { cause, traceback } => {
            format!("{}\n{traceback}", text_of(cause))
        }
        mlua::Error::WithContext { cause, .. } => whole_text(cause),
        other => other.to_string(),
    }
}

fn module(lua: &Lua, sources: &Sources, name: &str, env: LuaValue) -> Result<Function, String> {
    let file = shipped::module(name).unwrap_or_else(|| format!("{}.lua", name.replace('.', "/")));
    if sources.text(&file).is_none() {
        let names: Vec<String> =
            sources.names().iter().filter_map(|file| Some(file.strip_suffix(".lua")?.replace('/', "."))).collect();
        let valid: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with("lib.")).collect();
        // Who writes a path means the module that lies there.
        let as_path = name.strip_suffix(".lua").unwrap_or(name).trim_start_matches("./").replace('/', ".");
        if as_path != name && names.contains(&as_path) {
            return Err(format!("require: a module is named and not its file: write require(\"{as_path}\")"));
        }
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None if valid.is_empty() => "; modules are files below lib/".to_owned(),
            None => format!("; valid: {}", valid.join(", ")),
        };
        return Err(format!("require: there is no module \"{name}\" ({file}){hint}"));
    }
    compile(lua, sources, &file, env).map_err(|error| text_of(&error))
}

/// Returns with how many letters of a pattern one byte of a text may be compared before the clock is looked at.
fn longest_set(pattern: &[u8]) -> usize {
    let (mut longest, mut at) = (1, 0);
    while let Some(&letter) = pattern.get(at) {
        at += match letter {
            b'%' => 2,
            b'[' => {
                // The first letter belongs to the set, also where it is a `]`.
                let mut end = at + if pattern.get(at + 1) == Some(&b'^') { 2 } else { 1 };
                loop {
                    end += if pattern.get(end) == Some(&b'%') { 2 } else { 1 };
                    if pattern.get(end).is_none_or(|letter| *letter == b']') {
                        break;
                    }
                }
                longest = longest.max(end.saturating_sub(at + 1));
                end + 1 - at
            }
            _ => 1,
        };
    }
    longest
}

/// How many parts of a text are made before the clock is looked at.
const PARTS: usize = 10_000;

/// Adds parts of a text to a list in linear time; the separator is not empty. Returns where it goes on, if it does.
fn split(
    lua: &Lua,
    (parts, text, separator, from): (Table, LuaString, LuaString, usize),
) -> mlua::Result<Option<usize>> {
    let (text, separator) = (text.as_bytes(), separator.as_bytes());
    let (base, mut from, mut made) = (from.min(text.len()), from.min(text.len()), 0);
    for at in memchr::memmem::find_iter(&text[base..], &separator).take(PARTS) {
        parts.raw_push(lua.create_string(&text[from..base + at])?)?;
        (from, made) = (base + at + separator.len(), made + 1);
    }
    if made == PARTS {
        return Ok(Some(from));
    }
    parts.raw_push(lua.create_string(&text[from..])?)?;
    Ok(None)
}

fn find_plain(
    _: &Lua,
    (text, pattern, init): (LuaString, LuaString, i64),
) -> mlua::Result<(Option<usize>, Option<usize>)> {
    let text = text.as_bytes();
    let pattern = pattern.as_bytes();
    let length = text.len() as i64;
    let start = match init {
        n if n > 0 => n - 1,
        n if n < 0 => (length + n).max(0),
        _ => 0,
    };
    if start > length {
        return Ok((None, None));
    }
    let start = start as usize;
    Ok(match memchr::memmem::find(&text[start..], &pattern) {
        Some(at) => (Some(start + at + 1), Some(start + at + pattern.len())),
        None => (None, None),
    })
}

#[cfg(test)]
mod tests {
    use super::longest_set;

    #[test]
    fn sets_of_a_pattern_are_measured_as_the_library_reads_them() {
        let cases = [
            ("abc", 1),
            ("[ab]", 2),
            ("^[^bbb]*", 4),
            ("[]x]y[%]zz]", 4),
            ("%[abcdef]", 1),
            ("[^]abc", 5),
            ("[%a_][%w_]*", 3),
            ("[", 1),
            ("%", 1),
        ];
        for (pattern, longest) in cases {
            assert_eq!(longest_set(pattern.as_bytes()), longest, "{pattern}");
        }
    }
}
