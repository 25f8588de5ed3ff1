//! What fleetd costs, each figure beside the physical limit measured in the same run.
//!
//! `cargo bench` prints a table of ratios; `docs/performance.md` keeps the last one. Nothing here is asserted: a slow
//! machine is no failure.

mod bare;
mod charters;
mod daemon;
mod figures;
mod held;
mod http;
mod mcp;
mod panes;
mod sessions;
mod table;

use table::Table;

/// One part, which adds its rows.
type Measure = fn(&mut Table);

/// What is measured, in this order.
const PARTS: [(&str, Measure); 7] = [
    ("figures", figures::measure),
    ("charters", charters::measure),
    ("looks", mcp::looks),
    ("mcp", mcp::measure),
    ("sessions", sessions::measure),
    ("held", held::measure),
    ("panes", panes::measure),
];

fn main() {
    // cargo adds a word of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        // The caller of ten thousand messages must be another process, or its memory would be counted too.
        ["held", url, count] => held::hold(url, count.parse().expect("a number")),
        ["held-mcp", url, tool] => mcp::hold(url, tool),
        ["bare"] => bare::serve(),
        // One part of it, which takes a minute and not ten.
        [part] => match PARTS.iter().find(|(name, _)| name == part) {
            Some((_, measure)) => told(&[*measure]),
            None => {
                let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
                println!("there is no part '{part}'; valid: {}", names.join(", "));
            }
        },
        _ => told(&PARTS.map(|(_, measure)| measure)),
    }
}

fn told(parts: &[Measure]) {
    let mut table = Table::default();
    for measure in parts {
        measure(&mut table);
    }
    println!("{table}");
}
