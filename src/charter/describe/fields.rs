//! The fields of the tables that a charter writes or that a run is given, with their types and what they do.
//! Which function takes or gives which table is said beside the function, in `describe`.

use super::Field;

pub(super) const fn field(name: &'static str, kind: &'static str, about: &'static str) -> Field {
    Field { name, kind, about }
}

/// Fields of `fleet.profile`.
pub(in crate::charter) const PROFILE: &[Field] = &[
    field("about", "string?", "What it is for, for people."),
    field(
        "launcher",
        "string",
        "How the worker is started and read: `\"exec\"` (a command for each turn, which gets the prompt on stdin and answers on stdout), `\"typed\"` (an interactive program in a pane, which is typed to), or another of the launchers below, or one that the charter declares by `fleet.launcher`.",
    ),
    field("command", "string[]?", "Program and arguments, started without a shell; where the launcher leaves it open."),
    field("model", "string?", "The model that the agent is told to use."),
    field(
        "endpoint",
        "string?",
        "The name of an endpoint of fleetd.toml, whose address and key the agent gets; the agent's own default if absent. A charter never writes an address.",
    ),
    field("options", "table?", "What else its launcher lets one choose; see there."),
    field("cwd", "string?", "Working directory; the daemon's own if absent."),
    field(
        "env",
        "table<string, string>?",
        "Variables that are added to the worker's small environment. `@{fleet.endpoint.url}` and `@{fleet.endpoint.key}` stand for the address and the key of the profile's `endpoint`; no other address may stand here.",
    ),
    field("timeout", "string|number|nil", "From the start of the process to its exit, such as `\"30s\"`."),
    field("idle_ttl", "string|number|nil", "How long an idle worker that started by itself stays."),
    field(
        "context_cap",
        "fleet.ContextCap?",
        "How full the session of a worker may become. One that is asked for a hand-over note and is given a fresh session under the same name, which begins with that note.",
    ),
    field(
        "restarts",
        "fleet.Restarts?",
        "How many sessions that a role started by itself may fail, before it starts no more until one is spawned by hand or the profile is changed; `{ failures = 5, within = \"10m\" }` if absent.",
    ),
    field("typing", "fleet.Typing?", "How a `typed` worker is typed to, and what its screen shows."),
    field(
        "worktree",
        "boolean|fleet.Worktree|nil",
        "A git worktree for each of its workers, on a branch of its own, made from the repository that `cwd` lies in. It goes when its worker does, unless work could be lost: then it is kept, and `fleetd worktrees` says why. Not for `exec`.",
    ),
    field(
        "grants",
        "string[]?",
        "What its workers may do inside their turn beside printing: `\"reply\"` (give the reply by a call), `\"ask\"` (ask whoever sent it). Both if absent; a list narrows, `{}` grants nothing.",
    ),
];

/// Fields of `context_cap` in a profile.
pub(in crate::charter) const CONTEXT_CAP: &[Field] = &[
    field("turns", "integer?", "Turns at most."),
    field("tokens", "integer?", "Tokens of its context at most, where the agent tells them with each turn."),
];

/// Fields of `restarts` in a profile.
pub(in crate::charter) const RESTARTS: &[Field] = &[
    field("failures", "integer?", "So many failures; 5 if absent."),
    field("within", "string|number|nil", "Within this time; `\"10m\"` if absent."),
];

