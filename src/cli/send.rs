//! `fleetd send`: a message to a worker, a role or the rubrics, and the reply. The text of the reply goes to standard
//! output as it is, everything about it to standard error.

use clap::{Args, ValueEnum};

use super::client::Client;
use super::exit::{Exit, Failure, shown};
use super::look::{Look, answer, safe};
use super::terminal::Terminal;
use super::text;
use super::wait::{Bound, Progress, Wait, WaitArg, wait};
use crate::engine::requests::{Pending, SendRequest, Trace};
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::TurnId;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::time::Span;
use crate::fleet::turn::Priority;
use crate::fleet::view::TurnView;

/// How long a send waits when nothing is said.
const WAIT: Span = Span::minutes(10);

pub const EXAMPLES: &str = "\
Examples:
  fleetd send w-local 'Count the words of README.md'
  git diff | fleetd send reviewer -
  fleetd send auto --kind bulk --no-wait 'Sort these names: …'
  fleetd send auto --file src/parser.rs 'Fix the comments of the parser'
  fleetd send w-local-2 --priority now --deadline 2m 'Stop and tell me where you are'";

/// What `send` is told.
#[derive(Args, Debug)]
pub struct SendArgs {
    /// A role, a worker, or `auto` for the rubrics
    to: String,
    /// What the worker is asked to do; `-` reads it from standard input
    #[arg(required = true, value_name = "PROMPT")]
    prompt: Vec<String>,
    #[command(flatten)]
    wait: WaitArg,
    /// Only put it in the queue; the reply waits in your mailbox (fleetd poll)
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
    /// A free word for the rubrics
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
    /// A file that it is about, for the rubrics, which know who had it last; it is not read (may be repeated)
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// From acceptance to settlement, such as 8m
    #[arg(long, value_name = "TIME", value_parser = Span::parse)]
    deadline: Option<Span>,
    /// Idempotency key: sent twice with the same key and body, it is one turn
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// `now` goes before everything that waits at the same address
    #[arg(long, value_enum, default_value_t)]
    priority: Rank,
    /// What the reply must be: a JSON Schema, a type such as `string[]` or a shape of the charter; `@FILE` reads it from a
    /// file
    #[arg(long, value_name = "SCHEMA")]
    schema: Option<String>,
    /// How often a reply that does not fit the schema is sent back to the worker; 2 unless told otherwise
    #[arg(long, value_name = "N", requires = "schema")]
    corrections: Option<u32>,
    /// Collect the reply once it is printed, so that it does not wait in your mailbox
    #[arg(long, conflicts_with = "no_wait")]
    ack: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Rank {
    #[default]
    Normal,
    Now,
}

/// Sends, and waits for the reply unless told otherwise.
pub fn run(terminal: &Terminal, args: SendArgs) -> Result<Exit, Failure> {
    let prompt = text::of_words(&args.prompt, "prompt")?;
    let is_empty = prompt.trim().is_empty();
    // What is no JSON is a type or a shape by its name.
    let schema = match &args.schema {
        Some(word) => {
            let text = text::of_word(word, "schema")?;
            Some(serde_json::from_str(&text).unwrap_or_else(|_| serde_json::Value::from(text.trim())))
        }
        None => None,
    };
    let request = SendRequest {
        to: Some(args.to),
        prompt,
        kind: args.kind,
        files: args.files,
        priority: match args.priority {
            Rank::Normal => Priority::Normal,
            Rank::Now => Priority::Now,
        },
        deadline: args.deadline,
        schema,
        corrections: args.corrections,
        key: args.key.map(Into::into),
        ..SendRequest::default()
    };
    let mut client = terminal.client()?;
    // First accepted, then waited for: so its id is known whatever happens to the wait.
    let reply = client.post("/v1/send", &request, Span(0)).map_err(|failure| match is_empty {
        true => failure
            .or_hint(RefusalKind::Invalid, "say what is to be done in words, or give - to read it from standard input"),
        false => unsure(failure),
    })?;
    let turn: TurnView = reply.read()?;
    if args.no_wait {
        let id = turn.turn.id;
        terminal.show(&reply, || Ok(id.to_string()))?;
        if !terminal.json {
            terminal.talk(&answer::accepted(&turn, &terminal.err));
        }
        return Ok(Exit::Ok);
    }
    let bound = args.wait.bound().unwrap_or(Bound::Span(WAIT));
    await_turn(terminal, &mut client, turn.turn.id, bound, args.ack)
}

/// Waits for a turn and prints what came of it.
pub fn await_turn(
    terminal: &Terminal,
    client: &mut Client,
    id: TurnId,
    bound: Bound,
    ack: bool,
) -> Result<Exit, Failure> {
    let goes_on =
        format!("{id} goes on; see it with: fleetd trace {id}; its reply: fleetd poll; end it: fleetd cancel {id}");
    let progress = |client: &Client, _: &Look| {
        let trace: Trace = client.get(&format!("/v1/turns/{id}"), Span(0)).ok()?.read().ok()?;
        let mut text = format!("{id} {}", trace.turn.turn.state.word());
        if let Some(waits) = &trace.turn.waits {
            text += &format!(": {}", safe(waits));
        } else if let Some(worker) = &trace.turn.turn.worker {
            text += &format!(": {worker}");
        }
        Some(Progress { parts: None, text })
    };
    let path = format!("/v1/turns/{id}/wait");
    let reply = wait(terminal, client, &Wait { path, bound, goes_on, progress: &progress })?;
    if reply.is_open() {
        let open: Pending = reply.read()?;
        let printed = if terminal.json { terminal.print(&reply.body) } else { Ok(()) };
        terminal.talk(&answer::pending(&open, &terminal.err));
        return shown(printed, Exit::Pending);
    }
    let envelope: Envelope = reply.read()?;
    let text = if terminal.out.terminal { safe(&envelope.text) } else { (&*envelope.text).into() };
    let printed = terminal.show(&reply, || Ok(text.into_owned()));
    if !terminal.json {
        terminal.talk(&answer::envelope(&envelope, &terminal.err));
    }
    // What nobody read is not collected.
    if let (true, Some(message), Ok(())) = (ack, envelope.message, &printed) {
        super::ack::collect(client, &[message])?;
    }
    shown(printed, if envelope.ok { Exit::Ok } else { Exit::Failed })
}

/// Adds to a Ctrl-C before the answer that nobody knows whether it was accepted.
fn unsure(failure: Failure) -> Failure {
    match failure {
        Failure::Interrupted { .. } => Failure::Interrupted {
            goes_on: Some("it may have been accepted: fleetd status; with --key a second send is the same turn".into()),
        },
        failure => failure,
    }
}
