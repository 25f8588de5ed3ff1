//! Events for the charter's handlers: what happened in the fleet, as far as a charter may react to it.
//!
//! Events are told after the commit and at most once: a handler is a reaction, not a record. What must survive is
//! asked for by an action, which is an input like any other (`acts`).

use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::ids::{ProfileName, QuestionId, RecipeName, RoleName, RunId, TurnId, WorkerName};
use super::input::Effect;
use super::mail::{Asker, Question};
use super::run::RunOutcome;
use super::state::{Cx, Fleet};
use super::time::Time;
use super::turn::{Outcome, Turn};
use super::worker::{Worker, WorkerState};

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
    /// A worker can take its first turn.
    WorkerReady {
        /// The worker.
        worker: WorkerName,
        /// Its role.
        role: RoleName,
        /// Its profile.
        profile: ProfileName,
    },
    /// Nothing can be typed to a worker: a dialog is open, or it cannot be reached.
    WorkerBlocked {
        /// The worker.
        worker: WorkerName,
        /// Its role.
        role: RoleName,
        /// What is in the way.
        why: String,
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
    /// A question waits for somebody outside of the fleet.
    QuestionAsked {
        /// The question.
        question: QuestionId,
        /// For whom: `leader` or `operator`.
        to: Sender,
        /// The turn in which a worker asks.
        turn: Option<TurnId>,
        /// The run that asks.
        run: Option<RunId>,
        /// Who asks, if it is a worker.
        worker: Option<WorkerName>,
        /// The question's text.
        text: String,
    },
    /// As many messages wait for a role as may.
    RoleFull {
        /// The role.
        role: RoleName,
        /// How many wait.
        waiting: u32,
    },
    /// Nothing is handed out for a role for some time.
    RoleParked {
        /// The role.
        role: RoleName,
        /// Until when.
        until: Time,
    },
    /// The leader's seat was taken or is free.
    SeatChanged {
        /// Whether somebody sits in it.
        taken: bool,
        /// How that came.
        why: String,
    },
    /// Nothing is handed to any worker any more, or again.
    PauseChanged {
        /// Whether it is a pause.
        paused: bool,
        /// Who wanted it.
        by: Sender,
    },
}

impl FleetEvent {
    /// The words under which `fleet.on` knows the events.
    pub const WORDS: [&'static str; 10] = [
        "turn_settled",
        "run_ended",
        "worker_ready",
        "worker_blocked",
        "worker_gone",
        "question_asked",
        "role_full",
        "role_parked",
        "seat_changed",
        "pause_changed",
    ];

    /// Returns the word under which `fleet.on` knows this event.
    pub fn word(&self) -> &'static str {
        match self {
            FleetEvent::TurnSettled { .. } => "turn_settled",
            FleetEvent::RunEnded { .. } => "run_ended",
            FleetEvent::WorkerReady { .. } => "worker_ready",
            FleetEvent::WorkerBlocked { .. } => "worker_blocked",
            FleetEvent::WorkerGone { .. } => "worker_gone",
            FleetEvent::QuestionAsked { .. } => "question_asked",
            FleetEvent::RoleFull { .. } => "role_full",
            FleetEvent::RoleParked { .. } => "role_parked",
            FleetEvent::SeatChanged { .. } => "seat_changed",
            FleetEvent::PauseChanged { .. } => "pause_changed",
        }
    }
}

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

    /// Tells what a change of a worker's row means for others: it came up, or something is in its way.
    pub(super) fn tell_worker(&self, cx: &mut Cx, before: Option<&Worker>, now: &Worker) {
        let (worker, role) = (now.name.clone(), now.role.clone());
        let was = before.map(|before| &before.state);
        match &now.state {
            WorkerState::Ready if was.is_none_or(|was| *was == WorkerState::Starting) => {
                let profile = now.profile.name.clone();
                self.tell(cx, || FleetEvent::WorkerReady { worker, role, profile }, "worker_ready");
            }
            WorkerState::Blocked(why) | WorkerState::Unreachable(why) if was != Some(&now.state) => {
                let why = why.clone();
                self.tell(cx, || FleetEvent::WorkerBlocked { worker, role, why }, "worker_blocked");
            }
            _ => {}
        }
    }

    /// Tells of a question that waits for the leader or the operator.
    pub(super) fn tell_question(&self, cx: &mut Cx, question: &Question, to: Sender) {
        let (turn, run) = match &question.asker {
            Asker::Turn(turn) => (Some(*turn), None),
            Asker::Step { run, .. } => (None, Some(*run)),
        };
        let worker = turn.and_then(|turn| self.turns.get(&turn)).and_then(|turn| turn.worker.clone());
        let event = || FleetEvent::QuestionAsked {
            question: question.id,
            to,
            turn,
            run,
            worker,
            text: question.text.to_string(),
        };
        self.tell(cx, event, "question_asked");
    }

    /// Tells that a queue has become full with the message that was just accepted.
    pub(super) fn tell_if_full(&self, cx: &mut Cx, role: &RoleName) {
        let most = self.team.as_ref().and_then(|team| team.roles.get(role)).map_or(0, |role| role.max_waiting);
        let waiting = self.queues.get(role).map_or(0, |queue| queue.len_without_runs());
        if waiting == most as usize {
            self.tell(cx, || FleetEvent::RoleFull { role: role.clone(), waiting: most }, "role_full");
        }
    }
}
