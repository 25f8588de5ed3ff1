//! The embedded host: the contract, and what the port leaves open but this host promises.
//! What its server withstands is in `hostile`, how it begins and ends in `server`.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fleetd::engine::panes::{Key, Pane, PaneError, PaneHost, PaneSeen, PaneStart};
use fleetd::pane::embedded::{Embedded, Options};
use fleetd::pane::talk::Talk;
use fleetd::pane::wire::{Ask, Done, LOCK, View};
use fleetd::process::ProcessId;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::contract::{Rig, Stage, contract, is_gone, until};
use crate::support::PATIENCE;

/// A pane server with its state directory, and the host that is its client.
pub struct EmbeddedRig {
    host: Arc<Embedded>,
    task: JoinHandle<()>,
    state: PathBuf,
    _dir: TempDir,
}

impl EmbeddedRig {
    /// Returns the state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns a plain client of the server.
    pub fn talk(&self) -> Talk {
        Talk::open(&self.state).unwrap()
    }

    /// Returns the server's process.
    pub fn server(&self) -> ProcessId {
        server_of(&self.state).expect("a server runs")
    }

    /// Ends the client.
    pub async fn end_client(&mut self) {
        self.task.abort();
        // One that was waited for must not be waited for again.
        if !self.task.is_finished() {
            let _ = (&mut self.task).await;
        }
    }
}

impl Rig for EmbeddedRig {
    const ADDS: &'static [&'static str] = &[];

    async fn start() -> Option<EmbeddedRig> {
        let dir = TempDir::new().unwrap();
        // Longer than the path of a socket may be.
        let state = dir.path().join("a".repeat(60)).join("b".repeat(60));
        let (host, task) = client(&state);
        Some(EmbeddedRig { host, task, state, _dir: dir })
    }

    fn host(&self) -> Arc<dyn PaneHost> {
        self.host.clone()
    }

    async fn renew(&mut self) {
        self.end_client().await;
        (self.host, self.task) = client(&self.state);
    }

    async fn kill(&mut self) {
        let server = self.server();
        server.signal(Signal::KILL).unwrap();
        until("the server is dead", async || (!server.is_alive()).then_some(())).await;
    }

    async fn restart(&mut self) {
        // The next start begins one.
    }
}

impl Drop for EmbeddedRig {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(server) = server_of(&self.state) {
            let _ = server.signal(Signal::KILL);
        }
    }
}

fn client(state: &Path) -> (Arc<Embedded>, JoinHandle<()>) {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_fleetd"));
    let options = Options { program, rest: Duration::from_millis(300), ..Options::new(state) };
    let (host, task) = Embedded::new(options);
    (Arc::new(host), tokio::spawn(task))
}

/// Returns the living process that wrote its name into the lock.
fn server_of(state: &Path) -> Option<ProcessId> {
    let text = std::fs::read_to_string(state.join(LOCK)).ok()?;
    let holder: serde_json::Value = serde_json::from_str(&text).ok()?;
    let pid = u32::try_from(holder["pid"].as_u64()?).ok()?;
    let server = ProcessId { pid, start_time: holder["start"].as_u64()? };
    server.is_alive().then_some(server)
}

contract!(EmbeddedRig);

/// Sets a stage with the embedded host.
pub async fn stage() -> Stage<EmbeddedRig> {
    Stage::set().await.expect("it is in this program")
}

/// Asks the server what a pane shows.
pub fn view(talk: &mut Talk, pane: &Pane, history: usize) -> View {
    let Done::Screen(view) = talk.ask(Ask::Screen { pane: pane.clone(), colours: false, history }).unwrap() else {
        panic!("another answer")
    };
    *view
}

/// Waits until something was seen.
async fn sees(seen: &mut tokio::sync::broadcast::Receiver<PaneSeen>, wanted: impl Fn(&PaneSeen) -> bool) {
    let found = async { while !wanted(&seen.recv().await.unwrap()) {} };
    tokio::time::timeout(PATIENCE, found).await.expect("it was never told");
}

#[tokio::test]
async fn a_terminal_is_what_it_says_it_is() {
    let stage = stage().await;
    let pane = stage.sh("1", "echo $TERM $COLORTERM; stty size; tty -s && echo a tty; exec cat").await;
    let screen = stage.shows(&pane, "a tty").await;
    assert_eq!(screen.lines[..2], ["xterm-256color truecolor", "40 120"]);
    assert_eq!((screen.lines.len(), screen.columns), (40, Some(120)));
}

