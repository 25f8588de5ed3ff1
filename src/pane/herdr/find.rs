//! What is done with panes that are there. Before anything is typed or closed, the process that leads the pane's session
//! is compared with the one that was started: an id alone may mean another by now.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::Desk;
use super::told::{Done, PaneTold, ProcessTold, ReadTold, Snapshot, Snapshotted};
use super::wire::Fault;
use crate::engine::panes::{Key, Listed, Pane, PaneError, Screen, clean};
use crate::fleet::worker::Process;
use crate::process::{ProcessId, descendants, session_of};

/// How long after a look a pane is watched for changes.
pub const WATCHED_FOR: Duration = Duration::from_secs(5);
/// How long those get to end by themselves who have left the pane's session.
const AFTER_HANGUP: Duration = Duration::from_millis(500);

/// Returns the id by which herdr knows the pane now, if the same process is in it.
async fn occupied(desk: &Desk, pane: &Pane) -> Result<String, PaneError> {
    let root = ProcessId::from(pane.root);
    let gone = |why: &str| PaneError::Gone(format!("{} ({why})", pane.id));
    let told: Result<ProcessTold, Fault> = desk.look("pane.process_info", json!({"pane_id": pane.id})).await;
    match told {
        Ok(told) if told.process_info.shell_pid == root.pid && root.is_alive() => Ok(told.process_info.pane_id),
        Ok(_) if !was_handed_out(desk, pane) || !root.is_alive() => Err(gone("another process is in it")),
        Err(fault) if !fault.is_not_found() => Err(fault.into()),
        Err(_) if !was_handed_out(desk, pane) || !root.is_alive() => Err(gone("there is no such pane")),
        // Its process lives: somebody has moved it, and the old id means nothing or another pane by now.
        Ok(_) | Err(_) => match pane_with(desk, &[pane.root]).await? {
            Some(found) => Ok(found.id),
            None => Err(gone("its process is in no pane")),
        },
    }
}

fn was_handed_out(desk: &Desk, pane: &Pane) -> bool {
    desk.state().known.get(&pane.root).is_some_and(|known| known.ids.contains(&pane.id))
}

/// Something was not found that was there: the watch should see what else has changed.
fn noticed<T>(desk: &Desk, result: Result<T, PaneError>) -> Result<T, PaneError> {
    if matches!(result, Err(PaneError::Gone(_) | PaneError::Unavailable(_))) {
        desk.nudge.notify_one();
    }
    result
}

/// Types a text as one paste.
pub async fn paste(desk: &Desk, pane: &Pane, text: &str) -> Result<(), PaneError> {
    let text = clean(text);
    let id = noticed(desk, occupied(desk, pane).await)?;
    if text.is_empty() {
        return Ok(());
    }
    let sent = desk.ask("pane.send_input", json!({"pane_id": id, "text": text})).await;
    noticed(desk, sent.map(|_: Done| ()).map_err(PaneError::from))
}

/// Presses keys, all in one request.
pub async fn press(desk: &Desk, pane: &Pane, keys: &[Key]) -> Result<(), PaneError> {
    let id = noticed(desk, occupied(desk, pane).await)?;
    if keys.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = keys.iter().map(Key::to_string).collect();
    let sent = desk.ask("pane.send_keys", json!({"pane_id": id, "keys": names})).await;
    noticed(desk, sent.map(|_: Done| ()).map_err(PaneError::from))
}

/// Returns what the pane shows, and has it watched for a while.
pub async fn screen(desk: &Desk, pane: &Pane) -> Result<Screen, PaneError> {
    let id = noticed(desk, occupied(desk, pane).await)?;
    let lines = noticed(desk, visible(desk, &id).await.map_err(PaneError::from))?;
    let mut state = desk.state();
    if let Some(known) = state.known.get_mut(&pane.root) {
        let is_new = known.looked_at.is_none();
        known.looked_at = Some((Instant::now() + WATCHED_FOR, lines.clone()));
        if is_new {
            desk.nudge.notify_one();
        }
    }
    Ok(Screen { lines, columns: None })
}

/// Reads what is on a screen. Never more than that: a longer read turns the program's mouse wheel.
pub async fn visible(desk: &Desk, id: &str) -> Result<Vec<String>, Fault> {
    let told: ReadTold = desk.look("pane.read", json!({"pane_id": id, "source": "visible"})).await?;
    let lines = told.read.text.strip_suffix('\n').unwrap_or(&told.read.text).split('\n');
    Ok(lines.map(|line| line.trim_end().to_owned()).collect())
}

/// Returns the processes of the pane's terminal, and those below its root.
pub async fn processes(desk: &Desk, pane: &Pane) -> Result<Vec<Process>, PaneError> {
    noticed(desk, occupied(desk, pane).await)?;
    Ok(all_of(pane.root.into()).into_iter().map(Process::from).collect())
}

