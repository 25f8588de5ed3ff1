//! The pane server: how long a key takes to its program and back to a watcher's terminal, alone and beside fifty panes
//! that print without pause, and what fifty panes cost in memory and, when nothing happens, in processor time.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fleetd::engine::panes::Pane;
use fleetd::pane::talk::Talk;
use fleetd::pane::wire::{Ask, Bytes, Done, Line, Size, Start};
use tempfile::TempDir;

use crate::table::Table;

const PANES: usize = 50;
const KEYS: usize = 300;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let server = Server::start();
    table.plain("pane server: resident memory, no pane", format!("{:.1} MB", server.resident()), "no bar");
    let quiet: Vec<Pane> = (0..PANES).map(|n| server.pane(n, "exec cat")).collect();
    let plain = format!("{:.1} MB", server.resident());
    table.plain(&format!("pane server: resident memory, {PANES} panes"), plain, "no bar");
    let before = server.processor_time();
    std::thread::park_timeout(Duration::from_secs(5));
    let used = server.processor_time() - before;
    table.plain(
        &format!("pane server: processor time of 5 idle seconds, {PANES} panes"),
        format!("{used:?}"),
        "bar: 0 ms",
    );

    let alone = server.keys(PANES);
    for pane in quiet {
        server.talk().ask(Ask::Close { pane }).expect("it is closed");
    }
    let printing: Vec<Pane> = (0..PANES).map(|n| server.pane(n, "exec yes all work and no play")).collect();
    let beside = server.keys(PANES + 1);
    let loaded = format!("{:.1} MB", server.resident());
    table.plain(&format!("pane server: resident memory, {PANES} panes that print"), loaded, "no bar");
    drop(printing);
    for (what, at) in [("median", 0.5), ("p99", 0.99)] {
        let row = format!("a key to its program, beside {PANES} that print, {what}");
        table.time(&row, at_of(&beside.program, at), "alone; bar: 5 ms more", at_of(&alone.program, at));
        let row = format!("a key to a watcher's terminal, beside {PANES} that print, {what}");
        table.time(&row, at_of(&beside.watcher, at), "alone; bar: 5 ms more", at_of(&alone.watcher, at));
    }
}

/// How long each key took.
struct Keys {
    program: Vec<Duration>,
    watcher: Vec<Duration>,
}

/// A server with a private state directory, ended with all its panes when dropped.
struct Server {
    child: Child,
    dir: TempDir,
}

impl Server {
    fn start() -> Server {
        let dir = TempDir::new().expect("a directory");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fleetd"))
            .args(["panes", "--state"])
            .arg(dir.path().join("state"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), "ready");
        Server { child, dir }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn talk(&self) -> Talk {
        Talk::open(&self.state()).expect("it runs")
    }

    fn pane(&self, number: usize, script: &str) -> Pane {
        let bytes = |text: &str| Bytes(text.as_bytes().to_vec());
        let argv = ["sh", "-c", script].map(bytes).to_vec();
        let env = vec![(bytes("PATH"), bytes("/usr/bin:/bin"))];
        let cwd = Bytes::from(self.dir.path().as_os_str());
        let start = Start { role: "w".into(), worker: format!("w-{number}"), argv, env, cwd };
        match self.talk().ask(Ask::Start(start)) {
            Ok(Done::Started(pane)) => pane,
            other => panic!("{other:?}"),
        }
    }

    /// Presses keys in a pane of its own, one after the other, for a program that reads and one that is watched.
    fn keys(&self, number: usize) -> Keys {
        let fifo = self.dir.path().join(format!("fifo-{number}"));
        make_fifo(&fifo);
        let reads = self.pane(number * 2, &format!("stty raw -echo; exec cat > {}", fifo.display()));
        let mut reader = std::fs::File::open(&fifo).expect("a fifo");
        let mut talk = self.talk();
        let mut key = [0];
        let mut program = Vec::new();
        for _ in 0..KEYS {
            let begun = Instant::now();
            talk.send(Ask::Press { pane: reads.clone(), keys: vec!["k".into()] }).expect("it listens");
            reader.read_exact(&mut key).expect("the key");
            program.push(begun.elapsed());
        }
        drop(reader);
        let echoes = self.pane(number * 2 + 1, "stty raw -echo; exec cat");
        let size = Size { rows: 40, columns: 120 };
        let mut talk = self.talk();
        talk.ask(Ask::Watch { pane: echoes.clone(), size, read_only: false }).expect("it is there");
        let mut watcher = Vec::new();
        for n in 0..KEYS {
            // What an earlier key drew is behind us, and the watcher's pause between two frames too.
            std::thread::park_timeout(Duration::from_millis(20));
            while talk.next(Instant::now()).expect("it runs").is_some() {}
            let letter = (b'a' + (n % 26) as u8) as char;
            let begun = Instant::now();
            talk.send(Ask::Type(Bytes(format!("\r{letter}").into_bytes()))).expect("it listens");
            loop {
                match talk.next(begun + Duration::from_secs(5)).expect("it runs") {
                    Some(Line::Frame(frame)) if frame.contains(letter) => break,
                    Some(_) => {}
                    None => panic!("no frame came"),
                }
            }
            watcher.push(begun.elapsed());
        }
        for pane in [reads, echoes] {
            self.talk().ask(Ask::Close { pane }).expect("it is closed");
        }
        Keys { program, watcher }
    }

    fn resident(&self) -> f64 {
        crate::daemon::resident(self.child.id())
    }

    fn processor_time(&self) -> Duration {
        crate::daemon::processor_time(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).expect("a pid");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

fn make_fifo(path: &Path) {
    let status = Command::new(OsStr::new("mkfifo")).arg(path).status().expect("mkfifo is there");
    assert!(status.success());
}

fn at_of(times: &[Duration], at: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[((times.len() - 1) as f64 * at) as usize]
}
