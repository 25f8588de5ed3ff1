//! `fleetd rules`: who may do what, through which door, as the daemon goes by it. It needs none to be running.
//! The rules themselves are the fleet's; here they are only drawn.

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::look::table::{self, Column};
use super::terminal::Terminal;
use crate::fleet::caller::CallerKind;
use crate::fleet::rules::{Door, Target, Verb, verdict};

/// The columns: who, through which door. At the hook door only a worker has anything to do.
const COLUMNS: [(&str, CallerKind, Door); 9] = [
    ("LEADER mcp", CallerKind::Leader, Door::Mcp),
    ("rest", CallerKind::Leader, Door::Rest),
    ("OPERATOR mcp", CallerKind::Operator, Door::Mcp),
    ("rest", CallerKind::Operator, Door::Rest),
    ("WORKER mcp", CallerKind::Worker, Door::Mcp),
    ("rest", CallerKind::Worker, Door::Rest),
    ("hook", CallerKind::Worker, Door::Hook),
    ("OTHERS mcp", CallerKind::Anonymous, Door::Mcp),
    ("rest", CallerKind::Anonymous, Door::Rest),
];

/// One cell of the table.
#[derive(Debug, Serialize)]
struct Cell {
    caller: &'static str,
    verb: &'static str,
    target: &'static str,
    door: &'static str,
    verdict: &'static str,
}

/// Prints the table: a line for each verb, a column for each caller and door; `--json` gives every cell.
pub fn run(terminal: &Terminal) -> Result<Exit, Failure> {
    if terminal.json {
        let cells: Vec<Cell> = every_cell().collect();
        terminal.print_json(&cells)?;
        return Ok(Exit::Ok);
    }
    let titles = COLUMNS.map(|(title, ..)| Column::new(title, 9));
    let columns: Vec<Column> = std::iter::once(Column::new("VERB", 9)).chain(titles).collect();
    let row = |verb: Verb| {
        let cells = COLUMNS.map(|(_, caller, door)| word(caller, verb, door).to_string());
        std::iter::once(verb.word().to_string()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = Verb::ALL.into_iter().map(row).collect();
    terminal.print(&table::draw(&terminal.out, &columns, &rows))?;
    terminal.talk(
        "own: its own turn or mailbox only. seat: the leader's seat is needed, and taken by asking while it is free.\n\
         rest: also the command line.",
    );
    Ok(Exit::Ok)
}

/// Every cell of the table.
fn every_cell() -> impl Iterator<Item = Cell> {
    let doors = Door::ALL.into_iter().flat_map(|door| CallerKind::ALL.map(|caller| (caller, door)));
    let verbs = doors.flat_map(|(caller, door)| Verb::ALL.map(|verb| (caller, verb, door)));
    verbs.flat_map(|(caller, verb, door)| {
        Target::ALL.map(|target| Cell {
            caller: caller.word(),
            verb: verb.word(),
            target: target.word(),
            door: door.word(),
            verdict: verdict(caller, verb, target, door).word(),
        })
    })
}

/// What stands in one field: both targets in a word.
fn word(caller: CallerKind, verb: Verb, door: Door) -> &'static str {
    use crate::fleet::rules::Verdict::{No, WithSeat, Yes};
    match (verdict(caller, verb, Target::Own, door), verdict(caller, verb, Target::Other, door)) {
        (Yes, Yes) => "yes",
        (WithSeat, WithSeat) => "seat",
        (Yes, _) => "own",
        (WithSeat, _) => "seat, own",
        (No, _) => "-",
    }
}
