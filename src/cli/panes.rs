//! `fleetd panes`: the pane server of a state directory, in the foreground. The daemon starts it when it wants a first
//! pane, and it stays when the daemon goes. How it works is `pane::server`'s matter.

use std::fs::OpenOptions;
use std::io;
use std::sync::Mutex;

use clap::Args;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::exit::{Exit, Failure};
use super::serve::log;
use super::terminal::Terminal;
use crate::config::Surroundings;
use crate::fleet::time::Span;
use crate::pane::server::{self, Bounded, HELD, Options, READY, ServerError};
use crate::pane::wire::LOG;

/// What `panes` is told.
#[derive(Args, Debug)]
pub struct PanesArgs {
    /// How long it stays when no pane and no client is left
    #[arg(long, value_name = "TIME", value_parser = Span::parse)]
    rest: Option<Span>,
}

/// Serves until it is told to end, or there is nothing left to serve.
pub fn run(terminal: &Terminal, args: PanesArgs) -> Result<Exit, Failure> {
    let state = Surroundings::of_process()?.state_dir(terminal.state.as_deref())?;
    let rest = args.rest.map_or(server::REST, Span::std);
    let server = match server::take(&Options { state: state.clone(), rest }) {
        Ok(server) => server,
        // Whoever wanted one has one.
        Err(ServerError::Held) => return terminal.print(HELD).map(|()| Exit::Ok),
        Err(error) => return Err(Failure::Other { message: error.to_string(), hints: Vec::new() }),
    };
    let file = state.join(LOG);
    let log =
        Bounded::open(file.clone()).map_err(|error| Failure::io(format!("cannot open {}", file.display()), error))?;
    log::start_to("info", false, Mutex::new(log))?;
    // Whoever started it may be gone by now; the server is there for others too.
    let _ = terminal.print(READY);
    leave_streams().map_err(|error| Failure::io("cannot leave the standard streams", error))?;
    server.run();
    Ok(Exit::Ok)
}

/// Lets the streams go on which it was started: their other ends may be closed long before it ends.
fn leave_streams() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}
