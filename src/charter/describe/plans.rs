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
    field("text", "string", "The marker of a turn's text, for `lines` and `api`."),
    field("turn", "string", "The marker of a turn's id, for `api` and the signs of its record and its events."),
    field("port", "string", "The marker of a free port on loopback at which a program that is called shall listen."),
    field("password", "string", "The marker of a secret of the session, which may stand in `env` only; for `api`."),
    field("conversation", "string", "The marker of the name that `api.open` was answered with."),
];

/// Fields of a launch plan.
pub(in crate::charter) const PLAN: &[Field] = &[
    field(
        "drive",
        "string",
        "How it gets its texts. `\"turn\"`: a process for each turn, the prompt on stdin, the reply on stdout. `\"typed\"`: a program in a pane, which is typed to. `\"lines\"`: a program that reads and writes lines of JSON. `\"api\"`: a program in a pane, which is called over HTTP.",
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
    field("api", "fleet.Api?", "What it is asked; for `\"api\"`."),
    field(
        "signs",
        "fleet.Sign[]?",
        "What its reports mean, the first that fits: hooks (`POST /hook`, `fleetd hook`) of a typed program, the lines of one that writes lines, the events of one that is called (`event`: its name, `data`: its JSON).",
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

/// Fields of `api`.
pub(in crate::charter) const API: &[Field] = &[
    field(
        "attach",
        "boolean?",
        "True for a program that somebody else runs, at the address of the profile's `endpoint`: nothing is started, and `argv` is left out. Otherwise it listens at `worker.port` of 127.0.0.1.",
    ),
    field(
        "exposed",
        "boolean?",
        "True for one that other machines can reach without any proof once it is started; `[launch] allow_exposed` in fleetd.toml must allow that.",
    ),
    field(
        "types",
        "boolean?",
        "True for one that types what it is told into a terminal: characters that are keys are taken out of texts.",
    ),
    field(
        "user",
        "string?",
        "The user name of basic authentication, whose password is `worker.password`; absent: none.",
    ),
    field("ready", "fleet.Call", "What it answers once it is up."),
    field("open", "fleet.Open?", "Begins the conversation."),
    field("say", "fleet.Call", "Gives it a turn's text: `worker.text`, and `worker.turn` to know it by."),
    field("stop", "fleet.Call?", "Makes it stop its turn; without one its process is ended."),
    field("rest", "fleet.Call", "What it answers while it is at rest; asked before each text and to see a turn's end."),
    field("record", "fleet.Record", "Its own record of what was said, by which turns are settled."),
    field(
        "events",
        "fleet.Events?",
        "Its stream of events: hints to look at once. What they mean is in the plan's `signs`.",
    ),
    field("asks", "fleet.Call?", "What it answers while it asks a person nothing; asked for while it works."),
    field("tools", "fleet.Mend?", "How it is seen and mended that it has lost the fleet's tools."),
    field("show", "fleet.Call?", "Shows the conversation in its pane, tried for a while after it is up."),
    field(
        "most",
        "integer?",
        "How many answers of its model one turn may have before it is stopped as endless; 500 if absent.",
    ),
];

/// Fields of a call.
pub(in crate::charter) const CALL: &[Field] = &[
    field("path", "string", "The path. Which address it is on, no plan says."),
    field("post", "boolean?", "True for `POST`, which a call with a body is anyway."),
    field("body", "table?", "What is posted, as JSON."),
    field("on", "table<string, any>?", "What stands at these paths of its answer."),
    field(
        "none",
        "string[]?",
        "At these paths of its answer nothing stands, or nothing but false, zero or what is empty.",
    ),
    field("untaken", "string[]?", "Of `say`: words of a failed answer (5xx) by which the text was not taken."),
];

/// Fields of `open`.
pub(in crate::charter) const OPEN: &[Field] = &[
    field("call", "fleet.Call", "The request."),
    field("id", "string", "The path in its answer of what `worker.conversation` stands for."),
];

/// Fields of `record`.
pub(in crate::charter) const RECORD: &[Field] = &[
    field("call", "fleet.Call", "The request; its answer is a list, oldest first."),
    field("list", "string?", "The path of that list in the answer, if it is not the answer itself."),
    field("parent", "string?", "The path in an answer of the name (`id` of `taken`) of the text that it answers."),
    field("proof", "string?", "The word for how a turn's end was shown; `api` if absent."),
    field(
        "signs",
        "fleet.Sign[]",
        "What an entry is: `taken` a text, `said` an answer that is not complete, `goes_on` one after which it works on, `replied`, `failed`, `interrupted` one that may be a turn's last.",
    ),
];

/// Fields of `events`.
pub(in crate::charter) const STREAM: &[Field] = &[
    field("path", "string", "The path of the stream (`text/event-stream`)."),
    field("silence", "string|number|nil", "How long nothing may come on it before it is opened anew."),
];

/// Fields of `tools`.
pub(in crate::charter) const MEND: &[Field] = &[
    field("check", "fleet.Call", "What shows that it has them."),
    field("mend", "fleet.Call", "What gives them back."),
];

/// Fields of `pieces`.
pub(in crate::charter) const PIECES: &[Field] = &[
    field("on", "table<string, any>?", "What stands at these paths of a piece."),
    field("none", "string[]?", "At these paths of a piece nothing stands."),
    field("after", "table<string, any>?", "Only those after the last piece at which this stands."),
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
    field("files", "string[]?", "JSON files, below its directory or (with the marker) its private folder."),
    field(
        "names",
        "string[]?",
        "Paths in them, such as `env.NAME`. If what stands there changes while it runs, it is stopped and the leader told.",
    ),
    field(
        "unwanted",
        "fleet.Unwanted[]?",
        "What its program would run inside itself: with any of it in its directory, or above it in the repository, it is not started.",
    ),
];

/// Fields of `unwanted`.
pub(in crate::charter) const UNWANTED: &[Field] = &[
    field("path", "string", "A folder with anything in it, or a file."),
    field("holds", "string[]?", "Of a file: only if it holds one of these words."),
];

/// Fields of a sign. A path is names with dots between them, such as `message.model`.
pub(in crate::charter) const SIGN: &[Field] = &[
    field(
        "is",
        "string",
        "What a report means for which the rule fits: `taken`, `replied`, `failed`, `interrupted`, `goes_on`, `blocked`, `retrying`, `settings`, `said`, `complete`, `rested`, `context`, `nothing`.",
    ),
    field("on", "table<string, any>?", "What stands at these paths: the value, or one of a list."),
    field("any", "string[]?", "At one of these paths at least stands something: not nothing, false, zero or empty."),
    field("begins", "table<string, string>?", "What the texts at these paths begin with."),
    field("text", "string?", "The path of the text: of the prompt, the reply, the message."),
    field(
        "pieces",
        "fleet.Pieces?",
        "Which pieces are the text, where it is a list of pieces; all that have a `text` if absent.",
    ),
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
