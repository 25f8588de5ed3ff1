//! A charter is edited while its recipe runs; a run asks its leader; callers come and go.
//! Workers wait at a gate for the test, so that the order of things is chosen here and not left to the machine.

use serde_json::{Value, json};

use crate::support::{Daemon, House};

/// Each worker waits for a line in a fifo, so that the test decides when a part ends.
const TEAM: &str = r#"
fleet.profile("say", {
  launcher = "exec",
  command = { "sh", "-c", "read go < \"$GATE\"; echo WORD" },
  env = { GATE = "GATEFILE" },
})
fleet.role("w", { profiles = { "say" }, max_busy = 1, max_waiting = 8 })
fleet.route("all", function() return { role = "w", because = "there is one role" } end)

fleet.recipe("three", { input = {} }, function(job, run)
  local replies = run:each({ 1, 2, 3 }, function(n)
    return run:send { to = "w", prompt = "part " .. n }
  end)
  local texts = {}
  for i, reply in ipairs(replies) do
    texts[i] = reply.text
  end
  return { texts = texts }
end)

fleet.recipe("asks", { input = { topic = "string" } }, function(job, run)
  local answer = run:ask_leader("which way for " .. job.topic .. "?")
  return { went = answer }
end)
"#;

fn team(house: &House, word: &str) -> String {
    let gate = house.path().join("gate");
    if !gate.exists() {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    TEAM.replace("GATEFILE", gate.to_str().unwrap()).replace("WORD", word)
}

/// Lets one waiting worker go on; returns once one has read the line.
fn open_gate(house: &House) {
    std::fs::write(house.path().join("gate"), "go\n").unwrap();
}

fn reload(daemon: &Daemon) -> (u16, Value) {
    daemon.post("/v1/charter/reload", &json!({}))
}

#[test]
fn an_edit_while_a_fan_out_runs_changes_the_next_decision_and_a_broken_one_changes_nothing() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, "old"));
    let daemon = house.start();
    let (_, begun) = daemon.post("/v1/run", &json!({ "recipe": "three" }));
    let run = begun["id"].as_str().unwrap().to_string();

    // The first part was started under the first charter.
    open_gate(&house);
    wait_until(&daemon, &run, 1);
    // The second one runs already when the file is saved; the third is decided after it.
    house.write("team.lua", &team(&house, "new"));
    let (status, charter) = reload(&daemon);
    assert_eq!((status, &charter["generation"]["number"]), (200, &json!(2)), "{charter}");

    house.write("team.lua", "fleet.role('w', { profiles = { 'say' }, max_bussy = 1 })\n");
    let (status, refused) = reload(&daemon);
    assert_eq!(status, 400, "{refused}");
    let text = refused.to_string();
    assert!(text.contains("team.lua:1") && text.contains("max_bussy") && text.contains("max_busy"), "{text}");
    let (_, charter) = daemon.get("/v1/charter");
    assert_eq!(charter["generation"]["number"], 2, "the good one stays: {charter}");
    assert!(charter["error"].as_str().unwrap().contains("team.lua:1"), "{charter}");

    open_gate(&house);
    wait_until(&daemon, &run, 2);
    open_gate(&house);
    let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
    assert_eq!(status, 200, "{ended}");
    assert_eq!(ended["value"]["texts"], json!(["old\n", "old\n", "new\n"]));
}

/// Waits until so many turns of a run are settled; each look is a long-poll of its own, so nothing spins hard.
fn wait_until(daemon: &Daemon, run: &str, settled: u64) {
    let until = std::time::Instant::now() + crate::support::PATIENCE;
    loop {
        let (_, detail) = daemon.get(&format!("/v1/runs/{run}"));
        if detail["settled"].as_u64() >= Some(settled) {
            return;
        }
        assert!(std::time::Instant::now() < until, "{detail}");
        daemon.get(&format!("/v1/runs/{run}/wait?wait=50ms"));
    }
}

