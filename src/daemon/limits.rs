//! What the kernel allows one process.
//! Bounds that an operator sets, of turns, runs and workers, are `config`'s matter and do not come in here.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files as far as it may go: every held call is one. Workers are started with the same.
pub fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}
