//! Sessions with a worktree each: where they work, what is told of it, and what becomes of it at their end.
//! What keeps a tree and what does not is tested with the worktrees.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::life::Renewal;
use fleetd::fleet::time::Span;
use fleetd::fleet::work::WorktreeSpec;
use fleetd::fleet::worker::Worker;

use super::house::{House, until};
use crate::worktrees::rig::{commit, git, try_git, write};

/// A house whose directory for work is a repository with one commit.
fn repository(house: House) -> House {
    git(&house.work(), &["init", "-q", "-b", "main"]);
    write(&house.work().join(".gitignore"), "/out\n/.env\n");
    commit(&house.work(), "a.txt", "a\n");
    house
}

fn spec(setup: &str) -> WorktreeSpec {
    let setup = if setup.is_empty() { Vec::new() } else { vec!["sh".into(), "-c".into(), setup.into()] };
    WorktreeSpec { setup, setup_timeout: WorktreeSpec::SETUP, ..WorktreeSpec::default() }
}

fn with_tree(worker: &Worker, spec: WorktreeSpec) -> Arc<Worker> {
    let mut profile = (*worker.profile).clone();
    profile.worktree = Some(Box::new(spec));
    Arc::new(Worker { profile: profile.into(), ..worker.clone() })
}

fn tree(house: &House) -> PathBuf {
    house.place.path().canonicalize().unwrap().join("worktrees/s-1-5")
}

fn trash(house: &House) -> PathBuf {
    house.place.path().join("trash/s-1-5/tree")
}

