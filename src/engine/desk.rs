//! What a caller can ask of fleetd, whole: names resolved, texts read back from the store, keys hashed.
//!
//! Every door uses these and adds nothing but its own wire form.

mod inside;
mod pause;
mod runs;
mod seat;
mod texts;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::handle::Handle;
use super::ports::{CharterStatus, Files, JournalError};
use super::requests::{
    Acked, Mail, MailItem, Origin, Recipes, ReplyRequest, RouteRequest, RunRequest, RunResult, RunWaited, SendRequest,
    SpawnRequest, Trace, Waited,
};
use crate::fleet::caller::Caller;
use crate::fleet::difference::Difference;
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::{Key, MessageId, RecipeName, RunId, TurnId, WorkerName};
use crate::fleet::input::{Answer, Asked, Call, Keyed, RunCall, SendCall};
use crate::fleet::mail::Question;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::rules::{self, Verb};
use crate::fleet::run::{Run, RunOutcome};
use crate::fleet::shape::{Shape, Shapes};
use crate::fleet::team::{Address, Decision, Routed, Task};
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::{Outcome, Priority};
use crate::fleet::view::{Roster, TurnView, WorkerView};

/// The longest that one call waits; a caller that wants more asks again.
pub const LONGEST_WAIT: Span = Span::minutes(60);

/// Messages of one poll at most.
pub const MOST_MAIL: usize = 500;

/// Texts of one poll at most, in bytes; the first message is given whatever its size.
const MAIL_BYTES: usize = 8 << 20;

impl Handle {
    // === turns ===

