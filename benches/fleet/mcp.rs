//! The MCP door: read-only calls beside the bare library, calls that wait by the thousand, what a session weighs, and
//! what finding out who calls costs on a machine with many processes.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::bare::Bare;
use crate::daemon::Daemon;
use crate::held;
use crate::http::Connection;
use crate::table::Table;

const ROUNDS: usize = 9;
const CALLS: usize = 4_000;
const SESSIONS: usize = 100;
const EACH: usize = 100;
/// Processes that sleep while callers are looked for.
const PROCESSES: usize = 500;

/// A session of a client on one connection.
struct Session {
    connection: Connection,
    id: String,
    calls: u64,
}

impl Session {
    fn open(url: &str) -> Session {
        let mut connection = Connection::open(url);
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        connection.send_mcp(None, hello);
        let (status, body) = connection.receive();
        assert_eq!(status, 200, "{body}");
        let id = connection.session.clone().expect("a session");
        connection.send_mcp(Some(&id), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        connection.receive();
        Session { connection, id, calls: 0 }
    }

    fn begin(&mut self, tool: &str, arguments: &str) {
        self.calls += 1;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#,
            self.calls
        );
        self.connection.send_mcp(Some(&self.id), &call);
    }

    fn call(&mut self, tool: &str, arguments: &str) -> String {
        self.begin(tool, arguments);
        let (status, body) = self.connection.receive();
        assert!(status == 200 && body.contains("\"result\""), "{status} {body}");
        body
    }
}

/// Measures calls that only look, in turns with those of the bare library: what else the machine does hits both.
pub fn looks(table: &mut Table) {
    const BESIDE: &str = "the bare library, a trivial tool";
    let (bare, daemon) = (Bare::start(), Daemon::start());
    for (tool, connections) in [("fleet_whoami", 1), ("fleet_whoami", 64), ("fleet_list", 64)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut our_time, mut their_time) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..ROUNDS {
            let (rate, time) = calls(&daemon.url, tool, connections, || daemon.processor_time());
            ours.push(rate);
            our_time += time;
            let (rate, time) = calls(&bare.url, "trivial", connections, || bare.processor_time());
            theirs.push(rate);
            their_time += time;
        }
        let what = format!("{tool}, {connections} at once");
        table.rate(&what, middle(ours), BESIDE, middle(theirs));
        let all = (ROUNDS * (CALLS / connections) * connections) as u32;
        table.time(&format!("{what}: processor time of a call"), our_time / all, BESIDE, their_time / all);
    }
}

/// Measures everything of this door.
pub fn measure(table: &mut Table) {
    let daemon = Daemon::start();
    let idle = daemon.resident();
    let open: Vec<Session> = (0..1_000).map(|_| Session::open(&daemon.url)).collect();
    let each = (daemon.resident() - idle) * 1024.0 / open.len() as f64;
    table.plain("memory of a session with its connection", format!("{each:.0} KiB"), "no bar");
    drop(open);

    let one = fresh(&daemon.url);
    let many = Sleepers::start();
    table.time(&format!("who calls, beside {PROCESSES} processes"), fresh(&daemon.url), "beside few", one);
    drop(many);
    waiting(table);
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Returns calls in a second over so many connections, each with its session, and the processor time that all of them took.
fn calls(url: &str, tool: &str, connections: usize, processor_time: impl Fn() -> Duration) -> (f64, Duration) {
    let each = CALLS / connections;
    let mut sessions: Vec<Session> = (0..connections).map(|_| Session::open(url)).collect();
    // The first call of a connection pays for finding out who calls; that is measured by itself.
    sessions.iter_mut().for_each(|session| drop(session.call(tool, "{}")));
    let (begun, before) = (Instant::now(), processor_time());
    thread::scope(|scope| {
        for session in &mut sessions {
            scope.spawn(move || (0..each).for_each(|_| drop(session.call(tool, "{}"))));
        }
    });
    ((connections * each) as f64 / begun.elapsed().as_secs_f64(), processor_time() - before)
}

/// Returns the time of the first request of a connection.
fn fresh(url: &str) -> Duration {
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let begun = Instant::now();
            Connection::open(url).get("/v1/whoami");
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Many processes that do nothing.
struct Sleepers(Vec<Child>);

impl Sleepers {
    fn start() -> Sleepers {
        let sleep = || Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep starts");
        Sleepers((0..PROCESSES).map(|_| sleep()).collect())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// Ten thousand calls that wait, of a hundred sessions in another process; and the same of the bare library.
fn waiting(table: &mut Table) {
    let bare = Bare::start();
    let (_, _, floor) = held::watched(&["held-mcp", &bare.url, "hold"], || bare.resident());
    drop(bare);
    let daemon = Daemon::start();
    let idle = daemon.resident();
    let (begun, late, most) = held::watched(&["held-mcp", &daemon.url, "fleet_send"], || daemon.resident());
    let what = format!("{} held fleet_send, {SESSIONS} sessions", SESSIONS * EACH);
    table.plain(&format!("{what}: accepted within"), format!("{begun} ms"), "no bar");
    let memory = format!("{what}: resident memory (idle {idle:.0} MB)");
    table.memory(&memory, most, "as many of the bare library", floor);
    table.plain(&format!("{what}: last answer after the end of the waits"), format!("{late} ms"), "no bar");
}

/// Holds them, and prints how long it took to begin them and to be answered after their waits were over.
pub fn hold(url: &str, tool: &str) {
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit { current: Some(60_000), maximum: Some(60_000) },
    );
    let begun = Instant::now();
    let end = begun + Duration::from_secs(90);
    let mut waiting = Vec::with_capacity(SESSIONS * EACH);
    for _ in 0..SESSIONS {
        let session = Session::open(url);
        for n in 0..EACH {
            let mut connection = Connection::open(url);
            let left = end.saturating_duration_since(Instant::now()).as_millis();
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"to":"w-sleep","prompt":"wait","wait":"{left}ms"}}}}}}"#,
                n + 1
            );
            connection.send_mcp(Some(&session.id), &call);
            waiting.push(connection);
        }
        waiting.push(session.connection);
    }
    let took = begun.elapsed().as_millis();
    for connection in waiting.iter_mut().enumerate().filter(|(n, _)| (n + 1) % (EACH + 1) != 0).map(|(_, c)| c) {
        let (status, body) = connection.receive();
        assert!(status == 200 && body.contains("wait_over"), "{status} {body}");
    }
    println!("{took} {}", Instant::now().saturating_duration_since(end).as_millis());
}
