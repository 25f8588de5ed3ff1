//! A place with a store and a pane host, in which one daemon's launcher after the other can live, and one worker.
//! For the tests of typed workers only.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleetd::config::ScreenWords;
use fleetd::engine::panes::PaneHost;
use fleetd::engine::ports::Launchers;
use fleetd::fleet::envelope::Finish;
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Stamp, Turn, TurnState};
use fleetd::fleet::typing::Typing;
use fleetd::fleet::worker::{Process, Worker, WorkerState};
use fleetd::launch::Common;
use fleetd::launch::typed::Typed;
use fleetd::process::{ProcessId, marked_with};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::host::Local;
use crate::exec::{Prompts, turn_of};

/// Longer than anything here takes; only a hang reaches it.
const LONG: Duration = Duration::from_secs(60);

pub struct House {
    pub place: TempDir,
    pub host: Arc<Local>,
    pub prompts: Arc<Prompts>,
    typing: Typing,
}

/// One daemon's launcher.
pub struct Life {
    typed: Typed,
    task: JoinHandle<()>,
    seen: mpsc::Receiver<Sighting>,
}

impl House {
    pub fn new() -> House {
        let place = TempDir::new().unwrap();
        fs::create_dir(place.path().join("sessions")).unwrap();
        fs::create_dir(place.path().join("work")).unwrap();
        let typing = Typing {
            ready_timeout: Span::seconds(20),
            quiet: Span(150),
            dialog: vec!["1. Yes".into()],
            ..Typing::default()
        };
        House { place, host: Local::new(), prompts: Arc::default(), typing }
    }

    pub fn typing(mut self, change: impl FnOnce(&mut Typing)) -> House {
        change(&mut self.typing);
        self
    }

    pub fn live(&self) -> Life {
        let (sightings, seen) = mpsc::channel(64);
        let host: Arc<dyn PaneHost> = self.host.clone();
        let common = Common {
            sessions: self.place.path().join("sessions"),
            program: env!("CARGO_BIN_EXE_fleetd").into(),
            policy: Arc::default(),
            url: "http://127.0.0.1:1".into(),
            journal: self.prompts.clone(),
            sightings,
        };
        let (typed, task) = Typed::new(common, host, Some(ScreenWords::default()));
        Life { typed, task: tokio::spawn(task), seen }
    }

    pub fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// Returns the worker with its program; flags are those of the test agent.
    pub fn worker(&self, flags: &[&str]) -> Arc<Worker> {
        let mut command = vec![agent(), "--submitted".into(), self.file("submitted"), "--log".into(), self.file("log")];
        command.extend(flags.iter().map(|flag| flag.to_string()));
        Arc::new(self.worker_of(command))
    }

    pub fn worker_of(&self, command: Vec<String>) -> Worker {
        let mut profile: fleetd::fleet::team::Profile =
            serde_json::from_value(serde_json::json!({ "name": "p", "launcher": "typed", "command": command }))
                .unwrap();
        profile.env.insert("PLACE".into(), self.place.path().display().to_string());
        profile.cwd = Some(self.work());
        profile.typing = Some(Box::new(self.typing.clone()));
        Worker {
            name: "s-1".into(),
            role: "s".into(),
            profile: Arc::new(profile),
            generation: 1,
            state: WorkerState::Starting,
            since: Time(0),
            turn: None,
            elastic: false,
            process: None,
            turns: 0,
            session: 5,
            born: 0,
            late: None,
            cut: None,
            life: Default::default(),
        }
    }

    /// The same worker as the fleet has it once it was up.
    pub fn up(worker: &Worker) -> Arc<Worker> {
        Arc::new(Worker { state: WorkerState::Busy, ..worker.clone() })
    }

    pub fn file(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    /// Returns what the agent was given, one text a line of its file.
    pub fn submitted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file("submitted")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    pub fn pastes(&self) -> usize {
        self.host.pasted.lock().unwrap().len()
    }

    /// Returns a turn that was handed for the n-th time.
    pub fn turn(&self, id: u64, prompt: &str, hand: usize) -> Arc<Turn> {
        self.prompts.put(id, prompt);
        let mut turn = turn_of(id);
        turn.receipt = vec![Stamp { at: Time(1), state: TurnState::Handed, note: None }; hand];
        Arc::new(turn)
    }

    pub fn processes(&self) -> Vec<ProcessId> {
        let marked = marked_with(&format!("PLACE={}", self.place.path().display()));
        marked.into_iter().filter(|process| process.is_alive()).collect()
    }

    pub fn nothing_is_left(&self) {
        assert_eq!(self.processes(), [], "processes still run");
        assert_eq!(fs::read_dir(self.place.path().join("sessions")).unwrap().count(), 0, "files of a session are left");
    }
}

impl Drop for House {
    fn drop(&mut self) {
        for process in self.processes() {
            drop(process.signal(rustix::process::Signal::KILL));
        }
    }
}

pub fn agent() -> String {
    let agent = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("test-agent");
    assert!(agent.exists(), "build it with the tests: cargo nextest run");
    agent.display().to_string()
}

impl Life {
    pub fn order(&self, order: WorkEffect) {
        self.typed.carry_out(order);
    }

    pub fn hand(&self, worker: &Worker, turn: &Arc<Turn>) {
        self.order(WorkEffect::Hand(House::up(worker), turn.clone()));
    }

    pub async fn next(&mut self) -> Sighting {
        tokio::time::timeout(LONG, self.seen.recv()).await.expect("it was seen in time").expect("the launcher lives")
    }

    /// Starts the worker and returns its pane-exec once it is up.
    pub async fn starts(&mut self, worker: &Arc<Worker>) -> Process {
        self.order(WorkEffect::Start(worker.clone()));
        let Sighting::Began { process, .. } = self.next().await else { panic!("it did not begin") };
        let up = self.next().await;
        assert!(matches!(up, Sighting::Up { .. }), "{up:?}");
        process
    }

    /// Returns the next sighting but that nothing is in the way, which the first look at an adopted session reports.
    async fn next_but_clear(&mut self) -> Sighting {
        loop {
            let seen = self.next().await;
            if !matches!(seen, Sighting::Clear { .. }) {
                return seen;
            }
        }
    }

    pub async fn taken(&mut self) -> TurnId {
        match self.next_but_clear().await {
            Sighting::Taken { turn, process: None, .. } => turn,
            other => panic!("not taken: {other:?}"),
        }
    }

    pub async fn finished(&mut self) -> Finish {
        match self.next_but_clear().await {
            Sighting::Finished { finish, .. } => *finish,
            other => panic!("not finished: {other:?}"),
        }
    }

    pub async fn gone(&mut self) -> String {
        loop {
            match self.next().await {
                Sighting::Gone { why, .. } => return why,
                Sighting::Unreachable { .. } | Sighting::Began { .. } | Sighting::Clear { .. } => {}
                other => panic!("not gone: {other:?}"),
            }
        }
    }

    /// Stops the worker and waits until it is gone.
    pub async fn stops(&mut self, worker: &Worker) {
        self.order(WorkEffect::Stop(House::up(worker)));
        self.gone().await;
    }

    /// The daemon is killed: nothing of its launcher runs on.
    pub async fn dies(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Waits until something is so.
pub async fn until(what: &str, mut look: impl FnMut() -> bool) {
    let began = Instant::now();
    while !look() {
        assert!(began.elapsed() < LONG, "it never came: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