    /// Stores a message and answers at once with where it stands.
    pub async fn send(&self, caller: &Caller, request: SendRequest, origin: &Origin) -> Result<TurnView, Refusal> {
        rules::check(caller, Verb::Send)?;
        let to = match (&request.to, &request.role) {
            (Some(to), None) | (None, Some(to)) => to.clone(),
            (Some(_), Some(_)) => return Err(Refusal::invalid("give 'to' or 'role', not both")),
            (None, None) => {
                return Err(Refusal::invalid("the message has no address")
                    .hint("give 'role' (any worker of it) or 'to' (a role, a worker, or \"auto\" for the rubrics)"));
            }
        };
        let body = SendRequest { wait: None, deadline: None, key: None, ..request.clone() };
        let key = keyed(&request.key, origin, "send", &body)?;
        // A repeated call gets its turn, whether the names that it once meant still exist or not.
        let (to, routed, shape) = match self.is_repeated(caller, key.as_ref()) {
            true => (Address::Role(to.into()), None, self.shape_of(&request).unwrap_or_default()),
            false => {
                let task = |now| Task {
                    prompt: request.prompt.clone(),
                    kind: request.kind.clone(),
                    files: request.files.clone(),
                    from: caller.kind().to_string(),
                    urgent: request.priority == Priority::Now,
                    now,
                };
                let (to, routed) = self.address(&to, task).await?;
                (to, routed, self.shape_of(&request)?)
            }
        };
        let send = SendCall {
            to,
            shape,
            because: routed.as_ref().map(|routed| routed.because.clone()),
            routed: routed.map(|routed| Box::new(Decision::from(routed))),
            prompt: request.prompt.into(),
            kind: request.kind,
            files: request.files,
            priority: request.priority,
            deadline: request.deadline,
            key,
        };
        match self.call(caller, Call::Send(send)).await? {
            Answer::Accepted(turn) => {
                // It may have been handed out in the very step that accepted it.
                let fleet = self.fleet();
                let turn = fleet.turn(turn.id).cloned().unwrap_or(turn);
                Ok(fleet.view_turn(&turn, self.now()))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Returns what the answer to a message must be, if it says so.
    fn shape_of(&self, request: &SendRequest) -> Result<Option<Arc<Shape>>, Refusal> {
        let Some(schema) = &request.schema else {
            return match request.corrections {
                Some(_) => Err(Refusal::invalid("'corrections' without 'schema': there is nothing to fit")),
                None => Ok(None),
            };
        };
        let fleet = self.fleet();
        let none = Shapes::new();
        let shapes = fleet.team().map_or(&none, |team| &team.shapes);
        let shape = Shape::read(schema, request.corrections, shapes);
        Ok(Some(Arc::new(shape.map_err(|why| Refusal::invalid(format!("'schema': {why}")))?)))
    }

    /// Waits for a turn to end or to ask.
    pub async fn wait_turn(&self, caller: &Caller, turn: TurnId, wait: Span) -> Result<Waited, Refusal> {
        let until = self.until(wait);
        match self.call(caller, Call::WaitTurn { turn, until }).await? {
            Answer::Settled(turn, envelope) => Ok(Waited::Settled(self.envelope_of(&turn, envelope).await?)),
            Answer::Open(turn, questions) => Ok(Waited::Open(self.pending_turn(&turn, &questions))),
            other => Err(unexpected(&other)),
        }
    }

    /// Withdraws or interrupts a turn.
    pub async fn cancel_turn(&self, caller: &Caller, turn: TurnId) -> Result<Arc<Envelope>, Refusal> {
        match self.call(caller, Call::CancelTurn(turn)).await? {
            Answer::Settled(turn, envelope) => self.envelope_of(&turn, envelope).await,
            other => Err(unexpected(&other)),
        }
    }

    /// Returns a turn with its receipt and events, also a collected one.
    pub async fn trace(&self, caller: &Caller, id: TurnId) -> Result<Trace, Refusal> {
        rules::check(caller, Verb::Status)?;
        let fleet = self.fleet();
        let turn = match fleet.turn(id) {
            Some(turn) => (**turn).clone(),
            None => self.journal().turn(id).await.map_err(store)?.ok_or_else(|| {
                Refusal::new(RefusalKind::Unknown, format!("there is no turn {id}"))
                    .hint("collected turns are kept for the retention time; fleetd status lists the open ones")
            })?,
        };
        let events = self.journal().events(id).await.map_err(store)?;
        let stderr = match turn.outcome {
            None | Some(Outcome::Replied) => None,
            Some(_) => self.journal().envelope(id).await.map_err(store)?.and_then(|envelope| envelope.stderr.clone()),
        };
        Ok(Trace { turn: fleet.view_turn(&turn, self.now()), events, stderr })
    }

    // === mail ===

    /// Returns what waits for the caller, and waits for something if asked to.
    pub async fn poll(
        &self,
        caller: &Caller,
        after: Option<MessageId>,
        limit: usize,
        wait: Option<Span>,
    ) -> Result<Mail, Refusal> {
        if !(1..=MOST_MAIL).contains(&limit) {
            return Err(Refusal::invalid(format!("limit is {limit}; give 1 to {MOST_MAIL}")));
        }
        let until = wait.map(|wait| self.until(wait));
        match self.call(caller, Call::Poll { after, limit, until }).await? {
            Answer::Mail { messages, more } => {
                let (mut items, mut cursor, mut bytes) = (Vec::with_capacity(messages.len()), after, 0);
                let count = messages.len();
                for message in messages {
                    if bytes >= MAIL_BYTES {
                        break;
                    }
                    let item = self.mail_item(&message).await?;
                    bytes += item.as_ref().map_or(0, size_of_item);
                    items.extend(item);
                    cursor = Some(message.id);
                }
                Ok(Mail { more: more || items.len() < count, messages: items, cursor })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Collects messages.
    pub async fn ack(&self, caller: &Caller, ids: Vec<MessageId>) -> Result<Acked, Refusal> {
        match self.call(caller, Call::Ack(ids)).await? {
            Answer::Acked { acked, unknown } => Ok(Acked { acked, unknown }),
            other => Err(unexpected(&other)),
        }
    }

    /// Answers a question.
    pub async fn answer(&self, caller: &Caller, request: ReplyRequest) -> Result<Arc<Question>, Refusal> {
        let question = match (request.question, request.turn) {
            (Some(question), None) => Asked::Question(question),
            (None, Some(turn)) => Asked::Turn(turn),
            (Some(_), Some(_)) => return Err(Refusal::invalid("give 'question' or 'turn', not both")),
            (None, None) => {
                return Err(Refusal::invalid("the reply names no question")
                    .hint("give 'question' (q5), or 'turn' (t17) if that turn has exactly one open"));
            }
        };
        match self.call(caller, Call::Answer { question, text: request.text.into() }).await? {
            Answer::Answered(question) => Ok(question),
            other => Err(unexpected(&other)),
        }
    }

    // === workers ===

    /// Starts a worker and waits until it is ready.
    pub async fn spawn(&self, caller: &Caller, request: SpawnRequest, origin: &Origin) -> Result<WorkerView, Refusal> {
        let key = keyed(&request.key, origin, "spawn", &SpawnRequest { key: None, ..request.clone() })?;
        let call = Call::Spawn { role: request.role.into(), profile: request.profile.map(Into::into), key };
        self.worker_call(caller, call).await
    }

    /// Stops a worker: after its present turn, or at once.
    pub async fn stop(&self, caller: &Caller, worker: &str, kill: bool) -> Result<WorkerView, Refusal> {
        self.worker_call(caller, Call::Stop { worker: WorkerName::from(worker), kill }).await
    }

    async fn worker_call(&self, caller: &Caller, call: Call) -> Result<WorkerView, Refusal> {
        match self.call(caller, call).await? {
            Answer::Worker(worker) => Ok(self.fleet().view_worker(&worker, self.now())),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns everybody.
    pub fn roster(&self, caller: &Caller) -> Result<Roster, Refusal> {
        rules::check(caller, Verb::List)?;
        Ok(self.fleet().roster(self.now()))
    }

    // === runs ===

    /// Stores a run and starts it.
    pub async fn start_run(&self, caller: &Caller, request: RunRequest, origin: &Origin) -> Result<Arc<Run>, Refusal> {
        rules::check(caller, Verb::Run)?;
        let body = RunRequest { wait: None, deadline: None, key: None, ..request.clone() };
        let key = keyed(&request.key, origin, "run", &body)?;
        let recipe: RecipeName = request.recipe.as_str().into();
        let job = match request.job {
            Value::Null => Value::Object(serde_json::Map::new()),
            job => job,
        };
        if !self.is_repeated(caller, key.as_ref()) {
            let fleet = self.fleet();
            let Some(team) = fleet.team() else { return Err(self.no_charter()) };
            if !team.recipes.contains_key(&recipe) {
                let valid = team.recipes.keys().map(|name| name.as_str());
                return Err(Refusal::unknown("recipe", recipe.as_str(), valid));
            }
            self.policy().check_job(&recipe, &job)?;
        }
        let call = RunCall { recipe, job: Arc::new(job), deadline: request.deadline, key };
        match self.call(caller, Call::StartRun(call)).await? {
            Answer::Started(run) => Ok(run),
            other => Err(unexpected(&other)),
        }
    }

    /// Holds a job against what its recipe takes.
    pub fn check_job(&self, recipe: &RecipeName, job: &Value) -> Result<(), Refusal> {
        self.policy().check_job(recipe, job)
    }

    /// Waits for a run to end or to ask.
    pub async fn wait_run(&self, caller: &Caller, run: RunId, wait: Span) -> Result<RunWaited, Refusal> {
        let until = self.until(wait);
        match self.call(caller, Call::WaitRun { run, until }).await {
            Ok(Answer::RunOpen(run, questions)) => Ok(RunWaited::Open(self.pending_run(&run, &questions))),
            answer => Ok(RunWaited::Ended(Box::new(self.run_result(&*self.ended(run, answer).await?).await?))),
        }
    }

    /// Ends a run; its open turns are cancelled.
    pub async fn cancel_run(&self, caller: &Caller, run: RunId) -> Result<RunResult, Refusal> {
        let answer = self.call(caller, Call::CancelRun(run)).await;
        let run = self.ended(run, answer).await?;
        match run.outcome {
            Some(RunOutcome::Cancelled) => self.run_result(&run).await,
            _ => Err(run.ended_already()),
        }
    }

    /// Returns the newest runs, newest first, collected ones too.
    pub async fn runs(&self, caller: &Caller, limit: usize) -> Result<Vec<Run>, Refusal> {
        rules::check(caller, Verb::Status)?;
        self.journal().runs(limit).await.map_err(store)
    }

    // === charter ===

    /// Returns the recipes of the charter in force.
    pub fn recipes(&self, caller: &Caller) -> Result<Recipes, Refusal> {
        rules::check(caller, Verb::Recipes)?;
        let fleet = self.fleet();
        let Some(team) = fleet.team() else { return Err(self.no_charter()) };
        Ok(Recipes { generation: team.generation.number, recipes: team.recipes.values().cloned().collect() })
    }

    /// Returns where a task would go and why, without any effect.
    pub async fn route(&self, caller: &Caller, request: RouteRequest) -> Result<Routed, Refusal> {
        rules::check(caller, Verb::Route)?;
        let RouteRequest { prompt, kind, files, priority } = request;
        let (from, urgent) = (caller.kind().to_string(), priority == Priority::Now);
        self.ask_rubrics(Task { prompt, kind, files, from, urgent, now: self.now() }).await
    }

    /// Returns the state of the charter.
    pub fn charter(&self, caller: &Caller) -> Result<CharterStatus, Refusal> {
        rules::check(caller, Verb::Charter)?;
        Ok(self.policy().status())
    }

    /// Returns the state of the charter with what the files that lie in its directory would change.
    pub async fn charter_with_difference(&self, caller: &Caller) -> Result<CharterStatus, Refusal> {
        let difference = Some(self.difference(caller, None).await?);
        Ok(CharterStatus { difference, ..self.policy().status() })
    }

    /// Returns what files would change: these, or those that lie in the charter's directory.
    pub async fn difference(&self, caller: &Caller, files: Option<Files>) -> Result<Difference, Refusal> {
        rules::check(caller, Verb::Charter)?;
        let mut difference = self.policy().difference(files).await;
        self.fleet().foresee(&mut difference);
        Ok(difference)
    }

    /// Loads the charter anew if it changed.
    pub async fn reload(&self, caller: &Caller) -> Result<CharterStatus, Refusal> {
        rules::check(caller, Verb::Reload)?;
        let status = self.policy().reload().await?;
        self.in_force(status.generation.number).await;
        Ok(status)
    }

    /// Returns whether the fleet knows this very call already.
    fn is_repeated(&self, caller: &Caller, key: Option<&Keyed>) -> bool {
        let known = |sender| matches!(self.fleet().used(sender, key), Ok(Some(_)));
        caller.sender().is_some_and(known)
    }

    pub(super) fn until(&self, wait: Span) -> Time {
        self.now() + wait.min(LONGEST_WAIT)
    }
}

fn size_of_item(item: &MailItem) -> usize {
    let reply = item.reply.as_ref().map_or(0, |envelope| envelope.text.len());
    let run = item.run.as_ref().map_or(0, |run| run.value.to_string().len());
    reply + run
}

/// Returns the key of a call, its own or its origin's, with the hash of what it came with, so that the same key with
/// another body is noticed.
fn keyed(key: &Option<Key>, origin: &Origin, verb: &str, body: &impl Serialize) -> Result<Option<Keyed>, Refusal> {
    if let Some(key) = key {
        let length = key.as_str().chars().count();
        if !(1..=200).contains(&length) {
            return Err(Refusal::invalid(format!("the key has {length} characters; give 1 to 200")));
        }
    }
    let Some(key) = key.as_ref().or(origin.key.as_ref()).or(origin.request.as_ref()) else { return Ok(None) };
    let mut hash = Sha256::new();
    hash.update(verb);
    hash.update(serde_json::to_vec(body).unwrap_or_default());
    let body = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(Keyed { key: key.clone(), body, request: origin.request.clone() }))
}

pub(super) fn store(error: JournalError) -> Refusal {
    Refusal::new(RefusalKind::Unavailable, format!("the store could not be read: {error}"))
}

pub(super) fn unexpected(answer: &Answer) -> Refusal {
    let kind = match answer {
        Answer::Accepted(_) => "accepted",
        Answer::Settled(..) => "settled",
        Answer::Open(..) => "open",
        Answer::Started(_) => "started",
        Answer::Ended(_) => "ended",
        Answer::RunOpen(..) => "run open",
        Answer::Mail { .. } => "mail",
        Answer::Acked { .. } => "acked",
        Answer::Answered(_) => "answered",
        Answer::Unanswered(_) => "unanswered",
        Answer::Worker(_) => "worker",
        Answer::Noted { .. } => "noted",
        Answer::Seat(_) => "seat",
        Answer::Paused(_) => "paused",
    };
    Refusal::new(
        RefusalKind::Internal,
        format!("an answer of another kind came back: {kind}; this is a fault of fleetd"),
    )
}
