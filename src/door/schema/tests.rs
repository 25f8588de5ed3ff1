//! What serde writes fits the schema of an answer, field by field, and what serde reads is what the schema of a request
//! lets through. Here are the types that every door shares; those of one door are held by the tests of that door.

use std::collections::BTreeSet;
use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{given, taken};
use crate::door::intake::parse;
use crate::engine::ports::{CharterStatus, RubricStatus, RubricTimes};
use crate::engine::requests::{
    Acked, Mail, PauseView, Pending, Recipes, ReplyRequest, RunDetail, RunRequest, RunResult, SendRequest,
    SpawnRequest, Trace,
};
use crate::fleet::difference::{Change, Difference};
use crate::fleet::envelope::Envelope;
use crate::fleet::load::{EndpointLoad, RoleLoad};
use crate::fleet::mail::Question;
use crate::fleet::refusal::Refusal;
use crate::fleet::run::Run;
use crate::fleet::team::{Generation, Routed};
use crate::fleet::time::Time;
use crate::fleet::view::{Roster, Trouble, TurnView, WorkerView};

fn faults(schema: &Map<String, Value>, value: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&Value::Object(schema.clone())).expect("a schema");
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Holds the schema of an answer against a value with nothing in it that can be absent, and one with everything.
pub(in crate::door) fn written<T: JsonSchema + Serialize>(least: &T, full: &T) {
    let schema = given::<T>();
    let [least, full] = [least, full].map(|value| serde_json::to_value(value).unwrap());
    for value in [&least, &full] {
        assert_eq!(faults(&schema, value), Vec::<String>::new(), "{} refuses {value}", T::schema_name());
    }
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let required = schema["required"].as_array().unwrap();
    let required: BTreeSet<String> = required.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert_eq!(required, keys(&least), "{}: what is always there", T::schema_name());
    assert_eq!(keys(&schema["properties"]), keys(&full), "{}: what can be there", T::schema_name());
    let text = serde_json::to_string(&schema).unwrap();
    for wrong in [r#""format""#, r#""additionalProperties":false"#, r#""null""#, r#""default""#, "\\n"] {
        assert!(!text.contains(wrong), "{} has {wrong}: {text}", T::schema_name());
    }
}

/// The same for a type that can be read back, so that the samples are its own JSON.
fn written_as<T: JsonSchema + Serialize + DeserializeOwned>(least: Value, full: Value) {
    let [read, all] = [&least, &full].map(|value| serde_json::from_value::<T>(value.clone()).unwrap());
    assert_eq!([serde_json::to_value(&read).unwrap(), serde_json::to_value(&all).unwrap()], [least, full]);
    written(&read, &all);
}

/// Holds the schema of a request against bodies that are taken and bodies that are not.
pub(in crate::door) fn read<T: JsonSchema + DeserializeOwned + Debug>(good: &[Value], bad: &[Value]) {
    let schema = taken::<T>();
    assert_eq!(schema.get("additionalProperties"), Some(&json!(false)), "{}", T::schema_name());
    for (bodies, fits) in [(good, true), (bad, false)] {
        for body in bodies {
            let by_serde = parse::<T>(body.to_string().as_bytes());
            let by_schema = faults(&schema, body);
            let agree = by_serde.is_ok() == fits && by_schema.is_empty() == fits;
            assert!(agree, "{} {body}: serde says {by_serde:?}, the schema {by_schema:?}", T::schema_name());
        }
    }
}

#[test]
fn a_send_is_read_as_its_schema_says() {
    let with = |name: &str, value: Value| json!({"to": "auto", "prompt": "x", name: value});
    read::<SendRequest>(
        &[
            json!({"prompt": "x"}),
            json!({"to": null, "role": "w-upper", "prompt": "x", "kind": "bulk", "priority": "now", "deadline": "8m",
                   "wait": 1.5, "key": "k"}),
            with("deadline", json!("250ms")),
            with("deadline", json!("1.5h")),
            with("deadline", json!("7d")),
            with("deadline", json!("5min")),
            with("deadline", json!(0)),
            with("deadline", json!(320_000_000)),
            with("priority", json!("normal")),
            with("wait", Value::Null),
            with("key", Value::Null),
        ],
        &[
            json!({}),
            json!({"prompt": null}),
            json!("x"),
            json!([]),
            with("deadline", json!("soon")),
            with("deadline", json!("8")),
            with("deadline", json!("-8m")),
            with("deadline", json!(-1)),
            with("deadline", json!(320_000_001)),
            with("deadline", json!(true)),
            with("priority", json!("high")),
            with("priority", Value::Null),
            with("prompt", json!(5)),
            with("key", json!(5)),
            with("promt", json!("x")),
        ],
    );
}

