//! The only place that writes a worker's environment.
//!
//! It is built from an allow-list and never inherited, so that no value of the leader's or the operator's session
//! reaches a worker by accident. No value is ever logged here, and none is kept.

use std::process::Command;

use super::process::ProcessId;

/// The variable by which a worker's processes are known as pane-exec's, wherever they went.
pub const ROOT: &str = "FLEET_ROOT";

/// Returns the mark of a pane-exec in the environment of its worker: of one pane-exec only, in one boot.
pub fn root_mark(root: ProcessId) -> String {
    format!("{ROOT}={}.{}", root.pid, root.start_time)
}

/// Marks the program that pane-exec is about to start. The rest is as the daemon made it for pane-exec.
pub(super) fn mark(command: &mut Command, root: ProcessId) {
    command.env(ROOT, format!("{}.{}", root.pid, root.start_time));
}
