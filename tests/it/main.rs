//! The integration tests: one binary, one module a part.

mod pane_exec;
