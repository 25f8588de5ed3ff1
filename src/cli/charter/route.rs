//! `fleetd charter route`: where a message would go, which rubrics were asked and what each of them said. The running
//! daemon is asked, or a directory by the daemon's own code; nothing is sent either way.

use std::path::PathBuf;

use clap::Args;

use super::broken;
use crate::charter;
use crate::cli::exit::{Exit, Failure};
use crate::cli::look::charter as look;
use crate::cli::terminal::Terminal;
use crate::cli::text;
use crate::engine::requests::RouteRequest;
use crate::fleet::routing::{Task, check_files};
use crate::fleet::time::Span;
use crate::fleet::turn::Priority;

/// What `charter route` is told.
#[derive(Args, Debug)]
pub struct RouteArgs {
    /// What the worker would be asked to do; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// A free word for the rubrics
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
    /// A file that it is about, for the rubrics; it is not read (may be repeated)
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// As if it should go before everything that waits
    #[arg(long)]
    urgent: bool,
    /// Ask the charter in this directory, as if all its roles were free, instead of the daemon
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Asks where a task would go.
pub fn run(terminal: &Terminal, args: RouteArgs) -> Result<Exit, Failure> {
    let prompt = text::of_words(&args.prompt, "prompt")?;
    let Some(dir) = args.dir else {
        let priority = if args.urgent { Priority::Now } else { Priority::Normal };
        let request = RouteRequest { prompt, kind: args.kind, files: args.files, priority };
        let reply = terminal.client()?.post("/v1/route", &request, Span(0))?;
        terminal.show(&reply, || Ok(look::routed(&reply.read()?, &terminal.out)))?;
        return Ok(Exit::Ok);
    };
    let refused = |refusal| {
        let json = serde_json::to_string(&refusal).unwrap_or_default();
        Failure::Refused { refusal, json }
    };
    check_files(&args.files).map_err(refused)?;
    let (from, now) = ("operator".into(), terminal.now());
    let task = Task { prompt, kind: args.kind, files: args.files, from, urgent: args.urgent, now };
    let routed = charter::route(&dir, &task).map_err(|errors| broken(&dir, &errors))?.map_err(refused)?;
    match terminal.json {
        true => terminal.print_json(&routed)?,
        false => terminal.print(&look::routed(&routed, &terminal.out))?,
    }
    Ok(Exit::Ok)
}
