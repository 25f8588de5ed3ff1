//! The server itself: what it is, all that it has, its end,
//! its handoff, and the faults that tests order.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::params::Params;
use super::super::status::Status;
use super::super::{Server, ids, pause};
use super::{Answer, ok};

pub fn ping(server: &Server) -> Answer {
    let version = server.options.version;
    Ok(json!({
        "type": "pong", "version": version.name(), "protocol": version.protocol(),
        "capabilities": {"live_handoff": true, "detached_server_daemon": true},
    }))
}

pub fn snapshot(server: &Server) -> Answer {
    let house = server.house();
    let version = server.options.version;
    let mut snapshot = json!({"version": version.name(), "protocol": version.protocol()});
    let focused = house.places().find(|place| house.is_focused(*place));
    if let Some(place) = focused {
        snapshot["focused_workspace_id"] = ids::workspace(house.focused).into();
        snapshot["focused_tab_id"] = house.tab_id(place).into();
        snapshot["focused_pane_id"] = house.at(place).focused.clone().into();
    }
    let places: Vec<_> = house.places().collect();
    let panes: Vec<&String> = places.iter().flat_map(|place| house.at(*place).root.panes()).collect();
    let is_agent = |id: &&&String| house.panes[**id].status.agent().is_some();
    snapshot["workspaces"] = (0..house.workspaces.len()).map(|w| house.workspace_info(w)).collect();
    snapshot["tabs"] = places.iter().map(|place| house.tab_info(*place)).collect();
    snapshot["panes"] = panes.iter().map(|id| house.pane_info(id, version)).collect();
    snapshot["layouts"] = places.iter().map(|place| house.layout_snapshot(*place, version)).collect();
    snapshot["agents"] = panes.iter().filter(is_agent).map(|id| house.agent_info(id, version)).collect();
    Ok(json!({"type": "session_snapshot", "snapshot": snapshot}))
}

pub fn stop(server: &Server) -> Answer {
    server.stop();
    ok()
}

/// The processes stay and so do the ids; terminals get new ids, reports and names are lost, streams end.
pub fn live_handoff(server: &Server) -> Answer {
    const TAKES: Duration = Duration::from_millis(140);
    const AT_MOST: Duration = Duration::from_secs(1);
    let (begun, listens) = (Instant::now(), server.listens.load(Ordering::SeqCst));
    let mut house = server.house();
    server.faults().refused_until = Some(Instant::now() + TAKES);
    server.wake();
    let keys: Vec<String> = house.panes.keys().cloned().collect();
    for id in keys {
        let (_, terminal_id) = house.new_pane();
        if let Some(pane) = house.panes.get_mut(&id) {
            pane.terminal_id = terminal_id;
            pane.status = Status::default();
            pane.revision = 0;
        }
    }
    server.hub().clear();
    server.end_streams();
    pause(TAKES);
    // It answers once it can be reached again.
    while server.listens.load(Ordering::SeqCst) == listens && begun.elapsed() < AT_MOST {
        pause(Duration::from_millis(1));
    }
    ok()
}

/// Tells how many requests there were, this one included.
pub fn count(server: &Server) -> Answer {
    Ok(json!({"type": "count", "requests": server.requests.load(Ordering::SeqCst)}))
}

/// Orders faults: `stall_ms`, `refuse_ms`, `unanswered` requests or those that type, `lose_events`, `drop_streams`,
/// `forget_aliases`.
pub fn fault(server: &Server, p: Params<'_>) -> Answer {
    let after = |ms: u64| Instant::now() + Duration::from_millis(ms);
    let mut faults = server.faults();
    if let Some(ms) = p.number("stall_ms")? {
        faults.stalled_until = Some(after(ms));
    }
    if let Some(ms) = p.number("refuse_ms")? {
        faults.refused_until = Some(after(ms));
    }
    if let Some(count) = p.number("unanswered")? {
        faults.unanswered = count;
    }
    if let Some(count) = p.number("unanswered_typing")? {
        faults.unanswered_typing = count;
    }
    drop(faults);
    if p.0.get("forget_aliases") == Some(&Value::Bool(true)) {
        server.house().aliases.clear();
    }
    if let Some(count) = p.number("lose_events")? {
        server.hub().lose = count;
    }
    if p.0.get("drop_streams") == Some(&Value::Bool(true)) {
        server.end_streams();
    }
    server.wake();
    ok()
}
