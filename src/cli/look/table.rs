//! A table that fits its terminal: where there is no room, the columns that matter least go first, then the one
//! that bends is cut. What stands in the cells is decided by the caller.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

use super::Look;

const GAP: usize = 2;
/// What is left of a column that bends.
const LEAST: usize = 12;

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    keep: u8,
    bends: bool,
    right: bool,
}

impl Column {
    /// Returns a column; those with the lowest `keep` go first, and 9 never goes.
    pub const fn new(title: &'static str, keep: u8) -> Column {
        Column { title, keep, bends: false, right: false }
    }

    /// Returns the column as one that may be cut.
    pub const fn bends(mut self) -> Column {
        self.bends = true;
        self
    }

    /// Returns the column as one of numbers.
    pub const fn right(mut self) -> Column {
        self.right = true;
        self
    }
}

/// Draws rows under titles; cells may be coloured.
pub fn draw(look: &Look, columns: &[Column], rows: &[Vec<String>]) -> String {
    let natural = |n: usize| {
        let cells = rows.iter().map(|row| measure_text_width(&row[n]));
        cells.max().unwrap_or(0).max(measure_text_width(columns[n].title))
    };
    // A column in which nothing stands says nothing.
    let mut shown: Vec<(usize, usize)> = (0..columns.len())
        .filter(|n| columns[*n].keep == 9 || rows.iter().any(|row| !row[*n].is_empty()))
        .map(|n| (n, natural(n)))
        .collect();
    while least_width(columns, &shown) > look.width {
        let least = shown.iter().filter(|(n, _)| columns[*n].keep < 9).min_by_key(|(n, _)| columns[*n].keep).copied();
        let Some(least) = least else { break };
        shown.retain(|column| *column != least);
    }
    let over = total(&shown).saturating_sub(look.width);
    if over > 0
        && let Some((_, width)) = shown.iter_mut().filter(|(n, _)| columns[*n].bends).max_by_key(|(_, width)| *width)
    {
        *width = width.saturating_sub(over).max(LEAST.min(*width));
    }
    let title = |n: usize| look.dim(columns[n].title);
    let mut lines = vec![line(look, columns, &shown, title)];
    lines.extend(rows.iter().map(|row| line(look, columns, &shown, |n| row[n].clone())));
    lines.join("\n")
}

fn total(shown: &[(usize, usize)]) -> usize {
    shown.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Returns the width when the bending columns are cut as far as they may be.
fn least_width(columns: &[Column], shown: &[(usize, usize)]) -> usize {
    let bent: Vec<(usize, usize)> =
        shown.iter().map(|(n, width)| (*n, if columns[*n].bends { (*width).min(LEAST) } else { *width })).collect();
    total(&bent)
}

fn line(look: &Look, columns: &[Column], shown: &[(usize, usize)], cell: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for (at, (n, width)) in shown.iter().enumerate() {
        if at > 0 {
            out.push_str(&" ".repeat(GAP));
        }
        let text = cell(*n);
        let text = truncate_str(&text, *width, look.cut());
        let side = if columns[*n].right { Alignment::Right } else { Alignment::Left };
        out.push_str(&pad_str(&text, *width, side, None));
    }
    out.trim_end().to_string()
}
