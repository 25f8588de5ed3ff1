//! Workspaces: make, list, focus, rename, close.
//! Each comes with a tab and a shell, and goes with its last pane.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::house::{Tab, Workspace};
use super::super::layout::Node;
use super::super::params::{Params, failed};
use super::super::{Server, ids, processes};
use super::{Answer, ok, starting, tell, tell_created, tell_focus, tell_layout};

pub fn create(server: &Server, p: Params<'_>) -> Answer {
    let env = p.env()?;
    let cwd = p.maybe_text("cwd")?.map_or_else(|| server.options.home.clone(), PathBuf::from);
    let is_home = cwd == server.options.home;
    let name = |path: &Path| path.file_name().filter(|_| !is_home).map(|name| name.to_string_lossy().into_owned());
    let label = p.maybe_text("label")?.map(str::to_owned).or_else(|| name(&cwd)).unwrap_or_else(|| "~".to_owned());
    let mut house = server.house();
    let number = house.next_workspace();
    let id = ids::pane(number, 1);
    let plan = starting::Plan {
        id: id.clone(),
        tab_id: ids::tab(number, 1),
        workspace_id: ids::workspace(number),
        label: None,
        cwd: cwd.clone(),
        command: None,
        env,
    };
    if let Err(error) = starting::start(server, &mut house, plan) {
        return failed("workspace_create_failed", error.to_string());
    }
    let tab = Tab { number: 1, label: None, root: Node::Pane(id.clone()), focused: id.clone(), zoomed: false };
    let workspace = Workspace { number, label, cwd, tabs: vec![tab], active: 1, next_tab: 2, next_pane: 2 };
    house.workspaces.push(workspace);
    let place = (house.workspaces.len() - 1, 0);
    let focus = p.is("focus")? || house.focused == 0;
    if focus {
        house.focus(place);
    }
    tell(server, "workspace_created", json!({"workspace": house.workspace_info(place.0)}));
    tell(server, "tab_created", json!({"tab": house.tab_info(place)}));
    tell_created(server, &house, &id);
    if focus {
        tell_focus(server, &house, place);
    }
    tell_layout(server, &house, place);
    Ok(json!({
        "type": "workspace_created", "workspace": house.workspace_info(place.0), "tab": house.tab_info(place),
        "root_pane": house.pane_info(&id, server.options.version),
    }))
}

pub fn list(server: &Server) -> Answer {
    let house = server.house();
    let all: Vec<_> = (0..house.workspaces.len()).map(|w| house.workspace_info(w)).collect();
    Ok(json!({"type": "workspace_list", "workspaces": all}))
}

pub fn get(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let w = house.workspace(p.text("workspace_id")?)?;
    Ok(json!({"type": "workspace_info", "workspace": house.workspace_info(w)}))
}

pub fn focus(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let w = house.workspace(p.text("workspace_id")?)?;
    let active = house.workspaces[w].active;
    let t = house.workspaces[w].tabs.iter().position(|tab| tab.number == active).unwrap_or(0);
    super::tabs::focus_at(server, &mut house, (w, t));
    Ok(json!({"type": "workspace_info", "workspace": house.workspace_info(w)}))
}

pub fn rename(server: &Server, p: Params<'_>) -> Answer {
    let (id, label) = (p.text("workspace_id")?, p.text("label")?);
    let mut house = server.house();
    let w = house.workspace(id)?;
    house.workspaces[w].label = label.to_owned();
    let id = ids::workspace(house.workspaces[w].number);
    tell(server, "workspace_renamed", json!({"workspace_id": id, "label": label}));
    Ok(json!({"type": "workspace_info", "workspace": house.workspace_info(w)}))
}

pub fn close(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let w = house.workspace(p.text("workspace_id")?)?;
    let last = house.workspace_info(w);
    let workspace = house.workspaces.remove(w);
    house.after_workspace(workspace.number);
    let gone: Vec<String> = workspace.tabs.iter().flat_map(|tab| tab.root.panes()).cloned().collect();
    let panes: Vec<_> = gone.iter().filter_map(|id| house.panes.remove(id)).collect();
    // All others wait meanwhile: the lock is held.
    processes::end_sessions(&panes.iter().map(|pane| pane.terminal.pid).collect::<Vec<_>>());
    tell(server, "workspace_closed", json!({"workspace_id": ids::workspace(workspace.number), "workspace": last}));
    ok()
}
