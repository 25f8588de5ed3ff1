//! `fleetd spawn` and `fleetd stop`: a worker is started, drained or killed.
//! Nothing is polled: the daemon answers the one request when the worker is up, is gone, or could not come up.

use clap::Args;
use serde_json::json;

use super::client::Reply;
use super::exit::{Exit, Failure};
use super::look::roster;
use super::terminal::Terminal;
use crate::engine::requests::SpawnRequest;
use crate::fleet::time::Span;

pub const SPAWN_EXAMPLES: &str = "\
Examples:
  fleetd spawn w-local
  fleetd spawn w-local --profile upper";

pub const STOP_EXAMPLES: &str = "\
Examples:
  fleetd stop w-local-2           after its present turn
  fleetd stop w-local-2 --kill    at once; its turn is lost";

/// How long a worker may take to come up or to end its turn before the command gives up.
const COMING_UP: Span = Span::minutes(10);

/// What `spawn` is told.
#[derive(Args, Debug)]
pub struct SpawnArgs {
    /// Its role
    role: String,
    /// One of the role's profiles; its first one if not given
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Idempotency key: spawned twice with the same key, it is one worker
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// What `stop` is told.
#[derive(Args, Debug)]
pub struct StopArgs {
    /// The worker
    worker: String,
    /// Do not wait for its present turn
    #[arg(long)]
    kill: bool,
}

/// Starts a worker.
pub fn spawn(terminal: &Terminal, args: SpawnArgs) -> Result<Exit, Failure> {
    let request = SpawnRequest { role: args.role, profile: args.profile, key: args.key.map(Into::into) };
    show(terminal, &terminal.client()?.post("/v1/spawn", &request, COMING_UP)?)
}

/// Stops a worker.
pub fn stop(terminal: &Terminal, args: StopArgs) -> Result<Exit, Failure> {
    let request = json!({ "worker": args.worker, "kill": args.kill });
    show(terminal, &terminal.client()?.post("/v1/stop", &request, COMING_UP)?)
}

fn show(terminal: &Terminal, reply: &Reply) -> Result<Exit, Failure> {
    terminal.show(reply, || Ok(roster::worker_line(&reply.read()?, &terminal.out)))?;
    Ok(Exit::Ok)
}
