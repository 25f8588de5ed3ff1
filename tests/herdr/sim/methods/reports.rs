//! What agents are said to do: reports, the events that come of them, and waits for a state. Agents that the real server
//! knows by name do not exist here.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::super::house::House;
use super::super::params::{Failed, Params, failed};
use super::super::stream::Entry;
use super::super::{Server, ids, pause};
use super::reading::Matcher;
use super::{Answer, Reply, ok, panes, tell};

const STATES: [&str; 4] = ["idle", "working", "blocked", "unknown"];
const KINDS: &[&str] = &[
    "workspace.created",
    "workspace.updated",
    "workspace.metadata_updated",
    "workspace.renamed",
    "workspace.moved",
    "workspace.reordered",
    "workspace.closed",
    "workspace.focused",
    "worktree.created",
    "worktree.opened",
    "worktree.removed",
    "tab.created",
    "tab.closed",
    "tab.focused",
    "tab.renamed",
    "tab.moved",
    "pane.created",
    "pane.closed",
    "pane.updated",
    "pane.focused",
    "pane.moved",
    "pane.exited",
    "pane.agent_detected",
    "layout.updated",
];

fn state_data(house: &House, id: &str) -> Value {
    let Some((pane, place)) = house.panes.get(id).zip(house.place_of(id)) else { return Value::Null };
    let workspace = ids::workspace(house.workspaces[place.0].number);
    let mut data = json!({"pane_id": id, "workspace_id": workspace, "agent_status": pane.status.shown()});
    if let Some(agent) = pane.status.agent() {
        data["agent"] = agent.into();
    }
    for (name, value) in &pane.status.names {
        data[name] = value.clone();
    }
    data
}

/// Says the state of a pane to those who ask for this pane; no other event tells it.
pub fn tell_state(server: &Server, house: &House, id: &str) {
    if let Some(pane) = house.panes.get(id) {
        server.hub().push_state(pane.key, pane.status.shown(), state_data(house, id));
    }
}

pub fn report(server: &Server, p: Params<'_>) -> Answer {
    let (source, agent, state) = (p.text("source")?, p.text("agent")?, p.text("state")?);
    if !STATES.contains(&state) {
        return Err(Failed::Invalid(format!("unknown variant `{state}`, expected one of `idle`, `working`")));
    }
    let seq = p.number("seq")?;
    let mut house = server.house();
    let (id, place) = panes::place(&house, p.text("pane_id")?)?;
    if agent.trim().is_empty() {
        return failed("invalid_agent", "agent label must not be empty");
    }
    let is_focused = house.is_focused(place);
    let workspace = ids::workspace(house.workspaces[place.0].number);
    let Some(pane) = house.panes.get_mut(&id) else { return ok() };
    let before = (pane.status.shown().to_owned(), pane.status.agent().map(str::to_owned));
    if pane.status.report(source, agent, state, seq, is_focused) {
        let after = (pane.status.shown().to_owned(), pane.status.agent().map(str::to_owned));
        if before.1 != after.1 {
            tell(server, "pane_agent_detected", json!({"pane_id": id, "workspace_id": workspace, "agent": agent}));
        }
        if before != after {
            tell_state(server, &house, &id);
        }
    }
    ok()
}

pub fn release(server: &Server, p: Params<'_>) -> Answer {
    let (source, agent) = (p.text("source")?, p.maybe_text("agent")?);
    let seq = p.number("seq")?;
    let mut house = server.house();
    let (id, place) = panes::place(&house, p.text("pane_id")?)?;
    let workspace = ids::workspace(house.workspaces[place.0].number);
    let Some(pane) = house.panes.get_mut(&id) else { return ok() };
    let label = pane.status.agent().map(str::to_owned);
    let (key, is_shown) = (pane.key, !pane.status.names.is_empty());
    if let Some(last) = pane.status.release(source, agent, seq) {
        let data = json!({
            "pane_id": id, "workspace_id": workspace, "agent": label, "released": true, "final_status": last,
        });
        tell(server, "pane_agent_detected", data);
        // The last word on an agent still has its label.
        let mut state = state_data(&house, &id);
        state["agent"] = json!(label);
        server.hub().push_state(key, "unknown", state);
        if is_shown {
            tell(server, "pane_updated", json!({"pane": house.pane_info(&id, server.options.version)}));
        }
    }
    ok()
}

