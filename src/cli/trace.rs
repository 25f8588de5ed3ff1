//! `fleetd trace`: what happened to a turn, and when.
//! The marks and reasons are recorded by the daemon as it goes; none of them is guessed from here.

use clap::Args;

use super::exit::{Exit, Failure};
use super::look::timeline;
use super::send::await_turn;
use super::terminal::Terminal;
use super::wait::WaitArg;
use crate::fleet::ids::TurnId;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd trace t17
  fleetd trace t17 --wait         wait for its reply, as `send` does";

/// What `trace` is told.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// The turn
    #[arg(value_name = "TURN")]
    turn: TurnId,
    #[command(flatten)]
    wait: WaitArg,
}

/// Shows the receipt of a turn as a time line.
pub fn run(terminal: &Terminal, args: TraceArgs) -> Result<Exit, Failure> {
    let mut client = terminal.client()?;
    if let Some(bound) = args.wait.bound() {
        return await_turn(terminal, &mut client, args.turn, bound, false);
    }
    let reply = client.get(&format!("/v1/turns/{}", args.turn), Span(0))?;
    terminal.show(&reply, || Ok(timeline::draw(&reply.read()?, &terminal.out)))?;
    Ok(Exit::Ok)
}
