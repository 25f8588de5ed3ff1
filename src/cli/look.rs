//! How things look on a terminal: pure functions from what the daemon said to text, given the width and what the
//! terminal can show. Nothing here writes, asks the daemon or reads a clock.

pub mod answer;
pub mod charter;
pub mod failure;
pub mod mail;
pub mod roster;
pub mod run;
pub mod steps;
pub mod table;
pub mod timeline;

use std::borrow::Cow;

use console::{Style, Term};

/// What an output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Whether it shows more than ASCII.
    pub unicode: bool,
    /// Whether it shows colours.
    pub colour: bool,
    /// Whether a person looks at it.
    pub terminal: bool,
}

/// Columns where there is no terminal to ask.
const PLAIN_WIDTH: usize = 100;

impl Look {
    /// Returns what standard output can show.
    pub fn of_stdout() -> Look {
        Look::of(&Term::stdout(), console::colors_enabled())
    }

    /// Returns what standard error can show.
    pub fn of_stderr() -> Look {
        Look::of(&Term::stderr(), console::colors_enabled_stderr())
    }

    fn of(term: &Term, colour: bool) -> Look {
        let terminal = term.is_term();
        let width = match term.size_checked() {
            Some((_, columns)) if terminal && columns > 0 => usize::from(columns),
            _ => PLAIN_WIDTH,
        };
        let speaks = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = speaks("LC_ALL").or_else(|| speaks("LC_CTYPE")).or_else(|| speaks("LANG")).unwrap_or_default();
        let unicode = terminal && locale.to_lowercase().replace('-', "").contains("utf8");
        Look { width, unicode, colour: colour && terminal, terminal }
    }

    /// Returns the text in a style, where colours are shown.
    pub fn paint(&self, style: Style, text: &str) -> String {
        match self.colour {
            true => style.force_styling(true).apply_to(text).to_string(),
            false => text.to_string(),
        }
    }

    /// Returns the text as something that stands back.
    pub fn dim(&self, text: &str) -> String {
        self.paint(Style::new().dim(), text)
    }

    /// Returns the text as something that stands out.
    pub fn bold(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Returns a word for a state or an end in its colour.
    pub fn state(&self, word: &str) -> String {
        let style = match word {
            "replied" | "done" | "idle" | "ready" | "collected" => Style::new().green(),
            "failed" | "lost" | "unknown" | "timed_out" | "unreachable" => Style::new().red(),
            "partial" | "cancelled" | "asking" | "blocked" | "degraded" | "question" => Style::new().yellow(),
            _ => return word.to_string(),
        };
        self.paint(style, word)
    }

    /// Returns the sign between two things on a line.
    pub fn dot(&self) -> &'static str {
        if self.unicode { " · " } else { " - " }
    }

    /// Returns the sign for "goes to".
    pub fn arrow(&self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// Returns the sign at the left of something quoted.
    pub fn bar(&self) -> &'static str {
        if self.unicode { "│" } else { "|" }
    }

    /// Returns the sign for "was cut here".
    pub fn cut(&self) -> &'static str {
        if self.unicode { "…" } else { ".." }
    }
}

/// Returns a text without anything that could steer a terminal: control characters become visible.
pub fn safe(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let shown = text.chars().map(|c| if steers(c) { c.escape_default().to_string() } else { c.to_string() });
    Cow::Owned(shown.collect())
}

/// Returns `1 turn` or `3 turns`.
pub fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Returns the first line of a text, cut to a width.
pub fn one_line(text: &str, width: usize, look: &Look) -> String {
    let text = safe(text);
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default().replace('\t', " ");
    match lines.next() {
        Some(_) => console::truncate_str(&format!("{line}{}", look.cut()), width, look.cut()).into_owned(),
        None => console::truncate_str(&line, width, look.cut()).into_owned(),
    }
}

/// Returns a text broken at words: the first line after `first`, the others after as many spaces. Its own line
/// breaks stay, and so do the spaces at the begin of its lines.
pub fn wrap(text: &str, width: usize, first: &str) -> String {
    let indent = console::measure_text_width(first);
    let room = width.saturating_sub(indent).max(12);
    let mut out = String::from(first);
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
        }
        let begin = &line[..line.len() - line.trim_start().len()];
        out.push_str(begin);
        let mut used = begin.len();
        for (n, word) in line.split_whitespace().enumerate() {
            let length = console::measure_text_width(word);
            if n > 0 && used + 1 + length > room {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                used = 0;
            } else if n > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += length;
        }
    }
    out
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What tests draw on: no colour, so that a snapshot is what one reads.
    pub fn plain(width: usize) -> Look {
        Look { width, unicode: true, colour: false, terminal: true }
    }

    #[test]
    fn what_could_steer_a_terminal_becomes_visible() {
        assert_eq!(safe("plain\n\ttext"), "plain\n\ttext");
        assert_eq!(safe("a\u{1b}[2Jb\r\nc\u{202e}"), "a\\u{1b}[2Jb\nc\\u{202e}");
    }

    #[test]
    fn a_text_is_broken_at_words_and_keeps_its_own_lines() {
        insta::assert_snapshot!(wrap("there is no role 'w-locl', which is a pity\n  | its line", 30, "error: "), @"
        error: there is no role
               'w-locl', which is a
               pity
                 | its line
        ");
    }

    #[test]
    fn a_long_word_is_not_broken() {
        assert_eq!(wrap("a bbbbbbbbbbbbbbbbbbbbbbbb c", 10, ""), "a\nbbbbbbbbbbbbbbbbbbbbbbbb\nc");
    }
}
