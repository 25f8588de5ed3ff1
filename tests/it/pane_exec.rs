//! pane-exec as the daemon meets it: the real program, real processes, and what lies in the turn's directory after.
//!
//! Every test ends by showing that no process of its tree is left on the machine.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fleetd::launch::pane_exec::{Args, LOST, MAX_OUTPUT, Mode, RAN, UNCLAIMED};
use fleetd::launch::turn_dir::{Claim, Ended, ExitRecord, Started, TEXT_LIMIT, TurnDir};
use fleetd::process::{ProcessId, marked_with};
use rustix::process::Signal;
use tempfile::TempDir;

/// Longer than anything here takes; only a hang reaches it.
const LONG: Duration = Duration::from_secs(60);

struct Turn {
    place: TempDir,
    dir: TurnDir,
}

impl Turn {
    fn new(prompt: &[u8]) -> Self {
        let place = TempDir::new().expect("a temporary directory");
        let dir = TurnDir::new(place.path().join("turns/t1"));
        dir.create().expect("the directory is made");
        dir.write_prompt(prompt).expect("the prompt is written");
        Self { place, dir }
    }

    fn args(&self, argv: &[&str]) -> Args {
        let argv = argv.iter().map(OsString::from).collect();
        Args { dir: self.dir.path().into(), cwd: None, timeout: None, max_output: MAX_OUTPUT, mode: Mode::Turn, argv }
    }

    fn start(&self, args: &Args) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        command
            .arg("pane-exec")
            .args(args.to_words())
            .env("FLEET_TEST", self.place.path())
            .env("PLACE", self.place.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pane-exec starts")
    }

    fn run(&self, args: &Args) -> ExitRecord {
        let status = wait(self.start(args));
        assert_eq!(status.code(), Some(RAN.into()), "{status}");
        self.record()
    }

    fn sh(&self, script: &str) -> ExitRecord {
        self.run(&self.args(&["sh", "-c", script]))
    }

    fn record(&self) -> ExitRecord {
        self.nothing_is_left();
        self.dir.exit().expect("the record can be read").expect("there is a record")
    }

    fn text(&self) -> String {
        self.dir.text(TEXT_LIMIT).expect("stdout can be read").text
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Waits until the worker made a file of this name.
    fn wait_for(&self, name: &str) -> String {
        until(|| fs::read_to_string(self.file(name)).ok().filter(|text| text.ends_with('\n')))
    }

    fn alive(&self) -> Vec<ProcessId> {
        let marked = marked_with(&format!("FLEET_TEST={}", self.place.path().display()));
        marked.into_iter().filter(|process| process.is_alive()).collect()
    }

    fn nothing_is_left(&self) {
        assert_eq!(self.alive(), [], "processes of the turn still run");
    }
}

#[expect(clippy::disallowed_methods, reason = "what is waited for happens in other processes, which tell nobody")]
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LONG, "it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn wait(mut child: Child) -> ExitStatus {
    until(|| child.try_wait().expect("the child can be waited for"))
}

fn process_of(child: &Child) -> ProcessId {
    ProcessId::of(child.id()).expect("the child runs")
}

#[test]
fn the_prompt_is_stdin_and_stdout_is_the_text() {
    let turn = Turn::new("grüße\0\r\n\n".as_bytes());
    let record = turn.sh("cat; echo trouble >&2; exit 7");
    assert_eq!(record.ended, Ended::Code(7));
    assert_eq!(turn.text(), "grüße\0\r\n\n");
    assert_eq!(turn.dir.stderr_tail(), "trouble\n");
    assert_eq!((record.stdout.bytes, record.stdout.dropped, record.stderr.bytes), (11, 0, 8));
    assert!(record.started_at <= record.ended_at);
}

#[test]
fn a_signal_is_told_from_a_code() {
    let turn = Turn::new(b"");
    assert_eq!(turn.sh("kill -9 $$").ended, Ended::Signal(9));
}

#[test]
fn of_eight_that_race_exactly_one_runs() {
    let turn = Turn::new(b"");
    let args = turn.args(&["sh", "-c", "echo ran >> \"$PLACE/log\""]);
    let racers: Vec<Child> = (0..8).map(|_| turn.start(&args)).collect();
    let codes: Vec<Option<i32>> = racers.into_iter().map(|racer| wait(racer).code()).collect();
    assert_eq!(fs::read_to_string(turn.file("log")).expect("somebody ran"), "ran\n");
    let of = |code: u8| codes.iter().filter(|found| **found == Some(code.into())).count();
    assert_eq!((of(RAN), of(LOST)), (1, 7), "{codes:?}");
    assert_eq!(turn.record().ended, Ended::Code(0));
}

