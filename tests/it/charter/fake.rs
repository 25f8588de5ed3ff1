//! An engine and a journal in memory, just enough to execute recipes: every step is recorded and answered by a script.
//! It keeps to none of the fleet's rules about callers, caps or mail; what depends on those cannot be tested with it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleetd::charter::{Charter, Options, Upward};
use fleetd::engine::ports::{Boxed, Clock, Journal, JournalError, Policy};
use fleetd::fleet::caller::Sender;
use fleetd::fleet::envelope::Envelope;
use fleetd::fleet::ids::{RunId, TurnId};
use fleetd::fleet::record::{Event, Record, Saved};
use fleetd::fleet::run::{FinishedStep, Run, RunEffect, RunEnd, RunInput, Step, StepRequest};
use fleetd::fleet::team::{Generation, RoleLoad, Team, TeamLoad};
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::Turn;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

/// What is kept over a restart.
#[derive(Default)]
pub struct Memory {
    jobs: HashMap<RunId, Arc<Value>>,
    sources: HashMap<String, Arc<str>>,
    /// How many reads of a job fail before one succeeds.
    pub unreadable: u32,
    pub finished: HashMap<RunId, Vec<FinishedStep>>,
}

/// The journal, shared between the daemons of one test.
#[derive(Clone, Default)]
pub struct FakeJournal(pub Arc<Mutex<Memory>>);

fn now<T: Send + 'static>(value: T) -> Boxed<Result<T, JournalError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Journal for FakeJournal {
    fn commit(&self, _: Vec<Record>) -> Boxed<Result<(), JournalError>> {
        now(())
    }
    fn load(&self) -> Boxed<Result<Saved, JournalError>> {
        unreachable!("the charter does not load")
    }
    fn prompt(&self, _: TurnId) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        now(None)
    }
    fn envelope(&self, _: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        now(None)
    }
    fn late(&self, _: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    fn turn(&self, _: TurnId) -> Boxed<Result<Option<Turn>, JournalError>> {
        now(None)
    }
    fn run(&self, _: RunId) -> Boxed<Result<Option<Run>, JournalError>> {
        now(None)
    }
    fn runs(&self, _: usize) -> Boxed<Result<Vec<Run>, JournalError>> {
        now(Vec::new())
    }
    fn job(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        let mut memory = self.0.lock().unwrap();
        if memory.unreadable > 0 {
            memory.unreadable -= 1;
            return Box::pin(std::future::ready(Err(JournalError::Failed("the disk does not answer".into()))));
        }
        now(memory.jobs.get(&run).cloned())
    }
    fn run_value(&self, _: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        now(None)
    }
    fn finished_steps(&self, run: RunId) -> Boxed<Result<Vec<FinishedStep>, JournalError>> {
        now(self.0.lock().unwrap().finished.get(&run).cloned().unwrap_or_default())
    }
    fn steps(&self, _: RunId) -> Boxed<Result<Vec<Step>, JournalError>> {
        now(Vec::new())
    }
    fn events(&self, _: TurnId) -> Boxed<Result<Vec<Event>, JournalError>> {
        now(Vec::new())
    }
    fn save_sources(&self, hash: String, sources: Arc<str>) -> Boxed<Result<(), JournalError>> {
        self.0.lock().unwrap().sources.insert(hash, sources);
        now(())
    }
    fn sources(&self, hash: String) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        now(self.0.lock().unwrap().sources.get(&hash).cloned())
    }
    fn prune(&self, _: Time, _: Vec<TurnId>) -> Boxed<Result<u64, JournalError>> {
        now(0)
    }
}

/// A clock that stands still.
pub struct Still;

impl Clock for Still {
    fn now(&self) -> Time {
        Time(1_700_000_000_000)
    }
}

/// A charter with its tasks and an engine's place beside it.
pub struct House {
    pub charter: Charter,
    pub journal: FakeJournal,
    told: UnboundedReceiver<Upward>,
    _tasks: JoinSet<()>,
    /// Every step that was submitted as new, with its path.
    pub submitted: Vec<(String, StepRequest)>,
}

/// How long a test waits for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

impl House {
    pub async fn open(dir: PathBuf, state: PathBuf, journal: FakeJournal, last: Option<Generation>) -> House {
        House::open_with(dir, state, journal, last, true, Duration::from_millis(200)).await
    }

