//! The turns of scripted workers: each is a coroutine that may ask (`asking`), and its end answers the step, or it is tried again.
//! A reply takes one virtual second, an answer of the run's owner too, a timeout its deadline. When a turn ends, and what
//! follows from that, is as in the fleet (`settle`, `amend` and `runs` there); a test plays both side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::{Function, MultiValue, Table, Thread, Value as LuaValue};
use serde_json::json;

use super::Stage;
use super::asking::Open;
use super::play::{Due, Play};
use super::used::{self, Used};
use crate::charter::error::CharterError;
use crate::charter::meter::Allowance;
use crate::charter::rubric;
use crate::charter::testing::{address_of, in_time};
use crate::fleet::amend::SCHEMA;
use crate::fleet::asked::MOST_QUESTIONS;
use crate::fleet::bounds::not_begun;
use crate::fleet::envelope::{Envelope, From, Times, Usage};
use crate::fleet::ids::{RoleName, TurnId, WorkerName};
use crate::fleet::orphans::{LOST, no_such_worker};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{Step, StepSend};
use crate::fleet::team::{Address, Task};
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::{Outcome, Priority};

/// How long a scripted worker takes, and an owner that is asked.
pub(super) const REPLY: Span = Span(1_000);
/// How long a turn takes to time out that has no deadline, on a profile that has no timeout.
const TIMEOUT: Span = Span(60_000);
/// What is said of an answer that came after that.
pub(super) const TOO_SLOW: &str = "the answer came too late";

/// A turn of a scripted worker, from its acceptance to its end.
pub(super) struct Scripted {
    pub(super) step: Arc<Step>,
    pub(super) send: StepSend,
    to: Address,
    role: RoleName,
    /// Who has it.
    worker: WorkerName,
    function: Function,
    thread: Thread,
    accepted: Time,
    /// When it must have ended: by each try's own acceptance, which a correction keeps.
    deadline: Option<Time>,
    attempt: u32,
    /// When the worker got it, if it did.
    handed: Option<Time>,
    /// How many questions were brought to the run, in all tries.
    pub(super) asked: u32,
    pub(super) heard: BTreeMap<String, String>,
    pub(super) open: Option<Open>,
    /// How often its answer was sent back, and what was wrong with the last one.
    sent_back: u32,
    complaint: Option<String>,
    /// What it used, once it has ended.
    pub(super) usage: Option<Usage>,
}

impl Scripted {
    /// Returns the send that the turn is for.
    pub(super) fn step(&self) -> &Step {
        &self.step
    }

    pub(super) fn worker(&self) -> WorkerName {
        self.worker.clone()
    }
}

