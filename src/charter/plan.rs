//! A launch plan as a launcher made it, read field by field: what is unknown, missing or of the wrong kind is said by
//! name. Which fields there are is said in `describe`; what of it the operator allows, only the launch room knows.

mod api;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::describe;
use super::spec::{self, Fields, Wrong, kind};
use crate::fleet::plan::{Bring, Drive, Guard, Lines, Plan, Transcript, Unwanted};
use crate::fleet::refusal::nearest;
use crate::fleet::signs::{Meaning, Pieces, Sign};

/// How a program gets its texts, by the words of a plan.
const DRIVES: &[(&str, Drive)] =
    &[("turn", Drive::Turn), ("typed", Drive::Typed), ("lines", Drive::Lines), ("api", Drive::Api)];

/// Reads a plan.
pub(super) fn read(what: String, value: &Value) -> Result<Plan, Wrong> {
    let fields = Fields::of(what.clone(), value, describe::PLAN)?;
    let drive = fields.text("drive")?;
    let drive = fields.need("drive", drive, "\"turn\", \"typed\", \"lines\" or \"api\"")?;
    let Some((_, drive)) = DRIVES.iter().find(|(word, _)| *word == drive) else {
        let words = DRIVES.iter().map(|(word, _)| *word);
        return fields.refuse("drive", unknown(&drive, words));
    };
    let inner = |name: &str| format!("{what}: field '{name}'");
    let one = |name: &'static str| fields.get(name).map(|value| (inner(name), value));
    let api = one("api").map(|(what, value)| api::api(what, value)).transpose()?;
    let argv = fields.texts("argv")?.unwrap_or_default();
    let is_attached = api.as_ref().is_some_and(|api| api.attach);
    if is_attached && !argv.is_empty() {
        return fields.refuse("argv", "a program that is attached to is not started: leave it out");
    }
    if !is_attached && argv.first().is_none_or(String::is_empty) {
        return fields.refuse("argv", "a worker needs a program to start");
    }
    if argv.iter().any(|word| word.contains('\0')) {
        return fields.refuse("argv", "a NUL byte cannot be in a command");
    }
    let lines = one("lines").map(|(what, value)| lines(what, value)).transpose()?;
    for (name, is_there, wanted) in [
        ("lines", lines.is_some(), Drive::Lines),
        ("typing", fields.get("typing").is_some(), Drive::Typed),
        ("api", api.is_some(), Drive::Api),
    ] {
        if is_there && *drive != wanted {
            return fields.refuse(name, format!("it goes with drive = \"{}\" only", word_of(wanted)));
        }
    }
    if *drive == Drive::Lines && lines.is_none() {
        return fields.refuse("drive", "a program that reads lines needs 'lines': what is written to it");
    }
    if *drive == Drive::Api && api.is_none() {
        return fields.refuse("drive", "a program that is called needs 'api': what it is asked");
    }
    let signs = list(&fields, "signs", sign)?;
    if *drive == Drive::Lines && !signs.iter().any(|sign| sign.is.is_end()) {
        return fields.refuse("signs", "none of them says how a turn ends: one must be 'replied' or 'failed'");
    }
    Ok(Plan {
        drive: *drive,
        argv,
        env: spec::variables(&fields)?,
        files: files(&fields)?,
        bring: list(&fields, "bring", bring)?,
        typing: fields.get("typing").map(|_| spec::typing(&fields)).transpose()?,
        lines: lines.map(Box::new),
        api: api.map(Box::new),
        signs,
        lists_tools: flag(&fields, "lists_tools")?,
        transcript: one("transcript").map(|(what, value)| transcript(what, value).map(Box::new)).transpose()?,
        guard: one("guard").map(|(what, value)| guard(what, value)).transpose()?,
        endpoint: None,
    })
}

fn word_of(drive: Drive) -> &'static str {
    DRIVES.iter().find(|(_, one)| *one == drive).map_or("", |(word, _)| word)
}

fn unknown<'a>(word: &str, valid: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest(word, valid.clone()).map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
    format!("there is no '{word}'; {near}valid: {}", valid.collect::<Vec<_>>().join(", "))
}

