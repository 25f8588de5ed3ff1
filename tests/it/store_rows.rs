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
use fleetd::fleet::turn::{Outcome, Turn, TurnState};

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
    let to = Address::Role(RoleName::from("upper"));
    let mut turn = Turn {
        kind: Some("bulk".into()),
        prompt_bytes: 5,
        ..Turn::accepted(TurnId(id), Sender::Operator, to, Time(at), 3)
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
        amends: None,
        late: None,
    }
}

pub fn run(id: u64, sources: &str) -> Run {
    let generation = Generation { number: 3, hash: sources.into() };
    Run::begun(RunId(id), "bug-hunt".into(), Sender::Leader, generation, Time(1_000))
}

pub fn ended(mut run: Run, at: u64, collected: bool) -> Run {
    run.outcome = Some(RunOutcome::Done);
    run.ended = Some(Time(at));
    run.collected = collected;
    run
}

pub fn step(run: u64, path: &str, seq: Option<u64>) -> Step {
    let begun = Step::begun(RunId(run), StepPath::from(path), "send", "recipes/x.lua:3".into(), Time(1_000));
    Step { hash: "abc".into(), what: "to upper".into(), seq, ..begun }
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
