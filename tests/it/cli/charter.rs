//! `fleetd charter new`, `watch` and `diff`: what an author has beside an editor.
//! What a mistake is told as stands in the corpus of broken charters; here it is only seen that it is told at all.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{Said, TEAM, fleetd};
use crate::support::House;

#[test]
fn every_template_is_a_charter_that_passes_with_its_editor_files_beside_it() {
    let house = House::new(&[]);
    let said = fleetd(&house, &["charter", "new", "x", "--template", "nothing"]).ends(1);
    assert!(said.err.contains("there is no template 'nothing'"), "{said:?}");
    let valid = said.err.lines().find_map(|line| line.split_once("valid: ")).expect("it names the valid ones").1;
    let templates: Vec<&str> = valid.split(", ").collect();
    assert!(templates.contains(&"minimal") && templates.contains(&"default"), "{templates:?}");
    for template in templates {
        let said = fleetd(&house, &["charter", "new", template, "--template", template]).ends(0);
        assert!(said.err.contains(&format!("fleetd charter watch {template}")), "{said:?}");
        fleetd(&house, &["charter", "check", template]).ends(0);
        fleetd(&house, &["charter", "test", template]).ends(0);
        for file in [".luarc.json", "selene.toml", "fleet.yml", "stylua.toml", ".meta/fleet.lua", ".meta/world.lua"] {
            assert!(house.path().join(template).join(file).is_file(), "{template}: {file}");
        }
    }
    let settings = std::fs::read_to_string(house.path().join("minimal/.luarc.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["workspace.library"], json!([".meta"]));
}

#[test]
fn a_charter_that_is_there_is_not_written_into() {
    let house = House::new(&[("recipes/mine.lua", "-- mine\n")]);
    let said = fleetd(&house, &["charter", "new", "charter"]).ends(1);
    assert!(said.err.contains("charter holds a charter already: charter/recipes/mine.lua is there"), "{said:?}");
    assert!(!house.charter().join("team.lua").exists());
    std::fs::create_dir(house.path().join("notes")).unwrap();
    std::fs::write(house.path().join("notes/stylua.toml"), "mine").unwrap();
    let done = fleetd(&house, &["charter", "new", "notes", "--json"]).ends(0).json();
    assert_eq!(done["kept"], json!(["notes/stylua.toml"]), "{done}");
    assert_eq!(std::fs::read_to_string(house.path().join("notes/stylua.toml")).unwrap(), "mine");
}

/// A `charter watch` that is read line by line, and ended with the test.
struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn of(house: &House) -> Watch {
        let mut command = house.fleetd(&["charter", "watch", "charter", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Watch { child, lines }
    }

    /// Returns the first round that fits; a round may fall between the steps of a save.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let round: Value = serde_json::from_str(&self.lines.next().expect("it goes on").unwrap()).unwrap();
            if fits(&round) {
                return round;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watched_charter_is_checked_and_tested_at_each_save() {
    let test = |wanted: &str| format!("fleet.test('t', function(t) t.equal(1, {wanted}) end)\n");
    let house = House::new(&[("team.lua", TEAM), ("tests/t.lua", &test("1"))]);
    let mut watch = Watch::of(&house);
    let says = |words: &'static str| move |round: &Value| round.to_string().contains(words);
    let first = watch.until(|_| true);
    assert_eq!((&first["check"]["ok"], &first["tests"]["tests"][0]["passed"]), (&json!(true), &json!(true)), "{first}");
    house.write("tests/t.lua", &test("2"));
    let second = watch.until(says("wanted 2, got 1"));
    assert_eq!(second["tests"]["tests"][0]["passed"], false, "{second}");
    house.write("tests/t.lua", "fleet.tset()\n");
    let third = watch.until(says("no `tset`; did you mean `test`?"));
    assert_eq!((&third["check"]["ok"], third.get("tests")), (&json!(false), None), "{third}");
    std::fs::remove_dir_all(house.charter()).unwrap();
    watch.until(says("cannot read the charter directory charter: "));
    house.write("team.lua", TEAM);
    watch.until(|round| round["check"]["ok"] == true);
}

#[test]
fn a_difference_is_told_of_what_lies_there_of_a_directory_and_of_two() {
    let house = House::new(&[("team.lua", TEAM)]);
    let run = |args: &[&str]| {
        Said::of(house.fleetd(&[&["--state", "state", "charter", "diff"], args].concat()).output().unwrap())
    };
    let said = run(&[]).ends(5);
    assert!(said.err.contains("no fleetd is running"), "{said:?}");
    let _daemon = house.start();
    assert_eq!(run(&[]).ends(0).out, "nothing would change\n");

    // Beside it, so that the daemon does not take it.
    let next = house.path().join("next");
    std::fs::create_dir(&next).unwrap();
    std::fs::write(
        next.join("team.lua"),
        TEAM.replace("profiles = { \"upper\" }, max_busy = 2", "profiles = { \"upper\" }, max_busy = 1"),
    )
    .unwrap();
    let words = "what would change:\n  role 'w-upper': max_busy 2 → 1; what is busy goes on, and nothing more starts before fewer than 1\n  are\n  team.lua: line 5 differs\n";
    assert_eq!(run(&["next"]).ends(0).out, words);
    assert_eq!(run(&["charter", "next"]).ends(0).out, words);
    let told = run(&["charter", "next", "--json"]).ends(0).json();
    assert_eq!((&told["changes"][0]["of"], &told["changes"][0]["name"]), (&json!("role"), &json!("w-upper")), "{told}");

    std::fs::write(next.join("late.lua"), "fleet.rolle()\n").unwrap();
    let said = run(&["next"]).ends(1);
    assert!(
        said.out.starts_with("the files would be refused:\n  late.lua:1: no `rolle`; did you mean `role`?\n"),
        "{said:?}"
    );
    assert!(said.out.contains("what differs:\n  late.lua is new, with 1 line\n"), "{said:?}");
}