fn list<T>(
    fields: &Fields,
    name: &'static str,
    read: impl Fn(String, &Value) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    let value = match fields.get(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return fields.wrong(name, "a list of tables", other),
    };
    let what = |n: usize| format!("{}: field '{name}': [{}]", fields.what(), n + 1);
    let read = value.iter().enumerate().map(|(n, item)| read(what(n), item));
    read.collect::<Result<_, _>>().map_err(|wrong| Wrong { field: Some(name.into()), ..wrong })
}

fn flag(fields: &Fields, name: &str) -> Result<bool, Wrong> {
    match fields.get(name) {
        None => Ok(false),
        Some(Value::Bool(is)) => Ok(*is),
        Some(other) => fields.wrong(name, "true or false", other),
    }
}

fn table(fields: &Fields, name: &str) -> Result<Map<String, Value>, Wrong> {
    match fields.get(name) {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(Value::Array(list)) if list.is_empty() => Ok(Map::new()),
        Some(other) => fields.wrong(name, "a table", other),
    }
}

/// Refuses a path that is not plainly below the folder it is meant for.
fn below(fields: &Fields, name: &str, path: &str) -> Result<(), Wrong> {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    match !path.contains(['\0', '\\']) && path.split('/').all(is_plain) {
        true => Ok(()),
        false => {
            fields.refuse(name, format!("'{path}' is no path below the folder: write names with '/' between them"))
        }
    }
}

fn files(fields: &Fields) -> Result<BTreeMap<String, Value>, Wrong> {
    let files = table(fields, "files")?;
    for (path, content) in &files {
        below(fields, "files", path)?;
        if !matches!(content, Value::String(_) | Value::Object(_) | Value::Array(_)) {
            return fields.refuse("files", format!("'{path}': expected a text or a table, got {}", kind(content)));
        }
    }
    Ok(files.into_iter().collect())
}

fn bring(what: String, value: &Value) -> Result<Bring, Wrong> {
    let fields = Fields::of(what, value, describe::BRING)?;
    let path = |name: &'static str| {
        let path = fields.need(name, fields.text(name)?, "a path")?;
        below(&fields, name, &path).map(|()| path)
    };
    let (from, to) = (path("from")?, path("to")?);
    let (table, only, imports) = (fields.text("table")?, fields.texts("only")?, flag(&fields, "imports")?);
    if imports && table.is_some() {
        return fields.refuse("imports", "a table of a JSON file has none");
    }
    Ok(Bring { from, to, table, only, imports })
}

fn lines(what: String, value: &Value) -> Result<Lines, Wrong> {
    let fields = Fields::of(what, value, describe::LINES)?;
    let say = Value::Object(table(&fields, "say")?);
    if !say.to_string().contains("@{fleet.text}") {
        return fields.refuse("say", "the turn's text is nowhere in it: put worker.text where it belongs");
    }
    let interrupt = fields.get("interrupt").map(|_| table(&fields, "interrupt").map(Value::Object)).transpose()?;
    Ok(Lines { say, interrupt })
}

fn transcript(what: String, value: &Value) -> Result<Transcript, Wrong> {
    let fields = Fields::of(what, value, describe::TRANSCRIPT)?;
    let path = fields.need("path", fields.text("path")?, "the path in a report where the file is named")?;
    let (line, parent) = (fields.text("line")?, fields.text("parent")?);
    Ok(Transcript { path, line, parent, signs: list(&fields, "signs", sign)? })
}

fn guard(what: String, value: &Value) -> Result<Guard, Wrong> {
    let fields = Fields::of(what, value, describe::GUARD)?;
    let (files, names) = (fields.texts("files")?.unwrap_or_default(), fields.texts("names")?.unwrap_or_default());
    Ok(Guard { files, names, unwanted: list(&fields, "unwanted", unwanted)? })
}

fn unwanted(what: String, value: &Value) -> Result<Unwanted, Wrong> {
    let fields = Fields::of(what, value, describe::UNWANTED)?;
    let path = fields.need("path", fields.text("path")?, "a path")?;
    below(&fields, "path", &path)?;
    Ok(Unwanted { path, holds: fields.texts("holds")?.unwrap_or_default() })
}

