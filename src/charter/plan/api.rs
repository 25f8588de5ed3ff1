//! The part of a launch plan that says how a program is called over HTTP, read field by field.
//! What it comes to is the launch room's matter.

use serde_json::Value;

use super::super::describe;
use super::super::spec::{Fields, Wrong};
use super::{flag, list, sign, table};
use crate::fleet::plan::{Api, Call, Events, Mend, Open, Record};

/// How many answers of its model a turn may have if nothing is said.
const MOST: u32 = 500;

/// Reads how a program is called.
pub(super) fn api(what: String, value: &Value) -> Result<Api, Wrong> {
    let fields = Fields::of(what, value, describe::API)?;
    let say = need_call(&fields, "say")?;
    if !say.body.as_ref().is_some_and(|body| body.to_string().contains("@{fleet.text}")) {
        return fields.refuse("say", "the turn's text is nowhere in its body: put worker.text where it belongs");
    }
    if flag(&fields, "attach")?
        && let Some(name) = ["user", "open", "show", "tools"].into_iter().find(|name| fields.get(name).is_some())
    {
        return fields.refuse(name, "a program that is attached to is somebody else's, and has none of this");
    }
    Ok(Api {
        attach: flag(&fields, "attach")?,
        exposed: flag(&fields, "exposed")?,
        types: flag(&fields, "types")?,
        asks: inner(&fields, "asks", call)?,
        user: fields.text("user")?,
        ready: need_call(&fields, "ready")?,
        open: inner(&fields, "open", open)?,
        say,
        stop: inner(&fields, "stop", call)?,
        rest: need_call(&fields, "rest")?,
        record: need(&fields, "record", record)?,
        events: inner(&fields, "events", events)?,
        tools: inner(&fields, "tools", mend)?,
        show: inner(&fields, "show", call)?,
        most: fields.count("most", 1, MOST)?,
    })
}

fn inner<T>(
    fields: &Fields,
    name: &'static str,
    read: impl Fn(String, &Value) -> Result<T, Wrong>,
) -> Result<Option<T>, Wrong> {
    let what = || format!("{}: field '{name}'", fields.what());
    fields.get(name).map(|value| read(what(), value)).transpose()
}

fn need<T>(fields: &Fields, name: &'static str, read: impl Fn(String, &Value) -> Result<T, Wrong>) -> Result<T, Wrong> {
    fields.need(name, inner(fields, name, read)?, "a table")
}

fn need_call(fields: &Fields, name: &'static str) -> Result<Call, Wrong> {
    need(fields, name, call)
}

fn call(what: String, value: &Value) -> Result<Call, Wrong> {
    let fields = Fields::of(what, value, describe::CALL)?;
    let body = fields.get("body").map(|_| table(&fields, "body").map(Value::Object)).transpose()?;
    Ok(Call {
        path: path(&fields)?,
        post: flag(&fields, "post")? || body.is_some(),
        body,
        on: table(&fields, "on")?.into_iter().collect(),
        none: fields.texts("none")?.unwrap_or_default(),
        untaken: fields.texts("untaken")?.unwrap_or_default(),
    })
}

/// A path that names no host: what is called is never the charter's to say.
fn path(fields: &Fields) -> Result<String, Wrong> {
    let path = fields.need("path", fields.text("path")?, "a path such as /status")?;
    let is_plain = |letter: char| letter.is_ascii_graphic() && letter != '\\';
    match path.starts_with('/') && !path.starts_with("//") && path.chars().all(is_plain) {
        true => Ok(path),
        false => fields.refuse("path", format!("'{path}' is no path: it begins with one '/' and has no blanks")),
    }
}

fn open(what: String, value: &Value) -> Result<Open, Wrong> {
    let fields = Fields::of(what, value, describe::OPEN)?;
    Ok(Open { call: need_call(&fields, "call")?, id: fields.need("id", fields.text("id")?, "a path in its answer")? })
}

fn record(what: String, value: &Value) -> Result<Record, Wrong> {
    let fields = Fields::of(what, value, describe::RECORD)?;
    let signs = list(&fields, "signs", sign)?;
    for word in ["taken", "replied"] {
        if !signs.iter().any(|sign| sign.is.word() == word) {
            return fields.refuse("signs", format!("none of them is '{word}': a turn could not be read"));
        }
    }
    let (list, parent, proof) = (fields.text("list")?, fields.text("parent")?, fields.text("proof")?);
    Ok(Record { call: need_call(&fields, "call")?, list, parent, proof, signs })
}

