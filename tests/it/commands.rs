//! Commands of runs with the real daemon: what fleetd.toml lists and nothing else, once over any kill, in time and without a
//! shell.

use serde_json::json;

use crate::support::House;

const TEAM: &str = r#"
fleet.recipe("commands", { input = { program = "string" } }, function(job, run)
  local ok, why = pcall(run.command, run, { job.program, "x" })
  if not ok then return { refused = why } end
  return { refused = "nothing" }
end)
fleet.recipe("once", { input = { log = "string" } }, function(job, run)
  local slow = run:command({ "tee", "-a", job.log }, { stdin = "started\n", cwd = "/" })
  local quoted = run:command({ "echo", "a b", "$HOME; ls", "*" })
  local failed = run:command({ "false" })
  local late = run:command({ "sleep", "60" }, { timeout = "300ms" })
  local shown = run:command({ "env" })
  return {
    slow = slow.text, quoted = quoted.text, failed = { failed.ok, failed.error, failed.exit.code },
    late = late.error, secret = shown.text:find("OUR_SECRET", 1, true) ~= nil,
  }
end)
"#;

fn house() -> House {
    let house = House::new(&[("team.lua", TEAM)]);
    let allow = r#"["tee", "echo", "false", "sleep", "env"]"#;
    std::fs::write(house.path().join("fleetd.toml"), format!("[commands]\nallow = {allow}\n")).unwrap();
    house
}

#[test]
fn what_is_not_listed_is_an_error_at_its_line_that_names_what_is() {
    let house = house();
    let daemon = house.start();
    let (_, ended) =
        daemon.post("/v1/run", &json!({ "recipe": "commands", "job": { "program": "sh" }, "wait": "30s" }));
    let why = "team.lua:3: run:command: 'sh' is not in [commands] allow of fleetd.toml; allowed: tee, echo, false, sleep, env";
    assert_eq!(ended["value"]["refused"], why, "{ended}");
}

#[test]
fn commands_run_once_without_a_shell_and_in_time_over_kills() {
    let house = house();
    let log = house.path().join("log");
    let mut daemon = house.start();
    let start = json!({ "recipe": "once", "job": { "log": log }, "key": "once" });
    let (_, begun) = daemon.post("/v1/run", &start);
    let run = begun["id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        daemon.get(&format!("/v1/runs/{run}/wait?wait=100ms"));
        daemon.kill();
        daemon = house.start();
    }
    let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
    assert_eq!((status, &ended["outcome"]), (200, &json!("done")), "{ended}");
    assert_eq!(
        ended["value"],
        json!({ "slow": "started\n", "quoted": "a b $HOME; ls *\n", "failed": [false, "failed", 1], "late": "timed_out", "secret": false })
    );
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "started\n", "it was started once");
    let (_, list) = daemon.get("/v1/list");
    assert_eq!(list["workers"], json!([]), "{list}");
}
