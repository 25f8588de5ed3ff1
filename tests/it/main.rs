//! The integration tests: one binary, one module a part.

mod demo_scripts;
mod door;
mod pane_exec;
mod support;