#[tokio::test]
async fn every_change_and_every_end_is_told() {
    let stage = stage().await;
    let first = stage.sh("1", "exec cat").await;
    let mut seen = stage.host().seen();
    let pane = stage.sh("2", "stty -echo; echo up; read line; exit 3").await;
    sees(&mut seen, |seen| *seen == PaneSeen::Changed(pane.id.clone())).await;
    stage.host().paste(pane.clone(), "go\n".into()).await.unwrap();
    sees(&mut seen, |seen| *seen == PaneSeen::Gone(pane.id.clone())).await;
    ProcessId::from(first.root).signal(Signal::KILL).unwrap();
    sees(&mut seen, |seen| *seen == PaneSeen::Gone(first.id.clone())).await;
    let third = stage.sh("3", "exec cat").await;
    stage.host().close(third.clone()).await.unwrap();
    sees(&mut seen, |seen| *seen == PaneSeen::Gone(third.id.clone())).await;
}

#[tokio::test]
async fn changes_are_told_now_and_then_and_not_one_by_one() {
    let stage = stage().await;
    let pane = stage.sh("1", "read line; for n in $(seq 3000); do echo $n; done; echo end; exec cat").await;
    let mut seen = stage.host().seen();
    let began = std::time::Instant::now();
    stage.host().paste(pane.clone(), "\n".into()).await.unwrap();
    stage.shows(&pane, "end").await;
    let took = began.elapsed();
    let mut told = 0;
    while let Ok(Ok(_)) = tokio::time::timeout(Duration::from_millis(300), seen.recv()).await {
        told += 1;
    }
    let most = took.as_millis() / 50 + 6;
    assert!(told >= 1 && u128::from(told as u32) <= most, "told {told} times in {took:?}");
}

