//! The real door on a real listener before a real engine and store, with pretended workers: what a prompt says
//! decides what becomes of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use fleetd::door::mcp::Mcp;
use fleetd::door::rest::Door;
use fleetd::door::server::Listener;
use fleetd::door::shared::Shared;
use fleetd::engine::handle::{Handle, Ports, build};
use fleetd::engine::ports::{Boxed, CharterStatus, Clock, Files, Journal, Launchers, Policy, Sessions};
use fleetd::fleet::difference::{Change, Difference, How, Part};
use fleetd::fleet::envelope::Finish;
use fleetd::fleet::events::FleetEvent;
use fleetd::fleet::ids::RecipeName;
use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::refusal::Refusal;
use fleetd::fleet::run::{RunEffect, RunEnd, RunInput, RunOutcome, StepRequest};
use fleetd::fleet::team::{Address, Routed, Task, Team, TeamLoad};
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::Outcome;
use fleetd::fleet::{Fleet, Limits};
use fleetd::store::{StateDir, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// A door with everything behind it; all of it ends when this is dropped.
pub struct Inside {
    pub local: SocketAddr,
    pub closing: CancellationToken,
    engine: Handle,
    sessions: Arc<dyn Sessions>,
    later: Arc<AtomicU64>,
    released: watch::Sender<bool>,
    client: ureq::Agent,
    server: Option<tokio::task::JoinHandle<()>>,
    runtime: Option<Runtime>,
    _state: TempDir,
}

enum Order {
    Work(WorkEffect),
    Run(RunEffect),
}

struct Pretended(mpsc::Sender<Order>);

impl Launchers for Pretended {
    fn carry_out(&self, order: WorkEffect) {
        assert!(self.0.try_send(Order::Work(order)).is_ok(), "more orders than a test gives");
    }
}

impl Policy for Pretended {
    fn route(&self, task: Task, _: TeamLoad) -> Boxed<Result<Routed, Refusal>> {
        Box::pin(async move {
            assert!(task.prompt != "panic", "the rubrics broke on purpose");
            Ok(Routed {
                to: Address::Role("w-upper".into()),
                because: "there is only one".into(),
                rubric: "otherwise".into(),
                role: None,
                asked: Vec::new(),
                generation: 1,
            })
        })
    }

    fn check_job(&self, _: &RecipeName, job: &Value) -> Result<(), Refusal> {
        job.is_object().then_some(()).ok_or_else(|| Refusal::invalid("the job is no object"))
    }

    fn run(&self, order: RunEffect) {
        assert!(self.0.try_send(Order::Run(order)).is_ok(), "more orders than a test gives");
    }

    fn event(&self, _: FleetEvent) {}

    fn status(&self) -> CharterStatus {
        CharterStatus { dir: "pretended".into(), ..CharterStatus::default() }
    }

    fn difference(&self, _: Option<Files>) -> Boxed<Difference> {
        let words = "role 'w-upper': max_busy 2 → 1".to_owned();
        let change = Change { of: Part::Role, how: How::Changed, name: "w-upper".to_owned(), words };
        Box::pin(std::future::ready(Difference { changes: vec![change], ..Difference::default() }))
    }

    fn reload(&self) -> Boxed<Result<CharterStatus, Refusal>> {
        Box::pin(std::future::ready(Err(Refusal::invalid("routes.lua:3: unexpected symbol"))))
    }
}

/// The machine's time, and how many milliseconds later a test says it is.
struct Wall(Arc<AtomicU64>);

impl Clock for Wall {
    fn now(&self) -> Time {
        Time(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64 + self.0.load(Ordering::Relaxed))
    }
}

fn team() -> Team {
    serde_json::from_value(json!({
        "generation": { "number": 1, "hash": "abc" },
        "profiles": { "upper": { "name": "upper", "launcher": "exec", "command": ["tr", "a-z", "A-Z"] } },
        "roles": { "w-upper": { "name": "w-upper", "profiles": ["upper"], "max_busy": 2, "max_waiting": 3 } },
        "recipes": { "ask": { "name": "ask", "input": {}, "at": "recipes/ask.lua:1" } },
        "rubrics": ["otherwise"],
    }))
    .unwrap()
}

/// Serves every door until `closing`, on a free port.
async fn open(
    engine: &Handle,
    sessions: &Arc<dyn Sessions>,
    closing: &CancellationToken,
    patience: Duration,
) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap().patience(patience);
    let local = listener.local();
    let shared = Shared::new(engine.clone(), closing.clone());
    let (mcp, telling) = Mcp::new(shared.clone(), sessions.clone());
    tokio::spawn(telling);
    let router = Door::new(shared).router(mcp.router());
    (local, tokio::spawn(listener.serve(router, closing.clone(), Inside::GRACE)))
}

impl Inside {
    /// How long open requests have at the end before they are cut.
    pub const GRACE: Duration = Duration::from_secs(5);

    pub fn new() -> Inside {
        Inside::with_patience(crate::support::PATIENCE)
    }

