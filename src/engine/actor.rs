//! The one task that owns the fleet: step, commit, and only then act and answer.
//!
//! A failed commit drops to the fleet before it (a clone costs nothing): callers of that batch are refused with the
//! reason, while what was seen or decided elsewhere is kept and stepped again until the store takes it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::ports::{Clock, Journal, JournalError, Launchers, Policy};
use crate::fleet::Fleet;
use crate::fleet::caller::Caller;
use crate::fleet::ids::Ticket;
use crate::fleet::input::{Answer, Call, Effect, Input, Step};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::time::Time;

/// Inputs of one commit at most: enough to share a disk flush, few enough to keep each answer prompt.
const BATCH: usize = 512;

/// How long the store is left alone after a commit that failed.
const RETRY: Duration = Duration::from_millis(500);

/// How far that clock may go apart from the fleet's time before the fleet is told, in milliseconds.
const APART: i64 = 1_000;

/// One message to the engine.
#[derive(Debug)]
pub(super) enum Message {
    /// A caller wants something.
    Call { ticket: Ticket, caller: Caller, call: Call, reply: oneshot::Sender<Result<Answer, Refusal>> },
    /// Anything else.
    Input(Input),
}

/// What the engine is built from.
pub(super) struct Parts {
    pub fleet: Fleet,
    pub journal: Arc<dyn Journal>,
    pub launchers: Arc<dyn Launchers>,
    pub policy: Arc<dyn Policy>,
    pub clock: Arc<dyn Clock>,
    pub inbox: mpsc::Receiver<Message>,
    pub published: watch::Sender<Arc<Fleet>>,
    pub trouble: watch::Sender<Option<String>>,
}

/// The engine's own state beside the fleet.
pub(super) struct Actor {
    parts: Parts,
    replies: HashMap<Ticket, oneshot::Sender<Result<Answer, Refusal>>>,
    /// Inputs that must not be lost and could not be stored yet, oldest first, each with the moment at which it came:
    /// what was seen before a deadline counts as seen before it, whenever the disk has room again.
    unstored: VecDeque<(Time, Input)>,
}

impl Actor {
    pub fn new(parts: Parts) -> Actor {
        Actor { parts, replies: HashMap::new(), unstored: VecDeque::new() }
    }