/// Fields of `typing` in a profile.
pub(in crate::charter) const TYPING: &[Field] = &[
    field(
        "prompt",
        "string[]?",
        "What the line begins with into which people write; `\"> \"`, `\"❯ \"` and `\"› \"` if absent. As long as none is on the screen, nothing is typed.",
    ),
    field("placeholder", "string[]?", "What an empty composer may show; what else stands in it is somebody's draft."),
    field(
        "busy",
        "string[]?",
        "What stands near the composer while the agent works; `\"esc to interrupt\"` if absent.",
    ),
    field(
        "dialog",
        "string[]?",
        "What stands near the composer while the agent asks for a key; `\"1. Yes\"` if absent.",
    ),
    field(
        "near",
        "integer?",
        "How many rows above the composer may show that it works or asks; 6 if absent. What stands there and is the end of its reply must not be taken for it.",
    ),
    field(
        "pasted",
        "string[]?",
        "How the composer shows a paste that it does not write out; `\"[Pasted text\"` if absent.",
    ),
    field(
        "interrupt",
        "string[]?",
        "The keys that make it stop: `enter`, `esc`, `tab`, `backspace`, `up`, `down`, `left`, `right`, `ctrl+c` and such, or one character; `{ \"esc\" }` if absent.",
    ),
    field(
        "clear",
        "string[]?",
        "The keys that empty its composer, pressed once where it put a text back into it after an interrupt; none if absent.",
    ),
    field("ready_timeout", "string|number|nil", "How long it may take to show an empty composer; `\"1m\"` if absent."),
    field(
        "quiet",
        "string|number|nil",
        "How long an idle screen must have stayed the same for a turn to be over, when nothing else shows it; `\"2s\"` if absent.",
    ),
    field(
        "limit",
        "integer?",
        "Bytes of a message that are typed at most, 8192 if absent; a longer one is given as a file.",
    ),
];

/// Fields of `worktree` in a profile.
pub(in crate::charter) const WORKTREE: &[Field] = &[
    field(
        "base",
        "string?",
        "What it begins with: a branch, a tag or a commit; what is checked out in `cwd` if absent. What the base lacks of the work there is told.",
    ),
    field(
        "copy",
        "string[]?",
        "Files of the checkout that are brought along, such as `.env`: from its top, with `*`, `?` and `**`; only what lies in it.",
    ),
    field("setup", "string[]?", "Program and arguments, run once in the new worktree before the worker starts."),
    field("setup_timeout", "string|number|nil", "How long `setup` may take; `\"10m\"` if absent."),
];

/// Fields of `fleet.role`.
pub(in crate::charter) const ROLE: &[Field] = &[
    field("about", "string?", "What it is for, for people."),
    field("profiles", "string[]", "The profiles that its workers may have; the first is the default."),
    field(
        "max_busy",
        "integer?",
        "How many may be busy at once; 1 if absent. With `hours` it must be there, counts outside of them, and may be 0. An endpoint of their profiles may have a cap of its own in fleetd.toml, which all roles on it share; the lower one counts.",
    ),
    field(
        "max_workers",
        "integer?",
        "How many may live at once, idle ones included; if absent, the role starts as many as `max_busy` by itself, and any number may be spawned by hand.",
    ),
    field(
        "between",
        "string|string[]|nil",
        "When it is handed anything, such as `\"22:00-06:00\"`, or several such stretches of a day; always if absent. Outside of it messages wait; what is under way goes on.",
    ),
    field(
        "days",
        "string|string[]|nil",
        "On which days of the week, such as `\"mon-fri\"`, or several: `{ \"mon\", \"wed-fri\" }`; all if absent. What goes over midnight belongs to the day on which it begins.",
    ),
    field(
        "hours",
        "fleet.Window[]?",
        "In place of `between` and `days`: windows with caps of their own. The first one that holds counts; outside of all of them it is the role's own `max_busy`. What is busy when a cap goes down is finished.",
    ),
    field(
        "zone",
        "string?",
        "Whose clock these hours mean, such as `\"Europe/Berlin\"`; that of the machine on which fleetd runs if absent.",
    ),
    field(
        "max_waiting",
        "integer?",
        "How many messages may wait in its queue; 100 if absent. Parts of a run do not count.",
    ),
];

/// Fields of a window in `hours` of a role.
pub(in crate::charter) const WINDOW: &[Field] = &[
    field("between", "string?", "Which part of a day, such as `\"22:00-06:00\"`; all of it if absent."),
    field("days", "string|string[]|nil", "On which days it begins, such as `\"mon-fri\"`; on all if absent."),
    field("max_busy", "integer", "How many may be busy in it; 0 = nothing is handed out."),
];

