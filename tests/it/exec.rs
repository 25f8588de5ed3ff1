//! The launcher of `exec` workers against real processes: what it reports, also when it comes back in the middle.
//!
//! The launcher runs in the test; only pane-exec is the real program. Dropping its task is the daemon's death.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleetd::engine::ports::{Boxed, Journal, JournalError, Launchers};
use fleetd::fleet::caller::Sender;
use fleetd::fleet::envelope::{Envelope, Exit, Finish};
use fleetd::fleet::ids::{RunId, TurnId};
use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::record::{Event, Record, Saved};
use fleetd::fleet::run::{FinishedStep, Run, Step};
use fleetd::fleet::team::{Address, Profile};
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Outcome, Turn, TurnState};
use fleetd::fleet::worker::{Worker, WorkerState};
use fleetd::launch::exec::{Exec, Options};
use fleetd::launch::policy::Policy;
use fleetd::launch::turn_dir::{Claim, Ended, ExitRecord, Started, TEXT_LIMIT, TurnDir};
use fleetd::process::{ProcessId, marked_with};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Longer than anything here takes; only a hang reaches it.
const LONG: Duration = Duration::from_secs(60);

/// A store that knows the prompts, and which turns have ended.
#[derive(Default)]
pub struct Prompts(Mutex<BTreeMap<TurnId, (Arc<str>, TurnState)>>, Faults, Envelopes, Envelopes);

/// Envelopes of turns, and late ones.
type Envelopes = Mutex<BTreeMap<TurnId, Arc<Envelope>>>;

/// How often the store is still to fail when it is asked for a prompt.
#[derive(Default)]
pub struct Faults {
    errors: AtomicU32,
    panics: AtomicU32,
}

/// Counts down, and says whether there was something left.
fn one_more(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn answer<T: Send + 'static>(value: T) -> Boxed<Result<T, JournalError>> {
    Box::pin(async { Ok(value) })
}

impl Prompts {
    /// The store has this reply from now on.
    pub fn put_reply(&self, turn: u64, text: &str) {
        let envelope = serde_json::json!({
            "turn": TurnId(turn), "from": {}, "ok": true, "outcome": "replied", "text": text, "generation": 1,
            "times": {"accepted": 0, "settled": 1},
        });
        self.2.lock().unwrap().insert(TurnId(turn), Arc::new(serde_json::from_value(envelope).unwrap()));
    }

    /// The store has a late reply to this turn from now on, of which the file has more.
    fn put_long_late_reply(&self, turn: u64, path: &std::path::Path) {
        let envelope = serde_json::json!({
            "turn": TurnId(turn), "from": {}, "ok": true, "outcome": "replied", "text": "so far", "generation": 1,
            "times": {"accepted": 0, "settled": 1}, "truncated": {"path": path, "bytes": 9_000_000},
        });
        self.3.lock().unwrap().insert(TurnId(turn), Arc::new(serde_json::from_value(envelope).unwrap()));
    }

    /// The store has this prompt from now on.
    pub fn put(&self, turn: u64, prompt: &str) {
        self.0.lock().unwrap().insert(TurnId(turn), (prompt.into(), TurnState::Handed));
    }
}