    /// Runs until every handle is gone.
    pub async fn run(mut self) {
        let effects = self.parts.fleet.resume(self.parts.clock.now());
        self.let_out(Step { effects, ..Step::default() });
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wait = self.until_wake();
            tokio::select! {
                biased;
                n = self.parts.inbox.recv_many(&mut batch, BATCH) => {
                    if n == 0 {
                        return;
                    }
                }
                () = tokio::time::sleep(wait) => batch.push(Message::Input(Input::Tick)),
            }
            self.take(std::mem::take(&mut batch)).await;
        }
    }

    fn until_wake(&self) -> Duration {
        // A day is "no timer": the loop then wakes for nothing once a day.
        let timer = match self.parts.fleet.next_wake() {
            Some(at) => at.since(self.parts.clock.now()).std(),
            None => Duration::from_secs(86_400),
        };
        let timer = match self.parts.fleet.goes_by_the_wall() {
            true => timer.min(self.parts.clock.trusted()),
            false => timer,
        };
        // A store in trouble is tried again at its own pace, whatever is overdue.
        if self.in_trouble() { RETRY } else { timer }
    }

    async fn take(&mut self, batch: Vec<Message>) {
        let before = self.parts.fleet.clone();
        let now = self.parts.clock.now();
        let mut inputs: Vec<(Time, Input)> = self.wall_moved(now).map(|moved| (now, moved)).into_iter().collect();
        inputs.extend(self.unstored.drain(..));
        inputs.extend(batch.into_iter().map(|message| {
            let input = match message {
                Message::Call { ticket, caller, call, reply } => {
                    self.replies.insert(ticket, reply);
                    Input::Call { ticket, caller, call }
                }
                Message::Input(input) => input,
            };
            (now, input)
        }));
        let mut out = Step::default();
        for (at, input) in &inputs {
            if let Input::Leave(ticket) = input {
                self.replies.remove(ticket);
            }
            let step = self.parts.fleet.step(*at, input.clone());
            out.records.extend(step.records);
            out.effects.extend(step.effects);
            out.answers.extend(step.answers);
        }
        let mut records = std::mem::take(&mut out.records);
        if records.is_empty() {
            if !self.in_trouble() || inputs.iter().any(|(_, input)| *input != Input::Tick) {
                return self.let_out(out);
            }
            // Nothing waits to be stored, so only a probe can tell that there is room again.
            records.push(self.parts.fleet.probe());
        }
        match self.parts.journal.commit(records).await {
            Ok(()) => {
                self.parts.trouble.send_if_modified(|trouble| trouble.take().is_some());
                self.let_out(out);
            }
            Err(error) => self.fall_back(before, inputs, &error),
        }
    }

    /// Returns what the fleet must be told of the clock on the wall, whatever its charter goes by now: the batch may hold
    /// the first one that has hours.
    fn wall_moved(&self, now: Time) -> Option<Input> {
        let ahead = self.parts.clock.wall().0 as i64 - now.0 as i64;
        ((ahead - self.parts.fleet.wall_ahead()).abs() >= APART).then_some(Input::Wall(ahead))
    }

    fn in_trouble(&self) -> bool {
        self.parts.trouble.borrow().is_some()
    }

    /// Publishes the fleet, then does and tells what the committed step came to.
    fn let_out(&mut self, out: Step) {
        self.parts.published.send_replace(Arc::new(self.parts.fleet.clone()));
        for effect in out.effects {
            self.release(effect);
        }
        for (ticket, answer) in out.answers {
            self.tell(ticket, answer);
        }
    }

    fn fall_back(&mut self, before: Fleet, inputs: Vec<(Time, Input)>, error: &JournalError) {
        tracing::error!(%error, inputs = inputs.len(), "a commit failed; its callers are refused");
        self.parts.trouble.send_replace(Some(format!("store: {error}")));
        self.parts.fleet = before;
        for (at, input) in inputs {
            match &input {
                Input::Call { ticket, .. } => {
                    // What needs nothing stored, such as a wait, goes on; the rest was not accepted.
                    let ticket = *ticket;
                    if !self.try_unstored(input) {
                        let refusal = Refusal::new(RefusalKind::Unavailable, format!("nothing was accepted: {error}"))
                            .hint(
                                "make room or repair the store, then send it again; what was accepted before is safe",
                            );
                        self.tell(ticket, Err(refusal));
                    }
                }
                Input::Leave(ticket) => self.parts.fleet.leave(*ticket),
                // Time passes by itself, and the clock on the wall is looked at again.
                Input::Tick | Input::Wall(_) => {}
                _ => self.unstored.push_back((at, input)),
            }
        }
    }

    /// Steps an input if that needs no record; returns whether it did.
    fn try_unstored(&mut self, input: Input) -> bool {
        let mut fleet = self.parts.fleet.clone();
        let out = fleet.step(self.parts.clock.now(), input);
        let free = out.records.is_empty();
        if free {
            self.parts.fleet = fleet;
            self.let_out(out);
        }
        free
    }

    fn tell(&mut self, ticket: Ticket, answer: Result<Answer, Refusal>) {
        if let Some(reply) = self.replies.remove(&ticket) {
            // A caller that went away in this very moment needs no answer; its turn goes on.
            let _ = reply.send(answer);
        }
    }

    fn release(&self, effect: Effect) {
        match effect {
            Effect::Work(order) => self.parts.launchers.carry_out(order),
            Effect::Run(order) => self.parts.policy.run(order),
            Effect::Event(event) => self.parts.policy.event(event),
        }
    }
}