impl Play<'_, '_> {
    /// A recipe sends: a scripted worker takes it at once.
    pub(super) fn send(&mut self, step: Step, send: StepSend) -> Result<Result<(), Refusal>, CharterError> {
        if let Some(value) = self.closed(step.run) {
            self.add(self.stage.now, Due::Answer(Arc::new(step), value));
            return Ok(Ok(()));
        }
        let stage = &mut *self.stage;
        let team = &stage.world.team;
        let routed = match &send.to {
            Some(to) => address_of(team, &to.to_string()),
            None => {
                let task = Task {
                    prompt: send.prompt.to_string(),
                    kind: send.kind.clone(),
                    files: send.files.clone(),
                    from: format!("run {}", step.run),
                    urgent: send.priority == Priority::Now,
                    now: stage.now,
                };
                let answer = rubric::ask(stage.world, &task, &stage.standing());
                if let Some(broken) = answer.broken() {
                    return Err(stage.at(&step, format!("run:send: a rubric is broken: {broken}")));
                }
                if let Ok(routed) = &answer.routed {
                    stage.say(format!("to auto → {} ({})", routed.to, routed.because));
                }
                answer.routed.map(|routed| routed.to)
            }
        };
        let to = match routed {
            Ok(to) => to,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Address::Worker(worker) = &to
            && stage.is_gone(&to)
        {
            let value = not_begun(stage.now, LOST, &no_such_worker(worker));
            self.add(self.stage.now, Due::Answer(Arc::new(step), value));
            return Ok(Ok(()));
        }
        stage.sent.push(json!({"to": to.to_string(), "prompt": &*send.prompt, "kind": send.kind}));
        let role = match &to {
            Address::Role(role) => role.clone(),
            Address::Worker(worker) => worker.role().unwrap_or_else(|| worker.as_str().into()),
        };
        let named =
            |name: &str| stage.workers.iter().find(|(other, _)| other == name).map(|(_, function)| function.clone());
        let Some(function) = named(&to.to_string()).or_else(|| named(role.as_str())) else {
            let why = format!(
                "no worker of role '{role}' is scripted; add t.worker(\"{role}\", function(task) return \"…\" end)"
            );
            return Err(stage.at(&step, why));
        };
        let turn = Scripted {
            step: Arc::new(step),
            send,
            worker: stage.worker_at(&to),
            to,
            role,
            thread: self.thread()?,
            function,
            accepted: Time(0),
            deadline: None,
            attempt: 0,
            handed: None,
            asked: 0,
            heard: BTreeMap::new(),
            open: None,
            sent_back: 0,
            complaint: None,
            usage: None,
        };
        self.tries(turn)?;
        Ok(Ok(()))
    }

    /// Another try, or the first one: its deadline counts from now.
    fn tries(&mut self, turn: Scripted) -> Result<(), CharterError> {
        let deadline = turn.send.deadline.map(|span| self.stage.now + span);
        self.begin(Scripted { attempt: turn.attempt + 1, deadline, sent_back: 0, complaint: None, ..turn })
    }

    /// A turn is accepted: the worker gets it at once, or when its role opens.
    fn begin(&mut self, turn: Scripted) -> Result<(), CharterError> {
        in_time(self.stage.until)?;
        self.stage.turns += 1;
        let (id, now) = (TurnId(self.stage.turns), self.stage.now);
        self.count_turn(turn.step.run);
        let (thread, heard) = (self.thread()?, BTreeMap::new());
        let worker = self.stage.worker_at(&turn.to);
        let turn = Scripted { thread, heard, worker, accepted: now, handed: None, open: None, usage: None, ..turn };
        let opens = self.stage.opens(&turn.role, now);
        let (deadline, span) = (turn.deadline, turn.deadline.map(|at| at.since(now)).unwrap_or_default());
        self.turns.insert(id, turn);
        match (opens, deadline) {
            (None, _) => self.handed(id)?,
            (Some((opens, closed)), Some(deadline)) if deadline < opens => {
                let why = format!("no worker took it within {span}: {closed}");
                self.add(deadline, Due::End(id, Outcome::TimedOut, why));
            }
            (Some((opens, closed)), _) => {
                self.stage.say(format!("{id} waits {}: {closed}", opens.since(now)));
                self.add(opens, Due::Hand(id));
            }
        }
        Ok(())
    }

    /// The worker gets a turn.
    pub(super) fn handed(&mut self, id: TurnId) -> Result<(), CharterError> {
        let Some(turn) = self.turns.get_mut(&id) else { return Ok(()) };
        turn.handed = Some(self.stage.now);
        let function = turn.function.clone();
        let task = self.task(id)?;
        self.goes_on(id, MultiValue::from_vec(vec![LuaValue::Function(function), LuaValue::Table(task)]))
    }

    /// Lets the worker's function go on until it asks or ends.
    pub(super) fn goes_on(&mut self, id: TurnId, args: MultiValue) -> Result<(), CharterError> {
        let Some(thread) = self.turns.get(&id).map(|turn| turn.thread.clone()) else { return Ok(()) };
        let world = self.stage.world;
        let lua_error = |error: mlua::Error| world.failure(&error, None).error;
        let values = self.plays(&thread, args)?;
        let Some(turn) = self.turns.get(&id) else { return Ok(()) };
        if !turn.thread.is_resumable() {
            let (word, text, told): (String, String, LuaValue) = world.lua.unpack_multi(values).map_err(lua_error)?;
            let wrong = |why| self.stage.at(&turn.step, format!("the scripted worker of '{}': {why}", turn.role));
            let used = used::read(&told).map_err(wrong)?;
            return self.through(id, &word, text, used);
        }
        let (request, file, line): (Table, String, u32) = world.lua.unpack_multi(values).map_err(lua_error)?;
        let verb: String = request.raw_get("verb").map_err(lua_error)?;
        let wrong = |why: String| CharterError::read(&world.sources, &format!("{file}:{line}: {why}"));
        if verb != "ask" {
            return Err(wrong(format!("t.{verb}: a scripted worker may wait for nothing but t.ask")));
        }
        let text: String = request.raw_get("text").map_err(lua_error)?;
        // The same text in the same turn is the same question.
        let due = match turn.heard.get(&text) {
            Some(answer) => Due::Hear(id, answer.clone()),
            None if turn.heard.len() >= MOST_QUESTIONS => {
                return Err(wrong(format!("the turn has asked {MOST_QUESTIONS} questions, which is the most")));
            }
            None => Due::Ask(id, text),
        };
        self.add(self.stage.now, due);
        Ok(())
    }

    /// Lets a function play on until it asks or ends; a worker that it lets go is gone at once.
    fn plays(&mut self, thread: &Thread, mut args: MultiValue) -> Result<MultiValue, CharterError> {
        let world = self.stage.world;
        let lua_error = |error: mlua::Error| world.failure(&error, None).error;
        loop {
            in_time(self.stage.until)?;
            let values = world.resume(thread, args, Allowance::RUBRIC).0.map_err(|failure| failure.error)?;
            let Some(LuaValue::Table(request)) = values.front().filter(|_| thread.is_resumable()) else {
                return Ok(values);
            };
            if request.raw_get::<String>("verb").map_err(lua_error)? != "gone" {
                return Ok(values);
            }
            let name: String = request.raw_get("name").map_err(lua_error)?;
            let (_, file, line): (LuaValue, String, u32) = world.lua.unpack_multi(values).map_err(lua_error)?;
            let wrong = |why| CharterError::read(&world.sources, &format!("{file}:{line}: t.gone: {why}"));
            self.stage.goes(&name).map_err(wrong)?;
            args = MultiValue::from_vec(vec![LuaValue::Boolean(true)]);
        }
    }

    /// The worker's function is through: how its turn will end, and when.
    fn through(&mut self, id: TurnId, word: &str, text: String, (usage, took): Used) -> Result<(), CharterError> {
        let Some(turn) = self.turns.get_mut(&id) else { return Ok(()) };
        let (now, late) = (self.stage.now, self.stage.late(turn));
        let (outcome, ends) = match word {
            "replied" => (Outcome::Replied, now + took.unwrap_or(REPLY)),
            "failed" => (Outcome::Failed, now + took.unwrap_or(REPLY)),
            "lost" => (Outcome::Lost, now + took.unwrap_or(REPLY)),
            "timed_out" => (Outcome::TimedOut, took.map_or_else(|| late.unwrap_or(now + TIMEOUT), |took| now + took)),
            _ => return Err(self.stage.at(&turn.step, text)),
        };
        turn.usage = usage;
        match late.filter(|late| took.is_some() && ends > *late) {
            Some(late) => self.add(late, Due::End(id, Outcome::TimedOut, TOO_SLOW.to_owned())),
            None => self.add(ends, Due::End(id, outcome, text)),
        };
        Ok(())
    }

    /// A turn has ended: its answer is sent back, it is tried again, or its envelope answers the step.
    pub(super) fn ended(&mut self, id: TurnId, outcome: Outcome, text: String) -> Result<(), CharterError> {
        let Some(turn) = self.turns.remove(&id) else { return Ok(()) };
        if let Some(usage) = &turn.usage {
            self.uses(turn.step.run, usage);
        }
        let Some(shape) = turn.send.shape.clone().filter(|_| outcome == Outcome::Replied) else {
            return self.settle(id, turn, outcome, text);
        };
        match shape.check(&text) {
            Ok(data) => {
                let envelope = Envelope { data: Some(data), ..self.envelope(id, &turn, outcome, text) };
                self.answer_send(turn, &envelope);
                Ok(())
            }
            Err(complaint) if turn.sent_back < shape.corrections && self.closed(turn.step.run).is_none() => {
                self.stage.say(format!("{id} is sent back: {complaint}"));
                self.begin(Scripted { sent_back: turn.sent_back + 1, complaint: Some(complaint), ..turn })
            }
            Err(complaint) => {
                let why = format!("its answer does not fit the schema: {complaint}");
                let failed = self.envelope(id, &turn, Outcome::Failed, why);
                self.answer_send(turn, &Envelope { error: Some(SCHEMA.to_owned()), text: text.into(), ..failed });
                Ok(())
            }
        }
    }

    pub(super) fn answer_send(&mut self, turn: Scripted, envelope: &Envelope) {
        let value = serde_json::to_value(envelope).expect("an envelope has a JSON form");
        self.finish((*turn.step).clone(), value);
    }

    pub(super) fn settle(
        &mut self,
        id: TurnId,
        turn: Scripted,
        outcome: Outcome,
        text: String,
    ) -> Result<(), CharterError> {
        let again = outcome.may_retry() && turn.attempt <= turn.send.retries && !self.stage.is_gone(&turn.to);
        if again && self.closed(turn.step.run).is_none() {
            return self.tries(turn);
        }
        let envelope = self.envelope(id, &turn, outcome, text);
        self.answer_send(turn, &envelope);
        Ok(())
    }

    pub(super) fn envelope(&self, id: TurnId, turn: &Scripted, outcome: Outcome, text: String) -> Envelope {
        let replied = outcome == Outcome::Replied;
        let team = &self.stage.world.team;
        let profile = team.roles.get(&turn.role).and_then(|role| role.profiles.first());
        let times =
            Times { accepted: turn.accepted, handed: turn.handed, started: turn.handed, settled: self.stage.now };
        // Nobody was slow where nobody had it.
        let error = if turn.handed.is_none() { "busy" } else { outcome.word() };
        let from = From {
            worker: Some(turn.worker()),
            launcher: profile.and_then(|name| Some(team.profiles.get(name)?.launcher.clone())),
            profile: profile.cloned(),
            role: Some(turn.role.clone()),
            model: None,
        };
        Envelope {
            turn: id,
            message: None,
            from: if turn.handed.is_some() { from } else { From::default() },
            ok: replied,
            outcome,
            error: (!replied).then(|| error.to_owned()),
            why: (!replied).then(|| text.clone()),
            text: if replied { text.into() } else { "".into() },
            data: None,
            usage: turn.usage,
            times,
            proof: Some("scripted".to_owned()),
            exit: None,
            stderr: None,
            generation: team.generation.number,
            truncated: None,
            work: None,
            retry_of: None,
            amends: None,
            late: None,
        }
    }

    fn task(&self, id: TurnId) -> Result<Table, CharterError> {
        let world = self.stage.world;
        let make = || -> mlua::Result<Table> {
            let task = world.lua.create_table()?;
            let Some(turn) = self.turns.get(&id) else { return Ok(task) };
            task.raw_set("prompt", &*turn.send.prompt)?;
            task.raw_set("kind", turn.send.kind.as_deref())?;
            task.raw_set("to", turn.to.to_string())?;
            task.raw_set("try", turn.attempt)?;
            task.raw_set("complaint", turn.complaint.as_deref())?;
            Ok(task)
        };
        make().map_err(|error| world.failure(&error, None).error)
    }

    fn thread(&self) -> Result<Thread, CharterError> {
        let world = self.stage.world;
        world.lua.create_thread(world.scripted.clone()).map_err(|error| world.failure(&error, None).error)
    }
}

impl Stage<'_> {
    /// Returns when the time of a turn is over that a worker has: by its deadline, its timeout, or its profile's.
    pub(super) fn late(&self, turn: &Scripted) -> Option<Time> {
        let team = &self.world.team;
        let profile = team.roles.get(&turn.role).and_then(|role| team.profiles.get(role.profiles.first()?));
        let handed = turn.handed.unwrap_or(turn.accepted);
        let timeouts = [profile.and_then(|profile| profile.timeout), turn.send.timeout];
        turn.deadline.into_iter().chain(timeouts.into_iter().flatten().map(|span| handed + span)).min()
    }
}
