//! What a test may do: the functions of its argument `t`, which are called with a dot, and the tables of these.
//! The verbs and steps of a charter itself are in `describe`.

use super::{Described, Field, field};

/// What a test may do; called with a dot.
pub(in crate::charter) const TESTS: &[Described] = &[
    Described {
        name: "worker",
        params: &[("role", "string"), ("fn", "fun(task: fleet.Scripted): any")],
        returns: "",
        about: "Scripts the workers of a role (or one worker): what the function returns is the reply text, or a table for the JSON of one; where an answer was sent back, `task.complaint` says what was wrong with it. `t.reply(text, used)` says besides what the turn used, and `t.fail(why)`, `t.timeout()` and `t.lost()` are the other ways a turn can end. It may ask with `t.ask`.",
        spec: None,
        example: "",
    },
    Described {
        name: "gone",
        params: &[("worker", "string")],
        returns: "",
        about: "Lets one worker go, from here on; a scripted worker may call it in its turn. What is sent to it by its name comes back with `error` = `lost`, and what is sent to its role goes to the next one.",
        spec: None,
        example: r#"t.worker("w-reviewer", function()
  t.gone("w-coder-1")
  return { good = false, complaint = "no test" }
end)"#,
    },
    Described {
        name: "command",
        params: &[("fn", "fun(argv: string[]): any")],
        returns: "",
        about: "Scripts the commands of runs: what the function returns is what the program printed; `t.fail(why)` is another status than 0.",
        spec: None,
        example: r#"t.command(function(argv) return argv[1] == "git" and "main\n" or t.fail("exit 1") end)"#,
    },
    Described {
        name: "run",
        params: &[("recipe", "string"), ("job", "any")],
        returns: "fleet.TestRun",
        about: "Runs a recipe to its end, and replays it once more from its journal in a fresh VM, which must give the same. A rubric with a mistake, where a send is addressed to nobody, fails the test.",
        spec: None,
        example: "",
    },
    Described {
        name: "at",
        params: &[("clock", "string"), ("zone", "string?")],
        returns: "",
        about: "Lets the test's time go on to the next moment at which a clock shows this: a time of day, such as `\"23:00\"`, or a day with it, such as `\"sat 23:00\"`; by the clock of `zone`, or else of UTC. From then on the hours of roles hold, those without a `zone` by UTC: what is sent to a closed role waits for its opening, or times out at its deadline, and rubrics see the role as it stands then. Before that every role is open.",
        spec: None,
        example: r#"t.at("fri 23:00", "Europe/Berlin")
t.equal(t.run("night-shift", { tasks = { "a" } }).outcome, "done")"#,
    },
    Described {
        name: "route",
        params: &[
            ("task", "{ prompt: string?, kind: string?, files: string[]?, from: string?, urgent: boolean? }"),
            ("team", "table?"),
        ],
        returns: "fleet.TestRoute",
        about: "Asks the rubrics. Every role is free (after `t.at`, as its hours say) and nobody lives, but for what `team` says: tables as `fleet.Team` has them, with the fields that matter. A rubric with a mistake fails the test.",
        spec: None,
        example: r#"local routed = t.route({ files = { "src/parser.rs" } }, {
  roles = { ["w-local"] = { free = 0 } },
  workers = { ["w-writer-1"] = { role = "w-writer", knows = { "src/parser.rs" } } },
})
t.equal(routed.worker, "w-writer-1")"#,
    },
    Described {
        name: "event",
        params: &[("event", "string"), ("fields", "table?")],
        returns: "fleet.Action[]",
        about: "Tells the handlers of an event, and gives back what they want done, in the order of their declaration; nothing of it is done. Fields of the event that are left out are nil. A handler with a mistake fails the test.",
        spec: None,
        example: r#"local wanted = t.event("worker_gone", { worker = "w-upper-1", role = "w-upper", why = "killed" })
t.equal(wanted[1], { action = "tell_leader", text = "w-upper-1 is gone: killed" })"#,
    },
    Described {
        name: "answer",
        params: &[("fn", "fun(question: string): string")],
        returns: "",
        about: "Scripts the answers of whoever started the run: to `run:ask_leader`, and to what a worker asks and no `on_ask` answers.",
        spec: None,
        example: "",
    },
    Described {
        name: "ask",
        params: &[("question", "string")],
        returns: "string",
        about: "To be called by a scripted worker: asks in its turn, and gives the answer of the send's `on_ask`, else of `t.answer`. A mistake in `on_ask` fails the test.",
        spec: None,
        example: r#"t.worker("w-writer", function(task)
  local language = t.ask("which language?")
  return "a page in " .. language
end)"#,
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
        name: "reply",
        params: &[("answer", "any"), ("used", "fleet.TestUsed?")],
        returns: "any",
        about: "To be returned by a scripted worker: its reply, and what the turn used, which counts for the budget of the run and stands in `reply.usage`.",
        spec: None,
        example: r#"t.worker("w-reader", function(task)
  return t.reply("a page", { input = 9000, output = 1000, cost = 0.4, took = "5m" })
