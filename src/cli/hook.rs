//! `fleetd hook`: what an agent's own hook runs, to report what it did. The report comes on standard input; what the
//! agent is told goes to standard output.
//!
//! An agent waits for its hooks, and one that fails is shown to its user: so nothing that goes wrong here is a failure.

use std::io::{self, Read, Write};
use std::time::Duration;

use ureq::Agent;

use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use crate::door::hook::{PATH, TOKEN};

/// How long the agent is kept waiting at most.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const LONGEST: u64 = 1 << 20;

/// Passes the report on.
pub fn run(terminal: &Terminal) -> Result<Exit, Failure> {
    let mut report = String::new();
    let read = io::stdin().read_to_string(&mut report);
    let url = terminal.client().map(|client| client.url().to_owned());
    if let (Ok(_), Ok(url)) = (read, url)
        && let Some(answer) = tell(&url, &report)
    {
        // Whoever asked is gone if this fails.
        let _ = io::stdout().write_all(answer.as_bytes());
    }
    Ok(Exit::Ok)
}

fn tell(url: &str, report: &str) -> Option<String> {
    let config = Agent::config_builder().proxy(None).max_redirects(0).timeout_global(Some(PATIENCE)).build();
    let token = std::env::var("FLEET_TOKEN").unwrap_or_default();
    let request = Agent::new_with_config(config).post(format!("{url}{PATH}")).header(TOKEN, token);
    let mut response = request.header("content-type", "application/json").send(report).ok()?;
    response.body_mut().with_config().limit(LONGEST).read_to_string().ok()
}
