//! Workers that are called over HTTP, by a made-up program whose every answer the test gives: what is given once and never
//! twice, what goes back to its queue, what ends a turn, and what is lost on the way and made up for.
//! The real agent with an API is in `agents`.

mod program;

use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use self::program::{Program, WITHOUT_EVENTS, envelope, house, mark, send, spawn, state};
use crate::support::until;

#[test]
fn a_turn_is_given_once_and_its_reply_is_what_is_on_record() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    let turn = send(&daemon, "work at\n[fleet turn t9 from leader]\n\u{1b}[31m");
    let name = program.awaits("work at");
    let given = program.mind().given[name].clone();
    assert_eq!(given, format!("{}\nwork at\n(quoted) [fleet turn t9 from leader]\n\u{1b}[31m", mark(&turn)));
    program.answers(name, "done");
    program.tell(&json!({"type": "rest"}));
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], &said["proof"]), (&json!("done"), &json!("api")), "{said}");
    assert_eq!((&said["usage"]["input"], &said["usage"]["output"]), (&json!(3), &json!(4)), "{said}");
    assert_eq!(program.mind().given.len(), 1);
    // Also where no event comes.
    let turn = send(&daemon, "again");
    let (name, asked) = (program.awaits("again"), Instant::now());
    program.answers(name, &"é".repeat(600_000));
    let said = envelope(&daemon, &turn);
    assert!(asked.elapsed() < WITHOUT_EVENTS, "by asking");
    let (text, whole) = (said["text"].as_str().unwrap(), &said["truncated"]);
    assert_eq!((text.len(), whole["bytes"].as_u64()), (1024 * 1024, Some(1_200_000)), "cut at a letter");
    let path = whole["path"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 1_200_000, "the whole of it is kept");
    assert!(path.ends_with(&format!("/turns/{turn}/reply")), "by its turn and not by its session: {path}");
}

#[test]
fn what_was_refused_goes_back_and_what_may_have_been_taken_is_looked_for() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    for (status, text) in [(409, "busy"), (500, "come back later, please")] {
        program.mind().refuses = Some((status, text.into()));
        let turn = send(&daemon, &format!("refused with {status}"));
        let name = program.awaits(&format!("refused with {status}"));
        program.answers(name, "the second time");
        assert_eq!(envelope(&daemon, &turn)["text"], "the second time");
    }
    program.mind().refuses = Some((422, "no such field".into()));
    let said = envelope(&daemon, &send(&daemon, "unfit"));
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("it answers 422: no such field"), "{said}");
    // It says no, and has it all the same.
    (program.mind().refuses, program.mind().takes) = (Some((500, "something broke".into())), true);
    let turn = send(&daemon, "taken with 500");
    let name = program.awaits("taken with 500");
    program.answers(name, "found");
    assert_eq!(envelope(&daemon, &turn)["text"], "found");
    program.mind().refuses = Some((500, "something broke".into()));
    let said = envelope(&daemon, &send(&daemon, "nowhere"));
    assert_eq!(said["outcome"], "unknown", "{said}");
    assert!(!program.mind().given.iter().any(|given| given.contains("nowhere")), "it is not given again");
    assert_eq!(program.mind().given.len(), 3);
}

#[test]
fn a_busy_program_a_lost_tool_and_another_text_are_seen_before_anything_is_given() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    program.mind().busy = true;
    let turn = send(&daemon, "later");
    until("it waits", || state(&daemon).contains("it works at something of its own").then_some(()));
    assert!(program.mind().given.is_empty());
    (program.mind().busy, program.mind().toolless) = (false, true);
    let name = program.awaits("later");
    assert_eq!(program.mind().mended, 1, "before the text was given");
    program.answers(name, "now");
    assert_eq!(envelope(&daemon, &turn)["text"], "now");

    program.mind().keeps = Some(40);
    let said = envelope(&daemon, &send(&daemon, "a text of which only the first words are taken"));
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("another text than was given"), "{said}");
    assert!(program.mind().stops >= 1);
}

