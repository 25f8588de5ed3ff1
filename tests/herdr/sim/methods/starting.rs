//! How a pane's process is started: its directory, its command, its environment;
//! and what its end does.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use portable_pty::CommandBuilder;
use serde_json::json;

use super::super::Server;
use super::super::house::{House, Pane};
use super::super::ids;
use super::super::options::Version;
use super::super::status::Status;
use super::super::terminal::Terminal;
use super::{shared, tell, tell_layout};

/// What is to be started, and where.
pub struct Plan {
    pub id: String,
    pub tab_id: String,
    pub workspace_id: String,
    pub label: Option<String>,
    pub cwd: PathBuf,
    /// Nothing = a shell.
    pub command: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
}

/// Starts it. A directory that is not there becomes the home, without a word.
///
/// # Errors
///
/// Fails when the program is not there.
pub fn start(server: &Server, house: &mut House, plan: Plan) -> io::Result<()> {
    let options = &server.options;
    let cwd = if plan.cwd.is_dir() { plan.cwd } else { options.home.clone() };
    let shell = || std::env::var("SHELL").ok().filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into());
    let argv = plan.command.clone().unwrap_or_else(|| vec![shell()]);
    // The environment of the server itself goes to every pane.
    let mut command = CommandBuilder::new(&argv[0]);
    command.args(&argv[1..]);
    command.cwd(&cwd);
    command.env_remove("CODEX_THREAD_ID");
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    for (name, value) in &plan.env {
        command.env(name, value);
    }
    command.env("HERDR_ENV", "1");
    command.env("HERDR_SOCKET_PATH", &options.socket);
    command.env("HERDR_WORKSPACE_ID", &plan.workspace_id);
    command.env("HERDR_TAB_ID", &plan.tab_id);
    command.env("HERDR_PANE_ID", &plan.id);
    if let Some(session) = &options.session {
        command.env("HERDR_SESSION", session);
    }
    if options.version == Version::V082 {
        command.env("HERDR_BIN_PATH", std::env::current_exe()?);
    }
    let (key, terminal_id) = house.new_pane();
    let owner = shared(server);
    let terminal = Terminal::start(command, options.version.size(), move || ended(&owner, key))?;
    let (label, command) = (plan.label, plan.command);
    let pane = Pane { key, terminal_id, label, cwd, command, terminal, status: Status::default(), revision: 0 };
    house.panes.insert(plan.id, pane);
    server.unsaved.store(true, Ordering::SeqCst);
    Ok(())
}

/// A process has ended by itself: its pane goes, with the last one its tab and workspace, and one event tells it.
fn ended(server: &Server, key: u64) {
    let mut house = server.house();
    let found = house.panes.iter().find(|(_, pane)| pane.key == key).map(|(id, _)| id.clone());
    // One that was closed is not there any more.
    let Some(id) = found else { return };
    let Some((workspace, tab)) = house.take_out(&id) else { return };
    house.panes.remove(&id);
    tell(server, "pane_exited", json!({"pane_id": id, "workspace_id": ids::workspace(workspace)}));
    if let Ok(place) = house.tab(&ids::tab(workspace, tab)) {
        tell_layout(server, &house, place);
    }
}
