//! The events of a fleet, each with what its handler is given, and the actions with which a handler may answer.
//! When one is told is decided in the fleet; a test holds these fields to what is really told.

use super::Field;
use super::fields::field;

/// One event.
pub(in crate::charter) struct Described {
    /// Its name, as `fleet.on` takes it.
    pub name: &'static str,
    /// The name of its table for editors.
    pub class: &'static str,
    /// When it is told.
    pub about: &'static str,
    /// What its table has beside `event`.
    pub fields: &'static [Field],
}

const fn event(name: &'static str, class: &'static str, about: &'static str, fields: &'static [Field]) -> Described {
    Described { name, class, about, fields }
}

const WORKER: Field = field("worker", "string", "The worker.");
const ROLE: Field = field("role", "string", "Its role.");

/// All events.
pub(in crate::charter) const EVENTS: &[Described] = &[
    event(
        "turn_settled",
        "fleet.TurnSettled",
        "A turn ended.",
        &[
            field("turn", "string", "The turn's id."),
            field("from", "string", "Who sent it: `leader`, `operator`, `run r3`."),
            field("worker", "string?", "Who had it, if anybody."),
            field("role", "string", "The role for which it waited."),
            field(
                "outcome",
                "string",
                "How it ended: `replied`, `failed`, `timed_out`, `lost`, `cancelled`, `unknown`.",
            ),
            field("why", "string?", "Why, unless it was replied to."),
            field("retried", "boolean", "True if it was a retry itself."),
        ],
    ),
    event(
        "run_ended",
        "fleet.RunEnded",
        "A run ended.",
        &[
            field("run", "string", "The run's id."),
            field("recipe", "string", "Its recipe."),
            field(
                "outcome",
                "string",
                "How it ended: `done`, `partial`, `failed`, `cancelled`, `timed_out`, `budget`.",
            ),
            field("why", "string?", "Why, unless it is done."),
        ],
    ),
    event(
        "worker_ready",
        "fleet.WorkerReady",
        "A worker can take its first turn.",
        &[WORKER, ROLE, field("profile", "string", "Its profile.")],
    ),
    event(
        "worker_blocked",
        "fleet.WorkerBlocked",
        "Nothing can be typed to a worker: a dialog is open, or its pane cannot be reached.",
        &[WORKER, ROLE, field("why", "string", "What is in the way.")],
    ),
    event(
        "worker_gone",
        "fleet.WorkerGone",
        "A worker is gone, however that came.",
        &[WORKER, ROLE, field("why", "string", "How that came.")],
    ),
    event(
        "question_asked",
        "fleet.QuestionAsked",
        "A question waits for the leader or the operator: of a worker in its turn, or of a run. One that a run answers first is told when it is passed on.",
        &[
            field("question", "string", "The question's id."),
            field("to", "string", "For whom it is: `leader` or `operator`."),
            field("turn", "string?", "The turn in which a worker asks."),
            field("run", "string?", "The run that asks."),
            field("worker", "string?", "Who asks, if it is a worker."),
            field("text", "string", "What is asked."),
        ],
    ),
    event(
        "role_full",
        "fleet.RoleFull",
        "As many messages wait for a role as may: the next one is refused. It is told when the queue becomes full.",
        &[
            field("role", "string", "The role."),
            field("waiting", "integer", "How many wait, which is its `max_waiting`."),
        ],
    ),
    event(
        "role_parked",
        "fleet.RoleParked",
        "Nothing is handed out for a role for some time.",
        &[field("role", "string", "The role."), field("until", "integer", "Until when, in milliseconds since 1970.")],
    ),
    event(
        "seat_changed",
        "fleet.SeatChanged",
        "The leader's seat was taken, or is free.",
        &[field("taken", "boolean", "Whether somebody sits in it."), field("why", "string", "How that came.")],
    ),
    event(
        "pause_changed",
        "fleet.PauseChanged",
        "Nothing is handed to any worker any more, or again.",
        &[
            field("paused", "boolean", "Whether it is a pause."),
            field("by", "string", "Who wanted it: `leader` or `operator`."),
        ],
    ),
    event(
        "charter_loaded",
        "fleet.CharterLoaded",
        "A generation came into force: the handlers of the new one are told.",
        &[
            field("generation", "integer", "Its number."),
            field("last_good", "boolean", "True if it is not what lies in the directory, but the last good one."),
        ],
    ),
    event(
        "charter_refused",
        "fleet.CharterRefused",
        "Saved files were not taken: the handlers of the generation that stays in force are told, once for the same files.",
        &[
            field("generation", "integer", "The number of the generation that stays."),
            field("error", "string", "Why, as `file:line: message`."),
        ],
    ),
];

