//! `fleetd pause` and `fleetd resume`: nothing is handed to any worker, or again.
//! What waits meanwhile is shown by `status`.

use super::client::Reply;
use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use crate::engine::requests::PauseView;
use crate::fleet::time::Span;

pub const PAUSE_HELP: &str = "\
What runs goes on, and what is sent waits. It stays so over a restart, until fleetd resume.";

/// Hands out nothing from now on.
pub fn pause(terminal: &Terminal) -> Result<Exit, Failure> {
    show(terminal, &terminal.client()?.post("/v1/pause", &serde_json::json!({}), Span(0))?)
}

/// Hands out again.
pub fn resume(terminal: &Terminal) -> Result<Exit, Failure> {
    show(terminal, &terminal.client()?.post("/v1/resume", &serde_json::json!({}), Span(0))?)
}

fn show(terminal: &Terminal, reply: &Reply) -> Result<Exit, Failure> {
    terminal.show(reply, || Ok(line(&reply.read()?)))?;
    Ok(Exit::Ok)
}

fn line(pause: &PauseView) -> String {
    match (&pause.by, pause.age_ms) {
        (Some(by), Some(ms)) => {
            format!("paused by the {by}, for {}: nothing is handed out before fleetd resume", Span(ms))
        }
        _ => "not paused: what waits is handed out".into(),
    }
}
