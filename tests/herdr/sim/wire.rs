//! One connection: a line in, a line out, and it is closed.
//! With all that was seen to go wrong on the way.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::methods::{self, Reply};
use super::params::Failed;
use super::{Server, pause, stream};

const LONGEST: usize = 1 << 20;
const COMPLETE_WITHIN: Duration = Duration::from_secs(5);
/// How long the real server sleeps where the line is not there at its first look.
const NAP: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
#[serde(expecting = "struct Request")]
struct Request {
    id: String,
    method: String,
    params: Map<String, Value>,
}

/// Serves one connection to its end.
pub fn serve(server: &Server, mut stream: UnixStream) {
    if naps(server) {
        pause(NAP);
    }
    let Ok(Some(line)) = read_line(&mut stream) else { return };
    // An empty line, and what is no text, are not answered.
    let Some(line) = std::str::from_utf8(&line).ok().map(str::trim).filter(|line| !line.is_empty()) else { return };
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let request = Request::deserialize(&mut deserializer).and_then(|request| deserializer.end().map(|()| request));
    let (id, reply) = match request {
        Ok(Request { id, method, params }) => {
            if method != "ping" && !method.starts_with("sim.") {
                wait_out_stall(server);
            }
            let reply = methods::call(server, &method, &params);
            server.requests.fetch_add(1, Ordering::SeqCst);
            if !method.starts_with("sim.") && is_lost(server, method.starts_with("pane.send_")) {
                return;
            }
            (id, reply)
        }
        Err(error) => (String::new(), Err(Failed::Invalid(error.to_string()))),
    };
    let answer = match reply {
        Ok(Reply::Result(result)) => json!({"id": id, "result": result}),
        Ok(Reply::Stream(entries)) => {
            let started = json!({"id": id, "result": {"type": "subscription_started"}});
            if write_line(&mut stream, &started).is_ok() {
                stream::run(server, stream, entries);
            }
            return;
        }
        Ok(Reply::Silence) => return,
        Err(failed) => refusal(&id, failed),
    };
    let _ = write_line(&mut stream, &answer);
}

fn refusal(id: &str, failed: Failed) -> Value {
    let (id, code, message) = match failed {
        Failed::Invalid(why) => (String::new(), "invalid_request", format!("invalid request: {why}")),
        Failed::Code(code, message) => (id.to_owned(), code, message),
        Failed::Probe(entry, code, message) => (format!("{id}:sub:{entry}:probe"), code, message),
    };
    json!({"id": id, "error": {"code": code, "message": message}})
}

fn is_lost(server: &Server, types: bool) -> bool {
    let mut faults = server.faults();
    let lost = faults.unanswered > 0 || (types && faults.unanswered_typing > 0);
    faults.unanswered = faults.unanswered.saturating_sub(1);
    faults.unanswered_typing = faults.unanswered_typing.saturating_sub(u64::from(types));
    lost
}

fn wait_out_stall(server: &Server) {
    loop {
        let until = server.faults().stalled_until;
        match until.and_then(|until| until.checked_duration_since(Instant::now())) {
            Some(left) => pause(left),
            None => return,
        }
    }
}

/// Tells whether this is one of those requests that take 100 ms for nothing: so many in a hundred, evenly spread.
fn naps(server: &Server) -> bool {
    static SERVED: AtomicU64 = AtomicU64::new(0);
    let served = SERVED.fetch_add(1, Ordering::Relaxed);
    served * server.options.sleeps % 100 + server.options.sleeps >= 100
}

/// Reads the line; what follows it is never looked at.
fn read_line(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    stream.set_nonblocking(true)?;
    let end = Instant::now() + COMPLETE_WITHIN;
    let mut line = Vec::new();
    let mut bytes = [0; 64 << 10];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(None),
            Ok(read) => {
                line.extend_from_slice(&bytes[..read]);
                if let Some(at) = line.iter().position(|byte| *byte == b'\n') {
                    line.truncate(at);
                    stream.set_nonblocking(false)?;
                    return Ok((at <= LONGEST).then_some(line));
                }
                if line.len() > LONGEST {
                    return Ok(None);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() >= end {
                    return Ok(None);
                }
                pause(NAP);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Writes a line.
pub fn write_line(stream: &mut UnixStream, value: &Value) -> io::Result<()> {
    let mut line = value.to_string();
    line.push('\n');
    stream.write_all(line.as_bytes())
}