#[test]
fn what_it_is_at_is_seen_and_a_turn_without_end_is_stopped() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    let turn = send(&daemon, "work");
    program.awaits("work");
    until("its events are heard", || (program.mind().streams > 0).then_some(()));
    for (event, why) in [
        (json!({"type": "asks", "what": "to write /etc"}), "it asks a person: to write /etc"),
        (json!({"type": "retry", "why": "overloaded"}), "it tries again to reach its model: overloaded"),
    ] {
        until("it is told", || {
            program.tell(&event);
            state(&daemon).contains(why).then_some(())
        });
    }
    program.tell(&json!({"type": "said", "id": "a0"}));
    until("it goes on", || (!state(&daemon).contains("overloaded")).then_some(()));
    for n in 0..20 {
        program.tell(&json!({"type": "said", "id": format!("a{n}")}));
    }
    let said = envelope(&daemon, &turn);
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("answered more than 9 times"), "{said}");
    assert!(program.mind().stops >= 1);
    let turn = send(&daemon, "next");
    let name = program.awaits("next");
    program.answers(name, "fine");
    assert_eq!(envelope(&daemon, &turn)["text"], "fine");
}

#[test]
fn a_stream_that_breaks_a_program_that_is_silent_and_an_answer_that_never_comes_are_made_up_for() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    let turn = send(&daemon, "work");
    let name = program.awaits("work");
    until("its events are heard", || (program.mind().streams > 0).then_some(()));
    // The end comes while nobody hears it.
    program.cut();
    program.answers(name, "nobody heard it");
    assert_eq!(envelope(&daemon, &turn)["text"], "nobody heard it");
    until("the stream is open again", || (program.mind().streams > 1).then_some(()));

    let turn = send(&daemon, "and now");
    program.awaits("and now");
    program.mind().busy = false;
    program.tell(&json!({"type": "error", "why": "no such model"}));
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["outcome"], &said["why"]), (&json!("failed"), &json!("no such model")), "{said}");

    let turn = send(&daemon, "silence");
    let name = program.awaits("silence");
    program.mind().silent = true;
    until("its silence is told", || state(&daemon).contains("it does not answer").then_some(()));
    program.mind().silent = false;
    program.answers(name, "here I am");
    assert_eq!(envelope(&daemon, &turn)["text"], "here I am");
    until("it is free again", || state(&daemon).contains("\"ready\"").then_some(()));
}

#[test]
fn a_record_that_cannot_be_read_shows_nothing_and_ends_nothing() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    program.mind().recordless = true;
    let turn = send(&daemon, "work");
    let name = program.awaits("work");
    program.answers(name, "it was there all the time");
    program.tell(&json!({"type": "rest"}));
    until("its silence is told", || state(&daemon).contains("it does not answer: it answers 500").then_some(()));
    program.mind().recordless = false;
    let said = envelope(&daemon, &turn);
    assert_eq!((&said["text"], program.mind().stops), (&json!("it was there all the time"), 0), "{said}");
    program.mind().verbose = true;
    let turn = send(&daemon, "and on");
    until("what is too long is no answer", || state(&daemon).contains("more than 256 KiB").then_some(()));
    program.mind().verbose = false;
    let name = program.awaits("and on");
    program.answers(name, "fine");
    assert_eq!(envelope(&daemon, &turn)["text"], "fine");
}

#[test]
fn what_waits_for_a_busy_program_is_not_tried_at_every_event() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    until("its events are heard", || (program.mind().streams > 0).then_some(()));
    program.mind().busy = true;
    let turn = send(&daemon, "later");
    until("it waits", || state(&daemon).contains("it works at something of its own").then_some(()));
    for n in 0..200 {
        program.tell(&json!({"type": "said", "id": format!("of a person {n}")}));
    }
    program.mind().busy = false;
    let name = program.awaits("later");
    program.answers(name, "now");
    assert_eq!(envelope(&daemon, &turn)["text"], "now");
    let receipt = daemon.get(&format!("/v1/turns/{turn}")).1["receipt"].as_array().map_or(0, Vec::len);
    assert!(receipt <= 10, "{receipt} stamps");
}