pub fn report_session(server: &Server, p: Params<'_>) -> Answer {
    let source = p.text("source")?;
    let mut house = server.house();
    let (id, _) = panes::place(&house, p.text("pane_id")?)?;
    if source.starts_with("herdr:")
        && let Some(pane) = house.panes.get_mut(&id)
    {
        pane.status.anchor();
    }
    ok()
}

/// Takes what is shown beside a pane.
pub fn metadata(server: &Server, p: Params<'_>) -> Answer {
    let source = p.text("source")?;
    if !source.chars().all(|c| c.is_ascii_alphanumeric() || ":._-".contains(c)) {
        return failed("invalid_metadata_source", "metadata source may contain only ASCII letters and digits");
    }
    let mut house = server.house();
    let (id, _) = panes::place(&house, p.text("pane_id")?)?;
    let tokens = p.object("tokens")?.map(|tokens| tokens.0);
    let known = ["title", "display_agent", "state_labels"];
    if tokens.is_none() && !known.iter().any(|name| p.0.contains_key(*name)) {
        return failed("invalid_metadata_request", "nothing to report");
    }
    let nothing = Map::new();
    let is_key = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) && key.len() <= 32;
    let tokens = tokens.unwrap_or(&nothing);
    if let Some(wrong) = tokens.keys().find(|key| !is_key(key)) {
        return failed("invalid_metadata_token", format!("invalid metadata token key: {wrong}"));
    }
    if let Some(pane) = house.panes.get_mut(&id) {
        for (key, value) in tokens {
            match value.as_str() {
                Some(_) => drop(pane.status.tokens.insert(key.clone(), value.clone())),
                None => drop(pane.status.tokens.remove(key)),
            }
        }
        for (name, value) in known.iter().filter_map(|name| p.0.get_key_value(*name)) {
            let shown =
                value.as_str().map(|text| text.chars().filter(|letter| !letter.is_control()).collect::<String>());
            pane.status.names.insert(name.clone(), shown.map_or_else(|| value.clone(), Value::from));
        }
        pane.revision += 1;
    }
    if known.iter().any(|name| p.0.contains_key(*name)) {
        tell_state(server, &house, &id);
    }
    tell(server, "pane_updated", json!({"pane": house.pane_info(&id, server.options.version)}));
    ok()
}

fn agent(house: &House, target: &str) -> Result<String, Failed> {
    let named = house.panes.iter().find(|(_, pane)| pane.status.name.as_deref() == Some(target));
    let id = named.map(|(id, _)| id.clone()).or_else(|| house.panes.contains_key(target).then(|| target.to_owned()));
    let id = id.filter(|id| house.panes[id].status.agent().is_some());
    id.map_or_else(|| failed("agent_not_found", format!("agent target {target} not found")), Ok)
}

pub fn agent_list(server: &Server) -> Answer {
    let house = server.house();
    let panes = house.places().flat_map(|place| house.at(place).root.panes());
    let agents = panes.filter(|id| house.panes[*id].status.agent().is_some());
    let agents: Vec<Value> = agents.map(|id| house.agent_info(id, server.options.version)).collect();
    Ok(json!({"type": "agent_list", "agents": agents}))
}

pub fn agent_get(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let id = agent(&house, p.text("target")?)?;
    Ok(json!({"type": "agent_info", "agent": house.agent_info(&id, server.options.version)}))
}

pub fn agent_rename(server: &Server, p: Params<'_>) -> Answer {
    let mut house = server.house();
    let id = agent(&house, p.text("target")?)?;
    let name = p.maybe_text("name")?.map(str::to_owned);
    if let Some(pane) = house.panes.get_mut(&id) {
        pane.status.name = name;
    }
    Ok(json!({"type": "agent_info", "agent": house.agent_info(&id, server.options.version)}))
}

/// Answers what needs an agent that the server knows by its name.
pub fn no_known_agent(server: &Server, p: Params<'_>) -> Answer {
    let target = p.text("target")?;
    agent(&server.house(), target)?;
    failed("agent_not_ready", format!("agent {target} is not ready"))
}

