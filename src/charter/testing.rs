//! `fleet.test`: scripted workers and virtual time around the same executor that runs live.
//!
//! Each run in a test is replayed once more in a fresh VM from the journal of the first, and must end in the same: a
//! recipe that is not exactly repeatable fails its test here and not after a crash.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Function, MultiValue, Table, Value as LuaValue};
use serde::Serialize;
use serde_json::{Value, json};

use super::declare::At;
use super::error::{CharterError, CharterErrors};
use super::meter::Allowance;
use super::spec::{Fields, Wrong};
use super::stage::Stage;
use super::world::World;
use super::{describe, handlers, json, rubric, standing};
use crate::fleet::ids::{RoleName, WorkerName};
use crate::fleet::load::EndpointLoad;
use crate::fleet::refusal::Refusal;
use crate::fleet::team::{Address, RoleLoad, Task, Team, TeamLoad};
use crate::fleet::time::Time;

/// How long the tests of a charter may take before a swap.
pub(super) const LONGEST: Duration = Duration::from_secs(5);
/// What is said when they take longer.
const TOO_LONG: &str = "the tests of the charter took more than 5 s";

/// What the tests of a charter came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TestReport {
    /// One result per test, in the order of their declaration.
    pub tests: Vec<TestResult>,
}

/// What one test came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// Whether it passed.
    pub passed: bool,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CharterError>,
    /// What happened in it, line by line.
    pub transcript: Vec<String>,
}

impl TestReport {
    /// Returns whether no test failed.
    pub fn passed(&self) -> bool {
        self.tests.iter().all(|test| test.passed)
    }
}

/// Runs all tests of a charter that is about to come into force; returns why it must not.
pub(super) fn before_swap(world: &World) -> Option<CharterErrors> {
    if world.registry.borrow().tests.is_empty() {
        return None;
    }
    // In a VM of their own, so that nothing they leave behind is in force afterwards.
    let generation = world.team.generation.clone();
    let world = &match World::load(Arc::clone(&world.sources), generation, Arc::default()) {
        Ok(world) => world,
        Err(errors) => return Some(errors),
    };
    let report = all(world, Some(Instant::now() + LONGEST));
    let failed = report.tests.into_iter().filter(|test| !test.passed);
    let errors: Vec<CharterError> = failed
        .map(|test| {
            let mut error = test.error.unwrap_or_default();
            error.message = format!("test '{}' failed: {}", test.name, error.message);
            if error.file.is_none() {
                error = CharterError::at(&world.sources, &test.file, test.line, error.message);
            }
            error
        })
        .collect();
    (!errors.is_empty()).then_some(CharterErrors(errors))
}

/// Runs all tests of a charter, until a moment if one is given.
pub(super) fn all(world: &World, until: Option<Instant>) -> TestReport {
    let tests: Vec<(String, At, Function)> = world
        .registry
        .borrow()
        .tests
        .iter()
        .map(|test| (test.name.clone(), test.at.clone(), test.function.clone()))
        .collect();
    let mut report = TestReport::default();
    for (name, at, function) in tests {
        let mut stage = Stage::new(world, until);
        let outcome = one(world, &mut stage, &function);
        let late = outcome.is_err() && is_late(until);
        let transcript = stage.into_transcript();
        report.tests.push(TestResult {
            name,
            file: at.file,
            line: at.line,
            passed: outcome.is_ok(),
            error: outcome.err(),
            transcript,
        });
        if late {
            break;
        }
    }
    report
}

/// Returns an error when a moment has passed.
pub(super) fn in_time(until: Option<Instant>) -> Result<(), CharterError> {
    match is_late(until) {
        true => Err(CharterError::plain(TOO_LONG)),
        false => Ok(()),
    }
}

