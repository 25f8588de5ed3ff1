//! The real daemon is killed with -9 again and again while it works; nothing is lost, doubled or made up.
//! The moments are random and the seed is printed. What one commit does under a kill is tested in `store_crash`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Daemon, House, PATIENCE};

/// Appends to a log before and after its work, so that a part that ran twice is seen.
const TEAM: &str = r#"
fleet.profile("part", {
  launcher = "exec",
  command = { "sh", "-c", "read part; echo \"$part $FLEET_TURN\" >> \"$LOG\"; sleep 0.4; echo \"did $part\"" },
  env = { LOG = "LOGFILE" },
  timeout = "60s",
})
fleet.role("w", { profiles = { "part" }, max_busy = 4, max_waiting = 8 })

fleet.recipe("forty", { input = { parts = "string[]" }, deadline = "5m" }, function(job, run)
  local replies = run:each(job.parts, function(part)
    return run:send { to = "w", prompt = part .. "\n" }
  end)
  local found, missing = run:split(replies)
  local texts = {}
  for i, reply in ipairs(found) do
    texts[i] = reply.text
  end
  return { texts = texts, missing = #missing }
end)
"#;

fn house() -> (House, std::path::PathBuf) {
    let house = House::new(&[]);
    let log = house.path().join("log");
    house.write("team.lua", &TEAM.replace("LOGFILE", log.to_str().unwrap()));
    (house, log)
}

/// Small and seeded: a failure prints the seed, and the same seed gives the same delays.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

#[test]
fn a_forty_part_run_survives_twenty_kills_and_each_part_runs_once() {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    println!("seed {seed}");
    let mut random = Random(seed);
    let (house, log) = house();
    let parts: Vec<String> = (1..=40).map(|n| format!("part-{n}")).collect();
    let start = json!({ "recipe": "forty", "job": { "parts": parts }, "key": "the-forty" });

    let mut daemon = house.start();
    let (status, begun) = daemon.post("/v1/run", &start);
    assert_eq!(status, 202, "{begun}");
    let run = begun["id"].as_str().unwrap().to_string();
    for kill in 1..=20 {
        // The moment is the point: somewhere within the work, never twice the same.
        let until = Instant::now() + Duration::from_millis(random.next(120));
        while Instant::now() < until {
            std::thread::yield_now();
        }
        daemon.kill();
        daemon = house.start();
        let (status, again) = daemon.post("/v1/run", &start);
        assert_eq!((status, again["id"].as_str()), (202, Some(run.as_str())), "after kill {kill}: {again}");
    }

    let ended = wait_for_end(&daemon, &run);
    assert_eq!(ended["outcome"], "done", "{ended}");
    let wanted: Vec<String> = parts.iter().map(|part| format!("did {part}\n")).collect();
    assert_eq!(ended["value"], json!({ "texts": wanted, "missing": 0 }));

    let mut times = BTreeMap::new();
    for line in std::fs::read_to_string(&log).unwrap().lines() {
        *times.entry(line.split(' ').next().unwrap().to_string()).or_insert(0) += 1;
    }
    assert_eq!(times.len(), 40, "{times:?}");
    assert!(times.values().all(|n| *n == 1), "a part ran twice: {times:?}");

    let (_, mail) = daemon.get("/v1/poll");
    let about_run = |item: &&Value| item["run"]["id"] == run.as_str();
    assert_eq!(mail["messages"].as_array().unwrap().iter().filter(about_run).count(), 1, "one result: {mail}");
    assert_eq!(daemon.terminate(), Some(0));
}

#[test]
fn a_killed_pane_exec_leaves_its_turn_unknown_and_is_not_tried_again() {
    let (house, log) = house();
    let daemon = house.start();
    let (_, sent) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": "alone\n" }));
    let turn = sent["id"].as_str().unwrap().to_string();
    let process = wait_for(|| {
        let (_, list) = daemon.get("/v1/list");
        list["workers"][0]["process"]["pid"].as_i64()
    });
    wait_for(|| std::fs::read_to_string(&log).ok().filter(|text| !text.is_empty()));
    let pid = rustix::process::Pid::from_raw(process as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();

    let (status, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=60s"));
    assert_eq!((status, envelope["outcome"].as_str()), (200, Some("unknown")), "{envelope}");
    assert!(!envelope["why"].as_str().unwrap().is_empty());
    // The worker is free again, and the turn was not sent a second time by itself.
    let (_, second) = daemon.post("/message", &json!({ "role": "w", "prompt": "second\n" }));
    assert_eq!(second["text"], "did second\n", "{second}");
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().filter(|line| line.starts_with("alone")).count(), 1);
}

#[test]
fn the_same_envelope_is_there_after_a_kill() {
    let (house, _) = house();
    let daemon = house.start();
    let body = json!({ "role": "w", "prompt": "one\n", "key": "k" });
    let (status, before) = daemon.post("/message", &body);
    assert_eq!((status, before["text"].as_str()), (200, Some("did one\n")), "{before}");
    daemon.kill();

    let daemon = house.start();
    let (_, charter) = daemon.get("/v1/charter");
    assert_eq!(charter["generation"]["number"], 1, "the files are the same, so their number is: {charter}");
    let (status, after) = daemon.post("/message", &body);
    assert_eq!((status, &after), (200, &before));
    let (_, mail) = daemon.get("/v1/poll");
    assert_eq!(mail["messages"][0]["reply"], before, "it waits until it is acknowledged: {mail}");
    let message = mail["messages"][0]["message"].clone();
    let (_, acked) = daemon.post("/v1/ack", &json!({ "messages": [message] }));
    assert_eq!(acked, json!({ "acked": [message], "unknown": [] }));
    let (_, mail) = daemon.get("/v1/poll");
    assert_eq!(mail["messages"], json!([]));
}

#[test]
fn a_reply_that_was_written_in_time_counts_although_nobody_looked_before_the_deadline() {
    let (house, log) = house();
    let daemon = house.start();
    let begun = Instant::now();
    let (_, sent) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": "alone\n", "deadline": "2s" }));
    let turn = sent["id"].as_str().unwrap().to_string();
    wait_for(|| std::fs::read_to_string(&log).ok().filter(|text| !text.is_empty()));
    daemon.kill();
    // The deadline itself is what is waited for: the worker ends long before it, the daemon comes back after it.
    while begun.elapsed() < Duration::from_millis(2_500) {
        std::thread::yield_now();
    }
    let daemon = house.start();
    let (_, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=60s"));
    assert_eq!((envelope["outcome"].as_str(), envelope["text"].as_str()), (Some("replied"), Some("did alone\n")));
}

fn wait_for_end(daemon: &Daemon, run: &str) -> Value {
    let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
    assert_eq!(status, 200, "{ended}");
    ended
}

/// Asks again until there is an answer; the question itself takes its time, so nothing spins.
fn wait_for<T>(ask: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < until, "it did not come in time");
        std::thread::yield_now();
    }
}
