//! `fleetd attach` as a person has it: the real program in a real terminal, which a second pane server gives us. What
//! is checked is what that terminal shows, and in which state it is left.

use fleetd::engine::panes::{Key, Pane};
use fleetd::pane::talk::Talk;
use fleetd::pane::wire::{Ask, Done, Size};
use fleetd::process::{ProcessId, descendants};
use rustix::process::Signal;

use super::contract::{Rig, Stage, until};
use super::embedded::{EmbeddedRig, stage};

/// A fleet whose panes are watched, and the terminals from which that is done.
struct Scene {
    fleet: Stage<EmbeddedRig>,
    people: Stage<EmbeddedRig>,
}

impl Scene {
    async fn new() -> Scene {
        Scene { fleet: stage().await, people: stage().await }
    }

    /// Returns the terminal of somebody who attaches, and then has `cat`.
    async fn attach(&self, person: &str, worker: &str, more: &str) -> Pane {
        let (fleetd, state) = (env!("CARGO_BIN_EXE_fleetd"), self.fleet.rig.state().display());
        let script = format!(
            "stty -g > before-{person}; {fleetd} attach {worker} {more} --state {state}; echo code $?; \
             stty -g > after-{person}; exec cat"
        );
        let pane = self.people.sh(person, &script).await;
        self.people.shows(&pane, worker).await;
        pane
    }

    async fn types(&self, person: &Pane, keys: &[Key]) {
        self.people.host().press(person.clone(), keys.to_vec()).await.unwrap();
    }

    /// Shows that the terminal is as it was before.
    async fn is_restored(&self, person: &str, pane: &Pane) {
        let after = format!("after-{person}");
        until("it has ended", async || (!self.people.bytes(&after).is_empty()).then_some(())).await;
        assert_eq!(self.people.bytes(&format!("before-{person}")), self.people.bytes(&after));
        // A text reaches `cat` as it is typed, and its echo stands below what was there before the attach.
        self.people.host().paste(pane.clone(), "plain again\n".into()).await.unwrap();
        let screen = self.people.shows(pane, "plain again").await;
        assert!(!screen.lines.iter().any(|line| line.contains("leave: ctrl")), "{screen:?}");
    }

    fn sizes(&self) -> Vec<(u16, u16)> {
        let mut talk = self.fleet.rig.talk();
        let Done::Panes(panes) = talk.ask(Ask::Panes).unwrap() else { panic!("another answer") };
        panes.iter().map(|shown| (shown.size.rows, shown.size.columns)).collect()
    }

    async fn has_size(&self, rows: u16, columns: u16) {
        let wanted = (rows, columns);
        until(&format!("a pane of {wanted:?}"), async || self.sizes().contains(&wanted).then_some(())).await;
    }
}

fn leave() -> Vec<Key> {
    vec![Key::Char('d')]
}

/// Types ctrl+\, for which the port has no key.
fn prefix(stage: &Stage<EmbeddedRig>, pane: &Pane) -> Talk {
    let mut talk = stage.rig.talk();
    let size = Size { rows: 40, columns: 120 };
    talk.ask(Ask::Watch { pane: pane.clone(), size, read_only: false }).unwrap();
    talk.ask(Ask::Type(fleetd::pane::wire::Bytes(vec![0x1c]))).unwrap();
    talk
}

#[tokio::test]
async fn one_watches_types_and_leaves() {
    let scene = Scene::new().await;
    let fleet = &scene.fleet;
    let worker = fleet.sh("1", "stty -echo; echo ready; while read line; do echo \"got $line\"; done").await;
    fleet.shows(&worker, "ready").await;
    let person = scene.attach("p", "w-1", "").await;
    let screen = scene.people.shows(&person, "leave: ctrl+\\ then d").await;
    assert!(screen.lines[39].starts_with(" w-1"), "the last line says how to leave: {screen:?}");
    scene.people.shows(&person, "ready").await;
    scene.has_size(39, 120).await;

    scene.types(&person, &[Key::Char('h'), Key::Char('i'), Key::Enter]).await;
    let screen = scene.people.shows(&person, "got hi").await;
    assert_eq!(screen.lines[..2], ["ready", "got hi"]);

    drop(prefix(&scene.people, &person));
    scene.types(&person, &leave()).await;
    scene.people.shows(&person, "left w-1, which goes on").await;
    scene.people.shows(&person, "code 0").await;
    scene.is_restored("p", &person).await;
    scene.has_size(40, 120).await;
    fleet.host().paste(worker.clone(), "after\n".into()).await.unwrap();
    fleet.shows(&worker, "got after").await;
}

#[tokio::test]
async fn the_end_of_the_worker_ends_it() {
    let scene = Scene::new().await;
    let worker = scene.fleet.sh("1", r"printf '\033[?2004h\033[?1002h\033[?1hready'; read line; exit 3").await;
    scene.fleet.shows(&worker, "ready").await;
    let person = scene.attach("p", "w-1", "").await;
    scene.people.shows(&person, "ready").await;
    scene.types(&person, &[Key::Enter]).await;
    scene.people.shows(&person, "w-1 has ended: exit 3").await;
    scene.is_restored("p", &person).await;
}

