//! Worktrees of workers, with git really run: how they are made, set up, looked at, removed and forgotten.
//! The launcher's side of it is tested with the sessions.

mod going;
mod making;
mod random;
pub mod rig;
mod staying;
mod trash;
