//! The tools: one table with what each is for, what it takes and gives, and the rule that it falls under.
//! A tool does nothing here; what a call comes to is in `calls`.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::json;

use super::super::schema;
use super::{args, shapes};
use crate::engine::requests::{AskRequest, RouteRequest, RunRequest, SendRequest, SpawnRequest};
use crate::fleet::caller::Caller;
use crate::fleet::rules::{self, Door, Verb, Verdict};

/// The longest answer that a client should show its model as it is: a reply may be long, and is wanted whole.
const LONG: u64 = 300_000;

/// One tool.
pub(super) struct Entry {
    /// What calling it wants to do: for a leader, and where that differs for a worker.
    pub verb: Verb,
    pub worker: Verb,
    /// Whether calling it changes nothing.
    pub looks: bool,
    /// How it is shown to clients.
    pub tool: Tool,
}

impl Entry {
    /// Returns what this caller wants by calling it.
    pub fn verb_of(&self, caller: &Caller) -> Verb {
        match caller {
            Caller::Worker { .. } => self.worker,
            _ => self.verb,
        }
    }

    /// Returns whether this caller may call it, or could by taking the seat while that is free.
    pub fn is_for(&self, caller: &Caller, free: bool) -> bool {
        match rules::allowed(caller.kind(), self.verb_of(caller), Door::Mcp) {
            Verdict::Yes => true,
            Verdict::WithSeat => free,
            Verdict::No => false,
        }
    }
}

/// What a call changes.
enum Does {
    /// Nothing.
    Looks,
    /// Something new; doing it twice with the same key does it once.
    Adds,
    /// Something goes that was there.
    Ends,
}

/// All tools, in the order in which clients list them; made when the first one is wanted.
pub(super) static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(table);

/// Returns the tool of this name.
pub(super) fn named(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.tool.name == name)
}

fn table() -> Vec<Entry> {
    use Does::{Adds, Ends, Looks};
    vec![
        tool::<args::Nothing, shapes::Whoami>("fleet_whoami", Verb::Whoami, Looks, WHOAMI),
        tool::<args::Nothing, shapes::Profiles>("fleet_profiles", Verb::List, Looks, PROFILES),
        tool::<args::Nothing, shapes::Roster>("fleet_list", Verb::List, Looks, LIST),
        long(tool::<args::Status, shapes::Status>("fleet_status", Verb::Status, Looks, STATUS)),
        long(tool::<SendRequest, shapes::Sent>("fleet_send", Verb::Send, Adds, SEND)),
        long(tool::<args::Poll, shapes::Mail>("fleet_poll", Verb::Poll, Looks, POLL)),
        tool::<args::Ack, shapes::Acked>("fleet_ack", Verb::Ack, Ends, ACK),
        Entry { worker: Verb::Reply, ..tool::<args::Reply, shapes::Replied>("fleet_reply", Verb::Answer, Adds, REPLY) },
        tool::<AskRequest, shapes::Asked>("fleet_ask", Verb::Ask, Adds, ASK),
        long(tool::<args::Cancel, shapes::Cancelled>("fleet_cancel", Verb::Cancel, Ends, CANCEL)),
        tool::<SpawnRequest, shapes::Worker>("fleet_spawn", Verb::Spawn, Adds, SPAWN),
        tool::<args::Stop, shapes::Worker>("fleet_stop", Verb::Stop, Ends, STOP),
        tool::<RouteRequest, shapes::Routed>("fleet_route", Verb::Route, Looks, ROUTE),
        tool::<args::Nothing, shapes::Recipes>("fleet_recipes", Verb::Recipes, Looks, RECIPES),
        long(tool::<RunRequest, shapes::Ran>("fleet_run", Verb::Run, Adds, RUN)),
        tool::<args::Charter, shapes::Charter>("fleet_charter", Verb::Charter, Adds, CHARTER),
    ]
}

fn tool<I: JsonSchema, O: JsonSchema>(name: &'static str, verb: Verb, does: Does, about: &'static str) -> Entry {
    let looks = matches!(does, Does::Looks);
    let hints = ToolAnnotations::new()
        .read_only(looks)
        .destructive(matches!(does, Does::Ends))
        .idempotent(!matches!(does, Does::Adds))
        .open_world(false);
    let tool = Tool::new(name, about, Arc::new(schema::taken::<I>()))
        .with_raw_output_schema(object(schema::given::<shapes::Given<O>>()))
        .with_annotations(hints);
    Entry { verb, worker: verb, looks, tool }
}

