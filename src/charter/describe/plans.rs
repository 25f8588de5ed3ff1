//! The fields of a launcher, of the launch plan that it makes, and of what it is given for that.
//! How a plan is read is in `plan`; what it comes to is the launch room's matter.

use super::{Field, field};

/// Fields of the spec of `fleet.launcher`.
pub(in crate::charter) const LAUNCHER: &[Field] = &[
    field("about", "string?", "What it starts, for people."),
    field(
        "needs",
        "table<string, string>?",
        "Fields that a profile must have for it, each with what they are for: of `command`, `typing`, `model`, `endpoint`.",
    ),
    field("takes", "string[]?", "Fields of these that a profile may have for it; all others are refused by name."),
    field(
        "options",
        "table<string, string>?",
        "The fields of `options` in a profile that are its own, each with what it does.",
    ),
];

/// Fields of what a launcher's function is given. Markers stand for what only a start knows.
pub(in crate::charter) const SPEC: &[Field] = &[
    field("profile", "string", "The profile's name."),
    field("command", "string[]?", "Program and arguments, as the profile has them."),
    field("env", "table<string, string>?", "Variables, as the profile has them; absent if it has none."),
    field("model", "string?", "The model, as the profile has it."),
    field(
        "endpoint",
        "table?",
        "Absent when the profile names none, which means the agent's own default. `name`; `url`: the marker of its address; `key`: the marker of its key, which may stand in `env` only.",
    ),
    field("typing", "fleet.Typing?", "As the profile has it."),
    field("options", "table", "As the profile has it; empty if it has none."),
    field("name", "string", "The marker of the worker's name."),
    field("role", "string", "The marker of its role's name."),
    field("cwd", "string", "The marker of the directory in which it works, as a real path."),
    field("home", "string", "The marker of its private folder, which nobody else can read."),
    field("user_home", "string", "The marker of the home directory of whoever runs fleetd, as the worker has it."),
    field("id", "string", "The marker of a fresh UUID, the same for the whole session."),
    field("url", "string", "The marker of fleetd's address, such as `http://127.0.0.1:7717`."),
    field("fleetd", "string", "The marker of the path of fleetd's program."),
    field("identity", "string", "The marker of a text that tells the agent who it is and what it is at."),
    field("text", "string", "The marker of a turn's text, for `lines`."),
];

/// Fields of a launch plan.
pub(in crate::charter) const PLAN: &[Field] = &[
    field(
        "drive",
        "string",
        "How it gets its texts. `\"turn\"`: a process for each turn, the prompt on stdin, the reply on stdout. `\"typed\"`: a program in a pane, which is typed to. `\"lines\"`: a program that reads and writes lines of JSON.",
    ),
    field("argv", "string[]", "Program and arguments, started without a shell. No secret may stand here."),
    field("env", "table<string, string>?", "Variables beside the allow-list; the profile's `env` goes over them."),
    field(
        "files",
        "table<string, any>?",
        "Files written into its private folder before it starts, by their path in it: a text, or a table that becomes JSON.",
    ),
    field("bring", "fleet.Bring[]?", "What of its directory it shall find in its private folder."),
    field("typing", "fleet.Typing?", "How its screen is read; for `\"typed\"`."),
    field("lines", "fleet.Lines?", "What is written to it; for `\"lines\"`."),
    field(
        "signs",
        "fleet.Sign[]?",
        "What its reports mean, the first that fits: hooks (`POST /hook`, `fleetd hook`) of a typed program, the lines of one that writes lines.",
    ),
    field("lists_tools", "boolean?", "True if it is ready only once it has listed the fleet's tools."),
    field("transcript", "fleet.Transcript?", "Where it writes down what it does."),
    field("guard", "fleet.Guard?", "Settings that would move its model's address."),
];

/// Fields of `bring`.
pub(in crate::charter) const BRING: &[Field] = &[
    field("from", "string", "A file or directory below its directory; nothing is brought if it is not there."),
    field("to", "string", "Where it goes, below the private folder."),
    field(
        "table",
        "string?",
        "Of a JSON file: the table in it whose entries are added to the same table of the JSON file at `to`.",
    ),
    field("only", "string[]?", "Of such a table, or of a directory: only the entries with these names."),
    field(
        "imports",
        "boolean?",
        "True for a text in which `@path` stands for a file: files below its directory are written in its place, all others stay words that mean nothing.",
    ),
];

/// Fields of `lines`.
pub(in crate::charter) const LINES: &[Field] = &[
    field("say", "table", "The line of a turn, with the marker of its text in it."),
    field("interrupt", "table?", "The line that makes it stop its turn; without one its process is ended."),
];

/// Fields of `transcript`.
pub(in crate::charter) const TRANSCRIPT: &[Field] = &[
    field("path", "string", "Where a hook's report says which file it is: lines of JSON."),
    field("line", "string?", "The path of a line's own name, where lines may be written out of order."),
    field(
        "parent",
        "string?",
        "The path of the name of the line before it: a turn is complete once no line of it is missing.",
    ),
    field("signs", "fleet.Sign[]", "What a line shows, the first that fits."),
];

/// Fields of `guard`.
pub(in crate::charter) const GUARD: &[Field] = &[
    field("files", "string[]", "JSON files, below its directory or (with the marker) its private folder."),
    field(
        "names",
        "string[]",
        "Paths in them, such as `env.NAME`. If what stands there changes while it runs, it is stopped and the leader told.",
    ),
];

/// Fields of a sign. A path is names with dots between them, such as `message.model`.
pub(in crate::charter) const SIGN: &[Field] = &[
    field(
        "is",
        "string",
        "What a report means for which the rule fits: `taken`, `replied`, `failed`, `interrupted`, `goes_on`, `blocked`, `retrying`, `settings`, `said`, `complete`, `context`, `nothing`.",
    ),
    field("on", "table<string, any>?", "What stands at these paths: the value, or one of a list."),
    field("any", "string[]?", "At one of these paths at least stands something: not nothing, false, zero or empty."),
    field("begins", "table<string, string>?", "What the texts at these paths begin with."),
    field("text", "string?", "The path of the text: of the prompt, the reply, the message."),
    field("why", "string?", "The path of the reason."),
    field("id", "string?", "The path of a message's id; one that is written in parts is counted once."),
    field("model", "string?", "The path of the model's name."),
    field(
        "usage",
        "table<string, string>?",
        "The paths of `input`, `output`, `cache_read`, `cache_write` (tokens), `cost` (US dollars) and `cost_so_far` (of the whole session, where only that is told).",
    ),
    field("answer", "table?", "What the report is answered, where it waits for an answer."),
];