/// Fields of `fleet.recipe`.
pub(in crate::charter) const RECIPE: &[Field] = &[
    field("about", "string?", "What it does, for people."),
    field(
        "input",
        "table<string, string>?",
        "The fields of the job: `\"string\"`, `\"integer\"`, `\"number\"`, `\"boolean\"`, `\"any\"`, each with `[]` for a list and `?` for one that may be left out. Absent: any job.",
    ),
    field(
        "deadline",
        "string|number|nil",
        "How long a run may take from its start, such as `\"30m\"`. When it passes, its open turns end as timed out, and the code has 10 s to come to its end with what it has.",
    ),
    field(
        "budget",
        "fleet.Budget?",
        "What a run, with the runs below it, may use at most; judged before each turn. When it is used up, sends give an envelope with the error `budget`, and the run ends as `budget` with what its code returns.",
    ),
];

/// Fields of `budget`.
pub(in crate::charter) const BUDGET: &[Field] = &[
    field("turns", "integer?", "Turns, each try counted."),
    field(
        "tokens",
        "integer?",
        "Tokens read, written, and written to a cache, where agents tell them; not those read from a cache.",
    ),
    field("cost", "number?", "US dollars, where agents tell them."),
];

/// Fields of the spec of `run:command`.
pub(in crate::charter) const COMMAND: &[Field] = &[
    field("cwd", "string?", "Where it runs; the daemon's own directory if absent."),
    field("stdin", "string?", "What it reads; nothing if absent."),
    field("timeout", "string|number|nil", "How long it may take; `\"10m\"` if absent, 60 minutes at most."),
];

/// Fields of the spec of `run:recipe`.
pub(in crate::charter) const SUB: &[Field] = &[
    field(
        "deadline",
        "string|number|nil",
        "Shorter than the recipe's own, such as `\"5m\"`. The deadline of the run above holds, too.",
    ),
    field("budget", "fleet.Budget?", "Instead of the recipe's own. The budget of the run above holds, too."),
];

/// Fields of `run:send`.
pub(in crate::charter) const SEND: &[Field] = &[
    field("to", "string?", "A role or a worker; absent or `\"auto\"`: the rubrics decide."),
    field("prompt", "string", "The text for the worker."),
    field("kind", "string?", "A free word for the kind of work; rubrics see it."),
    field(
        "files",
        "string[]?",
        "The files that it is about, as paths in the repository, 64 at most; rubrics see them. They are not opened.",
    ),
    field(
        "deadline",
        "string|number|nil",
        "From acceptance to the reply, each try anew, such as `\"8m\"`: the time in the queue counts, so that of more parts than a role takes at once the last ones come to `busy`.",
    ),
    field(
        "timeout",
        "string|number|nil",
        "From the moment at which a worker is handed it to the reply, each try and each correction anew, such as `\"8m\"`: how long it waits before does not count. When it passes, the turn has timed out. The profile's own `timeout` holds, too.",
    ),
    field(
        "retries",
        "integer?",
        "How often a turn is tried again that timed out, was lost, or was not taken by any worker in time (`busy`): as a new turn, on another worker where one is there; 0 if absent.",
    ),
    field("priority", "string?", "`\"now\"` goes first; `\"normal\"` if absent."),
    field(
        "schema",
        "string|table|nil",
        "What the answer must be: a type of the short form such as `\"string[]\"` or `\"finding[]\"`, fields with their types, or a JSON Schema. The worker is told, and `envelope.data` is the checked answer.",
    ),
    field(
        "corrections",
        "integer?",
        "How often an answer that does not fit `schema` is sent back with what is wrong; 2 if absent, 10 at most. Each time is a turn.",
    ),
    field(
        "on_ask",
        "(fun(question: fleet.Question): string?)|nil",
        "Answers what the worker asks in its turn: the text that it returns, or nothing to pass the question on to whoever started the run. It may take steps of its own.",
    ),
];

/// Fields of the spec of `run:quote`.
pub(in crate::charter) const QUOTE: &[Field] = &[field(
    "most",
    "integer?",
    "How many bytes the quote may have, from 256 to 1000000; 256 KiB if absent, three of which fit into one prompt. A list shares them: what short parts leave is the long ones'. What is cut says how much is left out, and of a reply of more than 1 MiB in which file all of it is.",
)];

/// Fields of the spec of `run:vote`.
pub(in crate::charter) const VOTE: &[Field] =
    &[field("quorum", "integer?", "How many equal votes decide; more than half of the parts if absent.")];
