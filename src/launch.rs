//! The launch room: how a worker's program is planned, started, watched and ended.
//!
//! Here live the parent program of every worker (`pane_exec`), the directory through which it and the daemon
//! speak (`turn_dir`), and what both need to know of processes. No rule about turns may come in here: this
//! room reports what happened, the fleet decides what it means.

mod ended;
mod ending;
pub mod env;
pub mod exec;
pub mod pane_exec;
pub mod plan;
pub mod turn_dir;
pub mod typed;

pub use ended::ended;
