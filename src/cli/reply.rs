//! `fleetd reply`: the answer to a question of a worker or a run.
//! Which question of a turn is the open one is for the daemon to find, so that two people cannot disagree about it.

use clap::Args;

use super::exit::{Exit, Failure};
use super::id::QuestionOrTurn;
use super::terminal::Terminal;
use super::text;
use crate::engine::requests::ReplyRequest;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd reply q5 'Merge them'
  fleetd reply t17 'Yes'          the one open question of turn t17
  fleetd reply q5 - < answer.txt";

/// What `reply` is told.
#[derive(Args, Debug)]
pub struct ReplyArgs {
    /// The question (q5), or a turn (t17) with exactly one open question
    #[arg(value_name = "QUESTION|TURN")]
    to: QuestionOrTurn,
    /// The answer; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
}

/// Answers.
pub fn run(terminal: &Terminal, args: ReplyArgs) -> Result<Exit, Failure> {
    let (question, turn) = match args.to {
        QuestionOrTurn::Question(id) => (Some(id), None),
        QuestionOrTurn::Turn(id) => (None, Some(id)),
    };
    let request = ReplyRequest { question, turn, text: text::of_words(&args.text, "answer")? };
    let reply = terminal.client()?.post("/v1/reply", &request, Span(0))?;
    match terminal.json {
        true => terminal.print(&reply.body)?,
        false => terminal.talk("answered"),
    }
    Ok(Exit::Ok)
}
