//! Everything that can reach the fleet, everything it can want done, and everything it answers.
//! Only types and no rule: a new way into or out of the fleet begins here.

use std::sync::Arc;

use serde_json::Value;

use super::acts::Action;
pub use super::answer::Answer;
use super::caller::Caller;
use super::envelope::Finish;
use super::events::FleetEvent;
use super::ids::{Key, MessageId, ProfileName, QuestionId, RecipeName, RoleName, RunId, Ticket, TurnId, WorkerName};
use super::record::Record;
use super::refusal::Refusal;
use super::resume::Resumed;
use super::routing::Decision;
use super::run::{RunEffect, RunInput};
use super::seat::Sitter;
use super::shape::Shape;
use super::team::{Address, Team};
use super::time::{Span, Time};
use super::turn::{Priority, Turn};
use super::worker::{Process, Worker};

/// One thing that happens to the fleet.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A caller wants something; the answer goes to the ticket, now or later.
    Call {
        /// Where the answer goes.
        ticket: Ticket,
        /// Who wants it.
        caller: Caller,
        /// What.
        call: Call,
    },
    /// A waiting caller went away; its turn goes on.
    Leave(Ticket),
    /// A launcher saw something.
    Seen(Sighting),
    /// A new generation of the charter is in force.
    Team(Arc<Team>),
    /// A run's code reached a step or its end.
    Run(RunInput),
    /// A handler of the charter answered an event.
    Act(Action),
    /// There is something to tell the leader and the operator, such as that newer files are not taken.
    Notice(String),
    /// Time has passed.
    Tick,
    /// How far the clock on the wall is ahead of the fleet's time, in milliseconds: the one was set, or the machine slept,
    /// which the other does not count. Only hours go by it.
    Wall(i64),
    /// The daemon is shutting down: hand out nothing more.
    Drain,
    /// The process that sat in the seat has ended.
    SeatGone(Process),
    /// The sessions of the last daemon are not adopted: they go, and what they had is lost. Only before the engine runs:
    /// `resume` gives the orders.
    Reap,
}

/// What a caller wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Send a message; answered as soon as it is stored.
    Send(SendCall),
    /// Wait for a turn to end or to ask.
    WaitTurn {
        /// The turn.
        turn: TurnId,
        /// How long at most.
        until: Time,
    },
    /// Wait for a run to end or to ask.
    WaitRun {
        /// The run.
        run: RunId,
        /// How long at most.
        until: Time,
    },
    /// Withdraw or interrupt a turn.
    CancelTurn(TurnId),
    /// End a run.
    CancelRun(RunId),
    /// Read the caller's mailbox.
    Poll {
        /// Only what came after this one.
        after: Option<MessageId>,
        /// How many at most.
        limit: usize,
        /// How long to wait if there is nothing.
        until: Option<Time>,
    },
    /// Collect messages.
    Ack(Vec<MessageId>),
    /// Answer a question.
    Answer {
        /// The question, or the turn that has exactly one open.
        question: Asked,
        /// The answer.
        text: Arc<str>,
    },
    /// Start a worker.
    Spawn {
        /// Its role.
        role: RoleName,
        /// Its profile; the role's first if absent.
        profile: Option<ProfileName>,
        /// Idempotency key with what it came with.
        key: Option<Keyed>,
    },
    /// Stop a worker.
    Stop {
        /// The worker.
        worker: WorkerName,
        /// At once, or after its present turn.
        kill: bool,
    },
    /// Start a recipe.
    StartRun(RunCall),
    /// Let a run go on that failed.
    ResumeRun(Box<Resumed>),
    /// A worker asks inside its own turn and waits for the answer.
    Ask {
        /// The turn; the one it has if absent.
        turn: Option<TurnId>,
        /// The question.
        text: Arc<str>,
        /// How long it waits at most.
        until: Time,
        /// The request of a session by which it came.
        request: Option<Key>,
    },
    /// A worker gives its reply to its own turn; the last one before the turn's end counts.
    Reply {
        /// The turn; the one it has if absent.
        turn: Option<TurnId>,
        /// The reply.
        text: Arc<str>,
    },
    /// Take the seat, or keep it.
    TakeSeat(Sitter),
    /// Free the seat.
    ReleaseSeat,
    /// Hand out nothing from now on.
    Pause,
    /// Hand out again.
    Unpause,
    /// Wait on for what a request of a session began, after the connection broke.
    Resume {
        /// The request.
        request: Key,
        /// How long at most.
        until: Time,
    },
}

/// An idempotency key with what it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub key: Key,
    /// The hash of verb and body, so that the same key with another body is noticed.
    pub body: String,
    /// The request of a session by which the call came: a second key, under which a client that was cut off finds
    /// what it began.
    pub request: Option<Key>,
}

/// Which question is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// This one.
    Question(QuestionId),
    /// The only open one of this turn.
    Turn(TurnId),
}

/// A send, with the address already found.
#[derive(Clone, Debug, PartialEq)]
pub struct SendCall {
    /// Where it goes.
    pub to: Address,
    /// Why the rubrics sent it there.
    pub because: Option<String>,
    /// The prompt.
    pub prompt: Arc<str>,
    /// What the rubrics said, if they were asked.
    pub routed: Option<Box<Decision>>,
    /// A free word for the kind of work.
    pub kind: Option<String>,
    /// The files that it is about.
    pub files: Vec<String>,
    /// Whether it goes first.
    pub priority: Priority,
    /// From acceptance to settlement.
    pub deadline: Option<Span>,
    /// What the answer must be, if anything.
    pub shape: Option<Arc<Shape>>,
    /// Idempotency key with what it came with.
    pub key: Option<Keyed>,
}

