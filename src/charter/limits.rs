//! The table of limits in the guide, held against the numbers that hold.
//! Only a test; each number stays with what it bounds.

use super::meter::{Allowance, IN_ALL, MEMORY, NO_WAIT};
use super::runs::{self, live};
use super::{HELD_RUNS, json, quote, steps, testing, world};
use crate::fleet::Limits;
use crate::fleet::state::MOST_NOTES;
use crate::fleet::{children, commands, shape};

const GUIDE: &str = include_str!("../../docs/charters.md");
const PRELUDE: &str = include_str!("../../lua/prelude.lua");

/// Writes a number as the guide does: with a comma before each three digits.
fn written(n: usize) -> String {
    let digits = n.to_string();
    let three = |(at, digit): (usize, char)| {
        let comma = (at > 0 && (digits.len() - at).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit]).collect::<String>()
    };
    digits.chars().enumerate().map(three).collect()
}

fn mib(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

#[test]
fn the_guide_names_the_limits_that_hold() {
    let limits = Limits::default();
    let rows = [
        ("a recipe between two waits", vec![format!("{} ms", runs::STEP_TIME.as_millis())]),
        ("a recipe in all", vec!["5 s".to_owned()]),
        ("a rubric, a handler", vec![format!("{} ms", Allowance::RUBRIC.time.as_millis())]),
        ("the load of a charter", vec![format!("{} ms", Allowance::LOAD.time.as_millis())]),
        ("its tests, before it is taken over", vec![format!("{} s", testing::LONGEST.as_secs())]),
        ("memory", vec![mib(world::MEMORY)]),
        ("a value given to a step", vec![mib(json::STEP_BYTES), format!("{} levels", json::DEPTH)]),
        ("a quote", vec![format!("{} KiB", quote::MOST >> 10)]),
        ("the value of a run", vec![mib(json::RUN_BYTES)]),
        ("`run:each`", vec![written(steps::MOST_ITEMS), format!("{} levels", live::DEEPEST)]),
        (
            "a pattern; `split`, `utf8` and a plain `find`",
            vec!["a text of 20 MB, of 20 MB by the letters".to_owned(), "8 MiB".to_owned()],
        ),
        ("runs under way", vec![written(limits.max_runs), format!("those that wait {} in memory", written(HELD_RUNS))]),
        ("runs below runs", vec![format!("{} deep", children::MOST_DEPTH)]),
        ("steps of a run", vec![written(limits.max_steps)]),
        ("notes of all runs", vec![written(MOST_NOTES)]),
        (
            "commands of runs",
            vec![format!("{} at once", commands::AT_ONCE), format!("{} min each", commands::MOST.0 / 60_000)],
        ),
        ("a schema; its corrections", vec![format!("{} KiB; {} ", shape::MOST_SCHEMA >> 10, shape::MOST_CORRECTIONS)]),
    ];
    let table: Vec<&str> = GUIDE.lines().skip_while(|line| *line != "| what | limit | when it is passed |").collect();
    let table: Vec<&str> = table.into_iter().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), rows.len(), "each row is held against a number");
    for (line, (what, says)) in table.iter().zip(&rows) {
        assert!(line.starts_with(&format!("| {what} |")), "{line}");
        for number in says {
            assert!(line.contains(number.as_str()), "{number}: {line}");
        }
    }
    assert!(PRELUDE.contains("local MATCH_LIMIT = 2e7") && PRELUDE.contains("local TEXT_LIMIT = 8 * 1024 * 1024"));
    assert!(NO_WAIT.contains("100 ms") && IN_ALL.contains("5 s") && MEMORY.contains("64 MiB"));
}
