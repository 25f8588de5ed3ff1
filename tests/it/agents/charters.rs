//! A shipped charter with real agents: two kinds of them at the same task, each in a worktree, by the recipe as it is.
//! What the other charters' recipes do is in their own tests, with scripted workers.

use std::path::Path;

use serde_json::json;

use super::ROOT;
use super::team::Team;
use crate::recipes::stands_on_the_page;

#[test]
fn the_first_of_two_kinds_of_agents_wins_and_the_other_is_stopped() {
    let team = Team::called("");
    let charter = Path::new(ROOT).join("charters/best-of-n");
    let work = team.work().display().to_string();
    let shipped = std::fs::read_to_string(charter.join("team.lua")).unwrap();
    // It would work where the daemon was started.
    let placed = shipped.replace("worktree = true", &format!("worktree = true, cwd = \"{work}\""));
    assert_ne!(placed, shipped);
    team.house.write("team.lua", &placed);
    team.house.write("recipes/best.lua", &std::fs::read_to_string(charter.join("recipes/best.lua")).unwrap());
    let config = format!(
        "pane_host = \"embedded\"\n[endpoints.local-llm]\nurl = \"{url}\"\nkey_env = \"MODEL_KEY\"\n\
         [endpoints.chat]\nurl = \"{url}/v1\"\nkey_env = \"MODEL_KEY\"\n",
        url = team.model.url()
    );
    std::fs::write(team.house.path().join("fleetd.toml"), config).unwrap();
    let daemon = team.house.start();
    let commit = "git -c user.name=w -c user.email=w@example.org commit -q --allow-empty -m done";
    let (bash, small) = (json!({ "command": commit }), json!({ "done": true, "summary": "it is twice as fast" }));
    // Each of them has a tool of one of these names, and is told that it has none of the other.
    let task = format!("TOOL:bash:{bash} && TOOL:Bash:{bash}\nSAY:{small}");
    let job = json!({ "task": task, "n": 2 });
    let (status, run) = daemon.post("/v1/run", &json!({ "recipe": "first-of-n", "job": job, "wait": "2m" }));
    assert_eq!((status, &run["outcome"]), (200, &json!("done")), "{run}");
    let value = &run["value"];
    assert_eq!((&value["summary"], &value["work"]["commits"]), (&json!("it is twice as fast"), &json!(1)), "{run}");
    assert!(["claude", "opencode"].contains(&value["launcher"].as_str().unwrap()), "{run}");
    assert!(value["work"]["branch"].as_str().unwrap().starts_with("fleet/"), "{run}");
    let mut show = team.house.fleetd(&["run", "show", run["id"].as_str().unwrap(), "--state"]);
    let said = show.arg(team.house.state()).output().unwrap();
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    // Which of the two is the first is the machine's matter.
    stands_on_the_page("best-of-n", &shown, true);
}
