//! `fleetd status` and `fleetd list`: the whole daemon, or only who is there.
//! What is degraded and why is told by the daemon; the tables themselves are drawn in `look::roster`.

use serde::Deserialize;

use super::exit::{Exit, Failure};
use super::look::{Look, roster, safe, wrap};
use super::terminal::Terminal;
use crate::fleet::time::Span;
use crate::fleet::view::Roster;

/// What `GET /v1/status` tells, as far as people are shown it.
#[derive(Debug, Deserialize)]
struct Status {
    #[serde(flatten)]
    roster: Roster,
    #[serde(default)]
    health: Health,
}

#[derive(Debug, Default, Deserialize)]
struct Health {
    #[serde(default)]
    degraded: Vec<String>,
    #[serde(default)]
    version: Option<String>,
}

/// Shows what runs, what waits, and what is degraded.
pub fn run(terminal: &Terminal) -> Result<Exit, Failure> {
    let client = terminal.client()?;
    let reply = client.get("/v1/status", Span(0))?;
    terminal.show(&reply, || Ok(draw(&reply.read()?, client.url(), &terminal.out)))?;
    Ok(Exit::Ok)
}

/// Shows roles and workers.
pub fn list(terminal: &Terminal) -> Result<Exit, Failure> {
    let reply = terminal.client()?.get("/v1/list", Span(0))?;
    terminal.show(&reply, || Ok(roster::draw(&reply.read()?, &terminal.out)))?;
    Ok(Exit::Ok)
}

fn draw(status: &Status, url: &str, look: &Look) -> String {
    let word = if status.health.degraded.is_empty() { "ready" } else { "degraded" };
    let mut out = vec![format!("fleetd is {} at {url}", look.state(word))];
    out.extend(status.health.degraded.iter().map(|why| wrap(&safe(why), look.width, "  why: ")));
    if let Some(pause) = &status.roster.paused {
        let says = format!(
            "paused by the {}, for {}: nothing is handed out before fleetd resume",
            pause.by,
            Span(pause.age_ms)
        );
        out.push(wrap(&says, look.width, "  "));
    }
    out.push(roster::summary(&status.roster, look));
    out.push(String::new());
    out.push(roster::draw(&status.roster, look));
    if let Some(turns) = roster::turns(&status.roster, look) {
        out.push(String::new());
        out.push(turns);
    }
    out.join("\n")
}

/// Prints the version of this program, and of the daemon if one runs.
pub fn version(terminal: &Terminal) -> Result<Exit, Failure> {
    let ours = env!("CARGO_PKG_VERSION");
    // Without a daemon there is nothing more to tell: this command asks for no daemon.
    let health = terminal.client().and_then(|client| client.get("/healthz", Span(0))?.read::<Health>());
    let daemon = health.ok().and_then(|health| health.version);
    match (terminal.json, &daemon) {
        (true, _) => terminal.print_json(&serde_json::json!({ "version": ours, "daemon": daemon }))?,
        (false, Some(daemon)) => terminal.print(&format!("fleetd {ours} (the daemon that runs is {daemon})"))?,
        (false, None) => terminal.print(&format!("fleetd {ours}"))?,
    }
    Ok(Exit::Ok)
}
