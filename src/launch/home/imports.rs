//! A text in which `@path` stands for a file, written out: files inside the worker's directory stand in the place of
//! their names, and no name of a file is left that a program could follow out of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::bring::inside;
use crate::launch::read;

/// How deep files may name files.
const DEEPEST: usize = 5;
/// How long the whole may become.
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
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let mut found = Vec::new();
        for part in line.split_inclusive(char::is_whitespace) {
            // In code it is a word like any other.
            match part.strip_prefix('@').filter(|path| !is_code && !path.trim().is_empty()) {
                Some(path) => {
                    out.push_str("@ ");
                    out.push_str(path);
                    found.push(path.trim_end().trim_end_matches([',', '.', ';', ':', ')']));
                }
                None => out.push_str(part),
            }
        }
        out.push('\n');
        for path in found {
            let Some(path) = inside(cwd, &dir.join(path)).filter(|path| path.is_file()) else { continue };
            if depth >= DEEPEST || out.len() > LONGEST || !seen.insert(path.clone()) {
                continue;
            }
            if let Ok(text) = read::text(&path, LONGEST as u64) {
                write_out(&text, &path, cwd, depth + 1, seen, out);
            }
        }
    }
}
