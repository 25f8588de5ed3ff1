//! What a charter's handlers do to sessions, through a real daemon and with a real interactive program.
//! The handler is the shipped one of `night-shift`; what is not its own (the program, the hours) is put in its place.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::worker_of;
use crate::support::{House, until};

/// The first one that is started opens a dialog at its first text; the others do what they are told.
const AGENT: &str = r#"#!/bin/sh
if mkdir "$HOME/first"; then exec AGENT --dialog-on-paste "May I?"; fi
exec AGENT --collapse 200 --reply "FLEETD reply --own '{\"done\": true, \"summary\": \"did it\", \"open\": []}'"
"#;

/// Returns the text with everything from one mark up to the next other one replaced.
fn between(text: &str, from: &str, to: &str, by: &str) -> String {
    let (before, rest) = text.split_once(from).expect(from);
    let (_, after) = rest.split_once(to).expect(to);
    format!("{before}{from}{by}{to}{after}")
}

#[test]
fn a_dialog_at_night_costs_the_worker_and_the_task_is_done_by_another_one() {
    let fleetd = env!("CARGO_BIN_EXE_fleetd");
    let house = House::new(&[]);
    let script = house.path().join("agent.sh");
    let agent = PathBuf::from(fleetd).with_file_name("test-agent").display().to_string();
    std::fs::write(&script, AGENT.replace("AGENT", &agent).replace("FLEETD", fleetd)).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let charter = Path::new(env!("CARGO_MANIFEST_DIR")).join("charters/night-shift");
    let shipped = std::fs::read_to_string(charter.join("team.lua")).unwrap();
    let typed = format!(
        "\n  launcher = \"typed\", command = {{ \"{}\" }}, typing = {{ quiet = \"200ms\", ready_timeout = \"30s\" }},\n",
        script.display()
    );
    let team = between(&shipped, "fleet.profile(\"night\", {", "})", &typed);
    let team = between(&team, "fleet.role(\"w-night\", {", "})", "profiles = { \"night\" }, max_busy = 2");
    house.write("team.lua", &team);
    let recipe = "recipes/night_shift.lua";
    house.write(recipe, &std::fs::read_to_string(charter.join(recipe)).unwrap());
    std::fs::write(house.path().join("fleetd.toml"), "pane_host = \"embedded\"\n").unwrap();
    let daemon = house.start();
    let job = json!({ "tasks": ["mend the roof"] });
    let (status, run) = daemon.post("/v1/run", &json!({ "recipe": "night-shift", "job": job, "wait": "55s" }));
    assert_eq!((status, &run["outcome"]), (200, &json!("done")), "{run}");
    assert_eq!(run["value"]["done"][0]["worker"], "w-night-2", "{run}");
    until("the first one is gone", || worker_of(&daemon, "w-night-1").is_none().then_some(()));
}
