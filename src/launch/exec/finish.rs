//! From what lies in a turn's directory to what the fleet is told of its end.
//!
//! Only a reading of evidence: nothing is waited for, killed or removed here.

use std::fmt::Write;

use super::super::turn_dir::{Ended, ExitRecord, Started, TEXT_LIMIT, Text, TurnDir, TurnDirError};
use crate::fleet::envelope::{Exit, Finish, Truncated};
use crate::fleet::turn::Outcome;
use crate::fleet::worker::Worker;
use crate::process::ProcessId;

/// How a turn stands by its directory and the living processes.
pub(super) enum Standing {
    /// Nobody claimed it: it was not run.
    Unclaimed,
    /// The pane-exec that claimed it lives.
    Running(Started),
    /// There is a record.
    Ended(ExitRecord),
    /// It was claimed, and whoever did is gone without a record.
    Vanished(Started),
}

/// Looks how a turn stands.
pub(super) fn standing(dir: &TurnDir) -> Result<Standing, TurnDirError> {
    let Some(started) = dir.started()? else { return Ok(Standing::Unclaimed) };
    // In this order: a record is written before its writer ends, so one that was dead now has left all it ever will.
    let is_alive = started.is_alive();
    Ok(match dir.exit()? {
        Some(record) => Standing::Ended(record),
        None if is_alive => Standing::Running(started),
        None => Standing::Vanished(started),
    })
}

/// Returns what a record says of a turn's end.
pub(super) fn of_record(dir: &TurnDir, record: &ExitRecord, worker: &Worker) -> Finish {
    let (outcome, why, exit) = match &record.ended {
        Ended::Code(0) => (Outcome::Replied, None, Some(Exit::Code(0))),
        Ended::Code(code) => (Outcome::Failed, Some(format!("exit {code}")), Some(Exit::Code(*code))),
        Ended::Signal(signal) => (Outcome::Failed, Some(format!("signal {signal}")), Some(Exit::Signal(*signal))),
        Ended::TimedOut => (Outcome::TimedOut, Some(timed_out(worker)), None),
        Ended::Killed => (Outcome::Lost, Some("its process was told to end, with all it had started".into()), None),
        Ended::NotStarted(why) => (Outcome::Failed, Some(format!("not started: {why}")), None),
    };
    let mut finish = Finish { exit, proof: Some("exit_status".into()), ..with_output(dir, outcome, why) };
    if let Some(error) = &record.stdout.error {
        // Half a reply must never pass for a whole one.
        finish.outcome = if finish.outcome == Outcome::Replied { Outcome::Failed } else { finish.outcome };
        let lost = record.stdout.dropped;
        add(&mut finish.why, &format!("its output was not kept whole ({lost} bytes are lost): {error}"));
    } else if record.stdout.dropped > 0 {
        add(&mut finish.why, &format!("{} bytes of output were over the limit and not kept", record.stdout.dropped));
    }
    add_left(&mut finish.why, &record.left);
    finish
}

/// Returns what is known of a turn whose pane-exec is gone without a record.
pub(super) fn of_vanished(dir: &TurnDir, started: &Started, left: &[ProcessId]) -> Finish {
    if started.process == ProcessId::NOBODY {
        return Finish::without_reply(Outcome::Failed, "not started: fleetd ended before it could say why");
    }
    let what = match started.is_this_boot() {
        true => format!("pane-exec (pid {}) was killed before it could say how the program ended", started.process.pid),
        false => "the machine was restarted while it ran".to_owned(),
    };
    let mut finish = with_output(dir, Outcome::Unknown, Some(what));
    add_left(&mut finish.why, left);
    finish
}

fn with_output(dir: &TurnDir, outcome: Outcome, why: Option<String>) -> Finish {
    let mut finish = Finish { why, ..Finish::without_reply(outcome, "") };
    match dir.text(TEXT_LIMIT) {
        Ok(Text { text, truncated }) => {
            finish.text = text.into();
            finish.truncated = truncated.then(|| Truncated {
                path: dir.stdout().to_string_lossy().into_owned(),
                bytes: std::fs::metadata(dir.stdout()).map_or(0, |found| found.len()),
                data: None,
            });
        }
        Err(error) => add(&mut finish.why, &error.to_string()),
    }
    finish.stderr = Some(dir.stderr_tail()).filter(|tail| !tail.is_empty());
    finish
}

fn timed_out(worker: &Worker) -> String {
    let timeout = worker.profile.timeout.map(|timeout| timeout.to_string()).unwrap_or_default();
    format!("its process ran longer than the profile's timeout of {timeout}")
}

fn add_left(why: &mut Option<String>, left: &[ProcessId]) {
    if !left.is_empty() {
        let pids: Vec<String> = left.iter().map(|process| process.pid.to_string()).collect();
        add(why, &format!("still there after KILL: {}", pids.join(" ")));
    }
}

fn add(why: &mut Option<String>, more: &str) {
    match why {
        Some(why) => drop(write!(why, "; {more}")),
        None => *why = Some(more.to_owned()),
    }
}
