//! Workspaces, their tabs, and the panes in them: who is where, what it is called, how it is told. Nothing is started
//! or ended here, and no event is sent.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::ids;
use super::layout::{Node, Rect};
use super::options::Version;
use super::params::{Failed, failed};
use super::processes;
use super::status::{Status, rolled_up};
use super::terminal::Terminal;

/// Everything that is open.
#[derive(Default)]
pub struct House {
    pub workspaces: Vec<Workspace>,
    /// The panes by their present ids.
    pub panes: HashMap<String, Pane>,
    /// The focused workspace, by its number.
    pub focused: u64,
    /// Ids that panes had in other workspaces.
    pub aliases: HashMap<String, String>,
    /// The highest number that a workspace had while this server runs.
    pub highest: u64,
    made: u64,
}

/// A workspace.
pub struct Workspace {
    pub number: u64,
    pub label: String,
    pub cwd: PathBuf,
    pub tabs: Vec<Tab>,
    pub active: u64,
    pub next_tab: u64,
    pub next_pane: u64,
}

/// A tab.
pub struct Tab {
    pub number: u64,
    pub label: Option<String>,
    pub root: Node,
    pub focused: String,
    pub zoomed: bool,
}

/// A pane.
pub struct Pane {
    /// Means this pane for as long as the server runs, wherever it is moved.
    pub key: u64,
    pub terminal_id: String,
    pub label: Option<String>,
    pub cwd: PathBuf,
    pub command: Option<Vec<String>>,
    pub terminal: Terminal,
    pub status: Status,
    pub revision: u64,
}

/// Where a tab is: the places of its workspace and its own.
pub type Place = (usize, usize);

impl House {
    /// Returns a new key for a pane and the id of its terminal.
    pub fn new_pane(&mut self) -> (u64, String) {
        self.made += 1;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        (self.made, format!("term_{:x}{:x}", now.as_micros(), self.made))
    }

    /// Returns the number for the next workspace.
    pub fn next_workspace(&mut self) -> u64 {
        self.highest += 1;
        self.highest
    }

    /// Finds a workspace.
    pub fn workspace(&self, id: &str) -> Result<usize, Failed> {
        let found = self.workspaces.iter().position(|workspace| ids::workspace(workspace.number) == id);
        let old = ids::old_workspace(id).and_then(|place| place.checked_sub(1));
        match found.or(old.filter(|place| *place < self.workspaces.len())) {
            Some(place) => Ok(place),
            None => failed("workspace_not_found", format!("workspace {id} not found")),
        }
    }

    /// Finds the workspace that is asked for, or the focused one.
    pub fn workspace_or_focused(&self, id: Option<&str>) -> Result<usize, Failed> {
        match id {
            Some(id) => self.workspace(id),
            None => match self.workspaces.iter().position(|workspace| workspace.number == self.focused) {
                Some(place) => Ok(place),
                None => failed("workspace_not_found", "no active workspace"),
            },
        }
    }

    /// Finds a tab.
    pub fn tab(&self, id: &str) -> Result<Place, Failed> {
        let old = ids::old_tab(id).and_then(|(w, t)| Some((w.checked_sub(1)?, t.checked_sub(1)?)));
        let found = self.places().find(|place| self.tab_id(*place) == id);
        match found.or(old.filter(|(w, t)| self.workspaces.get(*w).is_some_and(|space| *t < space.tabs.len()))) {
            Some(place) => Ok(place),
            None => failed("tab_not_found", format!("tab {id} not found")),
        }
    }

    /// Returns the present id of a pane.
    pub fn pane_id(&self, id: &str) -> Result<String, Failed> {
        let mut present = id;
        while let Some(newer) = self.aliases.get(present) {
            present = newer;
        }
        if self.panes.contains_key(present) {
            return Ok(present.to_owned());
        }
        let old = ids::old_pane(id).and_then(|(w, p)| {
            let workspace = self.workspaces.get(w.checked_sub(1)?)?;
            let mut panes = workspace.tabs.iter().flat_map(|tab| tab.root.panes());
            panes.nth(p.checked_sub(1)?).cloned()
        });
        old.map_or_else(|| failed("pane_not_found", format!("pane {id} not found")), Ok)
    }