#[test]
fn a_run_that_asks_ends_the_wait_early_and_goes_on_with_the_answer() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, "x"));
    let daemon = house.start();
    let start = json!({ "recipe": "asks", "job": { "topic": "the bridge" }, "wait": "60s", "key": "ask" });
    let (status, pending) = daemon.post("/v1/run", &start);
    assert_eq!((status, pending["pending"].as_str()), (202, Some("question")), "{pending}");
    let question = pending["questions"][0].clone();
    assert_eq!(question["text"], "which way for the bridge?");

    // The question survives the daemon, and so does the run that waits for its answer.
    daemon.kill();
    let daemon = house.start();
    let (_, mail) = daemon.get("/v1/poll");
    assert_eq!(mail["messages"][0]["question"]["question"], question["question"], "{mail}");
    let answer = json!({ "question": question["question"], "text": "left" });
    let (status, answered) = daemon.post("/v1/reply", &answer);
    assert_eq!(status, 200, "{answered}");
    let (status, ended) = daemon.post("/v1/run", &start);
    assert_eq!((status, &ended["value"]), (200, &json!({ "went": "left" })), "{ended}");
}

#[test]
fn a_wait_that_is_over_is_an_answer_and_the_turn_goes_on() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, "late"));
    let daemon = house.start();
    let (status, pending) = daemon.post("/message", &json!({ "role": "w", "prompt": "x", "wait": "100ms" }));
    assert_eq!((status, pending["pending"].as_str()), (202, Some("wait_over")), "{pending}");
    let turn = pending["turn"].as_str().unwrap().to_string();
    open_gate(&house);
    let (status, reply) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=60s"));
    assert_eq!((status, reply["text"].as_str()), (200, Some("late\n")), "{reply}");
    let (_, trace) = daemon.get(&format!("/v1/turns/{turn}"));
    let states: Vec<&str> = trace["receipt"].as_array().unwrap().iter().filter_map(|s| s["state"].as_str()).collect();
    assert_eq!(states, ["queued", "handed", "submitted", "working", "settled"]);
}

#[test]
fn a_cancelled_turn_ends_its_whole_tree_and_the_worker_is_free() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, "x"));
    let daemon = house.start();
    let (_, sent) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": "x" }));
    let turn = sent["id"].as_str().unwrap().to_string();
    let (_, cancelled) = daemon.post("/v1/cancel", &json!({ "turn": turn }));
    assert_eq!(cancelled["outcome"], "cancelled", "{cancelled}");
    // The next message needs the only worker, which is free once the first one's tree is dead.
    let (_, second) = daemon.post("/v1/send", &json!({ "to": "w-1", "prompt": "y" }));
    let second = second["id"].as_str().unwrap();
    open_gate(&house);
    let (status, reply) = daemon.get(&format!("/v1/turns/{second}/wait?wait=60s"));
    assert_eq!((status, reply["text"].as_str()), (200, Some("x\n")), "{reply}");
}

#[test]
fn what_runs_below_pane_exec_is_a_worker_that_may_only_ask_who_it_is() {
    let house = House::new(&[]);
    let fleetd = env!("CARGO_BIN_EXE_fleetd");
    let state = house.state();
    // The worker uses our own command line, from a child of its own, and says what came of it.
    let script = format!(
        "{fleetd} --state {0} --json list; echo \"exit $?\"; setsid {fleetd} --state {0} --json send w x; echo \"exit $?\"",
        state.display()
    );
    let team = format!(
        "fleet.profile('nosy', {{ launcher = 'exec', command = {{ 'sh', '-c', [[{script} 2>&1]] }} }})\n\
         fleet.role('w', {{ profiles = {{ 'nosy' }}, max_busy = 1, max_waiting = 4 }})\n"
    );
    house.write("team.lua", &team);
    let daemon = house.start();
    let (_, reply) = daemon.post("/message", &json!({ "role": "w", "prompt": "look around" }));
    let text = reply["text"].as_str().unwrap();
    assert_eq!(text.matches("exit 4").count(), 2, "{text}");
    assert!(text.contains("worker w-1 may not list") && text.contains("worker w-1 may not send"), "{text}");
    let (_, list) = daemon.get("/v1/list");
    assert_eq!(list["open_turns"], 0, "nothing was accepted from it");
}

