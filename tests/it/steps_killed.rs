//! A run of thirty steps of every kind, and a daemon that dies at every commit of it, just before and just after: the same
//! result each time, and nothing begun twice. The charter, the engine and the store are the real ones; the workers are
//! scripted, and what they did outlives the daemon, as the directory of a turn does.

mod real;
mod scripted;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fleetd::charter::{Charter, Options, Upward};
use fleetd::engine::ports::Journal;
use fleetd::engine::requests::{Origin, RunRequest};
use fleetd::engine::{Handle, Ports, build};
use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{RunId, StepPath, TurnId};
use fleetd::fleet::input::{Asked, Call};
use fleetd::fleet::mail::About;
use fleetd::fleet::run::RunOutcome;
use fleetd::fleet::team::TeamLoad;
use fleetd::fleet::{Fleet, Limits};
use fleetd::store::{StateDir, Store};
use scripted::{Mortal, Wall, Workers};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const CHARTER: &str = r#"
fleet.profile("p", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "p" }, max_busy = 4, max_waiting = 50 })
fleet.route("all", function() return { role = "w" } end)
fleet.shape("count", { n = "integer" })

fleet.recipe("thirty", { input = { word = "string" }, deadline = "10m", budget = { turns = 60 } }, function(job, run)
  local log = {}
  local function add(value) table.insert(log, value) end
  run:progress("begun")
  add(run:now() > 0)
  add(run:random(1, 1))
  run:note("seen", { word = job.word })
  add(run:note("seen").word)
  add(run:send({ to = "w", prompt = "plain" }).text)
  add(run:send({ prompt = "routed" }).text)
  run:sleep(0.003)
  add(run:send({ to = "w", prompt = "lost once", retries = 2 }).text)
  add(run:send({ to = "w", prompt = "count", schema = "count" }).data.n)
  add(run:send({ to = "w", prompt = "asks", on_ask = function(question)
    run:sleep(0.001)
    return "blue, to " .. question.text
  end }).text)
  add(run:ask_leader("go on?"))
  for _, text in ipairs(run:each({ 1, 2, 3 }, function(n) return run:send({ to = "w", prompt = "part " .. n }).text end)) do
    add(text)
  end
  local _, place = run:race({ "slow one", "quick", "slow two" }, function(prompt)
    return run:send { to = "w", prompt = prompt }
  end)
  add(place)
  local verdict = run:vote({ "yes", "no", "yes", "slow" }, function(prompt)
    return run:send { to = "w", prompt = prompt }
  end, { quorum = 2 })
  add(verdict.value .. verdict.votes)
  add(pcall(run.each, run, { "slow", "breaks" }, function(part)
    if part == "slow" then return run:send { to = "w", prompt = part } end
    run:now()
    error("broken")
  end))
  add(run:recipe("inner", { n = 2 }).value)
  add(run:command({ "cargo", "test" }, { stdin = "command" }).text)
  run:progress("ended")
  return log
end)

fleet.recipe("inner", { input = { n = "integer" } }, function(job, run)
  run:progress("below")
  return run:each({ 1, 2 }, function(n) return run:send({ to = "w", prompt = "inner " .. n }).text end)
end)
"#;

/// What the run comes to, whenever the daemon dies.
fn wanted() -> Value {
    json!([
        true,
        1,
        "x",
        "did plain",
        "did routed",
        "did lost once",
        7,
        "heard blue, to which?",
        "yes",
        "did part 1",
        "did part 2",
        "did part 3",
        2,
        "did yes2",
        false,
        ["did inner 1", "did inner 2"],
        "did command"
    ])
}

/// When a daemon dies: at this commit, before it is stored or after it.
#[derive(Clone, Copy, Debug)]
struct Death {
    commit: u64,
    stored: bool,
}

struct House {
    dir: tempfile::TempDir,
    workers: Arc<Workers>,
    commits: Arc<AtomicU64>,
    held_runs: usize,
}

