//! What a screen shows of an agent that is typed to: its composer and what stands in it, whether it works, whether a
//! dialog is open. Idle is a positive sign, an empty composer, and never the absence of work.
//!
//! Only the neighbourhood of the composer is read: the same words in the prose above mean nothing.

use crate::engine::panes::Screen;
use crate::fleet::typing::Typing;

/// How many rows from the end are looked at when there is no composer.
const END: usize = 16;
/// What frames a composer: not a letter of it.
const FRAME: &[char] = &['│', '┃', '║', '|', '▌', '▏'];
/// What a frame's border consists of.
const BORDER: &[char] = &['─', '━', '═', '╭', '╮', '╰', '╯', '┌', '┐', '└', '┘', '-'];

/// What a screen shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// What stands in the composer, without frames; empty when only a placeholder does. None when there is no composer.
    pub composer: Option<String>,
    /// The row in which the composer begins.
    pub row: usize,
    /// Whether the agent works.
    pub busy: bool,
    /// The line by which an open dialog is known.
    pub dialog: Option<String>,
}

impl Look {
    /// Reads a screen.
    pub(super) fn of(screen: &Screen, typing: &Typing) -> Look {
        let lines = &screen.lines;
        let found = composer(lines, typing);
        // What somebody writes into the composer is about nothing but the message.
        let (row, above, below) = match &found {
            Some(found) => (found.rows.start, found.rows.start.saturating_sub(typing.near), found.rows.end),
            None => (lines.len(), last_rows(lines), lines.len()),
        };
        let near = || lines[above..row].iter().chain(&lines[below..]);
        let shows = |words: &[String]| {
            near()
                .find(|line| words.iter().any(|word| line.contains(word.as_str())))
                .map(|line| plain(line).trim().to_owned())
        };
        let composer = found.map(|Composer { text, .. }| {
            match typing.placeholder.iter().any(|word| text.starts_with(word.as_str())) {
                true => String::new(),
                false => text,
            }
        });
        Look { composer, row, busy: shows(&typing.busy).is_some(), dialog: shows(&typing.dialog) }
    }

    /// Returns whether the agent waits for a text.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.dialog.is_none() && self.composer.as_deref() == Some("")
    }

    /// Returns what is in the way of a text that is not typed yet, other than the agent's own work.
    pub(super) fn obstacle(&self) -> Option<String> {
        match (&self.dialog, &self.composer) {
            (Some(line), _) => Some(format!("a dialog is open: {}", cut(line))),
            (None, None) if !self.busy => Some("its screen shows no composer".into()),
            (None, Some(draft)) if !draft.is_empty() && !self.busy => Some("a draft stands in its composer".into()),
            _ => None,
        }
    }

    /// Returns whether the end of a text stands in the composer, or what stands for a paste.
    pub(super) fn holds(&self, tail: &str, typing: &Typing) -> bool {
        self.has(tail) || self.pastes(typing) > 0
    }

    /// Returns whether two texts of ours stand in the composer, of which this is the end of the older one.
    pub(super) fn holds_both(&self, older: &str, tail: &str, typing: &Typing) -> bool {
        self.has(older) || self.pastes(typing) + usize::from(self.has(tail)) > 1
    }

    /// Returns whether the end of a text itself stands in the composer.
    pub(super) fn has(&self, tail: &str) -> bool {
        let Some(text) = &self.composer else { return false };
        let dense: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        !tail.is_empty() && dense.contains(tail)
    }

    /// Returns how many pastes stand in the composer as something else than their text.
    fn pastes(&self, typing: &Typing) -> usize {
        let Some(text) = &self.composer else { return 0 };
        typing.pasted.iter().map(|mark| text.matches(mark.as_str()).count()).sum()
    }
}

/// Returns the end of a text as it is looked for on a screen: without blanks, for a screen breaks lines where it likes.
pub(super) fn tail_of(text: &str) -> String {
    let dense: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    dense[dense.len().saturating_sub(24)..].iter().collect()
}

/// Where people write.
struct Composer {
    /// Its rows, frame excluded.
    rows: std::ops::Range<usize>,
    /// What stands in it.
    text: String,
}

/// Returns the last composer with what stands in it.
fn composer(lines: &[String], typing: &Typing) -> Option<Composer> {
    let first_of = |line: &str| {
        let inner = plain(line);
        let inner = inner.trim_start();
        typing.prompt.iter().find_map(|mark| match inner.strip_prefix(mark.as_str()) {
            Some(rest) => Some(rest.trim().to_owned()),
            // An empty composer ends with the mark, whose blank the screen has cut.
            None => (inner.trim_end() == mark.trim_end()).then(String::new),
        })
    };
    let (row, mut text) = lines.iter().enumerate().rev().find_map(|(row, line)| Some((row, first_of(line)?)))?;
    let framed = lines[row].trim_start().starts_with(FRAME);
    let mut end = row + 1;
    for line in &lines[row + 1..] {
        let inner = plain(line);
        let inner = inner.trim();
        let is_border = !inner.is_empty() && inner.chars().all(|letter| BORDER.contains(&letter));
        let goes_on = if framed { line.trim_start().starts_with(FRAME) } else { !text.is_empty() && !inner.is_empty() };
        if is_border || !goes_on {
            break;
        }
        end += 1;
        if !inner.is_empty() {
            text.push('\n');
            text.push_str(inner);
        }
    }
    Some(Composer { rows: row..end, text: text.trim().to_owned() })
}

