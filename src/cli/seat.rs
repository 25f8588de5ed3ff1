//! `fleetd seat`: who is the leader, and freeing the seat when a session holds it that should not.
//! The seat is never taken here: only a leader's own session does that, by its first call that needs it.

use clap::Subcommand;

use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use crate::engine::requests::SeatView;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd seat show
  fleetd seat release     the next session that asks becomes the leader";

/// What `seat` is told.
#[derive(Subcommand, Debug)]
pub enum SeatCommand {
    /// Show who sits in the leader's seat, and since when
    Show,
    /// Free the seat; what waits for the leader waits for the next one
    Release,
}

/// Shows or frees the seat.
pub fn run(terminal: &Terminal, command: SeatCommand) -> Result<Exit, Failure> {
    let client = terminal.client()?;
    let reply = match command {
        SeatCommand::Show => client.get("/v1/seat", Span(0))?,
        SeatCommand::Release => client.post("/v1/seat/release", &serde_json::json!({}), Span(0))?,
    };
    terminal.show(&reply, || Ok(line(&reply.read()?)))?;
    Ok(Exit::Ok)
}

/// Says who sits there, and whether the leader is told what waits.
pub fn line(seat: &SeatView) -> String {
    match (&seat.by, seat.age_ms) {
        (Some(by), Some(ms)) => {
            let told = seat.told.map(|times| format!("; it was told in its pane {times} times that something waits"));
            let not_told = seat.not_told.as_ref().map(|why| format!("; it is not told that something waits: {why}"));
            let more: String = told.into_iter().chain(not_told).collect();
            format!("{by} is the leader, for {}{more}", Span(ms))
        }
        _ => "the seat is free: the first session that calls a leader's tool becomes the leader".into(),
    }
}
