//! What a call of a tool comes to: the rule, the arguments, the engine's desk, and the answer with both its forms.
//! A refusal is an answer too; only a fault of the protocol is an error.

mod inside;
mod look;
pub(super) mod origin;
mod turns;

use std::pin::{Pin, pin};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::interval;

use self::origin::Request;
use super::super::audit::{Begun, Noted, Outcome, Subject};
use super::super::conn::Identity;
use super::super::intake;
use super::tools::{self, Entry, TABLE};
use super::{Mcp, beat};
use crate::engine::requests::{PendingKind, Resumed};
use crate::fleet::caller::Caller;
use crate::fleet::ids::Key;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{self, Door, Verb, Verdict};
use crate::fleet::time::Span;

/// How long a call that is there to wait does so unless told otherwise.
const WAIT: Span = Span::minutes(10);

/// How often a leader who is known by a token shows, by waiting, that the seat is in use.
const KEEP: Duration = Duration::from_secs(20);

/// One call on its way: who makes it, and what it may tell its client meanwhile.
struct Call<'a> {
    door: &'a Mcp,
    /// How to tell the client something meanwhile; a call that only looks has nothing to tell.
    cx: Option<&'a RequestContext<RoleServer>>,
    request: &'a Request,
    caller: Caller,
    noted: Noted,
}

/// Does what a call wants.
pub(super) async fn call(
    door: &Mcp,
    call: CallToolRequestParams,
    request: &Request,
    cx: Option<&RequestContext<RoleServer>>,
) -> CallToolResult {
    let name = call.name.clone();
    let arguments = Value::Object(call.arguments.unwrap_or_default());
    let entry = match known(door, &name, &request.identity.caller) {
        Ok(entry) => entry,
        Err(refusal) => return refused(refusal),
    };
    let verb = entry.verb_of(&request.identity.caller);
    let mut line = door.shared.begin(&request.identity, Door::Mcp, verb);
    let caller = match admitted(door, request, verb, &mut line).await {
        Ok(caller) => caller,
        Err(refusal) => return refused(refusal),
    };
    let done = Call { door, cx, request, caller, noted: line.noted() };
    let refusal = |given: &Result<_, Refusal>| given.as_ref().err().map(|refusal| Outcome::Refused(refusal.kind));
    let answer = pin!(done.dispatch(&name, arguments));
    line.answered(answer, refusal).await.unwrap_or_else(refused)
}

/// Waits for what an earlier daemon began for a request, and gives the answer that it would have given.
pub(super) async fn resumed(door: &Mcp, sender: Option<Identity>, request: Key) -> CallToolResult {
    let Some(identity) = sender else {
        return refused(Refusal::new(RefusalKind::Internal, "the sender of the request is not known"));
    };
    let waited = tokio::select! {
        waited = door.engine.resume(&identity.caller, request.clone(), WAIT) => waited,
        () = door.shared.closing.cancelled() => door.engine.resume(&identity.caller, request.clone(), Span(0)).await,
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
            Refusal::new(RefusalKind::Unavailable, "this call was cut off, and what it came to is not kept")
                .hint("nothing that was accepted is lost; repeat the call unchanged"),
        ),
        Err(refusal) => refused(refusal),
    }
}

/// Returns the tool of this name, if this caller may know of it.
fn known(door: &Mcp, name: &str, caller: &Caller) -> Result<&'static Entry, Refusal> {
    tools::named(name).ok_or_else(|| {
        let fleet = door.engine.fleet();
        let menu = TABLE.iter().filter(|entry| entry.is_for(caller, true));
        let menu = menu.filter(|entry| fleet.is_granted(caller, entry.verb_of(caller)));
        Refusal::unknown("tool", name, menu.map(|entry| &*entry.tool.name))
    })
}

/// Returns as whom the call is made: a session that could lead takes the seat by its first call that needs it.
async fn admitted(door: &Mcp, request: &Request, verb: Verb, line: &mut Begun) -> Result<Caller, Refusal> {
    let identity = &request.identity;
    let verdict = door.shared.judged(identity, Door::Mcp, verb, line)?;
    let by_token = identity.token && identity.caller == Caller::Leader;
    if verdict != Verdict::WithSeat && !by_token {
        return Ok(identity.caller.clone());
    }
    let sits = Box::pin(door.shared.sit(identity, request.session.as_deref())).await;
    sits.inspect_err(|refusal| line.denied(refusal.kind))?;
    Ok(Caller::Leader)
}

