//! Workers over lines through the doors of a real daemon that is killed again and again, by a launcher that a charter
//! brings along.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::house::PROGRAM;
use crate::support::{House, until};

const TEAM: &str = r#"
fleet.launcher("liner", function(worker)
  return {
    drive = "lines", argv = { "sh", "@PLACE@/program" },
    lines = { say = { say = worker.text }, interrupt = { stop = true } },
    signs = {
      { is = "taken", any = { "took" }, text = "took.say" },
      { is = "replied", on = { ["end"] = "ok" }, text = "text" },
      { is = "interrupted", on = { ["end"] = "stopped" } },
    },
  }
end)
fleet.profile("p", { launcher = "liner", env = { PLACE = "@PLACE@" } })
fleet.role("s", { profiles = { "p" }, max_busy = 4, max_waiting = 100 })
"#;

#[test]
fn ten_kills_of_the_daemon_and_no_text_is_given_twice() {
    // What has hooks must find the daemon where it was.
    let house = House::new(&[]).same_port();
    let place = house.path().display().to_string();
    std::fs::write(house.path().join("program"), PROGRAM).unwrap();
    house.write("team.lua", &TEAM.replace("@PLACE@", &place));
    let given = || -> Vec<String> {
        let text = std::fs::read_to_string(house.path().join("given")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["say"].as_str().unwrap().into()).collect()
    };
    let mut daemon = house.start();
    for _ in 0..2 {
        let (status, worker) = daemon.post("/v1/spawn", &json!({ "role": "s" }));
        assert_eq!((status, &worker["state"]), (200, &json!("ready")), "{worker}");
    }
    let turns: Vec<String> = (0..10)
        .map(|n| {
            let (status, sent) = daemon.post("/v1/send", &json!({ "role": "s", "prompt": format!("part {n}") }));
            assert_eq!(status, 202, "{sent}");
            sent["turn"].as_str().or(sent["turn"]["id"].as_str()).or(sent["id"].as_str()).unwrap().to_owned()
        })
        .collect();
    for n in 0..10 {
        // Somewhere in the work, a little later each time.
        let done = given().len();
        until("some of it", || {
            let settled = |turn: &String| daemon.get(&format!("/v1/turns/{turn}")).1["state"] == "settled";
            (given().len() > done || turns.iter().all(settled)).then_some(())
        });
        let until = Instant::now() + Duration::from_millis(n * 17);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        daemon.kill();
        daemon = house.start();
    }
    for (n, turn) in turns.iter().enumerate() {
        let (status, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
        let times = given().iter().filter(|text| text.ends_with(&format!("\npart {n}"))).count();
        let outcome = envelope["outcome"].as_str().unwrap_or_default();
        assert_eq!(status, 200, "part {n}: {envelope}");
        // Killed between its note and its line, a text was not given, and nobody can know that.
        let fits = matches!((outcome, times), ("replied", 1) | ("unknown", 0 | 1));
        assert!(fits, "part {n} was given {times} times: {envelope}");
    }
}
