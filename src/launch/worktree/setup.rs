//! The profile's `setup`: a command that makes a new tree ready to work in, run once, within a time.
//!
//! Its environment comes from the caller, who has it from the allow-list of workers. It is run without a shell.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::WorktreeError;
use super::note::{Made, Progress};
use super::run::{Keep, RunError, run_unless};
use super::users::users_of;

/// How much of the end of what it printed is told.
const TAIL: usize = 2048;
/// How many lines of it.
const LINES: usize = 12;

/// Runs the command in the tree, unless it was run to its good end before. Nothing of it is left running; once
/// `stopped` says so it is killed.
///
/// # Errors
///
/// Fails when somebody is in the tree, or when it cannot be started, does not end in time, or ends with another code than 0; it may be run again.
pub fn set_up<S: AsRef<OsStr>>(
    made: &mut Made,
    command: &[S],
    environment: &BTreeMap<OsString, OsString>,
    limit: Duration,
    stopped: &dyn Fn() -> bool,
) -> Result<(), WorktreeError> {
    if made.progress >= Progress::SetUp {
        return Ok(());
    }
    if let Some((program, args)) = command.split_first() {
        // Such as the setup of a daemon that was killed: two at once would be in each other's way.
        let users = users_of(&made.path).unwrap_or_default();
        if !users.is_empty() {
            return Err(WorktreeError::Busy { path: made.path.clone(), users: users.join(", ") });
        }
        let failed = |why: String, last: &[u8]| WorktreeError::Setup {
            command: command.iter().map(|word| word.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" "),
            path: made.cwd.clone(),
            why,
            last: last_lines(last),
        };
        let mut child = Command::new(program);
        child.args(args).env_clear().envs(environment).current_dir(&made.cwd).stdin(Stdio::null());
        match run_unless(&mut child, limit, Keep::End(TAIL), Some(stopped)) {
            Ok(ran) if ran.status.success() => {}
            Ok(ran) => {
                let last = [ran.out, ran.err].concat();
                return Err(failed(format!("it ended with {}", ran.status), &last));
            }
            Err(RunError::TooLong(_, last)) => {
                return Err(failed(format!("it did not end within {} s and was killed", limit.as_secs_f32()), &last));
            }
            Err(RunError::Stopped) => return Err(failed("it was stopped".into(), &[])),
            Err(RunError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                return Err(failed(format!("there is no program '{}' on its PATH", program.as_ref().display()), &[]));
            }
            Err(RunError::Io(error)) => return Err(failed(error.to_string(), &[])),
        }
    }
    made.progress = Progress::SetUp;
    made.write()
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL)..]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