    /// With a bound for the head of a request and for idle connections.
    pub fn with_patience(patience: Duration) -> Inside {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let state = TempDir::new().unwrap();
        let store = Store::open(&StateDir::take(state.path()).unwrap()).unwrap();
        let (journal, sessions): (Arc<dyn Journal>, Arc<dyn Sessions>) = (store.clone(), store);
        let later = Arc::new(AtomicU64::new(0));
        let (orders, taken) = mpsc::channel(4_096);
        let ports = Ports {
            journal: journal.clone(),
            launchers: Arc::new(Pretended(orders.clone())),
            policy: Arc::new(Pretended(orders)),
            clock: Arc::new(Wall(later.clone())),
        };
        let (released, release) = watch::channel(false);
        let (engine, actor) = build(Fleet::new(Limits::default()), ports);
        let closing = CancellationToken::new();
        let (local, server) = runtime.block_on(async {
            tokio::spawn(actor);
            tokio::spawn(work(taken, engine.clone(), journal, release));
            engine.take_team(Arc::new(team())).await;
            while engine.fleet().team().is_none() {
                tokio::task::yield_now().await;
            }
            open(&engine, &sessions, &closing, patience).await
        });
        let config =
            ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(crate::support::PATIENCE));
        let client = config.build().into();
        let (server, runtime) = (Some(server), Some(runtime));
        Inside { local, closing, engine, sessions, later, released, client, server, runtime, _state: state }
    }

    /// Shuts the doors and opens new ones, elsewhere and with nothing in memory, before the same engine and store.
    pub fn reopen(&mut self) {
        self.closing.cancel();
        self.served();
        self.closing = CancellationToken::new();
        let opened = open(&self.engine, &self.sessions, &self.closing, crate::support::PATIENCE);
        let (local, server) = self.runtime.as_ref().unwrap().block_on(opened);
        (self.local, self.server) = (local, Some(server));
    }

    /// Makes it so much later.
    pub fn later(&self, span: Duration) {
        self.later.fetch_add(span.as_millis() as u64, Ordering::Relaxed);
    }

    /// Lets every turn end whose prompt says `hold`.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Waits until so many turns are accepted and not settled.
    pub fn until_open(&self, turns: usize) {
        let mut published = self.engine.watch();
        let open = |fleet: &Arc<Fleet>| fleet.turns().filter(|turn| !turn.state.is_settled()).count() == turns;
        let reached = async { tokio::time::timeout(crate::support::PATIENCE, published.wait_for(open)).await.is_ok() };
        assert!(self.runtime.as_ref().unwrap().block_on(reached), "{turns} open turns were never seen");
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        let answer = self.client.get(format!("http://{}{path}", self.local)).call().unwrap();
        read(answer)
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_raw(path, "application/json", body.to_string().as_bytes())
    }

    pub fn post_raw(&self, path: &str, content_type: &str, body: &[u8]) -> (u16, Value) {
        let request = self.client.post(format!("http://{}{path}", self.local)).header("content-type", content_type);
        read(request.send(body).unwrap())
    }

    /// Sends exactly these bytes and returns the whole answer; the request must ask to close the connection.
    pub fn bytes(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.local).unwrap();
        stream.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Waits for the server to end, which it does some time after `closing` was cancelled.
    pub fn served(&mut self) {
        let runtime = self.runtime.as_ref().unwrap();
        runtime.block_on(self.server.take().unwrap()).unwrap();
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Held connections must not hold up the end of a test that failed.
        self.runtime.take().unwrap().shutdown_background();
    }
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().unwrap();
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, value)
}

/// The pretended workers and recipes.
async fn work(
    mut orders: mpsc::Receiver<Order>,
    engine: Handle,
    journal: Arc<dyn Journal>,
    release: watch::Receiver<bool>,
) {
    while let Some(order) = orders.recv().await {
        let engine = engine.clone();
        match order {
            Order::Work(WorkEffect::Start(w)) => engine.seen(Sighting::Up { worker: w.name.clone() }).await,
            Order::Work(WorkEffect::Hand(w, turn)) => {
                let worker = w.name.clone();
                engine.seen(Sighting::Taken { worker: worker.clone(), turn: turn.id, process: None }).await;
                let prompt = journal.prompt(turn.prompt_of).await.unwrap().unwrap();
                let mut release = release.clone();
                tokio::spawn(async move {
                    if prompt.starts_with("hold") {
                        let _ = release.wait_for(|released| *released).await;
                    }
                    let mut finish = Finish::without_reply(Outcome::Replied, "");
                    finish.why = None;
                    finish.text = prompt.to_uppercase().into();
                    let finish = Box::new(finish);
                    engine.seen(Sighting::Finished { worker, turn: turn.id, finish, idle: true }).await;
                });
            }
            Order::Work(WorkEffect::Interrupt(w, turn)) => {
                let finish = Box::new(Finish::without_reply(Outcome::Cancelled, "interrupted"));
                engine.seen(Sighting::Finished { worker: w.name.clone(), turn, finish, idle: true }).await;
            }
            Order::Work(WorkEffect::Stop(w)) => {
                engine.seen(Sighting::Gone { worker: w.name.clone(), session: w.session, why: "stopped".into() }).await;
            }
            Order::Work(
                WorkEffect::Forget(_)
                | WorkEffect::Watch(_)
                | WorkEffect::Replied(..)
                | WorkEffect::Nudge(..)
                | WorkEffect::Pause(_)
                | WorkEffect::Memory,
            ) => {}
            Order::Run(RunEffect::Start { run }) => {
                let request = Box::new(StepRequest::Ask("which colour?".into()));
                let step = RunInput::Step {
                    run: run.id,
                    path: "ask_leader#1".into(),
                    verb: "ask_leader",
                    hash: "h".into(),
                    what: "ask".into(),
                    at: "recipes/ask.lua:2".into(),
                    request,
                };
                engine.run_input(step).await;
            }
            Order::Run(RunEffect::Answer(run, step)) => {
                let end = RunEnd { outcome: RunOutcome::Done, why: None, value: (*step.value).clone() };
                engine.run_input(RunInput::Ended { run, end }).await;
            }
            Order::Run(_) => {}
        }
    }
}
