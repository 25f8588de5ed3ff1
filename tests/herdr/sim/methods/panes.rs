//! Panes: look, split, move, rename, focus, zoom, close.
//! What is typed into them and read from them is in `typing` and `reading`.

use serde_json::json;

use super::super::house::{House, Place, Tab, Workspace};
use super::super::layout::Node;
use super::super::params::{Failed, Params, failed};
use super::super::{Server, ids, processes};
use super::{Answer, ok, starting, tell, tell_created, tell_layout};

/// Finds a pane and its tab.
pub fn place(house: &House, id: &str) -> Result<(String, Place), Failed> {
    let present = house.pane_id(id)?;
    let place = house.place_of(&present);
    place.map_or_else(|| failed("pane_not_found", format!("pane {id} not found")), |place| Ok((present, place)))
}

fn info(server: &Server, house: &House, id: &str) -> Answer {
    Ok(json!({"type": "pane_info", "pane": house.pane_info(id, server.options.version)}))
}

pub fn get(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let (id, _) = place(&house, p.text("pane_id")?)?;
    info(server, &house, &id)
}

pub fn current(server: &Server) -> Answer {
    let house = server.house();
    match house.places().find(|place| house.is_focused(*place)) {
        Some(place) => info(server, &house, &house.at(place).focused.clone()),
        None => failed("pane_not_found", "pane not found"),
    }
}

pub fn list(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let only = p.maybe_text("workspace_id")?.map(|id| house.workspace(id)).transpose()?;
    let places = house.places().filter(|(w, _)| only.is_none_or(|only| only == *w));
    let panes = places.flat_map(|place| house.at(place).root.panes());
    let panes: Vec<_> = panes.map(|id| house.pane_info(id, server.options.version)).collect();
    Ok(json!({"type": "pane_list", "panes": panes}))
}

pub fn layout(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let (_, place) = place(&house, p.text("pane_id")?)?;
    Ok(json!({"type": "pane_layout", "layout": house.layout_snapshot(place, server.options.version)}))
}

pub fn process_info(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let (id, _) = place(&house, p.text("pane_id")?)?;
    let info = processes::info(&id, house.panes[&id].terminal.pid);
    Ok(json!({"type": "pane_process_info", "process_info": info}))
}

pub fn split(server: &Server, p: Params<'_>) -> Answer {
    let env = p.env()?;
    let mut house = server.house();
    let (beside, (w, t)) = place(&house, p.text("target_pane_id")?)?;
    let cwd = p.maybe_text("cwd")?.map_or_else(|| house.panes[&beside].cwd.clone(), Into::into);
    let workspace = &mut house.workspaces[w];
    let id = ids::pane(workspace.number, workspace.next_pane);
    workspace.next_pane += 1;
    let plan = starting::Plan {
        id: id.clone(),
        tab_id: ids::tab(workspace.number, workspace.tabs[t].number),
        workspace_id: ids::workspace(workspace.number),
        label: None,
        cwd,
        command: None,
        env,
    };
    let direction = p.text("direction")?.to_owned();
    if let Err(error) = starting::start(server, &mut house, plan) {
        return failed("pane_split_failed", error.to_string());
    }
    house.workspaces[w].tabs[t].root.insert(&beside, &direction, p.fraction("ratio").unwrap_or(0.5), &id);
    tell_created(server, &house, &id);
    tell_layout(server, &house, (w, t));
    info(server, &house, &id)
}

pub fn rename(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let (id, _) = place(&house, p.text("pane_id")?)?;
    let label = p.maybe_text("label")?.filter(|label| !label.is_empty()).map(str::to_owned);
    if let Some(pane) = house.panes.get_mut(&id) {
        pane.label = label;
    }
    server.unsaved.store(true, std::sync::atomic::Ordering::SeqCst);
    // No event: nobody is told of a renamed pane.
    info(server, &house, &id)
}

pub fn focus(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let (id, place) = place(&house, p.text("pane_id")?)?;
    house.workspaces[place.0].tabs[place.1].focused.clone_from(&id);
    super::tabs::focus_at(server, &mut house, place);
    info(server, &house, &id)
}

pub fn zoom(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let (id, place) = place(&house, p.text("pane_id")?)?;
    let tab = &mut house.workspaces[place.0].tabs[place.1];
    tab.zoomed = match p.maybe_text("mode")? {
        Some("on") => true,
        Some("off") => false,
        _ => !tab.zoomed,
    };
    let zoomed = tab.zoomed;
    tell_layout(server, &house, place);
    let layout = house.layout_snapshot(place, server.options.version);
    Ok(json!({"type": "pane_zoom", "zoom": {"changed": true, "pane_id": id, "zoomed": zoomed, "layout": layout}}))
}

