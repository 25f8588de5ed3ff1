//! pane-exec on a terminal, as a pane host starts it: the program below it behaves as if a shell had started it, and
//! nothing of it outlives its pane.
//!
//! The terminal is a real one; no pane host and no daemon comes in here.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fleetd::launch::pane_exec::{Args, LOST, MAX_OUTPUT, Mode, RAN};
use fleetd::launch::turn_dir::{Claim, Ended, Started, TurnDir};
use fleetd::process::{ProcessId, marked_with};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

use crate::support::until;

struct Pane {
    place: TempDir,
    dir: TurnDir,
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    shown: Arc<Mutex<String>>,
}

impl Pane {
    fn start(argv: &[&str]) -> Pane {
        Pane::start_in(TempDir::new().expect("a temporary directory"), argv)
    }

    fn start_in(place: TempDir, argv: &[&str]) -> Pane {
        let dir = TurnDir::new(place.path().join("sessions/w-1-1"));
        dir.create().expect("the directory is made");
        let size = PtySize { rows: 30, cols: 90, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let args = Args {
            dir: dir.path().into(),
            cwd: None,
            timeout: None,
            max_output: MAX_OUTPUT,
            mode: Mode::Terminal,
            argv: argv.iter().map(Into::into).collect(),
        };
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_fleetd"));
        command.arg("pane-exec");
        command.args(args.to_words());
        command.env("FLEET_TEST", place.path());
        let child = pair.slave.spawn_command(command).expect("pane-exec starts");
        let mut reader = pair.master.try_clone_reader().expect("the terminal can be read");
        let shown: Arc<Mutex<String>> = Arc::default();
        let seen = shown.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                seen.lock().expect("nobody panicked").push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        let keys = pair.master.take_writer().expect("the terminal can be written");
        Pane { place, dir, child, master: pair.master, keys, shown }
    }

    fn sh(script: &str) -> Pane {
        Pane::start(&["sh", "-c", script])
    }

    fn shows(&self, what: &str) -> String {
        until(what, || Some(self.shown.lock().ok()?.clone()).filter(|shown| shown.contains(what)))
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes it");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn alive(&self) -> Vec<ProcessId> {
        let marked = marked_with(&format!("FLEET_TEST={}", self.place.path().display()));
        marked.into_iter().filter(|process| process.is_alive()).collect()
    }

    /// What the kernel does to the leader of a terminal's session when the pane is closed. (The thread that reads keeps
    /// the terminal open here.)
    fn hangs_up(&self) {
        let started = self.dir.started().expect("the claim can be read").expect("it is claimed");
        assert!(started.process.signal(rustix::process::Signal::HUP).expect("it is ours"));
    }

    fn ends(&mut self) -> (u32, Option<Ended>) {
        let code = until("the end", || self.child.try_wait().expect("it is our child")).exit_code();
        assert_eq!(self.alive(), [], "something outlived its pane");
        (code, self.dir.exit().expect("the record can be read").map(|record| record.ended))
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        for process in self.alive() {
            drop(process.signal(rustix::process::Signal::KILL));
        }
    }
}

#[test]
fn the_program_has_the_terminal_its_size_and_its_foreground() {
    let mut pane = Pane::sh(
        "stty size; ps -o pgid=,tpgid= -p $$ | tr -s ' '; trap 'stty size; exit 5' WINCH; echo set; while :; do sleep 0.01; done",
    );
    let shown = pane.shows("set");
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    assert_eq!(lines[0], "30 90");
    let groups: Vec<&str> = lines[1].split(' ').collect();
    assert_eq!(groups[0], groups[1], "it is in the foreground: {shown}");
    let started = pane.dir.started().expect("the claim can be read").expect("it is claimed");
    assert_ne!(groups[0], started.process.pid.to_string(), "in a group of its own");
    let size = PtySize { rows: 20, cols: 70, pixel_width: 0, pixel_height: 0 };
    pane.master.resize(size).expect("it can be resized");
    pane.shows("20 70");
    assert_eq!(pane.ends(), (RAN.into(), Some(Ended::Code(5))));
}

#[test]
fn keys_that_signal_reach_the_program_and_not_its_parent() {
    // Before it has the foreground, a key's signal goes to its parent, which takes no notice of it.
    let ready = "until ps -o pgid=,tpgid= -p $$ | { read a b; [ $a = $b ]; }; do :; done; echo set";
    let reads = "while read line; do echo got $line; done";
    let mut pane = Pane::sh(&format!("trap 'echo int' INT; trap 'echo quit' QUIT; {ready}; {reads}; {reads}; {reads}"));
    pane.shows("set");
    pane.types("\u{3}");
    pane.shows("int\r\n");
    pane.types("\u{1c}");
    pane.shows("quit\r\n");
    pane.types("a\n");
    pane.shows("got a");
    assert!(pane.child.try_wait().expect("it is our child").is_none());
}

#[test]
fn a_program_that_is_stopped_goes_on_for_no_shell_could_wake_it() {
    let mut pane = Pane::sh("echo set; while read line; do echo got $line; done");
    pane.shows("set");
    pane.types("\u{1a}");
    pane.types("still there\n");
    pane.shows("got still there");
    pane.types("\u{4}");
    assert_eq!(pane.ends(), (RAN.into(), Some(Ended::Code(0))));
}

#[test]
fn a_program_that_reads_before_it_has_the_foreground_is_not_stuck() {
    for _ in 0..20 {
        let mut pane = Pane::sh("stty -echo; read line; echo got $line");
        pane.types("x\n");
        pane.shows("got x");
        assert_eq!(pane.ends(), (RAN.into(), Some(Ended::Code(0))));
    }
}

#[test]
fn with_its_pane_everything_goes_also_what_hides() {
    let script = "trap '' HUP TERM; setsid sh -c 'trap \"\" HUP TERM; echo > $0/setsid; exec sleep 600' \"$FLEET_TEST\" & (sh -c 'trap \"\" HUP TERM; echo > $0/forked; exec sleep 600' \"$FLEET_TEST\" &) ; echo set; sleep 600";
    let mut pane = Pane::sh(script);
    pane.shows("set");
    until("both children", || (pane.file("setsid").exists() && pane.file("forked").exists()).then_some(()));
    let began = Instant::now();
    pane.hangs_up();
    let (code, ended) = pane.ends();
    assert_eq!((code, ended), (RAN.into(), Some(Ended::Killed)));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn a_session_is_started_once() {
    let mut first = Pane::sh("echo first; read line");
    first.shows("first");
    let claim = Started::by(ProcessId::current().expect("/proc is there"));
    assert_eq!(first.dir.claim(&claim).expect("it can be tried"), Claim::Lost);
    first.types("\n");
    assert_eq!(first.ends().1, Some(Ended::Code(0)));
    let place = std::mem::replace(&mut first.place, TempDir::new().expect("a temporary directory"));
    let mut second = Pane::start_in(place, &["sh", "-c", "echo > $FLEET_TEST/ran"]);
    assert_eq!(second.ends().0, u32::from(LOST));
    assert!(!second.file("ran").exists());
}

#[test]
fn a_program_that_is_not_there_is_named_in_the_record() {
    let mut pane = Pane::start(&["no-such-program"]);
    let (code, ended) = pane.ends();
    assert_eq!(code, u32::from(RAN));
    let Some(Ended::NotStarted(why)) = ended else { panic!("{ended:?}") };
    assert!(why.contains("cannot start no-such-program: no directory of PATH has it"), "{why}");
}

#[test]
fn a_full_screen_agent_draws_and_takes_a_paste() {
    let agent = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("test-agent");
    assert!(agent.exists(), "build it with the tests: cargo nextest run");
    let mut pane = Pane::start(&[agent.to_str().expect("a plain path"), "--answer", "upper"]);
    pane.shows("> ");
    pane.types("\u{1b}[200~hello\u{1b}[201~");
    pane.shows("hello");
    pane.types("\r");
    pane.shows("HELLO");
    fs::metadata(pane.dir.path()).expect("its directory is there");
}
