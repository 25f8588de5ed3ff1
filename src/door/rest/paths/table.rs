//! The table of all paths, in the order in which the reference shows them.
//! What is done with it stands in `paths`; the texts are those of the OpenAPI document.

use std::sync::LazyLock;

use axum::http::Method;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::runs::RUNS;
use super::{Gives, Path, Shape, Takes};
use crate::door::intake::Nothing;
use crate::door::rest::charter::{CharterQuery, DifferenceRequest};
use crate::door::rest::health::Health;
use crate::door::rest::mail::{AckRequest, PollQuery};
use crate::door::rest::team::StopRequest;
use crate::door::rest::turns::{CancelRequest, Everything, StatusQuery, WaitQuery};
use crate::door::schema;
use crate::door::whoami::Whoami;
use crate::engine::ports::CharterStatus;
use crate::engine::requests::RouteRequest;
use crate::engine::requests::{
    Acked, AskRequest, Asked, Mail, Noted, PauseView, Pending, ReplyRequest, RunDetail, RunResult, SeatView,
    SendRequest, SpawnRequest, Trace,
};
use crate::engine::worktrees::{RemoveWorktreeRequest, TrashView, Worktrees};
use crate::fleet::difference::Difference;
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::TurnId;
use crate::fleet::mail::Question;
use crate::fleet::refusal::RefusalKind::{
    self, Conflict, KeyConflict, PeerUnreachable, QueueFull, Unavailable, Unknown,
};
use crate::fleet::rules::Verb;
use crate::fleet::team::Routed;
use crate::fleet::view::{Roster, TurnView, WorkerView};

pub(super) const SENT: &[RefusalKind] = &[Unknown, Conflict, KeyConflict, QueueFull, Unavailable];

/// All paths.
pub(in crate::door::rest) static PATHS: LazyLock<Vec<&Path>> = LazyLock::new(|| OTHERS.iter().chain(RUNS).collect());

