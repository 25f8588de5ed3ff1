//! The turns of scripted workers: each is a coroutine that may ask (`asking`), and its end answers the step, or it is tried again.
//! A reply takes one virtual second, an answer of the run's owner too, a timeout its deadline.

use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::{Function, MultiValue, Table, Thread, Value as LuaValue};
use serde_json::json;

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

/// A turn that a scripted worker is at.
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
    attempt: u32,
    pub(super) started: Time,
    /// Its own time: a second try is played when the first one is, at a later hour.
    pub(super) clock: Time,
    /// How many questions were brought to the run, in all tries.
    pub(super) asked: u32,
    pub(super) heard: BTreeMap<String, String>,
    pub(super) open: Option<Open>,
    /// How often its answer was sent back, and what was wrong with the last one.
    sent_back: u32,
    complaint: Option<String>,
    /// What it used, once it has ended.
    usage: Option<Usage>,
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
                rubric::ask(stage.world, &task, &stage.standing()).routed.map(|routed| routed.to)
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
        let now = stage.now;
        let turn = Scripted {
            step: Arc::new(step),
            send,
            worker: stage.worker_at(&to),
            to,
            role,
            thread: self.thread()?,
            function,
            accepted: now,
            attempt: 1,
            started: now,
            clock: now,
            asked: 0,
            heard: BTreeMap::new(),
            open: None,
            sent_back: 0,
            complaint: None,
            usage: None,
        };
        self.begin(turn)?;
        Ok(Ok(()))
    }

    fn begin(&mut self, mut turn: Scripted) -> Result<(), CharterError> {
        in_time(self.stage.until)?;
        self.stage.turns += 1;
        turn.usage = None;
        turn.worker = self.stage.worker_at(&turn.to);
        self.count_turn(turn.step.run);
        if let Some((opens, closed)) = self.stage.opens(&turn.role, turn.started) {
            if let Some(deadline) = turn.send.deadline.filter(|deadline| turn.accepted + *deadline < opens) {
                turn.clock = turn.accepted + deadline;
                let why = format!("no worker took it within {deadline}: {closed}");
                let id = TurnId(self.stage.turns);
                let late = self.envelope(id, &turn, Outcome::TimedOut, why);
                let times = Times { handed: None, started: None, ..late.times };
                let late = Envelope { error: Some("busy".to_owned()), from: From::default(), times, ..late };
                self.answer_send(turn, &late);
                return Ok(());
            }
            let span = opens.since(turn.started);
            self.stage.say(format!("{} waits {span}: {closed}", TurnId(self.stage.turns)));
            (turn.started, turn.clock) = (opens, opens);
        }
        let task = self.task(&turn)?;
        let args = vec![LuaValue::Function(turn.function.clone()), LuaValue::Table(task)];
        self.goes_on(TurnId(self.stage.turns), turn, MultiValue::from_vec(args))
    }

    /// Lets the worker's function go on until it asks or ends.
    pub(super) fn goes_on(&mut self, id: TurnId, mut turn: Scripted, args: MultiValue) -> Result<(), CharterError> {
        let world = self.stage.world;
        let lua_error = |error: mlua::Error| world.failure(&error, None).error;
        let values = self.plays(&turn.thread, args)?;
        if !turn.thread.is_resumable() {
            let (word, text, told): (String, String, LuaValue) = world.lua.unpack_multi(values).map_err(lua_error)?;
            let wrong = |why| self.stage.at(&turn.step, format!("the scripted worker of '{}': {why}", turn.role));
            let used = used::read(&told).map_err(wrong)?;
            return self.ended(id, turn, &word, text, used);
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
        turn.clock = turn.clock.max(self.stage.now);
        let at = turn.clock;
        self.turns.insert(id, turn);
        self.add(at, due);
        Ok(())
    }

    /// Lets a function play on until it asks or ends; a worker that it lets go is gone at once.
    fn plays(&mut self, thread: &Thread, mut args: MultiValue) -> Result<MultiValue, CharterError> {
        let world = self.stage.world;
        let lua_error = |error: mlua::Error| world.failure(&error, None).error;
        loop {
            in_time(self.stage.until)?;
            world.meter.begin(thread, Allowance::RUBRIC);
            let result = thread.resume::<MultiValue>(args);
            let used = world.meter.end();
            let values = match result {
                Err(error) => return Err(world.failure(&error, used.blown).error),
                Ok(_) if used.blown.is_some() => {
                    return Err(world.failure(&mlua::Error::StackError, used.blown).error);
                }
                Ok(values) => values,
            };
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

    /// A turn has ended: it is tried again, or its envelope answers the step.
    fn ended(
        &mut self,
        id: TurnId,
        mut turn: Scripted,
        word: &str,
        text: String,
        (usage, took): Used,
    ) -> Result<(), CharterError> {
        let (outcome, short) = match word {
            "replied" => (Outcome::Replied, REPLY),
            "failed" => (Outcome::Failed, REPLY),
            "timed_out" => (Outcome::TimedOut, self.patience(&turn).unwrap_or(TIMEOUT)),
            "lost" => (Outcome::Lost, REPLY),
            _ => return Err(self.stage.at(&turn.step, text)),
        };
        let ends = turn.clock + took.unwrap_or(short);
        let late = self.patience(&turn).map(|patience| turn.started + patience);
        let late = late.filter(|late| took.is_some() && ends > *late);
        let (outcome, text) = match late {
            Some(_) => (Outcome::TimedOut, "the answer came too late".to_owned()),
            None => (outcome, text),
        };
        (turn.clock, turn.usage) = (late.map_or(ends, |late| late.max(turn.clock)), usage);
        if let Some(usage) = usage {
            self.add(turn.clock, Due::Used(turn.step.run, usage));
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
            Err(complaint) if turn.sent_back < shape.corrections && self.goes_on_with(&turn) => {
                self.stage.say(format!("{id} is sent back: {complaint}"));
                let (thread, started, sent_back) = (self.thread()?, turn.clock, turn.sent_back + 1);
                let complaint = Some(complaint);
                let heard = BTreeMap::new();
                self.begin(Scripted { thread, started, sent_back, complaint, heard, open: None, ..turn })
            }
            Err(complaint) => {
                let why = format!("its answer does not fit the schema: {complaint}");
                let failed = self.envelope(id, &turn, Outcome::Failed, why);
                self.answer_send(turn, &Envelope { error: Some(SCHEMA.to_owned()), text: text.into(), ..failed });
                Ok(())
            }
        }
    }

    /// Returns whether another try may follow a turn that has ended.
    fn goes_on_with(&mut self, turn: &Scripted) -> bool {
        let run = turn.step.run;
        let used_up = self.is_used_up(run, turn.clock);
        if used_up {
            // Another try that the budget forbids closes the run, as another send would.
            self.add(turn.clock, Due::Judge(run));
        }
        !used_up && self.closed(run).is_none()
    }

    fn answer_send(&mut self, turn: Scripted, envelope: &Envelope) {
        let value = serde_json::to_value(envelope).expect("an envelope has a JSON form");
        self.add(turn.clock, Due::Answer(turn.step, value));
    }

    pub(super) fn settle(
        &mut self,
        id: TurnId,
        turn: Scripted,
        outcome: Outcome,
        text: String,
    ) -> Result<(), CharterError> {
        let again = outcome.may_retry() && turn.attempt <= turn.send.retries && !self.stage.is_gone(&turn.to);
        if again && self.goes_on_with(&turn) {
            let thread = self.thread()?;
            let (attempt, started) = (turn.attempt + 1, turn.clock);
            return self.begin(Scripted { thread, attempt, started, heard: BTreeMap::new(), open: None, ..turn });
        }
        let envelope = self.envelope(id, &turn, outcome, text);
        self.answer_send(turn, &envelope);
        Ok(())
    }

    pub(super) fn patience(&self, turn: &Scripted) -> Option<Span> {
        let team = &self.stage.world.team;
        let profile = team.roles.get(&turn.role).and_then(|role| team.profiles.get(role.profiles.first()?));
        let timeout = profile.and_then(|profile| profile.timeout);
        [turn.send.deadline, timeout].into_iter().flatten().min()
    }

    fn envelope(&self, id: TurnId, turn: &Scripted, outcome: Outcome, text: String) -> Envelope {
        let replied = outcome == Outcome::Replied;
        let team = &self.stage.world.team;
        let profile = team.roles.get(&turn.role).and_then(|role| role.profiles.first());
        let times = Times {
            accepted: turn.accepted,
            handed: Some(turn.started),
            started: Some(turn.started),
            settled: turn.clock,
        };
        Envelope {
            turn: id,
            message: None,
            from: From {
                worker: Some(turn.worker()),
                launcher: profile.and_then(|name| Some(team.profiles.get(name)?.launcher.clone())),
                profile: profile.cloned(),
                role: Some(turn.role.clone()),
                model: None,
            },
            ok: replied,
            outcome,
            error: (!replied).then(|| outcome.word().to_owned()),
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

    fn task(&self, turn: &Scripted) -> Result<Table, CharterError> {
        let world = self.stage.world;
        let make = || -> mlua::Result<Table> {
            let task = world.lua.create_table()?;
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
