//! How a pane server begins, stays and ends: one for a state directory, for whoever asks first, until nobody needs it.
//! What it does in between is in `embedded` and `hostile`.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fleetd::pane::talk::{Talk, TalkError};
use fleetd::pane::wire::{Ask, Done, LOCK, LOG, SOCKET};
use fleetd::process::ProcessId;
use rustix::process::Signal;
use tempfile::TempDir;

use super::contract::{Rig, until};
use super::embedded::stage;

/// A server that was started by hand; it is killed when this is dropped.
struct Server(Child);

impl Server {
    fn begin(state: &Path, rest: &str) -> (Server, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        command.args(["panes", "--rest", rest, "--state"]).arg(state).env_clear();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Server(child), line.trim().to_string())
    }

    fn process(&self) -> ProcessId {
        ProcessId::of(self.0.id()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_second_server_finds_that_there_is_one() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let (first, said) = Server::begin(&state, "1m");
    assert_eq!(said, "ready");
    let (mut second, said) = Server::begin(&state, "1m");
    assert_eq!(said, "held");
    assert_eq!(second.0.wait().unwrap().code(), Some(0));
    assert!(first.process().is_alive());
    let talk = Talk::open(&state).unwrap();
    assert_eq!(ProcessId::from(talk.hello.process), first.process());

    // What a killed one leaves is no hindrance.
    drop(first);
    assert!(state.join(SOCKET).exists());
    assert!(matches!(Talk::open(&state), Err(TalkError::Nobody)));
    let (_third, said) = Server::begin(&state, "1m");
    assert_eq!(said, "ready");
    Talk::open(&state).unwrap();
}

#[tokio::test]
async fn of_many_that_start_at_once_one_stays() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let state = state.clone();
            std::thread::spawn(move || Server::begin(&state, "1m"))
        })
        .collect();
    let began: Vec<(Server, String)> = starts.into_iter().map(|start| start.join().unwrap()).collect();
    assert_eq!(began.iter().filter(|(_, said)| said == "ready").count(), 1);
    assert_eq!(began.iter().filter(|(_, said)| said == "held").count(), 5);
}

#[tokio::test]
async fn without_panes_and_clients_it_ends_by_itself() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let (mut server, _) = Server::begin(&state, "200ms");
    until("it ends", async || server.0.try_wait().unwrap()).await;
    assert!(!state.join(SOCKET).exists(), "it takes its socket away");
    assert!(std::fs::read_to_string(state.join(LOG)).unwrap().contains("the pane server ends"));

    let (mut server, _) = Server::begin(&state, "200ms");
    let mut talk = Talk::open(&state).unwrap();
    let waited = std::time::Instant::now();
    until("longer than the rest", async || (waited.elapsed() > Duration::from_millis(600)).then_some(())).await;
    assert!(server.0.try_wait().unwrap().is_none(), "a client is there");
    assert_eq!(talk.ask(Ask::Panes).unwrap(), Done::Panes(Vec::new()));
    drop(talk);
    until("it ends", async || server.0.try_wait().unwrap()).await;
}

#[tokio::test]
async fn it_outlives_the_daemon_for_its_panes_alone() {
    let mut stage = stage().await;
    let pane = stage.sh("1", "echo up; while ! test -e go; do sleep 0.02; done").await;
    stage.shows(&pane, "up").await;
    let server = stage.rig.server();
    stage.rig.end_client().await;
    let waited = std::time::Instant::now();
    until("longer than the rest", async || (waited.elapsed() > Duration::from_millis(900)).then_some(())).await;
    assert!(server.is_alive());
    stage.rig.renew().await;
    stage.host().close(pane).await.unwrap();
    stage.rig.end_client().await;
    until("the server ends", async || (!server.is_alive()).then_some(())).await;
}