impl Call<'_> {
    /// Each tool's own way is boxed, or every call, also one that only looks, would be as large as the largest of them.
    async fn dispatch(&self, name: &str, arguments: Value) -> Result<CallToolResult, Refusal> {
        match name {
            "fleet_whoami" => self.whoami(self.read(arguments)?),
            "fleet_profiles" => self.profiles(self.read(arguments)?),
            "fleet_list" => self.list(self.read(arguments)?),
            "fleet_status" => Box::pin(self.status(self.read(arguments)?)).await,
            "fleet_send" => Box::pin(self.send(self.read(arguments)?)).await,
            "fleet_poll" => Box::pin(self.poll(self.read(arguments)?)).await,
            "fleet_ack" => Box::pin(self.ack(self.read(arguments)?)).await,
            "fleet_reply" => Box::pin(self.reply(self.read(arguments)?)).await,
            "fleet_ask" => Box::pin(self.ask(self.read(arguments)?)).await,
            "fleet_cancel" => Box::pin(self.cancel(self.read(arguments)?)).await,
            "fleet_spawn" => Box::pin(self.spawn(self.read(arguments)?)).await,
            "fleet_stop" => Box::pin(self.stop(self.read(arguments)?)).await,
            "fleet_route" => Box::pin(self.route(self.read(arguments)?)).await,
            "fleet_recipes" => self.recipes(self.read(arguments)?),
            "fleet_run" => Box::pin(self.run(self.read(arguments)?)).await,
            "fleet_charter" => Box::pin(self.charter(self.read(arguments)?)).await,
            other => Err(Refusal::new(RefusalKind::Internal, format!("the tool '{other}' does nothing"))),
        }
    }

    /// Reads the arguments, and tells the audit what they are about; a refusal names the field, what was wrong and what
    /// would be right.
    fn read<T: DeserializeOwned + Subject>(&self, arguments: Value) -> Result<T, Refusal> {
        let arguments: T = intake::arguments(arguments)?;
        self.noted.add(arguments.subject());
        Ok(arguments)
    }

    /// Waits for something and tells the client `why` meanwhile; when the daemon goes down, `then` says where it stands.
    ///
    /// Ten thousand may wait at once. A future that is moved into another one has room in both, so what is large is
    /// boxed where it begins, and what may never be needed is made when it is.
    async fn wait<T, F: Future<Output = Result<T, Refusal>>>(
        &self,
        why: impl Fn() -> String,
        mut what: Pin<Box<impl Future<Output = Result<T, Refusal>>>>,
        then: impl FnOnce() -> F,
    ) -> Result<T, Refusal> {
        let waited = async {
            // Nobody else has to show that the seat is in use.
            let mut clock = (self.request.identity.token && self.caller == Caller::Leader).then(|| interval(KEEP));
            loop {
                let tick = async {
                    match &mut clock {
                        Some(clock) => drop(clock.tick().await),
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    done = &mut what => return Some(done),
                    () = self.door.shared.closing.cancelled() => return None,
                    () = tick => Box::pin(self.sit_on()).await,
                }
            }
        };
        let told = match self.cx {
            Some(cx) => beat::waiting(cx, self.request.session.is_some(), why, waited).await,
            None => Some(waited.await),
        };
        match told {
            Some(Some(done)) => done,
            Some(None) => Box::pin(then()).await,
            None => Err(Refusal::new(RefusalKind::Conflict, "the call was cancelled; what it began goes on")),
        }
    }

    async fn sit_on(&self) {
        // Somebody else may sit there by now; what was begun is waited for all the same.
        let _ = self.door.shared.sit(&self.request.identity, self.request.session.as_deref()).await;
    }

    /// Refuses a further verb of a tool that does two things.
    fn also(&self, verb: Verb) -> Result<(), Refusal> {
        rules::check_at(&self.caller, verb, Door::Mcp).map(drop)
    }
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
