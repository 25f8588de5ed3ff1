//! `fleetd charter`: check, test and ask a directory without a daemon, by the daemon's own code; and ask the running
//! one about its charter.

mod new;
mod route;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::exit::{Exit, Failure};
use super::look::charter as look;
use super::terminal::Terminal;
use crate::charter::{self, CharterErrors, Sources};
use crate::config::{self, CharterSource, Surroundings};
use crate::fleet::difference::Difference;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd charter check
  fleetd charter test charters/default
  fleetd charter new charters/mine --template default
  fleetd charter watch charters/mine
  fleetd charter plan coder
  fleetd charter route --kind bulk 'Sort these names'
  fleetd charter route --file src/parser.rs 'Fix the comments'
  fleetd charter route --dir charters/default --kind bulk
  fleetd charter diff
  fleetd charter diff charters/default
  fleetd charter diff old new
  fleetd charter reload";

/// What can be done with a charter.
#[derive(Subcommand, Debug)]
pub enum CharterCommand {
    /// Check a charter as the daemon would at its load; needs no daemon
    Check(DirArg),
    /// Run the tests of a charter with scripted workers; needs no daemon
    Test(DirArg),
    /// Check a charter and run its tests at each save, until you end it; needs no daemon
    Watch(DirArg),
    /// Write a charter to begin with, and what editors and linters need beside it
    New(new::NewArgs),
    /// Show the launch plan of a profile: what would be started, and how it is read; needs no daemon
    Plan(PlanArgs),
    /// Ask where a task would go, and why; nothing is sent
    Route(route::RouteArgs),
    /// Say in words what a save would change: what lies in the daemon's directory, or in DIR, against what is in force
    Diff(DiffArgs),
    /// Read the charter anew now, instead of when its files change
    Reload,
    /// Show the charter in force: its generation, its files, why the newest ones were not taken
    Status,
}

/// The charter's directory.
#[derive(Args, Debug)]
pub struct DirArg {
    /// The directory of the charter [default: the one that `fleetd serve` would take here]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What `charter plan` is told.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// The profile
    #[arg(value_name = "PROFILE")]
    profile: String,
    #[command(flatten)]
    dir: DirArg,
}

/// What `charter diff` is told.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// A directory, held against the charter in force; two directories: the second against the first, without a daemon
    #[arg(value_name = "DIR", num_args = 0..=2)]
    dirs: Vec<PathBuf>,
}

/// Does something with a charter.
pub fn run(terminal: &Terminal, command: CharterCommand) -> Result<Exit, Failure> {
    match command {
        CharterCommand::Check(arg) => check(terminal, &arg.dir()?),
        CharterCommand::Test(arg) => test(terminal, &arg.dir()?),
        CharterCommand::Watch(arg) => watch::run(terminal, &arg.dir()?),
        CharterCommand::New(args) => new::run(terminal, args),
        CharterCommand::Plan(args) => plan(terminal, args),
        CharterCommand::Route(args) => route::run(terminal, args),
        CharterCommand::Diff(args) => diff(terminal, &args.dirs),
        CharterCommand::Reload => {
            let reply = terminal.client()?.post("/v1/charter/reload", &json!({}), Span::seconds(30))?;
            terminal.show(&reply, || Ok(look::status(&reply.read()?, &terminal.out)))?;
            Ok(Exit::Ok)
        }
        CharterCommand::Status => {
            let reply = terminal.client()?.get("/v1/charter", Span(0))?;
            terminal.show(&reply, || Ok(look::status(&reply.read()?, &terminal.out)))?;
            Ok(Exit::Ok)
        }
    }
}

impl DirArg {
    fn dir(self) -> Result<PathBuf, Failure> {
        if let Some(dir) = self.dir {
            return Ok(dir);
        }
        match config::load(&config::Args::default(), &Surroundings::of_process()?)?.charter {
            CharterSource::Dir(dir) => Ok(dir),
            CharterSource::Embedded => Err(Failure::Other {
                message: "there is no charter here: neither fleetd.toml nor charters/default".into(),
                hints: vec!["name its directory, or make one: fleetd init".into()],
            }),
        }
    }
}

