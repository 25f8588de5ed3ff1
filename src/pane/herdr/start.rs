//! Starting a program: what is wrong with it is found before herdr is asked, since herdr takes its home for a directory
//! that is not there; and the program gets the environment that it was given, although herdr adds its own to it.

mod command;

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use serde_json::json;

use self::command::Command;
use super::told::{Applied, Done, PaneTold, ProcessTold, Snapshotted, Tabs, WorkspaceCreated};
use super::wire::Fault;
use super::{Desk, order};
use crate::engine::panes::{Pane, PaneError, PaneStart};
use crate::process::ProcessId;

/// How long the few steps before the program may take until its environment is its own.
const CLEAN_WITHIN: Duration = Duration::from_secs(5);

/// Starts a program in a tab of its own.
pub async fn start(desk: &Desk, start: PaneStart) -> Result<Pane, PaneError> {
    command::check(&start).map_err(PaneError::Refused)?;
    desk.check_protocol().await?;
    let _arranging = desk.arranging.lock().await;
    let foreign = names_of_server(desk).await?;
    let command = Command::new(&start, &foreign).map_err(PaneError::Refused)?;
    let label = start.slot.worker.to_string();
    let (applied, made) = apply(desk, &start, &label, &command).await?;
    let id = applied.layout.focused_pane_id.clone();
    let root = root_of(desk, &id).await;
    // The workspace came with a shell that nobody asked for; it goes now that something else is there.
    if let Some(shell) = made {
        close_shell(desk, &shell).await;
    }
    let root = match root {
        Ok(root) => root,
        // It has ended already: there was a pane, and it is gone.
        Err(fault) if fault.is_not_found() => ProcessId::NOBODY,
        Err(fault) => {
            return Err(PaneError::Unknown(format!("{label} was started, and then: {}", PaneError::from(fault))));
        }
    };
    let pane = Pane { id, root: root.into() };
    if let Err(strange) = wait_for_own_environment(root, &command).await {
        let _ = super::find::close(desk, &pane).await;
        return Err(PaneError::Refused(strange));
    }
    // The order of tabs is for people; nothing depends on it.
    let _ = put_in_order(desk, &applied, &label).await;
    desk.hand_out(&pane, Some(start.slot));
    Ok(pane)
}

/// Has the tab made in the fleet's workspace, which is made too where it is not there.
async fn apply(
    desk: &Desk,
    start: &PaneStart,
    label: &str,
    command: &Command,
) -> Result<(Applied, Option<PaneTold>), PaneError> {
    for last_try in [false, true] {
        let Snapshotted { snapshot } = desk.look("session.snapshot", json!({})).await?;
        let found = snapshot.workspaces.into_iter().find(|workspace| workspace.label == desk.options.workspace);
        let (workspace_id, made) = match found {
            Some(workspace) => (workspace.workspace_id, None),
            None => {
                let params = json!({"label": desk.options.workspace, "cwd": start.cwd, "focus": false});
                let created: WorkspaceCreated = desk.ask("workspace.create", params).await?;
                (created.workspace.workspace_id, Some(created.root_pane))
            }
        };
        let root = json!({
            "type": "pane", "label": label, "cwd": start.cwd, "command": command.argv, "env": command.env,
        });
        let params = json!({"workspace_id": workspace_id, "tab_label": label, "focus": false, "root": root});
        match desk.ask("layout.apply", params).await {
            Ok(applied) => return Ok((applied, made)),
            // The workspace went with its last pane just now.
            Err(fault) if fault.is_not_found() && !last_try => {}
            Err(fault) => {
                if let Some(shell) = made {
                    close_shell(desk, &shell).await;
                }
                return Err(match fault {
                    fault if fault.is_not_found() => {
                        PaneError::Unavailable("herdr's workspaces come and go".to_owned())
                    }
                    fault => fault.into(),
                });
            }
        }
    }
    Err(PaneError::Unavailable("herdr's workspaces come and go".to_owned()))
}

/// Closes the shell that came with a new workspace, unless it is another's by now.
async fn close_shell(desk: &Desk, shell: &PaneTold) {
    if let Ok(root) = root_of(desk, &shell.pane_id).await {
        let _ = super::find::close(desk, &Pane { id: shell.pane_id.clone(), root: root.into() }).await;
    }
}

async fn root_of(desk: &Desk, id: &str) -> Result<ProcessId, Fault> {
    let told: ProcessTold = desk.look("pane.process_info", json!({"pane_id": id})).await?;
    Ok(ProcessId::of(told.process_info.shell_pid).unwrap_or(ProcessId::NOBODY))
}

/// Returns the names of what herdr's own environment holds: a pane would get it all.
async fn names_of_server(desk: &Desk) -> Result<Vec<OsString>, PaneError> {
    let stream = desk.connect().await?;
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let environment = pid.and_then(|pid| std::fs::read(format!("/proc/{pid}/environ")).ok());
    let unreadable = || PaneError::Unavailable("the environment of herdr's server cannot be read".to_owned());
    Ok(names(&environment.ok_or_else(unreadable)?))
}

fn names(environment: &[u8]) -> Vec<OsString> {
    let entries = environment.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let name = |entry: &[u8]| {
        let end = entry.iter().position(|byte| *byte == b'=').unwrap_or(entry.len());
        std::ffi::OsStr::from_bytes(&entry[..end]).to_owned()
    };
    entries.map(name).collect()
}

/// Waits until nothing is in the program's environment that it was not given; what stays is a reason not to let it run.
async fn wait_for_own_environment(root: ProcessId, command: &Command) -> Result<(), String> {
    let end = Instant::now() + CLEAN_WITHIN;
    loop {
        let Ok(environment) = std::fs::read(format!("/proc/{}/environ", root.pid)) else { return Ok(()) };
        let foreign: HashSet<OsString> =
            names(&environment).into_iter().filter(|name| !command.may_have(name)).collect();
        if foreign.is_empty() || !root.is_alive() {
            return Ok(());
        }
        if Instant::now() >= end {
            let mut foreign: Vec<String> = foreign.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            foreign.sort();
            return Err(format!("herdr gave the program variables that it must not have: {}", foreign.join(", ")));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn put_in_order(desk: &Desk, applied: &Applied, label: &str) -> Result<(), Fault> {
    let params = json!({"workspace_id": applied.layout.workspace_id});
    let Tabs { tabs } = desk.look("tab.list", params).await?;
    let tabs: Vec<_> = tabs.iter().collect();
    let is_last = tabs.last().is_some_and(|tab| tab.tab_id == applied.layout.tab_id);
    if let Some(index) = order::place_of_last(&tabs, label).filter(|_| is_last) {
        let params = json!({"tab_id": applied.layout.tab_id, "insert_index": index});
        let _: Done = desk.ask("tab.move", params).await?;
    }
    Ok(())
}
