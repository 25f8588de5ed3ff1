//! Workers that are scripted by their prompts, and a journal that dies with its daemon. What a worker did is kept beside the
//! daemon's lives: a turn that is handed again is found and not run again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use fleetd::engine::Handle;
use fleetd::engine::ports::{Boxed, Clock, Journal, JournalError, Launchers};
use fleetd::fleet::caller::Caller;
use fleetd::fleet::envelope::{Envelope, Finish};
use fleetd::fleet::ids::{RunId, StepPath, TurnId, WorkerName};
use fleetd::fleet::input::{Answer, Call, Sighting, WorkEffect};
use fleetd::fleet::record::{Event, Record, Saved};
use fleetd::fleet::run::{FinishedStep, Run, Step};
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Outcome, Turn};
use fleetd::store::Store;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::Death;

/// A turn that was started at a worker.
#[derive(Clone, Debug)]
pub struct Started {
    pub turn: TurnId,
    pub step: (RunId, StepPath),
    /// Whether it is neither a retry nor asks again.
    pub is_first: bool,
}

/// What all workers did.
#[derive(Debug, Default)]
pub struct Workers {
    started: Mutex<BTreeMap<TurnId, Started>>,
    ended: Mutex<BTreeMap<TurnId, Finish>>,
}

struct Orders(Sender<WorkEffect>);

impl Launchers for Orders {
    fn carry_out(&self, order: WorkEffect) {
        self.0.try_send(order).unwrap();
    }
}

impl Workers {
    pub fn started(&self) -> Vec<Started> {
        self.started.lock().unwrap().values().cloned().collect()
    }

    pub fn launchers(&self) -> (Arc<dyn Launchers>, Receiver<WorkEffect>) {
        let (orders, taken) = channel(10_000);
        (Arc::new(Orders(orders)), taken)
    }

    /// Carries out orders; each turn in a task of its own, which ends with the daemon.
    pub async fn work(self: Arc<Self>, handle: Handle, mut orders: Receiver<WorkEffect>) {
        let mut turns = tokio::task::JoinSet::new();
        while let Some(order) = orders.recv().await {
            match order {
                WorkEffect::Hand(worker, turn) => {
                    let (workers, handle) = (self.clone(), handle.clone());
                    turns.spawn(async move { workers.turn(&handle, worker.name.clone(), &turn).await });
                }
                WorkEffect::Interrupt(worker, turn) => {
                    let stopped = || Finish::without_reply(Outcome::Cancelled, "interrupted");
                    let finish = self.ended.lock().unwrap().entry(turn).or_insert_with(stopped).clone();
                    handle.seen(finished(worker.name.clone(), turn, finish)).await;
                }
                WorkEffect::Stop(worker) => {
                    let (worker, session) = (worker.name.clone(), worker.session);
                    handle.seen(Sighting::Gone { worker, session, why: "stopped".into() }).await;
                }
                _ => {}
            }
        }
    }

    async fn turn(&self, handle: &Handle, worker: WorkerName, turn: &Turn) {
        let at = turn.step.clone().expect("only runs send here");
        let is_first = turn.retry_of.is_none() && turn.amends.is_none();
        let started = Started { turn: turn.id, step: (at.run, at.path), is_first };
        // One that was started is at work or has ended, whatever daemon asks.
        self.started.lock().unwrap().entry(turn.id).or_insert(started);
        handle.seen(Sighting::Taken { worker: worker.clone(), turn: turn.id, process: None }).await;
        let known = self.ended.lock().unwrap().get(&turn.id).cloned();
        let finish = match known {
            Some(finish) => finish,
            None => {
                let prompt = handle.journal().prompt(turn.prompt_of).await.unwrap().unwrap();
                let Some(finish) = says(handle, &worker, turn, &prompt).await else { return };
                self.ended.lock().unwrap().entry(turn.id).or_insert(finish).clone()
            }
        };
        if finish.outcome == Outcome::Lost {
            return handle.seen(Sighting::Gone { worker, session: 0, why: "killed".into() }).await;
        }
        handle.seen(finished(worker, turn.id, finish)).await;
    }
}

