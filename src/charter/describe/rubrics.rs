//! What a rubric is given and gives back: the task, the team with its roles, endpoints and workers, and the answer.
//! How rubrics are asked is in `rubric`; the fields of all other tables are in `fields`.

use super::{Field, field};

/// Fields of what a rubric gives back.
pub(in crate::charter) const ROUTED: &[Field] = &[
    field("role", "string?", "The role that gets it; this or `worker`."),
    field("worker", "string?", "The worker that gets it, of those in `team.workers`; this or `role`."),
    field("because", "string?", "Why, for people, cut to 200 characters; the rubric's own text if absent."),
];

/// Fields of a task, as a rubric sees it.
pub(in crate::charter) const TASK: &[Field] = &[
    field("prompt", "string", "The text."),
    field("kind", "string?", "The sender's free word for the kind of work."),
    field("files", "string[]", "The files that it is about, as its sender named them; empty if it named none."),
    field("from", "string", "Who sends: `leader`, `operator`, `run r3`."),
    field("urgent", "boolean", "True when it asks to go first."),
    field("now", "number", "When it is asked, in seconds since 1970."),
];

/// Fields of the team, as a rubric sees it.
pub(in crate::charter) const TEAM: &[Field] = &[
    field("roles", "table<string, fleet.Load>", "Every role by its name; a name that does not exist is an error."),
    field(
        "endpoints",
        "table<string, fleet.EndpointLoad>",
        "Every endpoint of fleetd.toml by its name, and those that a profile names; another name is an error.",
    ),
    field("workers", "table<string, fleet.WorkerLoad>", "Every living worker by its name; nil if it is gone."),
];

/// Fields of a role, as a rubric sees it.
pub(in crate::charter) const LOAD: &[Field] = &[
    field(
        "max_busy",
        "integer",
        "How many may be busy at once, by its hours now; while it is closed, how many by itself.",
    ),
    field("max_workers", "integer?", "How many may live at once, if the role says so."),
    field("busy", "integer", "How many are busy."),
    field(
        "free",
        "integer",
        "How many more could be handed something now; 0 while the role is closed or parked, or its endpoint full.",
    ),
    field("waiting", "integer", "How many turns wait in its queue, those of runs included."),
    field("max_waiting", "integer", "How many may wait."),
    field("workers", "integer", "Living workers."),
    field("open", "boolean", "False while its hours let it be handed nothing, or it is parked."),
    field(
        "until",
        "number?",
        "When its hours change that or `max_busy` next, or it is parked no longer, in seconds since 1970; nil if neither will.",
    ),
    field(
        "recent_failures",
        "integer",
        "Turns of the last ten minutes that failed, timed out (in its queue, too) or were lost.",
    ),
    field("used", "fleet.Used", "What its turns of the last hour took."),
];

/// Fields of an endpoint, as a rubric sees it.
pub(in crate::charter) const ENDPOINT_LOAD: &[Field] = &[
    field("max_busy", "integer?", "How many workers may be busy on it at once, all roles together; nil without a cap."),
    field("busy", "integer", "How many are busy."),
    field("free", "integer?", "How many more may be busy; nil without a cap."),
    field("recent_failures", "integer", "Turns of the last ten minutes that failed, timed out or were lost."),
    field("used", "fleet.Used", "What its turns of the last hour took."),
];

/// Fields of a worker, as a rubric sees it.
pub(in crate::charter) const WORKER_LOAD: &[Field] = &[
    field("role", "string", "Its role."),
    field("profile", "string", "Its profile."),
    field("state", "string", "What it is doing: `ready`, `busy`, `starting`, `blocked` and the like."),
    field("free", "boolean", "True when it could be handed something now."),
    field("turns", "integer", "Turns that it ended."),
    field(
        "knows",
        "string[]",
        "The `files` of the last turns of its session, the latest first, 32 at most; empty where each turn is a process of its own.",
    ),
];

/// Fields of what was used, as a rubric sees it.
pub(in crate::charter) const USED: &[Field] = &[
    field("turns", "integer", "Turns that ended, since fleetd started."),
    field("input", "integer", "Tokens read, those of the model's cache included, as far as agents tell them."),
    field("output", "integer", "Tokens written."),
    field("cost", "number", "US dollars."),
];
