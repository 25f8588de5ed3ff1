//! What the handlers of a charter are told of, and how often they may act.
//! How a handler is called is seen in `charter`; here the fleet alone says what happened.

use fleetd::fleet::acts::Action;
use fleetd::fleet::caller::{Caller, Sender};
use fleetd::fleet::events::FleetEvent;
use fleetd::fleet::input::{Call, Effect, Input, Sighting};
use fleetd::fleet::mail::About;
use fleetd::fleet::record::Record;
use fleetd::fleet::seat::Sitter;
use fleetd::fleet::time::Span;
use fleetd::fleet::worker::Process;
use serde_json::{Value, json};

use super::fleet_stage::{Stage, team};

/// Returns a fleet whose charter handles every event.
fn told() -> Stage {
    let mut stage = Stage::bare();
    let mut team = (*team(1, 1)).clone();
    team.handlers = FleetEvent::WORDS.iter().map(|word| (*word).to_string()).collect();
    stage.step(Input::Team(team.into()));
    stage
}

/// Returns the events of the last step, as handlers are given them.
fn events(stage: &Stage) -> Vec<Value> {
    let events = stage.last.effects.iter().filter_map(|effect| match effect {
        Effect::Event(event) => Some(serde_json::to_value(event).expect("it has a JSON form")),
        _ => None,
    });
    events.collect()
}

#[test]
fn a_worker_is_told_of_when_it_is_ready_barred_and_gone() {
    let mut stage = told();
    let turn = stage.send("w");
    assert_eq!(events(&stage), [json!({"event": "worker_ready", "worker": "w-1", "role": "w", "profile": "pw"})]);
    stage.replies(turn);
    let words: Vec<Value> = events(&stage).into_iter().map(|event| event["event"].clone()).collect();
    assert_eq!(words, ["turn_settled"], "free again is not ready for the first time");

    stage.calls(Caller::Leader, Call::Spawn { role: "s".into(), profile: None, key: None });
    assert!(events(&stage).is_empty(), "it is only starting");
    stage.up("s-1");
    assert_eq!(events(&stage), [json!({"event": "worker_ready", "worker": "s-1", "role": "s", "profile": "ps"})]);
    for _ in 0..2 {
        stage.seen(Sighting::Blocked { worker: "s-1".into(), why: "a dialog".into() });
    }
    assert!(events(&stage).is_empty(), "the same dialog is told once");
    stage.seen(Sighting::Clear { worker: "s-1".into() });
    stage.seen(Sighting::Unreachable { worker: "s-1".into(), why: "no pane".into() });
    assert_eq!(events(&stage), [json!({"event": "worker_blocked", "worker": "s-1", "role": "s", "why": "no pane"})]);
    stage.gone("s-1");
    assert_eq!(events(&stage), [json!({"event": "worker_gone", "worker": "s-1", "role": "s", "why": "killed"})]);
}

