//! Turns of the real agent that is called: what they bring, what may happen in them, and that none of it is the end.
//! What goes wrong in turns is in `trouble`.

use fleetd::engine::panes::Key;
use serde_json::json;

use super::super::team::{Team, begin, envelope, message, spawn, state};
use crate::support::{Person, until};

#[test]
fn the_reply_and_the_figures_are_of_its_own_record() {
    let team = Team::called("options = { cost = { input = 2, output = 10, cache_read = 1 } }");
    let daemon = team.house.start();
    spawn(&daemon);
    let call = json!({ "command": "echo two" });
    let prompt = format!(
        "USAGE:in=100,out=10,cache_read=7 && TOOL:fleet_fleet_whoami:{{}} && TOOL:bash:{call}\nUSAGE:in=200,out=20 && SAY:done\\nin two lines"
    );
    let said = message(&daemon, &prompt);
    assert_eq!((&said["outcome"], &said["proof"]), (&json!("replied"), &json!("api")), "{said}");
    assert_eq!((&said["text"], &said["from"]["model"]), (&json!("done\nin two lines"), &json!("scripted")), "{said}");
    let usage = &said["usage"];
    assert_eq!(
        [&usage["input"], &usage["output"], &usage["cache_read"]],
        [&json!(300), &json!(30), &json!(7)],
        "{said}"
    );
    let cost = usage["cost"].as_f64().unwrap();
    assert!((cost - 0.000_907).abs() < 1e-9, "at the prices of its profile: {said}");
    let asked = team.asked().pop().unwrap();
    assert!(asked.contains("\"name\":\"w-1\"") || asked.contains("w-1"), "it was seen for what it is: {asked}");

    let said = message(&daemon, "TOOL:fleet_fleet_reply:{\"text\":\"by a call\"}\nSAY:last words");
    assert_eq!((&said["text"], &said["outcome"]), (&json!("by a call"), &json!("replied")), "{said}");
    let traps = "/new\n!touch trap\n@README.md\nSAY:still here\n\u{1b}[201~\u{7} \\";
    assert_eq!(message(&daemon, traps)["text"], "still here");
    assert!(!team.work().join("trap").exists(), "a command of the text was run");
    let long = format!("SAY:long\n{}the very end", "a line of a long text, \"quoted\"\n".repeat(9_000));
    assert_eq!(message(&daemon, &long)["text"], "long");
    assert!(team.asked().pop().unwrap().contains(&long), "it arrived as it was");
}

#[test]
fn a_helper_and_a_full_context_are_not_the_end() {
    let team = Team::called("options = { context = 40000, output = 1000 }");
    let daemon = team.house.start();
    spawn(&daemon);
    let task =
        json!({"description": "help", "subagent_type": "general", "prompt": "SLEEP:1 && SAY:the helper has ended"});
    // In this line ` && ` would begin the next part.
    let task = task.to_string().replace('&', "\\u0026");
    let said = message(&daemon, &format!("TOOL:task:{task}\nSLEEP:1 && SAY:it was told {{{{result}}}}"));
    assert!(said["text"].as_str().unwrap().contains("the helper has ended"), "{said}");
    assert!(said["text"].as_str().unwrap().starts_with("it was told"), "{said}");
    // An answer that fills its context: it sums up, and goes on by itself.
    let said = message(&daemon, "USAGE:in=39900,out=900 && SAY:the answer itself");
    assert_eq!((&said["text"], &said["outcome"]), (&json!("the answer itself"), &json!("replied")), "{said}");
    assert_eq!(message(&daemon, "SAY:and the next")["text"], "and the next");
    assert!(team.asked().iter().any(|asked| asked.contains("summary")), "it has summed up");
}

#[test]
fn a_worker_asks_and_its_turn_goes_on() {
    let team = Team::called("");
    let daemon = team.house.start();
    spawn(&daemon);
    let turn = begin(&daemon, "TOOL:fleet_fleet_ask:{\"text\":\"which colour?\"}\nSAY:it is {{result}}");
    until("it asks", || (state(&daemon, &turn) == "asking").then_some(()));
    let (status, answered) = daemon.post("/v1/reply", &json!({ "turn": turn, "text": "blue" }));
    assert_eq!(status, 200, "{answered}");
    let said = envelope(&daemon, &turn);
    assert!(said["text"].as_str().unwrap().contains("blue"), "{said}");
}

#[test]
fn a_persons_words_in_its_pane_are_not_the_reply_to_a_turn() {
    let team = Team::called("");
    let daemon = team.house.start();
    spawn(&daemon);
    let person = Person::at(&team.house, &daemon, "w-1");
    assert_eq!(message(&daemon, "SAY:the first answer")["text"], "the first answer");
    until("its conversation is shown", || person.sees().contains("the first answer").then_some(()));
    person.pastes("SLEEP:3 && SAY:only for the person");
    person.presses(&[Key::Enter]);
    until("it works for the person", || team.asked().iter().any(|asked| asked.contains("only for")).then_some(()));
    // To this one: its role would start another one meanwhile.
    let (_, said) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:for the leader", "wait": "50s" }));
    assert_eq!((&said["text"], &said["outcome"]), (&json!("for the leader"), &json!("replied")), "{said}");
    let asked = team.asked();
    let both = asked.iter().find(|asked| asked.contains("SAY:for the leader")).unwrap();
    assert!(both.contains("only for the person"), "the person came first, and in the same conversation");
}
