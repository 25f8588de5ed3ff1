//! The launch plan of a profile: how its workers' program is started, watched and read, as plain data.
//!
//! A launcher, which is Lua, makes it when the charter is loaded; the launch room carries it out. What differs from
//! worker to worker stands in it as a marker such as `@{fleet.home}`. Nothing is started and no policy judged here.

mod api;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::signs::{Meaning, Sign};
use super::typing::Typing;

pub use api::*;

/// What a marker begins with; it ends with `}`.
pub const MARKER: &str = "@{fleet.";

/// How a worker's program gets its texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drive {
    /// Each turn is a process of its own: the prompt on stdin, the reply on stdout.
    #[default]
    Turn,
    /// A program in a pane, which lives between turns and is typed to.
    Typed,
    /// A program without a screen, which lives between turns and reads and writes lines of JSON.
    Lines,
    /// A program in a pane, which lives between turns and is called over HTTP.
    Api,
}

/// How the workers of one profile are started, watched and read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// How it gets its texts.
    pub drive: Drive,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables beside the allow-list; the only place for a secret's marker.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Files that are written into the worker's private folder, by their path in it: a text, or JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Value>,
    /// What is brought from the worker's directory into its private folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bring: Vec<Bring>,
    /// How its screen is read and it is typed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typing: Option<Box<Typing>>,
    /// What is written to it, where it reads lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Box<Lines>>,
    /// What it is asked, where it is called over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Box<Api>>,
    /// What its reports mean, the first that fits: hooks of a typed program, lines of one that writes lines, events of one
    /// that is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<Sign>,
    /// True if it is ready only once it has listed the fleet's tools.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lists_tools: bool,
    /// Where it writes down what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Box<Transcript>>,
    /// Settings that would move its model's address, and where they would stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// The endpoint of fleetd.toml whose address and key it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

impl Plan {
    /// Returns whether its workers live between turns.
    pub fn has_session(&self) -> bool {
        self.drive != Drive::Turn
    }

    /// Returns whether the program itself shows that it took a text.
    pub fn shows_taken(&self) -> bool {
        self.signs.iter().any(|sign| sign.is == Meaning::Taken)
    }

    /// Returns whether the program itself shows how its turns end.
    pub fn shows_ends(&self) -> bool {
        self.signs.iter().any(|sign| sign.is.is_end())
    }
}

/// Something of the worker's directory that its program shall find in its private folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bring {
    /// A file or a directory, below the worker's directory. One that is not there is not brought.
    pub from: String,
    /// Where it goes, below the private folder.
    pub to: String,
    /// Of a JSON file: the table in it whose entries are brought, by its path such as `mcpServers`; they are added to
    /// the same table of the JSON file at `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Of such a table or of a directory: only the entries with these names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// True for a text in which a word `@path` stands for a file: those below the worker's directory are written in
    /// its place, all others are left as words that mean nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub imports: bool,
}

/// What is written to a program that reads lines of JSON. The marker `@{fleet.text}` stands for a turn's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// The line of a turn.
    pub say: Value,
    /// The line that makes it stop its turn; without one its process is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<Value>,
}

/// How a program's own record of its turns is read: lines of JSON in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// Where a report says which file it is.
    pub path: String,
    /// Where a line has its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Where a line names the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What a line shows, the first that fits. A turn begins with the line that holds its text.
    pub signs: Vec<Sign>,
}

/// Settings that would move a program's model address if it read them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// JSON files, below the worker's directory or, by marker, its private folder or the user's home.
    pub files: Vec<String>,
    /// Paths in them, such as `env.NAME`; with a `*` at the end all that begin so.
    pub names: Vec<String>,
    /// What must not be there at the start: the program would run it inside itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwanted: Vec<Unwanted>,
}

/// Something of the worker's directory, or above it in its repository, with which its program is not started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unwanted {
    /// A folder with anything in it, or a file.
    pub path: String,
    /// Of a file: words of which it must hold none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}
