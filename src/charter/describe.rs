//! What a charter may say: one description per verb, step and field, from which come the check of unknown fields, the
//! meta file for editors and the reference in `docs/charters.md`.

/// One field of a spec.
pub(super) struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type, as LuaLS writes it; `?` at the end = may be left out.
    pub kind: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// One function that a charter may call, or one table that it is given.
pub(super) struct Described {
    /// Its name.
    pub name: &'static str,
    /// Parameters with their LuaLS types, in order.
    pub params: &'static [(&'static str, &'static str)],
    /// What it gives back, as a LuaLS type; empty = nothing.
    pub returns: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The name of the LuaLS class that its spec is, with its fields.
    pub spec: Option<(&'static str, &'static [Field])>,
    /// An example.
    pub example: &'static str,
}

const fn field(name: &'static str, kind: &'static str, about: &'static str) -> Field {
    Field { name, kind, about }
}

/// Fields of `fleet.profile`.
pub(super) const PROFILE: &[Field] = &[
    field("about", "string?", "What it is for, for people."),
    field(
        "launcher",
        "string",
        "How the worker is started; in this version `\"exec\"`: a command that gets the prompt on stdin and answers on stdout.",
    ),
    field("command", "string[]?", "Program and arguments of an `exec` worker."),
    field("cwd", "string?", "Working directory; the daemon's own if absent."),
    field("env", "table<string, string>?", "Variables that are added to the worker's small environment."),
    field("timeout", "string|number|nil", "From the start of the process to its exit, such as `\"30s\"`."),
    field("idle_ttl", "string|number|nil", "How long an idle worker that started by itself stays."),
];

/// Fields of `fleet.role`.
pub(super) const ROLE: &[Field] = &[
    field("about", "string?", "What it is for, for people."),
    field("profiles", "string[]", "The profiles that its workers may have; the first is the default."),
    field("max_busy", "integer?", "How many may be busy at once; 1 if absent."),
    field(
        "max_waiting",
        "integer?",
        "How many messages may wait in its queue; 100 if absent. Parts of a run do not count.",
    ),
];

/// Fields of `fleet.recipe`.
pub(super) const RECIPE: &[Field] = &[
    field("about", "string?", "What it does, for people."),
    field(
        "input",
        "table<string, string>?",
        "The fields of the job: `\"string\"`, `\"integer\"`, `\"number\"`, `\"boolean\"`, `\"any\"`, each with `[]` for a list and `?` for one that may be left out. Absent: any job.",
    ),
    field("deadline", "string|number|nil", "How long a run may take from its start, such as `\"30m\"`."),
];

/// Fields of `run:send`.
pub(super) const SEND: &[Field] = &[
    field("to", "string?", "A role or a worker; absent or `\"auto\"`: the rubrics decide."),
    field("prompt", "string", "The text for the worker."),
    field("kind", "string?", "A free word for the kind of work; rubrics see it."),
    field("deadline", "string|number|nil", "From acceptance to the reply, each try anew, such as `\"8m\"`."),
    field("retries", "integer?", "How often a timed out or lost turn is tried again on another worker; 0 if absent."),
    field("priority", "string?", "`\"now\"` goes first; `\"normal\"` if absent."),
];

/// Fields of what a rubric gives back.
pub(super) const ROUTED: &[Field] = &[
    field("role", "string?", "The role that gets it; this or `worker`."),
    field("worker", "string?", "The worker that gets it; this or `role`."),
    field("because", "string?", "Why, for people; the rubric's own text if absent."),
];

/// Fields of a task, as a rubric sees it.
pub(super) const TASK: &[Field] = &[
    field("prompt", "string", "The text."),
    field("kind", "string?", "The sender's free word for the kind of work."),
    field("from", "string", "Who sends: `leader`, `operator`, `run r3`."),
    field("urgent", "boolean", "True when it asks to go first."),
    field("now", "number", "When it is asked, in seconds since 1970."),
];

