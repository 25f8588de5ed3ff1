//! Workers that are typed to: how long a text takes from its acceptance to the program in an idle pane, and a fan-out to
//! two hundred of them beside its slowest part. What the pane server alone costs is in `panes`.
//!
//! The program is the tests' agent, which answers at once; no model has a part in it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleetd::engine::panes::PaneHost;
use fleetd::fleet::worker::Process;
use fleetd::pane::embedded::{Embedded, Options};
use serde_json::Value;
use tempfile::TempDir;

use crate::daemon::Serving;
use crate::http::Connection;
use crate::table::Table;

const WORKERS: usize = 200;
const TURNS: usize = 30;

const TEAM: &str = r#"
fleet.profile("logged", { launcher = "typed", command = { "AGENT", "--work", "0", "--log", "FIFO" }, typing = { quiet = "50ms" } })
fleet.profile("instant", { launcher = "typed", command = { "AGENT", "--work", "0" }, typing = { quiet = "50ms" } })
fleet.profile("second", { launcher = "typed", command = { "AGENT", "--work", "1000" }, typing = { quiet = "50ms" } })
fleet.role("logged", { profiles = { "logged" }, max_busy = 1 })
fleet.role("instant", { profiles = { "instant" }, max_busy = 200, max_waiting = 1000 })
fleet.role("second", { profiles = { "second" }, max_busy = 200, max_waiting = 1000 })
fleet.route("urgent work", function(task, team)
  if task.urgent and team.roles.second.free > 0 then return { role = "second", because = "it is urgent" } end
end)
fleet.route("whatever is free", function(task, team)
  for name, role in team.roles do
    if role.free > 0 then return { role = name, because = name .. " has room" } end
  end
end)
fleet.recipe("all", { input = { parts = "integer", to = "string" } }, function(job, run)
  local parts = {}
  for n = 1, job.parts do parts[n] = n end
  local slowest = 0
  for _, reply in ipairs(run:each(parts, function(n) return run:send { to = job.to, prompt = "part " .. n } end)) do
    slowest = math.max(slowest, reply.times.settled - reply.times.handed)
  end
  return { slowest = slowest }
end)
"#;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let dir = TempDir::new().expect("a directory");
    let daemon = serve(dir.path());
    typed(table, &daemon, dir.path());
    fan_out(table, &daemon, "instant", "that answer at once");
    rubrics(table, &daemon);
    retire(&daemon);
    fan_out(table, &daemon, "second", "that work for a second");
}

fn serve(dir: &Path) -> Serving {
    let charter = dir.join("charter");
    std::fs::create_dir(&charter).expect("a directory");
    let fifo = dir.join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).expect("a fifo");
    let team = TEAM.replace("AGENT", &agent().display().to_string()).replace("FIFO", &fifo.display().to_string());
    std::fs::write(charter.join("team.lua"), team).expect("a charter");
    // What a fleet takes to start so many is not the stagger between two starts.
    let limits = format!("max_workers = {}\nstart_stagger = \"0s\"\n", WORKERS + 1);
    let settings = format!("pane_host = \"embedded\"\n[limits]\n{limits}");
    std::fs::write(dir.join("fleetd.toml"), settings).expect("settings");
    Serving::start(dir)
}

