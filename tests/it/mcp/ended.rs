//! Runs that have ended and that the fleet holds no more, and questions that are answered: at every door a call that is
//! repeated, or that comes late, is told what it would have been told.

use serde_json::{Value, json};

use super::client::Client;
use super::local;
use crate::cli::fleetd;
use crate::support::{Daemon, House, until};

const TEAM: &str = r#"
fleet.recipe("quick", {}, function() return 7 end)
fleet.recipe("long", {}, function(job, run) run:sleep("1h") end)
fleet.recipe("parent", {}, function(job, run)
  local came = run:recipe("long")
  run:ask_leader("came as " .. came.outcome)
  run:ask_leader("and now?")
end)
"#;

fn started(daemon: &Daemon, recipe: &str) -> String {
    let (_, run) = daemon.post("/v1/run", &json!({ "recipe": recipe }));
    run["id"].as_str().unwrap_or_else(|| panic!("{run}")).to_owned()
}

/// Waits until a look at a run shows something.
fn shows(daemon: &Daemon, run: &str, at: &str) -> String {
    until(at, || daemon.get(&format!("/v1/runs/{run}")).1.pointer(at)?.as_str().map(str::to_owned))
}

#[test]
fn a_run_that_ended_and_was_collected_is_waited_for_like_one_that_was_not() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let run = started(&daemon, "quick");
    daemon.get(&format!("/v1/runs/{run}/wait?wait=30s"));
    let (_, mail) = daemon.get("/v1/poll");
    let (_, acked) = daemon.post("/v1/ack", &json!({ "messages": [mail["messages"][0]["message"]] }));
    assert_eq!(acked["acked"].as_array().unwrap().len(), 1, "{acked}");
    let is_it =
        |ended: &Value| assert_eq!((&ended["outcome"], &ended["value"]), (&json!("done"), &json!(7)), "{ended}");
    let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=30s"));
    assert_eq!(status, 200, "{ended}");
    is_it(&ended);
    is_it(&fleetd(&house, &["run", "show", &run, "--wait", "--json"]).ends(0).json());
    is_it(&Client::new(local(&daemon)).good("fleet_status", json!({ "run": run, "wait": "30s" })));
    let (status, unknown) = daemon.get("/v1/runs/r99/wait?wait=30s");
    assert_eq!((status, &unknown["message"]), (404, &json!("there is no run r99")), "{unknown}");
    let (status, refused) = daemon.post("/v1/cancel", &json!({ "run": run }));
    assert_eq!((status, &refused["message"]), (409, &json!(format!("run {run} ended already: done"))), "{refused}");
}

#[test]
fn a_run_below_another_is_cancelled_and_shown_as_that_however_often_it_is_asked() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let parent = started(&daemon, "parent");
    let child = shows(&daemon, &parent, "/steps/0/child");
    let is_it = |ended: &Value| {
        assert_eq!((&ended["outcome"], &ended["id"]), (&json!("cancelled"), &json!(child)), "{ended}");
        assert!(ended["ended"].is_number(), "{ended}");
    };
    for _ in 0..2 {
        let (status, ended) = daemon.post("/v1/cancel", &json!({ "run": child }));
        assert_eq!(status, 200, "{ended}");
        is_it(&ended);
    }
    is_it(&fleetd(&house, &["run", "cancel", &child, "--json"]).ends(0).json());
    let client = Client::new(local(&daemon));
    is_it(&client.good("fleet_cancel", json!({ "run": child })));
    is_it(&client.good("fleet_status", json!({ "run": child, "wait": "30s" })));
    is_it(&daemon.get(&format!("/v1/runs/{child}/wait?wait=30s")).1);

    // Its parent goes on with that, and asks: the same answer again is the same, as long as the run is open.
    let question = shows(&daemon, &parent, "/questions/0/question");
    let reply = |daemon: &Daemon, text: &str| daemon.post("/v1/reply", &json!({ "question": question, "text": text }));
    for _ in 0..2 {
        let (status, answered) = reply(&daemon, "yes");
        assert_eq!((status, &answered["answer"]), (200, &json!("yes")), "{answered}");
    }
    let (status, late) = reply(&daemon, "no");
    assert_eq!((status, &late["message"]), (409, &json!(format!("{question} was answered already"))), "{late}");
    daemon.kill();
    let daemon = house.start();
    assert_eq!((reply(&daemon, "yes").0, reply(&daemon, "no").0), (200, 409));
    let next = shows(&daemon, &parent, "/questions/0/question");
    assert_ne!(next, question, "what is answered is open no more");
    daemon.post("/v1/cancel", &json!({ "run": parent }));
    assert_eq!(reply(&daemon, "yes").0, 404, "with its run it is gone");
}
