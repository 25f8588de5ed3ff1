//! What a handler of an event may want done: one action of a fixed list, so many a minute, and only if it still makes
//! sense. What happened is told by `events`.

use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::events::FleetEvent;
use super::ids::{MessageId, RoleName, TurnId, WorkerName};
use super::mail::{About, Message};
use super::record::{Event, Record};
use super::state::{Cx, Fleet};
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::{Outcome, Turn, TurnState};

/// What a handler may answer: exactly one of a fixed list, such as `{ action = "stop_worker", worker = "w-1" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Lay a notice into the leader's mailbox, and into the operator's.
    TellLeader {
        /// The notice.
        text: String,
    },
    /// Stop a worker after its present turn, or at once.
    StopWorker {
        /// The worker.
        worker: WorkerName,
        /// At once: the turn that it has is lost, and may be tried on another one.
        #[serde(default)]
        now: bool,
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
            Action::StopWorker { worker, now } => self.stop_worker(cx, &worker, now, "stopped by the charter"),
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
        self.tell(cx, || FleetEvent::RoleParked { role: role.clone(), until }, "role_parked");
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
        let is_first = turn.retry_of.is_none() && turn.retried_as.is_none();
        let sensible = turn.outcome.is_some_and(Outcome::may_retry) && is_first;
        if !sensible || !self.may_wait_again(&turn.to) {
            return;
        }
        let span = turn.deadline.map(|deadline| deadline.since(turn.accepted));
        let id = TurnId(self.fresh());
        // Noted on the turn itself: the other try may long be collected when somebody asks again.
        self.put_turn(cx, Turn { retried_as: Some(id), ..(*turn).clone() });
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
            retried_as: None,
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