pub fn close(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let (id, (w, t)) = place(&house, p.text("pane_id")?)?;
    let (workspace, tab) = (house.workspaces[w].number, house.workspaces[w].tabs[t].number);
    house.take_out(&id);
    if let Some(pane) = house.panes.remove(&id) {
        // All others wait meanwhile: the lock is held.
        processes::end_sessions(&[pane.terminal.pid]);
    }
    tell(server, "pane_closed", json!({"pane_id": id, "workspace_id": ids::workspace(workspace)}));
    if let Ok(place) = house.tab(&ids::tab(workspace, tab)) {
        tell_layout(server, &house, place);
    }
    ok()
}

/// Within a workspace a pane keeps its id; in another one it gets a new one, and the old one goes on meaning it.
pub fn move_to(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let (old_id, (w, t)) = place(&house, p.text("pane_id")?)?;
    let destination = p.needed_object("destination")?;
    let version = server.options.version;
    let (from_workspace, from_tab) = (house.workspaces[w].number, house.tab_id((w, t)));
    let target = match destination.text("type")? {
        "tab" => Some(house.tab(destination.text("tab_id")?)?),
        "new_tab" | "new_workspace" => None,
        other => return Err(Failed::Invalid(format!("unknown variant `{other}`"))),
    };
    let target = target.map(|(w, t)| (house.workspaces[w].number, house.workspaces[w].tabs[t].number));
    let space = match (target, destination.text("type")?) {
        (Some((space, _)), _) => space,
        (None, "new_tab") => {
            let id = destination.maybe_text("workspace_id")?;
            let w = id.map_or(Ok(w), |id| house.workspace(id))?;
            house.workspaces[w].number
        }
        (None, _) => {
            let number = house.next_workspace();
            let label = destination.maybe_text("label")?.unwrap_or("moved").to_owned();
            let cwd = house.panes[&old_id].cwd.clone();
            let workspace = Workspace { number, label, cwd, tabs: Vec::new(), active: 1, next_tab: 1, next_pane: 1 };
            house.workspaces.push(workspace);
            number
        }
    };
    house.take_out(&old_id);
    let to = house.workspaces.iter().position(|workspace| workspace.number == space);
    let Some(to) = to else { return failed("workspace_not_found", "the workspace went with its last pane") };
    let mut id = old_id.clone();
    if space != from_workspace {
        id = ids::pane(space, house.workspaces[to].next_pane);
        house.workspaces[to].next_pane += 1;
        if let Some(pane) = house.panes.remove(&old_id) {
            house.panes.insert(id.clone(), pane);
        }
        house.aliases.insert(old_id.clone(), id.clone());
    }
    let mut created = None;
    let place = if let Some((_, number)) = target {
        let t = house.workspaces[to].tabs.iter().position(|tab| tab.number == number).unwrap_or(0);
        let tab = &mut house.workspaces[to].tabs[t];
        let beside = destination.maybe_text("target_pane_id")?.map_or_else(|| tab.focused.clone(), str::to_owned);
        let ratio = destination.fraction("ratio").unwrap_or(0.5);
        tab.root.insert(&beside, destination.text("split")?, ratio, &id);
        (to, t)
    } else {
        let workspace = &mut house.workspaces[to];
        let number = workspace.next_tab;
        workspace.next_tab += 1;
        let label = destination.maybe_text("tab_label")?.or(match destination.text("type")? {
            "new_tab" => destination.maybe_text("label")?,
            _ => None,
        });
        let root = Node::Pane(id.clone());
        let label = label.map(str::to_owned);
        workspace.tabs.push(Tab { number, label, root, focused: id.clone(), zoomed: false });
        let place = (to, workspace.tabs.len() - 1);
        created = Some(house.tab_info(place));
        place
    };
    let mut moved = json!({
        "changed": true, "previous_pane_id": old_id, "previous_workspace_id": ids::workspace(from_workspace),
        "previous_tab_id": from_tab, "pane": house.pane_info(&id, version),
    });
    if let Some(created) = created {
        moved["created_tab"] = created;
    }
    if house.tab(&from_tab).is_err() {
        moved["closed_tab_id"] = from_tab.clone().into();
    }
    let mut event = moved.clone();
    if let Some(fields) = event.as_object_mut() {
        fields.remove("changed");
    }
    tell(server, "pane_moved", event);
    tell_layout(server, &house, place);
    if let Ok(source) = house.tab(&from_tab) {
        moved["source_layout"] = house.layout_snapshot(source, version);
    }
    moved["target_layout"] = house.layout_snapshot(place, version);
    moved["focused_pane_id"] = house.at(place).focused.clone().into();
    Ok(json!({"type": "pane_move", "move_result": moved}))
}
