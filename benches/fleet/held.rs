//! Ten thousand callers of another process that all wait for a reply, and how long it takes to let them go.
//! The callers are this program once more as a child, so that their memory and files do not count as the daemon's.

use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::daemon::Daemon;
use crate::http::Connection;
use crate::table::Table;

const COUNT: usize = 10_000;

/// How often it is looked how much memory there is.
const LOOK: Duration = Duration::from_millis(50);

/// Measures memory while they wait, and the time from their common deadline to the last answer.
pub fn measure(table: &mut Table) {
    let daemon = Daemon::start();
    let idle = daemon.resident();
    let (held, late, most) = watched(&["held", &daemon.url, &COUNT.to_string()], || daemon.resident());
    table.plain(&format!("{COUNT} held POST /message: accepted within"), format!("{held} ms"), "no bar");
    table.plain(&format!("{COUNT} held: resident memory"), format!("{most:.0} MB (idle {idle:.0} MB)"), "bar: 200 MB");
    table.plain(&format!("{COUNT} held: last answer after the common deadline"), format!("{late} ms"), "no bar");
}

/// Runs this program once more as callers that wait. Returns the two numbers that it says, how long it took until all
/// waited and how late the last answer was, and the most that `resident` gave meanwhile.
pub fn watched(words: &[&str], mut resident: impl FnMut() -> f64) -> (u64, u64, f64) {
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let mut most = 0.0;
    // The peak counts, so it is watched from outside until the callers are gone.
    let output = std::thread::scope(|scope| {
        let (tell, told) = sync_channel(1);
        scope.spawn(move || tell.send(child.wait_with_output().expect("it ends")));
        loop {
            match told.recv_timeout(LOOK) {
                Ok(output) => break output,
                Err(_) => most = f64::max(most, resident()),
            }
        }
    });
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [held, late] = numbers.as_slice() else { panic!("the callers said: {said}") };
    (*held, *late, most)
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
