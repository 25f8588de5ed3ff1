//! `fleetd charter`: check and test a directory without a daemon, and ask the running one about its charter.

use clap::{Args, Subcommand};
use serde_json::json;

use super::exit::{Exit, Failure};
use super::look::charter as look;
use super::terminal::Terminal;
use super::text;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd charter check
  fleetd charter test charters/default
  fleetd charter route --kind bulk 'Sort these names'
  fleetd charter reload";

/// What can be done with a charter.
#[derive(Subcommand, Debug)]
pub enum CharterCommand {
    /// Show the charter in force: its generation, its files, why the newest ones were not taken
    Status,
    /// Ask where a task would go, and why; nothing is sent
    Route(RouteArgs),
    /// Read the charter anew now, instead of when its files change
    Reload,
}

/// What `charter route` is told.
#[derive(Args, Debug)]
pub struct RouteArgs {
    /// What the worker would be asked to do; `-` reads it from standard input
    #[arg(required = true, value_name = "PROMPT")]
    prompt: Vec<String>,
    /// A free word for the rubrics
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
}

/// Does something with a charter.
pub fn run(terminal: &Terminal, command: CharterCommand) -> Result<Exit, Failure> {
    match command {
        CharterCommand::Status => {
            let reply = terminal.client()?.get("/v1/charter", Span(0))?;
            let status: look::Status = reply.read()?;
            terminal.show(&reply, || Ok(look::status(&status, &terminal.out)))?;
            Ok(Exit::Ok)
        }
        CharterCommand::Route(args) => {
            let prompt = text::of_words(&args.prompt, "prompt")?;
            let mut task = json!({ "prompt": prompt });
            if let Some(kind) = args.kind {
                task["kind"] = kind.into();
            }
            let reply = terminal.client()?.post("/v1/route", &task, Span(0))?;
            terminal.show(&reply, || Ok(look::routed(&reply.read()?, &terminal.out)))?;
            Ok(Exit::Ok)
        }
        CharterCommand::Reload => {
            let reply = terminal.client()?.post("/v1/charter/reload", &json!({}), Span::seconds(30))?;
            terminal.show(&reply, || Ok(look::status(&reply.read()?, &terminal.out)))?;
            Ok(Exit::Ok)
        }
    }
}
