//! A run that failed, its charter mended, and the run resumed: through the door and the command line, with real processes.
//! And what is said where code and journal do not fit.

use serde_json::{Value, json};

use crate::support::{Daemon, House};

fn team(house: &House, recipe: &str) -> String {
    let log = house.path().join("log");
    format!(
        r#"
fleet.profile("part", {{
  launcher = "exec",
  command = {{ "sh", "-c", "read part; echo \"$part\" >> \"$LOG\"; echo \"did $part\"" }},
  env = {{ LOG = "{}" }},
}})
fleet.role("w", {{ profiles = {{ "part" }}, max_busy = 2 }})
fleet.recipe("job", {{}}, function(job, run)
  local first = run:send {{ to = "w", prompt = "first\n" }}
{recipe}
end)
"#,
        log.display()
    )
}

const BROKEN: &str = "  local second = run:send { to = \"w\", prompt = \"second\\n\" }\n  return first.txet.x";
const MENDED: &str =
    "  local second = run:send { to = \"w\", prompt = \"second\\n\" }\n  return { first.text, second.text }";
const OTHER: &str =
    "  local second = run:send { to = \"w\", prompt = \"another\\n\" }\n  return { first.text, second.text }";

fn saved(house: &House, daemon: &Daemon, recipe: &str) {
    house.write("team.lua", &team(house, recipe));
    let (status, charter) = daemon.post("/v1/charter/reload", &json!({}));
    assert_eq!(status, 200, "{charter}");
}

fn ended(daemon: &Daemon, run: &str) -> Value {
    let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
    assert_eq!(status, 200, "{ended}");
    ended
}

fn ran(house: &House) -> Vec<String> {
    std::fs::read_to_string(house.path().join("log")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_failed_run_is_resumed_with_the_mended_charter_and_does_nothing_twice() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, BROKEN));
    let daemon = house.start();
    let (_, begun) = daemon.post("/v1/run", &json!({ "recipe": "job" }));
    let run = begun["id"].as_str().unwrap().to_owned();
    let failed = ended(&daemon, &run);
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert!(failed["why"].as_str().unwrap().starts_with("team.lua:11: a reply has no `txet`"), "{failed}");

    // With the charter that it began with it comes to the same; with another step it does not fit.
    let (_, replayed) = daemon.get(&format!("/v1/runs/{run}/replay"));
    assert_eq!((&replayed["to"], replayed["steps"].as_array().unwrap().len()), (&json!("failed"), 2), "{replayed}");
    saved(&house, &daemon, OTHER);
    let (_, replayed) = daemon.get(&format!("/v1/runs/{run}/replay?charter=current"));
    assert_eq!(replayed["to"], "diverged", "{replayed}");
    let both = "divergence: the journal says that send#2 was run:send (to w: second) at team.lua:10, but the code came to run:send (to w: another) at team.lua:10";
    assert_eq!(replayed["why"], both, "{replayed}");
    let froms: Vec<&str> =
        replayed["steps"].as_array().unwrap().iter().map(|step| step["from"].as_str().unwrap()).collect();
    assert_eq!(froms, ["journal", "not_reached"]);
    let (status, resumed) = daemon.post(&format!("/v1/runs/{run}/resume"), &json!({}));
    assert_eq!(status, 202, "{resumed}");
    assert_eq!(ended(&daemon, &run)["why"], both, "what a replay shows is what happens");

    saved(&house, &daemon, MENDED);
    let (_, replayed) = daemon.get(&format!("/v1/runs/{run}/replay?charter=current"));
    assert_eq!(replayed["to"], "ended", "{replayed}");
    daemon.kill();
    let daemon = house.start();
    let (status, resumed) = daemon.post(&format!("/v1/runs/{run}/resume"), &json!({ "charter": "current" }));
    assert_eq!((status, &resumed["outcome"]), (202, &Value::Null), "{resumed}");
    let done = ended(&daemon, &run);
    assert_eq!((&done["outcome"], &done["value"]), (&json!("done"), &json!(["did first\n", "did second\n"])), "{done}");
    assert_eq!(ran(&house), ["first", "second"]);
    let (status, refused) = daemon.post(&format!("/v1/runs/{run}/resume"), &json!({}));
    assert_eq!(
        (status, refused["message"].as_str().unwrap().contains("only a failed run goes on")),
        (409, true),
        "{refused}"
    );
}

#[test]
fn code_that_leaves_out_what_the_journal_has_says_so() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, BROKEN));
    let daemon = house.start();
    let (_, begun) = daemon.post("/v1/run", &json!({ "recipe": "job" }));
    let run = begun["id"].as_str().unwrap().to_owned();
    ended(&daemon, &run);
    saved(&house, &daemon, "  return first.text");
    let (_, replayed) = daemon.get(&format!("/v1/runs/{run}/replay?charter=current"));
    let why = "divergence: the journal says that run:send (to w: second) was called at team.lua:10 as send#2, but the code of the recipe at team.lua:8 has ended";
    assert_eq!((&replayed["to"], &replayed["why"]), (&json!("diverged"), &json!(why)), "{replayed}");
    saved(&house, &daemon, "  run:sleep(1)\n  return run:send({ to = \"w\", prompt = \"second\\n\" }).text");
    let (_, replayed) = daemon.get(&format!("/v1/runs/{run}/replay?charter=current"));
    let why = "divergence: the journal says that run:send (to w: second) was called at team.lua:10 as send#2, but the code never came there; it waits for sleep#1 at team.lua:10";
    assert_eq!((&replayed["to"], &replayed["why"]), (&json!("diverged"), &json!(why)), "{replayed}");
    let (status, unknown) = daemon.get("/v1/runs/r99/replay");
    assert_eq!(status, 404, "{unknown}");
}
