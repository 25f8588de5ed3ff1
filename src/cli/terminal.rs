//! What every command is given: the options that hold everywhere, and the terminal it speaks to. What was asked for
//! goes to standard output, talk about it to standard error.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::client::{Client, Reply};
use super::exit::Failure;
use super::find::Place;
use super::look::Look;
use super::token::Bearer;
use crate::fleet::time::Time;

/// The options that hold everywhere, and both outputs.
pub struct Terminal {
    /// Where the daemon is, if it was told.
    pub url: Option<String>,
    /// The state directory, if it was told.
    pub state: Option<PathBuf>,
    /// The file of the token, if it was told.
    pub token_file: Option<PathBuf>,
    /// Whether what is asked for is wanted as JSON.
    pub json: bool,
    /// What standard output shows.
    pub out: Look,
    /// What standard error shows.
    pub err: Look,
}

impl Terminal {
    /// Returns a client for the daemon, if one is there.
    pub fn client(&self) -> Result<Client, Failure> {
        // A worker is told where its own fleet is; whoever names another one means that.
        let fleet = std::env::var_os("FLEET_STATE").map(PathBuf::from);
        let place = Place::find(self.url.as_deref(), self.state.as_deref().or(fleet.as_deref()))?;
        Ok(Client::new(place).with_token(Bearer::find(self.token_file.as_deref())?))
    }

    /// Prints what was asked for.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let done = out.write_all(text.as_bytes()).and_then(|()| match text.ends_with('\n') || text.is_empty() {
            true => Ok(()),
            false => out.write_all(b"\n"),
        });
        done.and_then(|()| out.flush()).map_err(|error| Failure::io("cannot write the output", error))
    }

    /// Prints the daemon's own JSON if that is wanted, else what `draw` makes of it.
    pub fn show(&self, reply: &Reply, draw: impl FnOnce() -> Result<String, Failure>) -> Result<(), Failure> {
        match self.json {
            true => self.print(&reply.body),
            false => self.print(&draw()?),
        }
    }

    /// Prints a value of our own as JSON.
    pub fn print_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::from);
        self.print(&text.map_err(|error| Failure::io("cannot write the answer as JSON", error))?)
    }

    /// Says something about what happens; nobody need hear it.
    pub fn talk(&self, text: &str) {
        if !text.is_empty() {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Returns the present moment by the machine's clock, for the ages of things.
    pub fn now(&self) -> Time {
        Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64)
    }
}
