//! A place with a store and a made-up program that reads and writes lines, in which one daemon's launcher after the
//! other can live, and one worker. For the tests of lines only.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fleetd::engine::ports::{Launchers, Report, Source};
use fleetd::fleet::envelope::Finish;
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::refusal::Refusal;
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::{Stamp, Turn, TurnState};
use fleetd::fleet::worker::{Process, Worker, WorkerState};
use fleetd::launch::{Common, Front, lines};
use fleetd::process::{ProcessId, marked_with};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::exec::{Prompts, turn_of};
pub use crate::typed::house::until;

/// Longer than anything here takes; only a hang reaches it.
const LONG: Duration = Duration::from_secs(60);

/// The program: what it does stands in the text that it is given.
pub const PROGRAM: &str = r#"
end() { printf '{"end":"%s","text":"%s","why":"%s"}\n' "$1" "$2" "$3"; }
while IFS= read -r line; do
  case "$line" in
    *'"noise"'*) continue ;;
    *'"stop"'*) printf '{"nothing":"runs"}\n'; continue ;;
  esac
  printf '%s\n' "$line" >> "$PLACE/given"
  printf '{"took":%s}\n' "$line"
  case "$line" in
    *WAIT*) while [ ! -e "$PLACE/go" ]; do sleep 0.01; done; end ok waited ;;
    *COMPLAIN*) yes 'something is wrong' | head -c 3000000 >&2; end ok done ;;
    *HANG*) IFS= read -r line; end stopped ;;
    *FLOOD*) yes '{"noise":"0123456789012345678901234567890123456789"}' | head -n 200000; end ok flooded ;;
    *'END AND DIE'*) end ok done; kill -9 $$ ;;
    *DIE*) kill -9 $$ ;;
    *part*) sleep 0.1; end ok done ;;
    *FAIL*) end failed 'try later' overloaded ;;
    *) end ok done ;;
  esac
done
"#;

pub struct House {
    pub place: TempDir,
    prompts: Arc<Prompts>,
}

/// One daemon's launcher.
pub struct Life {
    lines: Front,
    task: JoinHandle<()>,
    seen: mpsc::Receiver<Sighting>,
}