#[test]
fn a_handler_of_the_charter_tells_the_operator_of_a_failure() {
    let house = House::new(&[(
        "team.lua",
        r#"
fleet.profile("no", { launcher = "exec", command = { "sh", "-c", "echo because >&2; exit 3" } })
fleet.role("w", { profiles = { "no" }, max_busy = 1, max_waiting = 4 })
fleet.on("turn_settled", function(event)
  if event.outcome == "failed" then
    return { action = "tell_leader", text = event.worker .. " failed: " .. event.why }
  end
end)
"#,
    )]);
    let daemon = house.start();
    let (_, reply) = daemon.post("/message", &json!({ "role": "w", "prompt": "x" }));
    assert_eq!((reply["outcome"].as_str(), reply["why"].as_str()), (Some("failed"), Some("exit 3")), "{reply}");
    assert_eq!(reply["stderr"], "because\n");
    let after = reply["message"].as_str().unwrap();
    let (_, mail) = daemon.get(&format!("/v1/poll?after={after}&wait=30s"));
    assert_eq!(mail["messages"][0]["notice"], "w-1 failed: exit 3", "{mail}");
}

#[test]
fn a_send_tells_where_its_turn_stands_and_why_it_waits() {
    let house = House::new(&[]);
    house.write("team.lua", &team(&house, "x"));
    let daemon = house.start();
    let send = json!({ "role": "w", "prompt": "x" });
    let (status, first) = daemon.post("/v1/send", &send);
    assert_eq!((status, first["state"].as_str()), (202, Some("handed")), "{first}");
    let (_, second) = daemon.post("/v1/send", &send);
    assert_eq!((second["state"].as_str(), second["ahead"].as_u64()), (Some("queued"), Some(0)), "{second}");
    assert_eq!(second["waits"], "cap: 1 of 1 workers of 'w' are busy");
}

const TWO_ROLES: &str = r#"
fleet.profile("a", { launcher = "exec", command = { "cat" } })
fleet.role("w-a", { profiles = { "a" }, max_busy = 1, max_waiting = 4 })
fleet.profile("b", { launcher = "exec", command = { "rev" } })
fleet.role("w-b", { profiles = { "b" }, max_busy = 1, max_waiting = 4 })
"#;

#[test]
fn an_idle_worker_of_one_role_does_not_keep_another_role_from_starting() {
    let house = House::new(&[("team.lua", TWO_ROLES)]);
    std::fs::write(house.path().join("fleetd.toml"), "[limits]\nmax_workers = 1\n").unwrap();
    let daemon = house.start();
    for (role, text) in [("w-a", "one"), ("w-b", "eno"), ("w-a", "one")] {
        let (status, reply) = daemon.post("/message", &json!({ "role": role, "prompt": "one", "wait": "30s" }));
        assert_eq!((status, reply["text"].as_str()), (200, Some(text)), "{reply}");
    }
}

#[test]
fn a_repeated_call_gets_its_turn_although_its_role_is_gone() {
    let house = House::new(&[("team.lua", TWO_ROLES)]);
    let daemon = house.start();
    let send = json!({ "role": "w-a", "prompt": "one", "key": "k" });
    let (_, first) = daemon.post("/message", &send);
    house.write(
        "team.lua",
        TWO_ROLES.split("fleet.profile(\"b\"").nth(1).map(|b| format!("fleet.profile(\"b\"{b}")).as_deref().unwrap(),
    );
    assert_eq!(reload(&daemon).0, 200);
    let (status, unknown) = daemon.post("/message", &json!({ "role": "w-a", "prompt": "one" }));
    assert_eq!(status, 404, "{unknown}");
    assert_eq!(daemon.post("/message", &send), (200, first));
}