end)"#,
    },
    Described {
        name: "fail",
        params: &[("why", "string"), ("used", "fleet.TestUsed?")],
        returns: "any",
        about: "To be returned by a scripted worker: the turn failed.",
        spec: None,
        example: "",
    },
    Described {
        name: "timeout",
        params: &[("used", "fleet.TestUsed?")],
        returns: "any",
        about: "To be returned by a scripted worker: the turn timed out.",
        spec: None,
        example: "",
    },
    Described {
        name: "lost",
        params: &[("used", "fleet.TestUsed?")],
        returns: "any",
        about: "To be returned by a scripted worker: the worker died.",
        spec: None,
        example: "",
    },
];

/// Fields of what `t.run` gives back.
pub(in crate::charter) const TEST_RUN: &[Field] = &[
    field("outcome", "string", "`done`, `partial`, `failed`, `timed_out` or `budget`."),
    field("value", "any", "The run's value."),
    field("why", "string?", "Why, unless it is done."),
];

/// Fields of what a scripted turn used.
pub(in crate::charter) const TEST_USED: &[Field] = &[
    field("input", "integer?", "Tokens read; 0 if absent."),
    field("output", "integer?", "Tokens written."),
    field("cache_read", "integer?", "Tokens read from the model's cache, which no budget counts."),
    field("cache_write", "integer?", "Tokens written to it."),
    field("cost", "number?", "US dollars."),
    field(
        "took",
        "string|number|nil",
        "How long it took, such as `\"5m\"`; 1 s if absent. Longer than its deadline or its profile's timeout, it times out.",
    ),
];

/// Fields of the task that a scripted worker is given.
pub(in crate::charter) const SCRIPTED: &[Field] = &[
    field("prompt", "string", "The text."),
    field("kind", "string?", "Its kind."),
    field("to", "string", "The role or worker it went to."),
    field("try", "integer", "Which try it is of this send, from 1."),
    field("complaint", "string?", "What was wrong with the answer that was sent back, if one was."),
];

/// Fields of the task that `t.route` takes.
pub(in crate::charter) const TEST_TASK: &[Field] = &[
    field("prompt", "string?", "The text; empty if absent."),
    field("kind", "string?", "Its kind."),
    field("files", "string[]?", "The files that it is about."),
    field("from", "string?", "Who sends; `leader` if absent."),
    field("urgent", "boolean?", "True when it asks to go first."),
];

/// Fields of what `t.route` gives back.
pub(in crate::charter) const TEST_ROUTE: &[Field] = &[
    field("role", "string?", "The role that gets it."),
    field("worker", "string?", "The worker that gets it."),
    field("because", "string", "Why."),
    field("rubric", "string", "The rubric that decided."),
];

/// Fields of what `t.sent` lists.
pub(in crate::charter) const TEST_SENT: &[Field] = &[
    field("to", "string", "The role or worker it went to."),
    field("prompt", "string", "The prompt."),
    field("kind", "string?", "Its kind."),
];
