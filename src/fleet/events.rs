//! Events for the charter's handlers, and the few actions that a handler may answer with.
//!
//! Events are told after the commit and at most once: a handler is a reaction, not a record. What must survive is
//! asked for by an action, which is an input like any other.

use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::ids::{MessageId, RecipeName, RoleName, RunId, TurnId, WorkerName};
use super::input::Effect;
use super::mail::{About, Message};
use super::record::{Event, Record};
use super::run::RunOutcome;
use super::state::{Cx, Fleet};
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::{Outcome, Turn, TurnState};

/// Something that a charter may react to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FleetEvent {
    /// A turn ended.
    TurnSettled {
        /// The turn.
        turn: TurnId,
        /// Who sent it: `leader`, `operator`, `run r3`.
        from: Sender,
        /// Who had it.
        worker: Option<WorkerName>,
        /// The role it waited for.
        role: RoleName,
        /// How it ended.
        outcome: Outcome,
        /// Why, unless it was replied to.
        why: Option<String>,
        /// True when it was itself a retry.
        retried: bool,
    },
    /// A run ended.
    RunEnded {
        /// The run.
        run: RunId,
        /// Its recipe.
        recipe: RecipeName,
        /// How it ended.
        outcome: RunOutcome,
        /// Why, unless it is done.
        why: Option<String>,
    },
    /// A worker is gone.
    WorkerGone {
        /// The worker.
        worker: WorkerName,
        /// Its role.
        role: RoleName,
        /// How that came.
        why: String,
    },
}

impl FleetEvent {
    /// The words under which `fleet.on` knows the events.
    pub const WORDS: [&'static str; 3] = ["turn_settled", "run_ended", "worker_gone"];

    /// Returns the word under which `fleet.on` knows this event.
    pub fn word(&self) -> &'static str {
        match self {
            FleetEvent::TurnSettled { .. } => "turn_settled",
            FleetEvent::RunEnded { .. } => "run_ended",
            FleetEvent::WorkerGone { .. } => "worker_gone",
        }
    }
}

/// What a handler may answer: exactly one of a fixed list, such as `{ action = "stop_worker", worker = "w-1" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Lay a notice into the leader's mailbox, and into the operator's.
    TellLeader {
        /// The notice.
        text: String,
    },
    /// Stop a worker after its present turn.
    StopWorker {
        /// The worker.
        worker: WorkerName,
    },
    /// Hand out nothing for a role for some time.
    ParkRole {
        /// The role.
        role: RoleName,
        /// For how long.
        r#for: Span,
    },
    /// Send a settled turn again as a new one; only what timed out or was lost, and only once.
    RetryTurn {
        /// The turn.
        turn: TurnId,
    },
}

/// Actions of one minute at most; a handler that answers its own effects would go round for ever.
const MOST_ACTIONS: usize = 60;

impl Fleet {
    pub(super) fn tell(&self, cx: &mut Cx, event: impl FnOnce() -> FleetEvent, word: &'static str) {
        if self.team.as_ref().is_some_and(|team| team.handlers.contains(word)) {
            cx.effect(Effect::Event(event()));
        }
    }

    pub(super) fn tell_turn_settled(&self, cx: &mut Cx, turn: &Turn, outcome: Outcome) {
        let event = || FleetEvent::TurnSettled {
            turn: turn.id,
            from: turn.sender,
            worker: turn.worker.clone(),
            role: self.queue_of(&turn.to),
            outcome,
            why: turn.why.clone(),
            retried: turn.retry_of.is_some(),
        };
        self.tell(cx, event, "turn_settled");
    }

    /// Does what a handler asked for, if it still makes sense.
    pub(super) fn act(&mut self, cx: &mut Cx, action: Action) {
        self.acted.retain(|at| cx.now.since(*at) < Span::minutes(1));
        if self.acted.len() >= MOST_ACTIONS {
            return;
        }
        self.acted.push_back(cx.now);
        if self.acted.len() == MOST_ACTIONS {
            let notice = format!("the charter's handlers acted {MOST_ACTIONS} times in a minute; the rest is ignored");
            self.notice(cx, notice);
            return;
        }
        match action {
            Action::TellLeader { text } => self.notice(cx, text),
            Action::StopWorker { worker } => self.stop_worker(cx, &worker, false, "stopped by the charter"),
            Action::ParkRole { role, r#for } => self.park(cx, role, cx.now + r#for),
            Action::RetryTurn { turn } => self.retry_turn(cx, turn),
        }
    }

    pub(super) fn notice(&mut self, cx: &mut Cx, text: String) {
        for to in [Sender::Leader, Sender::Operator] {
            self.notice_to(cx, to, text.clone());
        }
    }

    pub(super) fn notice_to(&mut self, cx: &mut Cx, to: Sender, text: String) {
        // Nobody depends on a notice, so it goes by itself when it is old.
        let (id, expires) = (MessageId(self.fresh()), cx.now + self.limits.key_ttl);
        let about = About::Notice(text);
        self.put_message(cx, Message { id, to, at: cx.now, about, shown: false, expires: Some(expires) });
        self.at(expires, Timer::Shown(to, id));
        self.tell_mail(cx, to);
    }

    fn park(&mut self, cx: &mut Cx, role: RoleName, until: Time) {
        self.parked.insert(role.clone(), until);
        self.at(until, Timer::Unpark(role.clone()));
        let what = format!("role {role} parked by the charter");
        cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
        cx.record(Record::Parked(role, Some(until)));
    }

    pub(super) fn unpark(&mut self, cx: &mut Cx, role: RoleName) {
        if self.parked.get(&role).is_some_and(|until| *until <= cx.now) {
            self.parked.remove(&role);
            cx.record(Record::Parked(role, None));
        }
    }

    fn retry_turn(&mut self, cx: &mut Cx, id: TurnId) {
        let Some(turn) = self.turns.get(&id).cloned() else { return };
        let again = self.turns.values().any(|other| other.retry_of == Some(id));
        let sensible = turn.outcome.is_some_and(Outcome::may_retry) && turn.retry_of.is_none() && !again;
        if !sensible || self.role_of(&turn.to).is_err() {
            return;
        }
        let span = turn.deadline.map(|deadline| deadline.since(turn.accepted));
        let id = TurnId(self.fresh());
        self.accept(cx, turn.again(id, cx.now, span, self.generation()));
    }
}

impl Turn {
    /// Returns a new turn that tries this one again, with the same prompt.
    pub(super) fn again(&self, id: TurnId, now: Time, deadline: Option<Span>, generation: u64) -> Turn {
        let tried = self.tried.iter().chain(&self.worker).cloned().collect();
        Turn {
            id,
            tried,
            accepted: now,
            deadline: deadline.map(|span| now + span),
            timeout: None,
            retry_of: Some(self.id),
            key: None,
            generation,
            state: TurnState::Queued,
            receipt: Vec::new(),
            worker: None,
            questions: Vec::new(),
            outcome: None,
            why: None,
            message: None,
            ..self.clone()
        }
    }
}
