//! `fleetd serve`: the daemon itself, in the foreground.

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use super::terminal::Terminal;

pub const EXAMPLES: &str = "\
Examples:
  fleetd serve
  fleetd serve --charter charters/default --listen 127.0.0.1:0
  fleetd serve --config fleetd.toml --state /var/lib/fleetd";

/// What `serve` is told.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The configuration [default: ./fleetd.toml, else $XDG_CONFIG_HOME/fleetd/fleetd.toml, else built in]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The directory of the charter, instead of the configured one
    #[arg(long, value_name = "DIR")]
    pub charter: Option<PathBuf>,
    /// Where to listen, instead of the configured address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<std::net::SocketAddr>,
}

/// Runs the daemon until it is told to end.
pub fn run(_terminal: &Terminal, _args: ServeArgs) -> Result<Exit, Failure> {
    Err(Failure::Other { message: "the daemon is not linked in yet".into(), hints: Vec::new() })
}
