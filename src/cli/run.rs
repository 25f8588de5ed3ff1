//! `fleetd run`: recipes are started, listed, shown and cancelled; `fleetd recipes` lists what can be started.
//! The job goes out as the author's JSON; whether it fits the recipe's input is checked by the charter, not here.

use std::collections::HashMap;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::exit::{Exit, Failure, shown};
use super::look::{Look, answer, run as look, steps};
use super::terminal::Terminal;
use super::wait::{Bound, Progress, Wait, WaitArg, wait};
use super::{cancel, text};
use crate::engine::requests::{
    Pending, Replayed, ReplayedTo, ResumeRequest, RunDetail, RunRequest, RunResult, WhichCharter,
};
use crate::fleet::ids::RunId;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::run::{Run, RunOutcome};
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd recipes
  fleetd run start bug-hunt --job '{\"parts\": [\"src/a.rs\", \"src/b.rs\"]}' --wait
  fleetd run start bug-hunt --job @job.json
  fleetd run show r3 --wait=10m
  fleetd run replay r3 --explain --current
  fleetd run resume r3
  fleetd run cancel r3";

/// How many of a run's last steps are looked at for runs below it.
const MOST_BELOW: usize = 40;

/// What can be done with runs.
#[derive(Subcommand, Debug)]
pub enum RunCommand {
    /// Start a recipe
    Start(StartArgs),
    /// List the newest runs
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show a run with its steps, its questions and its value
    Show {
        /// The run
        #[arg(value_name = "RUN")]
        run: RunId,
        #[command(flatten)]
        wait: WaitArg,
    },
    /// Let a run go on that failed, with the charter in force: what is finished is not done again
    Resume {
        /// The run
        #[arg(value_name = "RUN")]
        run: RunId,
        /// With the charter that it began with
        #[arg(long)]
        as_begun: bool,
        #[command(flatten)]
        wait: WaitArg,
    },
    /// Go through a run's journal without doing anything, and say where it stops
    Replay {
        /// The run
        #[arg(value_name = "RUN")]
        run: RunId,
        /// Show each step, and where its answer comes from
        #[arg(long)]
        explain: bool,
        /// By the charter in force, to see whether the run could be resumed with it
        #[arg(long)]
        current: bool,
    },
    /// End a run; its open turns are cancelled
    Cancel {
        /// The run
        #[arg(value_name = "RUN")]
        run: RunId,
    },
}

/// What `run start` is told.
#[derive(Args, Debug)]
pub struct StartArgs {
    /// The recipe
    recipe: String,
    /// Its job as JSON; `@FILE` reads it from a file, `-` from standard input
    #[arg(long, value_name = "JSON")]
    job: Option<String>,
    #[command(flatten)]
    wait: WaitArg,
    /// Shorter than the recipe's own, such as 10m
    #[arg(long, value_name = "TIME", value_parser = Span::parse)]
    deadline: Option<Span>,
    /// Idempotency key: started twice with the same key and job, it is one run
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Does something with runs.
pub fn run(terminal: &Terminal, command: RunCommand) -> Result<Exit, Failure> {
    match command {
        RunCommand::Start(args) => start(terminal, args),
        RunCommand::List { limit } => list(terminal, limit),
        RunCommand::Show { run, wait } => show(terminal, run, wait.bound()),
        RunCommand::Resume { run, as_begun, wait } => resume(terminal, run, as_begun, wait.bound()),
        RunCommand::Replay { run, explain, current } => replay(terminal, run, explain, current),
        RunCommand::Cancel { run } => cancel::run_of(terminal, run),
    }
}

/// Lists the recipes of the charter in force.
pub fn recipes(terminal: &Terminal) -> Result<Exit, Failure> {
    let reply = terminal.client()?.get("/v1/recipes", Span(0))?;
    terminal.show(&reply, || Ok(look::recipes(&reply.read()?, &terminal.out)))?;
    Ok(Exit::Ok)
}

/// Returns the recipe that was named where a subcommand belongs: `fleetd run bug-hunt`.
pub fn meant_recipe(error: &clap::Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    words.windows(2).any(|pair| pair[0] == "run" && pair[1] == **word).then(|| word.clone())
}

fn start(terminal: &Terminal, args: StartArgs) -> Result<Exit, Failure> {
    let job = match &args.job {
        Some(word) => {
            let text = text::of_word(word, "job")?;
            serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("the job is not JSON: {error}")))?
        }
        None => Value::Null,
    };
    let request =
        RunRequest { recipe: args.recipe, job, deadline: args.deadline, wait: None, key: args.key.map(Into::into) };
    let mut client = terminal.client()?;
    let reply = client.post("/v1/run", &request, Span(0))?;
    let id = reply.read::<Run>()?.id;
    match args.wait.bound() {
        Some(bound) => await_run(terminal, &mut client, id, bound),
        None => {
            terminal.show(&reply, || Ok(id.to_string()))?;
            if !terminal.json {
                terminal.talk(&format!(
                    "{id} runs; see it with: fleetd run show {id}, wait for it: fleetd run show {id} --wait"
                ));
            }
            Ok(Exit::Ok)
        }
    }
}