pub fn subscribe(server: &Server, p: Params<'_>) -> Result<Vec<Entry>, Failed> {
    let house = server.house();
    let mut entries = Vec::new();
    for (n, wanted) in p.list("subscriptions")?.iter().enumerate() {
        let wanted = wanted.as_object().map(Params).ok_or_else(|| Failed::Invalid("expected a map".to_owned()))?;
        let kind = wanted.text("type")?;
        if KINDS.contains(&kind) {
            entries.push(Entry::Kind { kind: kind.replacen('.', "_", 1), from: 0 });
            continue;
        }
        if !matches!(kind, "pane.agent_status_changed" | "pane.output_matched" | "pane.scroll_changed") {
            return Err(Failed::Invalid(format!("unknown variant `{kind}`")));
        }
        let pane_id = wanted.text("pane_id")?;
        let (id, _) = panes::place(&house, pane_id).map_err(|failed| match failed {
            Failed::Code(code, message) => Failed::Probe(n, code, message),
            other => other,
        })?;
        entries.push(match kind {
            "pane.agent_status_changed" => {
                let only = wanted.maybe_text("agent_status")?.map(str::to_owned);
                let pane = &house.panes[&id];
                let first = only
                    .as_ref()
                    .filter(|only| *only == pane.status.shown())
                    .map(|_| json!({"event": "pane.agent_status_changed", "data": state_data(&house, &id)}));
                Entry::State { pane: pane.key, from: server.hub().now(), only, first }
            }
            "pane.output_matched" => Entry::Output {
                pane_id: id,
                source: wanted.text("source")?.to_owned(),
                lines: wanted.number("lines")?,
                matcher: Matcher::read(wanted)?,
                shown: false,
            },
            _ => Entry::Nothing,
        });
    }
    Ok(entries)
}

/// Waits for a state of a pane; other events cannot be waited for.
pub fn wait(server: &Server, p: Params<'_>) -> Result<Reply, Failed> {
    let wanted = p.needed_object("match_event")?;
    let event = wanted.text("event")?;
    if event.contains('.') {
        return Err(Failed::Invalid(format!("unknown variant `{event}`")));
    }
    if event != "pane_agent_status_changed" {
        return failed("unsupported_event_wait_match", "events.wait currently supports pane agent status matches");
    }
    let (pane_id, status) = (wanted.text("pane_id")?, wanted.text("agent_status")?);
    let found = until(server, p.number("timeout_ms")?, |house| {
        let (id, _) = panes::place(house, pane_id)?;
        Ok((house.panes[&id].status.shown() == status).then(|| state_data(house, &id)))
    })?;
    Ok(found.map_or(Reply::Silence, |mut data| {
        data["type"] = "pane_agent_status_changed".into();
        Reply::Result(json!({"type": "wait_matched", "event": {"event": "pane_agent_status_changed", "data": data}}))
    }))
}

pub fn agent_wait(server: &Server, p: Params<'_>) -> Result<Reply, Failed> {
    let target = p.text("target")?;
    let usual = || ["idle", "done", "blocked"].map(str::to_owned).to_vec();
    let states = p.texts("until")?.unwrap_or_else(usual);
    let found = until(server, p.number("timeout_ms")?, |house| {
        let id = agent(house, target)?;
        let shown = house.panes[&id].status.shown();
        let fits = states.iter().any(|state| state == shown || (state == "idle" && shown == "done"));
        Ok(fits.then(|| house.agent_info(&id, server.options.version)))
    })?;
    Ok(found.map_or(Reply::Silence, |agent| Reply::Result(json!({"type": "agent_info", "agent": agent}))))
}

/// Looks until something is found, the time is over, or the server stops, which ends the wait without a word.
fn until(
    server: &Server,
    timeout: Option<u64>,
    look: impl Fn(&House) -> Result<Option<Value>, Failed>,
) -> Result<Option<Value>, Failed> {
    let end = timeout.map(|ms| Instant::now() + Duration::from_millis(ms));
    let epoch = server.epoch.load(std::sync::atomic::Ordering::SeqCst);
    loop {
        let found = look(&server.house());
        let order = std::sync::atomic::Ordering::SeqCst;
        if server.epoch.load(order) != epoch || server.stopping.load(order) {
            return Ok(None);
        }
        if let Some(found) = found? {
            return Ok(Some(found));
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return failed("timeout", "timed out waiting");
        }
        pause(Duration::from_millis(20));
    }
}