fn check(terminal: &Terminal, dir: &Path) -> Result<Exit, Failure> {
    let report = charter::check(dir);
    match terminal.json {
        true => terminal.print_json(&report)?,
        false => terminal.print(&look::report(&report, dir, &terminal.out))?,
    }
    if report.ok && !terminal.json {
        unlisted(dir).iter().for_each(|note| terminal.talk(note));
    }
    Ok(if report.ok { Exit::Ok } else { Exit::Failed })
}

/// Says which endpoints of a good charter the fleetd.toml that counts here does not list: a charter does not know it, and
/// may be meant for another one.
fn unlisted(dir: &Path) -> Vec<String> {
    let config = Surroundings::of_process().map(|around| config::load(&config::Args::default(), &around));
    let Ok(Ok(config)) = config else { return Vec::new() };
    let Ok(team) = Sources::read(dir).and_then(charter::team_of) else { return Vec::new() };
    let is_listed = |name: &str| config.endpoints.keys().any(|known| *known.0 == *name);
    let named = team.profiles.values().filter_map(|profile| Some((&profile.name, profile.endpoint.as_deref()?)));
    let lost = named.filter(|(_, endpoint)| !is_listed(endpoint));
    lost.map(|(profile, endpoint)| {
        format!("note: profile '{profile}' names the endpoint '{endpoint}', which no fleetd.toml here lists")
    })
    .collect()
}

fn test(terminal: &Terminal, dir: &Path) -> Result<Exit, Failure> {
    let report = charter::test(dir).map_err(|errors| broken(dir, &errors))?;
    match terminal.json {
        true => terminal.print_json(&report)?,
        false => {
            terminal.print(&look::tests(&report, dir, &terminal.out))?;
            let failed = report.tests.iter().filter(|test| !test.passed).count();
            terminal.talk(&format!("{} passed, {failed} failed", report.tests.len() - failed));
        }
    }
    Ok(if report.passed() { Exit::Ok } else { Exit::Failed })
}

fn plan(terminal: &Terminal, args: PlanArgs) -> Result<Exit, Failure> {
    let dir = args.dir.dir()?;
    let sources = Sources::read(&dir).map_err(|errors| broken(&dir, &errors))?;
    let plan = charter::plan_of(sources, &args.profile).map_err(|errors| broken(&dir, &errors))?;
    // It is JSON for people as well: they look for one field in it.
    match terminal.json {
        true => terminal.print_json(&plan)?,
        false => terminal.print(&format!("{:#}", serde_json::to_value(&plan).unwrap_or_default()))?,
    }
    Ok(Exit::Ok)
}

fn diff(terminal: &Terminal, dirs: &[PathBuf]) -> Result<Exit, Failure> {
    let difference: Difference = match dirs {
        [] => {
            let reply = terminal.client()?.get("/v1/charter?diff=true", Span(0))?;
            let status: look::Status = reply.read()?;
            status.difference.unwrap_or_default()
        }
        [dir] => {
            let sources = Sources::read(dir).map_err(|errors| broken(dir, &errors))?;
            let files: BTreeMap<&str, &str> = sources.iter().collect();
            terminal.client()?.post("/v1/charter/diff", &json!({ "files": files }), Span::seconds(30))?.read()?
        }
        [old, new, ..] => charter::of_dirs(old, new).map_err(|errors| broken(old, &errors))?,
    };
    match terminal.json {
        true => terminal.print_json(&difference)?,
        false => terminal.print(&look::difference(&difference, &terminal.out))?,
    }
    Ok(if difference.error.is_none() { Exit::Ok } else { Exit::Failed })
}

fn broken(dir: &Path, errors: &CharterErrors) -> Failure {
    let message = errors.0.iter().map(|error| look::mistake(error, dir)).collect::<Vec<_>>().join("\n");
    Failure::Other { message, hints: Vec::new() }
}
