//! Tabs: make (a shell, or a layout of commands),
//! list, focus, rename, move, close.

use std::path::PathBuf;

use serde_json::json;

use super::super::house::{House, Place, Tab};
use super::super::layout::Node;
use super::super::params::{Failed, Params, failed};
use super::super::{Server, ids, processes};
use super::{Answer, ok, starting, tell, tell_created, tell_focus, tell_layout};

pub fn create(server: &Server, p: Params<'_>) -> Answer {
    let env = p.env()?;
    let mut house = server.house();
    let w = house.workspace_or_focused(p.maybe_text("workspace_id")?)?;
    let cwd = p.maybe_text("cwd")?.map_or_else(|| house.workspaces[w].cwd.clone(), PathBuf::from);
    let pane = Wanted { label: None, cwd, command: None, env };
    let label = p.maybe_text("label")?;
    let place =
        add(server, &mut house, w, label, vec![(pane, None)]).map_err(|why| Failed::Code("tab_create_failed", why))?;
    if p.is("focus")? {
        focus_at(server, &mut house, place);
    }
    let root = house.at(place).focused.clone();
    Ok(json!({
        "type": "tab_created", "tab": house.tab_info(place),
        "root_pane": house.pane_info(&root, server.options.version),
    }))
}

/// A pane that shall be there.
struct Wanted {
    label: Option<String>,
    cwd: PathBuf,
    command: Option<Vec<String>>,
    env: Vec<(String, String)>,
}

/// How a pane is put beside the one before it.
type Beside = (usize, String, f64);

/// Adds a tab with panes. One that fails has used up its number, and nothing else is left of it.
fn add(
    server: &Server,
    house: &mut House,
    w: usize,
    label: Option<&str>,
    wanted: Vec<(Wanted, Option<Beside>)>,
) -> Result<Place, String> {
    let workspace = &mut house.workspaces[w];
    let (space, number) = (workspace.number, workspace.next_tab);
    workspace.next_tab += 1;
    let mut made: Vec<String> = Vec::new();
    let mut root: Option<Node> = None;
    for (pane, beside) in wanted {
        let id = ids::pane(space, house.workspaces[w].next_pane);
        let plan = starting::Plan {
            id: id.clone(),
            tab_id: ids::tab(space, number),
            workspace_id: ids::workspace(space),
            label: pane.label,
            cwd: pane.cwd,
            command: pane.command,
            env: pane.env,
        };
        if let Err(error) = starting::start(server, house, plan) {
            let gone: Vec<_> = made.iter().filter_map(|id| house.panes.remove(id)).collect();
            processes::end_sessions(&gone.iter().map(|pane| pane.terminal.pid).collect::<Vec<_>>());
            return Err(error.to_string());
        }
        house.workspaces[w].next_pane += 1;
        match (&mut root, beside) {
            (Some(root), Some((place, direction, ratio))) => root.insert(&made[place], &direction, ratio, &id),
            _ => root = Some(Node::Pane(id.clone())),
        }
        made.push(id);
    }
    let root = root.ok_or_else(|| "a layout has at least one pane".to_owned())?;
    let tab = Tab { number, label: label.map(str::to_owned), root, focused: made[0].clone(), zoomed: false };
    house.workspaces[w].tabs.push(tab);
    let place = (w, house.workspaces[w].tabs.len() - 1);
    tell(server, "tab_created", json!({"tab": house.tab_info(place)}));
    for id in &made {
        tell_created(server, house, id);
    }
    tell_layout(server, house, place);
    Ok(place)
}

pub fn apply(server: &Server, p: Params<'_>) -> Answer {
    let root = p.needed_object("root")?;
    let mut house = server.house();
    let replaced = p.maybe_text("tab_id")?.map(|id| house.tab(id)).transpose()?;
    let w = match replaced {
        Some((w, _)) => w,
        None => house.workspace_or_focused(p.maybe_text("workspace_id")?)?,
    };
    let mut wanted = Vec::new();
    flatten(root, &house.workspaces[w].cwd.clone(), None, &mut wanted)?;
    let place = match add(server, &mut house, w, p.maybe_text("tab_label")?, wanted) {
        Ok(place) => place,
        Err(why) => return failed("layout_apply_failed", why),
    };
    if let Some((w, t)) = replaced {
        close_at(server, &mut house, (w, t));
        return Ok(json!({"type": "layout_apply", "layout": house.layout((w, place.1 - 1))}));
    }
    if p.is("focus")? {
        focus_at(server, &mut house, place);
    }
    Ok(json!({"type": "layout_apply", "layout": house.layout(place)}))
}

