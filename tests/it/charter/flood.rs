//! Five hundred reloads under load: rubrics are asked all the time, and runs of many generations are under way.
//! Nothing may be answered by half a generation, no run lost, no VM outlive its last run, and the memory stay as it is.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fleetd::charter::Upward;
use fleetd::engine::ports::Policy;
use fleetd::fleet::run::{RunInput, RunOutcome};
use serde_json::json;

use super::fake::{FakeJournal, House, free};
use super::{task, write};

const RELOADS: u64 = 500;
/// After so many saves a run is begun.
const EVERY: u64 = 10;
/// So many runs stay open before the oldest goes on.
const OPEN: usize = 8;
/// How many VMs there may be while runs of many generations wait: the one in force, and those that were used last.
const FEW: usize = 5;
/// What the process may grow by between the hundredth reload and the last one.
const GROWTH_KIB: u64 = 24 * 1024;

/// Both files of one save say its number. What the poll finds between the two is refused.
fn save(charter: &Path, number: u64) {
    write(charter, "lib/number.lua", &format!("return {number}\n"));
    let team = format!(
        "local number = require('lib.number')\nassert(number == {number}, 'half of a save')\n\
         fleet.profile('p', {{ launcher = 'exec', command = {{ 'cat' }} }})\n\
         fleet.role('w-a', {{ profiles = {{ 'p' }}, max_busy = {} }})\n\
         fleet.route('only', function() return {{ role = 'w-a', because = number .. ' {number}' }} end)\n\
         fleet.recipe('waits', {{}}, function(job, run)\n  run:sleep('1s')\n  return {{ number, {number} }}\nend)\n",
        number % 7 + 1
    );
    write(charter, "team.lua", &team);
}

/// Returns how many threads of charters live in this process.
fn vms() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.flatten().map(name).filter(|name| name.starts_with("charter-")).count()
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_reloads_under_load_lose_nothing_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    fs::create_dir_all(charter.join("lib")).unwrap();
    fs::create_dir_all(&state).unwrap();
    save(&charter, 1);
    let mut house = House::open(charter.clone(), state, FakeJournal::default(), None).await;

    let (newest, enough) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicBool::new(false)));
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (handle, newest, enough) = (house.charter.clone(), Arc::clone(&newest), Arc::clone(&enough));
        asking.spawn(async move {
            let mut asked = 0_u64;
            while !enough.load(Ordering::Relaxed) {
                let before = newest.load(Ordering::SeqCst);
                let routed = handle.route(task(None), free(&["w-a"])).await.expect("a rubric answers");
                let (one, other) = routed.because.split_once(' ').expect("two numbers");
                assert_eq!(one, other, "half of one save and half of another");
                assert!(one.parse::<u64>().unwrap() >= before, "an old generation answered: {one} after {before}");
                asked += 1;
            }
            asked
        });
    }

    let (mut open, mut began, mut ended) = (Vec::new(), HashMap::new(), 0);
    let mut resident = 0;
    for number in 2..=RELOADS + 1 {
        save(&charter, number);
        house.charter.reload().await.expect("every save is good");
        newest.store(number, Ordering::SeqCst);
        let team = house.charter.team();
        assert_eq!(u64::from(team.roles[&"w-a".into()].max_busy), number % 7 + 1);
        if number % EVERY == 0 {
            house.start(number, "waits", json!({}));
            began.insert(number, number);
            open.push(house.input().await);
        }
        if open.len() > OPEN {
            house.answer(&open.remove(0), json!(null));
            ended += end_of_one(&mut house, &began).await;
        }
        if number == 100 {
            resident = resident_kib();
        }
    }
    while let Some(step) = open.pop() {
        house.answer(&step, json!(null));
        ended += end_of_one(&mut house, &began).await;
    }
    enough.store(true, Ordering::Relaxed);
    let asked: u64 = asking.join_all().await.into_iter().sum();
    assert!(asked > RELOADS, "only {asked} were asked");
    assert_eq!(ended, RELOADS / EVERY, "every run ended");
    assert_eq!(house.charter.status().rubric_errors, 0);

    crate::support::until("the old VMs are gone", || (vms() == 1).then_some(()));
    let grown = resident_kib().saturating_sub(resident);
    assert!(grown < GROWTH_KIB, "{grown} KiB more than after a hundred reloads");
}

/// Waits for the end of a run; it must be as the files have it with which it began.
async fn end_of_one(house: &mut House, began: &HashMap<u64, u64>) -> u64 {
    loop {
        if let Upward::Run(RunInput::Ended { run, end }) = house.next().await {
            let number = began[&run.0];
            assert_eq!((end.outcome, end.value), (RunOutcome::Done, json!([number, number])), "{:?}", end.why);
            return 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_generations_with_a_run_that_waits_stay_a_few_vms_and_each_run_ends_rightly() {
    let dir = tempfile::tempdir().unwrap();
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    fs::create_dir_all(charter.join("lib")).unwrap();
    fs::create_dir_all(&state).unwrap();
    save(&charter, 1);
    let mut house = House::open(charter.clone(), state.clone(), FakeJournal::default(), None).await;
    let (mut open, mut began, mut runs) = (Vec::new(), HashMap::new(), Vec::new());
    for number in 2..=101 {
        save(&charter, number);
        house.charter.reload().await.expect("every save is good");
        runs.push(house.start(number, "waits", json!({})));
        began.insert(number, number);
        open.push(house.input().await);
    }
    crate::support::until("the old VMs end", || (vms() <= FEW).then_some(()));

    // Nor does a restart hold them all.
    let (journal, last) = (house.journal.clone(), house.charter.status().generation);
    drop(house);
    let mut house = House::open(charter, state, journal, Some(last)).await;
    runs.iter().for_each(|run| house.resume(run));
    for _ in &runs {
        let _again = house.input().await;
    }
    crate::support::until("the old VMs end again", || (vms() <= FEW).then_some(()));
    for step in open {
        house.answer(&step, json!(null));
        end_of_one(&mut house, &began).await;
    }
    crate::support::until("all old VMs are gone", || (vms() == 1).then_some(()));
}
