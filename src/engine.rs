//! Floor 1: the one loop. It takes inputs, lets the fleet decide, commits the records, and only then acts and answers.
//!
//! It owns the `Fleet`; nothing above holds a second copy of the truth. The ports are the traits that floor 2
//! implements. No SQL, no HTTP, no Lua, no processes here.

mod actor;
pub mod desk;
pub mod handle;
pub mod panes;
pub mod ports;
pub mod requests;
pub mod worktrees;

pub use handle::{Handle, Ports, build};