fn finished(worker: WorkerName, turn: TurnId, finish: Finish) -> Sighting {
    Sighting::Finished { worker, turn, finish: Box::new(finish), idle: true }
}

/// What a worker says to a prompt; nothing as long as it takes.
async fn says(handle: &Handle, worker: &WorkerName, turn: &Turn, prompt: &str) -> Option<Finish> {
    let prompt = prompt.lines().next().unwrap_or_default();
    let text = match prompt {
        slow if slow.starts_with("slow") => return None,
        "lost once" if turn.retry_of.is_none() => return Some(Finish::without_reply(Outcome::Lost, "killed")),
        "count" if turn.amends.is_none() => "seven".to_string(),
        "count" => r#"{"n": 7}"#.to_string(),
        "asks" => {
            let until = handle.now() + Span::minutes(5);
            let ask = Call::Ask { turn: Some(turn.id), text: "which?".into(), until, request: None };
            let by = Caller::Worker { name: worker.clone(), via_child: false };
            match handle.call(&by, ask).await {
                Ok(Answer::Answered(question)) => format!("heard {}", question.answer.as_deref().unwrap_or_default()),
                _ => return None,
            }
        }
        other => format!("did {other}"),
    };
    let finish = Finish::without_reply(Outcome::Replied, "");
    Some(Finish { text: text.into(), why: None, ..finish })
}

/// The time of the wall, which goes on while nobody lives.
pub struct Wall;

impl Clock for Wall {
    fn now(&self) -> Time {
        Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64)
    }
}

/// The real store of a daemon that dies at a commit.
pub struct Mortal {
    store: Arc<Store>,
    commits: Arc<AtomicU64>,
    death: Option<Death>,
    dead: Arc<Notify>,
}

impl Mortal {
    pub fn new(store: Arc<Store>, commits: Arc<AtomicU64>, death: Option<Death>) -> (Mortal, Arc<Notify>) {
        let dead = Arc::new(Notify::new());
        (Mortal { store, commits, death, dead: dead.clone() }, dead)
    }
}

impl Journal for Mortal {
    fn commit(&self, records: Vec<Record>) -> Boxed<Result<(), JournalError>> {
        let n = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let (store, dead) = (self.store.clone(), self.dead.clone());
        match self.death.filter(|death| death.commit == n) {
            None => store.commit(records),
            Some(death) => Box::pin(async move {
                if death.stored {
                    store.commit(records).await?;
                }
                drop(store);
                dead.notify_one();
                std::future::pending().await
            }),
        }
    }
    fn load(&self) -> Boxed<Result<Saved, JournalError>> {
        self.store.load()
    }
    fn prompt(&self, turn: TurnId) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        self.store.prompt(turn)
    }
    fn envelope(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        self.store.envelope(turn)
    }
    fn late(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        self.store.late(turn)
    }
    fn turn(&self, turn: TurnId) -> Boxed<Result<Option<Turn>, JournalError>> {
        self.store.turn(turn)
    }
    fn run(&self, run: RunId) -> Boxed<Result<Option<Run>, JournalError>> {
        self.store.run(run)
    }
    fn runs(&self, limit: usize) -> Boxed<Result<Vec<Run>, JournalError>> {
        self.store.runs(limit)
    }
    fn job(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        self.store.job(run)
    }
    fn run_value(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        self.store.run_value(run)
    }
    fn finished_steps(&self, run: RunId) -> Boxed<Result<Vec<FinishedStep>, JournalError>> {
        self.store.finished_steps(run)
    }
    fn steps(&self, run: RunId) -> Boxed<Result<Vec<Step>, JournalError>> {
        self.store.steps(run)
    }
    fn events(&self, turn: TurnId) -> Boxed<Result<Vec<Event>, JournalError>> {
        self.store.events(turn)
    }
    fn save_sources(&self, hash: String, sources: Arc<str>) -> Boxed<Result<(), JournalError>> {
        self.store.save_sources(hash, sources)
    }
    fn sources(&self, hash: String) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        self.store.sources(hash)
    }
    fn prune(&self, before: Time, keep: Vec<TurnId>) -> Boxed<Result<u64, JournalError>> {
        self.store.prune(before, keep)
    }
}
