//! The commands that wait: for a run, for an answer to its question, over a restart of the daemon, until Ctrl-C.
//! Slow workers end when a file appears, so that a test decides how long a wait is and never guesses it.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Said, TEAM, fleetd, fleetd_reads};
use crate::support::{Daemon, House, PATIENCE};

#[test]
fn a_run_is_started_shown_and_waited_for() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    let job = "{\"words\": [\"one\", \"two\"]}";
    let said = fleetd(&house, &["run", "start", "shout", "--job", job, "--wait"]).ends(0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&said.out).unwrap(), json!({ "said": ["ONE", "TWO"] }));
    assert!(said.err.contains("done in ") && said.err.contains("2/2 turns"), "{said:?}");

    std::fs::write(house.path().join("job.json"), job).unwrap();
    let said = fleetd(&house, &["run", "start", "shout", "--job", "@job.json"]).ends(0);
    let run = said.out.trim().to_string();
    let result = fleetd(&house, &["run", "show", &run, "--wait", "--json"]).ends(0).json();
    assert_eq!((&result["outcome"], &result["value"]), (&json!("done"), &json!({ "said": ["ONE", "TWO"] })));
    let said = fleetd(&house, &["run", "show", &run]).ends(0);
    assert!(said.out.contains("send") && said.out.contains("team.lua:"), "{said:?}");
    let said = fleetd_reads(&house, &["run", "start", "shout", "--wait", "--json", "--job", "-"], job).ends(0);
    assert_eq!(said.json()["recipe"], "shout");

    let said = fleetd(&house, &["run", "start", "half", "--wait"]).ends(1);
    assert!(said.out.contains("\"found\": 1") && said.err.contains("one part is missing"), "{said:?}");
    let said = fleetd(&house, &["run", "start", "sink", "--wait"]).ends(1);
    assert_eq!(said.out, "", "what failed has no value");
    let said = fleetd(&house, &["run", "list"]).ends(0);
    assert_eq!(said.out.lines().count(), 6, "{said:?}");
    assert_eq!(
        fleetd(&house, &["run", "list", "--limit", "2", "--json"]).ends(0).json()["runs"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn a_question_ends_the_wait_and_its_answer_lets_the_run_go_on() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    let said = fleetd(&house, &["run", "start", "ask", "--wait"]).ends(3);
    assert!(said.err.contains("Red or blue?"), "{said:?}");
    let answer = said.err.lines().find_map(|line| line.trim().strip_prefix("answer: fleetd ")).expect("how to answer");
    let question = answer.split(' ').nth(1).unwrap().to_string();
    let run = said.err.split_whitespace().next().unwrap().to_string();
    let said = fleetd(&house, &["poll"]).ends(0);
    assert!(said.out.contains(&format!("answer: fleetd reply {question} TEXT")), "{said:?}");
    fleetd(&house, &["reply", &question, "blue"]).ends(0);
    let said = fleetd(&house, &["run", "show", &run, "--wait"]).ends(0);
    assert!(said.out.contains("\"answer\": \"blue\""), "{said:?}");
    fleetd(&house, &["reply", &question, "red"]).ends(4);
}

#[test]
fn an_ended_wait_says_why_and_a_cancel_ends_the_turn() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    let said = fleetd(&house, &["send", "w-slow", "first", "--wait", "200ms"]).ends(3);
    assert!(said.err.contains(" is still "), "{said:?}");
    let first = said.err.split_whitespace().next().unwrap().to_string();
    let said = fleetd(&house, &["send", "w-slow", "second", "--wait=200ms", "--json"]).ends(3);
    let pending = said.json();
    assert_eq!((&pending["pending"], &pending["state"]), (&json!("wait_over"), &json!("queued")));
    let second = pending["turn"].as_str().unwrap().to_string();

    let said = fleetd(&house, &["status"]).ends(0);
    for (turn, word) in [(&first, "w-slow-1"), (&second, "cap: 1 of 1")] {
        let line = said.out.lines().find(|line| line.starts_with(&format!("{turn} ")));
        assert!(line.is_some_and(|line| line.contains(word)), "{turn}: {said:?}");
    }

    let said = fleetd(&house, &["trace", &second]).ends(0);
    assert!(said.out.contains("waits ") && said.out.contains("cap: 1 of 1"), "{said:?}");
    let said = fleetd(&house, &["cancel", &second]).ends(0);
    assert!(said.out.contains(&format!("{second} cancelled in ")), "{said:?}");
    let again = fleetd(&house, &["cancel", &second, "--json"]).ends(0).json();
    assert_eq!(again["outcome"], "cancelled", "what is cancelled can be cancelled again");
    fleetd(&house, &["trace", &second, "--wait"]).ends(1);

    std::fs::write(house.path().join("go"), "").unwrap();
    let said = fleetd(&house, &["trace", &first, "--wait"]).ends(0);
    assert_eq!(said.out, "first\n");
    let said = fleetd(&house, &["trace", &first]).ends(0);
    for word in ["queued", "handed", "working", "settled"] {
        assert!(said.out.lines().any(|line| line.contains(word)), "{word}: {said:?}");
    }
    assert_eq!(fleetd(&house, &["trace", &first, "--json"]).ends(0).json()["outcome"], "replied");
    let said = fleetd(&house, &["cancel", &first]).ends(4);
    assert!(said.err.contains(&format!("{first} ended already: replied\nhint: how it ended")), "{said:?}");
}

#[test]
fn a_reader_that_goes_away_hides_no_failure() {
    let house = House::new(&[("team.lua", TEAM)]);
    let _daemon = house.start();
    let mut waiting = start(&house, &["send", "w-broken", "x"]);
    drop(waiting.stdout.take());
    Said::of(waiting.wait_with_output().unwrap()).ends(1);
}

#[test]
fn ctrl_c_ends_the_wait_and_says_what_goes_on() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let waiting = start(&house, &["send", "w-slow", "x"]);
    until_it_waits(&daemon);
    let asked = Instant::now();
    kill_process(Pid::from_child(&waiting), Signal::INT).unwrap();
    let said = Said::of(waiting.wait_with_output().unwrap()).ends(130);
    assert!(asked.elapsed() < Duration::from_secs(10), "it does not wait for the end of its wait");
    assert!(said.err.contains("goes on; see it with: fleetd trace t"), "{said:?}");
    assert_eq!(daemon.get("/v1/list").1["open_turns"], 1);
}

#[test]
fn a_wait_goes_on_over_a_crash_of_the_daemon() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let waiting = start(&house, &["send", "w-slow", "still here"]);
    until_it_waits(&daemon);
    daemon.kill();
    let _daemon = house.start();
    std::fs::write(house.path().join("go"), "").unwrap();
    let said = Said::of(waiting.wait_with_output().unwrap()).ends(0);
    assert_eq!(said.out, "still here\n");
    assert!(said.err.contains("fleetd went away"), "{said:?}");
}

fn start(house: &House, args: &[&str]) -> Child {
    let mut command = house.fleetd(args);
    command.arg("--state").arg(house.state()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the daemon holds the request of one caller.
fn until_it_waits(daemon: &Daemon) {
    let end = Instant::now() + PATIENCE;
    while !daemon.get("/metrics").1.as_str().unwrap().contains("\nfleetd_waiting_callers 1\n") {
        assert!(Instant::now() < end, "nobody waits");
        std::thread::yield_now();
    }
}