fn list(terminal: &Terminal, limit: usize) -> Result<Exit, Failure> {
    #[derive(Deserialize)]
    struct Runs {
        runs: Vec<Run>,
    }
    let reply = terminal.client()?.get(&format!("/v1/runs?limit={limit}"), Span(0))?;
    let draw = || {
        let Runs { runs } = reply.read()?;
        Ok(look::list(&runs, terminal.now(), &terminal.out))
    };
    terminal.show(&reply, draw)?;
    Ok(Exit::Ok)
}

fn show(terminal: &Terminal, id: RunId, bound: Option<Bound>) -> Result<Exit, Failure> {
    let mut client = terminal.client()?;
    if let Some(bound) = bound {
        return await_run(terminal, &mut client, id, bound);
    }
    let reply = client.get(&format!("/v1/runs/{id}"), Span(0));
    let reply = reply.map_err(|failure| failure.or_hint(RefusalKind::Unknown, "list the runs: fleetd run list"))?;
    let detail: RunDetail = reply.read()?;
    let mut below = HashMap::new();
    if !terminal.json {
        all_below(&client, &detail, &mut below);
    }
    let draw = || {
        let mut out = look::detail(&detail, &below, terminal.now(), &terminal.out);
        if let Some(value) = look::value_of(&detail.result) {
            out = format!("{out}\n{value}");
        }
        Ok(out)
    };
    terminal.show(&reply, draw)?;
    Ok(Exit::Ok)
}

/// Asks for the runs that the last steps of a run began, and for those below them.
fn all_below(client: &Client, detail: &RunDetail, below: &mut HashMap<RunId, RunDetail>) {
    for child in detail.steps.iter().rev().take(MOST_BELOW).filter_map(|step| step.child) {
        // One that cannot be shown leaves its step as it is.
        let shown = client.get(&format!("/v1/runs/{child}"), Span(0)).and_then(|reply| reply.read::<RunDetail>());
        if let Ok(shown) = shown {
            all_below(client, &shown, below);
            below.insert(child, shown);
        }
    }
}

fn resume(terminal: &Terminal, id: RunId, as_begun: bool, bound: Option<Bound>) -> Result<Exit, Failure> {
    let charter = if as_begun { WhichCharter::Begun } else { WhichCharter::Current };
    let mut client = terminal.client()?;
    let reply = client.post(&format!("/v1/runs/{id}/resume"), &ResumeRequest { charter }, Span(0));
    let reply = reply.map_err(|failure| failure.or_hint(RefusalKind::Unknown, "list the runs: fleetd run list"))?;
    if let Some(bound) = bound {
        return await_run(terminal, &mut client, id, bound);
    }
    terminal.show(&reply, || Ok(id.to_string()))?;
    if !terminal.json {
        terminal.talk(&format!(
            "{id} goes on; see it with: fleetd run show {id}, wait for it: fleetd run show {id} --wait"
        ));
    }
    Ok(Exit::Ok)
}

fn replay(terminal: &Terminal, id: RunId, explain: bool, current: bool) -> Result<Exit, Failure> {
    let charter = if current { "current" } else { "begun" };
    let reply = terminal.client()?.get(&format!("/v1/runs/{id}/replay?charter={charter}"), Span(0));
    let reply = reply.map_err(|failure| failure.or_hint(RefusalKind::Unknown, "list the runs: fleetd run list"))?;
    let replayed: Replayed = reply.read()?;
    terminal.show(&reply, || Ok(steps::replay(&replayed, explain, &terminal.out)))?;
    Ok(match replayed.to {
        ReplayedTo::Ended | ReplayedTo::Waits => Exit::Ok,
        ReplayedTo::Diverged | ReplayedTo::Failed => Exit::Failed,
    })
}

/// Waits for a run and prints its value.
fn await_run(terminal: &Terminal, client: &mut Client, id: RunId, bound: Bound) -> Result<Exit, Failure> {
    let goes_on = format!("{id} goes on; see it with: fleetd run show {id}; end it: fleetd cancel {id}");
    let progress = |client: &Client, _: &Look| {
        let run = client.get(&format!("/v1/runs/{id}"), Span(0)).ok()?.read::<RunDetail>().ok()?.result.run;
        let text = run.progress.unwrap_or_else(|| format!("{id} {}", run.recipe));
        Some(Progress { parts: Some((run.settled, run.sent)), text })
    };
    let path = format!("/v1/runs/{id}/wait");
    let reply = wait(terminal, client, &Wait { path, bound, goes_on, progress: &progress })?;
    if reply.is_open() {
        let open: Pending = reply.read()?;
        let printed = if terminal.json { terminal.print(&reply.body) } else { Ok(()) };
        terminal.talk(&answer::pending(&open, &terminal.err));
        return shown(printed, Exit::Pending);
    }
    let result: RunResult = reply.read()?;
    let printed = terminal.show(&reply, || Ok(look::value_of(&result).unwrap_or_default()));
    if !terminal.json {
        terminal.talk(&look::line(&result.run, None, &terminal.err));
    }
    shown(
        printed,
        match result.run.outcome {
            Some(RunOutcome::Done) => Exit::Ok,
            _ => Exit::Failed,
        },
    )
}
