//! The printed table: a figure, its limit, and the ratio of the two.
//! It judges nothing and ends no program with a failure: a bar that was missed is for the reader to see.

use std::fmt;
use std::time::Duration;

/// Rows in the order in which they were measured.
#[derive(Default)]
pub struct Table(Vec<Row>);

struct Row {
    what: String,
    figure: String,
    limit: String,
    ratio: Option<f64>,
}

impl Table {
    /// Adds a time beside the time that it cannot fall below.
    pub fn time(&mut self, what: &str, figure: Duration, limit: &str, floor: Duration) {
        self.add(Row {
            what: what.into(),
            figure: micros(figure),
            limit: format!("{} ({limit})", micros(floor)),
            ratio: Some(figure.as_secs_f64() / floor.as_secs_f64()),
        });
    }

    /// Adds a rate beside the rate that it cannot exceed.
    pub fn rate(&mut self, what: &str, figure: f64, limit: &str, ceiling: f64) {
        self.add(Row {
            what: what.into(),
            figure: format!("{figure:.0}/s"),
            limit: format!("{ceiling:.0}/s ({limit})"),
            ratio: Some(figure / ceiling),
        });
    }

    /// Adds memory in MB beside what it cannot fall far below.
    pub fn memory(&mut self, what: &str, figure: f64, limit: &str, floor: f64) {
        self.add(Row {
            what: what.into(),
            figure: format!("{figure:.0} MB"),
            limit: format!("{floor:.0} MB ({limit})"),
            ratio: Some(figure / floor),
        });
    }

    /// Adds a figure beside its bar.
    pub fn plain(&mut self, what: &str, figure: String, bar: &str) {
        self.add(Row { what: what.into(), figure, limit: bar.into(), ratio: None });
    }

    /// Says each row at once too: a run takes minutes, and one that is broken off has told something.
    fn add(&mut self, row: Row) {
        eprint!("{row}");
        self.0.push(row);
    }
}

fn micros(time: Duration) -> String {
    match time.as_micros() {
        us if us < 10_000 => format!("{us} µs"),
        us => format!("{:.1} ms", us as f64 / 1e3),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | measured | beside | ratio |")?;
        writeln!(f, "| --- | --- | --- | --- |")?;
        self.0.iter().try_for_each(|row| row.fmt(f))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        writeln!(f, "| {} | {} | {} | {ratio} |", self.what, self.figure, self.limit)
    }
}
