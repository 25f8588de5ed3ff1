//! What is shown as rows of a terminal: texts wrapped to its width, the newest at the bottom.
//! Knows no turns.

use unicode_width::UnicodeWidthChar;

/// A terminal's size in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub rows: usize,
    pub columns: usize,
}

/// Wraps a text: its first row begins with `first`, all others with as many blanks.
pub fn wrap(first: &str, text: &str, columns: usize) -> Vec<String> {
    let indent: usize = first.chars().filter_map(char::width).sum();
    let columns = columns.max(indent + 2);
    let mut rows = vec![first.to_owned()];
    for (n, line) in text.split('\n').enumerate() {
        let mut used = indent;
        if n > 0 {
            rows.push(" ".repeat(indent));
        }
        for letter in line.chars().flat_map(seen) {
            let width = letter.width().unwrap_or(0);
            if used + width > columns {
                rows.push(" ".repeat(indent));
                used = indent;
            }
            rows.last_mut().expect("there is a first row").push(letter);
            used += width;
        }
    }
    rows
}

/// Returns what is drawn for a character: nothing that the terminal would obey.
fn seen(letter: char) -> impl Iterator<Item = char> {
    let drawn = match letter {
        '\t' => ([' '; 4], 4),
        control if control.is_control() => ([char::REPLACEMENT_CHARACTER; 4], 1),
        other => ([other; 4], 1),
    };
    drawn.0.into_iter().take(drawn.1)
}

/// Returns the bytes that draw a frame: the end of `above`, and all of `below` that fits, under its first row.
pub fn frame(above: &[String], below: &[String], size: Size) -> Vec<u8> {
    let mut rows: Vec<&String> = below.iter().collect();
    if rows.len() > size.rows {
        // What is written last stays in sight, and so does the row that shows that it is the composer.
        rows.drain(1..=rows.len() - size.rows);
    }
    let room = size.rows - rows.len();
    let shown = above.iter().skip(above.len().saturating_sub(room));
    // Hidden while it is drawn, as one picture.
    let mut bytes = b"\x1b[?25l\x1b[H".to_vec();
    for (n, row) in shown.chain(rows).enumerate() {
        if n > 0 {
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(row.as_bytes());
        bytes.extend_from_slice(b"\x1b[K");
    }
    bytes.extend_from_slice(b"\x1b[J\x1b[?25h");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_wrapped_under_its_mark() {
        assert_eq!(wrap("> ", "abcdefg\nhi", 6), ["> abcd", "  efg", "  hi"]);
        assert_eq!(wrap("> ", "", 6), ["> "]);
        assert_eq!(wrap("» ", "漢字漢字", 7), ["» 漢字", "  漢字"], "a wide letter is not cut in two");
        assert_eq!(wrap("", "a\u{1b}[31mb\tc", 20), ["a\u{fffd}[31mb    c"]);
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_middle() {
        let rows = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let drawn = |above: &[&str], below: &[&str]| {
            let bytes = frame(&rows(above), &rows(below), Size { rows: 3, columns: 9 });
            let text = String::from_utf8(bytes).unwrap();
            let text = text.replace("\x1b[K", "").replace("\x1b[J", "").replace("\x1b[H", "");
            text.replace("\x1b[?25l", "").replace("\x1b[?25h", "").replace("\r\n", "|")
        };
        assert_eq!(drawn(&["a", "b", "c"], &["> x"]), "b|c|> x");
        assert_eq!(drawn(&["a"], &["> 1", "2", "3", "4"]), "> 1|3|4");
        assert_eq!(drawn(&[], &["> "]), "> ");
    }
}
