//! What a session's own program reports by its hooks: whether it is heard at all, and what is kept of it.
//!
//! Who reports was found out at the door; here the secret of the session is asked for too. What a report means for a
//! turn is not decided here.

use std::path::PathBuf;

use serde_json::Value;

use super::super::fill::Fill;
use super::super::guard;
use super::dir::{Facts, SessionDir};
use crate::engine::ports::Report;
use crate::fleet::plan::Plan;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::signs::{self, Sign};
use crate::fleet::worker::Worker;

/// Returns the plan by which a report is read, if it is one of this very session.
pub(in crate::launch) fn admitted<'a>(worker: &'a Worker, facts: &Facts, report: &Report) -> Result<&'a Plan, Refusal> {
    let Some(plan) = worker.profile.plan.as_deref().filter(|plan| !plan.signs.is_empty()) else {
        let launcher = &worker.profile.launcher;
        let message = format!("worker {} was started by the launcher '{launcher}', which takes no hooks", worker.name);
        return Err(Refusal::new(RefusalKind::Conflict, message).hint("report nothing"));
    };
    if facts.token.is_empty() || report.token.as_deref() != Some(&facts.token) {
        let message = format!("the report does not carry the secret with which {} was started", worker.name);
        return Err(Refusal::new(RefusalKind::NotAllowed, message).hint("it is in the variable FLEET_TOKEN"));
    }
    Ok(plan)
}

/// Returns the refusal of what only the agent itself may report: what it starts could say anything in its name.
pub(in crate::launch) fn of_child(worker: &Worker) -> Refusal {
    let message = format!("only the agent of {} itself can report that, and no process that it started", worker.name);
    Refusal::new(RefusalKind::NotAllowed, message)
}

/// Keeps where the program writes down what it does, if its report says so.
pub(in crate::launch) async fn keep_transcript(
    worker: &Worker,
    plan: &Plan,
    facts: &mut Facts,
    dir: &SessionDir,
    payload: &Value,
) {
    let path = plan.transcript.as_ref().and_then(|one| signs::at(payload, &one.path)?.as_str()).map(PathBuf::from);
    if path.is_none() || path == facts.transcript {
        return;
    }
    facts.transcript = path;
    keep(worker, facts, dir).await;
}

/// Writes down what is known of a session, for a daemon that takes it over.
pub(in crate::launch) async fn keep(worker: &Worker, facts: &Facts, dir: &SessionDir) {
    let kept = facts.clone();
    if let Err(error) = dir.on_disk(move |dir| dir.write_facts(&kept)).await {
        tracing::warn!(worker = %worker.name, %error, "what is known of a session cannot be written down");
    }
}

/// Returns what a report is answered by its sign.
pub(in crate::launch) fn answer(sign: &Sign, fill: &Fill) -> Result<Option<Value>, Refusal> {
    let Some(answer) = &sign.answer else { return Ok(None) };
    let wrong = |error| Refusal::new(RefusalKind::Conflict, format!("its launcher's answer: {error}"));
    fill.json(answer).map(Some).map_err(wrong)
}

/// Returns the name of a setting that would move the model's address and was written since the start, if there is one.
pub(in crate::launch) async fn moved(plan: &Plan, fill: Fill, facts: &Facts, dir: &SessionDir) -> Option<String> {
    let guard = plan.guard.clone()?;
    let facts = facts.clone();
    dir.on_disk(move |_| facts.found.moved(&guard::look(&guard, &fill, &facts.cwd)).map(str::to_owned)).await
}