/// Fields of the action that a handler may give back.
pub(in crate::charter) const ACTION: &[Field] = &[
    field(
        "action",
        "string",
        "`\"tell_leader\"` lays a notice into the mailboxes of the leader and the operator; `\"stop_worker\"` lets a worker finish its turn and go, or with `now` ends it at once; `\"park_role\"` hands out nothing for a role for some time, or until the role is declared otherwise, or `fleetd resume`; `\"retry_turn\"` sends a turn again that timed out or was lost, once (those of a run are tried again by their `retries`).",
    ),
    field("text", "string?", "The notice of `tell_leader`."),
    field("worker", "string?", "The worker of `stop_worker`."),
    field(
        "now",
        "boolean?",
        "True where `stop_worker` does not wait for the turn: it is lost, and a send of a run with `retries` tries it on another worker. For one that waits for something that will not come, such as an answer to a dialog.",
    ),
    field("role", "string?", "The role of `park_role`."),
    field("[\"for\"]", "string|number|nil", "For how long `park_role` holds, such as `\"5m\"`."),
    field("turn", "string?", "The turn of `retry_turn`."),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::charter::describe::SUB_RUN;
    use crate::fleet::events::FleetEvent;
    use crate::fleet::run::RunOutcome;
    use crate::fleet::turn::Outcome;

    /// The charter tells two by itself; all others are the fleet's.
    const OWN: [&str; 2] = ["charter_loaded", "charter_refused"];

    fn sample(name: &str) -> serde_json::Value {
        let mut sample = json!({
            "turn": "t1", "from": "leader", "worker": "w-1", "role": "w", "outcome": "failed", "why": "x", "retried": false,
            "run": "r1", "recipe": "r", "profile": "p", "question": "q1", "to": "leader", "text": "x", "waiting": 1,
            "until": 1, "taken": true, "paused": true, "by": "leader",
        });
        sample["event"] = name.into();
        sample
    }

    #[test]
    fn every_event_of_the_fleet_is_described_with_what_it_has() {
        let mut described: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
        described.retain(|name| !OWN.contains(name));
        assert_eq!(described, FleetEvent::WORDS);
        for event in EVENTS.iter().filter(|event| !OWN.contains(&event.name)) {
            // What is not its own is left out on reading, so what is written is what it has.
            let read: FleetEvent = serde_json::from_value(sample(event.name)).expect(event.name);
            assert_eq!(read.word(), event.name);
            let written = serde_json::to_value(&read).expect("it has a JSON form");
            let mut has: Vec<&str> = written.as_object().expect("a table").keys().map(String::as_str).collect();
            let mut wanted: Vec<&str> = event.fields.iter().map(|field| field.name).chain(["event"]).collect();
            has.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(has, wanted, "{}", event.name);
        }
    }

    /// Returns the words of an enum, as its schema has them.
    fn words<T: schemars::JsonSchema>() -> Vec<String> {
        let schema = serde_json::to_value(schemars::schema_for!(T)).expect("a schema is JSON");
        let one = |word: &serde_json::Value| word.as_str().map(str::to_owned);
        let of = |schema: &serde_json::Value| match (&schema["const"], schema["enum"].as_array()) {
            (_, Some(several)) => several.iter().filter_map(one).collect(),
            (word, None) => one(word).into_iter().collect::<Vec<_>>(),
        };
        let choices = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
        choices.iter().flat_map(of).collect()
    }

    #[test]
    fn outcomes_are_described_with_all_their_words() {
        let (runs, turns) = (words::<RunOutcome>(), words::<Outcome>());
        assert!(runs.contains(&"budget".to_owned()) && turns.contains(&"replied".to_owned()), "{runs:?} {turns:?}");
        let of_event = |name: &str| EVENTS.iter().find(|event| event.name == name).expect(name).fields;
        for (fields, words) in [(of_event("run_ended"), &runs), (SUB_RUN, &runs), (of_event("turn_settled"), &turns)] {
            let outcome = fields.iter().find(|field| field.name == "outcome").expect("it has one").about;
            for word in words {
                assert!(outcome.contains(&format!("`{word}`")), "{word}: {outcome}");
            }
        }
    }

    #[test]
    fn every_action_is_described() {
        for (action, takes) in crate::charter::handlers::ACTIONS {
            assert!(ACTION[0].about.contains(&format!("`\"{action}\"`")), "{action}");
            for field in *takes {
                let described = ACTION.iter().find(|one| one.name.contains(field)).expect(field);
                assert!(described.about.contains(&format!("`{action}`")), "{action}: {field}");
            }
        }
    }
}
