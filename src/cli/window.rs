//! The pane of a worker, found at the pane server of the state directory, for the commands that show it.
//! They ask no daemon, so they work without one; it is only asked why there is no pane where one was expected.

use serde::Deserialize;

use super::exit::Failure;
use super::terminal::Terminal;
use crate::config::Surroundings;
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Span;
use crate::pane::talk::{Talk, TalkError};
use crate::pane::wire::{Ask, Done, Shown};

/// As much of the roster as tells why a worker has no pane here.
#[derive(Deserialize)]
struct Roster {
    workers: Vec<Worker>,
}

#[derive(Deserialize)]
struct Worker {
    name: String,
    launcher: String,
    has_screen: bool,
}

/// Connects to the pane server and finds the worker's pane: the living one, or the one that died last.
pub fn find(terminal: &Terminal, worker: &str) -> Result<(Talk, Shown), Failure> {
    let fleet = std::env::var_os("FLEET_STATE").map(std::path::PathBuf::from);
    let state = Surroundings::of_process()?.state_dir(terminal.state.as_deref().or(fleet.as_deref()))?;
    let mut talk = match Talk::open(&state) {
        Ok(talk) => talk,
        Err(TalkError::Nobody) => return Err(elsewhere(terminal, worker).unwrap_or(Failure::NoPanes(state))),
        Err(error) => return Err(failure(error)),
    };
    let Done::Panes(panes) = talk.ask(Ask::Panes).map_err(failure)? else { return Err(other_answer()) };
    let of_worker = panes.iter().filter(|shown| shown.worker == worker);
    // Later panes have greater numbers, and come later.
    if let Some(shown) = of_worker.max_by_key(|shown| (shown.died.is_none(), order(&shown.pane.id))).cloned() {
        return Ok((talk, shown));
    }
    if let Some(failure) = elsewhere(terminal, worker) {
        return Err(failure);
    }
    let living = panes.iter().filter(|shown| shown.died.is_none()).map(|shown| shown.worker.as_str());
    let refusal = Refusal::unknown("worker with a pane", worker, living);
    let json = serde_json::to_string(&refusal).unwrap_or_default();
    Err(Failure::Refused { refusal, json })
}

/// Returns the failure to tell of a talk that went wrong.
pub fn failure(error: TalkError) -> Failure {
    let hints = match &error {
        TalkError::Stranger(_) => {
            vec!["it may be of another version: `fleetd panes` of that version started it".into()]
        }
        _ => Vec::new(),
    };
    Failure::Other { message: error.to_string(), hints }
}

/// Returns the failure to tell of an answer that belongs to something else.
pub fn other_answer() -> Failure {
    failure(TalkError::Stranger("it gave another answer than the one that was asked for".into()))
}

/// Returns why a worker that the daemon knows has no pane here, if a daemon runs and knows it.
fn elsewhere(terminal: &Terminal, worker: &str) -> Option<Failure> {
    let roster: Roster = terminal.client().ok()?.get("/v1/list", Span(0)).ok()?.read().ok()?;
    let Worker { name, launcher, has_screen } = roster.workers.into_iter().find(|found| found.name == worker)?;
    let (message, hint) = match (launcher.as_str(), has_screen) {
        ("exec", _) => (
            format!("{name} has no pane: the launcher exec starts a plain command for each turn"),
            "what it prints is its reply: fleetd trace shows its turns".to_string(),
        ),
        (_, false) => (
            format!("{name} has no screen: the launcher {launcher} speaks with it by lines of JSON"),
            "what it is at: fleetd status NAME; how its turns went: fleetd trace TURN".to_string(),
        ),
        _ => (
            format!("{name} has no pane at this pane server: it is starting, or its pane is at another host"),
            "what is at another host, such as herdr, is shown by that host".to_string(),
        ),
    };
    Some(Failure::Other { message, hints: vec![hint] })
}

fn order(id: &str) -> u64 {
    id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