    /// Opens a charter that hears of changes, or looks for them now and then, or both.
    pub async fn open_with(
        dir: PathBuf,
        state: PathBuf,
        journal: FakeJournal,
        last: Option<Generation>,
        hints: bool,
        poll: Duration,
    ) -> House {
        let (charter, told, tasks) = Charter::open(Options {
            dir,
            state,
            last,
            journal: Arc::new(journal.clone()),
            clock: Arc::new(Still),
            load: Arc::new(|| free(&["w-a", "w-b"])),
            poll,
            hints,
            held_runs: 1_000,
        })
        .await
        .expect("the directory is there");
        let mut spawned = JoinSet::new();
        for task in [tasks.down, tasks.up, tasks.watch, tasks.watchdog] {
            spawned.spawn(task);
        }
        House { charter, journal, told, _tasks: spawned, submitted: Vec::new() }
    }

    /// Starts a run as the engine would.
    pub fn start(&self, id: u64, recipe: &str, job: Value) -> Arc<Run> {
        let run = Arc::new(run(id, recipe, self.charter.status().generation));
        self.journal.0.lock().unwrap().jobs.insert(run.id, Arc::new(job));
        self.charter.run(RunEffect::Start { run: Arc::clone(&run) });
        run
    }

    /// Goes on with a run as the engine does after a restart.
    pub fn resume(&self, run: &Arc<Run>) {
        self.charter.run(RunEffect::Start { run: Arc::clone(run) });
    }

    /// Returns the next message, or fails the test.
    pub async fn next(&mut self) -> Upward {
        tokio::time::timeout(PATIENCE, self.told.recv())
            .await
            .expect("the charter said nothing")
            .expect("the charter is gone")
    }

    /// Waits for the next generation.
    pub async fn team(&mut self) -> Arc<Team> {
        loop {
            if let Upward::Team(team) = self.next().await {
                return team;
            }
        }
    }

    /// Returns the next step or end of any run.
    pub async fn input(&mut self) -> RunInput {
        loop {
            if let Upward::Run(input) = self.next().await {
                return input;
            }
        }
    }

    /// Records and answers a step.
    pub fn answer(&self, input: &RunInput, value: Value) {
        let RunInput::Step { run, path, verb, hash, what, at, .. } = input else {
            panic!("not a step: {input:?}");
        };
        let mut memory = self.journal.0.lock().unwrap();
        let steps = memory.finished.entry(*run).or_default();
        let done = FinishedStep {
            step: Arc::new(Step {
                hash: hash.clone(),
                what: what.clone(),
                seq: Some(steps.len() as u64),
                ..Step::begun(*run, path.clone(), verb, at.clone(), Time(0))
            }),
            value: Arc::new(value),
        };
        steps.push(done.clone());
        drop(memory);
        self.charter.run(RunEffect::Answer(*run, done));
    }

    /// Answers every step by a script until the run ends.
    pub async fn finish(&mut self, script: impl Fn(&StepRequest) -> Value) -> RunEnd {
        loop {
            let input = self.input().await;
            match &input {
                RunInput::Ended { end, .. } => return end.clone(),
                RunInput::Step { path, request, .. } => {
                    self.submitted.push((path.to_string(), (**request).clone()));
                    self.answer(&input, script(request));
                }
            }
        }
    }
}

/// Returns a run as the engine records it.
pub fn run(id: u64, recipe: &str, generation: Generation) -> Run {
    Run::begun(RunId(id), recipe.into(), Sender::Operator, generation, Time(0))
}

/// Returns a team in which these roles are free.
pub fn free(roles: &[&str]) -> TeamLoad {
    TeamLoad {
        roles: roles
            .iter()
            .map(|role| {
                let load = RoleLoad { max_busy: 2, free: 2, max_waiting: 100, ..RoleLoad::default() };
                ((*role).into(), load)
            })
            .collect::<BTreeMap<_, _>>(),
        ..TeamLoad::default()
    }
}

/// Returns what a worker would answer that repeats its prompt loudly.
pub fn loud(request: &StepRequest) -> Value {
    match request {
        StepRequest::Send(send) => {
            json!({"turn": "t1", "ok": true, "outcome": "replied", "from": {}, "text": send.prompt.to_uppercase()})
        }
        StepRequest::Recipe(wanted) => json!({"ok": true, "outcome": "done", "value": *wanted.job}),
        StepRequest::Command(wanted) => json!({"ok": true, "text": wanted.command.argv.join(" ")}),
        StepRequest::Now => json!(1_700_000_000_000_u64),
        StepRequest::Value(value) | StepRequest::Refused(value) => value.clone(),
        StepRequest::Note { value, .. } => value.clone().unwrap_or(Value::Null),
        StepRequest::Ask(question) => json!(format!("yes to {question}")),
        StepRequest::Sleep(_)
        | StepRequest::Progress(_)
        | StepRequest::Answer(_)
        | StepRequest::GiveUp(_)
        | StepRequest::Broke(_) => Value::Null,
    }
}