fn all_of(root: ProcessId) -> Vec<ProcessId> {
    let mut found = vec![root];
    for process in session_of(root.pid).into_iter().chain(descendants(root.pid)) {
        if !found.contains(&process) {
            found.push(process);
        }
    }
    found
}

/// Removes the pane. What left its session, and so outlives herdr's own hangup, is ended here.
pub async fn close(desk: &Desk, pane: &Pane) -> Result<(), PaneError> {
    let root = ProcessId::from(pane.root);
    let id = match occupied(desk, pane).await {
        Ok(id) => id,
        Err(PaneError::Gone(_)) => return Ok(()),
        Err(other) => return Err(other),
    };
    let processes = all_of(root);
    match desk.ask("pane.close", json!({"pane_id": id})).await {
        Ok(Done {}) => {}
        Err(fault) if fault.is_not_found() => {}
        // What it was asked for can be seen, whatever became of the answer.
        Err(Fault::Unanswered(_)) if !root.is_alive() => {}
        Err(fault) => return Err(fault.into()),
    }
    desk.nudge.notify_one();
    end(&processes).await;
    Ok(())
}

async fn end(processes: &[ProcessId]) {
    let living = || processes.iter().copied().filter(|process| process.is_alive()).collect::<Vec<_>>();
    for process in living() {
        let _ = process.signal(Signal::HUP);
    }
    let until = Instant::now() + AFTER_HANGUP;
    while !living().is_empty() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for process in living() {
        let _ = process.signal(Signal::KILL);
    }
}

/// Returns all that is open.
pub async fn snapshot(desk: &Desk) -> Result<Snapshot, PaneError> {
    desk.check_protocol().await?;
    let Snapshotted { snapshot } = desk.look("session.snapshot", json!({})).await?;
    Ok(snapshot)
}

/// Returns the panes of this fleet: those with a label in its workspace (people's own shells have none), and those that
/// were handed out and have been moved elsewhere.
pub async fn panes(desk: &Desk) -> Result<Vec<Listed>, PaneError> {
    let snapshot = noticed(desk, snapshot(desk).await)?;
    let is_ours = |pane: &PaneTold| {
        let workspace = snapshot.workspaces.iter().find(|workspace| workspace.workspace_id == pane.workspace_id);
        workspace.is_some_and(|workspace| workspace.label == desk.options.workspace)
    };
    let mut listed = Vec::new();
    for told in &snapshot.panes {
        let Some(root) = root_of(desk, told).await? else { continue };
        let is_known = desk.state().known.contains_key(&root);
        let is_listed = is_known || (is_ours(told) && told.label.is_some());
        if !is_listed {
            continue;
        }
        let tab = snapshot.tabs.iter().find(|tab| tab.tab_id == told.tab_id && tab.pane_count == 1);
        let label = tab.map(|tab| tab.label.clone()).or_else(|| told.label.clone());
        let pane = Pane { id: told.pane_id.clone(), root };
        desk.hand_out(&pane, None);
        listed.push(Listed { pane, label });
    }
    Ok(listed)
}

/// Returns the process that leads a pane's session, if it lives. It never changes for a terminal, so it is asked once.
pub async fn root_of(desk: &Desk, told: &PaneTold) -> Result<Option<Process>, PaneError> {
    let known = desk.state().roots.get(&told.terminal_id).copied();
    let root = match known {
        Some(root) => root,
        None => {
            let info: Result<ProcessTold, Fault> =
                desk.look("pane.process_info", json!({"pane_id": told.pane_id})).await;
            let pid = match info {
                Ok(info) => info.process_info.shell_pid,
                Err(fault) if fault.is_not_found() => return Ok(None),
                Err(fault) => return Err(fault.into()),
            };
            let Some(root) = ProcessId::of(pid) else { return Ok(None) };
            desk.state().roots.insert(told.terminal_id.clone(), root.into());
            root.into()
        }
    };
    Ok(ProcessId::from(root).is_alive().then_some(root))
}

/// Returns the pane in which the nearest of these processes leads the session, whoever's it is.
async fn pane_with(desk: &Desk, lineage: &[Process]) -> Result<Option<Pane>, PaneError> {
    let snapshot = snapshot(desk).await?;
    let mut nearest: Option<(usize, Pane)> = None;
    for told in &snapshot.panes {
        let Some(root) = root_of(desk, told).await? else { continue };
        let Some(at) = lineage.iter().position(|process| *process == root) else { continue };
        if nearest.as_ref().is_none_or(|(found, _)| at < *found) {
            nearest = Some((at, Pane { id: told.pane_id.clone(), root }));
        }
    }
    Ok(nearest.map(|(_, pane)| pane))
}

/// Returns the pane in whose terminal a process runs.
pub async fn pane_of(desk: &Desk, lineage: &[Process]) -> Result<Option<Pane>, PaneError> {
    if lineage.is_empty() {
        return Ok(None);
    }
    pane_with(desk, lineage).await
}