/// Returns the panes of a tree in the order in which they are made; the place of the first one of this node.
fn flatten(
    node: Params<'_>,
    cwd: &PathBuf,
    beside: Option<Beside>,
    found: &mut Vec<(Wanted, Option<Beside>)>,
) -> Result<usize, Failed> {
    match node.text("type")? {
        "pane" => {
            let command = node.texts("command")?;
            if command.as_ref().is_some_and(Vec::is_empty) {
                return failed("invalid_layout", "pane command must not be empty");
            }
            let label = node.maybe_text("label")?.map(str::to_owned);
            let cwd = node.maybe_text("cwd")?.map_or_else(|| cwd.clone(), PathBuf::from);
            found.push((Wanted { label, cwd, command, env: node.env()? }, beside));
            Ok(found.len() - 1)
        }
        "split" => {
            let ratio = node.fraction("ratio").ok_or_else(|| Failed::Invalid("missing field `ratio`".to_owned()))?;
            let first = flatten(node.needed_object("first")?, cwd, beside, found)?;
            let direction = node.text("direction")?.to_owned();
            flatten(node.needed_object("second")?, cwd, Some((first, direction, ratio)), found)?;
            Ok(first)
        }
        other => Err(Failed::Invalid(format!("unknown variant `{other}`, expected `pane` or `split`"))),
    }
}

pub fn export(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let place = match (p.maybe_text("tab_id")?, p.maybe_text("pane_id")?) {
        (Some(tab), _) => house.tab(tab)?,
        (None, Some(pane)) => super::panes::place(&house, pane)?.1,
        (None, None) => return failed("tab_not_found", "no active tab"),
    };
    Ok(json!({"type": "layout_export", "layout": house.layout(place)}))
}

pub fn list(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let tabs = match p.maybe_text("workspace_id")? {
        Some(id) => house.tab_infos(house.workspace(id)?),
        None => (0..house.workspaces.len()).flat_map(|w| house.tab_infos(w)).collect(),
    };
    Ok(json!({"type": "tab_list", "tabs": tabs}))
}

pub fn get(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let place = house.tab(p.text("tab_id")?)?;
    Ok(json!({"type": "tab_info", "tab": house.tab_info(place)}))
}

/// Looks at a tab: what is done there is idle from now on.
pub fn focus_at(server: &Server, house: &mut House, place: Place) {
    for id in house.focus(place) {
        super::reports::tell_state(server, house, &id);
    }
    tell_focus(server, house, place);
}

pub fn focus(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let place = house.tab(p.text("tab_id")?)?;
    focus_at(server, &mut house, place);
    Ok(json!({"type": "tab_info", "tab": house.tab_info(place)}))
}

pub fn rename(server: &Server, p: Params<'_>) -> Answer {
    let (id, label) = (p.text("tab_id")?, p.text("label")?);
    let mut house = server.house();
    let (w, t) = house.tab(id)?;
    house.workspaces[w].tabs[t].label = Some(label.to_owned()).filter(|label| !label.is_empty());
    let workspace = ids::workspace(house.workspaces[w].number);
    tell(server, "tab_renamed", json!({"tab_id": house.tab_id((w, t)), "workspace_id": workspace, "label": label}));
    Ok(json!({"type": "tab_info", "tab": house.tab_info((w, t))}))
}

pub fn move_to(server: &Server, p: Params<'_>) -> Answer {
    let index = p.number("insert_index")?.ok_or_else(|| Failed::Invalid("missing field `insert_index`".to_owned()))?;
    let mut house = server.house();
    let (w, t) = house.tab(p.text("tab_id")?)?;
    let tab = house.workspaces[w].tabs.remove(t);
    let place = usize::try_from(index).unwrap_or(usize::MAX).min(house.workspaces[w].tabs.len());
    house.workspaces[w].tabs.insert(place, tab);
    let tabs = house.tab_infos(w);
    let workspace = ids::workspace(house.workspaces[w].number);
    let tab_id = house.tab_id((w, place));
    let moved = json!({"tab_id": tab_id, "workspace_id": workspace, "insert_index": index, "tabs": tabs});
    tell(server, "tab_moved", moved);
    Ok(json!({"type": "tab_list", "tabs": tabs}))
}

fn close_at(server: &Server, house: &mut House, (w, t): Place) {
    let tab_id = house.tab_id((w, t));
    let was_focused = house.is_focused((w, t));
    let workspace = house.workspaces[w].number;
    let tab = house.workspaces[w].tabs.remove(t);
    house.after_tab(w, t);
    let gone: Vec<_> = tab.root.panes().into_iter().filter_map(|id| house.panes.remove(id)).collect();
    processes::end_sessions(&gone.iter().map(|pane| pane.terminal.pid).collect::<Vec<_>>());
    tell(server, "tab_closed", json!({"tab_id": tab_id, "workspace_id": ids::workspace(workspace)}));
    let focused = house.places().find(|place| house.is_focused(*place));
    if let Some(place) = focused.filter(|_| was_focused) {
        tell_focus(server, house, place);
    }
}

pub fn close(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let place = house.tab(p.text("tab_id")?)?;
    close_at(server, &mut house, place);
    ok()
}
