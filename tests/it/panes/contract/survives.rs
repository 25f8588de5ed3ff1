//! What stays when a client or the host itself ends, and whose pane a process is in.
//! The occupants of a killed host may die or live on without a terminal; in no case does anybody get their texts.

use std::time::{Duration, Instant};

use fleetd::engine::panes::{Key, PaneError};
use fleetd::process::{ProcessId, lineage};

use super::{Rig, Stage, is_gone, until};

pub async fn another_client_finds_the_same_panes<R: Rig>(mut stage: Stage<R>) {
    let pane = stage.listener("1", r"printf '\033[?2004h';").await;
    let other = stage.sh("2", "echo two is up; exec cat").await;
    stage.shows(&other, "two is up").await;
    stage.host().paste(pane.clone(), "before".into()).await.unwrap();

    stage.rig.renew().await;
    let listed = until("the panes are found", async || {
        let listed = stage.host().panes().await.ok()?;
        (listed.len() == 2).then_some(listed)
    })
    .await;
    for (was, label) in [(&pane, "w-1"), (&other, "w-2")] {
        let found = listed.iter().find(|listed| listed.pane.root == was.root).expect("the same process");
        assert_eq!(found.label.as_deref(), Some(label));
    }
    stage.shows(&other, "two is up").await;
    // What the program asked for is not forgotten: the paste is bracketed as before.
    let found = listed.iter().find(|listed| listed.pane.root == pane.root).expect("it was found").pane.clone();
    stage.host().paste(found, "after".into()).await.unwrap();
    stage.gets("typed", b"\x1b[200~before\x1b[201~\x1b[200~after\x1b[201~").await;
}

pub async fn a_killed_host_takes_its_panes_and_its_successor_gets_no_text<R: Rig>(mut stage: Stage<R>) {
    let old = stage.listener("1", "").await;
    stage.rig.kill().await;
    stage.rig.restart().await;
    let new = until("the host starts panes again", async || {
        let start = stage.script("1", "stty raw -echo; printf ready; exec cat > new");
        match stage.host().start(start).await {
            Ok(pane) => Some(pane),
            Err(PaneError::Unavailable(_)) => None,
            Err(other) => panic!("{other}"),
        }
    })
    .await;
    stage.shows(&new, "ready").await;
    for _ in 0..3 {
        let paste = stage.host().paste(old.clone(), "touch typed\n".into()).await;
        assert!(is_gone(&paste), "{paste:?}");
        let press = stage.host().press(old.clone(), vec![Key::Char('x'), Key::Enter]).await;
        assert!(is_gone(&press), "{press:?}");
    }
    stage.is_gone(&old).await;
    stage.host().close(old).await.unwrap();
    stage.host().paste(new, "for the new one".into()).await.unwrap();
    stage.gets("new", b"for the new one").await;
    assert_eq!(stage.bytes("typed"), b"");
}

pub async fn a_host_that_is_down_says_so_in_time<R: Rig>(mut stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    stage.rig.kill().await;
    let began = Instant::now();
    let paste = stage.host().paste(pane.clone(), "text".into()).await;
    assert!(matches!(paste, Err(PaneError::Gone(_) | PaneError::Unavailable(_) | PaneError::Unknown(_))), "{paste:?}");
    let screen = stage.host().screen(pane.clone()).await;
    assert!(matches!(screen, Err(PaneError::Gone(_) | PaneError::Unavailable(_))), "{screen:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "each call has a bound of its own");
    assert_eq!(stage.bytes("typed"), b"");
}

pub async fn a_process_is_found_in_its_pane_and_a_stranger_in_none<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "sh -c 'sh -c \"echo \\$\\$ > pid; sleep 600; :\"; :'; :").await;
    let other = stage.sh("2", "exec cat").await;
    let text = until("the grandchild", async || Some(stage.bytes("pid")).filter(|text| text.ends_with(b"\n"))).await;
    let grandchild: u32 = String::from_utf8(text).unwrap().trim().parse().unwrap();
    let above = lineage(ProcessId::of(grandchild).expect("it lives"));
    let depth = above.iter().position(|process| ProcessId::from(pane.root) == *process).expect("the root is above");
    assert!(depth >= 2, "{above:?}");
    for from in 0..=depth {
        let lineage = above[from..].iter().map(|process| (*process).into()).collect();
        assert_eq!(stage.host().pane_of(lineage).await.unwrap(), Some(pane.clone()), "{from}");
    }
    let of_other = lineage(other.root.into()).into_iter().map(Into::into).collect();
    assert_eq!(stage.host().pane_of(of_other).await.unwrap(), Some(other));
    let us = lineage(ProcessId::current().unwrap()).into_iter().map(Into::into).collect();
    assert_eq!(stage.host().pane_of(us).await.unwrap(), None);
    assert_eq!(stage.host().pane_of(Vec::new()).await.unwrap(), None);
}
