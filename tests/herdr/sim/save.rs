//! What outlives the server: the session file, written some seconds after a change, and the shells that come back
//! from it. Commands are not run again, environments and reports are gone.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::house::{Tab, Workspace};
use super::layout::Node;
use super::methods::starting;
use super::{Server, ids, pause};

/// Begins to save what changes.
///
/// # Errors
///
/// Fails when the thread cannot be started.
pub fn start(server: &Arc<Server>) -> io::Result<JoinHandle<()>> {
    let server = Arc::clone(server);
    std::thread::Builder::new().name("saver".to_owned()).spawn(move || {
        let mut since = None;
        while !server.stopping.load(Ordering::SeqCst) {
            pause(Duration::from_millis(20));
            if server.unsaved.load(Ordering::SeqCst) {
                let since = *since.get_or_insert_with(Instant::now);
                if since.elapsed() < server.options.save_after {
                    continue;
                }
                server.unsaved.store(false, Ordering::SeqCst);
                let _ = save(&server);
            }
            since = None;
        }
    })
}

/// Writes the session file.
///
/// # Errors
///
/// Fails when it cannot be written.
pub fn save(server: &Server) -> io::Result<()> {
    let house = server.house();
    let pane = |id: &String| {
        let pane = &house.panes[id];
        json!({"id": id, "label": pane.label, "cwd": pane.cwd, "command": pane.command})
    };
    let tab = |tab: &Tab| {
        let panes: Vec<Value> = tab.root.panes().into_iter().map(pane).collect();
        json!({"number": tab.number, "label": tab.label, "panes": panes})
    };
    let workspace = |workspace: &Workspace| {
        let tabs: Vec<Value> = workspace.tabs.iter().map(tab).collect();
        json!({
            "number": workspace.number, "label": workspace.label, "cwd": workspace.cwd, "active": workspace.active,
            "next_tab": workspace.next_tab, "next_pane": workspace.next_pane, "tabs": tabs,
        })
    };
    let workspaces: Vec<Value> = house.workspaces.iter().map(workspace).collect();
    let saved = json!({"focused": house.focused, "workspaces": workspaces});
    let file = &server.options.session_file;
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    let new = file.with_extension("new");
    fs::write(&new, saved.to_string())?;
    fs::rename(new, file)
}

/// Opens a shell in each place that was remembered.
///
/// # Errors
///
/// Fails when a shell cannot be started.
pub fn restore(server: &Arc<Server>) -> io::Result<()> {
    let Ok(saved) = fs::read(&server.options.session_file) else { return Ok(()) };
    let Ok(saved) = serde_json::from_slice::<Value>(&saved) else { return Ok(()) };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or(1);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut house = server.house();
    house.focused = number(&saved["focused"]);
    for from in list(&saved["workspaces"]) {
        let mut workspace = Workspace {
            number: number(&from["number"]),
            label: text(&from["label"]).unwrap_or_default(),
            cwd: text(&from["cwd"]).map(PathBuf::from).unwrap_or_default(),
            tabs: Vec::new(),
            active: number(&from["active"]),
            next_tab: number(&from["next_tab"]),
            next_pane: number(&from["next_pane"]),
        };
        for tab in list(&from["tabs"]) {
            let tab_number = number(&tab["number"]);
            let mut root: Option<Node> = None;
            for pane in list(&tab["panes"]) {
                let (Some(id), Some(cwd)) = (text(&pane["id"]), text(&pane["cwd"])) else { continue };
                let tab_id = ids::tab(workspace.number, tab_number);
                let plan = starting::Plan {
                    id: id.clone(),
                    tab_id,
                    workspace_id: ids::workspace(workspace.number),
                    label: text(&pane["label"]),
                    cwd: PathBuf::from(cwd),
                    command: None,
                    env: Vec::new(),
                };
                starting::start(server, &mut house, plan)?;
                match &mut root {
                    None => root = Some(Node::Pane(id)),
                    Some(root) => {
                        let beside = root.panes()[0].clone();
                        root.insert(&beside, "right", 0.5, &id);
                    }
                }
            }
            if let Some(root) = root {
                let focused = root.panes()[0].clone();
                workspace.tabs.push(Tab {
                    number: tab_number,
                    label: text(&tab["label"]),
                    root,
                    focused,
                    zoomed: false,
                });
            }
        }
        house.highest = house.highest.max(workspace.number);
        house.workspaces.push(workspace);
    }
    Ok(())
}
