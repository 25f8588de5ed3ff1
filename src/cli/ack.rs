//! `fleetd ack`: messages are collected and leave the mailbox.
//! A question stays open although its message was collected; `fleetd reply` is what answers it.

use clap::Args;
use serde_json::json;

use super::client::{Client, Reply};
use super::exit::{Exit, Failure};
use super::terminal::Terminal;
use crate::engine::requests::{Acked, Mail};
use crate::fleet::ids::MessageId;
use crate::fleet::time::Span;

pub const EXAMPLES: &str = "\
Examples:
  fleetd ack m17 m18
  fleetd ack --all-shown";

/// How many messages are read and collected at once.
const BATCH: usize = 500;

/// What `ack` is told.
#[derive(Args, Debug)]
pub struct AckArgs {
    /// The messages, as `fleetd poll` shows them
    #[arg(value_name = "MESSAGE", required_unless_present = "all_shown")]
    messages: Vec<MessageId>,
    /// All messages that were given to somebody before, by a poll or as the answer of a wait; questions that are open stay
    #[arg(long, conflicts_with = "messages")]
    all_shown: bool,
}

/// Collects messages.
pub fn run(terminal: &Terminal, args: AckArgs) -> Result<Exit, Failure> {
    let client = terminal.client()?;
    let messages = if args.all_shown { shown(&client)? } else { args.messages };
    let mut all = Acked { acked: Vec::new(), unknown: Vec::new() };
    for batch in messages.chunks(BATCH) {
        let acked: Acked = collect(&client, batch)?.read()?;
        all.acked.extend(acked.acked);
        all.unknown.extend(acked.unknown);
    }
    let list = |ids: &[MessageId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    match terminal.json {
        true => terminal.print_json(&all)?,
        false if all.acked.is_empty() => terminal.talk("nothing was collected"),
        false => terminal.print(&list(&all.acked))?,
    }
    if !all.unknown.is_empty() {
        let what = "nothing waits under these (collected before, or never there):";
        terminal.talk(&format!("{what} {}", list(&all.unknown)));
    }
    Ok(Exit::Ok)
}

/// Collects some messages.
pub fn collect(client: &Client, messages: &[MessageId]) -> Result<Reply, Failure> {
    client.post("/v1/ack", &json!({ "messages": messages }), Span(0))
}

fn shown(client: &Client) -> Result<Vec<MessageId>, Failure> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let mail: Mail = client.get(&format!("/v1/poll?limit={BATCH}{after}"), Span(0))?.read()?;
        found.extend(mail.messages.iter().filter(|m| m.shown && m.question.is_none()).map(|m| m.message));
        match mail.cursor.filter(|_| mail.more) {
            Some(cursor) => after = format!("&after={cursor}"),
            None => return Ok(found),
        }
    }
}
