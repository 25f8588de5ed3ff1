//! A subscription: at most one event an entry and tick, old ones first,
//! lost ones not told, ended by any byte.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::Server;
use super::methods::reading;
use super::wire::write_line;

const TICK: Duration = Duration::from_millis(100);
/// How long a reader may not read.
const BLOCKED: Duration = Duration::from_secs(5);

/// What is asked for.
pub enum Entry {
    /// All events of a kind (`pane_created`), from a place on.
    Kind { kind: String, from: u64 },
    /// The states of a pane, or only one of them.
    State { pane: u64, from: u64, only: Option<String>, first: Option<Value> },
    /// A text in a pane: told each time it appears.
    Output { pane_id: String, source: String, lines: Option<u64>, matcher: reading::Matcher, shown: bool },
    /// What never happens here.
    Nothing,
}

/// Serves a subscription to its end.
pub fn run(server: &Server, mut stream: UnixStream, mut entries: Vec<Entry>) {
    let epoch = server.epoch.load(Ordering::SeqCst);
    if stream.set_write_timeout(Some(BLOCKED)).is_err() || stream.set_nonblocking(false).is_err() {
        return;
    }
    let mut next = Instant::now();
    loop {
        for entry in &mut entries {
            if let Some(event) = next_of(server, entry)
                && write_line(&mut stream, &event).is_err()
            {
                return;
            }
        }
        next += TICK;
        if server.epoch.load(Ordering::SeqCst) != epoch || is_written_to(&mut stream, next).unwrap_or(true) {
            return;
        }
    }
}

/// Waits until the next tick; tells whether the other side wrote or went.
fn is_written_to(stream: &mut UnixStream, until: Instant) -> io::Result<bool> {
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    let written = poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&left))? > 0;
    if written {
        // The byte is taken, so that the other side sees an end and not always an error.
        let _ = stream.read(&mut [0]);
    }
    Ok(written)
}

fn next_of(server: &Server, entry: &mut Entry) -> Option<Value> {
    match entry {
        Entry::Kind { kind, from } => {
            let hub = server.hub();
            let seen = hub.event(kind, *from)?;
            *from = seen.at + 1;
            Some(seen.event.clone())
        }
        Entry::State { pane, from, only, first } => {
            if let Some(first) = first.take() {
                return Some(first);
            }
            let hub = server.hub();
            loop {
                let changed = hub.state(*pane, *from)?;
                *from = changed.at + 1;
                if only.as_ref().is_none_or(|only| *only == changed.status) {
                    return Some(changed.event.clone());
                }
            }
        }
        Entry::Output { pane_id, source, lines, matcher, shown } => {
            let house = server.house();
            let id = house.pane_id(pane_id).ok()?;
            let read = reading::read(server, &house, &id, source, *lines, "text").ok()?;
            let line = matcher.find(read["text"].as_str()?);
            let appeared = line.is_some() && !*shown;
            *shown = line.is_some();
            let data = json!({"pane_id": id, "matched_line": line?, "read": read});
            appeared.then(|| json!({"event": "pane.output_matched", "data": data}))
        }
        Entry::Nothing => None,
    }
}