#[test]
fn a_second_run_after_the_end_changes_nothing() {
    let turn = Turn::new(b"");
    let record = turn.sh("echo one");
    let again = wait(turn.start(&turn.args(&["sh", "-c", "echo two"])));
    assert_eq!(again.code(), Some(LOST.into()));
    assert_eq!((turn.record(), turn.text().as_str()), (record, "one\n"));
}

#[test]
fn a_timeout_kills_the_whole_tree() {
    let turn = Turn::new(b"");
    let args = Args {
        timeout: Some(Duration::from_millis(300)),
        ..turn.args(&["sh", "-c", "echo before; trap '' TERM; sleep 600 & wait; sleep 600"])
    };
    let began = Instant::now();
    let record = turn.run(&args);
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(record.ended, Ended::TimedOut);
    assert_eq!(turn.text(), "before\n");
    assert_eq!(record.left, []);
}

/// A tree that hides: a new session, a double fork, and both deaf to TERM, HUP and INT.
const HIDING: &str = r#"
    trap '' TERM HUP INT
    (setsid sh -c 'trap "" TERM HUP; echo $$ > "$PLACE/session"; exec sleep 600' &)
    ( (nohup sh -c 'echo $$ > "$PLACE/orphan"; while :; do sleep 1; done' >/dev/null 2>&1 &) & )
    echo $$ > "$PLACE/main"
    while :; do sleep 1; done
"#;

#[test]
fn term_kills_what_hides_within_the_limit() {
    for signal in [Signal::TERM, Signal::HUP] {
        let turn = Turn::new(b"");
        let child = turn.start(&turn.args(&["sh", "-c", HIDING]));
        for name in ["session", "orphan", "main"] {
            turn.wait_for(name);
        }
        assert!(turn.alive().len() >= 4, "the tree runs");
        let told = Instant::now();
        assert!(process_of(&child).signal(signal).expect("it can be signalled"));
        // Measured to the last process of the tree, pane-exec's own record comes after it.
        let tree = until(|| (turn.alive().len() <= 1).then(|| told.elapsed()));
        assert_eq!(wait(child).code(), Some(RAN.into()));
        assert_eq!(turn.record().ended, Ended::Killed);
        assert!(tree < Duration::from_millis(400) * slack(), "it took {tree:?}");
    }
}

/// The limit is of a machine that has a processor to spare; a loaded one is given more, and still not "for ever".
fn slack() -> u32 {
    let load = fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .unwrap_or(0.0);
    if load < 1.0 { 1 } else { 10 }
}

#[test]
fn what_a_terminal_sends_to_all_does_not_end_the_turn() {
    let turn = Turn::new(b"");
    let script = "echo up > \"$PLACE/up\"; while ! [ -e \"$PLACE/go\" ]; do sleep 0.02; done; echo done";
    let child = turn.start(&turn.args(&["sh", "-c", script]));
    turn.wait_for("up");
    for signal in [Signal::INT, Signal::QUIT, Signal::TSTP] {
        assert!(process_of(&child).signal(signal).expect("it can be signalled"));
    }
    fs::write(turn.file("go"), "").expect("the way is free");
    assert_eq!(wait(child).code(), Some(RAN.into()));
    assert_eq!(turn.record().ended, Ended::Code(0));
    assert_eq!(turn.text(), "done\n");
}

#[test]
fn what_is_left_after_the_exit_is_killed_and_holds_up_nothing() {
    let turn = Turn::new(b"");
    // The one left behind holds stdout open, so an end of file alone would never come.
    let record = turn.sh("(setsid sh -c 'trap \"\" TERM; echo up > \"$PLACE/up\"; while :; do sleep 1; done' &) ; while ! [ -e \"$PLACE/up\" ]; do :; done; echo answer");
    assert_eq!(record.ended, Ended::Code(0));
    assert_eq!(turn.text(), "answer\n");
}

#[test]
fn three_mebibytes_are_kept_whole_and_shown_in_part() {
    let turn = Turn::new(b"");
    let record = turn.sh("head -c 3145728 /dev/zero | tr '\\0' x; head -c 3145728 /dev/zero >&2");
    assert_eq!((record.stdout.bytes, record.stderr.bytes), (3_145_728, 3_145_728));
    let text = turn.dir.text(TEXT_LIMIT).expect("stdout can be read");
    assert!(text.truncated);
    assert_eq!(text.text.len(), TEXT_LIMIT);
    assert_eq!(fs::metadata(turn.dir.stdout()).expect("the file is there").len(), 3_145_728);
    assert_eq!(turn.dir.stderr_tail().len(), 4096);
}

#[test]
fn output_over_the_limit_is_counted_and_its_end_is_shown() {
    let turn = Turn::new(b"");
    let script = "head -c 500000 /dev/zero; { head -c 500000 /dev/zero | tr '\\0' x; echo the end; } >&2";
    let record = turn.run(&Args { max_output: 100_000, ..turn.args(&["sh", "-c", script]) });
    assert_eq!(record.ended, Ended::Code(0));
    assert_eq!((record.stdout.bytes, record.stdout.dropped), (100_000, 400_000));
    assert_eq!((record.stderr.bytes, record.stderr.dropped), (100_000, 400_008));
    assert!(turn.dir.stderr_tail().ends_with("xxthe end\n"));
}

