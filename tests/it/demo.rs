//! `fleetd demo` as a user runs it: the real program, a clean environment, trees of every kind, Ctrl-C at any moment.
//! The workers' scripts are tested one by one in `demo_scripts`; here only the command as a whole is looked at.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fleetd::process::marked_with;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::support::PATIENCE;

/// A home for a demo: an empty HOME, a place for temporary files that shows what is left, and a tree.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Home {
        Home::below(&std::env::temp_dir())
    }

    fn below(place: &Path) -> Home {
        let dir = tempfile::tempdir_in(place).expect("a place");
        for name in ["home", "tmp", "tree"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        Home { dir }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at("tree").join(name);
        fs::create_dir_all(path.parent().expect("inside the tree")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn demo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        command.arg("demo").args(args).current_dir(self.at("tree")).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.at("home")).env("TMPDIR", self.at("tmp"));
        command
    }

    /// Runs the demo to its end; nothing of it may be left.
    fn run(&self, args: &[&str]) -> Output {
        let output = self.demo(args).output().expect("fleetd starts");
        self.is_tidy();
        output
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Nothing is left: no file, and no process that the demo's daemon or its workers could be.
    fn is_tidy(&self) {
        let left: Vec<_> = fs::read_dir(self.at("tmp")).expect("there").flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        let alive = marked_with(&format!("TMPDIR={}", self.at("tmp").display()));
        assert!(alive.is_empty(), "still alive: {alive:?}");
    }
}

fn planted() -> Home {
    let home = Home::new();
    home.write("src/long.rs", &format!("fn endless() {{\n{}}}\n", "    x();\n".repeat(200)));
    home.write("src/odd\nname with %.py", "# FIXME: the name\n");
    home.write("-rf/notes.txt", "TODO: nothing\n");
    home.write("merge.txt", "<<<<<<< ours\n=======\n>>>>>>> theirs\n");
    home.write(".git/HEAD", "TODO: not ours\n");
    symlink("..", home.at("tree/src/loop")).expect("made");
    home
}

#[test]
fn a_tree_is_inspected_ranked_and_the_gaps_are_named() {
    let home = planted();
    let report = home.json(&["--json"]);
    assert_eq!(report["files"], 4);
    assert_eq!(report["left_out"]["links"], 1);
    assert_eq!(report["outcome"], "partial");

    let findings: Vec<String> = report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|finding| format!("{} {}:{}", finding["severity"], finding["file"], finding["line"]).replace('"', ""))
        .collect();
    assert_eq!(findings[..2], ["high merge.txt:1", "high src/long.rs:1"]);
    assert!(findings.contains(&"medium src/odd\\nname with %.py:1".into()), "{findings:?}");
    assert!(findings.contains(&"low -rf/notes.txt:1".into()), "{findings:?}");

    let missing = report["missing"].as_array().expect("a list");
    let gap = |number: usize, field: &str| missing[number][field].clone();
    assert_eq!((gap(0, "role"), gap(0, "error"), gap(0, "why")), ("w-flaky".into(), "failed".into(), "exit 1".into()));
    assert_eq!((gap(1, "role"), gap(1, "error")), ("w-slow".into(), "timed_out".into()));
    assert!(missing.len() == 2 && missing.iter().all(|gap| gap["on_purpose"] == true));

    let receipts = report["receipts"].as_array().expect("a list");
    assert_eq!(receipts.len(), 7);
    assert!(receipts.iter().all(|receipt| receipt["turn"].is_string() && receipt["times"]["settled"].is_u64()));
    assert!(report["wall_ms"].as_u64() >= Some(1900), "the slow worker gets its two seconds");
}

#[test]
fn people_get_places_receipts_and_both_clocks_without_colours_in_a_pipe() {
    let home = planted();
    let output = home.run(&[]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0));
    for part in ["src/long.rs:1 ", "(on purpose)", "Receipts", "timed_out", "Wall clock", "sum of the parts"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_empty_directory_is_inspected_too() {
    let home = Home::new();
    let report = home.json(&["--json"]);
    assert_eq!(report["files"], 0);
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(0));
    assert_eq!(report["missing"].as_array().map(Vec::len), Some(2));
}

