//! What goes wrong with herdr itself:
//! it is away, too old, slow, replaced in mid-use, or tells nothing.

use std::time::{Duration, Instant};

use fleetd::engine::panes::{Key, PaneError, PaneSeen};
use serde_json::json;

use super::rig::{A_WHILE, HerdrRig, Sim, sees};
use crate::panes::contract::{Rig, Stage, is_gone, until};

type SimRig = HerdrRig<Sim>;

async fn stage(variables: &[(&str, &str)]) -> Stage<SimRig> {
    Stage::on(SimRig::with(variables, |options| options.look_every = Duration::from_millis(200)).await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herdr_that_is_away_at_first_is_found_when_it_comes() {
    let mut stage = Stage::on(SimRig::without_server(&[], |_| {}).unwrap());
    let mut seen = stage.host().seen();
    let was_tried = |down: &String| down.contains("cannot be reached");
    let down = until("it is away", async || stage.host().down().filter(was_tried)).await;
    assert!(down.contains(&stage.rig.socket().display().to_string()), "{down}");
    let start = stage.host().start(stage.script("1", "exec cat")).await;
    assert!(matches!(start, Err(PaneError::Unavailable(_))), "{start:?}");
    assert!(stage.rig.client().answers(A_WHILE).await.is_err());
    stage.rig.launch().await;
    sees(&mut seen, "it is there", |sighting| *sighting == PaneSeen::Up).await;
    assert_eq!(stage.host().down(), None);
    stage.rig.client().answers(Duration::from_secs(20)).await.unwrap();
    stage.sh("1", "exec cat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_too_old_is_refused_with_the_reason() {
    let stage = stage(&[("HERDR_SIM_VERSION", "0.7.0")]).await;
    let start = stage.host().start(stage.script("1", "exec cat")).await;
    let Err(PaneError::Unavailable(why)) = start else { panic!("{start:?}") };
    assert!(why.contains("0.7.0") && why.contains("protocol 18") && why.contains("needed is 19"), "{why}");
    until("the reason stands", async || stage.host().down().filter(|down| down.contains("protocol 18"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bare_shells_under_the_old_ids_get_nothing_and_are_left_alone() {
    let mut stage = stage(&[("HERDR_SIM_SAVE_MS", "0")]).await;
    let old = stage.listener("1", "").await;
    let saved = || std::fs::read_to_string(stage.rig.session_file()).unwrap_or_default();
    until("it is saved", async || saved().contains("w-1").then_some(())).await;
    stage.rig.kill().await;
    stage.rig.restart().await;
    let shell = until("the shell is listed", async || stage.host().panes().await.ok()?.into_iter().next()).await;
    assert_eq!((&shell.pane.id, shell.label.as_deref()), (&old.id, Some("w-1")), "the same id and the same label");
    assert_ne!(shell.pane.root, old.root);
    for _ in 0..3 {
        assert!(is_gone(&stage.host().paste(old.clone(), "touch typed-by-a-shell\n".into()).await));
        assert!(is_gone(&stage.host().press(old.clone(), vec![Key::Enter]).await));
        assert!(is_gone(&stage.host().screen(old.clone()).await));
    }
    stage.host().close(old).await.unwrap();
    // What was sent before would have been obeyed by now.
    let text = format!("echo alive > {}\n", stage.file("alive").display());
    stage.host().paste(shell.pane.clone(), text.as_str().into()).await.unwrap();
    stage.gets("alive", b"alive\n").await;
    assert!(!stage.file("typed-by-a-shell").exists());
    stage.host().close(shell.pane).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_in_mid_use_loses_and_doubles_nothing() {
    let stage = stage(&[]).await;
    let pane = stage.listener("1", "").await;
    let mut wanted = String::new();
    let mut begun = false;
    for n in 0..40 {
        if n == 10 {
            let socket = stage.rig.socket();
            let request = json!({"id": "h", "method": "server.live_handoff", "params": {}});
            begun = true;
            tokio::task::spawn_blocking(move || {
                use std::io::Write;
                let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
                writeln!(stream, "{request}").unwrap();
                std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
            });
        }
        let text = format!("text {n}.");
        let sent = until("it is typed", async || {
            match stage.host().paste(pane.clone(), text.as_str().into()).await {
                // Nothing was done, so it may be tried again.
                Err(PaneError::Unavailable(_)) => None,
                other => Some(other),
            }
        })
        .await;
        sent.unwrap();
        wanted.push_str(&text);
    }
    assert!(begun);
    stage.gets("typed", wanted.as_bytes()).await;
    assert_eq!(stage.host().panes().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stall_is_waited_out_and_a_lost_answer_is_not_known() {
    let stage = stage(&[("HERDR_SIM_SLEEPS", "30")]).await;
    let pane = stage.listener("1", "").await;
    stage.rig.fault(json!({"stall_ms": 2_000}));
    stage.host().paste(pane.clone(), "late ".into()).await.unwrap();
    // The look before it is answered; what is typed is done and not answered.
    stage.rig.fault(json!({"unanswered_typing": 1}));
    let paste = stage.host().paste(pane.clone(), "once".into()).await;
    assert!(matches!(paste, Err(PaneError::Unknown(_))), "{paste:?}");
    stage.gets("typed", b"late once").await;
    stage.rig.fault(json!({"unanswered": 1_000}));
    let screen = stage.host().screen(pane.clone()).await;
    assert!(matches!(screen, Err(PaneError::Unavailable(_))), "looking does nothing, so there is nothing to know");
    let paste = stage.host().paste(pane.clone(), "never".into()).await;
    assert!(matches!(paste, Err(PaneError::Unavailable(_))), "{paste:?}");
    stage.rig.fault(json!({"unanswered": 0}));
    stage.host().paste(pane, ".".into()).await.unwrap();
    stage.gets("typed", b"late once.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_is_given_up_in_time() {
    let rig = SimRig::with(&[], |options| options.answer_within = Duration::from_millis(700)).await.unwrap();
    let stage = Stage::on(rig);
    let pane = stage.sh("1", "exec cat").await;
    stage.rig.fault(json!({"stall_ms": 3_000}));
    let began = Instant::now();
    let screen = stage.host().screen(pane.clone()).await;
    assert!(matches!(screen, Err(PaneError::Unavailable(_))), "{screen:?}");
    assert!(began.elapsed() < Duration::from_millis(2_500), "{:?}", began.elapsed());
    until("it goes on", async || stage.host().screen(pane.clone()).await.ok()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_events_and_dropped_streams_only_cost_time() {
    let stage = stage(&[]).await;
    let mut seen = stage.host().seen();
    for (n, fault) in
        [json!({"lose_events": 1_000}), json!({"lose_events": 0, "drop_streams": true})].iter().enumerate()
    {
        let pane = stage.sh(&n.to_string(), "read line").await;
        stage.rig.fault(fault.clone());
        stage.host().press(pane.clone(), vec![Key::Enter]).await.unwrap();
        let gone = PaneSeen::Gone(pane.id.clone());
        sees(&mut seen, "the end", |sighting| *sighting == gone).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_herdr_would_drop_is_refused() {
    let stage = stage(&[]).await;
    let pane = stage.listener("1", "").await;
    let long = "line\n".repeat(200_000);
    let paste = stage.host().paste(pane.clone(), long.as_str().into()).await;
    let Err(PaneError::Refused(why)) = paste else { panic!("{paste:?}") };
    assert!(why.contains("1048576"), "{why}");
    stage.host().paste(pane, "short".into()).await.unwrap();
    stage.gets("typed", b"short").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_fleet_asks_for_next_to_nothing() {
    let rig = SimRig::with(&[], |_| {}).await.unwrap();
    let stage = Stage::on(rig);
    let pane = stage.sh("1", "exec cat").await;
    stage.shows(&pane, "").await;
    until("the look is over", async || (stage.rig.requests_in(A_WHILE).await <= 1).then_some(())).await;
    assert!(stage.rig.requests_in(Duration::from_secs(2)).await <= 2, "one look in ten seconds, and this question");
}