/// Fields of a role, as a rubric sees it.
pub(super) const LOAD: &[Field] = &[
    field("max_busy", "integer", "How many may be busy at once."),
    field("busy", "integer", "How many are busy."),
    field("free", "integer", "How many more could start now."),
    field("waiting", "integer", "How many turns wait in its queue, those of runs included."),
    field("max_waiting", "integer", "How many may wait."),
    field("workers", "integer", "Living workers."),
    field("recent_failures", "integer", "Turns of the last ten minutes that failed, timed out or were lost."),
];

/// The fields of an envelope that authors use; the rest is in the REST reference.
pub(super) const ENVELOPE: &[Field] = &[
    field("ok", "boolean", "True exactly when the worker replied."),
    field("text", "string", "The reply; empty when there is none."),
    field(
        "error",
        "string?",
        "The outcome's word when it is not ok: `failed`, `timed_out`, `lost`, `cancelled`, `unknown`, `busy`.",
    ),
    field("why", "string?", "Why it ended so, for people."),
    field("outcome", "string", "How the turn ended."),
    field("turn", "string", "The turn's id."),
    field("from", "table", "Who answered: `worker`, `role`, `profile`, `launcher`."),
    field("stderr", "string?", "The end of what the process wrote to stderr."),
    field("times", "table", "When what happened, in milliseconds since 1970."),
];

/// Fields of one thing that `run:split` found missing.
pub(super) const MISSING: &[Field] = &[
    field("part", "integer", "Its place in the list."),
    field("item", "any", "What `run:each` was given at that place."),
    field("error", "string", "The outcome's word."),
    field("why", "string?", "Why, for people."),
    field("turn", "string?", "Its last turn."),
];

/// Fields of what `t.run` gives back.
pub(super) const TEST_RUN: &[Field] = &[
    field("outcome", "string", "`done`, `partial` or `failed`."),
    field("value", "any", "The run's value."),
    field("why", "string?", "Why, unless it is done."),
];

/// Fields of what `t.route` gives back.
pub(super) const TEST_ROUTE: &[Field] = &[
    field("role", "string?", "The role that gets it."),
    field("worker", "string?", "The worker that gets it."),
    field("because", "string", "Why."),
    field("rubric", "string", "The rubric that decided."),
];

/// Fields of what `t.sent` lists.
pub(super) const TEST_SENT: &[Field] = &[
    field("to", "string", "The role or worker it went to."),
    field("prompt", "string", "The prompt."),
    field("kind", "string?", "Its kind."),
];

