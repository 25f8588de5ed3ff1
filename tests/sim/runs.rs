//! A scripted executor of runs: each run is a small program that is the same every time it is replayed, and whose next
//! stage depends on what it was answered. It notices an answer that is doubled, out of order or for no step of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fleetd::fleet::asked::{ASKED, OVER};
use fleetd::fleet::bounds::RunBudget;
use fleetd::fleet::commands::Command;
use fleetd::fleet::ids::{RunId, StepPath};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::run::{
    FinishedStep, RunEffect, RunEnd, RunInput, RunOutcome, StepCommand, StepRecipe, StepRequest, StepSend,
};
use fleetd::fleet::shape::Shape;
use fleetd::fleet::team::Address;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Priority;
use serde_json::Value;

use super::functions::Function;
use super::journal::Journal;
use super::rng::{Rng, mix};

/// The code of one run, as far as it has come.
#[derive(Clone, Debug)]
pub struct Code {
    program: u64,
    stage: u64,
    /// What it has asked for and not been answered yet.
    pub asked: BTreeMap<StepPath, StepRequest>,
    /// The functions that are at a question, by the step that brought it.
    pub functions: BTreeMap<StepPath, Function>,
    /// What they asked for and were not answered yet.
    pub below: BTreeMap<StepPath, StepRequest>,
    /// What they said about a question; nobody waits for that.
    pub said: BTreeMap<StepPath, StepRequest>,
    /// Questions that needed no answer any more before there was one.
    pub given_up: BTreeSet<StepPath>,
    /// The first answer of this stage wins, and the rest is given up.
    race: bool,
    /// What stands before the paths of parts that were given up.
    pub lost: BTreeSet<String>,
    /// The hash of every answer so far.
    digest: u64,
    next_seq: u64,
    over: bool,
}

impl Code {
    fn new(program: u64) -> Code {
        Code {
            program,
            stage: 0,
            asked: BTreeMap::new(),
            functions: BTreeMap::new(),
            below: BTreeMap::new(),
            said: BTreeMap::new(),
            given_up: BTreeSet::new(),
            race: false,
            lost: BTreeSet::new(),
            digest: 0,
            next_seq: 0,
            over: false,
        }
    }

    /// Returns everything that was handed in or will be, and is not answered.
    fn open(&self) -> BTreeMap<StepPath, StepRequest> {
        let all = self.asked.iter().chain(&self.below).chain(&self.said);
        all.map(|(path, request)| (path.clone(), request.clone())).collect()
    }
}

/// The executor: it lives in the daemon and dies with it.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    codes: BTreeMap<RunId, Code>,
    pub outbox: VecDeque<RunInput>,
    pub fault: Option<String>,
}

impl Runs {
    /// Takes an order of the fleet.
    pub fn take(&mut self, order: RunEffect, journal: &Journal) {
        match order {
            RunEffect::Start { run } => self.start(run.id, journal),
            RunEffect::Answer(run, finished) => self.answered(run, &finished, true),
            RunEffect::Refuse { run, path, refusal } => {
                if refusal.kind == RefusalKind::Divergence {
                    self.fault = Some(format!("{run} diverged at {path}: {refusal}"));
                }
                let Some(code) = self.codes.get_mut(&run) else { return };
                code.over = true;
                let end = RunEnd { outcome: RunOutcome::Failed, why: Some(refusal.to_string()), value: Value::Null };
                self.outbox.push_back(RunInput::Ended { run, end });
            }
            RunEffect::Drop(run) => {
                self.codes.remove(&run);
                self.outbox.retain(|input| run_of(input) != run);
            }
        }
    }

    fn start(&mut self, run: RunId, journal: &Journal) {
        let program = journal.jobs.get(&run).and_then(|job| job.as_u64()).unwrap_or_default();
        self.codes.insert(run, Code::new(program));
        self.outbox.retain(|input| run_of(input) != run);
        self.go_on(run);
        for finished in journal.finished_steps(run) {
            self.answered(run, &finished, false);
        }
        let Some(code) = self.codes.get(&run) else { return };
        for (path, request) in code.open() {
            self.outbox.push_back(step(run, path, request));
        }
        if code.over {
            self.end(run);
        }
    }

    fn answered(&mut self, run: RunId, finished: &FinishedStep, live: bool) {
        let Some(code) = self.codes.get_mut(&run) else { return };
        let (path, seq) = (&finished.step.path, finished.step.seq);
        if seq != Some(code.next_seq) {
            self.fault = Some(format!("{run} was answered {path} as number {seq:?}, not {}", code.next_seq));
            return;
        }
        let before: BTreeSet<StepPath> = code.open().into_keys().collect();
        let of_stage = code.asked.contains_key(path);
        let taken = match finished.step.verb.as_str() {
            ASKED => code.question(&finished.step, &finished.value),
            OVER => code.question_over(path),
            _ => code.take(path, &finished.value).and_then(|request| match request {
                Some(request) if finished.step.hash != hash_of(&request) => Err(format!("{path} for another request")),
                _ => Ok(()),
            }),
        };
        if let Err(how) = taken {
            self.fault = Some(format!("{run} was answered {how}"));
            return;
        }
        code.next_seq += 1;
        let text = finished.value.to_string();
        code.digest = text.bytes().fold(code.digest ^ seq.unwrap_or(0), |hash, byte| mix(hash ^ u64::from(byte)));
        if of_stage && code.race && !code.asked.is_empty() {
            code.give_up_rest();
        }
        if of_stage && code.asked.is_empty() {
            code.stage += 1;
            self.go_on(run);
        }
        if live {
            self.ask_new(run, &before);
        }
    }

