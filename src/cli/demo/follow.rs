//! Starts the recipe on the demo's daemon and follows it to its end, with what is under way shown on a terminal.
//!
//! Nothing is decided here: what is seen comes from the daemon, how it looks from `grid`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::Value;

use super::grid::Grid;
use crate::cli::client::Client;
use crate::cli::exit::Failure;
use crate::cli::interrupt;
use crate::cli::look::Look;
use crate::engine::requests::{RunDetail, RunRequest, RunResult, Trace};
use crate::fleet::ids::TurnId;
use crate::fleet::run::Run;
use crate::fleet::time::Span;
use crate::fleet::turn::Outcome;
use crate::fleet::view::Roster;

/// How often the picture is drawn anew.
const FRAME: Span = Span(120);
/// How often one looks when nobody watches; the end is told at once all the same.
const QUIET: Span = Span(10_000);

/// A job that runs on a daemon.
pub struct Following<'a> {
    client: &'a Client,
    run: Run,
    /// How the turns ended that have ended; each is asked for once.
    replied: HashMap<TurnId, bool>,
}

impl<'a> Following<'a> {
    /// Starts the recipe `inspect` with a job.
    pub fn start(client: &'a Client, job: Value) -> Result<Following<'a>, Failure> {
        let request = RunRequest { recipe: "inspect".into(), job, ..RunRequest::default() };
        let run: Run = client.post("/v1/run", &request, Span(0))?.read()?;
        Ok(Following { client, run, replied: HashMap::new() })
    }

    /// Waits for the end of the run.
    pub fn to_the_end(mut self, picture: &Picture) -> Result<RunResult, Failure> {
        loop {
            if interrupt::pressed() {
                return Err(Failure::Interrupted { goes_on: None });
            }
            if picture.is_seen() {
                self.look(picture)?;
            }
            let wait = if picture.is_seen() { FRAME } else { QUIET };
            let path = format!("/v1/status?run={}&wait={}ms", self.run.id, wait.0);
            let reply = self.client.get(&path, wait)?;
            if !reply.is_open() {
                if picture.is_seen() {
                    self.look(picture)?;
                }
                return reply.read();
            }
        }
    }

    fn look(&mut self, picture: &Picture) -> Result<(), Failure> {
        let detail: RunDetail = self.client.get(&format!("/v1/status?run={}", self.run.id), Span(0))?.read()?;
        let roster: Roster = self.client.get("/v1/list", Span(0))?.read()?;
        let working: HashSet<TurnId> = roster.workers.iter().filter_map(|worker| worker.turn).collect();
        for turn in detail.steps.iter().filter(|step| step.seq.is_some()).filter_map(|step| step.turn) {
            if !self.replied.contains_key(&turn) {
                let trace: Trace = self.client.get(&format!("/v1/status?turn={turn}"), Span(0))?.read()?;
                self.replied.insert(turn, trace.turn.turn.outcome == Some(Outcome::Replied));
            }
        }
        let said = detail.result.run.progress.as_deref().unwrap_or("");
        picture.draw(said, &Grid::of(&detail.steps, &working, &self.replied));
        Ok(())
    }
}

/// What is drawn on a terminal while the demo runs; nothing where there is no terminal.
pub struct Picture {
    bars: MultiProgress,
    head: ProgressBar,
    rows: std::cell::RefCell<Vec<ProgressBar>>,
    look: Look,
}

impl Picture {
    /// Begins a picture on standard error.
    pub fn new(look: Look) -> Picture {
        let bars = MultiProgress::new();
        if !look.terminal {
            bars.set_draw_target(indicatif::ProgressDrawTarget::hidden());
        }
        let head = bars.add(ProgressBar::new_spinner());
        let signs = if look.unicode { "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ " } else { "-\\|/ " };
        let style =
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        head.set_style(style.tick_chars(signs));
        head.enable_steady_tick(Duration::from_millis(100));
        Picture { bars, head, rows: std::cell::RefCell::default(), look }
    }

    /// Returns whether anybody looks.
    pub fn is_seen(&self) -> bool {
        self.look.terminal
    }

    /// Says in a few words what is being done.
    pub fn say(&self, words: &str) {
        self.head.set_message(words.to_owned());
    }

    /// Removes it from the terminal.
    pub fn clear(&self) {
        self.head.finish_and_clear();
        drop(self.bars.clear());
    }

    fn draw(&self, said: &str, grid: &Grid) {
        self.say(said);
        let mut rows = self.rows.borrow_mut();
        for (number, line) in grid.lines(&self.look).into_iter().enumerate() {
            if number == rows.len() {
                let row = self.bars.add(ProgressBar::new_spinner());
                row.set_style(
                    ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                rows.push(row);
            }
            rows[number].set_message(line);
        }
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        self.clear();
    }
}