#[test]
fn a_role_is_told_of_when_it_becomes_full_and_when_it_is_parked() {
    let mut stage = told();
    let first = stage.send("w");
    for n in 1..=3 {
        stage.send("w");
        let full = (n == 3).then(|| json!({"event": "role_full", "role": "w", "waiting": 3}));
        assert_eq!(events(&stage), full.into_iter().collect::<Vec<_>>(), "{n} wait");
    }
    stage.sends(super::fleet_stage::send_to("w")).expect_err("it is full");
    assert!(events(&stage).is_empty(), "a refusal changes nothing, so nothing is told");
    stage.replies(first);
    stage.send("w");
    assert_eq!(events(&stage).len(), 1, "full again");
    stage.step(Input::Act(Action::ParkRole { role: "w".into(), r#for: Span::minutes(5) }));
    let until = stage.now.0 + 300_000;
    assert_eq!(events(&stage), [json!({"event": "role_parked", "role": "w", "until": until})]);
}

#[test]
fn questions_the_seat_and_a_pause_are_told() {
    let mut stage = told();
    let turn = stage.send("w");
    stage.taken(turn);
    let until = stage.now + Span::minutes(1);
    let caller = Caller::Worker { name: "w-1".into(), via_child: false };
    stage.calls(caller, Call::Ask { turn: Some(turn), text: "which way?".into(), until, request: None });
    let [asked] = &events(&stage)[..] else { panic!("{:?}", events(&stage)) };
    assert_eq!(
        (&asked["event"], &asked["to"], &asked["worker"]),
        (&json!("question_asked"), &json!("leader"), &json!("w-1"))
    );
    assert_eq!((&asked["text"], &asked["turn"], &asked["run"]), (&json!("which way?"), &json!(turn), &Value::Null));

    let sitter = Sitter::Process(Process { pid: 7, start: 1 });
    stage.leader(Call::TakeSeat(sitter)).expect("it is free");
    assert_eq!(
        events(&stage),
        [json!({"event": "seat_changed", "taken": true, "why": "the seat was taken by process 7"})]
    );
    stage.operator(Call::ReleaseSeat).expect("a person may");
    assert_eq!(events(&stage)[0]["taken"], false);
    stage.operator(Call::Pause).expect("a person may");
    assert_eq!(events(&stage), [json!({"event": "pause_changed", "paused": true, "by": "operator"})]);
    stage.leader(Call::Unpause).expect("the leader may");
    assert_eq!(events(&stage), [json!({"event": "pause_changed", "paused": false, "by": "leader"})]);
}

/// A handler that answers its own effect goes round as often as it may, and no more; who reads mail is told of it once.
#[test]
fn a_storm_of_a_handler_ends_by_itself_and_is_told() {
    let mut stage = told();
    let park = || Input::Act(Action::ParkRole { role: "w".into(), r#for: Span::minutes(5) });
    let (mut told, mut notices) = (0, 0);
    stage.step(park());
    for _ in 0..1000 {
        for record in &stage.last.records {
            if let Record::Message(message) = record
                && let About::Notice(text) = &message.about
            {
                assert!(text.starts_with("the charter's handlers want more than 60 actions in a minute"), "{text}");
                notices += 1;
            }
        }
        if events(&stage).is_empty() {
            break;
        }
        told += 1;
        stage.step(park());
    }
    assert_eq!((told, notices), (60, 2), "for the leader and for the operator");
    stage.step(park());
    assert!(stage.last.records.is_empty() && stage.last.effects.is_empty());
    stage.after(Span::minutes(1));
    stage.step(park());
    assert_eq!(events(&stage).len(), 1, "a minute later it may act again");
}

/// A storm that lasts takes nothing from the actions that there may be, and is not told again and again.
#[test]
fn a_lasting_storm_leaves_what_a_minute_allows_and_is_told_once() {
    let mut stage = told();
    let notices = |stage: &Stage| -> Vec<String> {
        let records = stage.last.records.iter();
        records
            .filter_map(|record| match record {
                Record::Message(message) => match &message.about {
                    About::Notice(text) if message.to == Sender::Leader => Some(text.to_string()),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    };
    let mut told = Vec::new();
    for _ in 0..5 * 180 {
        stage.after(Span(333));
        stage.step(Input::Act(Action::TellLeader { text: "again".into() }));
        told.extend(notices(&stage));
    }
    let (again, storms): (Vec<_>, Vec<_>) = told.into_iter().partition(|text| text == "again");
    assert!((300..=360).contains(&again.len()), "60 a minute, for five minutes: {}", again.len());
    assert_eq!(storms.len(), 1, "{storms:?}");
    // What the fleet itself has to say does not wait for the end of a storm.
    stage.step(Input::Notice("the charter's newest files were not taken".into()));
    assert_eq!(notices(&stage), ["the charter's newest files were not taken"]);
    stage.after(Span::minutes(2));
    for _ in 0..61 {
        stage.step(Input::Act(Action::TellLeader { text: "again".into() }));
    }
    assert!(notices(&stage)[0].starts_with("the charter's handlers want more"), "the next storm is another one");
}

#[test]
fn notices_are_bounded_in_length_and_number() {
    let mut stage = told();
    for n in 0..1_010 {
        stage.step(Input::Notice(format!("{n} {}", "x".repeat(5_000))));
    }
    let saved = stage.fleet.saved();
    let lying: Vec<&String> = saved
        .messages
        .iter()
        .filter(|message| message.to == Sender::Leader)
        .filter_map(|message| match &message.about {
            About::Notice(text) => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(lying.len(), 1_000);
    assert!(lying[0].starts_with("10 x") && lying.iter().all(|text| text.chars().count() == 4_001));
}

/// What a team without handlers does costs nothing: no event is made.
#[test]
fn without_handlers_nothing_is_told() {
    let mut stage = Stage::with(1);
    let turn = stage.send("w");
    stage.replies(turn);
    stage.operator(Call::Pause).expect("a person may");
    assert!(events(&stage).is_empty());
}
