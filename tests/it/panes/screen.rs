//! `fleetd screen`: what a pane shows, for people, for programs, once and again.
//! The terminal of `attach` is not needed here, so the program is run with pipes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use fleetd::engine::panes::Pane;

use super::contract::{Stage, until};
use super::embedded::{EmbeddedRig, stage};
use crate::cli::Said;
use crate::support::House;

fn command(stage: &Stage<EmbeddedRig>, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
    command.arg("screen").args(args).arg("--state").arg(stage.rig.state()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", stage.dir()).env("LANG", "C.UTF-8");
    command
}

fn screen(stage: &Stage<EmbeddedRig>, args: &[&str]) -> Said {
    Said::of(command(stage, args).output().unwrap())
}

async fn coloured(stage: &Stage<EmbeddedRig>) -> Pane {
    let print = r"for n in 1 2 3; do echo row $n; done; printf '\033[31mred\033[m and plain\n\n漢字\n'";
    let pane = stage.sh("1", &format!("stty rows 5; {print}; exec cat")).await;
    stage.shows(&pane, "漢字").await;
    pane
}

#[tokio::test]
async fn it_is_printed_plain_coloured_and_as_json() {
    let stage = stage().await;
    let pane = coloured(&stage).await;
    assert_eq!(screen(&stage, &["w-1"]).ends(0).out, "row 1\nrow 2\nrow 3\nred and plain\n\n漢字\n");
    let out = screen(&stage, &["w-1", "--ansi"]).ends(0).out;
    assert!(out.contains("\n\x1b[0;31mred\x1b[0m and plain\n"), "{out:?}");
    let json = screen(&stage, &["w-1", "--json"]).ends(0).json();
    assert_eq!(
        (&json["lines"][3], &json["columns"], &json["died"]),
        (&"red and plain".into(), &120.into(), &().into())
    );

    stage.host().close(pane).await.unwrap();
    let scrolled = stage.sh("2", "for n in $(seq 100); do echo row $n; done; exec cat").await;
    stage.shows(&scrolled, "row 100").await;
    let out = screen(&stage, &["w-2", "--history", "2"]).ends(0).out;
    assert!(out.starts_with("row 60\nrow 61\nrow 62\n") && out.ends_with("row 100\n"), "{out}");
}

#[tokio::test]
async fn the_last_screen_of_one_that_has_ended_is_shown_as_that() {
    let stage = stage().await;
    let pane = stage.sh("1", "echo goodbye; exit 4").await;
    stage.is_gone(&pane).await;
    let said = until("its last screen", async || {
        let said = screen(&stage, &["w-1"]).ends(0);
        (!said.err.is_empty()).then_some(said)
    })
    .await;
    assert_eq!(said.out, "goodbye\n");
    assert_eq!(said.err, "w-1 has ended: exit 4; this was its last screen\n");
    // A new one in its place is what is shown from then on.
    let next = stage.sh("1", "echo hello; exec cat").await;
    stage.shows(&next, "hello").await;
    assert_eq!(screen(&stage, &["w-1"]).ends(0).out, "hello\n");
}

#[tokio::test]
async fn it_is_followed_until_the_worker_ends() {
    let stage = stage().await;
    let pane = stage.sh("1", "stty -echo; echo ready; while read line; do echo $line; done; exit 5").await;
    stage.shows(&pane, "ready").await;
    let mut follows = command(&stage, &["w-1", "--follow"]);
    let mut child = follows.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.by_ref().take(2).collect::<Vec<_>>(), ["== w-1", "ready"]);
    stage.host().paste(pane.clone(), "first\n".into()).await.unwrap();
    assert_eq!(lines.by_ref().take(3).collect::<Vec<_>>(), ["== w-1", "ready", "first"]);
    stage.host().press(pane, vec![fleetd::engine::panes::Key::Ctrl('d')]).await.unwrap();
    let said = Said::of(child.wait_with_output().unwrap()).ends(0);
    assert_eq!(said.err, "w-1 has ended: exit 5\n");
}

#[tokio::test]
async fn where_there_is_none_it_says_why() {
    let stage = stage().await;
    let said = screen(&stage, &["w-1"]).ends(5);
    assert!(said.err.contains("no pane server runs for state"), "{said:?}");
    stage.sh("1", "exec cat").await;
    stage.sh("2", "exec cat").await;
    let said = screen(&stage, &["w-3"]).ends(4);
    assert!(said.err.contains("there is no worker with a pane 'w-3'"), "{said:?}");
    assert!(said.err.contains("valid: w-1, w-2"), "{said:?}");
    screen(&stage, &["w-3", "--json"]).ends(4).json();

    // A worker that the daemon knows has no pane when it is a plain command.
    let house = House::new(&[(
        "team.lua",
        "fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\nfleet.role('w-plain', { profiles = { 'p' } })\n",
    )]);
    let daemon = house.start();
    daemon.post("/message", &serde_json::json!({ "role": "w-plain", "prompt": "x" }));
    let mut command = house.fleetd(&["screen", "w-plain-1", "--state"]);
    let said = Said::of(command.arg(house.state()).output().unwrap()).ends(1);
    assert!(said.err.contains("w-plain-1 has no pane: the launcher exec"), "{said:?}");
}
