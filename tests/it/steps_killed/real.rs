//! The same with the real daemon, killed by -9 as it comes to a step, and with real processes as workers.
//! The moments are near a step and not at a commit: that is what the other test is for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Daemon, House, PATIENCE};

/// Each worker writes down that it ran; a run below, a race and a vote among the steps.
const TEAM: &str = r#"
fleet.profile("part", {
  launcher = "exec",
  command = { "sh", "-c", "read part; echo \"$part\" >> \"$LOG\"; case $part in slow*) exec sleep 60;; esac; echo \"did $part\"" },
  env = { LOG = "LOGFILE" },
})
fleet.role("w", { profiles = { "part" }, max_busy = 4, max_waiting = 50 })

fleet.recipe("thirty", { deadline = "5m" }, function(job, run)
  local log = {}
  local function send(prompt) return run:send({ to = "w", prompt = prompt .. "\n" }) end
  for n = 1, 8 do
    run:progress("step %d", n)
    table.insert(log, send("part-" .. n).text)
  end
  for _, reply in ipairs(run:each({ 9, 10, 11 }, function(n) return send("part-" .. n) end)) do
    table.insert(log, reply.text)
  end
  table.insert(log, (run:race({ "slow-1", "quick" }, send)).text)
  table.insert(log, run:vote({ "same", "same ", "slow-2" }, function(word)
    return (send(word).text:gsub("%s+$", ""))
  end).votes)
  table.insert(log, run:recipe("inner", {}).value)
  return log
end)
fleet.recipe("inner", {}, function(job, run)
  run:sleep("10ms")
  return run:send({ to = "w", prompt = "inner\n" }).text
end)
"#;

#[test]
fn a_daemon_that_is_killed_at_its_steps_comes_to_the_same_and_starts_no_worker_twice() {
    let house = House::new(&[]);
    let log = house.path().join("log");
    house.write("team.lua", &TEAM.replace("LOGFILE", log.to_str().unwrap()));
    let start = json!({ "recipe": "thirty", "key": "thirty" });
    let mut daemon = house.start();
    let (_, begun) = daemon.post("/v1/run", &start);
    let run = begun["id"].as_str().unwrap().to_string();
    for finished in [1, 4, 9, 14, 18, 21, 24, 26] {
        until_step(&daemon, &run, finished);
        daemon.kill();
        daemon = house.start();
    }
    let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
    assert_eq!((status, ended["outcome"].as_str()), (200, Some("done")), "{ended}");
    let mut wanted: Vec<Value> = (1..=11).map(|n| json!(format!("did part-{n}\n"))).collect();
    wanted.extend([json!("did quick\n"), json!(2), json!("did inner\n")]);
    assert_eq!(ended["value"], json!(wanted));
    let mut times = BTreeMap::new();
    for line in std::fs::read_to_string(&log).unwrap().lines() {
        *times.entry(line.trim().to_string()).or_insert(0) += 1;
    }
    assert_eq!(times.remove("same"), Some(2), "two parts say it");
    assert!(times.values().all(|n| *n == 1), "a worker was started twice for a step: {times:?}");
    assert_eq!(daemon.terminate(), Some(0));
}

/// Waits until so many steps are finished, or the run is; each look is a request, so nothing spins hard.
fn until_step(daemon: &Daemon, run: &str, finished: u64) {
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        let (_, detail) = daemon.get(&format!("/v1/runs/{run}"));
        if detail["finished_steps"].as_u64() >= Some(finished) || !detail["outcome"].is_null() {
            return;
        }
        assert!(std::time::Instant::now() < until, "{detail}");
    }
}
