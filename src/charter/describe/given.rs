//! What steps give back to a recipe, and tests to theirs: the fields of these tables, and which of them there are. Another
//! field than these is a mistake of whoever reads it. The fields of what authors write are in `fields`.

use super::checks::{SCRIPTED, TEST_ROUTE, TEST_RUN, TEST_SENT};
use super::{Field, field};

/// What steps and tests give to authors: the prelude's name for it, how the error begins that another field is, its fields.
pub(in crate::charter) const GIVEN: &[(&str, &str, &[Field])] = &[
    ("reply", "a reply has no", ENVELOPE),
    ("sub_run", "what a run came to has no", SUB_RUN),
    ("voted", "what a vote came to has no", VOTED),
    ("missing", "a missing part has no", MISSING),
    ("question", "a question has no", QUESTION),
    ("test_run", "what t.run gives back has no", TEST_RUN),
    ("test_route", "what t.route gives back has no", TEST_ROUTE),
    ("test_sent", "what t.sent lists has no", TEST_SENT),
    ("scripted", "the task of a scripted worker has no", SCRIPTED),
];

/// Fields of a question, as `on_ask` sees it.
pub(in crate::charter) const QUESTION: &[Field] = &[
    field("text", "string", "What the worker asks."),
    field("id", "string", "The question's id."),
    field("turn", "string", "The turn in which it is asked; a new one at each try."),
    field("worker", "string", "Who asks."),
];

/// The fields of an envelope that authors use; the rest is in the REST reference.
pub(in crate::charter) const ENVELOPE: &[Field] = &[
    field("ok", "boolean", "True exactly when the worker replied."),
    field("text", "string", "The reply; empty when there is none."),
    field(
        "data",
        "any",
        "The reply as data, where a `schema` was asked for and it fits. Where it has more than 1 MiB, reading it is an error that names the file in which it lies.",
    ),
    field(
        "error",
        "string?",
        "The outcome's word when it is not ok: `failed`, `timed_out`, `lost`, `cancelled`, `unknown`; `busy` when it timed out before any worker took it, `lost` also when the worker that it names is not there any more, `schema` when the answer does not fit its schema, `budget` when the run has used up its budget.",
    ),
    field("why", "string?", "Why it ended so, for people."),
    field("outcome", "string", "How the turn ended."),
    field("turn", "string?", "The turn's id; absent when none was begun."),
    field(
        "from",
        "table",
        "Who answered: `worker`, `role`, `profile`, `launcher`, and `model` as the agent named it; what is not known is absent.",
    ),
    field("stderr", "string?", "The end of what the process wrote to stderr."),
    field(
        "exit",
        "table?",
        "How the process ended, for a worker that is one process a turn: its `code`, or the `signal` that ended it.",
    ),
    field(
        "work",
        "table?",
        "What was done in the worker's worktree: `branch`, `base`, `commits`, `files_changed`, `dirty` (something is not committed).",
    ),
    field(
        "usage",
        "table?",
        "What the turn took, where the agent tells: `input`, `output`, `cache_read` and `cache_write` in tokens, `cost` in US dollars.",
    ),
    field(
        "truncated",
        "table?",
        "Where the rest is of a reply of more than 1 MiB, of which `text` is the beginning: `path` names the file with all of it, `bytes` is its length, and `data` names the file with its data if that has more than 1 MiB too. The files go with the turn.",
    ),
    field(
        "times",
        "table",
        "When what happened, in milliseconds since 1970: `accepted`, `handed`, `started` (it was shown that the worker took it), `settled`.",
    ),
    field("proof", "string?", "What showed how the turn ended, such as `exit_status`."),
    field("generation", "integer?", "The charter's generation when the turn was accepted."),
    field("retry_of", "string?", "The turn that this one tried again."),
    field("amends", "string?", "The turn whose answer did not fit its `schema`, where this one asked for it again."),
];

/// What stands in the tables inside an envelope.
pub(in crate::charter) const PARTS_OF_REPLY: &[(&str, &[&str])] = &[
    ("from", &["worker", "role", "profile", "launcher", "model"]),
    ("usage", &["input", "output", "cache_read", "cache_write", "context", "cost"]),
    ("times", &["accepted", "handed", "started", "settled"]),
    ("exit", &["code", "signal"]),
    ("truncated", &["path", "bytes", "data"]),
    ("work", &["branch", "base", "commits", "files_changed", "dirty"]),
];

/// Fields of what a run below a run came to.
pub(in crate::charter) const SUB_RUN: &[Field] = &[
    field("ok", "boolean", "True when it is `done` or `partial`."),
    field("outcome", "string", "How it ended: `done`, `partial`, `failed`, `cancelled`, `timed_out`, `budget`."),
    field("value", "any", "What it returned."),
    field("error", "string?", "The word of its outcome when it is not ok; `busy` when too many runs are under way."),
    field("why", "string?", "Why it ended so, for people."),
    field("run", "string?", "Its id."),
    field("recipe", "string?", "Its recipe."),
    field("usage", "table?", "What its turns used: `input`, `output`, `cache_read`, `cache_write`, `cost`."),
];

/// Fields of what a vote came to.
pub(in crate::charter) const VOTED: &[Field] = &[
    field("decided", "boolean", "True when a value has its quorum."),
    field("value", "any", "The value that has it; absent when none has."),
    field("votes", "integer", "How many votes the first of the tally has."),
    field("quorum", "integer", "How many it needs."),
    field("of", "integer", "How many parts there were."),
    field(
        "tally",
        "table[]",
        "What was voted for, most votes first: `value`, `votes`, and `parts`, the places of who voted so.",
    ),
    field("missing", "fleet.Missing[]", "Parts that did not vote, and those that were given up."),
    field("why", "string?", "Why nothing is decided, for people."),
];

/// Fields of one thing that `run:split` found missing.
pub(in crate::charter) const MISSING: &[Field] = &[
    field("part", "integer", "Its place in the list."),
    field("item", "any", "What stands at that place in the list that `run:each`, `run:race` or `run:vote` was given."),
    field("error", "string", "The outcome's word."),
    field("why", "string?", "Why, for people."),
    field("turn", "string?", "Its last turn."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fleet::envelope::Envelope;

    /// Of a reply a field that is not described is a mistake of whoever reads it.
    #[test]
    fn all_that_a_run_gets_of_an_envelope_is_described() {
        let schema = schemars::schema_for!(Envelope);
        let schema = schema.as_value();
        let names = |of: &serde_json::Value| -> BTreeSet<String> {
            let of = of["$ref"].as_str().and_then(|path| schema.pointer(path.trim_start_matches('#'))).unwrap_or(of);
            match (of["properties"].as_object(), of["oneOf"].as_array()) {
                (Some(fields), _) => fields.keys().cloned().collect(),
                // An enum of which each word has a table of its own.
                (None, Some(forms)) => forms
                    .iter()
                    .flat_map(|form| form["properties"].as_object().into_iter().flatten())
                    .map(|(name, _)| name.clone())
                    .collect(),
                (None, None) => BTreeSet::new(),
            }
        };
        let mut has = names(schema);
        // What lies in a mailbox, and no run has one.
        for name in ["message", "late"] {
            assert!(has.remove(name), "{name}");
        }
        let described: BTreeSet<String> = ENVELOPE.iter().map(|field| field.name.to_owned()).collect();
        assert_eq!(has, described);
        for (part, fields) in PARTS_OF_REPLY {
            let of = &schema["properties"][*part];
            let of = of["anyOf"].as_array().map_or(of, |forms| &forms[0]);
            let fields: BTreeSet<String> = fields.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(names(of), fields, "{part}");
        }
    }
}
