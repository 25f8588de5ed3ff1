//! Ten thousand callers of another process that all wait for a reply, and how long it takes to let them go.
//! The callers are this program once more as a child, so that their memory and files do not count as the daemon's.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::daemon::Daemon;
use crate::http::Connection;
use crate::table::Table;

const COUNT: usize = 10_000;

/// Measures memory while they wait, and the time from their common deadline to the last answer.
pub fn measure(table: &mut Table) {
    let daemon = Daemon::start();
    let idle = daemon.resident();
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["held", &daemon.url, &COUNT.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let mut status = Connection::open(&daemon.url);
    let mut most = 0.0;
    let begun = Instant::now();
    // The peak counts, so it is watched from outside until the callers are gone.
    let output = std::thread::scope(|scope| {
        let ended = scope.spawn(|| child.wait_with_output().expect("it ends"));
        while !ended.is_finished() && begun.elapsed() < Duration::from_secs(300) {
            most = f64::max(most, daemon.resident());
            status.get("/healthz");
        }
        ended.join().expect("it ends")
    });
    let said = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = said.split_whitespace().collect();
    let [held, late] = words.as_slice() else { panic!("the callers said: {said}") };
    table.plain(&format!("{COUNT} held POST /message: accepted within"), format!("{held} ms"), "no bar");
    table.plain(&format!("{COUNT} held: resident memory"), format!("{most:.0} MB (idle {idle:.0} MB)"), "bar: 200 MB");
    table.plain(&format!("{COUNT} held: last answer after the common deadline"), format!("{late} ms"), "no bar");
}

/// Holds so many messages at once and prints how long it took to hold them and to be answered after the deadline.
pub fn hold(url: &str, count: usize) {
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit { current: Some(60_000), maximum: Some(60_000) },
    );
    let begun = Instant::now();
    let open = Duration::from_secs(60);
    let deadline = now() + open;
    let mut connections: Vec<Connection> = Vec::with_capacity(count);
    for _ in 0..count {
        let mut connection = Connection::open(url);
        // Each gets what is left until the same moment.
        let left = deadline.saturating_sub(now()).as_millis();
        let body = format!(r#"{{"role":"w-sleep","prompt":"wait","deadline":"{left}ms","wait":"10m"}}"#);
        connection.send_post("/message", &body);
        connections.push(connection);
    }
    let held = begun.elapsed().as_millis();
    for connection in &mut connections {
        let (status, body) = connection.receive();
        assert_eq!(status, 200, "{body}");
    }
    println!("{held} {}", now().saturating_sub(deadline).as_millis());
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
