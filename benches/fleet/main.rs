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

fn main() {
    // cargo adds a word of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        // The caller of ten thousand messages must be another process, or its memory would be counted too.
        ["held", url, count] => held::hold(url, count.parse().expect("a number")),
        ["held-mcp", url, tool] => mcp::hold(url, tool),
        ["bare"] => bare::serve(),
        // The pane server alone, which takes a minute and not ten.
        ["panes"] => {
            let mut table = table::Table::default();
            panes::measure(&mut table);
            println!("{table}");
        }
        ["looks"] => {
            let mut table = table::Table::default();
            mcp::looks(&mut table);
            println!("{table}");
        }
        ["charters"] => {
            let mut table = table::Table::default();
            charters::measure(&mut table);
            println!("{table}");
        }
        _ => {
            let mut table = table::Table::default();
            figures::measure(&mut table);
            charters::measure(&mut table);
            mcp::measure(&mut table);
            sessions::measure(&mut table);
            held::measure(&mut table);
            panes::measure(&mut table);
            println!("{table}");
        }
    }
}