#[tokio::test]
async fn told_to_end_it_hangs_up_all_panes_first() {
    let stage = stage().await;
    let script = "trap 'echo hung up > hup; exit' HUP; echo up; while :; do sleep 0.02; done";
    let polite = stage.sh("1", script).await;
    let stubborn = stage.sh("2", "trap '' HUP; echo up; while :; do sleep 600; done").await;
    stage.shows(&polite, "up").await;
    stage.shows(&stubborn, "up").await;
    let server = stage.rig.server();
    server.signal(Signal::TERM).unwrap();
    until("the server ends", async || (!server.is_alive()).then_some(())).await;
    stage.gets("hup", b"hung up\n").await;
    stage.nobody_is_left().await;
}

#[tokio::test]
async fn nobody_else_gets_at_it_and_it_takes_nothing_along() {
    let stage = stage().await;
    let pane = stage.sh("1", "ls -l /proc/self/fd; echo end; exec cat").await;
    let screen = stage.shows(&pane, "end").await;
    let state = stage.rig.state();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(state), 0o700);
    for file in [SOCKET, LOCK, LOG] {
        assert_eq!(mode(&state.join(file)), 0o600, "{file}");
    }
    assert!(state.join(SOCKET).as_os_str().len() > 108, "longer than the path of a socket may be");

    let server = stage.rig.server();
    let proc = |name: &str| std::fs::read(format!("/proc/{}/{name}", server.pid)).unwrap();
    assert_eq!(String::from_utf8_lossy(&proc("environ")), "", "its environment is empty");
    assert_eq!(std::fs::read_link(format!("/proc/{}/cwd", server.pid)).unwrap(), Path::new("/"));
    assert_eq!(std::fs::read_link(format!("/proc/{}/fd/0", server.pid)).unwrap(), Path::new("/dev/null"));
    let sid = rustix::process::getsid(rustix::process::Pid::from_raw(server.pid as i32)).unwrap();
    assert_eq!(sid.as_raw_nonzero().get() as u32, server.pid, "it leads a session of its own");

    // Only the terminal is open in a pane, and the directory that `ls` reads; and what whoever runs the tests left open.
    let left_open: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.display().to_string()))
        .collect();
    let open = screen.lines.iter().filter_map(|line| line.split_once(" -> ")).map(|(_, file)| file.trim_matches('\''));
    let ours = |file: &&str| !file.starts_with("/dev/pts/") && !file.starts_with("/proc/");
    let others: Vec<&str> = open.filter(ours).filter(|file| !left_open.iter().any(|left| left == file)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test]
async fn a_directory_that_is_open_to_others_is_not_used() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
    let output = command.args(["panes", "--state"]).arg(&state).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("open to others"), "{error}");
    assert!(matches!(Talk::open(&state), Err(TalkError::Broken(_))));
}

#[tokio::test]
async fn a_newer_server_is_spoken_with_and_one_that_is_too_old_is_not() {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let place = fleetd::pane::wire::Place::make(&state).unwrap();
    let listener = UnixListener::bind(place.short(SOCKET)).unwrap();
    let says = |lines: &'static str| {
        let listener = listener.try_clone().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(lines.as_bytes()).unwrap();
            stream
        });
        let talk = Talk::open(&state);
        (talk, server.join().unwrap())
    };
    let process = r#""version":"9","process":{"pid":1,"start":1}"#;
    let hello = |protocol: u32, more: &str| -> &'static str {
        format!("{{\"hello\":{{\"protocol\":{protocol},{process}{more}}}}}\n").leak()
    };
    let (talk, _stream) = says(hello(0, ""));
    assert!(matches!(talk, Err(TalkError::Stranger(why)) if why.contains("protocol 0")));
    let (talk, _stream) = says("HTTP/1.1 400 Bad Request\n");
    assert!(matches!(talk, Err(TalkError::Stranger(_))));
    let (talk, mut stream) = says(hello(99, r#","moods":["fine"]"#));
    let mut talk = talk.unwrap();
    assert_eq!(talk.hello.protocol, 99);
    // What is not known here is passed over.
    stream.write_all(b"{\"mood\":\"fine\"}\n{\"answer\":{\"id\":1,\"came\":{\"done\":\"well\"},\"at\":7}}\n").unwrap();
    assert_eq!(talk.ask(Ask::Panes).unwrap(), Done::Well);
}
