//! Telling the leader in its own pane: once where it is idle, and not where it is not.
//! When and how often it is tried is the fleet's matter and tested there.

use fleetd::engine::panes::{PaneHost, PaneStart, Slot};
use fleetd::fleet::input::{Nudged, Sighting, WorkEffect};
use fleetd::fleet::worker::Process;
use fleetd::process::ProcessId;

use super::house::{House, Life, agent, until};

/// Starts a leader in a pane of its own, below a shell as people have it, and returns its own process.
async fn leader(house: &House, flags: &str) -> (Process, Process) {
    let submitted = house.file("submitted");
    let script = format!("{} --submitted {submitted} {flags}; sleep 600", agent());
    let place = house.place.path().display().to_string();
    let start = PaneStart {
        slot: Slot { role: "leader".into(), worker: "leader".into() },
        argv: vec!["bash".into(), "-mc".into(), script.into()],
        env: [("PLACE".into(), place.into()), ("PATH".into(), std::env::var_os("PATH").unwrap_or_default())].into(),
        cwd: house.work(),
    };
    let shell = house.host.start(start).await.expect("it starts").root;
    let mut found = None;
    until("the leader", || {
        found = fleetd::process::descendants(shell.pid.unsigned_abs()).first().copied();
        found.is_some() && house.host.shows(shell).contains("> ") | house.host.shows(shell).contains("1. Yes")
    })
    .await;
    (Process::from(found.expect("it was found")), shell)
}

async fn tell(life: &mut Life, leader: Process, waiting: usize) -> Nudged {
    life.order(WorkEffect::Nudge(leader, waiting));
    match life.next().await {
        Sighting::Nudged { how, leader: told } if told == leader => how,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_leader_is_told_in_one_line() {
    let house = House::new();
    let mut life = house.live();
    let (leader, _) = leader(&house, "").await;
    assert_eq!(tell(&mut life, leader, 3).await, Nudged::Typed);
    until("the line", || house.submitted() == ["[fleet] 3 things wait for you: call fleet_poll"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_ours_that_was_left_in_the_composer_is_entered_and_no_other_is_typed() {
    let house = House::new();
    let mut life = house.live();
    let (leader, shell) = leader(&house, "").await;
    let line = "[fleet] 1 thing waits for you: call fleet_poll";
    house.host.person_types(shell, line);
    until("it stands there", || house.host.shows(shell).contains(line)).await;
    assert_eq!(tell(&mut life, leader, 2).await, Nudged::Typed);
    until("the line", || house.submitted() == [line]).await;
    assert_eq!(house.pastes(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_at_work_in_a_dialog_or_with_a_draft_is_not() {
    let house = House::new();
    let mut life = house.live();
    let (leader, shell) = leader(&house, "--hang --dialog-on-paste Why").await;
    house.host.person_types(shell, "my words");
    until("the draft", || house.host.shows(shell).contains("my words")).await;
    let how = tell(&mut life, leader, 1).await;
    assert!(matches!(&how, Nudged::NotNow(why) if why.contains("draft")), "{how:?}");
    house.host.person_types(shell, "\r");
    until("it works", || house.host.shows(shell).contains("esc to interrupt")).await;
    let how = tell(&mut life, leader, 1).await;
    assert!(matches!(&how, Nudged::NotNow(why) if why.contains("works")), "{how:?}");
    house.host.person_types(shell, "\u{1b}");
    until("it is idle", || !house.host.shows(shell).contains("esc to interrupt")).await;
    house.host.person_types(shell, "\u{1b}[200~x\u{1b}[201~");
    until("the dialog", || house.host.shows(shell).contains("1. Yes")).await;
    let how = tell(&mut life, leader, 1).await;
    assert!(matches!(&how, Nudged::NotNow(why) if why.contains("dialog")), "{how:?}");
    assert_eq!(house.pastes(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_moved_is_found_and_one_that_is_gone_or_behind_or_has_no_pane_is_left_alone() {
    let house = House::new();
    let mut life = house.live();
    let (leader, shell) = leader(&house, "").await;
    house.host.moves();
    assert_eq!(tell(&mut life, leader, 1).await, Nudged::Typed);
    until("the line", || house.submitted().len() == 1).await;
    ProcessId::from(leader).signal(rustix::process::Signal::STOP).expect("it is ours");
    until("the shell is back", || !fleetd::process::is_in_foreground(leader.into())).await;
    let how = tell(&mut life, leader, 1).await;
    assert!(matches!(&how, Nudged::NotNow(_)), "its shell would run the line: {how:?}");
    ProcessId::from(leader).signal(rustix::process::Signal::KILL).expect("it is ours");
    until("it is gone", || !ProcessId::from(leader).is_alive()).await;
    let how = tell(&mut life, leader, 1).await;
    assert!(matches!(&how, Nudged::NoPane(_)), "{how:?}");
    let me = ProcessId::current().expect("/proc is there").into();
    let how = tell(&mut life, me, 1).await;
    assert!(matches!(&how, Nudged::NoPane(_)), "{how:?}");
    assert_eq!(house.pastes(), 1);
    assert!(ProcessId::from(shell).is_alive());
}
