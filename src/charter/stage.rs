//! The stage on which a test plays: an engine in miniature with scripted workers and a clock that jumps.
//!
//! A reply takes one virtual second, a timeout its deadline; caps and queues are not played.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use mlua::{Function, Table};
use serde_json::{Value, json};

use super::error::CharterError;
use super::meter::{Allowance, is_limit};
use super::rubric;
use super::runs::Runs;
use super::schema::check_job;
use super::testing::{address_of, all_free, in_time};
use super::world::World;
use crate::fleet::caller::Sender;
use crate::fleet::envelope::{Envelope, From, Times};
use crate::fleet::ids::{RecipeName, RoleName, RunId, StepPath, TurnId};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, Step, StepRequest, StepSend};
use crate::fleet::team::{Address, Task};
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::{Outcome, Priority};

/// When a stage opens: 2023-11-14T22:13:20Z.
const OPENS: Time = Time(1_700_000_000_000);
/// How long a scripted worker takes.
const REPLY: Span = Span(1_000);
/// How long a turn takes to time out that has no deadline, on a profile that has no timeout.
const TIMEOUT: Span = Span(60_000);
/// How many lines a transcript has at most.
const MOST_LINES: usize = 1_000;
/// How many steps a run on the stage may take: virtual time has no end of its own.
const MOST_STEPS: usize = 20_000;

/// Everything that one test has set up and done.
pub(super) struct Stage<'w> {
    world: &'w World,
    until: Option<Instant>,
    workers: Vec<(String, Function)>,
    answers: Option<Function>,
    sent: Vec<Value>,
    notes: BTreeMap<String, Value>,
    transcript: Vec<String>,
    now: Time,
    turns: u64,
    runs: u64,
    drawn: u64,
}

/// A step that will be answered at its time; the number keeps the order of equals.
type Due = BTreeMap<(Time, u64), (Arc<Step>, Value)>;

/// What a run on the stage came to.
struct Played {
    end: RunEnd,
    journal: Vec<FinishedStep>,
    reached: HashSet<StepPath>,
}

