//! What `fleetd init` says that it did, or would do: to programs and to people.
//! Nothing is decided here, and nothing printed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::plan::{Fate, Step};
use crate::cli::look::{count, safe};

/// What came of each file.
#[derive(Debug, Default, Serialize)]
pub struct Done {
    pub written: Vec<PathBuf>,
    pub changed: Vec<PathBuf>,
    kept: Vec<PathBuf>,
    /// Neither written nor changed, because that wants the user's word.
    asks: Vec<PathBuf>,
    /// Not written, because a charter is there already.
    left_out: Vec<PathBuf>,
    /// What changes, or would.
    diffs: BTreeMap<PathBuf, String>,
    dry_run: bool,
}

impl Done {
    /// Returns it for files whose fate is known.
    pub fn of(steps: &[Step], dry_run: bool) -> Done {
        let mut done = Done { dry_run, ..Done::default() };
        for step in steps {
            let list = match &step.fate {
                Fate::Create(_) => &mut done.written,
                Fate::Change(..) => &mut done.changed,
                Fate::Kept | Fate::Left(_) => &mut done.kept,
                Fate::Ask(..) => &mut done.asks,
                Fate::LeftOut => &mut done.left_out,
            };
            list.push(step.path.clone());
            if let Some(diff) = step.difference() {
                done.diffs.insert(step.path.clone(), diff);
            }
        }
        done
    }
}

/// Draws what came of it, or would.
pub fn draw(dir: &Path, steps: &[Step], done: &Done) -> String {
    let (wrote, changed) = if done.dry_run { ("would write", "would change") } else { ("wrote", "changed") };
    let nothing = [&done.written, &done.changed, &done.asks].iter().all(|list| list.is_empty());
    let mut lines = Vec::new();
    for step in steps {
        let path = step.path.display();
        match &step.fate {
            Fate::Create(_) => lines.push(format!("{wrote} {path}")),
            Fate::Change(..) => lines.push(format!("{changed} {path}")),
            Fate::Left(why) | Fate::Ask(why, _) => lines.push(format!("left {path} alone: {why}")),
            // When that is all there is to say, it is said once.
            Fate::Kept if !nothing => lines.push(format!("kept {path}: it is there already")),
            Fate::Kept | Fate::LeftOut => {}
        }
    }
    if !done.left_out.is_empty() {
        let names: Vec<String> = done.left_out.iter().map(|path| path.display().to_string()).collect();
        lines.push(format!("left out {}: a charter is there already", names.join(", ")));
    }
    if nothing {
        lines.push(format!("nothing to do: {} there already", are(done.kept.len())));
    }
    if done.dry_run {
        lines.extend(done.diffs.iter().map(|(path, diff)| format!("\n{}\n{}", path.display(), diff.trim_end())));
    }
    if !done.asks.is_empty() {
        let init = if dir == Path::new(".") { "fleetd init".into() } else { format!("fleetd init {}", dir.display()) };
        let see =
            if done.dry_run { String::new() } else { format!("; what would change is shown by: {init} --dry-run") };
        lines.push(format!("to have that done as well: {init} --yes{see}"));
    }
    safe(&lines.join("\n")).into_owned()
}

fn are(n: usize) -> String {
    let verb = if n == 1 { "is" } else { "are" };
    format!("{} {verb}", count(n, "file"))
}
