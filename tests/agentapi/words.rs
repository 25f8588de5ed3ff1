//! What a screen says, by the rules of the real program: the lines that are new, without the user's words that were
//! echoed, without the input box. Pure.

use crate::options::Kind;

const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\u{c}', '\u{b}'];
/// What the edge of an input box has in it.
const RULE: &str = "───────────────";

/// Returns a message without the blanks around it.
pub fn trimmed(message: &str) -> &str {
    message.trim_matches(BLANKS)
}

/// Returns what the program said: what is on the screen now and was not when the user's last message came.
pub fn said(kind: Kind, before: &str, now: &str, user: &str) -> String {
    let lines = new_lines(kind, before, now);
    let lines = &lines[echoed(&lines, user)..];
    let end = input_box(kind, lines).unwrap_or(lines.len());
    without_blank_edges(&lines[..end]).join("\n")
}

/// Tells whether an input box is to be seen.
pub fn has_input_box(kind: Kind, screen: &str) -> bool {
    let lines: Vec<&str> = screen.split('\n').collect();
    input_box(kind, without_blank_edges(&lines)).is_some()
}

/// Returns the lines from the first one on that was not there before.
fn new_lines<'s>(kind: Kind, before: &str, now: &'s str) -> Vec<&'s str> {
    let old: std::collections::HashSet<&str> = before.split('\n').collect();
    let lines: Vec<&str> = now.split('\n').collect();
    // A header that always changes.
    let head = if kind == Kind::Opencode && lines.len() >= 3 { 3 } else { 0 };
    let first = lines[head..].iter().position(|line| !old.contains(line)).map_or(lines.len(), |at| at + head);
    without_blank_edges(&lines[first..]).to_vec()
}

fn without_blank_edges<'l, 's>(lines: &'l [&'s str]) -> &'l [&'s str] {
    let has_words = |line: &&str| !line.trim().is_empty();
    let first = lines.iter().position(has_words).unwrap_or(lines.len());
    let last = lines.iter().rposition(has_words).map_or(first, |at| at + 1);
    &lines[first..last]
}

/// Returns how many lines at the begin are the user's own words: they are looked for by their first letters near the
/// top, and followed as long as at most a few letters are missing on either side.
fn echoed(lines: &[&str], user: &str) -> usize {
    const FIRST: usize = 6;
    const AHEAD: usize = 5;
    let letters = |line: &str| line.chars().filter(|c| !BLANKS.contains(c)).collect::<Vec<_>>();
    let shown: Vec<(char, usize)> =
        lines.iter().enumerate().flat_map(|(n, line)| letters(line).into_iter().map(move |c| (c, n))).collect();
    let wanted = letters(user);
    let mut begin = letters(user.split('\n').next().unwrap_or_default());
    begin.truncate(FIRST);
    if begin.is_empty() {
        return 0;
    }
    let near_the_top = shown.iter().take_while(|(_, line)| *line <= 5).count().max(25).min(shown.len());
    let found = shown[..near_the_top].windows(begin.len()).position(|some| some.iter().map(|(c, _)| c).eq(&begin));
    let Some(mut at) = found else { return 0 };
    let mut done = 0;
    let ahead = || (1..=AHEAD).flat_map(|user| (1..=AHEAD).map(move |screen| (user, screen)));
    while let Some((user, screen)) = ahead()
        .take_while(|(user, screen)| done + user < wanted.len() && at + screen < shown.len())
        .find(|(user, screen)| wanted[done + user] == shown[at + screen].0)
    {
        (done, at) = (done + user, at + screen);
    }
    shown[at].1 + 1
}

/// Returns the line at which the input box begins.
fn input_box(kind: Kind, lines: &[&str]) -> Option<usize> {
    let last = |n: usize| (lines.len().saturating_sub(n)..lines.len()).rev();
    match kind {
        Kind::Codex => last(6).find(|at| lines[*at].contains('›')),
        Kind::Opencode => {
            let edge = lines.iter().rposition(|line| line.trim_start().starts_with("╹▀▀▀"))?;
            let inside = lines[..edge].iter().rev().take_while(|line| line.trim_start().starts_with('┃')).count();
            Some(edge - inside)
        }
        _ => {
            let arrow = last(6).find(|at| lines[*at].contains('>'));
            let arrow = arrow.map(|at| if at > 0 && lines[at - 1].contains(RULE) { at - 1 } else { at });
            arrow.or_else(|| {
                let edges = |at: &usize| lines[*at].contains(RULE) && lines[at + 2].contains(RULE);
                let inside = |at: &usize| lines[at + 1].contains(['|', '│']);
                last(9).skip(2).find(|at| edges(at) && inside(at))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_without_the_echo_and_the_box_are_what_was_said() {
        let before = "welcome\n\n───────────────\n> \n───────────────\n\n";
        let now = "welcome\n\n> how are\n  you?\n\n● fine\n  thanks\n\n───────────────\n> \n───────────────\n";
        assert_eq!(said(Kind::Custom, before, now, "how are you?"), "● fine\n  thanks");
        assert_eq!(said(Kind::Custom, "", before, ""), "welcome");
        assert_eq!(said(Kind::Custom, before, before, "hm"), "", "nothing is new");
    }

    #[test]
    fn an_echo_may_lack_some_letters_and_words_further_down_are_no_echo() {
        assert_eq!(
            said(Kind::Custom, "", "> run this: x\n  and say\nit ran\n\n", "run this: ```x``` and say"),
            "it ran"
        );
        let far = "1\n2\n3\n4\n5\n6\n7\n8 abcdefghijklmnopqrstuvwxyz\n9 hello there";
        assert_eq!(said(Kind::Custom, "", far, "hello there"), far);
        assert_eq!(said(Kind::Custom, "", "an answer", "another thing"), "an answer");
    }

    #[test]
    fn each_kind_has_its_box() {
        let screens = [
            (Kind::Claude, "a\n───────────────\n> x\n───────────────\n  ? for help\n\n"),
            (Kind::Goose, "a\n> \n"),
            (Kind::Aider, "a\n───────────────\n│ x\n───────────────\n"),
            (Kind::Codex, "a > b\n› write\n\n  hints"),
            (Kind::Opencode, "1\n2\n3\na\n┃\n┃ > x\n╹▀▀▀▀▀▀\n keys"),
        ];
        for (kind, screen) in screens {
            assert!(has_input_box(kind, screen), "{kind:?}");
            let said = said(kind, "", screen, "");
            assert!(said.starts_with('a') && !said.contains("x\n") && !said.contains("write"), "{kind:?}: {said}");
        }
        assert!(!has_input_box(Kind::Custom, "a menu\n 1. yes\n 2. no\n"), "a dialog is none");
        assert!(!has_input_box(Kind::Codex, "> \n"));
    }

    #[test]
    fn what_scrolled_off_makes_old_lines_new_ones() {
        let before = "old answer\n> \n";
        let redrawn = "old answer, drawn anew\n> q\nnew answer\n> \n";
        assert_eq!(said(Kind::Custom, before, redrawn, "question"), "old answer, drawn anew\n> q\nnew answer");
    }
}
