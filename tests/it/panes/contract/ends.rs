//! The processes in a pane, and every way in which they and it end.
//! That a host itself ends is in `survives`.

use fleetd::engine::panes::Pane;
use fleetd::fleet::worker::Process;
use fleetd::process::ProcessId;
use rustix::process::Signal;

use super::{Rig, Stage, is_gone, until};

pub async fn processes_of_every_kind_are_found<R: Rig>(stage: Stage<R>) {
    let script = "sleep 601 & setsid sleep 602 & (sleep 603; :) & sh -c 'setsid sleep 604 & wait' & echo up; cat; :";
    let pane = stage.sh("1", script).await;
    stage.shows(&pane, "up").await;
    let found = until("all are found", async || {
        let found = stage.host().processes(pane.clone()).await.unwrap();
        let said: Vec<String> = found.iter().map(|process| words(*process)).collect();
        let wanted = ["sleep 601", "sleep 602", "sleep 603", "sleep 604", "cat"];
        wanted.iter().all(|wanted| said.iter().any(|said| said == wanted)).then_some(found)
    })
    .await;
    assert!(found.contains(&pane.root), "the root is one of them");
    let ours = stage.alive();
    assert!(found.iter().all(|process| ours.contains(&ProcessId::from(*process))), "no stranger is");
    let mut once = found.clone();
    once.sort_by_key(|process| process.pid);
    once.dedup();
    assert_eq!(once.len(), found.len(), "each is named once");
}

pub async fn an_exit_is_told_or_found<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "echo up; read line; exit 3").await;
    let other = stage.sh("2", "echo up; exec cat").await;
    stage.shows(&pane, "up").await;
    stage.shows(&other, "up").await;
    stage.host().paste(pane.clone(), "go\n".into()).await.unwrap();
    stage.is_gone(&pane).await;
    assert!(is_gone(&stage.host().paste(pane.clone(), "x".into()).await));
    assert!(is_gone(&stage.host().processes(pane).await));
    stage.shows(&other, "up").await;
}

pub async fn a_killed_root_is_told_or_found<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "exec cat").await;
    ProcessId::from(pane.root).signal(Signal::KILL).unwrap();
    stage.is_gone(&pane).await;
    assert!(is_gone(&stage.host().paste(pane, "x".into()).await));
}

pub async fn a_close_ends_everything_in_the_pane<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "sleep 600 & sh -c 'sleep 600 & wait' & echo up; exec cat").await;
    stage.shows(&pane, "up").await;
    stage.host().close(pane.clone()).await.unwrap();
    stage.is_gone(&pane).await;
    stage.nobody_is_left().await;
    assert!(is_gone(&stage.host().paste(pane.clone(), "x".into()).await));
    assert!(is_gone(&stage.host().screen(pane).await));
}

pub async fn whoever_ignores_the_hangup_is_killed<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "trap '' HUP TERM INT; echo up; while :; do sleep 600; done").await;
    stage.shows(&pane, "up").await;
    stage.host().close(pane.clone()).await.unwrap();
    let root = ProcessId::from(pane.root);
    until("the root is dead", async || (!root.is_alive()).then_some(())).await;
    stage.is_gone(&pane).await;
}

pub async fn closing_twice_is_fine<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "exec cat").await;
    let (one, two) = (stage.host().close(pane.clone()), stage.host().close(pane.clone()));
    let (one, two) = tokio::join!(one, two);
    one.unwrap();
    two.unwrap();
    stage.is_gone(&pane).await;
    stage.host().close(pane).await.unwrap();

    let dead = stage.sh("2", "exit 0").await;
    stage.is_gone(&dead).await;
    stage.host().close(dead).await.unwrap();
    stage.nobody_is_left().await;
}

pub async fn closing_leaves_another_in_the_same_place_alone<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    let Process { pid, start } = pane.root;
    let before = Pane { root: Process { pid, start: start.saturating_sub(1) }, ..pane.clone() };
    stage.host().close(before).await.unwrap();
    stage.host().paste(pane.clone(), "still here".into()).await.unwrap();
    stage.gets("typed", b"still here").await;

    // The same worker once more, after its pane was closed: closing the old one again is not its end.
    stage.host().close(pane.clone()).await.unwrap();
    let next = stage.sh("1", "stty raw -echo; printf ready; exec cat > next").await;
    stage.shows(&next, "ready").await;
    stage.host().close(pane).await.unwrap();
    stage.host().paste(next, "here too".into()).await.unwrap();
    stage.gets("next", b"here too").await;
}

/// Returns the command line of a process.
fn words(process: Process) -> String {
    let words = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ")
}