/// A start of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCall {
    /// The recipe.
    pub recipe: RecipeName,
    /// Its job, checked against the recipe's input.
    pub job: Arc<Value>,
    /// Shorter than the recipe's own, if wanted.
    pub deadline: Option<Span>,
    /// Idempotency key with what it came with.
    pub key: Option<Keyed>,
}

/// What a launcher saw. Every sighting may come late, twice or never.
#[derive(Clone, Debug, PartialEq)]
pub enum Sighting {
    /// The worker's pane-exec runs: from now on it is known by its process.
    Began {
        /// The worker.
        worker: WorkerName,
        /// Its pane-exec.
        process: Process,
    },
    /// The worker has called in and is idle.
    Up {
        /// The worker.
        worker: WorkerName,
    },
    /// The worker did not come up.
    NotUp {
        /// The worker.
        worker: WorkerName,
        /// Why, with the last lines of its screen if there is one.
        why: String,
    },
    /// The text was proven to have been taken.
    Taken {
        /// The worker.
        worker: WorkerName,
        /// The turn.
        turn: TurnId,
        /// The pane-exec above it.
        process: Option<Process>,
    },
    /// The turn ended; `idle` says that the worker can take the next one.
    Finished {
        /// The worker.
        worker: WorkerName,
        /// The turn.
        turn: TurnId,
        /// How.
        finish: Box<Finish>,
        /// Whether nothing of the turn runs any more.
        idle: bool,
    },
    /// Nothing of the turn was typed, and nothing will be by this hand: somebody's draft or a dialog is in the way.
    Held {
        /// The worker.
        worker: WorkerName,
        /// The turn.
        turn: TurnId,
        /// Which hand this answers: how often the turn had been handed out by then.
        hand: usize,
        /// What is in the way.
        why: String,
    },
    /// The worker was seen idle.
    Idle {
        /// The worker.
        worker: WorkerName,
    },
    /// A dialog or somebody's draft is in the way of the next text.
    Blocked {
        /// The worker.
        worker: WorkerName,
        /// What is in the way.
        why: String,
    },
    /// Nothing can be seen of the worker or typed to it now; its processes may live.
    Unreachable {
        /// The worker.
        worker: WorkerName,
        /// Why.
        why: String,
    },
    /// The session must not go on: it is stopped, and the leader told.
    Broke {
        /// The worker.
        worker: WorkerName,
        /// Why.
        why: String,
    },
    /// What was in the way is not any more.
    Clear {
        /// The worker.
        worker: WorkerName,
    },
    /// What came of an order to tell the leader that something waits.
    Nudged {
        /// The leader.
        leader: Process,
        /// What came of it.
        how: Nudged,
    },
    /// How much memory the machine has left, as was asked for.
    Memory {
        /// Bytes that can be had without taking them from others; none where the machine does not tell.
        available: Option<u64>,
    },
    /// The worker's whole tree is proven dead.
    Gone {
        /// The worker.
        worker: WorkerName,
        /// The number of its session: another one of the same name may be on its way already.
        session: u64,
        /// How that came.
        why: String,
    },
}

/// What came of an order to tell the leader that something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nudged {
    /// The line was typed and entered.
    Typed,
    /// Not now, and why: the leader works, or somebody's draft or a dialog is in the way.
    NotNow(String),
    /// No pane of this leader can be found, and why.
    NoPane(String),
}

/// Something the fleet wants done; released only after the records of its step are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// For the launchers.
    Work(WorkEffect),
    /// For the executor of runs.
    Run(RunEffect),
    /// For the charter's handlers.
    Event(FleetEvent),
}

/// An order to a launcher. Each is idempotent: it may be given again after a restart.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkEffect {
    /// Bring the worker up, then report `Up` or `NotUp`.
    Start(Arc<Worker>),
    /// Look after this session, which was up: report what is in its way, or that it is `Gone`.
    Watch(Arc<Worker>),
    /// Give the worker this turn; if it has it already, find out how it stands.
    Hand(Arc<Worker>, Arc<Turn>),
    /// The worker gave its own reply to this turn, so the turn ends as soon as the worker is idle.
    Replied(Arc<Worker>, TurnId),
    /// Make the worker stop this turn, then report `Idle`, `Finished` or `Gone`.
    Interrupt(Arc<Worker>, TurnId),
    /// End the worker's whole tree, then report `Gone`.
    Stop(Arc<Worker>),
    /// The turn's end is stored; what was kept for a restart may go.
    Forget(TurnId),
    /// Tell this leader by one line in its pane that so many things wait, if it is idle; then report `Nudged`.
    Nudge(Process, usize),
    /// Type nothing any more, or type again: what was given and is not typed yet is reported as `Held`.
    Pause(bool),
    /// Report how much memory the machine has left.
    Memory,
}

/// What a step of the fleet came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// To be stored first, together.
    pub records: Vec<Record>,
    /// To be done after that.
    pub effects: Vec<Effect>,
    /// To be told after that.
    pub answers: Vec<(Ticket, Result<Answer, Refusal>)>,
}
