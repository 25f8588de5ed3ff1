//! `fleetd init`, and the commands on a charter that need no daemon.
//! Nothing listens while these run, so a command that began to ask a daemon would fail here.

use serde_json::{Value, json};

use super::{Said, TEAM, fleetd};
use crate::support::House;

#[test]
fn a_first_charter_is_written_once_and_passes() {
    let house = House::new(&[]);
    let run = |args: &[&str]| Said::of(house.fleetd(args).output().unwrap());

    let said = run(&["init", "team", "--dry-run"]).ends(0);
    assert!(said.out.contains("would write team/fleetd.toml"), "{said:?}");
    assert!(!house.path().join("team").exists(), "a dry run writes nothing");

    let said = run(&["init", "team"]).ends(0);
    assert!(said.out.contains("wrote team/charters/default/team.lua"), "{said:?}");
    assert!(said.err.contains("cd team && fleetd charter check && fleetd serve"), "{said:?}");

    let mine = house.path().join("team/charters/default/routes.lua");
    std::fs::write(&mine, "-- mine\n").unwrap();
    let said = run(&["init", "team", "--json"]).ends(0).json();
    assert_eq!(said["written"], json!([]));
    assert!(said["kept"].as_array().unwrap().contains(&json!("team/charters/default/routes.lua")), "{said}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "-- mine\n");

    let team = house.path().join("team/charters/default/team.lua");
    std::fs::rename(&team, team.with_file_name("ours.lua")).unwrap();
    let said = run(&["init", "team"]).ends(0);
    assert!(said.out.contains("left out team/charters/default/team.lua: a charter is there already"), "{said:?}");
    assert!(!team.exists(), "nothing is added to a charter");
    std::fs::rename(team.with_file_name("ours.lua"), &team).unwrap();

    let mut check = house.fleetd(&["charter", "check"]);
    let said = Said::of(check.current_dir(house.path().join("team")).output().unwrap()).ends(0);
    assert!(said.out.contains("w-echo"), "{said:?}");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let house = House::new(&[]);
    std::fs::write(house.path().join("file"), "").unwrap();
    let said = Said::of(house.fleetd(&["init", "file"]).output().unwrap()).ends(1);
    assert!(said.err.starts_with("error: cannot "), "{said:?}");
    assert!(said.err.contains("file/"), "{said:?}");
}

#[test]
fn a_charter_is_checked_without_a_daemon() {
    let house = House::new(&[("team.lua", TEAM)]);
    let said = fleetd(&house, &["charter", "check", "charter"]).ends(0);
    assert!(said.out.contains("w-upper") && said.out.contains("shout"), "{said:?}");

    house.write("late.lua", "fleet.role(\"w-x\", { profiles = { \"uper\" }, max_busy = 1, max_waiting = 1 })\n");
    let said = fleetd(&house, &["charter", "check", "charter"]).ends(1);
    assert!(said.out.contains("charter/late.lua:1:"), "{said:?}");
    assert!(said.out.contains("did you mean 'upper'?"), "{said:?}");
    let report = fleetd(&house, &["charter", "check", "charter", "--json"]).ends(1).json();
    assert_eq!(report["ok"], false);
    assert_eq!(report["errors"][0]["line"], 1);

    let said = fleetd(&house, &["charter", "check"]).ends(1);
    assert!(said.err.contains("there is no charter here"), "{said:?}");
}

#[test]
fn the_tests_of_a_charter_run_without_a_daemon() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/charters/default");
    let house = House::new(&[("team.lua", TEAM)]);
    let said = fleetd(&house, &["charter", "test", root]).ends(0);
    assert!(said.out.lines().all(|line| line.starts_with("ok")), "{said:?}");
    assert!(said.err.contains("0 failed"), "{said:?}");

    house.write("bad.lua", "fleet.test(\"two is three\", function(t) t.equal(2, 3) end)\n");
    let said = fleetd(&house, &["charter", "test", "charter"]).ends(1);
    assert!(said.out.contains("FAIL two is three (charter/bad.lua:1)"), "{said:?}");
    let report = fleetd(&house, &["charter", "test", "charter", "--json"]).ends(1).json();
    assert_eq!(report["tests"][0]["passed"], false);
}

#[test]
fn a_charter_tells_where_a_task_would_go_without_a_daemon() {
    let house = House::new(&[("team.lua", TEAM)]);
    let said = fleetd(&house, &["charter", "route", "--dir", "charter", "--kind", "loud", "Hey"]).ends(0);
    assert!(said.out.contains("w-upper, because the task is to be loud"), "{said:?}");
    let routed = fleetd(&house, &["charter", "route", "--dir", "charter", "--kind", "loud", "--json"]).ends(0).json();
    assert_eq!(routed["to"]["role"], "w-upper");
    let said = fleetd(&house, &["charter", "route", "--dir", "charter", "Hey", "--json"]).ends(4);
    assert!(said.json()["kind"] != Value::Null, "{said:?}");
}
