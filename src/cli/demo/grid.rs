//! The progress of the demo as a grid: a row for each kind of worker, a cell for each part.
//!
//! Pure: steps in, lines out. Where they are drawn and how often is `follow`'s matter.

use std::collections::{HashMap, HashSet};

use console::Style;

use crate::cli::look::Look;
use crate::fleet::ids::TurnId;
use crate::fleet::run::Step;

/// How one part fares with one kind of worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Waiting,
    Working,
    Replied,
    Missing,
}

/// All errands, by kind of worker in the order in which the recipe first sends to it.
#[derive(Debug, Default)]
pub struct Grid {
    rows: Vec<(String, Vec<Cell>)>,
}

impl Grid {
    /// Reads the steps of a run; `working` are the turns that a worker has now, `replied` how ended ones ended.
    pub fn of(steps: &[Step], working: &HashSet<TurnId>, replied: &HashMap<TurnId, bool>) -> Grid {
        let mut grid = Grid::default();
        for step in steps.iter().filter(|step| step.verb == "send") {
            let Some(role) = role_of(step) else { continue };
            let cell = match step.turn {
                Some(turn) if step.seq.is_some() => match replied.get(&turn) {
                    Some(false) => Cell::Missing,
                    _ => Cell::Replied,
                },
                Some(turn) if working.contains(&turn) => Cell::Working,
                None if step.seq.is_some() => Cell::Missing,
                _ => Cell::Waiting,
            };
            match grid.rows.iter_mut().find(|(name, _)| name == role) {
                Some((_, cells)) => cells.push(cell),
                None => grid.rows.push((role.to_owned(), vec![cell])),
            }
        }
        grid
    }

    /// Returns one line a row.
    pub fn lines(&self, look: &Look) -> Vec<String> {
        let widest = self.rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
        self.rows.iter().map(|(role, cells)| line(role, cells, widest, look)).collect()
    }
}

/// A send is journaled as `to ROLE: PROMPT`.
fn role_of(step: &Step) -> Option<&str> {
    step.what.strip_prefix("to ")?.split(':').next()
}

fn line(role: &str, cells: &[Cell], widest: usize, look: &Look) -> String {
    let ended = cells.iter().filter(|cell| matches!(cell, Cell::Replied | Cell::Missing)).count();
    let signs: String = cells.iter().map(|cell| sign(*cell, look)).collect();
    let gap = " ".repeat(widest - cells.len());
    let line = format!("  {role:<8} {signs}{gap} {ended}/{}", cells.len());
    console::truncate_str(&line, look.width, look.cut()).into_owned()
}

fn sign(cell: Cell, look: &Look) -> String {
    let (sign, plain, style) = match cell {
        Cell::Waiting => ("·", ".", Style::new().dim()),
        Cell::Working => ("▸", ">", Style::new().cyan()),
        Cell::Replied => ("■", "#", Style::new().green()),
        Cell::Missing => ("✗", "x", Style::new().red()),
    };
    look.paint(style, if look.unicode { sign } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use crate::fleet::time::Time;

    fn send(role: &str, turn: u64, seq: Option<u64>) -> Step {
        serde_json::from_value(serde_json::json!({
            "run": "r1", "path": format!("each#1[{turn}].send#1"), "verb": "send", "hash": "",
            "what": format!("to {role}: /tree…"), "at": "recipes/inspect.lua:1", "began": Time(1),
            "turn": format!("t{turn}"), "seq": seq,
        }))
        .expect("a step")
    }

    #[test]
    fn every_kind_of_worker_has_a_row_and_every_part_a_cell() {
        let steps = [
            send("w-notes", 1, Some(1)),
            send("w-size", 2, None),
            send("w-notes", 3, Some(2)),
            send("w-size", 4, None),
        ];
        let working = HashSet::from([TurnId(2)]);
        let replied = HashMap::from([(TurnId(1), true), (TurnId(3), false)]);
        let grid = Grid::of(&steps, &working, &replied);
        assert_eq!(grid.lines(&plain(80)), ["  w-notes  ■✗ 2/2", "  w-size   ▸· 0/2"]);
        let uneven = Grid::of(&steps[..3], &working, &replied);
        assert_eq!(uneven.lines(&plain(80)), ["  w-notes  ■✗ 2/2", "  w-size   ▸  0/1"]);
        let ascii = Look { unicode: false, ..plain(14) };
        assert_eq!(grid.lines(&ascii), ["  w-notes  #..", "  w-size   >.."]);
    }
}
