//! fleetd: one leader, a team of workers, policy in Lua.
//!
//! Five floors; an import only ever points down (`tests/architecture.rs` holds it). See `docs/ARCHITECTURE.md`.

pub mod charter;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod door;
pub mod engine;
pub mod fleet;
pub mod launch;
pub mod pane;
pub mod process;
pub mod store;
