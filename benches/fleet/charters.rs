//! What a charter costs the daemon: rubrics, steps of runs beside their commit, runs that wait, a reload.
//! The daemon is the built program, and all is asked for at its doors.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::daemon::Serving;
use crate::figures::{bare_commit, median};
use crate::http::Connection;
use crate::table::Table;

const STEPS: usize = 1_000;
const WAITING: usize = 10_000;
const ROUTES: usize = 5_000;
const SENDS: usize = 2_000;

const TEAM: &str = r#"
fleet.profile("true", { launcher = "exec", command = { "true" } })
fleet.profile("sleep", { launcher = "exec", command = { "sleep", "600" } })
fleet.role("w-true", { profiles = { "true" }, max_busy = 4, max_waiting = 100 })
fleet.role("w-sleep", { profiles = { "sleep" }, max_busy = 1, max_waiting = 200000 })
fleet.route("bulk", function(task, team)
  if task.kind == "bulk" and team.roles["w-true"].free > 0 then
    return { role = "w-true", because = "bulk work and a worker is free" }
  end
end)
fleet.route("otherwise", function(task)
  local role = task.kind == "later" and "w-sleep" or "w-true"
  return { role = role, because = "no rubric said otherwise" }
end)
fleet.recipe("steps", { input = { count = "integer" } }, function(job, run)
  for n = 1, job.count do run:note("n", n) end
  return job.count
end)
fleet.recipe("waits", {}, function(job, run)
  run:sleep("10h")
end)
"#;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let dir = TempDir::new().expect("a directory");
    let charter = dir.path().join("charter");
    std::fs::create_dir(&charter).expect("a directory");
    std::fs::write(charter.join("team.lua"), TEAM).expect("a charter");
    let daemon = Serving::start(dir.path());
    let mut connection = Connection::open(&daemon.url);
    route_often(&mut connection, r#"{"prompt":"x","kind":"bulk"}"#);
    table.plain("two rubrics", rubric_times(&mut connection), "bar: 50 µs at p99");
    steps(table, &mut connection, dir.path());
    reload(table, &mut connection, &charter);
    let (idle, begun, mut waiting) = (daemon.resident(), Instant::now(), 0);
    loop {
        match connection.post("/v1/run", r#"{"recipe":"waits"}"#) {
            (202, _) if waiting < WAITING => waiting += 1,
            // No more are taken than so many.
            _ => break,
        }
    }
    table.plain(&format!("{waiting} runs begun"), format!("{} ms", begun.elapsed().as_millis()), "no bar");
    let resident = format!("{:.0} MB (idle {idle:.0} MB)", daemon.resident());
    let bar = format!("bar: 100 MB for {WAITING}");
    table.plain(&format!("{waiting} runs that wait: resident memory"), resident, &bar);
    send_often(&mut connection, &charter);
    table.plain("two rubrics for a message, each changes the team", rubric_times(&mut connection), "no bar");
}

/// Asks where something should go, again and again.
pub fn route_often(connection: &mut Connection, task: &str) {
    for _ in 0..ROUTES {
        let (status, routed) = connection.post("/v1/route", task);
        assert_eq!(status, 200, "{routed}");
    }
}

/// Sends messages to wherever the rubrics say, where they wait. The rubrics are in force anew, and counted from here on.
fn send_often(connection: &mut Connection, charter: &Path) {
    std::fs::write(charter.join("more.lua"), "-- nothing\n").expect("a charter");
    let (status, said) = connection.post("/v1/charter/reload", "{}");
    assert_eq!(status, 200, "{said}");
    for _ in 0..SENDS {
        let (status, sent) = connection.post("/v1/send", r#"{"to":"auto","prompt":"x","kind":"later"}"#);
        assert_eq!(status, 202, "{sent}");
    }
    // It would outlive the daemon, as it should.
    let (status, stopped) = connection.post("/v1/stop", r#"{"worker":"w-sleep-1","kill":true}"#);
    assert_eq!(status, 200, "{stopped}");
}

/// What the daemon counted of its rubrics: the time in the VM, with the tables that they are shown.
pub fn rubric_times(connection: &mut Connection) -> String {
    let (_, charter) = connection.get("/v1/charter");
    let charter: Value = serde_json::from_str(&charter).expect("JSON");
    let (half, most) = (&charter["rubric_times"]["half_us"], &charter["rubric_times"]["most_us"]);
    format!("{half} µs at the median, {most} µs at the p99")
}

/// A step that is only written down, beside the commit that does it.
fn steps(table: &mut Table, connection: &mut Connection, dir: &Path) {
    let commit = bare_commit(dir, 1, 200);
    let run = |connection: &mut Connection, count: usize| {
        let begun = Instant::now();
        let (status, run) =
            connection.post("/v1/run", &format!(r#"{{"recipe":"steps","job":{{"count":{count}}},"wait":"60s"}}"#));
        assert_eq!(status, 200, "{run}");
        let run: Value = serde_json::from_str(&run).expect("JSON");
        assert_eq!(run["value"], count, "{run}");
        begun.elapsed()
    };
    let (few, many) = (run(connection, 1), run(connection, STEPS));
    let step = many.saturating_sub(few) / (STEPS as u32 - 1);
    table.time("one step of a run (bar: 1 ms more)", step, "one bare commit", commit);
}

/// From the word to read anew until the new generation is in force; the rest after a save is not in it.
fn reload(table: &mut Table, connection: &mut Connection, charter: &Path) {
    let mut times = Vec::new();
    for n in 0..20 {
        std::fs::write(charter.join("more.lua"), format!("local n = {n}\nreturn n\n")).expect("a charter");
        let begun = Instant::now();
        let (status, said) = connection.post("/v1/charter/reload", "{}");
        times.push(begun.elapsed());
        assert_eq!(status, 200, "{said}");
    }
    table.plain("a reload, from rest to swap", format!("{:.1} ms", median(times).as_secs_f64() * 1e3), "bar: 50 ms");
}