impl House {
    /// With no run held, each begins again from its journal whenever something comes for it.
    fn new(held_runs: usize) -> House {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("charter")).unwrap();
        std::fs::write(dir.path().join("charter/team.lua"), CHARTER).unwrap();
        House { dir, workers: Arc::default(), commits: Arc::default(), held_runs }
    }

    /// One life of the daemon: until the run has ended, or until its death.
    fn lives(&self, death: Option<Death>) -> Option<(RunOutcome, Option<String>, Value)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(self.life(death));
        // What this daemon was at ends with it.
        drop(runtime);
        ended
    }

    async fn life(&self, death: Option<Death>) -> Option<(RunOutcome, Option<String>, Value)> {
        let state = self.dir.path().join("state");
        let store = Store::open(&StateDir::take(&state).unwrap()).unwrap();
        let saved = store.load().await.unwrap();
        let (journal, dead) = Mortal::new(store, self.commits.clone(), death);
        let journal: Arc<dyn Journal> = Arc::new(journal);
        let clock = Arc::new(Wall);
        let (charter, mut told, tasks) = Charter::open(Options {
            dir: self.dir.path().join("charter"),
            state,
            last: None,
            journal: journal.clone(),
            clock: clock.clone(),
            load: Arc::new(TeamLoad::default),
            poll: std::time::Duration::from_secs(600),
            hints: false,
            held_runs: self.held_runs,
        })
        .await
        .unwrap();
        let (launchers, orders) = self.workers.launchers();
        let limits = Limits { commands: vec!["cargo".into()], ..Limits::default() };
        let ports = Ports { journal, launchers, policy: Arc::new(charter), clock };
        let (handle, engine) = build(Fleet::restore(saved, limits), ports);
        let mut all = JoinSet::new();
        all.spawn(engine);
        for task in [tasks.down, tasks.up, tasks.watchdog] {
            all.spawn(task);
        }
        let carrier = handle.clone();
        all.spawn(async move {
            while let Some(message) = told.recv().await {
                match message {
                    Upward::Run(input) => carrier.run_input(input).await,
                    Upward::Team(team) => carrier.take_team(team).await,
                    Upward::Act(action) => carrier.act(action).await,
                    Upward::Notice(text) => carrier.notice(text).await,
                }
            }
        });
        all.spawn(self.workers.clone().work(handle.clone(), orders));
        all.spawn(answers(handle.clone()));
        tokio::select! {
            ended = runs(&handle) => Some(ended),
            () = dead.notified() => None,
            () = tokio::time::sleep(crate::support::PATIENCE) => panic!("{death:?}: the run did not end: {:?}", self.workers),
        }
    }
}

/// Starts the run, or finds it, and waits for its end.
async fn runs(handle: &Handle) -> (RunOutcome, Option<String>, Value) {
    let mut published = handle.watch();
    published.wait_for(|fleet| fleet.team().is_some()).await.unwrap();
    let job = json!({"word": "x"});
    let request = RunRequest { recipe: "thirty".into(), job, key: Some("k".into()), ..RunRequest::default() };
    let run = handle.start_run(&Caller::Operator, request, &Origin::default()).await.unwrap().id;
    let fleet =
        published.wait_for(|fleet| fleet.run(run).is_some_and(|run| run.outcome.is_some())).await.unwrap().clone();
    let row = fleet.run(run).unwrap();
    let value = handle.journal().run_value(run).await.unwrap().unwrap();
    (row.outcome.unwrap(), row.why.clone(), (*value).clone())
}

/// Whoever started the run says yes to what it asks.
async fn answers(handle: Handle) {
    let mut published = handle.watch();
    loop {
        let asked = published.borrow_and_update().messages().find_map(|message| match message.about {
            About::Question(question) => Some(question),
            _ => None,
        });
        if let Some(question) = asked {
            let call = Call::Answer { question: Asked::Question(question), text: "yes".into() };
            // It may have been answered by the life before, and not be gone yet.
            let _ = handle.call(&Caller::Operator, call).await;
        }
        if published.changed().await.is_err() {
            return;
        }
    }
}

fn holds(workers: &Workers, death: Option<Death>, ended: (RunOutcome, Option<String>, Value)) {
    assert_eq!(ended, (RunOutcome::Done, None, wanted()), "{death:?}");
    let mut begun: BTreeMap<(RunId, StepPath), TurnId> = BTreeMap::new();
    for started in workers.started() {
        if started.is_first
            && let Some(other) = begun.insert(started.step.clone(), started.turn)
        {
            panic!("{death:?}: {:?} was sent as {other} and as {}", started.step, started.turn);
        }
    }
    assert!(begun.len() >= 16, "{death:?}: every send was made: {begun:?}");
}

#[test]
fn whenever_the_daemon_dies_a_run_ends_alike_and_nothing_is_done_twice() {
    let asleep = House::new(0);
    let ended = asleep.lives(None).expect("nobody dies");
    holds(&asleep.workers, None, ended);
    let house = House::new(1_000);
    let ended = house.lives(None).expect("nobody dies");
    holds(&house.workers, None, ended);
    let (commits, mut deaths) = (house.commits.load(Ordering::SeqCst), 0);
    assert!(commits >= 30, "{commits}");
    for commit in 1..=commits {
        for stored in [false, true] {
            let held_runs = if (commit % 2 == 0) == stored { 0 } else { 1_000 };
            let (house, death) = (House::new(held_runs), Death { commit, stored });
            let ended = house.lives(Some(death));
            deaths += u32::from(ended.is_none());
            let ended = ended.or_else(|| house.lives(None)).expect("one death, two lives");
            holds(&house.workers, Some(death), ended);
        }
    }
    println!("{deaths} deaths at {commits} commits");
    assert!(deaths >= 50, "it must die nearly each time, else this shows nothing: {deaths} of {commits}");
}
