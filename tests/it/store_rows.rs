//! Records for the tests of the store, made by hand, and a place to keep them.
//! No test stands here.

use std::sync::Arc;

use fleetd::fleet::caller::Sender;
use fleetd::fleet::envelope::{Envelope, From, Times};
use fleetd::fleet::ids::{RoleName, RunId, StepPath, TurnId};
use fleetd::fleet::record::{Event, Record};
use fleetd::fleet::run::{Run, RunOutcome, Step};
use fleetd::fleet::team::{Address, Generation};
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::{Outcome, Priority, Turn, TurnState};

/// A state directory for one test, and a runtime to wait in.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub runtime: tokio::runtime::Runtime,
}

impl Place {
    pub fn new() -> Place {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Place { dir: tempfile::tempdir().unwrap(), runtime }
    }

    /// Opens the store; the lock goes with it.
    pub fn open(&self) -> Arc<fleetd::store::Store> {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Arc<fleetd::store::Store>, fleetd::store::StoreError> {
        fleetd::store::Store::open(&fleetd::store::StateDir::take(self.dir.path())?)
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.dir.path().join("fleet.db")
    }

    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

pub fn turn(id: u64, state: TurnState, at: u64) -> Turn {
    let mut turn = Turn {
        id: TurnId(id),
        sender: Sender::Operator,
        to: Address::Role(RoleName::from("upper")),
        because: None,
        files: Vec::new(),
        routed: None,
        kind: Some("bulk".into()),
        priority: Priority::Normal,
        prompt_bytes: 5,
        prompt_of: TurnId(id),
        key: None,
        accepted: Time(at),
        deadline: None,
        timeout: None,
        retry_of: None,
        step: None,
        generation: 3,
        state: TurnState::Queued,
        receipt: Vec::new(),
        worker: None,
        questions: Vec::new(),
        outcome: None,
        why: None,
        message: None,
    };
    turn.enter(TurnState::Queued, Time(at), Some("cap".into()));
    if state != TurnState::Queued {
        turn.enter(state, Time(at), None);
    }
    turn
}

pub fn envelope(turn: u64, text: &str) -> Envelope {
    Envelope {
        turn: TurnId(turn),
        message: None,
        from: From::default(),
        ok: true,
        outcome: Outcome::Replied,
        error: None,
        why: None,
        text: text.into(),
        data: None,
        usage: None,
        times: Times::default(),
        proof: Some("exit_status".into()),
        exit: None,
        stderr: None,
        generation: 3,
        truncated: None,
        work: None,
        retry_of: None,
    }
}

pub fn run(id: u64, sources: &str) -> Run {
    Run {
        id: RunId(id),
        recipe: "bug-hunt".into(),
        owner: Sender::Leader,
        key: None,
        generation: Generation { number: 3, hash: sources.into() },
        started: Time(1_000),
        deadline: None,
        finished_steps: 0,
        sent: 0,
        settled: 0,
        progress: None,
        outcome: None,
        why: None,
        ended: None,
        collected: false,
        message: None,
    }
}

pub fn ended(mut run: Run, at: u64, collected: bool) -> Run {
    run.outcome = Some(RunOutcome::Done);
    run.ended = Some(Time(at));
    run.collected = collected;
    run
}

pub fn step(run: u64, path: &str, seq: Option<u64>) -> Step {
    Step {
        run: RunId(run),
        path: StepPath::from(path),
        verb: "send".into(),
        hash: "abc".into(),
        what: "to upper".into(),
        at: "recipes/x.lua:3".into(),
        began: Time(1_000),
        turn: None,
        retries: 0,
        deadline: None,
        until: None,
        question: None,
        asked: None,
        seq,
    }
}

/// Everything that a whole life of a turn leaves behind.
pub fn life(id: u64, at: u64, text: &str) -> Vec<Record> {
    vec![
        Record::Next(id + 1),
        Record::Turn(Arc::new(turn(id, TurnState::Queued, at))),
        Record::Prompt(TurnId(id), text.into()),
        event(id, at, "accepted"),
        Record::Envelope(Arc::new(envelope(id, text))),
        Record::Turn(Arc::new(turn(id, TurnState::Collected, at))),
        event(id, at, "collected"),
    ]
}

pub fn event(turn: u64, at: u64, what: &str) -> Record {
    Record::Event(Event { at: Time(at), turn: Some(TurnId(turn)), run: None, worker: None, what: what.into() })
}
