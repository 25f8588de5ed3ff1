//! One request: a connection of its own, one write, one line back. What became of a request that was not answered is
//! told apart: one that did not leave us whole was not done, one that did may have been.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::Desk;
use super::told::{Answer, Greeting, OLDEST_PROTOCOL, Refusal};
use crate::engine::panes::PaneError;

/// The longest request line that herdr reads, its newline not counted; a longer one is dropped without a word.
const LONGEST: usize = 1 << 20;
/// The longest answer that is read; a snapshot of forty panes is 27 KB.
const LONGEST_ANSWER: u64 = 64 << 20;
/// How long a connection may take to come about: it is on this machine.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Why a request has no result.
#[derive(Debug)]
pub enum Fault {
    /// herdr refused it.
    Refused(Refusal),
    /// It is longer than herdr takes.
    TooLong(usize),
    /// herdr cannot be reached: it was not done.
    Unreachable(String),
    /// It left us whole and was not answered: it may have been done.
    Unanswered(String),
}

impl Fault {
    /// Tells whether what was asked about does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code.ends_with("_not_found"))
    }
}

impl From<Fault> for PaneError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) if refusal.code.ends_with("_not_found") => Self::Gone(refusal.message),
            Fault::Refused(refusal) if matches!(refusal.code.as_str(), "server_unavailable" | "internal_error") => {
                Self::Unavailable(format!("herdr cannot now: {}", refusal.message))
            }
            Fault::Refused(refusal) => Self::Refused(format!("herdr refuses: {} ({})", refusal.message, refusal.code)),
            Fault::TooLong(length) => Self::Refused(format!(
                "as a request it has {length} bytes, and herdr takes at most {LONGEST}: a shorter text, or one with \
                 fewer line ends and quotes, each of which takes two bytes"
            )),
            Fault::Unreachable(why) => Self::Unavailable(why),
            Fault::Unanswered(why) => Self::Unknown(why),
        }
    }
}

impl Desk {
    /// Carries one request out.
    pub(super) async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, Fault> {
        self.ask_within(method, params, self.options.answer_within).await
    }

    /// As [`Desk::ask`], with a bound of its own.
    pub(super) async fn ask_within<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<T, Fault> {
        let line = request(method, params)?;
        let stream = self.connect().await?;
        match timeout(within, exchange(stream, &line)).await {
            Ok(answer) => read(method, &answer?),
            Err(_) => Err(Fault::Unanswered(format!("herdr did not answer '{method}' within {within:?}"))),
        }
    }

    /// As [`Desk::ask`], for what only looks: no answer means that nothing is known, not that something may be done.
    pub(super) async fn look<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, Fault> {
        self.ask(method, params).await.map_err(|fault| match fault {
            Fault::Unanswered(why) => Fault::Unreachable(why),
            other => other,
        })
    }

    pub(super) async fn connect(&self) -> Result<UnixStream, Fault> {
        let socket = &self.options.socket;
        let why = match timeout(CONNECT_WITHIN, UnixStream::connect(socket)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no connection came about in time".to_owned(),
        };
        Err(Fault::Unreachable(format!("herdr cannot be reached at {}: {why}", socket.display())))
    }

    /// Makes sure, once for each server, that it speaks a protocol that we know.
    pub(super) async fn check_protocol(&self) -> Result<(), Fault> {
        if self.state().is_known {
            return Ok(());
        }
        self.greet().await.map(drop)
    }

    /// Asks which herdr it is, and refuses one whose protocol we do not know.
    pub(super) async fn greet(&self) -> Result<Greeting, Fault> {
        let greeting: Greeting = self.look("ping", json!({})).await?;
        if greeting.protocol < OLDEST_PROTOCOL {
            let Greeting { version, protocol } = greeting;
            return Err(Fault::Unreachable(format!(
                "herdr {version} at {} speaks protocol {protocol}; needed is {OLDEST_PROTOCOL} or newer (herdr 0.8.0)",
                self.options.socket.display()
            )));
        }
        self.state().is_known = true;
        Ok(greeting)
    }
}

/// Returns the bytes of a request.
pub fn request(method: &str, params: Value) -> Result<Vec<u8>, Fault> {
    // All three fields are always there: one that is missing is not understood.
    let mut line = json!({"id": "fleetd", "method": method, "params": params}).to_string().into_bytes();
    if line.len() > LONGEST {
        return Err(Fault::TooLong(line.len()));
    }
    line.push(b'\n');
    Ok(line)
}

/// Writes the line and reads the one that comes back. The connection is new, and the write is at once: where herdr does
/// not find the line at its first look, it sleeps for 100 ms.
async fn exchange(mut stream: UnixStream, line: &[u8]) -> Result<Vec<u8>, Fault> {
    // A line whose end did not leave us is never obeyed.
    let unwritten = |error: std::io::Error| Fault::Unreachable(format!("herdr took no request: {error}"));
    stream.write_all(line).await.map_err(unwritten)?;
    let mut answer = Vec::new();
    let mut reader = BufReader::new(tokio::io::AsyncReadExt::take(stream, LONGEST_ANSWER));
    match reader.read_until(b'\n', &mut answer).await {
        Ok(_) if answer.last() == Some(&b'\n') => Ok(answer),
        Ok(_) => Err(Fault::Unanswered("herdr closed the connection without an answer".to_owned())),
        Err(error) => Err(Fault::Unanswered(format!("the connection to herdr broke: {error}"))),
    }
}

fn read<T: DeserializeOwned>(method: &str, line: &[u8]) -> Result<T, Fault> {
    let strange = |why: &dyn std::fmt::Display| Fault::Unanswered(format!("herdr's answer to '{method}': {why}"));
    let answer: Answer<T> = serde_json::from_slice(line).map_err(|error| strange(&error))?;
    match (answer.result, answer.error) {
        (_, Some(refusal)) => Err(Fault::Refused(refusal)),
        (Some(result), None) => Ok(result),
        (None, None) => Err(strange(&"neither a result nor an error")),
    }
}
