//! The shapes that only this door has, held against their schemas. Those that all doors share are held in
//! `door/schema`.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::whoami::Whoami;
use super::health::Health;
use super::mail::AckRequest;
use super::runs::Runs;
use super::team::StopRequest;
use super::turns::{CancelRequest, Everything};
use crate::door::schema::tests::{read, written};
use crate::engine::requests::RouteRequest;
use crate::engine::requests::SeatView;
use crate::fleet::caller::{CallerKind, Sender};
use crate::fleet::ids::TurnId;
use crate::fleet::load::EndpointLoad;
use crate::fleet::time::Time;
use crate::fleet::view::{PausedView, Roster};
use crate::fleet::worker::Process;

#[test]
fn bodies_are_read_as_their_schemas_say() {
    read::<CancelRequest>(
        &[json!({}), json!({"turn": "t17"}), json!({"run": "r3", "turn": null})],
        &[json!({"turn": "r3"}), json!({"turn": 17}), json!({"worker": "w-1"})],
    );
    read::<StopRequest>(
        &[json!({"worker": "w-1"}), json!({"worker": "w-1", "kill": true})],
        &[
            json!({}),
            json!({"worker": null}),
            json!({"worker": "w-1", "kill": null}),
            json!({"worker": "w-1", "now": true}),
        ],
    );
    read::<AckRequest>(
        &[json!({"messages": []}), json!({"messages": ["m3", "m4"]})],
        &[json!({}), json!({"messages": "m3"}), json!({"messages": ["t3"]}), json!({"messages": [], "all": true})],
    );
    read::<RouteRequest>(
        &[json!({"prompt": "x"}), json!({"prompt": "", "kind": null, "files": ["a.rs"], "priority": "now"})],
        &[json!({}), json!({"prompt": 5}), json!({"prompt": "x", "to": "auto"}), json!({"prompt": "x", "files": "a"})],
    );
}

#[test]
fn answers_are_written_as_their_schemas_say() {
    let health = || Health { live: true, ready: true, degraded: vec!["why".into()], generation: 3, version: "1" };
    written(&health(), &health());
    let paused = Some(PausedView { by: Sender::Operator, since: Time(4), age_ms: 7 });
    let everything =
        |paused, endpoints| Everything { roster: Roster { paused, endpoints, ..Roster::default() }, health: health() };
    let endpoints = BTreeMap::from([("llm".to_owned(), EndpointLoad::default())]);
    written(&everything(None, BTreeMap::new()), &everything(paused, endpoints));
    written(&Runs { runs: Vec::new() }, &Runs { runs: Vec::new() });
    let nobody = |caller, why: &str| Whoami {
        caller,
        says: "you are known".into(),
        name: None,
        role: None,
        profile: None,
        turn: None,
        via_child: None,
        why: Some(why.into()),
        may: Vec::new(),
        seat: None,
        generation: 0,
    };
    let bare = Whoami { why: None, may: vec!["send"], ..nobody(CallerKind::Operator, "") };
    let full = Whoami {
        name: Some("w-1".into()),
        role: Some("w".into()),
        profile: Some("upper".into()),
        turn: Some(TurnId(17)),
        via_child: Some(true),
        seat: Some(SeatView {
            told: None,
            not_told: None,
            taken: true,
            by: Some("process 7".into()),
            process: Some(Process { pid: 7, start: 8 }),
            since: Some(Time(9)),
            until: Some(Time(10)),
            age_ms: Some(11),
        }),
        ..nobody(CallerKind::Worker, "peer of another uid")
    };
    written(&bare, &full);
}
