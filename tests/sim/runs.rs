//! A scripted executor of runs: each run is a small program that is the same every time it is replayed, and whose next
//! stage depends on what it was answered. It notices an answer that is doubled, out of order or for no step of its own.

use std::collections::{BTreeMap, VecDeque};

use fleetd::fleet::ids::{RunId, StepPath};
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::run::{FinishedStep, RunEffect, RunEnd, RunInput, RunOutcome, StepRequest, StepSend};
use fleetd::fleet::team::Address;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Priority;
use serde_json::Value;

use super::journal::Journal;
use super::rng::{Rng, mix};

/// The code of one run, as far as it has come.
#[derive(Clone, Debug)]
struct Code {
    program: u64,
    stage: u64,
    /// What it has asked for and not been answered yet.
    asked: BTreeMap<StepPath, StepRequest>,
    /// The hash of every answer so far.
    digest: u64,
    next_seq: u64,
    over: bool,
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
        let code = Code { program, stage: 0, asked: BTreeMap::new(), digest: 0, next_seq: 0, over: false };
        self.codes.insert(run, code);
        self.outbox.retain(|input| run_of(input) != run);
        self.go_on(run);
        for finished in journal.finished_steps(run) {
            self.answered(run, &finished, false);
        }
        let Some(code) = self.codes.get(&run) else { return };
        for (path, request) in code.asked.clone() {
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
        let Some(request) = code.asked.remove(path) else {
            self.fault = Some(format!("{run} was answered {path}, for which it does not wait"));
            return;
        };
        if finished.step.hash != hash_of(&request) {
            self.fault = Some(format!("{run} was answered {path} for another request"));
        }
        code.next_seq += 1;
        let text = finished.value.to_string();
        code.digest = text.bytes().fold(code.digest ^ seq.unwrap_or(0), |hash, byte| mix(hash ^ u64::from(byte)));
        if code.asked.is_empty() {
            code.stage += 1;
            let before: Vec<StepPath> = code.asked.keys().cloned().collect();
            self.go_on(run);
            if live {
                self.ask_new(run, &before);
            }
        }
    }

    fn ask_new(&mut self, run: RunId, before: &[StepPath]) {
        let Some(code) = self.codes.get(&run) else { return };
        if code.over {
            return self.end(run);
        }
        for (path, request) in code.asked.clone() {
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
        match rng.below(10) {
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
                let name = format!("note{}", rng.below(2));
                code.asked.insert(format!("note#{n}").into(), StepRequest::Note { name, value });
            }
            8 => {
                code.asked.insert(format!("ask_leader#{n}").into(), StepRequest::Ask("shall I?".into()));
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

fn send(rng: &mut Rng) -> StepSend {
    StepSend {
        to: Some(Address::Role(if rng.percent(75) { "w" } else { "s" }.into())),
        because: None,
        prompt: format!("part {}", rng.below(100)).into(),
        kind: None,
        deadline: rng.percent(50).then(|| Span::seconds(5 + rng.below(60))),
        retries: rng.below(3) as u32,
        priority: if rng.percent(10) { Priority::Now } else { Priority::Normal },
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
        StepRequest::Sleep(_) => "sleep",
        StepRequest::Now => "now",
        StepRequest::Value(_) => "random",
        StepRequest::Note { .. } => "note",
        StepRequest::Ask(_) => "ask_leader",
        StepRequest::Progress(_) => "progress",
    }
}

/// What a value drew is no part of what was asked, so a random step hashes alike each time.
fn hash_of(request: &StepRequest) -> String {
    match request {
        StepRequest::Value(_) => "value".to_string(),
        StepRequest::Send(send) => format!("send {} {}", send.prompt, send.retries),
        StepRequest::Note { name, value } => format!("note {name} {value:?}"),
        other => verb_of(other).to_string(),
    }
}