/// From the acceptance of a message to its bytes in the program, beside a paste by the pane host alone.
fn typed(table: &mut Table, daemon: &Serving, dir: &Path) {
    // Opened for both, so that it never ends; the agent writes into it what it reads.
    let mut read = File::options().read(true).write(true).open(dir.join("fifo")).expect("the fifo");
    let mut connection = Connection::open(&daemon.url);
    let (status, worker) = connection.post("/v1/spawn", r#"{"role":"logged"}"#);
    assert_eq!(status, 200, "{worker}");
    let worker: Value = serde_json::from_str(&worker).expect("JSON");
    let root: Process = serde_json::from_value(worker["process"].clone()).expect("it is known");
    let mut times = Vec::new();
    for _ in 0..TURNS {
        let begun = Instant::now();
        connection.send_post("/message", r#"{"role":"logged","prompt":"x"}"#);
        wait_for(&mut read, b"[end of fleet turn");
        times.push(begun.elapsed());
        wait_for(&mut read, b"\r");
        let (status, envelope) = connection.receive();
        assert_eq!(status, 200, "{envelope}");
    }
    let bare = bare(dir, root, &mut read);
    table.time("send to its text in an idle pane", median(times), "a bare paste by the host", bare);
    connection.post("/v1/stop", r#"{"worker":"logged-1","kill":true}"#);
}

fn bare(dir: &Path, root: Process, read: &mut File) -> Duration {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (host, task) = Embedded::new(Options::new(dir.join("state")));
    runtime.spawn(task);
    let pane = runtime.block_on(host.pane_of(vec![root])).expect("it answers").expect("it has a pane");
    let text: Arc<str> = "[fleet turn t1 from operator]\nx\n[end of fleet turn t1]".into();
    let times = (0..TURNS).map(|_| {
        let begun = Instant::now();
        runtime.block_on(host.paste(pane.clone(), text.clone())).expect("it is typed");
        wait_for(read, b"[end of fleet turn");
        begun.elapsed()
    });
    median(times.collect())
}

fn fan_out(table: &mut Table, daemon: &Serving, role: &str, which: &str) {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut connection = Connection::open(&daemon.url);
                for _ in 0..WORKERS / 8 {
                    let (status, worker) = connection.post("/v1/spawn", &format!(r#"{{"role":"{role}"}}"#));
                    assert_eq!(status, 200, "{worker}");
                }
            });
        }
    });
    table.plain(&format!("{WORKERS} sessions up"), format!("{} ms", begun.elapsed().as_millis()), "no bar");
    let resident = format!("{:.1} MB", daemon.resident());
    table.plain(&format!("daemon: resident memory, {WORKERS} sessions"), resident, "no bar");
    let mut connection = Connection::open(&daemon.url);
    let begun = Instant::now();
    let job = format!(r#"{{"recipe":"all","job":{{"parts":{WORKERS},"to":"{role}"}},"wait":"5m"}}"#);
    let (status, run) = connection.post("/v1/run", &job);
    let wall = begun.elapsed();
    assert_eq!(status, 200, "{run}");
    let run: Value = serde_json::from_str(&run).expect("JSON");
    let slowest = run["value"]["slowest"].as_f64().expect("a time");
    let what = format!("fan-out to {WORKERS} typed workers {which}");
    table.time(&what, wall, "its slowest part; bar: 1.05", Duration::from_secs_f64(slowest / 1e3));
}

/// Two rubrics that look at the team, beside two hundred workers in it.
fn rubrics(table: &mut Table, daemon: &Serving) {
    let mut connection = Connection::open(&daemon.url);
    crate::charters::route_often(&mut connection, r#"{"prompt":"x"}"#);
    let what = format!("two rubrics, beside {WORKERS} workers");
    table.plain(&what, crate::charters::rubric_times(&mut connection), "bar: 50 µs at p99");
}

/// Ends all sessions, so that the next ones have the machine for themselves.
fn retire(daemon: &Serving) {
    let mut connection = Connection::open(&daemon.url);
    for n in 1..=WORKERS {
        let (status, stopped) = connection.post("/v1/stop", &format!(r#"{{"worker":"instant-{n}","kill":true}}"#));
        assert_eq!(status, 200, "{stopped}");
    }
}

/// Waits until the program was given these bytes.
fn wait_for(read: &mut File, what: &[u8]) {
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while !seen.windows(what.len()).any(|window| window == what) {
        let n = read.read(&mut bytes).expect("the fifo can be read");
        seen.extend_from_slice(&bytes[..n]);
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Builds the tests' agent as this is built, and returns where it is.
fn agent() -> PathBuf {
    let built = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--release", "--locked", "-p", "fleetd-herdr", "--bin", "test-agent"])
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the tests' agent is not built");
    PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("test-agent")
}