/// The verbs of `fleet`.
pub(super) const VERBS: &[Described] = &[
    Described {
        name: "profile",
        params: &[("name", "string"), ("spec", "fleet.Profile")],
        returns: "",
        about: "Declares how a worker is started.",
        spec: Some(("fleet.Profile", PROFILE)),
        example: r#"fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "30s" })"#,
    },
    Described {
        name: "role",
        params: &[("name", "string"), ("spec", "fleet.Role")],
        returns: "",
        about: "Declares a pool of interchangeable workers; messages are addressed to it.",
        spec: Some(("fleet.Role", ROLE)),
        example: r#"fleet.role("w-upper", { profiles = { "upper" }, max_busy = 4, max_waiting = 200 })"#,
    },
    Described {
        name: "route",
        params: &[("why", "string"), ("fn", "fun(task: fleet.Task, team: fleet.Team): fleet.Routed?")],
        returns: "",
        about: "Declares a rubric. Rubrics are asked in the order of their declaration where a message without an address should go; the first answer wins. It may not wait, and sees frozen tables.",
        spec: Some(("fleet.Routed", ROUTED)),
        example: r#"fleet.route("bulk goes local", function(task, team)
  if task.kind == "bulk" and team.roles["w-local"].free > 0 then
    return { role = "w-local", because = "bulk work and a local worker is free" }
  end
end)"#,
    },
    Described {
        name: "recipe",
        params: &[("name", "string"), ("spec", "fleet.Recipe"), ("fn", "fun(job: any, run: fleet.Run): any")],
        returns: "",
        about: "Declares a job in several steps. Its function may wait: every `run:` step is journaled, and after a restart the run goes on where it was.",
        spec: Some(("fleet.Recipe", RECIPE)),
        example: r#"fleet.recipe("shout", { input = { parts = "string[]" }, deadline = "5m" }, function(job, run)
  local replies = run:each(job.parts, function(part)
    return run:send { to = "w-upper", prompt = part }
  end)
  local found, missing = run:split(replies)
  if #missing > 0 then return run:partial(found, #missing .. " parts are missing") end
  return found
end)"#,
    },
    Described {
        name: "on",
        params: &[("event", "string"), ("fn", "fun(event: table): table?")],
        returns: "",
        about: "Declares a handler of `turn_settled`, `run_ended`, `worker_gone` or `charter_loaded`. It may not wait. It gives back nothing, or one action: `{ action = \"tell_leader\", text = … }`, `{ action = \"stop_worker\", worker = … }`, `{ action = \"park_role\", role = …, [\"for\"] = \"5m\" }`, `{ action = \"retry_turn\", turn = … }`.",
        spec: None,
        example: r#"fleet.on("worker_gone", function(event)
  return { action = "tell_leader", text = event.worker .. " is gone: " .. event.why }
end)"#,
    },
    Described {
        name: "test",
        params: &[("name", "string"), ("fn", "fun(t: fleet.Test)")],
        returns: "",
        about: "Declares a test; `fleetd charter test` runs it with scripted workers and virtual time, and so does every reload before the new files are taken.",
        spec: None,
        example: r#"fleet.test("shouts", function(t)
  t.worker("w-upper", function(task) return string.upper(task.prompt) end)
  local run = t.run("shout", { parts = { "a", "b" } })
  t.equal(run.outcome, "done")
  t.equal(run.value[2].text, "B")
end)"#,
    },
];

/// The steps of `run`.
pub(super) const STEPS: &[Described] = &[
    Described {
        name: "send",
        params: &[("spec", "fleet.Send")],
        returns: "fleet.Envelope",
        about: "Sends a message and waits for the envelope. What the world does wrong is a value (`envelope.ok`, `envelope.error`); what the author does wrong is an error at that line.",
        spec: Some(("fleet.Send", SEND)),
        example: r#"local reply = run:send { to = "w-upper", prompt = "hello", deadline = "1m", retries = 1 }"#,
    },
    Described {
        name: "each",
        params: &[("list", "any[]"), ("fn", "fun(item: any, index: integer): any")],
        returns: "any[]",
        about: "Calls the function for every item, all at once, and gives back what they returned, in order. A part that returned nil is `fleet.null`. An error in one part is an error of `each`.",
        spec: None,
        example: "",
    },
    Described {
        name: "split",
        params: &[("replies", "any[]")],
        returns: "any[], fleet.Missing[]",
        about: "Parts a list of replies into what was found and what is missing.",
        spec: None,
        example: "local found, missing = run:split(replies)",
    },
    Described {
        name: "quote",
        params: &[("value", "any")],
        returns: "string",
        about: "Frames a text, an envelope or a list of them as quoted data for the next prompt: every line gets a bar in front, so that a worker's text cannot pose as an instruction.",
        spec: None,
        example: r#"run:send { to = "w-judge", prompt = "Rank these:\n" .. run:quote(found) }"#,
    },
    Described {
        name: "sleep",
        params: &[("span", "string|number")],
        returns: "",
        about: "Waits for a length of time, over restarts too.",
        spec: None,
        example: r#"run:sleep("10s")"#,
    },
    Described {
        name: "now",
        params: &[],
        returns: "number",
        about: "Gives the time in seconds since 1970, the same at a replay.",
        spec: None,
        example: "",
    },
    Described {
        name: "random",
        params: &[("low", "integer?"), ("high", "integer?")],
        returns: "number",
        about: "Draws as math.random does: in [0, 1), in 1..low, or in low..high; the same at a replay.",
        spec: None,
        example: "",
    },
    Described {
        name: "note",
        params: &[("name", "string"), ("value", "any")],
        returns: "any",
        about: "Sets a small value under a name that outlives the run; without a value, reads it.",
        spec: None,
        example: r#"local last = run:note("last-round")"#,
    },
    Described {
        name: "progress",
        params: &[("text", "string"), ("...", "any")],
        returns: "",
        about: "Says how far the run is, formatted as string.format does.",
        spec: None,
        example: r#"run:progress("judging %d lists", #found)"#,
    },
    Described {
        name: "ask_leader",
        params: &[("question", "string")],
        returns: "string",
        about: "Asks whoever started the run, and waits for the answer.",
        spec: None,
        example: "",
    },
    Described {
        name: "partial",
        params: &[("value", "any"), ("why", "string")],
        returns: "any",
        about: "To be returned: the run ends as `partial` with this value.",
        spec: None,
        example: r#"return run:partial(found, "two parts are missing")"#,
    },
    Described {
        name: "fail",
        params: &[("why", "string"), ("value", "any")],
        returns: "any",
        about: "To be returned: the run ends as `failed`.",
        spec: None,
        example: r#"return run:fail("nothing was found")"#,
    },
];