    /// Returns the tab in which a pane is.
    pub fn place_of(&self, pane_id: &str) -> Option<Place> {
        self.places().find(|(w, t)| self.workspaces[*w].tabs[*t].root.panes().iter().any(|id| *id == pane_id))
    }

    /// Returns the places of all tabs, in the order of display.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let tabs = |w: usize| 0..self.workspaces[w].tabs.len();
        (0..self.workspaces.len()).flat_map(move |w| tabs(w).map(move |t| (w, t)))
    }

    /// Returns a tab by its place.
    pub fn at(&self, (w, t): Place) -> &Tab {
        &self.workspaces[w].tabs[t]
    }

    /// Returns the id of a tab.
    pub fn tab_id(&self, (w, t): Place) -> String {
        ids::tab(self.workspaces[w].number, self.workspaces[w].tabs[t].number)
    }

    /// Tells whether a tab is the one that would be looked at.
    pub fn is_focused(&self, (w, t): Place) -> bool {
        let workspace = &self.workspaces[w];
        workspace.number == self.focused && workspace.active == workspace.tabs[t].number
    }

    /// Makes a tab the one that is looked at; returns the panes whose state is shown differently now.
    pub fn focus(&mut self, (w, t): Place) -> Vec<String> {
        self.focused = self.workspaces[w].number;
        self.workspaces[w].active = self.workspaces[w].tabs[t].number;
        let panes: Vec<String> = self.workspaces[w].tabs[t].root.panes().into_iter().cloned().collect();
        panes.into_iter().filter(|id| self.panes.get_mut(id).is_some_and(|pane| pane.status.look())).collect()
    }

    /// Takes a pane out of its tab, and with the last one the tab and the workspace; returns where it was.
    pub fn take_out(&mut self, pane_id: &str) -> Option<(u64, u64)> {
        let (w, t) = self.place_of(pane_id)?;
        let workspace = &mut self.workspaces[w];
        let found = (workspace.number, workspace.tabs[t].number);
        let tab = workspace.tabs.remove(t);
        if let Some(root) = tab.root.without(pane_id) {
            let first = root.panes()[0].clone();
            let focused = if tab.focused == pane_id { first } else { tab.focused };
            workspace.tabs.insert(t, Tab { root, focused, ..tab });
        } else {
            self.after_tab(w, t);
        }
        Some(found)
    }

    /// Settles who is active after the tab at this place was taken out.
    pub fn after_tab(&mut self, w: usize, t: usize) {
        let workspace = &mut self.workspaces[w];
        if workspace.tabs.is_empty() {
            let number = self.workspaces.remove(w).number;
            self.after_workspace(number);
        } else if !workspace.tabs.iter().any(|tab| tab.number == workspace.active) {
            workspace.active = workspace.tabs[t.saturating_sub(1).min(workspace.tabs.len() - 1)].number;
        }
    }

    /// Settles who is focused after a workspace was taken out.
    pub fn after_workspace(&mut self, number: u64) {
        if self.focused == number {
            self.focused = self.workspaces.first().map_or(0, |workspace| workspace.number);
        }
    }

    // === what is told ===

    /// Returns a workspace as it is told.
    pub fn workspace_info(&self, w: usize) -> Value {
        let workspace = &self.workspaces[w];
        let panes: Vec<&String> = workspace.tabs.iter().flat_map(|tab| tab.root.panes()).collect();
        json!({
            "workspace_id": ids::workspace(workspace.number), "number": w + 1, "label": workspace.label,
            "focused": workspace.number == self.focused, "pane_count": panes.len(),
            "tab_count": workspace.tabs.len(), "active_tab_id": ids::tab(workspace.number, workspace.active),
            "agent_status": self.status_of(panes.into_iter()),
        })
    }

    /// Returns a tab as it is told. Without a label of its own it is called by its place.
    pub fn tab_info(&self, place: Place) -> Value {
        let tab = self.at(place);
        json!({
            "tab_id": self.tab_id(place), "workspace_id": ids::workspace(self.workspaces[place.0].number),
            "number": tab.number, "label": tab.label.clone().unwrap_or_else(|| (place.1 + 1).to_string()),
            "focused": self.is_focused(place), "pane_count": tab.root.panes().len(),
            "agent_status": self.status_of(tab.root.panes().into_iter()),
        })
    }

    /// Returns all tabs of a workspace.
    pub fn tab_infos(&self, w: usize) -> Vec<Value> {
        (0..self.workspaces[w].tabs.len()).map(|t| self.tab_info((w, t))).collect()
    }

    fn status_of<'a>(&self, panes: impl Iterator<Item = &'a String>) -> &'static str {
        rolled_up(panes.filter_map(|id| self.panes.get(id)).map(|pane| pane.status.shown()))
    }

    /// Returns a pane as it is told; what is absent is left out.
    pub fn pane_info(&self, id: &str, version: Version) -> Value {
        let (Some(pane), Some(place)) = (self.panes.get(id), self.place_of(id)) else { return Value::Null };
        let foreground = processes::foreground_cwd(pane.terminal.pid).unwrap_or_else(|| pane.cwd.clone());
        let mut info = json!({
            "pane_id": id, "terminal_id": pane.terminal_id,
            "workspace_id": ids::workspace(self.workspaces[place.0].number), "tab_id": self.tab_id(place),
            "focused": self.is_focused(place) && self.at(place).focused == id,
            "cwd": pane.cwd, "foreground_cwd": foreground,
        });
        if let Some(label) = &pane.label {
            info["label"] = label.clone().into();
        }
        if let Some(agent) = pane.status.agent() {
            info["agent"] = agent.into();
        }
        for (name, value) in &pane.status.names {
            info[name] = value.clone();
        }
        info["agent_status"] = pane.status.shown().into();
        if !pane.status.tokens.is_empty() {
            info["tokens"] = Value::Object(pane.status.tokens.clone());
        }
        info["scroll"] =
            json!({"offset_from_bottom": 0, "max_offset_from_bottom": 0, "viewport_rows": version.size().1});
        info["revision"] = pane.revision.into();
        info
    }

    /// Returns an agent as it is told.
    pub fn agent_info(&self, id: &str, version: Version) -> Value {
        let mut info = self.pane_info(id, version);
        let Some(pane) = self.panes.get(id) else { return Value::Null };
        if let Some(fields) = info.as_object_mut() {
            fields.remove("scroll");
            fields.remove("label");
        }
        if let Some(name) = &pane.status.name {
            info["name"] = name.clone().into();
        }
        info["state_change_seq"] = pane.status.changes.into();
        info
    }

    /// Returns the rectangles of a tab.
    pub fn layout_snapshot(&self, place: Place, version: Version) -> Value {
        let tab = self.at(place);
        let (width, height) = version.size();
        let area = Rect { x: 26, y: 1, width, height };
        let (panes, splits) = tab.root.areas(area, &tab.focused);
        json!({
            "workspace_id": ids::workspace(self.workspaces[place.0].number), "tab_id": self.tab_id(place),
            "zoomed": tab.zoomed, "area": {"x": area.x, "y": area.y, "width": width, "height": height},
            "focused_pane_id": tab.focused, "panes": panes, "splits": splits,
        })
    }

    /// Returns the tree of a tab, as `layout.apply` takes it.
    pub fn layout(&self, place: Place) -> Value {
        let tab = self.at(place);
        json!({
            "workspace_id": ids::workspace(self.workspaces[place.0].number), "tab_id": self.tab_id(place),
            "zoomed": tab.zoomed, "focused_pane_id": tab.focused, "root": self.node(&tab.root),
        })
    }

    fn node(&self, node: &Node) -> Value {
        match node {
            Node::Split { direction, ratio, parts } => json!({
                "type": "split", "direction": direction, "ratio": ratio,
                "first": self.node(&parts.0), "second": self.node(&parts.1),
            }),
            Node::Pane(id) => {
                let mut told = json!({"type": "pane", "pane_id": id});
                let Some(pane) = self.panes.get(id) else { return told };
                if let Some(label) = &pane.label {
                    told["label"] = label.clone().into();
                }
                told["cwd"] = json!(pane.cwd);
                if let Some(command) = &pane.command {
                    told["command"] = json!(command);
                }
                told
            }
        }
    }
}
