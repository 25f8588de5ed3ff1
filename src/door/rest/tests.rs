//! The shapes that only this door has, held against their schemas. Those that all doors share are held in
//! `door/schema`.

use serde_json::json;

use super::charter::RouteRequest;
use super::health::Health;
use super::mail::AckRequest;
use super::runs::Runs;
use super::team::{StopRequest, Whoami};
use super::turns::{CancelRequest, Everything};
use crate::door::schema::tests::{read, written};
use crate::fleet::caller::CallerKind;
use crate::fleet::view::Roster;

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
        &[json!({"prompt": "x"}), json!({"prompt": "", "kind": null})],
        &[json!({}), json!({"prompt": 5}), json!({"prompt": "x", "to": "auto"})],
    );
}

#[test]
fn answers_are_written_as_their_schemas_say() {
    let health = || Health { live: true, ready: true, degraded: vec!["why".into()], generation: 3, version: "1" };
    written(&health(), &health());
    let everything = || Everything { roster: Roster::default(), health: health() };
    written(&everything(), &everything());
    written(&Runs { runs: Vec::new() }, &Runs { runs: Vec::new() });
    let bare = Whoami {
        caller: CallerKind::Operator,
        name: None,
        via_child: None,
        why: None,
        may: vec!["send"],
        generation: 0,
    };
    let full = Whoami {
        caller: CallerKind::Worker,
        name: Some("w-1".into()),
        via_child: Some(true),
        why: Some("peer of another uid".into()),
        may: Vec::new(),
        generation: 3,
    };
    written(&bare, &full);
}
