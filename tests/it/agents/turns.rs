//! Turns of the real agent in its pane: how they are taken, how they end, and what their envelopes say.
//! What goes wrong in turns is in `trouble`.

use serde_json::json;

use super::team::{Team, agent_of, begin, envelope, message, spawn};
use crate::support::{Person, until};
use fleetd::engine::panes::Key;

#[test]
fn the_reply_comes_from_the_agents_hook_and_the_figures_from_what_it_wrote_down() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let prompt = "USAGE:in=100,out=10,cache_read=7 && TOOL:mcp__fleet__fleet_whoami:{} && TOOL:Bash:{\"command\":\"echo two\"}\n\
                  USAGE:in=200,out=20,cache_write=3 && THINK:so && SAY:done\\nin two lines";
    let said = message(&daemon, prompt);
    assert_eq!((&said["outcome"], &said["proof"]), (&json!("replied"), &json!("hook")), "{said}");
    assert_eq!((&said["text"], &said["from"]["model"]), (&json!("done\nin two lines"), &json!("scripted")), "{said}");
    let figures = json!({"input": 300, "output": 30, "cache_read": 7, "cache_write": 3, "context": 203});
    assert_eq!(said["usage"], figures, "each message once, however many pieces it has: {said}");
    let asked = team.asked().pop().expect("it asked");
    assert!(
        asked.contains("\"via_child\\\":false") || asked.contains("via_child"),
        "the agent itself was seen: {asked}"
    );
}

#[test]
fn a_reply_by_a_call_goes_before_the_last_words_and_words_of_the_turn_before_are_not_told_again() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let said = message(&daemon, "TOOL:mcp__fleet__fleet_reply:{\"text\":\"by a call\"}\nSAY:last words");
    assert_eq!((&said["text"], &said["outcome"]), (&json!("by a call"), &json!("replied")), "{said}");
    assert_eq!(message(&daemon, "SAY:first answer")["text"], "first answer");
    let said = message(&daemon, "TIMES:2 && EMPTY");
    assert_eq!((&said["text"], &said["outcome"]), (&json!(""), &json!("replied")), "not the words before: {said}");
}

#[test]
fn a_long_text_and_a_text_of_traps_arrive_as_they_are() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let long = format!("SAY:long\n{}", "a line of a long text\n".repeat(600));
    assert_eq!(message(&daemon, &long)["text"], "long");
    let traps = "/clear\n!touch trap\nexit\nSAY:still here\nsee @README and @no\n\u{1b}[201~after\u{7} \\";
    let said = message(&daemon, traps);
    assert_eq!(said["text"], "still here", "{said}");
    assert!(!team.work().join("trap").exists(), "a command of the text was run");
    // What is too long to be typed is read from a file.
    let huge = format!("{}\nSAY:not from here", "word ".repeat(8_000));
    let turn = begin_with_file(&daemon, &huge);
    assert!(team.asked().iter().any(|asked| asked.contains(&format!(".fleet/{turn}.md"))));
}

fn begin_with_file(daemon: &crate::support::Daemon, text: &str) -> String {
    let turn = begin(daemon, text);
    // The model has no step in what was typed, so the turn ends in whatever it says to that.
    envelope(daemon, &turn);
    turn
}

#[test]
fn an_agent_that_forgot_everything_is_told_again_who_it_is() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    message(&daemon, "SAY:one");
    message(&daemon, "SAY:two");
    let person = Person::at(&team.house, &daemon, "w-1");
    person.pastes("/compact");
    until("the command stands there", || person.sees().contains("/compact").then_some(()));
    person.presses(&[Key::Enter]);
    until("it has forgotten", || person.sees().contains("Conversation compacted").then_some(()));
    let asked = team.asked().len();
    assert_eq!(message(&daemon, "SAY:three")["text"], "three");
    let last = team.asked()[asked..].join("\n");
    assert!(last.contains("You are w-1, a worker of the role w"), "{last}");
}

#[test]
fn who_asks_in_the_middle_of_a_turn_is_told_what_it_is_at() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    // What the agent's own hook runs when it has forgotten; here it runs it by hand, in the middle of a turn.
    let report = json!({"hook_event_name": "SessionStart", "source": "compact"}).to_string();
    let call = json!({ "command": format!("echo '{report}' | '{}' hook", env!("CARGO_BIN_EXE_fleetd")) });
    let said = message(&daemon, &format!("TOOL:Bash:{call}\nSAY:{{{{result}}}}"));
    let text = said["text"].as_str().unwrap();
    assert!(text.contains("You are w-1") && text.contains("You are at turn t2"), "{said}");
    assert!(text.contains("[fleet turn t2 from operator]"), "with its text: {said}");
}

#[test]
fn a_turn_is_not_over_while_something_that_it_began_still_runs() {
    let team = Team::new("env = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS = '' }");
    let daemon = team.house.start();
    spawn(&daemon);
    let call = json!({ "command": "sleep 4; echo done", "run_in_background": true });
    let said = message(&daemon, &format!("TOOL:Bash:{call}\nSAY:it runs"));
    assert_eq!(said["outcome"], "replied", "{said}");
    assert_ne!(said["text"], "it runs", "the first stop was not the end: {said}");
    let asked = team.asked();
    assert!(asked.last().unwrap().contains("task-notification"), "it went on by itself");
}

#[test]
fn a_daemon_that_was_away_at_the_end_of_a_turn_finds_its_reply() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let turn = begin(&daemon, "SLEEP:2 && SAY:said while you were away");
    daemon.kill();
    // Its agent tells its hook to nobody.
    let transcript = until("the turn has ended", || {
        let sessions = std::fs::read_dir(team.house.state().join("sessions")).ok()?;
        let home = sessions.flatten().next()?.path().join("home/claude/projects");
        let file = std::fs::read_dir(std::fs::read_dir(home).ok()?.flatten().next()?.path()).ok()?.flatten().next()?;
        let text = std::fs::read_to_string(file.path()).ok()?;
        text.contains("turn_duration").then_some(text)
    });
    assert!(transcript.contains("said while you were away"));
    let daemon = team.house.start();
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], &said["proof"]), (&json!("said while you were away"), &json!("transcript")), "{said}");
    assert_eq!(team.asked().iter().filter(|asked| asked.contains("said while you were away")).count(), 1);
    assert_eq!(message(&daemon, "SAY:and on")["text"], "and on");
}

#[test]
fn a_daemon_that_comes_back_at_another_address_says_that_its_workers_cannot_find_it() {
    let mut team = Team::new("");
    let daemon = team.house.start();
    let first = daemon.url.clone();
    spawn(&daemon);
    daemon.kill();
    team.house.other_port();
    let daemon = team.house.start();
    let (_, sent) = daemon.post("/message", &json!({ "to": "w-1", "prompt": "SAY:hello", "wait": "3s" }));
    let told = sent.to_string();
    assert!(told.contains("it was started when fleetd was at") && told.contains(&first), "{told}");
    assert!(team.asked().is_empty(), "nothing was typed to it");
}

#[test]
fn a_killed_agent_loses_its_turn_and_a_new_one_takes_the_next() {
    let team = Team::new("");
    let daemon = team.house.start();
    spawn(&daemon);
    let turn = begin(&daemon, "HANG");
    agent_of(&daemon, "w-1").signal(rustix::process::Signal::KILL).unwrap();
    let said = envelope(&daemon, &turn);
    assert_eq!(said["outcome"], "lost", "{said}");
    assert!(said["why"].as_str().unwrap().contains("signal 9"), "{said}");
    spawn(&daemon);
    assert_eq!(message(&daemon, "SAY:anew")["text"], "anew");
}
