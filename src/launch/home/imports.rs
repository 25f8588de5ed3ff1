//! A text in which `@path` stands for a file, written out: files inside the worker's directory stand in the place of
//! their names, and no name of a file is left that a program could follow out of it.
//!
//! A program looks for names in every piece of the text, and what a piece is differs from program to program. So no
//! `@` is left that could begin one, in code neither; where code is decides only what is written out.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::bring::inside;
use crate::launch::read;

/// How deep files may name files.
const DEEPEST: usize = 5;
/// How long the whole may become by what is written out.
const LONGEST: usize = 1024 * 1024;

/// Returns the text of a file with all that it imports.
pub(super) fn written_out(text: &str, file: &Path, cwd: &Path) -> String {
    let mut out = String::new();
    let mut seen: BTreeSet<PathBuf> = file.canonicalize().into_iter().collect();
    write_out(text, file, cwd, 0, &mut seen, &mut out);
    out
}

fn write_out(text: &str, file: &Path, cwd: &Path, depth: usize, seen: &mut BTreeSet<PathBuf>, out: &mut String) {
    let dir = file.parent().unwrap_or(cwd);
    let mut fence = None;
    for line in text.lines() {
        let is_code = fence.is_some();
        fence = after(fence, line);
        let found = without_names(line, out);
        out.push('\n');
        if is_code || fence.is_some() {
            continue;
        }
        for path in found {
            let Some(path) = inside(cwd, &dir.join(path)).filter(|path| path.is_file()) else { continue };
            if depth >= DEEPEST || !seen.insert(path.clone()) {
                continue;
            }
            match read::text(&path, LONGEST.saturating_sub(out.len()) as u64) {
                Ok(text) => write_out(&text, &path, cwd, depth + 1, seen, out),
                Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                    let name = path.file_name().unwrap_or_default().display();
                    out.push_str(&format!("({name} is not written out here: all together may be {LONGEST} bytes)\n"));
                }
                Err(_) => {}
            }
        }
    }
}

/// Writes a line without names of files, and returns those that it had as words of their own.
fn without_names<'a>(line: &'a str, out: &mut String) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut before = None;
    for (n, letter) in line.char_indices() {
        out.push(letter);
        if letter == '@' && !is_address(line, n) {
            let after = &line[n + 1..];
            if !after.starts_with([' ', '\t']) {
                out.push(' ');
            }
            // A mark of the byte order counts as a blank.
            if before.is_none_or(|before: char| before.is_whitespace() || before == '\u{feff}') {
                let word = after.split(char::is_whitespace).next().unwrap_or_default();
                found.push(word.trim_end_matches([',', '.', ';', ':', ')']));
            }
        }
        before = Some(letter);
    }
    found.retain(|word| !word.is_empty());
    found
}

/// Returns whether the `@` at a place of a line is that of a mail address: the only one of its word, after a letter.
fn is_address(line: &str, at: usize) -> bool {
    let (before, after) = (&line[..at], &line[at + 1..]);
    let begin = before.rfind(char::is_whitespace).map_or(0, |n| n + 1);
    // What follows an address may be a piece of its own.
    before.ends_with(char::is_alphanumeric) && !before.get(begin..).unwrap_or(before).contains('@') && {
        after.starts_with(char::is_alphanumeric)
    }
}

/// A fence of code: its letter, and how often.
type Fence = (char, usize);

/// Returns the fence that is open after a line.
fn after(open: Option<Fence>, line: &str) -> Option<Fence> {
    let line = line.trim_start();
    let Some(letter) = line.chars().next().filter(|letter| ['`', '~'].contains(letter)) else { return open };
    let rest = line.trim_start_matches(letter);
    let often = line.len() - rest.len();
    match open {
        Some((opened, least)) if opened == letter && often >= least && rest.trim().is_empty() => None,
        Some(_) => open,
        // One that is closed on its own line is a piece of that line.
        None => (often >= 3 && !(letter == '`' && rest.contains('`'))).then_some((letter, often)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        without_names(text, &mut out);
        out
    }

    #[test]
    fn no_name_is_left_whatever_stands_before_it() {
        let tricks = [
            "@~/x",
            "**@~/x**",
            "[@../x]",
            "`code`@~/x",
            "\u{feff}@~/x",
            "\t@~/x",
            "a\u{a0}@~/x",
            "(@~/x)",
            "\"@~/x\"",
            "<b>@~/x",
            "`@~/x`",
            "\\@~/x",
            "@@~/x",
            "a@b.org@~/x",
            "a@b.org@docs/x",
            "é@/x",
            "www.a.b@/x",
            "-@x",
            "_@x",
            "@\u{85}x",
            "a\u{85}@b",
        ];
        for text in tricks {
            let out = written(text);
            let left = out.char_indices().filter(|(_, letter)| *letter == '@');
            let left = left.filter(|(n, _)| !out[n + 1..].starts_with([' ', '\t']));
            let left: Vec<_> = left.filter(|(n, _)| !out[..*n].ends_with(char::is_alphanumeric)).collect();
            assert_eq!(left, [], "{text} became {out}");
        }
        assert_eq!(written("a@b.org@~/x"), "a@b.org@ ~/x", "an address may end a piece of the text");
        for text in ["mail a@b.org, or (c@d.org)", "x @ y", "no names"] {
            assert_eq!(written(text), text);
        }
    }

    #[test]
    fn a_fence_that_closes_on_its_own_line_is_none() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let cwd = place.path().canonicalize().expect("it is there");
        fs::write(cwd.join("r.md"), "be kind").expect("written");
        let kind = |text: &str| written_out(text, &cwd.join("A.md"), &cwd).contains("be kind");
        assert!(kind("```a```\n@r.md") && kind("```\ncode\n```\n@r.md") && kind("~~~\n```\n~~~\n@r.md"));
        assert!(!kind("```\n@r.md\n```") && !kind("````\n```\n@r.md") && !kind("``` sh\n```a```\n@r.md"));
    }

    #[test]
    fn what_is_written_out_is_bounded() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let cwd = place.path().canonicalize().expect("it is there");
        for n in 0..4 {
            fs::write(cwd.join(format!("{n}.md")), "x".repeat(LONGEST / 2 - 100)).expect("written");
        }
        fs::File::create(cwd.join("big.md")).and_then(|file| file.set_len(1 << 40)).expect("made");
        std::os::unix::fs::symlink("/dev/zero", cwd.join("zero.md")).expect("linked");
        crate::launch::read::tests::pipe(&cwd.join("pipe.md"));
        let text = "@big.md @zero.md @pipe.md @0.md @1.md @2.md @3.md";
        let out = written_out(text, &cwd.join("A.md"), &cwd);
        assert!(out.len() < LONGEST + 1_000, "{}", out.len());
        assert!(out.contains("(big.md is not written out here") && out.contains("(3.md is not"), "it says so");
    }
}
