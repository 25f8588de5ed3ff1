//! The flags of the program: those of the real one that matter, and the bad habits, each of which can be changed while
//! it runs (`PUT /_habits`). Nothing is done here.

use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};

/// What the program is told.
#[derive(Clone, Debug, Parser)]
#[command(name = "agentapi-sim", about = "An AgentAPI server for tests, on loopback")]
pub struct Options {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, short, default_value_t = 3284)]
    pub port: u16,
    /// The kind of program, by which its input box is found
    #[arg(long = "type", short = 't', value_enum, default_value_t = Kind::Custom)]
    pub kind: Kind,
    /// Columns and rows of the terminal
    #[arg(long, value_name = "WxH", default_value = "80x1000", value_parser = screen)]
    pub screen: (u16, u16),
    /// Hosts that a request may be for, without ports; `*` takes any
    #[arg(long, value_name = "HOST", value_delimiter = ',', default_value = "localhost,127.0.0.1,[::1]")]
    pub allowed_hosts: Vec<String>,
    /// Divides every time of its own by this
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub speed: u32,
    /// Its bad habits
    #[command(flatten)]
    pub habits: Habits,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<String>,
}

/// What it does wrong. As JSON, each of them by itself: what is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Habits {
    /// Ends each event stream after so many events, those of the state before it included; 0: never
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub drop_events: u64,
    /// Answers the next N user messages with an error, and types nothing
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fail: u32,
    /// Answers the next N user messages with an error, and yet types and enters them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fail_typed: u32,
    /// Is never stable: the program's screen has a clock in its last row
    #[arg(long)]
    pub clock: bool,
    /// Gives the last message everything that the screen shows, old answers too
    #[arg(long)]
    pub merge: bool,
    /// Tells of an error by `agent_error`
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub error: String,
}

/// The kinds of program that the real one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Claude,
    Goose,
    Aider,
    Codex,
    Gemini,
    Copilot,
    Amp,
    Auggie,
    Cursor,
    Amazonq,
    Opencode,
    Custom,
}

impl Kind {
    /// Returns the word that requests and answers use.
    pub fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Options {
    /// Returns how long something takes here that takes so many milliseconds in the real program.
    pub fn time(&self, ms: u64) -> Duration {
        Duration::from_millis(ms) / self.speed
    }
}

fn screen(text: &str) -> Result<(u16, u16), String> {
    let size = text.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    match size {
        Some((columns @ 10.., rows @ 10..)) => Ok((columns, rows)),
        _ => Err("write columns and rows, at least 10 each, such as 80x1000".to_owned()),
    }
}
