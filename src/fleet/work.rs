//! A worker's worktree as plain data: what a profile says of it, and what was done in it, as the envelope tells.
//! How one is made, looked at and removed is for the launcher.

use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Span;

/// The worktree that each worker of a profile gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorktreeSpec {
    /// What it begins with: anything that git takes for a commit; the commit of the checkout in `cwd` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Files and patterns of the checkout that are brought along.
    #[serde(default)]
    pub copy: Vec<String>,
    /// Program and arguments that make it ready to work in; empty = nothing to do.
    #[serde(default)]
    pub setup: Vec<String>,
    /// How long `setup` may take.
    pub setup_timeout: Span,
}

impl WorktreeSpec {
    /// How long `setup` may take, if nothing is said.
    pub const SETUP: Span = Span::minutes(10);
}

/// Returns the parts of a pattern of `copy`, or why nothing can be brought along by it.
pub fn copy_parts(pattern: &str) -> Result<Vec<String>, String> {
    let mut parts = Vec::new();
    for part in Path::new(pattern).components() {
        match part {
            Component::Normal(part) if part == ".git" => return Err("git's own files are not brought along".into()),
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::CurDir => {}
            _ => {
                let why = "only what lies in the repository is brought along: write it from its top, without '..'";
                return Err(why.into());
            }
        }
    }
    if parts.is_empty() { Err("it names nothing".into()) } else { Ok(parts) }
}

/// What a worker has done in its worktree, when its turn ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The branch that is checked out; absent when none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that the worktree began with.
    pub base: String,
    /// How many commits were made since.
    pub commits: u64,
    /// How many files differ from the base, committed or not.
    pub files_changed: u64,
    /// True when something is not committed.
    pub dirty: bool,
}