#[test]
fn twenty_thousand_files_are_a_hundred_turns() {
    // So many files cost a busy disk minutes to make and to remove, which is not what is tested here.
    let memory = Path::new("/dev/shm");
    let home = if memory.is_dir() { Home::below(memory) } else { Home::new() };
    for folder in 0..20 {
        fs::create_dir(home.at(&format!("tree/{folder}"))).expect("made");
        for file in 0..1000 {
            fs::write(home.at(&format!("tree/{folder}/{file}.rs")), "// TODO: more\n").expect("written");
        }
    }
    let report = home.json(&["--json", "--top", "7"]);
    assert_eq!(report["files"], 20_000);
    assert_eq!(report["parts"], 24);
    assert_eq!(report["receipts"].as_array().map(Vec::len), Some(99));
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(7));
    assert_eq!(report["sums"][0]["found"], 20_000);
}

#[test]
fn the_users_own_configuration_plays_no_part() {
    let home = planted();
    fs::create_dir_all(home.at("home/.config/fleetd")).expect("made");
    fs::write(home.at("home/.config/fleetd/fleetd.toml"), "this is not toml").expect("written");
    fs::write(home.at("tree/fleetd.toml"), "listen = 7").expect("written");
    assert_eq!(home.json(&["--json"])["outcome"], "partial");
}

#[test]
fn what_is_no_directory_is_refused_by_name() {
    let home = planted();
    for dir in ["nothing", "merge.txt"] {
        let output = home.run(&[dir]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0));
        assert!(said.contains(dir) && said.contains("hint:"), "{said}");
    }
}

#[test]
fn nothing_to_show_is_no_demo() {
    let output = planted().run(&["--top", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--top"));
}

#[test]
fn the_charters_that_we_ship_pass_their_own_tests() {
    for charter in ["charters/default", "charters/demo"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(charter);
        let output = command.args(["charter", "test"]).arg(dir).output().expect("fleetd starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("ok   "), "{charter}: {said}");
    }
}

/// Waits until something is seen; a demo that ends before is an error.
fn wait_for(child: &mut Child, mut seen: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !seen() {
        let ended = child.try_wait().expect("asked");
        assert!(ended.is_none() && Instant::now() < end, "not seen before the end: {ended:?}");
        pause();
    }
}

#[allow(clippy::disallowed_methods, reason = "what another process does between two looks tells nobody")]
fn pause() {
    std::thread::sleep(Duration::from_millis(3));
}

fn scratch(home: &Home) -> Option<std::path::PathBuf> {
    fs::read_dir(home.at("tmp")).ok()?.flatten().map(|entry| entry.path()).next()
}

/// Returns whether a worker of this demo runs that has the script's name in its command line.
fn works(home: &Home, script: &str) -> bool {
    let Some(scratch) = scratch(home) else { return false };
    let needle = format!("bin/{script}.sh");
    let processes = fs::read_dir("/proc").expect("a /proc").flatten();
    processes.map(|entry| entry.path()).any(|process| {
        fs::read(process.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(&needle))
            && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&scratch))
    })
}

type Moment = fn(&Home) -> bool;

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_at_any_moment_ends_the_whole_tree_and_leaves_nothing() {
    let moments: [(&str, Moment); 5] = [
        ("the directory is made", |home| scratch(home).is_some()),
        ("the daemon has its state", |home| scratch(home).is_some_and(|dir| dir.join("state").exists())),
        ("the daemon listens", |home| scratch(home).is_some_and(|dir| Path::exists(&dir.join("state/daemon.json")))),
        ("an inspector runs", |home| works(home, "size")),
        ("the slow one sleeps", |home| works(home, "slow")),
    ];
    for (moment, seen) in moments {
        let home = planted();
        let mut child = home.demo(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("fleetd starts");
        wait_for(&mut child, || seen(&home));
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::INT).expect("sent");
        let _ = kill_process(pid, Signal::INT); // people press it twice
        let output = child.wait_with_output().expect("ended");
        assert_eq!(output.status.code(), Some(130), "when {moment}");
        assert!(output.stdout.is_empty(), "when {moment}");
        home.is_tidy();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_demo_left_is_removed_by_the_next() {
    let home = planted();
    let mut child = home.demo(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("fleetd starts");
    wait_for(&mut child, || scratch(&home).is_some_and(|dir| dir.join("state/daemon.json").exists()));
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(scratch(&home).is_some(), "a killed process tidies nothing up");
    home.json(&["--json"]);
}