/// Returns a line without the frame at its ends.
fn plain(line: &str) -> String {
    let inner = line.trim_end().trim_end_matches(FRAME);
    let start = inner.trim_start();
    start.strip_prefix(FRAME).unwrap_or(inner).to_owned()
}

fn last_rows(lines: &[String]) -> usize {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    end.saturating_sub(END)
}

fn cut(line: &str) -> String {
    const MOST: usize = 80;
    if line.chars().count() <= MOST { line.to_owned() } else { line.chars().take(MOST).chain(['…']).collect() }
}

/// What tests show to those who act by it.
#[cfg(test)]
pub(super) mod shown {
    use super::Look;

    /// An agent that waits, with this in its composer.
    pub(in super::super) fn shows(composer: &str) -> Look {
        Look { composer: Some(composer.into()), ..Look::default() }
    }

    /// An agent at work.
    pub(in super::super) fn works() -> Look {
        Look { busy: true, ..shows("") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(lines: &[&str]) -> Look {
        let screen = Screen { lines: lines.iter().map(|line| line.to_string()).collect(), columns: None };
        Look::of(&screen, &Typing { placeholder: vec!["Try \"".into()], ..Typing::default() })
    }

    #[test]
    fn an_empty_composer_is_idle_with_frame_mark_and_placeholder_or_without() {
        for idle in [
            &["hello", "> "][..],
            &["hello", ">", "", ""],
            &["╭────╮", "│ > │", "╰────╯", "  ? for shortcuts"],
            &["────", "❯ Try \"fix lint errors\"", "────", "  ? for shortcuts"],
        ] {
            assert!(look(idle).is_idle(), "{idle:?}: {:?}", look(idle));
            assert_eq!(look(idle).obstacle(), None);
        }
    }

    #[test]
    fn a_screen_without_a_composer_is_never_idle() {
        for other in [&[][..], &["", ""], &["user@host:~$ "], &["Loading…"]] {
            assert!(!look(other).is_idle(), "{other:?}");
            assert_eq!(look(other).obstacle().as_deref(), Some("its screen shows no composer"));
        }
    }

    #[test]
    fn a_draft_of_one_line_or_many_is_in_the_way() {
        let draft = look(&["│ > please look │", "│   at this     │", "╰───────────────╯"]);
        assert_eq!(draft.composer.as_deref(), Some("please look\nat this"));
        assert_eq!(draft.obstacle().as_deref(), Some("a draft stands in its composer"));
        assert!(!look(&["│ > │", "│   second line │", "╰──╯"]).is_idle(), "a draft whose first line is empty");
        assert!(!look(&["> a", "b"]).is_idle());
    }

    #[test]
    fn work_and_dialogs_are_known_only_near_the_composer() {
        assert!(look(&["* thinking (esc to interrupt)", "> "]).busy);
        let dialog = look(&["May I run rm?", "  1. Yes", "  2. No"]);
        assert_eq!(dialog.obstacle().as_deref(), Some("a dialog is open: 1. Yes"));
        let prose: Vec<&str> =
            ["press 1. Yes or esc to interrupt"].into_iter().chain(["x"; 20]).chain(["> "]).collect();
        assert!(look(&prose).is_idle(), "what the agent wrote about it is prose");
    }

    #[test]
    fn words_of_a_message_or_of_a_reply_are_no_dialog_and_no_work() {
        let written = look(&["> press 1. Yes, or esc to interrupt", "  and then 1. Yes again"]);
        assert!(!written.busy && written.dialog.is_none(), "{written:?}");
        let typing = Typing { near: 0, ..Typing::default() };
        let below_only = |lines: &[&str]| {
            let screen = Screen { lines: lines.iter().map(|line| line.to_string()).collect(), columns: None };
            Look::of(&screen, &typing)
        };
        assert!(below_only(&["you may press 1. Yes or esc to interrupt", "> "]).is_idle(), "the end of a reply");
        assert!(below_only(&["> ", "  esc to interrupt"]).busy);
    }

    #[test]
    fn the_end_of_a_text_is_found_however_the_screen_breaks_it() {
        let typing = Typing::default();
        let tail = tail_of("fix the parser\n[end of fleet turn t12]");
        assert!(look(&["│ > fix the parser [end of fl │", "│   eet turn t12]            │"]).holds(&tail, &typing));
        assert!(look(&["> [Pasted text #1 +40 lines]"]).holds(&tail, &typing));
        assert!(!look(&["> fix the parser [end of fleet turn t1"]).holds(&tail, &typing));
        assert!(!look(&["[end of fleet turn t12]", "> "]).holds(&tail, &typing), "above the composer it was sent");
    }
}
