//! The flags of the program: each is a habit that was seen on a real agent.
//! Nothing is done here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// With what the program ends when it was told to die.
pub const DEATH: u8 = 7;

/// How the program behaves.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "test-agent")]
pub struct Options {
    /// Does not ask for bracketed pastes
    #[arg(long)]
    pub plain: bool,
    /// Draws each change this many milliseconds late
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub slow: u64,
    /// Lets the first N Enters after a paste do nothing
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub eat_enter: u32,
    /// Shows a paste of more than N characters as `[Pasted text #1 +L lines]`
    #[arg(long, value_name = "N")]
    pub collapse: Option<usize>,
    /// Begins with a dialog of this text, its composer hidden until the key 1 or 2
    #[arg(long, value_name = "TEXT")]
    pub dialog: Option<String>,
    /// Opens a dialog of this text right after the first paste
    #[arg(long, value_name = "TEXT")]
    pub dialog_on_paste: Option<String>,
    /// Begins with this text in the composer, as if a person had begun to write
    #[arg(long, value_name = "TEXT")]
    pub draft: Option<String>,
    /// Exits 7 at this moment
    #[arg(long, value_name = "WHEN")]
    pub die: Option<Death>,
    /// How many milliseconds a turn takes
    #[arg(long, value_name = "MS", default_value_t = 50)]
    pub work: u64,
    /// How many milliseconds pass until the composer is there; what is typed before is lost
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub boot: u64,
    /// What it answers: `echo`, `upper`, or this text
    #[arg(long, value_name = "WHAT", default_value = "echo")]
    pub answer: String,
    /// Draws all the time while it works
    #[arg(long)]
    pub spinner: bool,
    /// Never ends a turn by itself; Esc does
    #[arg(long)]
    pub hang: bool,
    /// Takes no notice of TERM, HUP and the end of its terminal
    #[arg(long)]
    pub deaf: bool,
    /// Starts two processes that outlive it: one in a session of its own, one that also has another parent
    #[arg(long)]
    pub children: bool,
    /// Uses the alternate screen and asks for mouse reports
    #[arg(long)]
    pub mouse: bool,
    /// Runs this command (by `sh -c`) when a turn ends, with the turn's text on its stdin
    #[arg(long, value_name = "CMD")]
    pub reply: Option<String>,
    /// Appends every byte that it reads to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Appends each submitted text to this file as a line of JSON, before it answers
    #[arg(long, value_name = "FILE")]
    pub submitted: Option<PathBuf>,
    /// Is one of those processes that `--children` starts
    #[arg(long, value_name = "ROLE", hide = true)]
    pub child: Option<Child>,
}

/// A moment at which the program can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Death {
    /// Before anything is drawn.
    Start,
    /// When a paste has arrived, before it is shown.
    Paste,
    /// When Enter was pressed on a text, before the text is taken.
    Enter,
    /// When a text was taken and is worked on.
    Working,
}

/// Which of those processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Child {
    /// The child in a session of its own.
    Session,
    /// The one between, which ends at once.
    Between,
    /// The grandchild that has lost its parent.
    Orphan,
}

impl Options {
    /// Returns how long a turn takes.
    pub fn work(&self) -> Duration {
        Duration::from_millis(self.work)
    }

    /// Returns what is answered to a text.
    pub fn answer_to(&self, text: &str) -> String {
        match self.answer.as_str() {
            "echo" => text.to_owned(),
            "upper" => text.to_uppercase(),
            fixed => fixed.to_owned(),
        }
    }
}
