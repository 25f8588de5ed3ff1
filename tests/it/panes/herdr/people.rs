//! What people do with the fleet's tabs, since herdr is theirs:
//! they move, rename, zoom, close and open beside it.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use fleetd::engine::panes::{PaneSeen, PaneStart};
use serde_json::json;

use super::rig::{HerdrRig, Sim, sees};
use crate::panes::contract::{Stage, is_gone, until};

async fn stage() -> Stage<HerdrRig<Sim>> {
    let rig = HerdrRig::with(&[], |options| options.look_every = Duration::from_millis(200)).await.unwrap();
    Stage::on(rig)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_renamed_and_zoomed_pane_is_the_same_pane() {
    let stage = stage().await;
    let pane = stage.listener("1", "").await;
    let other = stage.sh("2", "exec cat").await;
    stage.rig.ask("pane.move", json!({"pane_id": pane.id, "destination": {"type": "new_workspace", "label": "mine"}}));
    stage.host().paste(pane.clone(), "moved ".into()).await.unwrap();
    stage.rig.ask("pane.zoom", json!({"pane_id": pane.id}));
    stage.rig.ask("pane.rename", json!({"pane_id": pane.id, "label": "the good one"}));
    stage.host().paste(pane.clone(), "zoomed ".into()).await.unwrap();
    let listed = stage.host().panes().await.unwrap();
    let found = listed.iter().find(|listed| listed.pane.root == pane.root).expect("it is still the fleet's");
    assert_ne!(found.pane.id, pane.id, "another workspace, another id");
    assert_eq!(listed.len(), 2);
    // After a handoff the old id means nothing, and the process is still found.
    stage.rig.ask("sim.fault", json!({"forget_aliases": true}));
    stage.host().paste(pane.clone(), "found ".into()).await.unwrap();
    stage.host().paste(found.pane.clone(), "by both".into()).await.unwrap();
    stage.gets("typed", b"moved zoomed found by both").await;
    stage.host().close(pane.clone()).await.unwrap();
    stage.is_gone(&pane).await;
    stage.host().paste(other, "x".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_label_comes_back_and_a_given_one_stays() {
    let stage = stage().await;
    let one = stage.sh("1", "exec cat").await;
    let two = stage.sh("2", "exec cat").await;
    stage.rig.ask("pane.move", json!({"pane_id": one.id, "destination": {"type": "new_tab"}}));
    until("the label is back", async || stage.rig.labels().contains(&"w-1".to_owned()).then_some(())).await;
    let tab = stage.rig.ask("pane.get", json!({"pane_id": two.id}))["pane"]["tab_id"].clone();
    stage.rig.ask("tab.rename", json!({"tab_id": tab, "label": "my favourite"}));
    let listed = stage.host().panes().await.unwrap();
    let label = listed.iter().find(|listed| listed.pane == two).and_then(|listed| listed.label.clone());
    assert_eq!(label.as_deref(), Some("my favourite"));
    stage.rig.ask("pane.move", json!({"pane_id": one.id, "destination": {"type": "new_tab"}}));
    until("it was looked at again", async || stage.rig.labels().contains(&"w-1".to_owned()).then_some(())).await;
    assert!(stage.rig.labels().contains(&"my favourite".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tabs_stand_by_role_and_number_and_the_rest_is_peoples() {
    let stage = stage().await;
    for worker in ["10", "2"] {
        stage.sh(worker, "exec cat").await;
    }
    assert_eq!(stage.rig.labels(), ["w-2", "w-10"], "and no shell that nobody asked for");
    stage.rig.ask("tab.create", json!({"label": "notes"}));
    stage.sh("1", "exec cat").await;
    stage.sh("11", "exec cat").await;
    assert_eq!(stage.rig.labels(), ["w-1", "w-2", "w-10", "notes", "w-11"]);
    // A person's own shell in the fleet's workspace is not the fleet's.
    assert_eq!(stage.host().panes().await.unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_close_is_told_by_whatever_they_closed() {
    let stage = stage().await;
    for (n, what) in ["pane", "tab", "workspace"].into_iter().enumerate() {
        let pane = stage.sh(&n.to_string(), "exec cat").await;
        let mut seen = stage.host().seen();
        let told = stage.rig.ask("pane.get", json!({"pane_id": pane.id}))["pane"].clone();
        let id = format!("{what}_id");
        stage.rig.ask(&format!("{what}.close"), json!({ id.clone(): told[id] }));
        let gone = PaneSeen::Gone(pane.id.clone());
        sees(&mut seen, what, |sighting| *sighting == gone).await;
        assert!(is_gone(&stage.host().paste(pane, "x".into()).await));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_never_turns_the_wheel_and_what_changes_is_told_while_somebody_looks() {
    let stage = stage().await;
    let agent = std::path::Path::new(env!("CARGO_BIN_EXE_fleetd")).with_file_name("test-agent");
    let log = stage.file("log").into_os_string();
    let argv: Vec<OsString> = vec![agent.into(), "--mouse".into(), "--work".into(), "1".into(), "--log".into(), log];
    let pane = stage.host().start(PaneStart { argv, ..stage.script("1", "") }).await.unwrap();
    stage.shows(&pane, ">").await;
    let mut seen = stage.host().seen();
    stage.host().paste(pane.clone(), Arc::from("hello")).await.unwrap();
    let changed = PaneSeen::Changed(pane.id.clone());
    sees(&mut seen, "a change", |sighting| *sighting == changed).await;
    stage.host().press(pane.clone(), vec![fleetd::engine::panes::Key::Enter]).await.unwrap();
    stage.shows(&pane, "» hello").await;
    stage.gets("log", b"\x1b[200~hello\x1b[201~\r").await;
}
