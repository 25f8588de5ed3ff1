//! Turns of the real agent that go wrong: each class of failure of its model, a model that never answers, a person's
//! and a caller's interrupt. After each the worker takes the next turn.

use std::time::Instant;

use fleetd::engine::panes::Key;
use serde_json::json;

use super::team::{Team, begin, envelope, message, spawn};
use crate::support::{Person, until};

#[test]
fn each_class_of_failure_is_told_and_the_worker_goes_on() {
    let team = Team::new("env = { CLAUDE_CODE_MAX_RETRIES = '1' }");
    let daemon = team.house.start();
    spawn(&daemon);
    for (script, class) in [
        ("ERR:400:a bad request", "unknown: API Error: 400"),
        ("ERR:401:who are you", "authentication_failed"),
        ("TIMES:4 && ERR:404:no such model", "model_not_found"),
        ("TIMES:3 && ERR:429:slow down", "rate_limit"),
        ("TIMES:3 && ERR:500:broken", "server_error"),
    ] {
        let said = message(&daemon, script);
        assert_eq!((&said["outcome"], &said["ok"]), (&json!("failed"), &json!(false)), "{script}: {said}");
        assert!(said["why"].as_str().unwrap().starts_with(class), "{script}: {said}");
        assert_eq!(said["text"], "", "what it showed of the failure is no reply: {said}");
    }
    assert_eq!(message(&daemon, "SAY:fine again")["text"], "fine again");
}

#[test]
fn what_it_tries_again_in_silence_is_still_one_turn() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let said = message(&daemon, "TIMES:2 && ERR:500:broken\nSAY:in the end");
    assert_eq!((&said["text"], &said["outcome"]), (&json!("in the end"), &json!("replied")), "{said}");
}

#[test]
fn a_model_that_never_answers_fails_by_the_agents_patience_or_by_the_deadline() {
    let team = Team::new("env = { API_TIMEOUT_MS = '1500', CLAUDE_CODE_MAX_RETRIES = '0' }");
    let daemon = team.house.start();
    spawn(&daemon);
    let said = message(&daemon, "TIMES:9 && HANG");
    assert_eq!(said["outcome"], "failed", "{said}");
    team.profile("");
    daemon.post("/v1/charter/reload", &json!({}));
    let second = spawn(&daemon)["name"].as_str().unwrap().to_owned();
    let request = json!({ "to": second, "prompt": "HANG", "wait": "40s", "deadline": "1500ms" });
    let (_, said) = daemon.post("/message", &request);
    assert_eq!(said["outcome"], "timed_out", "{said}");
    let request = json!({ "to": second, "prompt": "SAY:next", "wait": "40s" });
    let (_, said) = daemon.post("/message", &request);
    assert_eq!(said["text"], "next", "it was interrupted, and its composer is empty: {said}");
}

/// A reply that is still spoken when the key comes, however slow whoever presses it is. The agent shows a line that is
/// complete at once.
fn speech() -> String {
    format!("PACE:0.3 && SAY:one two three\\n\\n{}", "and on ".repeat(60))
}

/// Waits until its first words stand there twice: as a part of the prompt, and spoken.
fn it_speaks(person: &Person) {
    until("it speaks", || (person.sees().matches("one two three").count() > 1).then_some(()));
}

#[test]
fn a_persons_interrupt_ends_the_turn_and_says_so() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let person = Person::at(&team.house, &daemon, "w-1");
    let turn = begin(&daemon, &speech());
    it_speaks(&person);
    person.presses(&[Key::Esc]);
    let said = envelope(&daemon, &turn);
    assert_eq!(
        (&said["outcome"], &said["why"]),
        (&json!("failed"), &json!("it was interrupted in its pane")),
        "{said}"
    );
    assert_eq!(message(&daemon, "SAY:next")["text"], "next");

    let turn = begin(&daemon, "HANG");
    until("it works", || person.sees().contains("esc to interrupt").then_some(()));
    person.presses(&[Key::Esc]);
    let said = envelope(&daemon, &turn);
    let why = said["why"].as_str().unwrap_or_default();
    assert!(why.starts_with("it was interrupted in its pane"), "{said}");
    assert_eq!(message(&daemon, "SAY:and the next")["text"], "and the next");
    let asked = team.asked().pop().unwrap();
    assert!(!asked.contains("HANG[fleet"), "the text that came back was not glued to the next one: {asked}");
}

#[test]
fn a_persons_own_words_are_not_the_reply_to_a_turn() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let person = Person::at(&team.house, &daemon, "w-1");
    let turn = begin(&daemon, &speech());
    it_speaks(&person);
    person.presses(&[Key::Esc]);
    until("it stopped", || person.sees().contains("Interrupted").then_some(()));
    person.pastes("SAY:only for the person");
    until("the words stand there", || person.sees().contains("only for the person").then_some(()));
    person.presses(&[Key::Enter]);
    let said = envelope(&daemon, &turn);
    assert_eq!(
        (&said["outcome"], &said["why"]),
        (&json!("failed"), &json!("it was interrupted in its pane")),
        "{said}"
    );
    assert_eq!(message(&daemon, "SAY:next")["text"], "next");
}

#[test]
fn words_of_a_dialog_in_a_message_or_a_reply_are_words() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let said = message(
        &daemon,
        "say 'Esc to cancel', 'Enter to confirm' and 'esc to interrupt'\nSAY:press Enter to confirm, Esc to cancel, esc to interrupt",
    );
    assert_eq!(said["outcome"], "replied", "{said}");
    assert_eq!(said["proof"], "hook", "its screen was at rest: {said}");
    let said = message(&daemon, "SAY:next");
    assert_eq!((&said["text"], &said["from"]["worker"]), (&json!("next"), &json!("w-1")), "{said}");
}

#[test]
fn a_cancelled_turn_is_interrupted_before_its_first_word_and_after() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    // At once the agent may not even show that it works; a moment later it gives the text back, which must not go along
    // with the next one.
    let words = "SAY:some && STALL";
    for (script, after) in [("HANG", 0), ("HANG", 140), ("HANG", 280), ("HANG", 600), (words, 0), (words, 700)] {
        let begun = Instant::now();
        let turn = begin(&daemon, script);
        until("it is time", || (begun.elapsed().as_millis() >= after).then_some(()));
        let (status, cancelled) = daemon.post("/v1/cancel", &json!({ "turn": turn }));
        assert_eq!(status, 200, "{cancelled}");
        assert_eq!(envelope(&daemon, &turn)["outcome"], "cancelled");
        // To this one: its role would start another one meanwhile.
        let (_, said) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:next", "wait": "50s" }));
        let seen = || (Person::at(&team.house, &daemon, "w-1").sees(), team.asked());
        assert_eq!(said["text"], "next", "{script} {after}: {said} {:?}", seen());
    }
}