/// Marks a tool whose answer may be long.
fn long(entry: Entry) -> Entry {
    let meta = MetaObject(JsonObject::from_iter([("anthropic/maxResultSizeChars".into(), LONG.into())]));
    Entry { tool: entry.tool.with_meta(meta), ..entry }
}

/// The protocol wants an object at the root, whatever it is one of.
fn object(mut schema: JsonObject) -> Arc<JsonObject> {
    schema.entry("type").or_insert(json!("object"));
    Arc::new(schema)
}

const WHOAMI: &str = "Who you are to fleetd, as your connection shows: leader, worker or neither; what you may do; who \
    sits in the leader's seat. Costs nothing and changes nothing.";
const PROFILES: &str = "The roles that messages can be sent to, with their caps, how many workers are busy and how many \
    messages wait, and the profiles that workers are started from.";
const LIST: &str = "Everybody: roles with their load, workers with what they do, open turns with why they wait.";
const STATUS: &str = "One turn, run or worker in full, or (with nothing given) the whole fleet and its health. With \
    `wait` it waits for the turn or run to end or to ask; waiting loses nothing and may be repeated.";
const SEND: &str = "Send a message to a role (any worker of it), a worker, or `auto` (the charter's rubrics decide). It is \
    stored before this answers. Without `wait` you get the turn at once and the reply waits in your mailbox \
    (fleet_poll); send several that way and they run side by side. With `wait` you get the reply, or `pending` \
    when a worker asks (answer with fleet_reply) or the wait is over (fleet_status with `wait` goes on).";
const POLL: &str = "What waits for you: replies, questions of workers, ended runs, notices. Reading takes nothing away: \
    confirm with fleet_ack. With `wait` it waits until something comes.";
const ACK: &str = "Confirm that you have what these messages said; they are then gone from your mailbox.";
const REPLY: &str = "The leader: answer a worker's question, and its turn goes on. A worker: give the reply to the turn \
    that you have; the last one before the turn ends counts, and it counts instead of what you print.";
const ASK: &str = "Ask the one who sent you this turn and wait for the answer. The same text is the same question: if \
    the wait is over without an answer, or the call broke, ask the same again.";
const CANCEL: &str = "Withdraw a queued turn, interrupt a running one, or end a run.";
const SPAWN: &str = "Start a worker of a role and wait until it is ready. Roles start workers by themselves when \
    messages wait; this is for a worker of your own.";
const STOP: &str = "End a worker with all its processes: after its present turn, or at once.";
const ROUTE: &str = "Where the charter's rubrics would send a message: which were asked, what each said, and which decided. Sends nothing.";
const RECIPES: &str = "The recipes of the charter with the schema of their job: jobs of many turns that fan out, gather \
    and survive restarts.";
const RUN: &str = "Start a recipe. With `wait` you get its value, or `pending`; without, its id, and the end waits in \
    your mailbox.";
const CHARTER: &str = "The charter in force: generation, files, what the last load changed, and why newer files were not taken. With \
    `diff` also what the files as they lie would change; with `reload` they are read anew.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::caller::CallerKind;

    fn names(caller: &Caller, free: bool) -> Vec<String> {
        TABLE.iter().filter(|entry| entry.is_for(caller, free)).map(|entry| entry.tool.name.to_string()).collect()
    }

    #[test]
    fn everybody_is_shown_what_they_may_call_and_nothing_else() {
        let worker = Caller::Worker { name: "w-1".into(), via_child: false };
        let nobody = Caller::Anonymous { why: "no reason".into() };
        assert_eq!(names(&worker, true), ["fleet_whoami", "fleet_reply", "fleet_ask"]);
        assert_eq!(names(&nobody, true), ["fleet_whoami"]);
        assert_eq!(names(&Caller::Operator, false), ["fleet_whoami"], "somebody else sits in the seat");
        assert_eq!(names(&Caller::Operator, true), names(&Caller::Leader, false));
        assert_eq!(names(&Caller::Leader, false).len(), TABLE.len() - 1, "all but the worker's fleet_ask");
    }

    #[test]
    fn every_schema_is_an_object_with_a_description_and_no_tool_is_there_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for entry in table() {
            let tool = entry.tool;
            assert!(seen.insert(tool.name.clone()), "{} twice", tool.name);
            assert!(tool.description.is_some_and(|text| text.len() < 700));
            for schema in [&tool.input_schema, &tool.output_schema.expect("every tool says what it gives")] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
            }
            assert_eq!(tool.input_schema["additionalProperties"], false, "{} takes anything", tool.name);
            assert!(tool.annotations.is_some());
        }
        assert!(CallerKind::ALL.len() == 4);
    }
}
