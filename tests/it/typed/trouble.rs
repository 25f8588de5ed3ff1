//! What goes wrong around a session: programs that do not come up, die or do not want to; hosts that go away or move
//! things. Each is told with its reason, and nothing is left behind.

use std::time::{Duration, Instant};

use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use fleetd::process::ProcessId;
use rustix::process::Signal;

use super::house::{House, until};

async fn not_up(house: &House, worker: fleetd::fleet::worker::Worker) -> String {
    let mut life = house.live();
    life.order(WorkEffect::Start(std::sync::Arc::new(worker)));
    loop {
        match life.next().await {
            Sighting::NotUp { why, .. } => return why,
            Sighting::Began { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_come_up_says_why_with_its_screen_and_leaves_nothing() {
    let house = House::new().typing(|typing| typing.ready_timeout = Span::seconds(6));
    let why = not_up(&house, (*house.worker(&["--dialog", "Do you trust this folder?"])).clone()).await;
    assert!(why.starts_with("not ready within 6s: a dialog is open: ") && why.contains("trust this folder?"), "{why}");
    house.nothing_is_left();

    let why = not_up(&house, house.worker_of(vec!["no-such-program".into()])).await;
    assert!(why.contains("no directory of PATH has it"), "{why}");
    house.nothing_is_left();

    let why = not_up(&house, house.worker_of(vec!["sh".into(), "-c".into(), "exit 3".into()])).await;
    assert!(why.contains("exit code 3"), "{why}");
    house.nothing_is_left();

    let mut worker = (*house.worker(&[])).clone();
    let mut profile = (*worker.profile).clone();
    profile.cwd = Some("/no/such/place".into());
    worker.profile = profile.into();
    let why = not_up(&house, worker).await;
    assert!(why.contains("/no/such/place"), "{why}");
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_anywhere_is_gone_and_nothing_is_typed_into_what_is_left() {
    for moment in ["paste", "enter", "working"] {
        let house = House::new();
        let mut life = house.live();
        let worker = house.worker(&["--die", moment]);
        life.starts(&worker).await;
        life.hand(&worker, &house.turn(1, "work", 1));
        let why = loop {
            match life.next().await {
                Sighting::Gone { why, .. } => break why,
                Sighting::Taken { .. } if moment != "paste" => {}
                Sighting::Unreachable { .. } => {}
                other => panic!("{moment}: {other:?}"),
            }
        };
        assert!(why.contains("exit code 7"), "{moment}: {why}");
        house.nothing_is_left();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_everything_also_what_hides_and_does_not_listen() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--deaf", "--children"]);
    life.starts(&worker).await;
    until("its children", || house.processes().len() >= 4).await;
    let began = Instant::now();
    life.stops(&worker).await;
    // The bound is two seconds on a machine that has time.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pane_exec_that_was_killed_takes_its_tree_along() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--deaf", "--children"]);
    let root = life.starts(&worker).await;
    until("its children", || house.processes().len() >= 4).await;
    ProcessId::from(root).signal(Signal::KILL).expect("it is ours");
    let why = life.gone().await;
    assert_eq!(why, "its pane-exec was killed");
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cannot_be_reached_makes_its_workers_unreachable_and_comes_back() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--work", "400"]);
    life.starts(&worker).await;
    life.hand(&worker, &house.turn(1, "work", 1));
    life.taken().await;
    house.host.set_down(Some("nobody listens at its socket"));
    let down = life.next().await;
    assert!(matches!(&down, Sighting::Unreachable { why, .. } if why.contains("nobody listens")), "{down:?}");
    house.host.set_down(None);
    let clear = life.next().await;
    assert!(matches!(clear, Sighting::Clear { .. }), "{clear:?}");
    assert_eq!(life.finished().await.outcome, Outcome::Replied);
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pane_that_a_person_moved_is_found_by_its_process() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&[]);
    life.starts(&worker).await;
    house.host.moves();
    life.hand(&worker, &house.turn(1, "work", 1));
    life.taken().await;
    life.finished().await;
    life.stops(&worker).await;
}
