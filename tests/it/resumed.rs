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

fn begun(daemon: &Daemon) -> String {
    let (_, begun) = daemon.post("/v1/run", &json!({ "recipe": "job" }));
    begun["id"].as_str().unwrap().to_owned()
}

fn resumed(daemon: &Daemon, run: &str) {
    let (status, resumed) = daemon.post(&format!("/v1/runs/{run}/resume"), &json!({}));
    assert_eq!(status, 202, "{resumed}");
}

fn ran(house: &House) -> Vec<String> {
    std::fs::read_to_string(house.path().join("log")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_failed_run_is_resumed_with_the_mended_charter_and_does_nothing_twice() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, BROKEN));
    let daemon = house.start();
    let run = begun(&daemon);
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
    let run = begun(&daemon);
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

#[test]
fn a_run_is_resumed_in_the_daemon_in_which_it_failed_though_nothing_else_runs() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, "  error('boom')"));
    let daemon = house.start();
    let run = begun(&daemon);
    assert_eq!(ended(&daemon, &run)["outcome"], "failed");
    let more = "  run:sleep(0.01)\n  return run:send({ to = \"w\", prompt = \"second\\n\" }).text";
    saved(&house, &daemon, more);
    resumed(&daemon, &run);
    let done = ended(&daemon, &run);
    assert_eq!((&done["outcome"], &done["value"]), (&json!("done"), &json!("did second\n")), "{done}");
    assert_eq!(ran(&house), ["first", "second"]);
}

#[test]
fn a_refusal_whose_reason_is_gone_is_not_told_again() {
    let house = House::new(&[]);
    let config = |allow: &str| {
        std::fs::write(house.path().join("fleetd.toml"), format!("[commands]\nallow = [{allow}]\n")).unwrap();
    };
    config("");
    // Of the parts the first is at its second step when the other one is refused, and ends with it.
    let recipe = r#"
  local caught = pcall(run.command, run, { "true" })
  local parts = run:each({ "w", "later" }, function(role, n)
    if n == 1 then run:send { to = role, prompt = "part\n" } else run:sleep(0.01) end
    return run:send({ to = role, prompt = n .. "\n" }).text
  end)
  return { caught, parts[1], parts[2], run:command({ "echo", "x" }).text }
"#;
    house.write("team.lua", &team(&house, recipe));
    let daemon = house.start();
    let run = begun(&daemon);
    let failed = ended(&daemon, &run);
    assert!(failed["why"].as_str().unwrap().contains("there is no worker 'later'"), "{failed}");
    let role = "fleet.role(\"later\", { profiles = { \"part\" } })\n";
    house.write("later.lua", role);
    let (status, charter) = daemon.post("/v1/charter/reload", &json!({}));
    assert_eq!(status, 200, "{charter}");
    let (_, replayed) = daemon.get(&format!("/v1/runs/{run}/replay?charter=current"));
    assert_eq!(replayed["to"], "waits", "what a replay shows is what happens: {replayed}");
    resumed(&daemon, &run);
    let failed = ended(&daemon, &run);
    assert!(failed["why"].as_str().unwrap().contains("'echo' is not in [commands] allow"), "{failed}");

    daemon.kill();
    config("\"echo\", \"true\"");
    let daemon = house.start();
    resumed(&daemon, &run);
    let done = ended(&daemon, &run);
    // The refusal that it went on from is the one thing that stays.
    let value = json!([false, "did 1\n", "did 2\n", "x\n"]);
    assert_eq!((&done["outcome"], &done["value"]), (&json!("done"), &value), "{done}");
    assert_eq!(ran(&house).iter().filter(|line| *line == "2").count(), 1, "{:?}", ran(&house));
}

#[test]
fn a_run_whose_charter_is_not_kept_stays_as_it_is_when_it_is_resumed_with_that() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, BROKEN));
    let daemon = house.start();
    let run = begun(&daemon);
    let failed = ended(&daemon, &run);
    saved(&house, &daemon, MENDED);
    daemon.kill();
    let by_hand = rusqlite::Connection::open(house.state().join("fleet.db")).unwrap();
    let hash = failed["generation"]["hash"].as_str().unwrap();
    assert_eq!(by_hand.execute("DELETE FROM sources WHERE hash = ?1", [hash]).unwrap(), 1);
    drop(by_hand);
    let daemon = house.start();
    let (status, refused) = daemon.post(&format!("/v1/runs/{run}/resume"), &json!({ "charter": "begun" }));
    let message = format!("the charter that {run} began with is not kept any more");
    assert_eq!((status, &refused["message"]), (404, &json!(message)), "{refused}");
    let (_, shown) = daemon.get(&format!("/v1/runs/{run}"));
    assert_eq!(
        (&shown["outcome"], &shown["why"], &shown["ended"]),
        (&failed["outcome"], &failed["why"], &failed["ended"])
    );
    resumed(&daemon, &run);
    assert_eq!(ended(&daemon, &run)["outcome"], "done");
}
