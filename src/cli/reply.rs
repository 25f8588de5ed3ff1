//! `fleetd reply`: the answer to a question of a worker or a run; inside a worker, the reply to its turn.
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
  fleetd reply q5 - < answer.txt
  fleetd reply --own - < report.md   in a worker's script: the reply to its turn";

/// What `reply` is told.
#[derive(Args, Debug)]
pub struct ReplyArgs {
    /// Inside a worker: this is the reply to the worker's own turn, instead of what it prints
    #[arg(long)]
    own: bool,
    /// The question (q5), or a turn (t17) with exactly one open question; then the answer, where `-` reads it from
    /// standard input. With --own only the text
    #[arg(required = true, value_name = "QUESTION|TURN TEXT")]
    words: Vec<String>,
}

/// Answers.
pub fn run(terminal: &Terminal, args: ReplyArgs) -> Result<Exit, Failure> {
    let (to, words) = match (args.own, args.words.split_first()) {
        (true, _) => (None, args.words.as_slice()),
        (false, Some((to, words))) if !words.is_empty() => (Some(to.parse().map_err(Failure::Usage)?), words),
        (false, _) => return Err(Failure::Usage("the answer is missing: fleetd reply q5 'Merge them'".into())),
    };
    let (question, turn) = match to {
        Some(QuestionOrTurn::Question(id)) => (Some(id), None),
        Some(QuestionOrTurn::Turn(id)) => (None, Some(id)),
        None => (None, None),
    };
    let request = ReplyRequest { question, turn, text: text::of_words(words, "answer")? };
    let reply = terminal.client()?.post("/v1/reply", &request, Span(0))?;
    match terminal.json {
        true => terminal.print(&reply.body)?,
        false => terminal.talk(if args.own { "kept for the end of the turn" } else { "answered" }),
    }
    Ok(Exit::Ok)
}
