//! What each method does. The table of methods is here; a method that the real server does not know, and one that only
//! its own agents can use, are answered as it answers them.

mod panes;
pub mod reading;
mod reports;
mod server;
pub mod starting;
mod tabs;
mod typing;
mod workspaces;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::Server;
use super::house::House;
use super::params::{Failed, Params, failed};
use super::stream::Entry;

/// What comes of a request.
pub enum Reply {
    /// An answer.
    Result(Value),
    /// A stream of events.
    Stream(Vec<Entry>),
    /// The connection is closed without a word.
    Silence,
}

type Answer = Result<Value, Failed>;

fn ok() -> Answer {
    Ok(json!({"type": "ok"}))
}

/// Carries a request out.
///
/// # Errors
///
/// Fails as the real server refuses.
pub fn call(server: &Server, method: &str, params: &Map<String, Value>) -> Result<Reply, Failed> {
    let p = Params(params);
    let answer = match method {
        "events.subscribe" => return reports::subscribe(server, p).map(Reply::Stream),
        "events.wait" => return reports::wait(server, p),
        "agent.wait" => return reports::agent_wait(server, p),
        "ping" => server::ping(server),
        "session.snapshot" => server::snapshot(server),
        "server.stop" => server::stop(server),
        "server.live_handoff" => server::live_handoff(server),
        "sim.count" => server::count(server),
        "sim.fault" => server::fault(server, p),
        "workspace.create" => workspaces::create(server, p),
        "workspace.list" => workspaces::list(server),
        "workspace.get" => workspaces::get(server, p),
        "workspace.focus" => workspaces::focus(server, p),
        "workspace.rename" => workspaces::rename(server, p),
        "workspace.close" => workspaces::close(server, p),
        "tab.create" => tabs::create(server, p),
        "tab.list" => tabs::list(server, p),
        "tab.get" => tabs::get(server, p),
        "tab.focus" => tabs::focus(server, p),
        "tab.rename" => tabs::rename(server, p),
        "tab.move" => tabs::move_to(server, p),
        "tab.close" => tabs::close(server, p),
        "layout.apply" => tabs::apply(server, p),
        "layout.export" => tabs::export(server, p),
        "pane.get" => panes::get(server, p),
        "pane.current" => panes::current(server),
        "pane.list" => panes::list(server, p),
        "pane.layout" => panes::layout(server, p),
        "pane.process_info" => panes::process_info(server, p),
        "pane.split" => panes::split(server, p),
        "pane.move" => panes::move_to(server, p),
        "pane.rename" => panes::rename(server, p),
        "pane.focus" => panes::focus(server, p),
        "pane.zoom" => panes::zoom(server, p),
        "pane.close" => panes::close(server, p),
        "pane.send_text" => typing::send_text(server, p),
        "pane.send_input" => typing::send_input(server, p),
        "pane.send_keys" => typing::send_keys(server, p),
        "pane.read" => reading::pane_read(server, p),
        "pane.wait_for_output" => reading::wait_for_output(server, p),
        "pane.report_agent" => reports::report(server, p),
        "pane.release_agent" => reports::release(server, p),
        "pane.report_agent_session" => reports::report_session(server, p),
        "pane.report_metadata" => reports::metadata(server, p),
        "agent.list" => reports::agent_list(server),
        "agent.get" => reports::agent_get(server, p),
        "agent.rename" => reports::agent_rename(server, p),
        "agent.prompt" | "agent.send_keys" | "agent.read" | "agent.explain" | "agent.focus" => {
            reports::no_known_agent(server, p)
        }
        "agent.start" => failed("unsupported_agent_kind", "no agent of this kind is known here"),
        other => Err(Failed::Invalid(format!("unknown variant `{other}`"))),
    };
    answer.map(Reply::Result)
}

/// Says an event.
fn tell(server: &Server, kind: &str, data: Value) {
    server.hub().push(kind, data);
    server.unsaved.store(true, Ordering::SeqCst);
}

/// Says the focus of a tab, as the real server does whenever it may have changed.
fn tell_focus(server: &Server, house: &House, place: (usize, usize)) {
    let workspace = super::ids::workspace(house.workspaces[place.0].number);
    let tab = house.tab_id(place);
    tell(server, "workspace_focused", json!({"workspace_id": workspace}));
    tell(server, "tab_focused", json!({"tab_id": tab, "workspace_id": workspace}));
    tell(server, "pane_focused", json!({"pane_id": house.at(place).focused, "workspace_id": workspace}));
}

/// Says that a pane was made.
fn tell_created(server: &Server, house: &House, id: &str) {
    tell(server, "pane_created", json!({"pane": house.pane_info(id, server.options.version)}));
}

/// Says the layout of a tab.
fn tell_layout(server: &Server, house: &House, place: (usize, usize)) {
    tell(server, "layout_updated", json!({"layout": house.layout_snapshot(place, server.options.version)}));
}

/// A server that threads can keep.
fn shared(server: &Server) -> Arc<Server> {
    server.this.get().and_then(std::sync::Weak::upgrade).expect("it is set before the first connection")
}
