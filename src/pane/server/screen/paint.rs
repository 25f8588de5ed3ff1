//! A row as text with colours, for somebody else's terminal. Only letters and attributes are in it: nothing that
//! moves a cursor or sets a mode, whatever the program printed.

use std::fmt::Write;

use vt100::{Cell, Color, CursorStyle, Screen};

/// What a cell's letter is drawn with.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Attributes {
    foreground: Color,
    background: Color,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    inverse: bool,
}

/// Returns a row, cut to a width, without blanks at its end that have no colour.
pub fn row(screen: &Screen, row: u16, width: u16) -> String {
    let mut text = String::new();
    let mut drawn = Attributes::default();
    let mut blanks = 0;
    let mut column = 0;
    while column < width {
        let Some(cell) = screen.cell(row, column) else { break };
        // The half of a wide letter that is cut off is blank.
        let letter = if cell.is_wide() && column + 1 >= width { "" } else { cell.contents() };
        column += if cell.is_wide() { 2 } else { 1 };
        let wanted = Attributes::of(cell);
        if letter.trim_start_matches(' ').is_empty() && wanted == Attributes::default() && !cell.is_wide() {
            blanks += 1;
            continue;
        }
        if blanks > 0 {
            switch(&mut text, &mut drawn, Attributes::default());
            text.extend(std::iter::repeat_n(' ', blanks));
            blanks = 0;
        }
        switch(&mut text, &mut drawn, wanted);
        text.push_str(if letter.is_empty() { " " } else { letter });
    }
    switch(&mut text, &mut drawn, Attributes::default());
    text
}

/// Returns the number by which a shape of the cursor is set.
pub fn shape(style: CursorStyle) -> u8 {
    match style {
        CursorStyle::Default => 0,
        CursorStyle::BlinkBlock => 1,
        CursorStyle::SteadyBlock => 2,
        CursorStyle::BlinkUnderline => 3,
        CursorStyle::SteadyUnderline => 4,
        CursorStyle::BlinkVerticalBar => 5,
        CursorStyle::SteadyVerticalBar => 6,
    }
}

fn switch(text: &mut String, drawn: &mut Attributes, wanted: Attributes) {
    if *drawn == wanted {
        return;
    }
    *drawn = wanted;
    text.push_str("\x1b[0");
    let set = [
        (wanted.bold, ";1"),
        (wanted.dim, ";2"),
        (wanted.italic, ";3"),
        (wanted.underline, ";4"),
        (wanted.inverse, ";7"),
    ];
    set.iter().filter(|(is, _)| *is).for_each(|(_, code)| text.push_str(code));
    colour(text, wanted.foreground, 30);
    colour(text, wanted.background, 40);
    text.push('m');
}

fn colour(text: &mut String, colour: Color, base: u8) {
    // Writing to a text cannot fail.
    let _ = match colour {
        Color::Default => Ok(()),
        Color::Idx(n @ 0..=7) => write!(text, ";{}", base + n),
        Color::Idx(n @ 8..=15) => write!(text, ";{}", base + 60 + n - 8),
        Color::Idx(n) => write!(text, ";{};5;{n}", base + 8),
        Color::Rgb(red, green, blue) => write!(text, ";{};2;{red};{green};{blue}", base + 8),
    };
}

impl Attributes {
    fn of(cell: &Cell) -> Attributes {
        Attributes {
            foreground: cell.fgcolor(),
            background: cell.bgcolor(),
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
            inverse: cell.inverse(),
        }
    }
}