const OTHERS: &[Path] = &[
    Path {
        method: Method::POST,
        path: "/message",
        verb: Verb::Send,
        does: "Sends a message to a worker, a role or the rubrics, and waits for the reply. Going away ends the wait, never the turn.",
        id: None,
        takes: Takes::Body(shape::<SendRequest>()),
        gives: &[
            gives::<Envelope>(200, "The turn ended; `outcome` says how."),
            gives::<Pending>(202, "The turn goes on: it asks something, or the wait is over."),
        ],
        refuses: SENT,
    },
    Path {
        method: Method::POST,
        path: "/v1/send",
        verb: Verb::Send,
        does: "Sends a message and answers at once with the stored turn; with `wait` it waits as `/message` does.",
        id: None,
        takes: Takes::Body(shape::<SendRequest>()),
        gives: &[
            gives::<Envelope>(200, "With `wait`: the turn ended; `outcome` says how."),
            gives::<TurnView>(202, "The turn is stored and says what it waits for."),
            gives::<Pending>(202, "With `wait`: the turn goes on."),
        ],
        refuses: SENT,
    },
    Path {
        method: Method::POST,
        path: "/v1/reply",
        verb: Verb::Answer,
        does: "Answers a question of a turn or a run, which then goes on. From a worker: the reply to its own turn.",
        id: None,
        takes: Takes::Body(shape::<ReplyRequest>()),
        gives: &[
            gives::<Question>(200, "The answered question."),
            gives::<Noted>(200, "To a worker: its reply is kept for the end of its turn."),
        ],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/ask",
        verb: Verb::Ask,
        does: "Only for workers: asks inside the turn that the worker has, and waits for the answer.",
        id: None,
        takes: Takes::Body(shape::<AskRequest>()),
        gives: &[
            gives::<Asked>(200, "The question with its answer."),
            gives::<Asked>(202, "The wait is over without an answer: ask the same again."),
        ],
        refuses: &[Unknown, Conflict, QueueFull, Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/cancel",
        verb: Verb::Cancel,
        does: "Withdraws a turn that waits, interrupts one that runs, or ends a run with all its turns. Give exactly one of both.",
        id: None,
        takes: Takes::Body(shape::<CancelRequest>()),
        gives: &[gives::<Envelope>(200, "The cancelled turn."), gives::<RunResult>(200, "The cancelled run.")],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/status",
        verb: Verb::Status,
        does: "Shows everybody and the health; or one turn, run or worker in full. At most one of them is given; `wait` needs a turn or a run.",
        id: None,
        takes: Takes::Query(schema::taken::<StatusQuery>),
        gives: &[
            gives::<Everything>(200, "Everybody, if nothing was asked for."),
            gives::<Trace>(200, "The turn."),
            gives::<RunDetail>(200, "The run."),
            gives::<WorkerView>(200, "The worker."),
            gives::<Envelope>(200, "With `wait`: the turn ended."),
            gives::<RunResult>(200, "With `wait`: the run ended."),
            gives::<Pending>(202, "With `wait`: it goes on."),
        ],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/turns/{id}",
        verb: Verb::Status,
        does: "Shows a turn with its receipt and its events.",
        id: Some(shape::<TurnId>()),
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<Trace>(200, "The turn.")],
        refuses: &[Unknown, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/turns/{id}/wait",
        verb: Verb::Status,
        does: "Waits for a turn to end or to ask.",
        id: Some(shape::<TurnId>()),
        takes: Takes::Query(schema::taken::<WaitQuery>),
        gives: &[
            gives::<Envelope>(200, "The turn ended; `outcome` says how."),
            gives::<Pending>(202, "The turn goes on: it asks something, or the wait is over."),
        ],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/poll",
        verb: Verb::Poll,
        does: "Shows what waits in the caller's mailbox, until it is acknowledged. With `wait` a long poll.",
        id: None,
        takes: Takes::Query(schema::taken::<PollQuery>),
        gives: &[gives::<Mail>(200, "What waits; it may be nothing.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/ack",
        verb: Verb::Ack,
        does: "Collects messages from the caller's mailbox: they are not shown again.",
        id: None,
        takes: Takes::Body(shape::<AckRequest>()),
        gives: &[gives::<Acked>(200, "What was collected, and what did not wait.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/whoami",
        verb: Verb::Whoami,
        does: "Tells who the caller is and what it may do. Open to everybody.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<Whoami>(200, "Who the caller is.")],
        refuses: &[],
    },
    Path {
        method: Method::GET,
        path: "/v1/list",
        verb: Verb::List,
        does: "Lists roles with their load, workers and open turns.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<Roster>(200, "Everybody.")],
        refuses: &[],
    },
    Path {
        method: Method::POST,
        path: "/v1/spawn",
        verb: Verb::Spawn,
        does: "Starts a worker and answers when it is ready.",
        id: None,
        takes: Takes::Body(shape::<SpawnRequest>()),
        gives: &[gives::<WorkerView>(200, "The worker.")],
        refuses: &[Unknown, Conflict, KeyConflict, QueueFull, PeerUnreachable, Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/stop",
        verb: Verb::Stop,
        does: "Stops a worker: after its present turn, or at once.",
        id: None,
        takes: Takes::Body(shape::<StopRequest>()),
        gives: &[gives::<WorkerView>(200, "The worker.")],
        refuses: &[Unknown, Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/route",
        verb: Verb::Route,
        does: "Asks the rubrics where a message would go, and why. Without effect.",
        id: None,
        takes: Takes::Body(shape::<RouteRequest>()),
        gives: &[gives::<Routed>(200, "Where it would go.")],
        refuses: &[Unknown, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/charter",
        verb: Verb::Charter,
        does: "Shows the charter generation in force, its files, what it changed, and why the newest ones were not taken.",
        id: None,
        takes: Takes::Query(schema::taken::<CharterQuery>),
        gives: &[gives::<CharterStatus>(200, "The state of the charter.")],
        refuses: &[],
    },
    Path {
        method: Method::POST,
        path: "/v1/charter/diff",
        verb: Verb::Charter,
        does: "Tells in words what files would change if they were the charter's. They are loaded for it, without effect.",
        id: None,
        takes: Takes::Body(shape::<DifferenceRequest>()),
        gives: &[gives::<Difference>(200, "What they would change.")],
        refuses: &[],
    },
    Path {
        method: Method::POST,
        path: "/v1/charter/reload",
        verb: Verb::Reload,
        does: "Reads the charter directory and loads it if it changed. A charter that is refused changes nothing.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<CharterStatus>(200, "The state of the charter.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/openapi.json",
        verb: Verb::Whoami,
        does: "Describes this door: this very document. Open to everybody.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<Map<String, Value>>(200, "The document.")],
        refuses: &[],
    },
    Path {
        method: Method::GET,
        path: "/v1/worktrees",
        verb: Verb::List,
        does: "Lists the worktrees of workers: those that stand, with what keeps them, and those in the trash.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<Worktrees>(200, "The worktrees.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/worktrees/remove",
        verb: Verb::Stop,
        does: "Moves the worktree of a worker that is gone to the trash; refuses with every reason if work could be lost.",
        id: None,
        takes: Takes::Body(shape::<RemoveWorktreeRequest>()),
        gives: &[gives::<TrashView>(200, "It is in the trash.")],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/seat",
        verb: Verb::Seat,
        does: "Shows who sits in the leader's seat.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<SeatView>(200, "The seat.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/seat/release",
        verb: Verb::Release,
        does: "Frees the leader's seat; what waits for the leader waits for the next one.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<SeatView>(200, "The seat, free.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/pause",
        verb: Verb::Pause,
        does: "Hands nothing to any worker from now on, and types nothing. What runs goes on, what is sent waits; it stays so over a restart.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<PauseView>(200, "It is paused.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/resume",
        verb: Verb::Resume,
        does: "Hands out again, also for roles that the charter has parked.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<PauseView>(200, "It is not paused.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/healthz",
        verb: Verb::Health,
        does: "Tells how the daemon does. Open to everybody.",
        id: None,
        takes: Takes::Nothing,
        gives: &[gives::<Health>(200, "It takes work."), gives::<Health>(503, "It takes no work.")],
        refuses: &[],
    },
    Path {
        method: Method::GET,
        path: "/metrics",
        verb: Verb::Metrics,
        does: "The metrics as Prometheus text. Open to everybody.",
        id: None,
        takes: Takes::Nothing,
        gives: &[text(200, "The metrics.")],
        refuses: &[],
    },
];

pub(super) const fn shape<T: JsonSchema>() -> Shape {
    SchemaGenerator::subschema_for::<T>
}

pub(super) const fn gives<T: JsonSchema>(status: u16, when: &'static str) -> Gives {
    Gives { status, when, shape: Some(shape::<T>()) }
}

const fn text(status: u16, when: &'static str) -> Gives {
    Gives { status, when, shape: None }
}