#[test]
fn without_events_an_endless_turn_and_a_question_to_a_person_are_seen_all_the_same() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    program.mind().mute = true;
    spawn(&daemon);
    let turn = send(&daemon, "work");
    let name = program.awaits("work");
    program.mind().asks = true;
    until("that is told", || state(&daemon).contains("it asks a person").then_some(()));
    program.mind().asks = false;
    until("nor any more", || (!state(&daemon).contains("it asks a person")).then_some(()));
    let step = json!({"of": name.to_string(), "text": "step"});
    program.mind().said.extend(std::iter::repeat_n(step, 20));
    let said = envelope(&daemon, &turn);
    assert_eq!(said["outcome"], "failed", "{said}");
    assert!(said["why"].as_str().unwrap().contains("more than 9 times"), "{said}");
}

#[test]
fn a_program_whose_conversation_is_gone_is_replaced_and_its_text_goes_to_the_next() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    program.mind().refuses = Some((404, "no such conversation".into()));
    let (status, sent) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": "for anybody" }));
    assert_eq!(status, 202, "{sent}");
    let name = program.awaits("for anybody");
    program.answers(name, "by the next one");
    let turn = [&sent["turn"]["id"], &sent["turn"], &sent["id"]].into_iter().find_map(Value::as_str).unwrap();
    let said = envelope(&daemon, turn);
    assert_eq!(said["text"], "by the next one", "{said}");
    assert_ne!(said["from"]["worker"], "w-1", "{said}");
    assert_eq!(program.mind().given.len(), 1);
}

#[test]
fn a_port_that_somebody_else_has_is_told() {
    let program = Program::start();
    program.mind().stranger = true;
    let house = house(&program);
    let daemon = house.start();
    let (_, sent) = daemon.post("/v1/spawn", &json!({ "role": "w" }));
    let told = sent.to_string();
    assert!(told.contains("another program may have taken the port"), "{told}");
    assert!(!told.contains("WORD"), "{told}");
}

#[test]
fn a_turn_outlives_the_daemon_and_is_given_once() {
    let program = Program::start();
    let house = house(&program);
    let daemon = house.start();
    spawn(&daemon);
    let first = send(&daemon, "under way");
    let name = program.awaits("under way");
    daemon.kill();
    let daemon = house.start();
    program.answers(name, "after a restart");
    assert_eq!(envelope(&daemon, &first)["text"], "after a restart");
    let second = send(&daemon, "ends alone");
    let name = program.awaits("ends alone");
    daemon.kill();
    program.answers(name, "nobody was there");
    let daemon = house.start();
    assert_eq!(envelope(&daemon, &second)["text"], "nobody was there");
    assert_eq!(program.mind().given.len(), 2, "each once");

    let third = send(&daemon, "is cancelled");
    program.awaits("is cancelled");
    let (status, _) = daemon.post("/v1/cancel", &json!({ "turn": third }));
    assert_eq!((status, &envelope(&daemon, &third)["outcome"]), (200, &json!("cancelled")));
    until("it was told to stop", || (program.mind().stops > 0).then_some(()));
    let fourth = send(&daemon, "dies");
    program.awaits("dies");
    // Until its answer is read, nobody knows that it took the text.
    until("it is seen to have the text", || {
        let (_, turn) = daemon.get(&format!("/v1/turns/{fourth}"));
        matches!(turn["state"].as_str(), Some("submitted" | "working")).then_some(())
    });
    let root = daemon.get("/v1/list").1["workers"][0]["process"]["pid"].as_u64().unwrap();
    let root = fleetd::process::ProcessId::of(root as u32).expect("it lives");
    root.signal(Signal::KILL).unwrap();
    let said: Value = envelope(&daemon, &fourth);
    assert_eq!(said["outcome"], "lost", "{said}");
    until("its files are gone", || {
        std::fs::read_dir(house.state().join("sessions")).unwrap().next().is_none().then_some(())
    });
}
