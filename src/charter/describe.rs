//! What a charter may say: one description per verb, step and field, from which come the check of unknown fields, the
//! meta file for editors and the reference in `docs/charters.md`.
//! Here are the verbs and the steps; the fields of tables are in `fields`, what steps give back in `given`, what rubrics see in `rubrics`, what a test may do in `checks`.

mod checks;
mod events;
mod fields;
mod given;
mod plans;
mod rubrics;

pub(super) use checks::*;
pub(super) use events::{ACTION, EVENTS};
pub(super) use fields::*;
pub(super) use given::*;
pub(super) use plans::*;
pub(super) use rubrics::*;

/// One field of a spec.
#[derive(Clone, Copy)]
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
        name: "shape",
        params: &[("name", "string"), ("schema", "string|table")],
        returns: "",
        about: "Names what answers may be asked to fit: fields with their types as in a recipe's `input`, which may name other shapes, or a whole JSON Schema. A `schema` in `run:send`, and in a message from outside, may then say `\"name\"`, `\"name[]\"`, or use it in its fields.",
        spec: None,
        example: r#"fleet.shape("finding", { file = "string", line = "integer?", why = "string" })
fleet.shape("verdict", { type = "object", required = { "answer" }, properties = { answer = { enum = { "yes", "no" } } } })"#,
    },
    Described {
        name: "launcher",
        params: &[("name", "string"), ("spec", "fleet.Launcher"), ("fn", "fun(worker: fleet.WorkerSpec): fleet.Plan")],
        returns: "",
        about: "Declares how one agent program is started, watched and read. Its function is asked once for each profile when the charter is loaded, and makes the plan of all workers of that profile; it must not wait and sees nothing but its argument. A name that fleetd has itself (`exec`, `typed`, …) is overridden. A plan has no rights of its own: what it may start and which address it may name, fleetd.toml says.",
        spec: Some(("fleet.Launcher", LAUNCHER)),
        example: r#"fleet.launcher("shell", { takes = { "typing" } }, function(worker)
  return { drive = "typed", argv = { "bash", "--norc" }, typing = worker.typing }
end)"#,
    },
    Described {
        name: "on",
        params: &[("event", "fleet.Event"), ("fn", "fun(event: table): fleet.Action?")],
        returns: "",
        about: "Declares a handler of one of the events below, which is given the event's table, frozen. It may not wait. It gives back nothing, or one action. An event is told at most once, after it was written down; rubrics and runs go before handlers. Handlers act 60 times a minute at most, and of events that come faster than they are handled 1000 wait: so a handler whose action causes its own event ends by itself, and both is told. A handler that fails is skipped; `fleetd charter status` says why, and for ten minutes `fleetd status` says that fleetd is degraded by it. A test tells one of events with `t.event`.",
        spec: Some(("fleet.Action", ACTION)),
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
        about: "Sends a message and waits for the envelope. What the world does wrong is a value (`envelope.ok`, `envelope.error`); what the author does wrong is an error at that line. With `on_ask`, questions of the worker come to that function first, one after the other in the order of asking; a mistake in it passes the question on, and whoever started the run is told of it.",
        spec: Some(("fleet.Send", SEND)),
        example: r#"local reply = run:send { to = "w-upper", prompt = "hello", deadline = "1m", retries = 1 }

local page = run:send {
  to = "w-writer",
  prompt = "Write the page about " .. job.part,
  on_ask = function(question)
    if question.text:find("which language", 1, true) then return "English" end
    local reply = run:send { to = "w-expert", prompt = run:quote(question.text), deadline = "2m" }
    if reply.ok then return reply.text end
  end,
}"#,
    },
    Described {
        name: "each",
        params: &[("list", "any[]"), ("fn", "fun(item: any, index: integer): any")],
        returns: "any[]",
        about: "Calls the function for every item, all at once, and gives back what they returned, in order. A part that returned nil is `fleet.null`. An error in one part is an error of `each`; the other parts are given up, and their turns cancelled.",
        spec: None,
        example: "",
    },
    Described {
        name: "race",
        params: &[("list", "any[]"), ("fn", "fun(item: any, index: integer): any")],
        returns: "any, integer?, fleet.Missing[]",
        about: "Calls the function for every item, all at once; the first part that comes to something good wins: a value, and not an envelope with `ok = false`. Gives back what it returned, its place in the list, and what came to nothing before it. The other parts are given up where they are, and their turns are cancelled. If none is good, the first two are nil. An error in a part is an error of `race`, unless a part has won before.",
        spec: None,
        example: r#"local reply, place, missing = run:race({ "w-fast", "w-deep" }, function(role)
  return run:send { to = role, prompt = job.question }
end)
if not reply then return run:fail("nobody had an answer", missing) end"#,
    },
    Described {
        name: "vote",
        params: &[("list", "any[]"), ("fn", "fun(item: any, index: integer): any"), ("spec", "fleet.Vote?")],
        returns: "fleet.Voted",
        about: "Calls the function for every item, all at once; what a part returns is its vote, and equal values are votes for the same, tables by what is in them. An envelope votes with its `data`, or else with its text without the white space around it; one with `ok = false`, and a part that returns nothing, do not vote. As soon as one value has its quorum, or none can have it any more, the other parts are given up and their turns cancelled. No majority is a value, too: `decided` is false and `why` says so.",
        spec: Some(("fleet.Vote", VOTE)),
        example: r#"local verdict = run:vote({ "w-one", "w-two", "w-three" }, function(role)
  return run:send { to = role, prompt = "Is this a bug? Answer yes or no.\n" .. run:quote(finding) }
end, { quorum = 2 })
if not verdict.decided then return run:partial(verdict.tally, verdict.why) end"#,
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
        params: &[("value", "any"), ("spec", "fleet.Quote?")],
        returns: "string",
        about: "Frames a text, an envelope or a list of them as quoted data for the next prompt: every line gets a bar in front, so that a worker's text cannot pose as an instruction. What is longer than `most` is cut, and says so.",
        spec: Some(("fleet.Quote", QUOTE)),
        example: r#"run:send { to = "w-judge", prompt = "Rank these:\n" .. run:quote(found, { most = 200000 }) }"#,
    },
    Described {
        name: "recipe",
        params: &[("name", "string"), ("job", "any"), ("spec", "fleet.Sub?")],
        returns: "fleet.SubRun",
        about: "Runs another recipe below this run and waits for its end. It has a journal of its own and ends with this run at the latest; what it came to is a value. Recipes may stand 8 deep.",
        spec: Some(("fleet.Sub", SUB)),
        example: r#"local checked = run:recipe("review", { diff = reply.text }, { deadline = "10m" })
if not checked.ok then return run:partial(reply.text, "not reviewed: " .. checked.why) end"#,
    },
    Described {
        name: "command",
        params: &[("argv", "string[]"), ("spec", "fleet.Command?")],
        returns: "fleet.Envelope",
        about: "Starts a program, once and without a shell, and waits for its end; only what `[commands] allow` in fleetd.toml lists. `text` is what it printed, `stderr` the end of what it complained, `exit` its status; `ok` is true for status 0. If nobody can tell how it ended, `error` is `unknown`, and it is not started again. Eight run at once.",
        spec: Some(("fleet.Command", COMMAND)),
        example: r#"local tests = run:command({ "cargo", "test", "--quiet" }, { cwd = job.dir, timeout = "20m" })
if not tests.ok then return run:fail("the tests fail", tests.stderr) end"#,
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
        about: "Sets a small value under a name that outlives the run; without a value, reads it; `fleet.null` removes it. There may be 1,000 notes.",
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
        returns: "string?",
        about: "Asks whoever started the run, and waits for the answer; nil where the run reached its deadline, or the end of its budget, first.",
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
