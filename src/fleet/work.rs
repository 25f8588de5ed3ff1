//! What a worker has done in its worktree since it was made, as the envelope of a reply tells it.
//! Only the plain data; how it is found out is for the launcher.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