#[tokio::test]
async fn the_death_of_the_server_leaves_the_terminal_as_it_was() {
    let mut scene = Scene::new().await;
    let worker = scene.fleet.sh("1", r"printf '\033[?1049h\033[?25l\033[?1hready'; stty raw; exec cat").await;
    scene.fleet.shows(&worker, "ready").await;
    let person = scene.attach("p", "w-1", "").await;
    scene.people.shows(&person, "ready").await;
    scene.fleet.rig.kill().await;
    scene.people.shows(&person, "the pane server is gone").await;
    scene.people.shows(&person, "code 1").await;
    scene.is_restored("p", &person).await;
}

#[tokio::test]
async fn a_signal_leaves_the_terminal_as_it_was() {
    let scene = Scene::new().await;
    let worker = scene.fleet.sh("1", "echo ready; exec cat").await;
    scene.fleet.shows(&worker, "ready").await;
    let person = scene.attach("p", "w-1", "").await;
    scene.people.shows(&person, "ready").await;
    let attach = descendants(ProcessId::from(person.root).pid).pop().expect("fleetd attach runs");
    attach.signal(Signal::TERM).unwrap();
    scene.people.shows(&person, "code 130").await;
    scene.is_restored("p", &person).await;
}

#[tokio::test]
async fn who_only_watches_types_nothing_and_keeps_the_size() {
    let scene = Scene::new().await;
    let worker = scene.fleet.listener("1", "").await;
    let person = scene.attach("p", "w-1", "--read-only").await;
    scene.people.shows(&person, "(only watching)").await;
    scene.people.shows(&person, "ready").await;
    scene.types(&person, &[Key::Char('x'), Key::Enter]).await;
    scene.fleet.host().paste(worker, "ours".into()).await.unwrap();
    scene.fleet.gets("typed", b"ours").await;
    assert_eq!(scene.sizes(), [(40, 120)]);
    drop(prefix(&scene.people, &person));
    scene.types(&person, &leave()).await;
    scene.is_restored("p", &person).await;
}

#[tokio::test]
async fn several_watch_at_once_and_the_last_to_act_decides_the_size() {
    let scene = Scene::new().await;
    let worker = scene.fleet.sh("1", "stty -echo; echo ready; while read line; do echo \"got $line\"; done").await;
    scene.fleet.shows(&worker, "ready").await;
    let one = scene.attach("one", "w-1", "").await;
    scene.people.shows(&one, "ready").await;
    let two = scene.attach("two", "w-1", "").await;
    scene.people.shows(&two, "ready").await;

    // The second terminal gets another size, and tells its program so.
    let mut resized = scene.people.rig.talk();
    let size = Size { rows: 20, columns: 70 };
    resized.ask(Ask::Watch { pane: two.clone(), size, read_only: false }).unwrap();
    scene.has_size(19, 70).await;
    scene.types(&one, &[Key::Char('1'), Key::Enter]).await;
    scene.people.shows(&one, "got 1").await;
    scene.people.shows(&two, "got 1").await;
    scene.has_size(39, 120).await;
    scene.types(&two, &[Key::Char('2'), Key::Enter]).await;
    scene.people.shows(&one, "got 2").await;
    scene.has_size(19, 70).await;
    let screen = scene.people.shows(&two, "leave: ctrl").await;
    assert!(screen.lines[19].contains("leave: ctrl"), "{screen:?}");

    resized.ask(Ask::Type(fleetd::pane::wire::Bytes(vec![0x1c, b'd']))).unwrap();
    scene.people.shows(&two, "left w-1").await;
    scene.has_size(39, 120).await;
}

#[tokio::test]
async fn what_cannot_be_attached_is_told() {
    let scene = Scene::new().await;
    let (fleetd, state) = (env!("CARGO_BIN_EXE_fleetd"), scene.fleet.rig.state().display().to_string());
    let says = async |worker: &str, text: &str| {
        let script = format!("{fleetd} attach {worker} --state {state}; echo code $?; exec cat");
        let person = scene.people.sh("p", &script).await;
        let screen = scene.people.shows(&person, "code ").await;
        let all = screen.lines.join(" ");
        assert!(all.contains(text), "{all}");
    };
    says("w-1", "no pane server runs").await;
    let gone = scene.fleet.sh("2", "exit 7").await;
    scene.fleet.sh("1", "exec cat").await;
    says("w-9", "there is no worker with a pane 'w-9'").await;
    says("w-9", "valid: w-1").await;
    scene.fleet.is_gone(&gone).await;
    says("w-2", "w-2 has ended: exit 7").await;

    let mut plain = std::process::Command::new(fleetd);
    let output = plain.args(["attach", "w-1", "--state", &state]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("attach needs a terminal"));
}