impl House {
    pub fn new() -> House {
        let place = TempDir::new().unwrap();
        for name in ["sessions", "work"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        fs::write(place.path().join("program"), PROGRAM).unwrap();
        House { place, prompts: Arc::default() }
    }

    pub fn live(&self) -> Life {
        self.live_at("http://127.0.0.1:1")
    }

    /// As `live`, with the doors at this address.
    pub fn live_at(&self, url: &str) -> Life {
        let (sightings, seen) = mpsc::channel(64);
        let (lines, task) = lines::launcher(Common {
            sessions: self.place.path().join("sessions"),
            program: env!("CARGO_BIN_EXE_fleetd").into(),
            policy: Arc::default(),
            url: url.into(),
            journal: self.prompts.clone(),
            sightings,
        });
        Life { lines, task: tokio::spawn(task), seen }
    }

    pub fn worker(&self) -> Arc<Worker> {
        let program = self.place.path().join("program").display().to_string();
        self.worker_of(&["sh", &program], false)
    }

    pub fn worker_of(&self, argv: &[&str], lists_tools: bool) -> Arc<Worker> {
        let plan = json!({
            "drive": "lines", "argv": argv, "lists_tools": lists_tools,
            "lines": { "say": { "say": "@{fleet.text}" }, "interrupt": { "stop": true } },
            "signs": [
                { "is": "context", "on": { "hook": "start" }, "answer": { "say": "@{fleet.identity}" } },
                { "is": "taken", "any": ["took"], "text": "took.say" },
                { "is": "interrupted", "on": { "end": "stopped" } },
                { "is": "failed", "on": { "end": "failed" }, "text": "text", "why": "why" },
                { "is": "replied", "on": { "end": "ok" }, "text": "text" },
            ],
        });
        let profile = json!({
            "name": "p", "launcher": "liner", "command": [], "plan": plan, "cwd": self.place.path().join("work"),
            "env": { "PLACE": self.place.path().display().to_string() },
        });
        Arc::new(Worker {
            name: "l-1".into(),
            role: "l".into(),
            profile: Arc::new(serde_json::from_value(profile).unwrap()),
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
        })
    }

    /// The same worker as the fleet has it once it was up.
    pub fn up(worker: &Worker) -> Arc<Worker> {
        Arc::new(Worker { state: WorkerState::Busy, ..worker.clone() })
    }

    pub fn session(&self) -> PathBuf {
        self.place.path().join("sessions/l-1-5.lines")
    }

    pub fn facts(&self) -> Value {
        serde_json::from_slice(&fs::read(self.session().join("facts.json")).unwrap()).unwrap()
    }

    /// What waits goes on.
    pub fn go(&self) {
        fs::write(self.place.path().join("go"), "").unwrap();
    }

    /// Returns the texts that the program was given.
    pub fn given(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.path().join("given")).unwrap_or_default();
        let line = |line| serde_json::from_str::<Value>(line).expect("JSON")["say"].as_str().unwrap().to_owned();
        text.lines().map(line).collect()
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

    /// Returns the program: the child of pane-exec.
    pub fn program(&self) -> ProcessId {
        let started: Value = serde_json::from_slice(&fs::read(self.session().join("started")).unwrap()).unwrap();
        let root = started["pid"].as_u64().unwrap();
        let child = fs::read_to_string(format!("/proc/{root}/task/{root}/children")).unwrap();
        ProcessId::of(child.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
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

impl Life {
    pub fn order(&self, order: WorkEffect) {
        self.lines.carry_out(order);
    }

    pub fn hand(&self, worker: &Worker, turn: &Arc<Turn>) {
        self.order(WorkEffect::Hand(House::up(worker), turn.clone()));
    }

    pub fn listed(&self, worker: &Worker, process: ProcessId) {
        self.lines.listed(&worker.name, Source { process: Some(process.into()), via_child: false });
    }

    pub async fn report(
        &self,
        worker: &Worker,
        payload: Value,
        token: Option<&str>,
        process: ProcessId,
    ) -> Result<Option<Value>, Refusal> {
        let token = token.map(str::to_owned);
        self.lines
            .report(
                House::up(worker),
                Report { payload, token, source: Source { process: Some(process.into()), via_child: false } },
            )
            .await
    }

    pub async fn next(&mut self) -> Sighting {
        tokio::time::timeout(LONG, self.seen.recv()).await.expect("it was seen in time").expect("the launcher lives")
    }

    /// Returns whether nothing is seen for so many milliseconds.
    pub async fn nothing_for(&mut self, millis: u64) -> bool {
        tokio::time::timeout(Duration::from_millis(millis), self.seen.recv()).await.is_err()
    }

    /// Returns the next sighting but those that an adopted session begins with.
    pub async fn next_of_turn(&mut self) -> Sighting {
        loop {
            let seen = self.next().await;
            if !matches!(seen, Sighting::Clear { .. } | Sighting::Began { .. }) {
                return seen;
            }
        }
    }

    /// Starts the worker and returns its pane-exec once it is up.
    pub async fn starts(&mut self, worker: &Arc<Worker>) -> Process {
        self.order(WorkEffect::Start(worker.clone()));
        let Sighting::Began { process, .. } = self.next().await else { panic!("it did not begin") };
        let up = self.next().await;
        assert!(matches!(up, Sighting::Up { .. }), "{up:?}");
        process
    }

    pub async fn taken(&mut self) -> TurnId {
        match self.next_of_turn().await {
            Sighting::Taken { turn, process: None, .. } => turn,
            other => panic!("not taken: {other:?}"),
        }
    }

    pub async fn finished(&mut self) -> Finish {
        match self.next_of_turn().await {
            Sighting::Finished { finish, .. } => *finish,
            other => panic!("not finished: {other:?}"),
        }
    }

    pub async fn gone(&mut self) -> String {
        match self.next_of_turn().await {
            Sighting::Gone { why, .. } => why,
            other => panic!("not gone: {other:?}"),
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