fn events(what: String, value: &Value) -> Result<Events, Wrong> {
    let fields = Fields::of(what, value, describe::STREAM)?;
    Ok(Events { path: path(&fields)?, silence: fields.span("silence")? })
}

fn mend(what: String, value: &Value) -> Result<Mend, Wrong> {
    let fields = Fields::of(what, value, describe::MEND)?;
    Ok(Mend { check: need_call(&fields, "check")?, mend: need_call(&fields, "mend")? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read;
    use super::*;
    use crate::fleet::plan::{Drive, Plan};

    fn plan(change: impl FnOnce(&mut Value)) -> Value {
        let mut plan = json!({"drive": "api", "argv": ["agent", "--port", "@{fleet.port}"], "api": {
            "user": "agent", "ready": {"path": "/health", "on": {"ok": true}},
            "open": {"call": {"path": "/talk", "body": {"title": "@{fleet.name}"}}, "id": "id"},
            "say": {"path": "/talk/@{fleet.conversation}/say", "body": {"text": "@{fleet.text}"}},
            "stop": {"path": "/stop", "post": true}, "rest": {"path": "/state", "none": ["@{fleet.conversation}"]},
            "record": {
                "call": {"path": "/said"}, "list": "messages", "parent": "of",
                "signs": [{"is": "taken", "text": "text"}, {"is": "replied", "text": "parts", "pieces": {"on": {"type": "text"}}}],
            },
            "events": {"path": "/events", "silence": "25s"}, "most": 9,
            "tools": {"check": {"path": "/mcp", "on": {"fleet": "up"}}, "mend": {"path": "/mcp", "post": true}},
            "show": {"path": "/show", "body": {"id": "@{fleet.conversation}"}},
        }});
        change(&mut plan);
        plan
    }

    #[test]
    fn what_is_attached_to_has_no_conversation_of_ours() {
        let told = refused(|plan| {
            plan["api"]["attach"] = json!(true);
            plan["argv"] = json!([]);
        });
        assert!(told.contains("field 'user': a program that is attached to is somebody else's"), "{told}");
    }

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        read("plan".into(), &plan(change)).expect_err("it is wrong").message
    }

    #[test]
    fn a_plan_of_a_program_that_is_called_is_read_whole_and_survives_the_store() {
        let plan = read("plan".into(), &plan(|_| {})).expect("it is a plan");
        let api = plan.api.as_deref().expect("it is called");
        assert!(plan.drive == Drive::Api && plan.has_session() && !api.attach && api.say.post && api.most == 9);
        let again: Plan = serde_json::from_value(serde_json::to_value(&plan).expect("JSON")).expect("a plan");
        assert_eq!(again, plan);
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        let told = refused(|plan| plan["api"]["say"]["body"] = json!({"text": "hello"}));
        assert!(told.contains("field 'say': the turn's text is nowhere in its body"), "{told}");
        for path in ["status", "//evil.example/x", "http://evil.example", "/a b", "/\\evil"] {
            let told = refused(|plan| plan["api"]["ready"]["path"] = json!(path));
            assert!(told.contains(&format!("field 'ready': field 'path': '{path}' is no path")), "{told}");
        }
        let told = refused(|plan| plan["api"]["record"]["signs"] = json!([{"is": "taken"}]));
        assert!(told.contains("field 'record': field 'signs': none of them is 'replied'"), "{told}");
        let told = refused(|plan| plan["api"]["redy"] = json!({}));
        assert!(told.contains("unknown field 'redy'; did you mean 'ready'?"), "{told}");
        let told = refused(|plan| plan["api"] = Value::Null);
        assert!(told.contains("field 'drive': a program that is called needs 'api'"), "{told}");
        let told = refused(|plan| plan["drive"] = json!("typed"));
        assert!(told.contains("field 'api': it goes with drive = \"api\" only"), "{told}");
        let told = refused(|plan| plan["argv"] = json!([]));
        assert!(told.contains("field 'argv': a worker needs a program to start"), "{told}");
        let told = refused(|plan| {
            plan["api"]["attach"] = json!(true);
            for name in ["user", "open", "show", "tools"] {
                plan["api"].as_object_mut().expect("a table").remove(name);
            }
        });
        assert!(told.contains("field 'argv': a program that is attached to is not started"), "{told}");
    }
}