impl Journal for Prompts {
    fn commit(&self, _: Vec<Record>) -> Boxed<Result<(), JournalError>> {
        answer(())
    }
    fn load(&self) -> Boxed<Result<Saved, JournalError>> {
        unreachable!("launchers do not load")
    }
    fn prompt(&self, turn: TurnId) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        if one_more(&self.1.errors) {
            return Box::pin(async { Err(JournalError::Failed("not now".into())) });
        }
        assert!(!one_more(&self.1.panics), "a fault in the watch");
        answer(self.0.lock().unwrap().get(&turn).map(|(prompt, _)| prompt.clone()))
    }
    fn envelope(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        answer(self.2.lock().unwrap().get(&turn).cloned())
    }
    fn late(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        answer(self.3.lock().unwrap().get(&turn).cloned())
    }
    fn turn(&self, turn: TurnId) -> Boxed<Result<Option<Turn>, JournalError>> {
        let known = self.0.lock().unwrap().get(&turn).map(|(_, state)| *state);
        answer(known.map(|state| Turn { state, ..turn_of(turn.0) }))
    }
    fn run(&self, _: RunId) -> Boxed<Result<Option<Run>, JournalError>> {
        answer(None)
    }
    fn runs(&self, _: usize) -> Boxed<Result<Vec<Run>, JournalError>> {
        answer(Vec::new())
    }
    fn job(&self, _: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        answer(None)
    }
    fn run_value(&self, _: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        answer(None)
    }
    fn finished_steps(&self, _: RunId) -> Boxed<Result<Vec<FinishedStep>, JournalError>> {
        answer(Vec::new())
    }
    fn steps(&self, _: RunId) -> Boxed<Result<Vec<Step>, JournalError>> {
        answer(Vec::new())
    }
    fn events(&self, _: TurnId) -> Boxed<Result<Vec<Event>, JournalError>> {
        answer(Vec::new())
    }
    fn save_sources(&self, _: String, _: Arc<str>) -> Boxed<Result<(), JournalError>> {
        answer(())
    }
    fn sources(&self, _: String) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        answer(None)
    }
    fn prune(&self, _: Time, _: Vec<TurnId>) -> Boxed<Result<u64, JournalError>> {
        answer(0)
    }
}

/// A place with a store, in which one daemon's launcher after the other can live.
struct House {
    place: TempDir,
    prompts: Arc<Prompts>,
    executables: Vec<String>,
}

struct Life {
    exec: Exec,
    task: JoinHandle<()>,
    seen: mpsc::Receiver<Sighting>,
}

impl House {
    fn new() -> Self {
        let house = Self { place: TempDir::new().unwrap(), prompts: Arc::default(), executables: Vec::new() };
        fs::create_dir(house.turns()).unwrap();
        house
    }

    fn turns(&self) -> PathBuf {
        self.place.path().join("turns")
    }

    fn dir(&self, turn: u64) -> TurnDir {
        TurnDir::new(self.turns().join(TurnId(turn).to_string()))
    }

    fn live(&self) -> Life {
        self.live_with(env!("CARGO_BIN_EXE_fleetd").into(), LONG)
    }

    fn live_with(&self, program: PathBuf, sweep: Duration) -> Life {
        let (sightings, seen) = mpsc::channel(64);
        let options = Options {
            turns: self.turns(),
            policy: Policy { executables: self.executables.clone(), ..Policy::default() }.into(),
            journal: self.prompts.clone(),
            sightings,
        };
        let (exec, task) = Exec::with(options, program, sweep);
        Life { exec, task: tokio::spawn(task), seen }
    }

    fn turn(&self, id: u64, prompt: &str) -> Arc<Turn> {
        self.prompts.0.lock().unwrap().insert(TurnId(id), (prompt.into(), TurnState::Handed));
        Arc::new(turn_of(id))
    }

    /// The store says this of a turn from now on.
    fn is_now(&self, id: u64, state: TurnState) {
        self.prompts.0.lock().unwrap().get_mut(&TurnId(id)).unwrap().1 = state;
    }

    fn worker(&self, command: &[&str]) -> Worker {
        let profile = Profile {
            name: "p".into(),
            about: None,
            launcher: "exec".into(),
            command: command.iter().map(|word| word.to_string()).collect(),
            cwd: None,
            env: BTreeMap::from([("PLACE".into(), self.place.path().to_string_lossy().into_owned())]),
            timeout: None,
            idle_ttl: None,
            context_cap: None,
            restarts: None,
            grants: Default::default(),
            typing: None,
            model: None,
            endpoint: None,
            plan: None,
            worktree: None,
        };
        Worker {
            name: "w-1".into(),
            role: "w".into(),
            profile: Arc::new(profile),
            generation: 1,
            state: WorkerState::Busy,
            since: Time(0),
            turn: Some(TurnId(1)),
            elastic: true,
            process: None,
            turns: 0,
            session: 0,
            born: 0,
            late: None,
            cut: None,
            life: Default::default(),
        }
    }

    fn sh(&self, script: &str) -> Arc<Worker> {
        Arc::new(self.worker(&["sh", "-c", script]))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    async fn wait_for(&self, name: &str) {
        until(|| self.file(name).exists().then_some(())).await;
    }

    fn nothing_is_left(&self) {
        let marked = marked_with(&format!("PLACE={}", self.place.path().display()));
        let alive: Vec<ProcessId> = marked.into_iter().filter(|process| process.is_alive()).collect();
        assert_eq!(alive, [], "processes still run");
    }
}

impl Life {
    fn order(&self, order: WorkEffect) {
        self.exec.carry_out(order);
    }

