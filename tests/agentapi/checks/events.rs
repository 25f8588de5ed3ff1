//! Event streams: the state first, then what changes, until somebody ends it.
//! What the messages in it come from is in `api`.

use serde_json::json;

use super::rig::Sim;

#[test]
fn a_stream_begins_with_the_state_and_goes_on_with_what_changes() {
    let sim = Sim::start(&["--error", "Failed to restore previous session: none"], &["--answer", "upper"]);
    sim.stable();
    let events = sim.listen("/events");
    let (name, first) = events.next().unwrap();
    assert_eq!((name.as_str(), &first["id"], &first["role"]), ("message_update", &json!(0), &json!("agent")));
    assert!(first["message"].is_string() && first["content"].is_null(), "it is called message here: {first}");
    let (name, status) = events.next().unwrap();
    assert_eq!((name.as_str(), status), ("status_change", json!({"status": "stable", "agent_type": "custom"})));
    let (name, error) = events.next().unwrap();
    assert_eq!((name.as_str(), &error["level"]), ("agent_error", &json!("warning")));
    assert_eq!(error["message"], "Failed to restore previous session: none");

    assert_eq!(sim.say("hello").0, 200);
    events.until(|name, data| name == "status_change" && data["status"] == "running");
    let said = events.until(|name, data| name == "message_update" && data["role"] == "user");
    assert_eq!((&said["id"], &said["message"]), (&json!(1), &json!("hello")));
    let said = events.until(|_, data| data["message"].as_str().is_some_and(|text| text.contains("HELLO")));
    assert_eq!((&said["id"], &said["role"]), (&json!(2), &json!("agent")), "the whole message each time");
    events.until(|name, data| name == "status_change" && data["status"] == "stable");
}

#[test]
fn the_screen_has_a_stream_of_its_own() {
    let sim = Sim::start(&[], &["--answer", "upper"]);
    sim.stable();
    let screen = sim.listen("/internal/screen");
    let (name, first) = screen.next().unwrap();
    let text = first["screen"].as_str().unwrap();
    assert_eq!((name.as_str(), text), ("screen", text.trim_end()), "without the blanks at its end");
    assert_eq!(sim.say("hello").0, 200);
    screen.until(|name, data| name == "screen" && data["screen"].as_str().unwrap().contains("HELLO"));
}

#[test]
fn a_stream_can_be_told_to_end_in_the_middle() {
    let sim = Sim::start(&["--drop-events", "3"], &[]);
    sim.stable();
    let events = sim.listen("/events");
    assert_eq!((events.next().is_some(), events.next().is_some()), (true, true), "the state are two");
    assert_eq!(sim.say("hello").0, 200);
    assert_eq!(events.next().map(|(name, _)| name).as_deref(), Some("status_change"));
    assert_eq!(events.next(), None);
    sim.habits(&json!({"drop_events": 0}));
    let events = sim.listen("/events");
    events.until(|_, data| data["role"] == "user");
    sim.stable();
    events.until(|name, data| name == "status_change" && data["status"] == "stable");
}