#[test]
fn the_other_requests_are_read_as_their_schemas_say() {
    let named = |name: &str, value: Value| json!({"recipe": "ask", name: value});
    read::<RunRequest>(
        &[
            json!({"recipe": "ask"}),
            named("job", json!({"parts": []})),
            named("job", Value::Null),
            named("job", json!([5])),
        ],
        &[json!({"job": {}}), named("jobs", json!({})), named("wait", json!("8 fortnights"))],
    );
    read::<ReplyRequest>(
        &[json!({"text": "blue", "question": "q5"}), json!({"text": "blue", "turn": "t17", "question": null})],
        &[
            json!({"question": "q5"}),
            json!({"text": "blue", "question": "t5"}),
            json!({"text": "blue", "question": "q"}),
            json!({"text": "blue", "question": "q+5"}),
            json!({"text": "blue", "question": 5}),
            json!({"text": "blue", "answer": "blue"}),
        ],
    );
    read::<SpawnRequest>(
        &[json!({"role": "w"}), json!({"role": "w", "profile": "p", "key": "k"})],
        &[json!({}), json!({"role": ["w"]}), json!({"role": "w", "name": "w-1"})],
    );
}

/// The longest texts that the schema lets through are within what is read, so the two have no gap to fall into.
#[test]
fn no_length_of_time_that_fits_is_too_long() {
    for text in ["99999999s", "99999999ms", "999999m", "999999.9min", "9999h", "999d"] {
        read::<SendRequest>(&[json!({"prompt": "x", "deadline": text})], &[]);
    }
    for text in ["9999999999999s", "99999d"] {
        read::<SendRequest>(&[], &[json!({"prompt": "x", "deadline": text})]);
    }
}

fn envelope() -> Value {
    json!({
        "turn": "t17", "message": "m4",
        "from": {"worker": "w-1", "role": "w", "profile": "p", "launcher": "exec", "model": "m"},
        "ok": false, "outcome": "timed_out", "error": "timed_out", "why": "its deadline passed", "text": "half",
        "data": [1, null], "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "cost": 0.5},
        "times": {"accepted": 1, "handed": 2, "started": 3, "settled": 4}, "proof": "exit_status",
        "exit": {"signal": 9}, "stderr": "oh", "generation": 3, "truncated": {"path": "stdout", "bytes": 9, "data": "data.json"},
        "work": {"branch": "fleet/w-1-5", "base": "c0ffee", "commits": 2, "files_changed": 3, "dirty": true}, "retry_of": "t9", "amends": "t8",
        "late": "timed_out: its deadline passed"
    })
}

fn turn() -> Value {
    json!({
        "id": "t17", "sender": "run r3", "to": {"worker": "w-1"}, "because": "there is only one", "kind": "bulk",
        "files": ["src/a.rs"], "routed": {"rubric": "otherwise", "role": "w", "generation": 3, "asked": [
            {"rubric": "otherwise", "at": "routes.lua:9", "verdict": "decided", "said": "w: there is only one"}]},
        "priority": "now", "prompt_bytes": 5, "prompt_of": "t9", "key": "k", "accepted": 1, "deadline": 9, "may_take": "600000ms", "timeout": 8,
        "retry_of": "t9", "retried_as": "t99", "tried": ["w-2"], "command": {"argv": ["cargo"], "cwd": "/x", "timeout": "600000ms"}, "shape": {"schema": {"type": "integer"}, "corrections": 2},
        "amends": {"first": "t9", "of": "t9", "complaint": "it is empty", "times": 1, "session": 0, "sent_to": {"role": "w"}, "priority": "now"}, "step": {"run": "r3", "path": "send#1"}, "generation": 3, "state": "asking",
        "receipt": [{"at": 1, "state": "queued"}, {"at": 2, "state": "handed", "note": "to w-1"}], "worker": "w-1",
        "questions": ["q5"], "outcome": "failed", "why": "exit status 1", "message": "m4",
        "waits": "asks a question", "ahead": 2, "age_ms": 7
    })
}

fn least_turn() -> Value {
    json!({
        "id": "t17", "sender": "operator", "to": {"role": "w"}, "priority": "normal", "prompt_bytes": 5,
        "prompt_of": "t17", "accepted": 1, "generation": 0, "state": "queued", "receipt": [], "age_ms": 7
    })
}

fn run() -> Value {
    json!({
        "id": "r3", "recipe": "ask", "owner": "leader", "key": "k", "generation": {"number": 3, "hash": "ab"},
        "started": 1, "deadline": 9, "granted": "480000ms", "finished_steps": 1, "sent": 2, "settled": 1, "progress": "half",
        "outcome": "partial", "why": "a part is missing", "ended": 5, "collected": true, "message": "m5",
        "budget": {"turns": 9, "tokens": 1000, "cost": 0.5}, "parent": {"run": "r2", "path": "recipe#1"}, "depth": 1,
        "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4},
        "closing": {"outcome": "budget", "why": "9 of 9 turns are used", "until": 8}
    })
}