    fn hand(&self, worker: &Arc<Worker>, turn: &Arc<Turn>) {
        self.order(WorkEffect::Hand(worker.clone(), turn.clone()));
    }

    async fn next(&mut self) -> Sighting {
        tokio::time::timeout(LONG, self.seen.recv()).await.expect("it was seen in time").expect("the launcher lives")
    }

    async fn taken(&mut self) -> ProcessId {
        match self.next().await {
            Sighting::Taken { process: Some(process), .. } => {
                ProcessId { pid: process.pid.try_into().unwrap(), start_time: process.start }
            }
            other => panic!("not taken: {other:?}"),
        }
    }

    async fn finished(&mut self) -> Finish {
        loop {
            match self.next().await {
                Sighting::Finished { finish, idle: true, .. } => return *finish,
                Sighting::Taken { .. } => {}
                other => panic!("not finished: {other:?}"),
            }
        }
    }

    /// The daemon is killed: nothing of its launcher runs on.
    async fn die(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

pub fn turn_of(id: u64) -> Turn {
    Turn {
        state: TurnState::Handed,
        worker: Some("w-1".into()),
        ..Turn::accepted(TurnId(id), Sender::Operator, Address::Role("w".into()), Time(0), 1)
    }
}

async fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    tokio::time::timeout(LONG, async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .expect("it came in time")
}

#[tokio::test]
async fn a_turn_is_run_with_its_prompt_and_only_the_listed_environment() {
    let house = House::new();
    let mut life = house.live();
    let script = "cat; echo; env | cut -d= -f1 | sort; echo \"$FLEET_TURN $FLEET_FROM $FLEET_WORKER\"; echo bad >&2";
    life.hand(&house.sh(script), &house.turn(1, "the prompt"));
    let process = life.taken().await;
    let finish = life.finished().await;
    assert_eq!((finish.outcome, finish.exit), (Outcome::Replied, Some(Exit::Code(0))), "{:?}", finish.why);
    assert_eq!(finish.stderr.as_deref(), Some("bad\n"));
    assert!(!process.is_alive());
    let mut lines = finish.text.lines();
    assert_eq!(lines.next(), Some("the prompt"));
    let allowed = |name: &str| {
        let listed = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR", "PLACE"];
        let ours =
            ["FLEET_TURN", "FLEET_FROM", "FLEET_WORKER", "FLEET_STATE", "FLEET_ROOT", "PWD", "OLDPWD", "SHLVL", "_"];
        // When coverage is measured, pane-exec's own instruments mark its environment, and so its children's.
        let measured = name.starts_with("__LLVM_PROFILE");
        listed.contains(&name) || ours.contains(&name) || name.starts_with("LC_") || measured
    };
    let (names, last): (Vec<&str>, Vec<&str>) = lines.partition(|line| !line.contains(' '));
    assert!(names.contains(&"FLEET_ROOT"), "{names:?}");
    assert_eq!(names.into_iter().filter(|name| !allowed(name)).collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(last, ["t1 operator w-1"]);
    house.is_now(1, TurnState::Collected);
    life.order(WorkEffect::Forget(TurnId(1)));
    until(|| (!house.dir(1).path().exists()).then_some(())).await;
    house.nothing_is_left();
}

#[tokio::test]
async fn an_exit_code_is_a_failure_that_keeps_its_text() {
    let house = House::new();
    let mut life = house.live();
    life.hand(&house.sh("echo half; exit 3"), &house.turn(1, ""));
    let finish = life.finished().await;
    assert_eq!((finish.outcome, finish.why.as_deref(), &*finish.text), (Outcome::Failed, Some("exit 3"), "half\n"));
}

#[tokio::test]
async fn a_timeout_is_the_profiles_and_counts_from_the_start() {
    let house = House::new();
    let mut life = house.live();
    let mut worker = house.worker(&["sh", "-c", "echo early; sleep 600"]);
    worker.profile = Arc::new(Profile { timeout: Some(Span(300)), ..(*worker.profile).clone() });
    life.hand(&Arc::new(worker), &house.turn(1, ""));
    let finish = life.finished().await;
    assert_eq!((finish.outcome, &*finish.text), (Outcome::TimedOut, "early\n"));
    assert!(finish.why.unwrap().contains("timeout of 300ms"));
    house.nothing_is_left();
}

#[tokio::test]
async fn a_long_text_is_cut_and_its_file_named() {
    let house = House::new();
    let mut life = house.live();
    life.hand(&house.sh("head -c 2000000 /dev/zero | tr '\\0' x"), &house.turn(1, ""));
    let finish = life.finished().await;
    let truncated = finish.truncated.expect("it was cut");
    assert_eq!((finish.text.len(), truncated.bytes), (TEXT_LIMIT, 2_000_000));
    assert_eq!(fs::metadata(truncated.path).unwrap().len(), 2_000_000);
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let mut house = House::new();
    house.executables = vec!["true".into()];
    let mut life = house.live();
    life.hand(&house.sh("echo no > \"$PLACE/ran\""), &house.turn(1, ""));
    let finish = life.finished().await;
    assert_eq!(finish.outcome, Outcome::Failed);
    let why = finish.why.unwrap();
    assert_eq!(why, "not started: profile p starts sh, and [launch] executables allows only: true");
    life.hand(&Arc::new(house.worker(&["true"])), &house.turn(2, ""));
    assert_eq!(life.finished().await.outcome, Outcome::Replied);
    house.executables.clear();
    let mut life = house.live();
    life.hand(&Arc::new(house.worker(&["no-such-prog"])), &house.turn(3, ""));
    let finish = life.finished().await;
    assert!(
        finish
            .why
            .as_deref()
            .unwrap()
            .starts_with("not started: cannot start no-such-prog: no directory of PATH has it")
    );
    assert!(!house.file("ran").exists());
}

#[tokio::test]
async fn handing_again_runs_nothing_again() {
    let house = House::new();
    let mut life = house.live();
    let (worker, turn) = (house.sh("echo ran >> \"$PLACE/log\"; echo out"), house.turn(1, ""));
    for _ in 0..3 {
        life.hand(&worker, &turn);
    }
    assert_eq!(life.finished().await.outcome, Outcome::Replied);
    life.hand(&worker, &turn);
    assert_eq!(&*life.finished().await.text, "out\n");
    life.die().await;
    let mut life = house.live();
    life.hand(&worker, &turn);
    assert_eq!(&*life.finished().await.text, "out\n");
    assert_eq!(fs::read_to_string(house.file("log")).unwrap(), "ran\n");
}

#[tokio::test]
async fn a_daemon_that_comes_back_adopts_what_runs() {
    let house = House::new();
    let mut life = house.live();
    let script = "echo up > \"$PLACE/up\"; while ! [ -e \"$PLACE/go\" ]; do sleep 0.02; done; echo done";
    let (worker, turn) = (house.sh(script), house.turn(1, ""));
    life.hand(&worker, &turn);
    let process = life.taken().await;
    house.wait_for("up").await;
    life.die().await;
    let mut life = house.live();
    life.hand(&worker, &turn);
    assert_eq!(life.taken().await, process);
    fs::write(house.file("go"), "").unwrap();
    let finish = life.finished().await;
    assert_eq!((finish.outcome, &*finish.text), (Outcome::Replied, "done\n"));
    house.nothing_is_left();
}

#[tokio::test]
async fn what_ended_while_nobody_watched_is_reported() {
    let house = House::new();
    let mut life = house.live();
    let (worker, turn) = (house.sh("echo done; exit 5"), house.turn(1, ""));
    life.hand(&worker, &turn);
    life.taken().await;
    life.die().await;
    until(|| house.dir(1).exit().unwrap()).await;
    let mut life = house.live();
    life.hand(&worker, &turn);
    assert_eq!(life.finished().await.why.as_deref(), Some("exit 5"));
}

#[tokio::test]
async fn a_killed_pane_exec_is_unknown_and_its_orphans_are_ended() {
    let house = House::new();
    let mut life = house.live();
    let script = "(setsid sleep 600 &); echo half; echo up > \"$PLACE/up\"; exec sleep 600";
    life.hand(&house.sh(script), &house.turn(1, ""));
    let process = life.taken().await;
    house.wait_for("up").await;
    // What it said goes through pane-exec, so it is there a little later than the file that it made itself.
    until(|| std::fs::read_to_string(house.dir(1).stdout()).ok().filter(|text| text == "half\n")).await;
    assert!(process.signal(Signal::KILL).unwrap());
    let finish = life.finished().await;
    assert_eq!((finish.outcome, &*finish.text), (Outcome::Unknown, "half\n"));
    house.nothing_is_left();
    // It is never run again by itself.
    life.hand(&house.sh(script), &house.turn(1, ""));
    assert_eq!(life.finished().await.outcome, Outcome::Unknown);
}

#[tokio::test]
async fn an_interrupt_ends_the_whole_tree_also_after_a_restart() {
    for adopted in [false, true] {
        let house = House::new();
        let mut life = house.live();
        let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 600' &); echo up > \"$PLACE/up\"; while :; do sleep 1; done";
        let (worker, turn) = (house.sh(script), house.turn(1, ""));
        life.hand(&worker, &turn);
        life.taken().await;
        house.wait_for("up").await;
        if adopted {
            life.die().await;
            life = house.live();
        }
        life.order(WorkEffect::Interrupt(worker, turn.id));
        assert_eq!(life.finished().await.outcome, Outcome::Lost);
        house.nothing_is_left();
    }
}

#[tokio::test]
async fn a_pane_exec_that_does_not_obey_is_killed_from_outside() {
    let house = House::new();
    let mut life = house.live();
    let (worker, turn) = (house.sh("(setsid sleep 600 &); echo up > \"$PLACE/up\"; sleep 600"), house.turn(1, ""));
    life.hand(&worker, &turn);
    let process = life.taken().await;
    house.wait_for("up").await;
    assert!(process.signal(Signal::STOP).unwrap());
    life.order(WorkEffect::Interrupt(worker, turn.id));
    assert_eq!(life.finished().await.outcome, Outcome::Unknown);
    house.nothing_is_left();
}

#[tokio::test]
async fn an_interrupt_before_the_start_keeps_it_from_running_ever() {
    let house = House::new();
    let mut life = house.live();
    let (worker, turn) = (house.sh("echo ran > \"$PLACE/ran\""), house.turn(1, ""));
    house.dir(1).create().unwrap();
    life.order(WorkEffect::Interrupt(worker, turn.id));
    life.finished().await;
    let late = Started::by(ProcessId::current().unwrap());
    assert_eq!(house.dir(1).claim(&late).unwrap(), Claim::Lost);
    assert!(!house.file("ran").exists());
}

#[tokio::test]
async fn a_stopped_worker_is_gone_after_its_tree() {
    let house = House::new();
    let mut life = house.live();
    let (worker, turn) = (house.sh("echo up > \"$PLACE/up\"; sleep 600"), house.turn(1, ""));
    life.hand(&worker, &turn);
    house.wait_for("up").await;
    life.order(WorkEffect::Stop(worker.clone()));
    life.finished().await;
    house.nothing_is_left();
    assert!(matches!(life.next().await, Sighting::Gone { worker: name, .. } if name == worker.name));
    let idle = Arc::new(Worker { turn: None, ..(*worker).clone() });
    life.order(WorkEffect::Start(idle.clone()));
    assert!(matches!(life.next().await, Sighting::Up { .. }));
    life.order(WorkEffect::Stop(idle));
    assert!(matches!(life.next().await, Sighting::Gone { .. }));
}

#[tokio::test]
async fn leftovers_of_ended_turns_go_at_the_next_start_and_no_others() {
    let house = House::new();
    house.turn(1, "");
    house.turn(2, "");
    for turn in [2, 4] {
        house.prompts.0.lock().unwrap().insert(TurnId(turn), ("".into(), TurnState::Collected));
    }
    for turn in [1, 2, 3, 4, 5] {
        house.dir(turn).create().unwrap();
    }
    // Of a late reply that waits its file is kept, also when history has forgotten its turn.
    for turn in [4, 5] {
        house.prompts.put_long_late_reply(turn, &house.dir(turn).stdout());
    }
    let half = house.turns().join(format!("{}t9", TurnDir::REMOVED));
    fs::create_dir(&half).unwrap();
    fs::create_dir(house.turns().join("mine")).unwrap();
    let _life = house.live();
    let left = || {
        let entries = fs::read_dir(house.turns()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    until(|| (left() == ["mine", "t1", "t4", "t5"]).then_some(())).await;
}

/// A time in which the launcher meets only trouble, and must report nothing.
async fn trouble(life: &mut Life, seconds: u64) {
    let seen = tokio::time::timeout(Duration::from_secs(seconds), life.seen.recv()).await;
    assert!(seen.is_err(), "it was reported: {seen:?}");
}

#[tokio::test]
async fn a_claim_that_cannot_be_read_for_long_is_no_end() {
    let house = House::new();
    let mut life = house.live();
    let script = "while ! [ -e \"$PLACE/go\" ]; do sleep 0.02; done; echo done";
    let (worker, turn) = (house.sh(script), house.turn(1, ""));
    life.hand(&worker, &turn);
    let process = life.taken().await;
    life.die().await;
    let (claim, aside) = (house.dir(1).path().join("started"), house.file("aside"));
    fs::rename(&claim, &aside).unwrap();
    fs::create_dir(&claim).unwrap();
    let mut life = house.live();
    life.hand(&worker, &turn);
    // Longer than ten looks with growing rests.
    trouble(&mut life, 12).await;
    fs::remove_dir(&claim).unwrap();
    fs::rename(&aside, &claim).unwrap();
    assert_eq!(life.taken().await, process);
    fs::write(house.file("go"), "").unwrap();
    let finish = life.finished().await;
    assert_eq!((finish.outcome, &*finish.text), (Outcome::Replied, "done\n"));
}

#[tokio::test]
async fn what_cannot_be_started_now_is_started_later() {
    let house = House::new();
    house.dir(1).create().unwrap();
    for name in ["prompt", "trouble"] {
        house.prompts.1.errors.store(2, Ordering::SeqCst);
        let in_the_way = house.dir(1).path().join(name);
        fs::create_dir(&in_the_way).unwrap();
        let mut life = house.live();
        life.hand(&house.sh("cat"), &house.turn(1, "text"));
        trouble(&mut life, 3).await;
        assert_eq!(house.prompts.1.errors.load(Ordering::SeqCst), 0);
        fs::remove_dir(&in_the_way).unwrap();
        let finish = life.finished().await;
        assert_eq!((finish.outcome, &*finish.text), (Outcome::Replied, "text"), "{name}: {:?}", finish.why);
        life.die().await;
        house.dir(1).remove().unwrap();
        house.dir(1).create().unwrap();
    }
}

#[tokio::test]
async fn a_pane_exec_that_could_not_claim_is_started_again() {
    let house = House::new();
    let program = house.file("pane-exec");
    let (ok, real) = (house.file("ok").display().to_string(), env!("CARGO_BIN_EXE_fleetd"));
    let script =
        format!("#!/bin/sh\n[ -e '{ok}' ] || {{ echo tried >> '{ok}.tries'; exit 4; }}\nexec '{real}' \"$@\"\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let mut life = house.live_with(program, LONG);
    life.hand(&house.sh("cat"), &house.turn(1, "text"));
    let tries = || fs::read_to_string(house.file("ok.tries")).is_ok_and(|tries| tries.lines().count() > 2);
    until(|| tries().then_some(())).await;
    fs::write(&ok, "").unwrap();
    let finish = life.finished().await;
    assert_eq!((finish.outcome, &*finish.text), (Outcome::Replied, "text"), "{:?}", finish.why);
}

#[tokio::test]
async fn what_runs_on_from_an_older_store_gives_no_record_to_a_new_turn() {
    let house = House::new();
    let mut life = house.live();
    let script = "while ! [ -e \"$PLACE/go\" ]; do sleep 0.02; done; echo old";
    life.hand(&house.sh(script), &house.turn(1, ""));
    let old = life.taken().await;
    life.die().await;
    fs::rename(house.turns(), house.file("turns.old-1")).unwrap();
    fs::create_dir(house.turns()).unwrap();
    let mut life = house.live();
    let script = "while ! [ -e \"$PLACE/go2\" ]; do sleep 0.02; done; echo new";
    life.hand(&house.sh(script), &house.turn(1, ""));
    life.taken().await;
    fs::write(house.file("go"), "").unwrap();
    until(|| (!old.is_alive()).then_some(())).await;
    assert_eq!(house.dir(1).exit().unwrap(), None);
    fs::write(house.file("go2"), "").unwrap();
    assert_eq!(&*life.finished().await.text, "new\n");
}

#[tokio::test]
async fn a_broken_watch_is_replaced_and_the_turn_goes_on() {
    let house = House::new();
    house.prompts.1.panics.store(3, Ordering::SeqCst);
    let mut life = house.live();
    let (worker, turn) = (house.sh("cat"), house.turn(1, "text"));
    life.hand(&worker, &turn);
    let finish = life.finished().await;
    assert_eq!((finish.outcome, &*finish.text), (Outcome::Replied, "text"));
    // One that breaks again and again knows nothing of the worker, so it must not call it idle.
    house.prompts.1.panics.store(u32::MAX, Ordering::SeqCst);
    life.hand(&worker, &house.turn(2, ""));
    match life.next().await {
        Sighting::Finished { finish, idle, .. } => assert_eq!((finish.outcome, idle), (Outcome::Unknown, false)),
        other => panic!("not finished: {other:?}"),
    }
}

#[tokio::test]
async fn a_worker_is_idle_only_when_those_that_were_left_are_gone() {
    let house = House::new();
    let mut left = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let process = ProcessId::of(left.id()).unwrap();
    house.dir(1).create().unwrap();
    house.dir(1).claim(&Started::by(ProcessId::NOBODY)).unwrap();
    let record = ExitRecord { left: vec![process], ..ExitRecord::without_a_run(Ended::Killed) };
    house.dir(1).write_exit(&record).unwrap();
    let mut life = house.live();
    life.hand(&house.sh("true"), &house.turn(1, ""));
    match life.next().await {
        Sighting::Finished { finish, idle, .. } => {
            assert!(!idle);
            assert!(finish.why.unwrap().ends_with(&format!("still there after KILL: {}", process.pid)));
        }
        other => panic!("not finished: {other:?}"),
    }
    left.kill().unwrap();
    assert!(matches!(life.next().await, Sighting::Idle { .. }));
    left.wait().unwrap();
}

#[tokio::test]
async fn a_file_to_which_an_envelope_points_stays_as_long_as_the_envelope() {
    let house = House::new();
    let mut life = house.live_with(env!("CARGO_BIN_EXE_fleetd").into(), Duration::from_millis(50));
    let worker = house.sh("head -c 2000000 /dev/zero");
    for turn in [1, 2] {
        life.hand(&worker, &house.turn(turn, ""));
        let truncated = life.finished().await.truncated.unwrap();
        if turn == 1 {
            let envelope = serde_json::json!({
                "turn": "t1", "from": {}, "ok": true, "outcome": "replied", "text": "", "generation": 1,
                "times": {"accepted": 0, "settled": 1}, "truncated": truncated,
            });
            let envelope = serde_json::from_value(envelope).unwrap();
            house.prompts.2.lock().unwrap().insert(TurnId(1), Arc::new(envelope));
        }
        house.is_now(turn, TurnState::Settled);
        life.order(WorkEffect::Forget(TurnId(turn)));
    }
    // The orders are carried out one after the other, and a sweep may have come in between.
    until(|| (!house.dir(2).path().exists()).then_some(())).await;
    let (_, swept) = (house.turn(3, ""), house.dir(3));
    swept.create().unwrap();
    house.is_now(3, TurnState::Settled);
    until(|| (!swept.path().exists()).then_some(())).await;
    assert!(house.dir(1).stdout().exists(), "an envelope points to it");
    // Its turn is dropped, and a late reply is still in a mailbox.
    let envelope = house.prompts.2.lock().unwrap().remove(&TurnId(1)).unwrap();
    house.prompts.3.lock().unwrap().insert(TurnId(1), envelope);
    house.prompts.0.lock().unwrap().remove(&TurnId(1));
    swept.create().unwrap();
    until(|| (!swept.path().exists()).then_some(())).await;
    assert!(house.dir(1).stdout().exists(), "a late envelope points to it");
    house.prompts.3.lock().unwrap().clear();
    until(|| (!house.dir(1).path().exists()).then_some(())).await;
}