fn sign(what: String, value: &Value) -> Result<Sign, Wrong> {
    let fields = Fields::of(what, value, describe::SIGN)?;
    let word = fields.need("is", fields.text("is")?, "what it means")?;
    let Some(is) = Meaning::ALL.into_iter().find(|meaning| meaning.word() == word) else {
        return fields.refuse("is", unknown(&word, Meaning::ALL.iter().map(|meaning| meaning.word())));
    };
    let usage = fields.map("usage")?;
    let known = ["input", "output", "cache_read", "cache_write", "cost", "cost_so_far"];
    if let Some(wrong) = usage.keys().find(|name| !known.contains(&name.as_str())) {
        return fields.refuse("usage", unknown(wrong, known.into_iter()));
    }
    Ok(Sign {
        is,
        on: table(&fields, "on")?.into_iter().collect(),
        any: fields.texts("any")?.unwrap_or_default(),
        begins: fields.map("begins")?,
        text: fields.text("text")?,
        pieces: fields
            .get("pieces")
            .map(|value| pieces(format!("{}: field 'pieces'", fields.what()), value))
            .transpose()?,
        why: fields.text("why")?,
        id: fields.text("id")?,
        model: fields.text("model")?,
        usage,
        answer: fields.get("answer").map(|_| table(&fields, "answer").map(Value::Object)).transpose()?,
    })
}

fn pieces(what: String, value: &Value) -> Result<Pieces, Wrong> {
    let fields = Fields::of(what, value, describe::PIECES)?;
    let on = |name: &str| Ok(table(&fields, name)?.into_iter().collect());
    Ok(Pieces { on: on("on")?, none: fields.texts("none")?.unwrap_or_default(), after: on("after")? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(plan: Value) -> String {
        read("plan".into(), &plan).expect_err("it is wrong").message
    }

    #[test]
    fn a_plan_is_read_whole() {
        let plan = json!({
            "drive": "typed", "argv": ["agent"], "env": {"A": "@{fleet.home}"}, "lists_tools": true,
            "files": {"a/b.json": {"x": 1}, "c": "text"}, "bring": [{"from": "A.md", "to": "a/A.md", "imports": true}],
            "typing": {"prompt": ["> "]},
            "signs": [{"is": "replied", "on": {"event": "Stop"}, "text": "last", "usage": {"input": "u.in"}}],
            "transcript": {"path": "file", "signs": [{"is": "complete", "on": {"type": "end"}}]},
            "guard": {"files": ["x.json"], "names": ["env.URL"], "unwanted": [{"path": "plugins"}, {"path": "a.json", "holds": ["b"]}]},
        });
        let plan = read("plan".into(), &plan).expect("it is a plan");
        assert!(plan.has_session() && plan.shows_ends() && plan.lists_tools);
        assert_eq!(plan.files["a/b.json"], json!({"x": 1}));
        let again: Plan = serde_json::from_value(serde_json::to_value(&plan).expect("JSON")).expect("a plan");
        assert_eq!(again, plan, "it survives the store");
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        let told = refused(json!({"drive": "tiped", "argv": ["a"]}));
        assert_eq!(
            told,
            "plan: field 'drive': there is no 'tiped'; did you mean 'typed'? valid: turn, typed, lines, api"
        );
        assert_eq!(refused(json!({"drive": "turn"})), "plan: field 'argv': a worker needs a program to start");
        assert!(
            refused(json!({"drive": "turn", "agrv": ["a"]})).contains("unknown field 'agrv'; did you mean 'argv'?")
        );
        let told = refused(json!({"drive": "turn", "argv": ["a"], "files": {"../x": "y"}}));
        assert!(told.starts_with("plan: field 'files': '../x' is no path below the folder"), "{told}");
        let told = refused(json!({"drive": "typed", "argv": ["a"], "signs": [{"is": "repleid"}]}));
        assert!(
            told.starts_with("plan: field 'signs': [1]: field 'is': there is no 'repleid'; did you mean"),
            "{told}"
        );
        let told = refused(json!({"drive": "lines", "argv": ["a"], "lines": {"say": {"text": "hello"}}}));
        assert!(told.contains("field 'say': the turn's text is nowhere in it"), "{told}");
        let told = refused(json!({"drive": "lines", "argv": ["a"], "lines": {"say": {"t": "@{fleet.text}"}}}));
        assert!(told.contains("none of them says how a turn ends"), "{told}");
        let told = refused(json!({"drive": "turn", "argv": ["a"], "typing": {}}));
        assert_eq!(told, "plan: field 'typing': it goes with drive = \"typed\" only");
    }
}