impl<'w> Stage<'w> {
    /// Returns an empty stage; what plays on it is stopped at a moment if one is given.
    pub(super) fn new(world: &'w World, until: Option<Instant>) -> Stage<'w> {
        Stage {
            world,
            until,
            workers: Vec::new(),
            answers: None,
            sent: Vec::new(),
            notes: BTreeMap::new(),
            transcript: Vec::new(),
            now: OPENS,
            turns: 0,
            runs: 0,
            drawn: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Scripts the workers of a role, or one worker.
    pub(super) fn script(&mut self, name: String, function: Function) {
        self.workers.retain(|(other, _)| *other != name);
        self.workers.push((name, function));
    }

    /// Scripts the answers to questions.
    pub(super) fn answer_with(&mut self, function: Function) {
        self.answers = Some(function);
    }

    /// Returns what was sent so far.
    pub(super) fn sent(&self) -> &[Value] {
        &self.sent
    }

    /// Returns when the play must be over, by the real clock.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the virtual time.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Returns what happened, line by line.
    pub(super) fn into_transcript(self) -> Vec<String> {
        self.transcript
    }

    /// Runs a recipe to its end and replays it; the inner error is the test's own mistake.
    pub(super) fn run(&mut self, recipe: &str, job: Value) -> Result<Result<RunEnd, Refusal>, CharterError> {
        let recipe = RecipeName::from(recipe);
        let Some(spec) = self.world.team.recipes.get(&recipe) else {
            let names = self.world.team.recipes.keys().map(|name| name.as_str());
            return Ok(Err(Refusal::unknown("recipe", recipe.as_str(), names)));
        };
        // An empty Lua table is a list; as a job it is an object without fields.
        let job = match job {
            Value::Array(list) if list.is_empty() => json!({}),
            Value::Null => json!({}),
            job => job,
        };
        if let Err(refusal) = check_job(spec, &job) {
            return Ok(Err(refusal));
        }
        self.runs += 1;
        let run = Run {
            id: RunId(self.runs),
            recipe,
            owner: Sender::Operator,
            key: None,
            generation: self.world.team.generation.clone(),
            started: self.now,
            deadline: spec.deadline.map(|span| self.now + span),
            finished_steps: 0,
            sent: 0,
            settled: 0,
            progress: None,
            outcome: None,
            why: None,
            ended: None,
            collected: false,
            message: None,
        };
        self.say(format!("{} {} begins", run.id, run.recipe));
        let played = self.play(&run, &job)?;
        self.say(format!("{} ends as {}", run.id, ending(&played.end)));
        // How far a run comes before a limit stops it depends on the machine.
        let limited = played.end.why.as_deref().is_some_and(is_limit);
        if played.end.outcome != RunOutcome::TimedOut && !limited {
            self.replay(&run, &job, &played)?;
        }
        Ok(Ok(played.end))
    }

    fn play(&mut self, run: &Run, job: &Value) -> Result<Played, CharterError> {
        let world = self.world;
        let mut runs = Runs::default();
        let mut inputs = VecDeque::new();
        let mut due = Due::new();
        let mut order = 0u64;
        let mut played = Played {
            end: RunEnd {
                outcome: RunOutcome::TimedOut,
                why: Some("its deadline passed".to_owned()),
                value: Value::Null,
            },
            journal: Vec::new(),
            reached: HashSet::new(),
        };
        runs.start(world, run, job, Vec::new(), &mut |input| inputs.push_back(input));
        loop {
            let mut drawn = self.drawn;
            while runs.slice(world, &mut || xorshift(&mut drawn), &mut |input| inputs.push_back(input)) {
                in_time(self.until)?;
            }
            self.drawn = drawn;
            while let Some(input) = inputs.pop_front() {
                in_time(self.until)?;
                let (path, verb, hash, what, at, request) = match input {
                    RunInput::Ended { end, .. } => {
                        played.end = end;
                        return Ok(played);
                    }
                    RunInput::Step { path, verb, hash, what, at, request, .. } => (path, verb, hash, what, at, request),
                };
                if played.reached.len() >= MOST_STEPS {
                    let why = format!("{} took more than {MOST_STEPS} steps", run.id);
                    return Err(CharterError::read(&world.sources, &format!("{at}: {why}")));
                }
                played.reached.insert(path.clone());
                let step = Step {
                    run: run.id,
                    path: path.clone(),
                    verb: verb.to_owned(),
                    hash,
                    what,
                    at,
                    began: self.now,
                    turn: None,
                    retries: 0,
                    deadline: None,
                    until: None,
                    question: None,
                    seq: None,
                };
                self.say(format!("{path} {}", step.what));
                match self.answer(run, &step, *request)? {
                    Ok((at, value)) => {
                        order += 1;
                        due.insert((at, order), (Arc::new(step), value));
                    }
                    Err(refusal) => runs.refuse(run.id, path, refusal, &mut |input| inputs.push_back(input)),
                }
            }
            let Some(((at, _), (step, value))) = due.pop_first() else {
                return Err(CharterError::plain(format!("{} waits for something that never comes", run.id)));
            };
            self.now = self.now.max(at);
            if run.deadline.is_some_and(|deadline| self.now > deadline) {
                return Ok(played);
            }
            let step = Arc::new(Step { seq: Some(played.journal.len() as u64), ..(*step).clone() });
            let done = FinishedStep { step, value: Arc::new(value) };
            played.journal.push(done.clone());
            runs.answer(run.id, done);
        }
    }

    /// Goes through the run once more in a fresh VM, with nothing but its journal.
    fn replay(&mut self, run: &Run, job: &Value, first: &Played) -> Result<(), CharterError> {
        let sources = Arc::clone(&self.world.sources);
        let fresh = World::load(sources, run.generation.clone(), Arc::default())
            .map_err(|errors| CharterError::plain(format!("the charter loaded once and not again: {errors}")))?;
        let mut runs = Runs::default();
        let mut inputs = Vec::new();
        runs.start(&fresh, run, job, first.journal.clone(), &mut |input| inputs.push(input));
        while runs.slice(&fresh, &mut || 0, &mut |input| inputs.push(input)) {
            in_time(self.until)?;
        }
        let mut end = None;
        for input in inputs {
            match input {
                RunInput::Ended { end: ended, .. } => end = Some(ended),
                RunInput::Step { path, .. } if first.reached.contains(&path) => {}
                RunInput::Step { path, at, .. } => {
                    return Err(CharterError::plain(format!(
                        "a replay of {} came to {path} at {at}, the run itself did not",
                        run.id
                    )));
                }
            }
        }
        match end {
            Some(end) if end == first.end => Ok(()),
            other => Err(CharterError::plain(format!(
                "a replay of {} ended as {}, the run itself as {}: something in it is not repeatable",
                run.id,
                other.as_ref().map_or("nothing".to_owned(), ending),
                ending(&first.end)
            ))),
        }
    }

    /// Returns when a step will be answered and with what.
    fn answer(
        &mut self,
        run: &Run,
        step: &Step,
        request: StepRequest,
    ) -> Result<Result<(Time, Value), Refusal>, CharterError> {
        let now = self.now;
        Ok(Ok(match request {
            StepRequest::Send(send) => return self.send(run, step, &send),
            StepRequest::Sleep(span) => (now + span, Value::Null),
            StepRequest::Now => (now, json!(now.0 as f64 / 1000.0)),
            StepRequest::Value(value) => (now, value),
            StepRequest::Note { name, value: Some(value) } => {
                self.notes.insert(name, value.clone());
                (now, value)
            }
            StepRequest::Note { name, value: None } => (now, self.notes.get(&name).cloned().unwrap_or_default()),
            StepRequest::Progress(_) => (now, Value::Null),
            StepRequest::Ask(question) => {
                let Some(function) = self.answers.clone() else {
                    let why = format!(
                        "the run asked '{question}'; script the answer with t.answer(function(question) … end)"
                    );
                    return Err(self.at(step, why));
                };
                let (word, text) = self.call(&function, &*question)?;
                match word.as_str() {
                    "replied" => (now + REPLY, Value::from(text)),
                    _ => return Err(self.at(step, format!("the question '{question}' was not answered: {text}"))),
                }
            }
        }))
    }

    fn send(
        &mut self,
        run: &Run,
        step: &Step,
        send: &StepSend,
    ) -> Result<Result<(Time, Value), Refusal>, CharterError> {
        let routed = match &send.to {
            Some(to) => address_of(&self.world.team, &to.to_string()),
            None => {
                let task = Task {
                    prompt: send.prompt.to_string(),
                    kind: send.kind.clone(),
                    from: format!("run {}", run.id),
                    urgent: send.priority == Priority::Now,
                    now: self.now,
                };
                rubric::ask(self.world, &task, &all_free(&self.world.team)).routed.map(|routed| routed.to)
            }
        };
        let to = match routed {
            Ok(to) => to,
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.sent.push(json!({"to": to.to_string(), "prompt": &*send.prompt, "kind": send.kind}));
        let role = match &to {
            Address::Role(role) => role.clone(),
            Address::Worker(worker) => RoleName::from(worker.as_str().rsplit_once('-').map_or("", |(role, _)| role)),
        };
        let named =
            |name: &str| self.workers.iter().find(|(other, _)| other == name).map(|(_, function)| function.clone());
        let Some(function) = named(&to.to_string()).or_else(|| named(role.as_str())) else {
            let why = format!(
                "no worker of role '{role}' is scripted; add t.worker(\"{role}\", function(task) return \"…\" end)"
            );
            return Err(self.at(step, why));
        };
        let accepted = self.now;
        let mut clock = accepted;
        for attempt in 1..=send.retries + 1 {
            in_time(self.until)?;
            self.turns += 1;
            let task = self.task(send, &to, attempt)?;
            let (word, text) = self.call(&function, task)?;
            let (outcome, took) = match word.as_str() {
                "replied" => (Outcome::Replied, REPLY),
                "failed" => (Outcome::Failed, REPLY),
                "timed_out" => (Outcome::TimedOut, self.patience(send, &role)),
                "lost" => (Outcome::Lost, REPLY),
                _ => return Err(self.at(step, text)),
            };
            let started = clock;
            clock = clock + took;
            if outcome.may_retry() && attempt <= send.retries {
                continue;
            }
            let times = Times { accepted, handed: Some(started), started: Some(started), settled: clock };
            let envelope = self.envelope(role, &to, outcome, text, times);
            let value = serde_json::to_value(envelope).expect("an envelope has a JSON form");
            return Ok(Ok((clock, value)));
        }
        Err(self.at(step, "a send without a try".to_owned()))
    }

    fn patience(&self, send: &StepSend, role: &RoleName) -> Span {
        let team = &self.world.team;
        let profile = team.roles.get(role).and_then(|role| team.profiles.get(role.profiles.first()?));
        let timeout = profile.and_then(|profile| profile.timeout);
        [send.deadline, timeout].into_iter().flatten().min().unwrap_or(TIMEOUT)
    }

    fn envelope(&self, role: RoleName, to: &Address, outcome: Outcome, text: String, times: Times) -> Envelope {
        let replied = outcome == Outcome::Replied;
        let worker = match to {
            Address::Worker(worker) => worker.clone(),
            Address::Role(role) => format!("{role}-1").into(),
        };
        let profile = self.world.team.roles.get(&role).and_then(|role| role.profiles.first());
        Envelope {
            turn: TurnId(self.turns),
            message: None,
            from: From {
                worker: Some(worker),
                launcher: profile.and_then(|name| Some(self.world.team.profiles.get(name)?.launcher.clone())),
                profile: profile.cloned(),
                role: Some(role),
                model: None,
            },
            ok: replied,
            outcome,
            error: (!replied).then(|| outcome.word().to_owned()),
            why: (!replied).then(|| text.clone()),
            text: if replied { text.into() } else { "".into() },
            data: None,
            usage: None,
            times,
            proof: Some("scripted".to_owned()),
            exit: None,
            stderr: None,
            generation: self.world.team.generation.number,
            truncated: None,
            retry_of: None,
        }
    }

    fn task(&self, send: &StepSend, to: &Address, attempt: u32) -> Result<Table, CharterError> {
        let make = || -> mlua::Result<Table> {
            let task = self.world.lua.create_table()?;
            task.raw_set("prompt", &*send.prompt)?;
            task.raw_set("kind", send.kind.as_deref())?;
            task.raw_set("to", to.to_string())?;
            task.raw_set("try", attempt)?;
            Ok(task)
        };
        make().map_err(|error| self.world.failure(&error, None).error)
    }

    fn call(&self, function: &Function, argument: impl mlua::IntoLua) -> Result<(String, String), CharterError> {
        let args = (function.clone(), argument);
        let values = self.world.call(&self.world.scripted, args, Allowance::RUBRIC).map_err(|failure| failure.error)?;
        self.world.lua.unpack_multi(values).map_err(|error| self.world.failure(&error, None).error)
    }

    /// Returns an error at the line of a step.
    fn at(&self, step: &Step, why: String) -> CharterError {
        CharterError::read(&self.world.sources, &format!("{}: {why}", step.at))
    }

    fn say(&mut self, line: String) {
        if self.transcript.len() < MOST_LINES {
            let seconds = self.now.since(OPENS);
            self.transcript.push(format!("{seconds} {line}"));
        }
    }
}

fn ending(end: &RunEnd) -> String {
    let value = end.value.to_string();
    let shown: String = value.chars().take(200).collect();
    let value = if shown.len() < value.len() { format!("{shown}…") } else { shown };
    match &end.why {
        Some(why) => format!("{} ({why}) with {value}", end.outcome.word()),
        None => format!("{} with {value}", end.outcome.word()),
    }
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