#[tokio::test]
async fn a_host_that_dies_is_told_down_and_up() {
    let mut stage = stage().await;
    let pane = stage.sh("1", "exec cat").await;
    let mut seen = stage.host().seen();
    assert_eq!(stage.host().down(), None);
    stage.rig.kill().await;
    sees(&mut seen, |seen| matches!(seen, PaneSeen::Down(_))).await;
    sees(&mut seen, |seen| *seen == PaneSeen::Up).await;
    // Its panes have died with it, and another server is there as soon as one is wanted.
    assert_eq!(stage.host().down(), None);
    assert_eq!(stage.host().panes().await.unwrap(), []);
    assert!(is_gone(&stage.host().screen(pane).await));
    stage.sh("1", "exec cat").await;
    assert_eq!(stage.host().panes().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_sent_and_not_answered_is_unknown_and_not_sent_again() {
    let stage = stage().await;
    let pane = stage.listener("1", "").await;
    let server = stage.rig.server();
    server.signal(Signal::STOP).unwrap();
    let (one, two) = (stage.host().paste(pane.clone(), "text".into()), stage.host().screen(pane.clone()));
    let (paste, screen) = tokio::join!(one, two);
    assert!(matches!(paste, Err(PaneError::Unknown(_))), "{paste:?}");
    assert!(matches!(screen, Err(PaneError::Unavailable(_))), "{screen:?}");
    server.signal(Signal::CONT).unwrap();
    stage.host().press(pane, vec![Key::Char('.')]).await.unwrap();
    stage.gets("typed", b"text.").await;
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_middle_leaves_it_unknown() {
    let mut stage = stage().await;
    let pane = stage.listener("1", "").await;
    let server = stage.rig.server();
    server.signal(Signal::STOP).unwrap();
    let paste = tokio::spawn(stage.host().paste(pane.clone(), "text".into()));
    let start = tokio::spawn(stage.host().start(stage.script("2", "exec cat")));
    // Both were sent when the calls after them wait for their answers, too.
    assert!(stage.host().screen(pane).await.is_err());
    stage.rig.kill().await;
    let (paste, start) = (paste.await.unwrap(), start.await.unwrap());
    assert!(matches!(paste, Err(PaneError::Unknown(_))), "{paste:?}");
    assert!(matches!(start, Err(PaneError::Unknown(_))), "{start:?}");
}

#[tokio::test]
async fn a_server_that_cannot_start_is_unavailable_with_the_reason() {
    let dir = TempDir::new().unwrap();
    let options = |program: &str, state: &Path| Options { program: program.into(), ..Options::new(state) };
    let state = dir.path().join("state");
    std::fs::create_dir(&state).unwrap();
    for (program, says) in [("/nowhere/fleetd", "cannot start"), ("/bin/false", "did not start")] {
        std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let (host, task) = Embedded::new(options(program, &state));
        let task = tokio::spawn(task);
        let slot = super::contract::slot("1");
        let start = PaneStart { slot, argv: vec!["cat".into()], env: Default::default(), cwd: "/".into() };
        let result = host.start(start).await;
        assert!(matches!(&result, Err(PaneError::Unavailable(why)) if why.contains(says)), "{result:?}");
        task.abort();
    }
}

#[tokio::test]
async fn a_program_whose_interpreter_is_missing_is_refused() {
    let stage = stage().await;
    let script = stage.file("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let start = PaneStart { argv: vec![script.clone().into()], ..stage.script("1", "") };
    let result = stage.host().start(start).await;
    assert!(matches!(&result, Err(PaneError::Refused(why)) if why.contains("script")), "{result:?}");
    assert_eq!(stage.host().panes().await.unwrap(), []);
    let mut talk = stage.rig.talk();
    assert_eq!(talk.ask(Ask::Panes).unwrap(), Done::Panes(Vec::new()), "not even a dead one is left");
}

#[tokio::test]
async fn arrows_are_pressed_as_the_program_wants_them() {
    let stage = stage().await;
    let pane = stage.listener("1", r"printf '\033[?1h';").await;
    stage.host().press(pane, vec![Key::Up, Key::Left, Key::Enter]).await.unwrap();
    stage.gets("typed", b"\x1bOA\x1bOD\r").await;
}

#[tokio::test]
async fn a_dead_pane_shows_its_last_screen_until_it_is_closed() {
    let stage = stage().await;
    let pane = stage.sh("1", "for n in $(seq 60); do echo row $n; done; echo last words; exit 3").await;
    stage.is_gone(&pane).await;
    let screen = stage.shows(&pane, "last words").await;
    assert_eq!(screen.lines[38], "last words");
    let mut talk = stage.rig.talk();
    let died = until("its end is known", async || view(&mut talk, &pane, 3).died).await;
    assert_eq!((died.code, died.signal), (Some(3), None));
    assert_eq!(view(&mut talk, &pane, 3).history, ["row 20", "row 21", "row 22"]);
    stage.host().close(pane.clone()).await.unwrap();
    assert!(is_gone(&stage.host().screen(pane).await));
}

#[tokio::test]
async fn many_texts_at_once_go_each_where_it_belongs() {
    let stage = stage().await;
    let script = |n: usize| format!("stty raw -echo; printf ready; exec cat > typed{n}");
    let mut panes = Vec::new();
    for n in 0..8 {
        let pane = stage.sh(&n.to_string(), &script(n)).await;
        stage.shows(&pane, "ready").await;
        panes.push(pane);
    }
    let text = |n: usize| format!("text for {n} ").repeat(5_000);
    let mut pastes: Vec<JoinHandle<Result<(), PaneError>>> = Vec::new();
    for (n, pane) in panes.iter().enumerate() {
        pastes.push(tokio::spawn(stage.host().paste(pane.clone(), text(n).into())));
    }
    for paste in pastes {
        paste.await.unwrap().unwrap();
    }
    for n in 0..8 {
        stage.gets(&format!("typed{n}"), text(n).as_bytes()).await;
    }
}

/// Returns the time when it is done, and fails if it takes longer than a loaded machine may take.
pub async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it takes too long")
}

#[tokio::test]
async fn an_orphan_in_a_terminals_session_is_found_in_its_pane() {
    let stage = stage().await;
    let pane = stage.sh("1", "(sleep 600 & echo $! > pid); exec cat").await;
    let text = until("the orphan", async || Some(stage.bytes("pid")).filter(|text| text.ends_with(b"\n"))).await;
    let pid: u32 = String::from_utf8(text).unwrap().trim().parse().unwrap();
    let above = until("it is an orphan", async || {
        let above = fleetd::process::lineage(ProcessId::of(pid)?);
        (!above.contains(&pane.root.into())).then_some(above)
    })
    .await;
    let lineage = above.into_iter().map(Into::into).collect();
    assert_eq!(stage.host().pane_of(lineage).await.unwrap(), Some(pane.clone()));
    assert!(stage.host().processes(pane).await.unwrap().iter().any(|process| process.pid == pid as i32));
}

#[tokio::test]
async fn programs_that_end_as_soon_as_they_begin_are_all_seen_to_end() {
    let stage = stage().await;
    stage.sh("first", "exec cat").await;
    let start = |n: usize| PaneStart { argv: vec!["true".into()], ..stage.script(&n.to_string(), "") };
    let starts: Vec<_> = (0..40).map(|n| tokio::spawn(stage.host().start(start(n)))).collect();
    for start in starts {
        start.await.unwrap().unwrap();
    }
    until("all have ended", async || (stage.host().panes().await.unwrap().len() == 1).then_some(())).await;
}
