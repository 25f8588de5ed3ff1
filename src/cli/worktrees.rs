//! `fleetd worktrees`: the worktrees of workers, why one is kept, and the removal of one whose worker is gone.
//! What keeps one is decided by the daemon; there is no way around it here.

use clap::Subcommand;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::look::table::{self, Column};
use super::look::{Look, safe};
use super::terminal::Terminal;
use crate::engine::worktrees::{TrashView, WorktreeView, Worktrees};
use crate::fleet::time::{Span, Time};

pub const EXAMPLES: &str = "\
Examples:
  fleetd worktrees
  fleetd worktrees remove w-local-2-17    to the trash, unless work could be lost";

/// How long git may take over big trees.
const LOOKING: Span = Span::minutes(5);

/// What `worktrees` is told.
#[derive(Subcommand, Debug)]
pub enum WorktreesCommand {
    /// List those that stand, why they are kept, and what lies in the trash
    List,
    /// Move one whose worker is gone to the trash, unless work could be lost
    Remove {
        /// Its name
        name: String,
    },
}

/// Lists the worktrees, or removes one.
pub fn run(terminal: &Terminal, command: Option<WorktreesCommand>) -> Result<Exit, Failure> {
    let client = terminal.client()?;
    match command.unwrap_or(WorktreesCommand::List) {
        WorktreesCommand::List => {
            let reply = client.get("/v1/worktrees", LOOKING)?;
            terminal.show(&reply, || Ok(draw(&reply.read()?, &terminal.out, terminal.now())))?;
        }
        WorktreesCommand::Remove { name } => {
            let reply = client.post("/v1/worktrees/remove", &json!({ "name": name }), LOOKING)?;
            terminal.show(&reply, || Ok(removed(&reply.read()?, terminal.now())))?;
        }
    }
    Ok(Exit::Ok)
}

fn removed(entry: &TrashView, now: Time) -> String {
    format!("{} is in the trash for {}: {}", safe(&entry.name), entry.until.since(now), safe(&entry.path))
}

fn draw(all: &Worktrees, look: &Look, now: Time) -> String {
    let mut parts = Vec::new();
    if all.worktrees.is_empty() {
        parts.push("no worker has a worktree".to_string());
    } else {
        let columns = [
            Column::new("WORKTREE", 9),
            Column::new("STATE", 8),
            Column::new("BRANCH", 5).bends(),
            Column::new("COMMITS", 7).right(),
            Column::new("FILES", 6).right(),
            Column::new("PATH", 4).bends(),
        ];
        let rows: Vec<Vec<String>> = all.worktrees.iter().map(row).collect();
        parts.push(table::draw(look, &columns, &rows));
        for tree in &all.worktrees {
            parts.extend(tree.kept.iter().map(|why| format!("{}: {}", safe(&tree.name), safe(why))));
            parts.extend(
                tree.missing.iter().map(|lacks| format!("{}: its base lacks: {}", safe(&tree.name), safe(lacks))),
            );
        }
    }
    if !all.trash.is_empty() {
        let rows: Vec<Vec<String>> = all
            .trash
            .iter()
            .map(|entry| vec![plain(&entry.name), entry.until.since(now).to_string(), plain(&entry.path)])
            .collect();
        let columns = [Column::new("TRASH", 9), Column::new("FOR", 8), Column::new("PATH", 7).bends()];
        parts.push(format!("\n{}", table::draw(look, &columns, &rows)));
    }
    parts.join("\n")
}

fn row(tree: &WorktreeView) -> Vec<String> {
    let dirty = |work: &crate::fleet::work::Work| if work.dirty { " (dirty)" } else { "" };
    let work = tree.work.as_ref();
    vec![
        plain(&tree.name),
        tree.state.replace('_', " "),
        plain(work.and_then(|work| work.branch.as_deref()).unwrap_or(&tree.branch)),
        work.map(|work| work.commits.to_string()).unwrap_or_default(),
        work.map(|work| format!("{}{}", work.files_changed, dirty(work))).unwrap_or_default(),
        plain(&tree.path),
    ]
}

fn plain(text: &str) -> String {
    safe(text).into_owned()
}
