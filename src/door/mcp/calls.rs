//! What a call of a tool comes to: the rule, the arguments, the engine's desk, and the answer with both its forms.
//! A refusal is an answer too; only a fault of the protocol is an error.

mod inside;
mod look;
pub(super) mod origin;
mod turns;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::origin::Request;
use super::super::conn::Identity;
use super::super::intake;
use super::tools::Entry;
use super::{Mcp, beat};
use crate::engine::requests::{PendingKind, Resumed};
use crate::fleet::caller::Caller;
use crate::fleet::ids::Key;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{self, Door, Verb, Verdict};
use crate::fleet::time::Span;

/// How long a call that is there to wait does so unless told otherwise.
const WAIT: Span = Span::minutes(10);

/// One call on its way: who makes it, and what it may tell its client meanwhile.
struct Call<'a> {
    door: &'a Mcp,
    cx: &'a RequestContext<RoleServer>,
    request: Request,
    caller: Caller,
}

/// Does what a call wants.
pub(super) async fn call(
    door: &Mcp,
    table: &[Entry],
    call: CallToolRequestParams,
    request: Request,
    cx: &RequestContext<RoleServer>,
) -> CallToolResult {
    let name = call.name.clone();
    let arguments = Value::Object(call.arguments.unwrap_or_default());
    let done = async {
        let entry = known(table, &name, &request.identity.caller)?;
        let caller = admitted(door, &request, entry).await?;
        Call { door, cx, request, caller }.dispatch(&name, arguments).await
    };
    done.await.unwrap_or_else(refused)
}

/// Waits for what an earlier daemon began for a request, and gives the answer that it would have given.
pub(super) async fn resumed(door: &Mcp, sender: Option<Identity>, request: Key) -> CallToolResult {
    let Some(identity) = sender else {
        return refused(Refusal::new(RefusalKind::Internal, "the sender of the request is not known"));
    };
    let waited = tokio::select! {
        waited = door.engine.resume(&identity.caller, request.clone(), WAIT) => waited,
        () = door.closing.cancelled() => door.engine.resume(&identity.caller, request.clone(), Span(0)).await,
    };
    let found = match waited {
        Err(refusal) if refusal.kind == RefusalKind::Unknown => {
            let at_once = door.engine.resume(&identity.caller, origin::at_once(&request), Span(0)).await;
            at_once.map(|found| match found {
                Resumed::Open(mut pending) if pending.pending == PendingKind::WaitOver => {
                    pending.pending = PendingKind::Accepted;
                    Resumed::Open(pending)
                }
                found => found,
            })
        }
        waited => waited,
    };
    match found {
        Ok(Resumed::Settled(envelope)) => given(&envelope),
        Ok(Resumed::Ended(run)) => given(&run),
        Ok(Resumed::Open(pending)) => given(&pending),
        Ok(Resumed::Worker(worker)) => given(&worker),
        Ok(Resumed::Asked(asked)) => given(&asked),
        Err(refusal) if refusal.kind == RefusalKind::Unknown => refused(
            Refusal::new(RefusalKind::Unavailable, "fleetd was restarted while this call was under way")
                .hint("nothing that was accepted is lost; repeat the call unchanged"),
        ),
        Err(refusal) => refused(refusal),
    }
}

/// Returns the tool of this name, if this caller may know of it.
fn known<'t>(table: &'t [Entry], name: &str, caller: &Caller) -> Result<&'t Entry, Refusal> {
    table.iter().find(|entry| entry.tool.name == name).ok_or_else(|| {
        let menu = table.iter().filter(|entry| entry.is_for(caller, true));
        Refusal::unknown("tool", name, menu.map(|entry| &*entry.tool.name))
    })
}

/// Returns as whom the call is made: a session that could lead takes the seat by its first call that needs it.
async fn admitted(door: &Mcp, request: &Request, entry: &Entry) -> Result<Caller, Refusal> {
    let identity = &request.identity;
    match rules::check_at(&identity.caller, entry.verb_of(&identity.caller), Door::Mcp)? {
        Verdict::WithSeat => {
            let sitter = identity.sitter(request.session.as_deref()).ok_or_else(|| {
                Refusal::new(RefusalKind::NotAllowed, "nothing shows which session this is, so it cannot be the leader")
            })?;
            door.engine.take_seat(&Caller::Operator, sitter).await?;
            Ok(Caller::Leader)
        }
        Verdict::Yes | Verdict::No => Ok(identity.caller.clone()),
    }
}

impl Call<'_> {
    async fn dispatch(&self, name: &str, arguments: Value) -> Result<CallToolResult, Refusal> {
        match name {
            "fleet_whoami" => self.whoami(read(arguments)?),
            "fleet_profiles" => self.profiles(read(arguments)?),
            "fleet_list" => self.list(read(arguments)?),
            "fleet_status" => self.status(read(arguments)?).await,
            "fleet_send" => self.send(read(arguments)?).await,
            "fleet_poll" => self.poll(read(arguments)?).await,
            "fleet_ack" => self.ack(read(arguments)?).await,
            "fleet_reply" => self.reply(read(arguments)?).await,
            "fleet_ask" => self.ask(read(arguments)?).await,
            "fleet_cancel" => self.cancel(read(arguments)?).await,
            "fleet_spawn" => self.spawn(read(arguments)?).await,
            "fleet_stop" => self.stop(read(arguments)?).await,
            "fleet_route" => self.route(read(arguments)?).await,
            "fleet_recipes" => self.recipes(read(arguments)?),
            "fleet_run" => self.run(read(arguments)?).await,
            "fleet_charter" => self.charter(read(arguments)?).await,
            other => Err(Refusal::new(RefusalKind::Internal, format!("the tool '{other}' does nothing"))),
        }
    }

    /// Waits for something and tells the client `why` meanwhile; when the daemon goes down, `then` says where it stands.
    async fn wait<T>(
        &self,
        why: impl Fn() -> String,
        what: impl Future<Output = Result<T, Refusal>>,
        then: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let bounded = async {
            tokio::select! {
                done = what => done,
                () = self.door.closing.cancelled() => then.await,
            }
        };
        beat::waiting(self.cx, why, bounded).await.unwrap_or_else(|| {
            Err(Refusal::new(RefusalKind::Conflict, "the call was cancelled; what it began goes on"))
        })
    }

    /// Refuses a further verb of a tool that does two things.
    fn also(&self, verb: Verb) -> Result<(), Refusal> {
        rules::check_at(&self.caller, verb, Door::Mcp).map(drop)
    }
}

/// Reads the arguments; a refusal names the field, what was wrong and what would be right.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Refusal> {
    intake::arguments(arguments)
}

/// Gives a value in both forms, as data and as text.
fn given(value: &impl Serialize) -> CallToolResult {
    match serde_json::to_value(value) {
        Ok(value) => CallToolResult::structured(value),
        Err(error) => refused(Refusal::new(RefusalKind::Internal, format!("the answer has no JSON form: {error}"))),
    }
}

fn refused(refusal: Refusal) -> CallToolResult {
    let value = serde_json::to_value(&refusal).unwrap_or_else(|_| json!({ "message": refusal.message }));
    CallToolResult::structured_error(value)
}