    fn ask_new(&mut self, run: RunId, before: &BTreeSet<StepPath>) {
        let Some(code) = self.codes.get(&run) else { return };
        if code.over {
            return self.end(run);
        }
        for (path, request) in code.open() {
            if !before.contains(&path) {
                self.outbox.push_back(step(run, path, request));
            }
        }
    }

    /// Comes to the next stage: what it asks for depends on the program and on every answer so far.
    fn go_on(&mut self, run: RunId) {
        let Some(code) = self.codes.get_mut(&run) else { return };
        let mut rng = Rng::new(mix(code.program) ^ code.digest.rotate_left(7) ^ code.stage);
        if code.stage > code.program % 4 {
            code.over = true;
            return;
        }
        let n = code.stage;
        code.race = rng.percent(40);
        match rng.below(13) {
            0..5 => {
                for part in 0..1 + rng.below(3) {
                    let path = StepPath::from(format!("each#{n}[{part}].send#1"));
                    code.asked.insert(path, StepRequest::Send(send(&mut rng)));
                }
            }
            5 => drop(code.asked.insert(format!("sleep#{n}").into(), StepRequest::Sleep(Span(rng.below(30_000))))),
            6 => drop(code.asked.insert(format!("now#{n}").into(), StepRequest::Now)),
            7 => {
                let value = rng.percent(60).then(|| Value::from(rng.below(9)));
                let value = if rng.percent(10) { Some(Value::Null) } else { value };
                let name = format!("note{}", rng.below(2));
                code.asked.insert(format!("note#{n}").into(), StepRequest::Note { name, value });
            }
            8 => {
                code.asked.insert(format!("ask_leader#{n}").into(), StepRequest::Ask("shall I?".into()));
            }
            12 => {
                let command = Command { argv: vec!["cat".to_string()], cwd: None, timeout: Span::seconds(40) };
                let wanted = StepCommand { command, stdin: "x".into() };
                code.asked.insert(format!("command#{n}").into(), StepRequest::Command(wanted));
            }
            10 | 11 => {
                let wanted = StepRecipe {
                    recipe: "program".into(),
                    job: Arc::new(Value::from(rng.below(1_000))),
                    deadline: rng.percent(50).then(|| Span::seconds(5 + rng.below(60))),
                    budget: rng
                        .percent(30)
                        .then(|| RunBudget { turns: Some(1 + rng.below(4)), ..RunBudget::default() }),
                };
                code.asked.insert(format!("recipe#{n}").into(), StepRequest::Recipe(wanted));
            }
            _ => {
                code.asked.insert(format!("random#{n}").into(), StepRequest::Value(Value::from(rng.below(1_000))));
                code.asked.insert(format!("progress#{n}").into(), StepRequest::Progress("on it".to_string()));
            }
        }
    }

    fn end(&mut self, run: RunId) {
        let Some(code) = self.codes.get(&run) else { return };
        let end = RunEnd { outcome: RunOutcome::Done, why: None, value: Value::from(code.digest) };
        self.outbox.push_back(RunInput::Ended { run, end });
    }

    /// The daemon died.
    pub fn daemon_died(&mut self) {
        self.codes.clear();
        self.outbox.clear();
    }
}

fn run_of(input: &RunInput) -> RunId {
    match input {
        RunInput::Step { run, .. } | RunInput::Ended { run, .. } => *run,
    }
}

/// Returns what a program sends; most of it answers what is asked.
pub fn send(rng: &mut Rng) -> StepSend {
    StepSend {
        to: Some(Address::Role(if rng.percent(75) { "w" } else { "s" }.into())),
        because: None,
        routed: None,
        prompt: format!("part {}", rng.below(100)).into(),
        kind: None,
        files: Vec::new(),
        deadline: rng.percent(50).then(|| Span::seconds(5 + rng.below(60))),
        timeout: rng.percent(30).then(|| Span::seconds(1 + rng.below(30))),
        retries: rng.below(3) as u32,
        priority: if rng.percent(10) { Priority::Now } else { Priority::Normal },
        // What workers answer in here is no JSON, so each correction is used.
        shape: rng.percent(20).then(|| Arc::new(Shape { schema: Value::Bool(true), corrections: rng.below(3) as u32 })),
        on_ask: rng.percent(70),
    }
}

fn step(run: RunId, path: StepPath, request: StepRequest) -> RunInput {
    RunInput::Step {
        run,
        path,
        verb: verb_of(&request),
        hash: hash_of(&request),
        what: verb_of(&request).to_string(),
        at: "recipes/program.lua:2".to_string(),
        request: Box::new(request),
    }
}

fn verb_of(request: &StepRequest) -> &'static str {
    match request {
        StepRequest::Send(_) => "send",
        StepRequest::Recipe(_) => "recipe",
        StepRequest::Command(_) => "command",
        StepRequest::Sleep(_) => "sleep",
        StepRequest::Now => "now",
        StepRequest::Value(_) => "random",
        StepRequest::Note { .. } => "note",
        StepRequest::Ask(_) => "ask_leader",
        StepRequest::Progress(_) => "progress",
        StepRequest::Answer(_) => "answer",
        StepRequest::GiveUp(_) => "race",
    }
}

/// What a value drew is no part of what was asked, so a random step hashes alike each time.
fn hash_of(request: &StepRequest) -> String {
    match request {
        StepRequest::Value(_) => "value".to_string(),
        StepRequest::Send(send) => format!("send {} {} {}", send.prompt, send.retries, send.on_ask),
        StepRequest::Answer(answer) => format!("answer {} {:?}", answer.question, answer.text),
        StepRequest::Note { name, value } => format!("note {name} {value:?}"),
        other => verb_of(other).to_string(),
    }
}