/// What a test may do; called with a dot.
pub(super) const TESTS: &[Described] = &[
    Described {
        name: "worker",
        params: &[
            ("role", "string"),
            ("fn", "fun(task: { prompt: string, kind: string?, to: string, try: integer }): any"),
        ],
        returns: "",
        about: "Scripts the workers of a role (or one worker): what the function returns is the reply text; `t.fail(why)`, `t.timeout()` and `t.lost()` are the other ways a turn can end.",
        spec: None,
        example: "",
    },
    Described {
        name: "run",
        params: &[("recipe", "string"), ("job", "any")],
        returns: "fleet.TestRun",
        about: "Runs a recipe to its end, and replays it once more from its journal in a fresh VM, which must give the same.",
        spec: None,
        example: "",
    },
    Described {
        name: "route",
        params: &[("task", "{ prompt: string?, kind: string?, from: string?, urgent: boolean? }")],
        returns: "fleet.TestRoute",
        about: "Asks the rubrics; every role is free.",
        spec: None,
        example: "",
    },
    Described {
        name: "answer",
        params: &[("fn", "fun(question: string): string")],
        returns: "",
        about: "Scripts the answers to `run:ask_leader`.",
        spec: None,
        example: "",
    },
    Described {
        name: "sent",
        params: &[],
        returns: "fleet.TestSent[]",
        about: "Lists what was sent in this test so far.",
        spec: None,
        example: "",
    },
    Described {
        name: "equal",
        params: &[("got", "any"), ("wanted", "any")],
        returns: "",
        about: "Fails the test unless both are the same, tables by what is in them.",
        spec: None,
        example: "",
    },
    Described {
        name: "ok",
        params: &[("value", "any"), ("message", "string?")],
        returns: "",
        about: "Fails the test unless the value is true.",
        spec: None,
        example: "",
    },
    Described {
        name: "fail",
        params: &[("why", "string")],
        returns: "any",
        about: "To be returned by a scripted worker: the turn failed.",
        spec: None,
        example: "",
    },
    Described {
        name: "timeout",
        params: &[],
        returns: "any",
        about: "To be returned by a scripted worker: the turn timed out.",
        spec: None,
        example: "",
    },
    Described {
        name: "lost",
        params: &[],
        returns: "any",
        about: "To be returned by a scripted worker: the worker died.",
        spec: None,
        example: "",
    },
];

/// The events that a handler can be declared for.
pub(super) const EVENTS: &[&str] = &["turn_settled", "run_ended", "worker_gone", "charter_loaded"];
