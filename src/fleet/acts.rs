//! What a handler of an event may want done: one action of a fixed list, so many a minute, and only if it still makes
//! sense. What happened is told by `events`.

use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::events::FleetEvent;
use super::ids::{MessageId, RoleName, TurnId, WorkerName};
use super::mail::{About, Message};
use super::record::{Event, Record};
use super::refusal::Refusal;
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
/// Notices that a mailbox keeps; the oldest goes for the next one.
const MOST_NOTICES: usize = 1_000;
/// Characters of a notice: it is read by people and held in memory.
const LONGEST_NOTICE: usize = 4_000;

impl Fleet {
    /// Does what a handler asked for, if it still makes sense.
    pub(super) fn act(&mut self, cx: &mut Cx, action: Action) {
        if !self.may_act(cx) {
            return;
        }
        match action {
            Action::TellLeader { text } => self.notice(cx, text),
            Action::StopWorker { worker, now } => self.stop_worker(cx, &worker, now, "stopped by the charter"),
            Action::ParkRole { role, r#for } => self.park(cx, role, cx.now + r#for),
            Action::RetryTurn { turn } => self.retry_turn(cx, turn),
        }
    }

    /// Counts an action. What a storm asks for beyond the bound is not done, and that is told once a storm: it has ended
    /// when nothing was too much for a minute.
    fn may_act(&mut self, cx: &mut Cx) -> bool {
        self.acted.retain(|at| cx.now.since(*at) < Span::minutes(1));
        if self.acted.len() < MOST_ACTIONS {
            self.acted.push_back(cx.now);
            return true;
        }
        let is_new = self.storm.is_none_or(|last| cx.now.since(last) >= Span::minutes(1));
        self.storm = Some(cx.now);
        if is_new {
            let more = format!("the charter's handlers want more than {MOST_ACTIONS} actions in a minute");
            self.notice(cx, format!("{more}; as long as they do, {MOST_ACTIONS} of each minute are done"));
        }
        false
    }

    pub(super) fn notice(&mut self, cx: &mut Cx, mut text: String) {
        if let Some((end, _)) = text.char_indices().nth(LONGEST_NOTICE) {
            text.truncate(end);
            text.push('…');
        }
        for to in [Sender::Leader, Sender::Operator] {
            self.notice_to(cx, to, text.clone());
        }
    }

    pub(super) fn notice_to(&mut self, cx: &mut Cx, to: Sender, text: String) {
        // Nobody depends on a notice, so it goes by itself when it is old, or when there are too many.
        let lying = self.messages.range((to, MessageId(0))..=(to, MessageId(u64::MAX)));
        let mut notices =
            lying.filter(|(_, message)| matches!(message.about, About::Notice(_))).map(|((_, id), _)| *id);
        if let (Some(oldest), true) = (notices.next(), notices.count() + 1 >= MOST_NOTICES) {
            self.drop_message(cx, to, oldest);
        }
        let (id, expires) = (MessageId(self.fresh()), cx.now + self.limits.key_ttl);
        let about = About::Notice(text);
        self.put_message(cx, Message { id, to, at: cx.now, about, shown: false, expires: Some(expires) });
        self.at(expires, Timer::Shown(to, id));
        self.tell_mail(cx, to);
    }

    fn park(&mut self, cx: &mut Cx, role: RoleName, until: Time) {
        let roles = self.team.iter().flat_map(|team| team.roles.keys());
        if !roles.clone().any(|known| *known == role) {
            let unknown = Refusal::unknown("role", role.as_str(), roles.map(|role| role.as_str()));
            return self.notice(cx, format!("a handler of the charter wants to park a role: {unknown}"));
        }
        self.parked.insert(role.clone(), until);
        self.at(until, Timer::Unpark(role.clone()));
        self.tell(cx, || FleetEvent::RoleParked { role: role.clone(), until }, "role_parked");
        let what = format!("role {role} parked by the charter");
        cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
        cx.record(Record::Parked(role, Some(until)));
    }

    /// The time of a parked role is over.
    pub(super) fn unpark(&mut self, cx: &mut Cx, role: RoleName) {
        if self.parked.get(&role).is_some_and(|until| *until <= cx.now) {
            self.go_on(cx, role);
        }
    }

    /// A parked role goes on before its time.
    pub(super) fn go_on(&mut self, cx: &mut Cx, role: RoleName) {
        if self.parked.remove(&role).is_some() {
            cx.record(Record::Parked(role, None));
        }
    }

    fn retry_turn(&mut self, cx: &mut Cx, id: TurnId) {
        let Some(turn) = self.turns.get(&id).cloned() else { return };
        let is_first = turn.retry_of.is_none() && turn.retried_as.is_none();
        let sensible = turn.outcome.is_some_and(Outcome::may_retry) && is_first;
        if !sensible || !self.may_wait_again(turn.sent_to()) {
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
    /// Returns a new turn that tries this one again, with the same prompt, where its sender sent it: of an answer that was
    /// being corrected another worker knows nothing.
    pub(super) fn again(&self, id: TurnId, now: Time, deadline: Option<Span>, generation: u64) -> Turn {
        let tried = self.tried.iter().chain(&self.worker).cloned().collect();
        Turn {
            id,
            to: self.sent_to().clone(),
            priority: self.amends.as_ref().map_or(self.priority, |amends| amends.priority),
            amends: None,
            because: self.because.clone().filter(|_| self.amends.is_none()),
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
