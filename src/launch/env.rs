//! The only place that writes a worker's environment.
//!
//! It is built from an allow-list and never inherited, so that no value of the leader's or the operator's session
//! reaches a worker by accident. No value is ever logged here, and none is kept.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

use super::process::ProcessId;
use crate::fleet::turn::Turn;
use crate::fleet::worker::Worker;

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

/// Variables of the daemon that a worker gets too, when they are set.
const ALLOWED: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];

/// Locale variables that a worker gets too; `LC_*` by name, since nothing is ever listed.
const LOCALE: &[&str] = &["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME"];

/// Returns the whole environment of a worker for one turn: the allow-list, its profile's own, and what tells it who
/// it is. Ours come last, so that no profile can claim to be another worker.
pub(super) fn of_worker(worker: &Worker, turn: &Turn) -> Vec<(OsString, OsString)> {
    let allowed = ALLOWED.iter().chain(LOCALE);
    let mut env: BTreeMap<OsString, OsString> =
        allowed.filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
    env.extend(worker.profile.env.iter().map(|(name, value)| (name.into(), value.into())));
    env.insert("FLEET_WORKER".into(), worker.name.as_str().into());
    env.insert("FLEET_TURN".into(), turn.id.to_string().into());
    env.insert("FLEET_FROM".into(), turn.sender.to_string().into());
    env.into_iter().collect()
}
