//! A program's stream of events (`text/event-stream`): opened, read event by event within bounds, and seen to be dead when
//! it breaks or is silent for too long. What an event means, and what may have been missed, is not known here.

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::http::{Address, Driver, HttpError, with};

/// An event that is longer is left out: the record has what it told.
const LONGEST: usize = 8 * 1024 * 1024;
/// How long a stream may take to begin.
const TO_BEGIN: Duration = Duration::from_secs(5);

/// A stream of events.
pub(super) struct Events {
    body: Incoming,
    driver: Driver,
    silence: Option<Duration>,
    heard: Instant,
    reader: Reader,
    /// Events that came with others.
    ready: VecDeque<Value>,
}

impl Events {
    /// Opens a stream; on one that lives something comes within `silence`.
    pub(super) async fn open(address: &Address, path: &str, silence: Option<Duration>) -> Result<Events, HttpError> {
        let sent = address.send(false, path, None, "text/event-stream");
        let late = |_| HttpError::Broken("its stream of events does not begin".into());
        let (response, driver) = tokio::time::timeout(TO_BEGIN, sent).await.map_err(late)??;
        if !response.status().is_success() {
            return Err(HttpError::No { status: response.status().as_u16(), said: String::new() });
        }
        let (body, heard) = (response.into_body(), Instant::now());
        Ok(Events { body, driver, silence, heard, reader: Reader::default(), ready: VecDeque::new() })
    }

    /// Returns the next event as `{"event": …, "data": …}`; nothing when the stream is dead. May be given up at any time.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let until = self.silence.map(|silence| self.heard + silence);
            let frame = with(&mut self.driver, self.body.frame());
            let frame = match until {
                Some(until) => tokio::time::timeout_at(until, frame).await.ok()?,
                None => frame.await,
            };
            let data = frame?.ok()?.into_data().unwrap_or_default();
            self.heard = Instant::now();
            self.ready.extend(self.reader.take(&data));
        }
    }
}

/// Puts events together from the pieces in which they come.
#[derive(Default)]
struct Reader {
    line: Vec<u8>,
    name: String,
    data: String,
    /// Whether the event at hand is too long.
    is_left_out: bool,
}

impl Reader {
    fn take(&mut self, bytes: &[u8]) -> Vec<Value> {
        let mut events = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' => events.extend(self.end_line()),
                _ if self.line.len() + self.data.len() >= LONGEST => self.is_left_out = true,
                _ => self.line.push(*byte),
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<Value> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Value> {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.is_left_out) || data.is_empty() {
            return None;
        }
        let data: Value = serde_json::from_str(&data).ok()?;
        let name = if name.is_empty() { "message" } else { &name };
        Some(json!({"event": name, "data": data}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let text = ": hello\r\n\r\nevent: state\r\ndata: {\"is\":\r\ndata: 1}\r\nid: 7\r\n\r\ndata: [2]\n\ndata: broken\n\nretry: 5\n\ndata:{}\n\n";
        let wanted = [json!({"event": "state", "data": {"is": 1}}), json!({"event": "message", "data": [2]})];
        let wanted: Vec<Value> = wanted.into_iter().chain([json!({"event": "message", "data": {}})]).collect();
        for size in [1, 3, 7, text.len()] {
            let mut reader = Reader::default();
            let events: Vec<Value> = text.as_bytes().chunks(size).flat_map(|piece| reader.take(piece)).collect();
            assert_eq!(events, wanted, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_costs_a_bounded_memory_and_no_other_event() {
        let mut reader = Reader::default();
        assert!(reader.take(b"data: \"").is_empty());
        for _ in 0..40 {
            assert!(reader.take(&[b'x'; 1024 * 1024]).is_empty());
        }
        assert!(reader.line.len() <= LONGEST);
        assert_eq!(reader.take(b"\"\n\ndata: 1\n\n"), [json!({"event": "message", "data": 1})]);
    }
}
