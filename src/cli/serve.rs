//! `fleetd serve`: the daemon itself, in the foreground. It says on standard output where it listens and with which
//! charter; its log goes to standard error.

pub(super) mod log;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::look::{Look, count, safe};
use super::terminal::Terminal;
use crate::config::{self, Surroundings};
use crate::daemon::{self, Opened};

pub const EXAMPLES: &str = "\
Examples:
  fleetd serve
  fleetd serve --charter charters/default --listen 127.0.0.1:0
  fleetd serve --config fleetd.toml --state /var/lib/fleetd

FLEETD_LOG says how much is logged: error, warn, info (default), debug.";

/// What `serve` is told.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The configuration [default: ./fleetd.toml, else $XDG_CONFIG_HOME/fleetd/fleetd.toml, else built in]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory of the charter, instead of the configured one
    #[arg(long, value_name = "DIR")]
    charter: Option<PathBuf>,
    /// Where to listen, instead of the configured address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

/// Runs the daemon until it is told to end.
pub fn run(terminal: &Terminal, args: ServeArgs) -> Result<Exit, Failure> {
    if terminal.token_file.is_some() {
        let says = "--token-file is for commands that ask a daemon; serve takes token_file of fleetd.toml";
        return Err(Failure::Usage(says.into()));
    }
    let args =
        config::Args { config: args.config, charter: args.charter, state: terminal.state.clone(), listen: args.listen };
    let config = config::load(&args, &Surroundings::of_process()?)?;
    let level = std::env::var("FLEETD_LOG").unwrap_or_else(|_| "info".into());
    log::start(&level, terminal.err.colour)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot start the threads of the daemon", error))?;
    // A closed output is no reason to end: the daemon works for those who connect to it.
    let opened = |opened: &Opened| drop(terminal.print(&banner(terminal, opened)));
    match runtime.block_on(daemon::serve(config.into(), opened)) {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => Err(Failure::Other { hints: error.hint().into_iter().collect(), message: error.to_string() }),
    }
}

/// Draws what is known once the doors are open. Whoever waits for the start waits for "listens on", so it comes last.
fn banner(terminal: &Terminal, opened: &Opened) -> String {
    let Opened { listen, charter, degraded, adopted, resumed, reaped } = opened;
    if terminal.json {
        let told = json!({
            "listen": listen.to_string(), "charter": charter, "degraded": degraded, "adopted": adopted, "resumed": resumed, "reaped": reaped,
        });
        return told.to_string();
    }
    let look = &terminal.out;
    let hash: String = charter.generation.hash.chars().take(12).collect();
    let mut lines = vec![match charter.generation.number {
        0 => format!("charter: none is in force; read from {}", charter.dir),
        n => format!("charter: {}, generation {n} ({hash})", charter.dir),
    }];
    if charter.last_good {
        lines.push("charter: what is in force is the last good copy, not what lies in the directory".into());
    }
    if *reaped > 0 {
        lines.push(format!("stopped, as on_restart says: {} of the last fleetd", count(*reaped, "session")));
    }
    if *adopted + *resumed > 0 {
        lines.push(format!("goes on: {} under way, {}", count(*adopted, "turn"), count(*resumed, "run")));
    }
    lines.extend(degraded.iter().map(|why| degraded_line(why, look)));
    lines.push(format!("fleetd {} listens on http://{listen}", env!("CARGO_PKG_VERSION")));
    lines.join("\n")
}

fn degraded_line(why: &str, look: &Look) -> String {
    format!("{}: {}", look.state("degraded"), safe(why).replace('\n', "\n  "))
}
