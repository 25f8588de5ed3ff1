//! The shipped charters of agents in one: an engineer who wants several copies each into a directory of its own below it.
//! `default`, `minimal` and `demo` are not among them: their teams are commands to try fleetd with.

use std::fs;
use std::path::Path;
use std::process::Command;

const SETS: [&str; 6] = ["best-of-n", "bug-hunt", "exec", "implement", "night-shift", "review"];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn all_shipped_recipes_load_side_by_side_and_pass_their_tests() {
    let dir = tempfile::tempdir().unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("charters");
    for set in SETS {
        copy(&shipped.join(set), &dir.path().join(set));
        fs::remove_dir_all(dir.path().join(set).join("tests")).unwrap();
    }
    // One set's tests at a time: all of them have only five seconds, and here the machine has other things to do.
    for set in SETS {
        let tests = dir.path().join(set).join("tests");
        copy(&shipped.join(set).join("tests"), &tests);
        let mut fleetd = Command::new(env!("CARGO_BIN_EXE_fleetd"));
        let done =
            fleetd.args(["charter", "test"]).arg(dir.path()).env_clear().env("LANG", "C.UTF-8").output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{set}: {said}{}", String::from_utf8_lossy(&done.stderr));
        fs::remove_dir_all(tests).unwrap();
    }
}