#[test]
fn noise_is_kept_as_it_is() {
    let turn = Turn::new(b"");
    let noise: Vec<u8> = (0..=255_u8).cycle().take(300_000).collect();
    turn.dir.write_prompt(&noise).expect("the prompt is replaced");
    assert_eq!(turn.sh("cat").ended, Ended::Code(0));
    let mut kept = Vec::new();
    fs::File::open(turn.dir.stdout()).expect("the file is there").read_to_end(&mut kept).expect("it can be read");
    assert!(kept == noise, "stdout differs from what was written");
    assert!(turn.text().contains('\u{fffd}'));
}

#[test]
fn a_large_prompt_that_nobody_reads_holds_up_nothing() {
    let turn = Turn::new(&vec![b'p'; 1024 * 1024]);
    assert_eq!(turn.sh("echo no need").ended, Ended::Code(0));
    assert_eq!(turn.text(), "no need\n");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    for (program, why) in [
        ("no-such-program-here", "no directory of PATH has it"),
        ("/nowhere/prog", "there is no such program"),
        ("/", "ermission denied"),
    ] {
        let turn = Turn::new(b"");
        let record = turn.run(&turn.args(&[program]));
        let Ended::NotStarted(said) = &record.ended else { panic!("{record:?}") };
        assert!(said.contains(program) && said.contains(why), "{said}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let turn = Turn::new(b"");
    let record = turn.run(&Args { cwd: Some(turn.file("gone")), ..turn.args(&["pwd"]) });
    let Ended::NotStarted(said) = &record.ended else { panic!("{record:?}") };
    assert!(said.contains(&*turn.file("gone").to_string_lossy()), "{said}");
    let turn = Turn::new(b"");
    turn.run(&Args { cwd: Some(turn.place.path().into()), ..turn.args(&["pwd"]) });
    assert_eq!(turn.text().trim_end(), fs::canonicalize(turn.place.path()).expect("it is there").to_string_lossy());
}

#[test]
fn killed_itself_it_leaves_a_claim_and_no_record() {
    let turn = Turn::new(b"");
    let child = turn.start(&turn.args(&["sh", "-c", "echo up > \"$PLACE/up\"; exec sleep 600"]));
    turn.wait_for("up");
    let started = turn.dir.started().expect("it can be read").expect("it was claimed");
    assert_eq!(started.process, process_of(&child));
    assert!(started.is_alive());
    assert!(started.process.signal(Signal::KILL).expect("it can be signalled"));
    wait(child);
    assert!(!started.is_alive());
    assert_eq!(turn.dir.exit().expect("it can be read"), None);
    // Its worker is an orphan now; the mark that pane-exec gave it finds it.
    let orphans = marked_with(&fleetd::launch::env::root_mark(started.process));
    assert_eq!(orphans.len(), 1);
    for orphan in orphans {
        orphan.signal(Signal::KILL).expect("it can be signalled");
    }
    until(|| turn.alive().is_empty().then_some(()));
}

#[test]
fn a_directory_that_cannot_be_claimed_runs_nothing() {
    let turn = Turn::new(b"");
    turn.dir.remove().expect("it can be removed");
    let status = wait(turn.start(&turn.args(&["sh", "-c", "echo ran > \"$PLACE/ran\""])));
    assert_eq!(status.code(), Some(UNCLAIMED.into()));
    assert!(!turn.file("ran").exists());
    turn.nothing_is_left();
}

#[test]
fn the_worker_has_a_group_of_its_own_and_no_terminal() {
    let turn = Turn::new(b"");
    let record = turn.sh("read -r stat < /proc/$$/stat; set -- $stat; echo \"$5 $1 $7\"");
    assert_eq!(record.ended, Ended::Code(0));
    let text = turn.text();
    let [group, pid, terminal] = text.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!((group, terminal), (pid, "0"));
}

#[test]
fn a_claim_holds_against_everybody() {
    let turn = Turn::new(b"");
    let claim = Started { process: ProcessId::current().expect("/proc is there"), boot: None, at: 1 };
    assert_eq!(turn.dir.claim(&claim).expect("it can be claimed"), Claim::Won);
    assert_eq!(turn.dir.claim(&claim).expect("it can be read"), Claim::Lost);
    assert_eq!(wait(turn.start(&turn.args(&["sh", "-c", "echo ran > \"$PLACE/ran\""]))).code(), Some(LOST.into()));
    assert!(!turn.file("ran").exists());
    assert_eq!(turn.dir.started().expect("it can be read"), Some(claim));
}