fn is_late(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

fn one(world: &World, stage: &mut Stage<'_>, function: &Function) -> Result<(), CharterError> {
    let lua_error = |error: mlua::Error| world.failure(&error, None).error;
    let thread = world.lua.create_thread(world.test.clone()).map_err(lua_error)?;
    let mut args = MultiValue::from_vec(vec![LuaValue::Function(function.clone())]);
    loop {
        in_time(stage.until())?;
        let values = world.resume(&thread, args, Allowance::TEST).0.map_err(|failure| failure.error)?;
        if !thread.is_resumable() {
            return Ok(());
        }
        let (request, file, line): (Table, String, u32) = world.lua.unpack_multi(values).map_err(lua_error)?;
        let answer = match asked(world, stage, &request)? {
            Ok(value) => vec![LuaValue::Boolean(true), value],
            Err(why) => {
                let text = world.lua.create_string(format!("{file}:{line}: {why}")).map_err(lua_error)?;
                vec![LuaValue::Boolean(false), LuaValue::String(text)]
            }
        };
        args = MultiValue::from_vec(answer);
    }
}

/// Does what a test asked for: the inner error is raised at the test's line, the outer one ends the test.
fn asked(world: &World, stage: &mut Stage<'_>, request: &Table) -> Result<Result<LuaValue, String>, CharterError> {
    let lua_error = |error: mlua::Error| world.failure(&error, None).error;
    let verb: String = request.raw_get("verb").map_err(lua_error)?;
    let spec: LuaValue = request.raw_get("spec").map_err(lua_error)?;
    let spec = match json::to_json(&spec, json::STEP_BYTES) {
        Ok(spec) => spec,
        Err(why) => return Ok(Err(format!("t.{verb}: {why}"))),
    };
    let name = || -> Result<String, CharterError> {
        let name: LuaValue = request.raw_get("name").map_err(lua_error)?;
        match name.as_string() {
            Some(name) => Ok(name.to_string_lossy()),
            None => Err(CharterError::plain(format!("t.{verb}: expected a name, got {}", name.type_name()))),
        }
    };
    let value = match verb.as_str() {
        "worker" => {
            let name = name()?;
            if let Err(refusal) = address_of(&world.team, &name) {
                return Ok(Err(format!("t.worker: {refusal}")));
            }
            stage.script(name, request.raw_get("fn").map_err(lua_error)?);
            Value::Null
        }
        "answer" => {
            stage.answer_with(request.raw_get("fn").map_err(lua_error)?);
            Value::Null
        }
        "command" => {
            stage.command_with(request.raw_get("fn").map_err(lua_error)?);
            Value::Null
        }
        "event" => match event(world, stage, &name()?, spec) {
            Ok(actions) => actions,
            Err(why) => return Ok(Err(format!("t.event: {why}"))),
        },
        "gone" => match stage.goes(&name()?) {
            Ok(()) => Value::Null,
            Err(why) => return Ok(Err(format!("t.gone: {why}"))),
        },
        "sent" => Value::Array(stage.sent().to_vec()),
        "ask" => return Ok(Err("t.ask: only a scripted worker asks, in the function given to t.worker".to_owned())),
        "at" => match stage.goes_on_to(&name()?, spec.as_str()) {
            Ok(()) => Value::Null,
            Err(why) => return Ok(Err(format!("t.at: {why}"))),
        },
        "route" => match told_team(world, stage, request)?.and_then(|team| route(world, stage.now(), &spec, &team)) {
            Ok(value) => value,
            Err(why) => return Ok(Err(format!("t.route: {why}"))),
        },
        _ => match stage.run(&name()?, spec)? {
            Ok(end) => json!({"outcome": end.outcome.word(), "value": end.value, "why": end.why}),
            Err(refusal) => return Ok(Err(format!("t.run: {refusal}"))),
        },
    };
    if value.is_null() {
        return Ok(Ok(LuaValue::Nil));
    }
    json::from_json(&world.lua, &value).map(Ok).map_err(lua_error)
}

/// Returns what a name addresses in a team: a role, or a worker that a role of it could have.
pub(super) fn address_of(team: &Team, name: &str) -> Result<Address, Refusal> {
    if team.roles.contains_key(&RoleName::from(name)) {
        return Ok(Address::Role(name.into()));
    }
    let worker = WorkerName::from(name);
    match worker.role().is_some_and(|role| team.roles.contains_key(&role)) {
        true => Ok(Address::Worker(worker)),
        false => Err(Refusal::unknown("role", name, team.roles.keys().map(|role| role.as_str()))),
    }
}

/// Returns the load of a team in which everything is free.
pub(super) fn all_free(team: &Team) -> TeamLoad {
    let roles = team.roles.iter().map(|(name, role)| {
        let load = RoleLoad {
            max_busy: role.most_busy(),
            max_workers: role.max_workers,
            free: role.most_busy(),
            max_waiting: role.max_waiting,
            open: true,
            ..RoleLoad::default()
        };
        (name.clone(), load)
    });
    let endpoints = team.profiles.values().filter_map(|profile| profile.endpoint.clone());
    TeamLoad {
        roles: roles.collect(),
        endpoints: endpoints.map(|name| (name, EndpointLoad::default())).collect(),
        workers: Arc::default(),
    }
}

/// Reads the team that a test gives beside its task.
fn told_team(world: &World, stage: &Stage<'_>, request: &Table) -> Result<Result<TeamLoad, String>, CharterError> {
    let told: LuaValue = request.raw_get("team").map_err(|error| world.failure(&error, None).error)?;
    let told = json::to_json(&told, json::STEP_BYTES);
    Ok(told.and_then(|told| standing::with(stage.standing(), &told)))
}

/// Tells the handlers of an event, of which a broken one is a mistake; returns what they want done, in order.
fn event(world: &World, stage: &mut Stage<'_>, name: &str, spec: Value) -> Result<Value, String> {
    let Some(event) = describe::EVENTS.iter().find(|event| event.name == name) else {
        return Err(Refusal::unknown("event", name, describe::EVENTS.iter().map(|event| event.name)).to_string());
    };
    Fields::of(format!("the event '{name}'"), &spec, event.fields).map_err(|wrong| wrong.message)?;
    // An empty Lua table is a list.
    let mut payload = if spec.is_object() { spec } else { json!({}) };
    payload["event"] = name.into();
    stage.say(format!("event {name}"));
    let mut actions = Vec::new();
    for handled in handlers::call(world, name, &payload) {
        match handled.said {
            Ok(None) => {}
            Ok(Some((told, _))) => {
                stage.say(format!("{} wants {told}", handled.at));
                actions.push(told);
            }
            Err(error) => return Err(format!("a handler is broken: {error}")),
        }
    }
    Ok(Value::Array(actions))
}

/// Asks the rubrics for a test, in which a broken one is a mistake.
fn route(world: &World, now: Time, spec: &Value, team: &TeamLoad) -> Result<Value, String> {
    let read = || -> Result<Task, Wrong> {
        let fields = Fields::of("the task".to_owned(), spec, describe::TEST_TASK)?;
        Ok(Task {
            prompt: fields.text("prompt")?.unwrap_or_default(),
            kind: fields.text("kind")?,
            files: fields.texts("files")?.unwrap_or_default(),
            from: fields.text("from")?.unwrap_or_else(|| "leader".to_owned()),
            urgent: fields.flag("urgent")?.unwrap_or(false),
            now,
        })
    };
    let task = read().map_err(|wrong| wrong.message)?;
    let answer = rubric::ask(world, &task, team);
    if let Some(broken) = answer.broken() {
        return Err(format!("a rubric is broken: {broken}"));
    }
    let routed = answer.routed.map_err(|refusal| refusal.to_string())?;
    let (role, worker) = match &routed.to {
        Address::Role(role) => (Some(role), None),
        Address::Worker(worker) => (None, Some(worker)),
    };
    Ok(json!({"role": role, "worker": worker, "because": routed.because, "rubric": routed.rubric}))
}