/// Starts a worker that cannot come up, and returns why.
async fn not_up(house: &House, worker: &Arc<Worker>) -> String {
    let mut life = house.live();
    life.order(WorkEffect::Start(worker.clone()));
    match life.next().await {
        Sighting::NotUp { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_works_in_its_own_tree_and_its_work_is_told() {
    let house = repository(House::new().typing(|typing| typing.limit = 200));
    let mut life = house.live();
    write(&house.work().join(".env"), "KEY=1");
    let mut wanted = spec("cat .env > out; echo $FLEET_WORKER $PLACE >> out; pwd >> out");
    wanted.copy = vec![".env".into()];
    let worker = with_tree(&house.worker(&[]), wanted);
    let root = life.starts(&worker).await;
    let tree = tree(&house);
    let cwd = |pid: i32| fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    assert_eq!(cwd(root.pid), tree);
    let expected = format!("KEY=1s-1 {}\n{}\n", house.place.path().display(), tree.display());
    assert_eq!(fs::read_to_string(tree.join("out")).unwrap(), expected, "setup has the worker's environment");

    let base = git(&house.work(), &["rev-parse", "HEAD"]);
    commit(&tree, "b.txt", "b\n");
    write(&tree.join("a.txt"), "changed\n");
    life.hand(&worker, &house.turn(1, &"a long task\n".repeat(50), 1));
    life.taken().await;
    let work = life.finished().await.work.expect("it has a tree");
    assert_eq!((work.branch.as_deref(), work.base.as_str()), (Some("fleet/s-1-5"), base.as_str()));
    assert_eq!((work.commits, work.files_changed, work.dirty), (1, 2, true));
    assert!(tree.join(".fleet/t1.md").is_file(), "a long text is in the tree");
    assert!(!house.work().join(".fleet").exists(), "and not in the leader's checkout");

    git(&tree, &["checkout", "-q", "a.txt"]);
    git(&house.work(), &["merge", "-q", "fleet/s-1-5"]);
    life.order(WorkEffect::Stop(House::up(&worker)));
    assert_eq!(life.gone().await, "it was stopped");
    assert!(!tree.exists() && trash(&house).join("b.txt").is_file());
    assert!(
        !try_git(&house.work(), &["rev-parse", "--verify", "-q", "fleet/s-1-5"]).0,
        "its branch is merged and gone"
    );
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_with_work_outlives_its_session_and_it_is_told_why() {
    let house = repository(House::new());
    let mut life = house.live();
    let worker = with_tree(&house.worker(&["--die", "working"]), spec(""));
    life.starts(&worker).await;
    write(&tree(&house).join("new.txt"), "the only copy");
    life.hand(&worker, &house.turn(1, "work", 1));
    let why = loop {
        match life.next().await {
            Sighting::Gone { why, .. } => break why,
            Sighting::Taken { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(
        why.ends_with("; its worktree s-1-5 is kept: 1 file is not tracked (new.txt): commit, ignore or remove"),
        "{why}"
    );
    assert_eq!(fs::read_to_string(tree(&house).join("new.txt")).unwrap(), "the only copy");
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_comes_back_finds_the_tree_of_its_session() {
    let house = repository(House::new().typing(|typing| typing.limit = 200));
    let worker = with_tree(&house.worker(&[]), spec(""));
    let mut first = house.live();
    first.starts(&worker).await;
    first.dies().await;
    commit(&house.work(), "later.txt", "the base is what it was");
    let mut second = house.live();
    second.hand(&worker, &house.turn(1, &"a long task\n".repeat(50), 1));
    let began = second.next().await;
    assert!(matches!(began, Sighting::Began { .. }), "{began:?}");
    second.taken().await;
    assert_eq!(second.finished().await.work.map(|work| work.commits), Some(0));
    assert!(tree(&house).join(".fleet/t1.md").is_file());
    second.stops(&worker).await;
    assert!(!tree(&house).exists() && trash(&house).is_dir());
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_cannot_be_made_is_the_reason_why_the_worker_is_not_up() {
    let house = House::new();
    let why = not_up(&house, &with_tree(&house.worker(&[]), spec(""))).await;
    assert!(why.contains("is in no git repository"), "{why}");
    house.nothing_is_left();

    let house = repository(house);
    let mut wanted = spec("");
    wanted.base = Some("mian".into());
    let why = not_up(&house, &with_tree(&house.worker(&[]), wanted)).await;
    assert!(why.contains("there is no commit 'mian' in ") && why.contains("its branches: main"), "{why}");

    let why = not_up(&house, &with_tree(&house.worker(&[]), spec("echo no such package; exit 4"))).await;
    assert!(why.contains("it ended with exit status: 4; its last lines:\nno such package"), "{why}");
    assert!(!tree(&house).exists() && trash(&house).is_dir(), "it is put away again");

    let mut wanted = spec("echo begun; sleep 600");
    wanted.setup_timeout = Span(200);
    let why = not_up(&house, &with_tree(&house.worker(&[]), wanted)).await;
    assert!(why.contains("it did not end within 0.2 s and was killed"), "{why}");
    assert_eq!(git(&house.work(), &["branch", "--list", "fleet/*"]), "");
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_stopped_in_its_setup_is_gone_at_once() {
    let house = repository(House::new());
    let mut life = house.live();
    let worker = with_tree(&house.worker(&[]), spec("echo $$ > out; exec sleep 600"));
    life.order(WorkEffect::Start(worker.clone()));
    until("setup runs", || fs::read_to_string(tree(&house).join("out")).is_ok_and(|pid| !pid.is_empty())).await;
    life.order(WorkEffect::Stop(worker));
    let told = life.next().await;
    assert!(matches!(&told, Sighting::NotUp { why, .. } if why.contains("it was stopped")), "{told:?}");
    assert!(!tree(&house).exists());
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_in_the_setup_is_followed_by_one_that_runs_it_again() {
    let house = repository(House::new());
    let worker = with_tree(&house.worker(&[]), spec("echo run >> out; test -e ../../go || exec sleep 600"));
    let first = house.live();
    first.order(WorkEffect::Start(worker.clone()));
    until("setup runs", || fs::read_to_string(tree(&house).join("out")).is_ok_and(|text| text == "run\n")).await;
    first.dies().await;
    until("its setup is killed", || house.processes().is_empty()).await;
    write(&house.place.path().join("go"), "");
    // What a daemon that was killed leaves running is waited for.
    let mut left = std::process::Command::new("sleep").arg("600").current_dir(tree(&house)).spawn().unwrap();
    let mut second = house.live();
    second.order(WorkEffect::Start(worker.clone()));
    left.kill().unwrap();
    left.wait().unwrap();
    let began = second.next().await;
    assert!(matches!(began, Sighting::Began { .. }), "{began:?}");
    let up = second.next().await;
    assert!(matches!(up, Sighting::Up { .. }), "{up:?}");
    assert_eq!(fs::read_to_string(tree(&house).join("out")).unwrap(), "run\nrun\n");
    second.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_a_session_that_the_fleet_does_not_know_is_put_away() {
    let house = repository(House::new());
    let mut first = house.live();
    first.starts(&with_tree(&house.worker(&[]), spec(""))).await;
    first.dies().await;
    // This one is told of no worker: it looks around some seconds after its start.
    let _second = house.live();
    until("the tree is in the trash", || trash(&house).join("a.txt").is_file() && !tree(&house).exists()).await;
    until("its files are gone", || fs::read_dir(house.place.path().join("sessions")).unwrap().count() == 0).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_tree_of_an_older_store_is_not_given_to_a_new_worker() {
    let house = repository(House::new());
    let mut life = house.live();
    let worker = with_tree(&house.worker(&[]), spec(""));
    life.starts(&worker).await;
    write(&tree(&house).join("new.txt"), "old work");
    life.stops(&worker).await;
    let later = Worker { since: fleetd::fleet::time::Time(99), ..(*worker).clone() };
    let why = not_up(&house, &Arc::new(later)).await;
    assert!(why.contains("is taken by an earlier tree, on fleet/s-1-5"), "{why}");
    assert_eq!(fs::read_to_string(tree(&house).join("new.txt")).unwrap(), "old work");
    house.nothing_is_left();
}

/// The worker as it is when its session is ended for a fresh one, and that fresh one in its place.
fn renewed(worker: &Arc<Worker>) -> (Arc<Worker>, Arc<Worker>) {
    let mut ending = (*House::up(worker)).clone();
    ending.life.renewal = Some(Renewal::Ending(None));
    let mut fresh = Worker { session: worker.session + 1, ..(**worker).clone() };
    fresh.life.renewal = Some(Renewal::Fresh(None));
    fresh.life.tree = Some(worker.life.tree.unwrap_or(worker.session));
    (Arc::new(ending), Arc::new(fresh))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_session_goes_on_in_the_tree_of_the_one_before_it() {
    let house = repository(House::new());
    let mut life = house.live();
    let mut worker = with_tree(&house.worker(&[]), spec("echo once >> out"));
    life.starts(&worker).await;
    write(&tree(&house).join("half.txt"), "under way");
    for _ in 0..2 {
        let (ending, fresh) = renewed(&worker);
        life.order(WorkEffect::Stop(ending));
        assert_eq!(life.gone().await, "it was stopped", "nothing is said of its tree");
        let root = life.starts(&fresh).await;
        assert_eq!(fs::read_link(format!("/proc/{}/cwd", root.pid)).unwrap(), tree(&house));
        worker = fresh;
    }
    assert_eq!(fs::read_to_string(tree(&house).join("half.txt")).unwrap(), "under way");
    assert_eq!(fs::read_to_string(tree(&house).join("out")).unwrap(), "once\n", "it is not set up again");
    life.dies().await;
    let mut second = house.live();
    second.hand(&worker, &house.turn(1, "work", 1));
    let began = second.next().await;
    assert!(matches!(began, Sighting::Began { .. }), "{began:?}");
    second.taken().await;
    assert_eq!(second.finished().await.work.map(|work| work.dirty), Some(true), "it is told of that tree");
    fs::remove_file(tree(&house).join("half.txt")).unwrap();
    second.stops(&worker).await;
    assert!(!tree(&house).exists() && trash(&house).is_dir(), "its own end puts it away");
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_nobody_takes_over_is_put_away_after_all() {
    let house = repository(House::new());
    let mut life = house.live();
    let worker = with_tree(&house.worker(&[]), spec(""));
    life.starts(&worker).await;
    life.order(WorkEffect::Stop(renewed(&worker).0));
    life.gone().await;
    assert!(tree(&house).exists());
    life.stops(&worker).await;
    assert!(!tree(&house).exists() && trash(&house).is_dir());
    house.nothing_is_left();
}