fn least_run() -> Value {
    json!({
        "id": "r3", "recipe": "ask", "owner": "operator", "generation": {"number": 3, "hash": "ab"}, "started": 1,
        "finished_steps": 0, "sent": 0, "settled": 0, "collected": false
    })
}

fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

fn question() -> Value {
    json!({"question": "q5", "turn": "t17", "run": "r3", "text": "which colour?", "at": 4})
}

#[test]
fn turns_and_replies_are_written_as_their_schemas_say() {
    let least = json!({
        "turn": "t17", "from": {}, "ok": true, "outcome": "replied", "text": "HELLO",
        "times": {"accepted": 1, "settled": 4}, "generation": 0
    });
    written_as::<Envelope>(least, envelope());
    written_as::<TurnView>(least_turn(), turn());
    let events = json!([{"at": 1, "what": "accepted"}, {"at": 2, "turn": "t17", "run": "r3", "worker": "w-1", "what": "handed"}]);
    written_as::<Trace>(
        with(least_turn(), json!({"events": []})),
        with(turn(), json!({"events": events, "stderr": "oh"})),
    );
    written_as::<Pending>(
        json!({"pending": "wait_over", "state": "queued"}),
        json!({"pending": "question", "turn": "t17", "run": "r3", "state": "asking", "waits": "asks a question", "ahead": 1,
               "questions": [question(), {"question": "q6", "text": "?", "at": 4}]}),
    );
}

#[test]
fn runs_are_written_as_their_schemas_say() {
    written_as::<Run>(least_run(), run());
    let result = with(run(), json!({"value": {"ranking": []}}));
    let least = with(least_run(), json!({"value": null}));
    written_as::<RunResult>(least.clone(), result.clone());
    let step = json!({
        "run": "r3", "path": "send#1", "verb": "send", "hash": "ab", "what": "to w", "at": "recipes/x.lua:12", "began": 2,
        "turn": "t17", "child": "r4", "retries": 1, "deadline": "480000ms", "until": 9, "question": "q5", "raised": true,
        "seq": 1
    });
    let step_turn = json!({
        "turn": "t17", "state": "working", "outcome": "replied", "worker": "w-1", "age_ms": 9, "waits": "asks a question",
        "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}
    });
    let bare = json!({
        "run": "r3", "path": "now#1", "verb": "now", "hash": "ab", "what": "", "at": "x.lua:1", "began": 2, "retries": 0
    });
    written_as::<RunDetail>(
        with(least, json!({"steps": []})),
        with(result, json!({"steps": [step, bare], "turns": [step_turn], "questions": [question()]})),
    );
    let recipe = json!({"name": "ask", "about": "asks", "input": {"type": "object"}, "deadline": "60000ms", "budget": {"turns": 3},
               "at": "x.lua:3"});
    let recipes = json!({"generation": 3, "recipes": [recipe, {"name": "b", "input": {}, "at": "x.lua:9"}]});
    written_as::<Recipes>(json!({"generation": 0, "recipes": []}), recipes);
}

#[test]
fn mail_is_written_as_its_schema_says() {
    let item = |about: Value| with(json!({"message": "m4", "at": 1, "shown": false}), about);
    let result = with(run(), json!({"value": 5}));
    let messages = json!([
        item(json!({"reply": envelope()})),
        item(json!({"question": question()})),
        item(json!({"run": result})),
        item(json!({"notice": "the charter was not taken"})),
    ]);
    let full = json!({"messages": messages, "more": true, "cursor": "m4"});
    written_as::<Mail>(json!({"messages": [], "more": false}), full);
    written_as::<Acked>(json!({"acked": [], "unknown": []}), json!({"acked": ["m4"], "unknown": ["m5"]}));
    let asked = json!({"id": "q5", "asker": {"turn": "t17"}, "to": "leader", "text": "?", "at": 4, "message": "m4"});
    let answered =
        json!({"asker": {"step": {"run": "r3", "path": "ask_leader#1"}}, "answer": "blue", "request": "mcp 0 1"});
    written_as::<Question>(asked.clone(), with(asked, answered));
}

