//! `fleetd screen`: what a worker's pane shows, printed once or whenever it changes. Looking never changes what the
//! worker sees; a worker that has ended is shown as it was at the end.

use std::time::{Duration, Instant};

use clap::Args;

use super::exit::{Exit, Failure};
use super::look::safe;
use super::terminal::Terminal;
use super::window::{self, failure, other_answer};
use crate::pane::talk::Talk;
use crate::pane::wire::{Ask, Done, Line, Seen, Shown, View};

pub const EXAMPLES: &str = "\
Examples:
  fleetd screen w-local-2
  fleetd screen w-local-2 --ansi             with its colours
  fleetd screen w-local-2 --history 100      with rows that have left it at the top
  fleetd screen w-local-2 --follow           again and again, until the worker ends";

/// How long nothing may happen before it is looked again all the same.
const LATEST: Duration = Duration::from_secs(5);
/// How long nothing more must happen before a change is shown: what is printed in one go is shown in one go.
const GATHER: Duration = Duration::from_millis(30);

/// What `screen` is told.
#[derive(Args, Debug)]
pub struct ScreenArgs {
    /// The worker
    worker: String,
    /// With colours, for a terminal
    #[arg(long)]
    ansi: bool,
    /// Print it whenever it changes, until the worker ends
    #[arg(long)]
    follow: bool,
    /// Also print so many rows that have left it at the top
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    history: usize,
}

/// Shows the screen.
pub fn run(terminal: &Terminal, args: ScreenArgs) -> Result<Exit, Failure> {
    let (mut talk, shown) = window::find(terminal, &args.worker)?;
    let view = look(&mut talk, &shown, &args)?;
    show(terminal, &args, &view)?;
    if args.follow && view.died.is_none() {
        return follow(terminal, &args, talk, &shown, view);
    }
    if let Some(death) = view.died {
        terminal.talk(&format!("{} has ended: {death}; this was its last screen", args.worker));
    }
    Ok(Exit::Ok)
}

fn follow(terminal: &Terminal, args: &ScreenArgs, mut talk: Talk, shown: &Shown, first: View) -> Result<Exit, Failure> {
    talk.ask(Ask::Subscribe).map_err(failure)?;
    let mut last = first;
    let mut latest = Instant::now();
    loop {
        let view = look(&mut talk, shown, args)?;
        if view != last {
            if view.lines != last.lines || view.coloured != last.coloured || view.history != last.history {
                show(terminal, args, &view)?;
            }
            last = view;
        }
        if let Some(death) = last.died {
            terminal.talk(&format!("{} has ended: {death}", args.worker));
            return Ok(Exit::Ok);
        }
        let ours = |line: Line| matches!(line, Line::Seen(Seen::Changed(id) | Seen::Gone(id)) if id == shown.pane.id);
        while let Some(line) = talk.next(latest + LATEST).map_err(failure)? {
            if ours(line) {
                break;
            }
        }
        latest = Instant::now();
        while talk.next(latest + GATHER).map_err(failure)?.is_some() {}
    }
}

fn look(talk: &mut Talk, shown: &Shown, args: &ScreenArgs) -> Result<View, Failure> {
    let ask = Ask::Screen { pane: shown.pane.clone(), colours: args.ansi, history: args.history };
    match talk.ask(ask).map_err(failure)? {
        Done::Screen(view) => Ok(*view),
        _ => Err(other_answer()),
    }
}

fn show(terminal: &Terminal, args: &ScreenArgs, view: &View) -> Result<(), Failure> {
    if terminal.json {
        return terminal.print_json(view);
    }
    let begin = match (args.follow, terminal.out.terminal) {
        (false, _) => String::new(),
        // A person sees it in its place, a program one after the other.
        (true, true) => "\x1b[H\x1b[2J".into(),
        (true, false) => format!("== {}\n", args.worker),
    };
    terminal.print(&format!("{begin}{}", draw(args, view)))
}

/// Draws the rows down to the last one that is not empty.
fn draw(args: &ScreenArgs, view: &View) -> String {
    let rows = if args.ansi { &view.coloured } else { &view.lines };
    let mut rows: Vec<&str> = view.history.iter().chain(rows).map(String::as_str).collect();
    while rows.last().is_some_and(|row| row.is_empty()) {
        rows.pop();
    }
    // Rows hold no control characters, coloured ones none but attributes; what turns the direction of writing is shown.
    let row = |row: &&str| if args.ansi { row.to_string() } else { safe(row).into_owned() };
    rows.iter().map(|text| row(text) + "\n").collect()
}
