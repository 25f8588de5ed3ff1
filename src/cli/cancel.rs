//! `fleetd cancel`: a queued turn is withdrawn, a running one interrupted, a run ended with all its open turns.
//! What can still be cancelled the daemon knows; only the letter of the id tells here which of the two is meant.

use clap::Args;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::id::TurnOrRun;
use super::look::{answer, run};
use super::terminal::Terminal;
use crate::engine::requests::RunResult;
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::RunId;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::run::RunOutcome;
use crate::fleet::time::Span;
use crate::fleet::turn::Outcome;

pub const EXAMPLES: &str = "\
Examples:
  fleetd cancel t17
  fleetd cancel r3";

/// What `cancel` is told.
#[derive(Args, Debug)]
pub struct CancelArgs {
    /// The turn (t17) or the run (r3)
    #[arg(value_name = "TURN|RUN")]
    what: TurnOrRun,
}

/// Cancels a turn or a run.
pub fn run(terminal: &Terminal, args: CancelArgs) -> Result<Exit, Failure> {
    match args.what {
        TurnOrRun::Run(id) => run_of(terminal, id),
        TurnOrRun::Turn(id) => {
            let reply = terminal.client()?.post("/v1/cancel", &json!({ "turn": id }), Span(0));
            let reply =
                reply.map_err(|failure| ended_or_unknown(failure, "fleetd status", &format!("fleetd trace {id}")))?;
            let draw = || {
                let envelope: Envelope = reply.read()?;
                let ended = answer::ended(&envelope, &terminal.out);
                Ok(match envelope.outcome {
                    Outcome::Cancelled => format!("{id} {ended}"),
                    _ => format!("{id} had ended before, nothing is cancelled: {ended}"),
                })
            };
            terminal.show(&reply, draw)?;
            Ok(Exit::Ok)
        }
    }
}

/// Cancels a run.
pub fn run_of(terminal: &Terminal, id: RunId) -> Result<Exit, Failure> {
    let reply = terminal.client()?.post("/v1/cancel", &json!({ "run": id }), Span(0));
    let reply =
        reply.map_err(|failure| ended_or_unknown(failure, "fleetd run list", &format!("fleetd run show {id}")))?;
    let draw = || {
        let run = reply.read::<RunResult>()?.run;
        let line = run::line(&run, None, &terminal.out);
        Ok(match run.outcome {
            None | Some(RunOutcome::Cancelled) => line,
            Some(_) => format!("{id} had ended before, nothing is cancelled: {line}"),
        })
    };
    terminal.show(&reply, draw)?;
    Ok(Exit::Ok)
}

/// Adds where to look for what is not there, or has ended.
fn ended_or_unknown(failure: Failure, list: &str, show: &str) -> Failure {
    let failure = failure.or_hint(RefusalKind::Unknown, &format!("what there is: {list}"));
    failure.or_hint(RefusalKind::Conflict, &format!("how it ended, and when: {show}"))
}
