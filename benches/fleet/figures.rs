//! Sends, commits, starts and answers, one after the other on an otherwise idle daemon.
//! Each stands beside what this machine needs for the same without a daemon, or beside a bar from the design.

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::http::Connection;
use crate::table::Table;

const SEND: &str = r#"{"role":"w-sleep","prompt":"look for long functions in src and say where they are"}"#;

/// Measures everything that one daemon can show.
pub fn measure(table: &mut Table) {
    let starts: Vec<Duration> = (0..5).map(|_| Daemon::start().ready).collect();
    let daemon = Daemon::start();
    table.plain("exec to ready", format!("{:.1} ms", median(starts).as_secs_f64() * 1e3), "bar: 100 ms");
    table.plain("resident memory, idle", format!("{:.1} MB", daemon.resident()), "bar: 20 MB");

    let commit = bare_commit(daemon.dir.path(), 1, 200);
    let mut connection = Connection::open(&daemon.url);
    let health = timed(500, || drop(connection.get("/healthz")));
    let accept = timed(200, || drop(connection.post("/v1/send", SEND)));
    table.time("accept one send", accept, "one bare commit", commit);

    let (bare, rate) = (bare_rate(daemon.dir.path()), send_rate(&daemon.url));
    table.rate("accepted sends, 64 at once", rate, "bare commits, 64 rows each", bare);

    let fifo = daemon.dir.path().join("fifo");
    let bare_start = timed(50, || {
        let begun = Command::new("sh").arg("-c").arg("echo > \"$FIFO\"").env("FIFO", &fifo).spawn();
        wait_for_fifo(&fifo);
        begun.and_then(|mut child| child.wait()).expect("sh runs");
    });
    let mut starts = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..50 {
        let begun = Instant::now();
        connection.send_post("/message", r#"{"role":"w-signal","prompt":"x"}"#);
        wait_for_fifo(&fifo);
        starts.push(begun.elapsed());
        let ended = Instant::now();
        connection.receive();
        answers.push(ended.elapsed());
    }
    table.time("send to worker started", median(starts), "a bare start of the same program", bare_start);
    table.time("exit to blocked caller answered", median(answers), "one bare commit", commit);

    let bare_true = timed(50, || drop(Command::new("true").status()));
    let round = timed(50, || drop(connection.post("/message", r#"{"role":"w-true","prompt":"x"}"#)));
    table.time("whole turn of `true`", round, "a bare start and end of it", bare_true);

    let route = timed(500, || drop(connection.post("/v1/route", r#"{"prompt":"x","kind":"bulk"}"#)));
    table.time("route by two rubrics over HTTP", route, "GET /healthz", health);
}

/// Returns the time of one commit of `rows` rows to SQLite as fleetd opens it.
pub fn bare_commit(dir: &Path, rows: usize, times: usize) -> Duration {
    let file = dir.join(format!("bare-{rows}.db"));
    let mut db = rusqlite::Connection::open(file).expect("a file");
    db.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, row TEXT)")
        .expect("a table");
    let row = "x".repeat(400);
    timed(times, || {
        let tx = db.transaction().expect("a transaction");
        for _ in 0..rows * 3 {
            tx.execute("INSERT INTO t (row) VALUES (?1)", [&row]).expect("a row");
        }
        tx.commit().expect("a commit");
    })
}

fn bare_rate(dir: &Path) -> f64 {
    64.0 / bare_commit(dir, 64, 100).as_secs_f64()
}

fn send_rate(url: &str) -> f64 {
    const CALLERS: usize = 64;
    const EACH: usize = 100;
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                let mut connection = Connection::open(url);
                for _ in 0..EACH {
                    let (status, body) = connection.post("/v1/send", SEND);
                    assert_eq!(status, 202, "{body}");
                }
            });
        }
    });
    (CALLERS * EACH) as f64 / begun.elapsed().as_secs_f64()
}

fn wait_for_fifo(fifo: &Path) {
    let mut text = String::new();
    std::fs::File::open(fifo).and_then(|mut file| file.read_to_string(&mut text)).expect("a fifo");
}

pub fn timed(times: usize, mut work: impl FnMut()) -> Duration {
    work();
    median(
        (0..times)
            .map(|_| {
                let begun = Instant::now();
                work();
                begun.elapsed()
            })
            .collect(),
    )
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
