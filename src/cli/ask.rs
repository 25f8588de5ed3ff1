//! `fleetd ask`: a worker's script asks whoever sent its turn, and gets the answer on standard output.
//! Outside a worker there is nobody to ask for; the daemon says so.

use clap::Args;

use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use super::text;
use crate::engine::requests::{AskRequest, Asked};
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples, in a worker's script:
  branch=$(fleetd ask 'Which branch?')
  fleetd ask --wait 1h - < question.txt";

/// How long the question waits unless told otherwise.
const WAIT: Span = Span::minutes(10);

/// What `ask` is told.
#[derive(Args, Debug)]
pub struct AskArgs {
    /// The question; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// How long to wait for the answer [default: 10m]; asking the same again waits on
    #[arg(long, value_name = "TIME", value_parser = Span::parse)]
    wait: Option<Span>,
}

/// Asks, and prints the answer.
pub fn run(terminal: &Terminal, args: AskArgs) -> Result<Exit, Failure> {
    let wait = args.wait.unwrap_or(WAIT);
    let request = AskRequest { text: text::of_words(&args.text, "question")?, turn: None, wait: Some(wait) };
    let reply = terminal.client()?.post("/v1/ask", &request, wait)?;
    let asked: Asked = reply.read()?;
    if terminal.json {
        terminal.print(&reply.body)?;
    } else if let Some(answer) = &asked.answer {
        terminal.print(answer)?;
    }
    match asked.answer {
        Some(_) => Ok(Exit::Ok),
        None => {
            terminal.talk(&format!("{} is not answered yet; ask the same again to wait on", asked.question));
            Ok(Exit::Pending)
        }
    }
}
