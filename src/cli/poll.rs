//! `fleetd poll`: what waits for you, oldest first. It collects nothing; `fleetd ack` does.
//! One request, however long it waits: it does not go round in a loop and remembers no cursor from call to call.

use clap::Args;

use super::exit::{Exit, Failure};
use super::look::mail;
use super::terminal::Terminal;
use super::wait::{Bound, WaitArg};
use crate::engine::requests::Mail;
use crate::fleet::ids::MessageId;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd poll
  fleetd poll --wait=5m --limit 10
  fleetd poll --after m17 --json";

/// The longest wait of one request; fleetd bounds it too.
const LONGEST: Span = Span::minutes(60);

/// What `poll` is told.
#[derive(Args, Debug)]
pub struct PollArgs {
    #[command(flatten)]
    wait: WaitArg,
    /// Only what came after this message
    #[arg(long, value_name = "MESSAGE")]
    after: Option<MessageId>,
    /// At most so many messages
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Show all lines of long texts
    #[arg(long)]
    whole: bool,
}

/// Shows what waits.
pub fn run(terminal: &Terminal, args: PollArgs) -> Result<Exit, Failure> {
    let client = terminal.client()?;
    let wait = match args.wait.bound() {
        None => Span(0),
        Some(Bound::End) => LONGEST,
        Some(Bound::Span(span)) => span.min(LONGEST),
    };
    let mut path = format!("/v1/poll?limit={}", args.limit);
    if wait > Span(0) {
        path += &format!("&wait={}ms", wait.0);
    }
    if let Some(after) = args.after {
        path += &format!("&after={after}");
    }
    let reply = client.get(&path, wait)?;
    let mailbox: Mail = reply.read()?;
    terminal.show(&reply, || Ok(mail::draw(&mailbox, args.whole, &terminal.out)))?;
    if mailbox.messages.is_empty() {
        terminal.talk("nothing waits for you");
    } else if !terminal.json {
        terminal.talk(&terminal.err.dim("collect them: fleetd ack MESSAGE..., or fleetd ack --all-shown"));
    }
    let is_over = mailbox.messages.is_empty() && wait > Span(0);
    Ok(if is_over { Exit::Pending } else { Exit::Ok })
}
