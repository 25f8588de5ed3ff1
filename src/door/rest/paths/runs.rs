//! The paths of recipes and their runs.
//! The other ones, and how they are looked up, are beside this file.

use axum::http::Method;

use super::table::{SENT, gives, shape};
use super::{Path, Takes};
use crate::door::intake::Nothing;
use crate::door::rest::runs::{ReplayQuery, Runs, RunsQuery};
use crate::door::rest::turns::WaitQuery;
use crate::door::schema;
use crate::engine::requests::{Pending, Recipes, Replayed, ResumeRequest, RunDetail, RunRequest, RunResult};
use crate::fleet::ids::RunId;
use crate::fleet::refusal::RefusalKind::{Conflict, QueueFull, Unavailable, Unknown};
use crate::fleet::rules::Verb;
use crate::fleet::run::Run;

/// All of them.
pub(super) const RUNS: &[Path] = &[
    Path {
        method: Method::GET,
        path: "/v1/runs/{id}",
        verb: Verb::Status,
        does: "Shows a run with its value, its steps and its open questions.",
        id: Some(shape::<RunId>()),
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<RunDetail>(200, "The run.")],
        refuses: &[Unknown, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/runs/{id}/replay",
        verb: Verb::Status,
        does: "Goes through the journal of a run without doing anything: where each step's answer comes from, and where it stops.",
        id: Some(shape::<RunId>()),
        takes: Takes::Query(schema::taken::<ReplayQuery>),
        gives: &[gives::<Replayed>(200, "What it came to.")],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/runs/{id}/resume",
        verb: Verb::Run,
        does: "Lets a run go on that failed, from its finished steps, with the charter in force or the one that it began with.",
        id: Some(shape::<RunId>()),
        takes: Takes::Body(shape::<ResumeRequest>()),
        gives: &[gives::<Run>(202, "The run, which goes on.")],
        refuses: &[Unknown, Conflict, QueueFull, Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/runs/{id}/wait",
        verb: Verb::Status,
        does: "Waits for a run to end or to ask.",
        id: Some(shape::<RunId>()),
        takes: Takes::Query(schema::taken::<WaitQuery>),
        gives: &[
            gives::<RunResult>(200, "The run ended; `outcome` says how."),
            gives::<Pending>(202, "The run goes on: it asks something, or the wait is over."),
        ],
        refuses: &[Unknown, Conflict, Unavailable],
    },
    Path {
        method: Method::POST,
        path: "/v1/run",
        verb: Verb::Run,
        does: "Starts a recipe and answers at once with the stored run; with `wait` it waits for the end.",
        id: None,
        takes: Takes::Body(shape::<RunRequest>()),
        gives: &[
            gives::<RunResult>(200, "With `wait`: the run ended; `outcome` says how."),
            gives::<Run>(202, "The run is stored."),
            gives::<Pending>(202, "With `wait`: the run goes on."),
        ],
        refuses: SENT,
    },
    Path {
        method: Method::GET,
        path: "/v1/runs",
        verb: Verb::Status,
        does: "Lists the newest runs.",
        id: None,
        takes: Takes::Query(schema::taken::<RunsQuery>),
        gives: &[gives::<Runs>(200, "The runs.")],
        refuses: &[Unavailable],
    },
    Path {
        method: Method::GET,
        path: "/v1/recipes",
        verb: Verb::Recipes,
        does: "Lists the recipes of the charter in force, with the schema of their job.",
        id: None,
        takes: Takes::Query(schema::taken::<Nothing>),
        gives: &[gives::<Recipes>(200, "The recipes.")],
        refuses: &[Unavailable],
    },
];