#[test]
fn the_team_and_the_charter_are_written_as_their_schemas_say() {
    let worker = json!({
        "name": "w-1", "role": "w", "profile": "p", "launcher": "exec", "has_screen": false, "state": "busy", "elastic": true,
        "turns": 0, "age_ms": 7
    });
    let blocked = json!({"state": "blocked", "why": "a dialog", "turn": "t17", "process": {"pid": 17, "start": 99}});
    written_as::<WorkerView>(worker.clone(), with(worker.clone(), blocked));
    let used = json!({"turns": 2, "input": 90, "output": 7, "cost": 0.5});
    let load = json!({"max_busy": 2, "busy": 1, "free": 1, "waiting": 0, "max_waiting": 4, "workers": 1, "open": true, "recent_failures": 0, "used": used});
    written_as::<RoleLoad>(load.clone(), with(load.clone(), json!({"max_workers": 3, "until": 9})));
    let endpoint = json!({"busy": 1, "recent_failures": 0, "used": used});
    let capped = with(endpoint.clone(), json!({"max_busy": 2, "free": 1}));
    written_as::<EndpointLoad>(endpoint, capped.clone());
    let role =
        with(json!({"name": "w", "about": "works", "profiles": ["p"], "closed": "closed: until 22:00"}), load.clone());
    let bare = with(json!({"name": "v", "profiles": []}), load);
    let open = json!({"turn": "t17", "state": "queued", "to": "w", "from": "run r3", "age_ms": 7});
    let full = with(open.clone(), json!({"worker": "w-1", "waits": "cap", "ahead": 1}));
    let holds = json!({"failures": 5, "worker": "w-5", "why": "no", "at": 9});
    let trouble = with(holds.clone(), json!({"until": 10, "holds": "backing off"}));
    written_as::<Trouble>(holds, trouble.clone());
    let role = with(role, json!({"trouble": trouble}));
    written_as::<Roster>(
        json!({"generation": 0, "roles": [], "workers": [], "open_turns": 0, "turns": [], "open_runs": 0, "mail": {}}),
        json!({"generation": 3, "roles": [role, bare], "workers": [worker], "open_turns": 2, "turns": [open, full],
               "endpoints": {"llm": capped}, "open_runs": 1, "mail": {"operator": 3}, "paused": {"by": "operator", "since": 4, "age_ms": 7}}),
    );
    let paused = json!({"paused": true, "by": "leader", "since": 4, "age_ms": 7});
    written_as::<PauseView>(json!({"paused": false}), paused);
    let routed = json!({
        "to": {"role": "w"}, "because": "there is only one", "rubric": "otherwise", "generation": 3,
        "asked": [{"rubric": "bulk goes local", "at": "routes.lua:3", "verdict": "nothing", "said": "nothing"}]
    });
    written_as::<Routed>(routed.clone(), with(routed, json!({"to": {"worker": "w-1"}, "role": "w"})));
    let generation = Generation { number: 3, hash: "ab".into() };
    let change = json!({"of": "role", "how": "changed", "name": "w", "words": "role 'w': max_busy 6 → 3"});
    let change: Change = serde_json::from_value(change).unwrap();
    let difference = Difference {
        hash: Some("cd".into()),
        changes: vec![change.clone()],
        error: Some("x.lua:3: oh".into()),
        ..Default::default()
    };
    written(&Difference::default(), &difference);
    let status = CharterStatus {
        generation,
        since: Some(Time(4)),
        error: Some("x.lua:3: oh".into()),
        stale_since: Some(Time(5)),
        last_change: vec![change],
        difference: Some(difference),
        handler_error: Some("x.lua:3: oh".into()),
        handler_place: Some("x.lua:3".into()),
        handler_failed_at: Some(Time(6)),
        rubric_times: Some(RubricTimes { asked: 9, half_us: 14, most_us: 40, slowest_us: 210 }),
        ..Default::default()
    };
    written(&CharterStatus::default(), &status);
    let rubric = json!({"rubric": "otherwise", "asked": 3, "decided": 2, "failed": 1});
    let failed = json!({"error": "x.lua:3: oh", "place": "x.lua:3", "failed_at": 9});
    written_as::<RubricStatus>(rubric.clone(), with(rubric, failed));
}

#[test]
fn a_refusal_is_written_as_its_schema_says() {
    let least = json!({"kind": "invalid", "message": "no"});
    written_as::<Refusal>(least.clone(), with(least, json!({"hints": ["valid: w-upper"]})));
}

/// What tool callers are shown stands on its own: they follow no references.
#[test]
fn a_taken_schema_has_no_references_and_keeps_its_texts() {
    let schema = taken::<SendRequest>();
    let text = serde_json::to_string(&schema).unwrap();
    assert!(!text.contains("$ref") && !text.contains("$defs"), "{text}");
    assert_eq!(schema["required"], json!(["prompt"]));
    let properties = schema["properties"].as_object().unwrap();
    for (name, property) in properties {
        assert!(property.get("description").is_some(), "{name} has no description");
    }
}
