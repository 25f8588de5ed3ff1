//! Caps, hours and rubrics of a real daemon, as its callers see them: why something waits, which rubric was asked and
//! what it said, and that a save counts at once. Workers wait at a gate, so that the order of things is chosen here.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::support::{Daemon, House};

const TEAM: &str = r#"
fleet.profile("say", {
  launcher = "exec",
  command = { "sh", "-c", "read go < \"$GATE\"; echo done" },
  env = { GATE = "GATEFILE" },
  endpoint = "llm",
})
fleet.role("w", { profiles = { "say" }, max_busy = 2, MORE })
fleet.role("v", { profiles = { "say" }, max_busy = 2 })

fleet.route("broken", function(task) return task.kind.x.y end)
fleet.route("has files", function(task, team)
  if #task.files > 0 and team.endpoints.llm.max_busy == 1 then
    return { role = "v", because = "it is about " .. task.files[1] }
  end
end)
fleet.route("otherwise", function() return { role = "w" } end)
"#;

const SETTINGS: &str = "[endpoints.llm]\nurl = \"http://127.0.0.1:9\"\nmax_busy = 1\n";

fn house() -> House {
    let house = House::new(&[]);
    let gate = house.path().join("gate");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let settings = house.path().join("settings.toml");
    std::fs::write(&settings, SETTINGS).unwrap();
    save(&house, "");
    house.arg("--config").arg(settings.to_str().unwrap())
}

fn save(house: &House, more: &str) {
    let gate = house.path().join("gate");
    house.write("team.lua", &TEAM.replace("GATEFILE", gate.to_str().unwrap()).replace("MORE", more));
}

/// Lets one waiting worker go on; returns once one has read the line.
fn open_gate(house: &House) {
    std::fs::write(house.path().join("gate"), "go\n").unwrap();
}

fn send(daemon: &Daemon, to: &str) -> Value {
    let (status, turn) = daemon.post("/v1/send", &json!({ "to": to, "prompt": "secret" }));
    assert_eq!(status, 202, "{turn}");
    turn
}

fn reply(daemon: &Daemon, turn: &Value) -> Value {
    let (status, envelope) = daemon.get(&format!("/v1/turns/{}/wait?wait=60s", turn["id"].as_str().unwrap()));
    assert_eq!(status, 200, "{envelope}");
    envelope["text"].clone()
}

#[test]
fn the_cap_of_an_endpoint_is_shared_by_roles_and_said_at_the_door() {
    let house = house();
    let daemon = house.start();
    let (w, v) = (send(&daemon, "w"), send(&daemon, "v"));
    let second = send(&daemon, "v");
    let why = json!("cap of endpoint 'llm': 1 of 1 workers on it are busy");
    assert_eq!((&w["state"], &v["state"], &v["waits"]), (&json!("handed"), &json!("queued"), &why));
    assert_eq!((&v["ahead"], &second["ahead"]), (&json!(0), &json!(1)));
    let (_, pending) = daemon.get(&format!("/v1/turns/{}/wait?wait=1ms", second["id"].as_str().unwrap()));
    assert_eq!((&pending["waits"], &pending["ahead"]), (&why, &json!(1)), "{pending}");
    let (_, everybody) = daemon.get("/v1/status");
    let llm = &everybody["endpoints"]["llm"];
    assert_eq!((&llm["busy"], &llm["max_busy"], &llm["free"]), (&json!(1), &json!(1), &json!(0)), "{everybody}");

    daemon.kill();
    let daemon = house.start();
    let (_, trace) = daemon.get(&format!("/v1/turns/{}", v["id"].as_str().unwrap()));
    assert_eq!((&trace["waits"], &trace["ahead"]), (&why, &json!(0)), "the worker that goes on counts: {trace}");
    for turn in [&w, &v, &second] {
        open_gate(&house);
        assert_eq!(reply(&daemon, turn), "done\n");
    }
}

#[test]
fn hours_close_a_role_and_a_save_opens_it() {
    let house = house();
    let daemon = house.start();
    let hour = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 3_600;
    let (from, to) = ((hour + 11) % 24, (hour + 13) % 24);
    save(&house, &format!("between = '{from:02}:00-{to:02}:00', zone = 'UTC'"));
    assert_eq!(daemon.post("/v1/charter/reload", &json!({})).0, 200);
    let turn = send(&daemon, "w");
    let why = turn["waits"].as_str().unwrap();
    assert!(why.starts_with(&format!("closed: 'w' is handed nothing until {from:02}:00 UTC (in ")), "{why}");
    let (_, list) = daemon.get("/v1/list");
    let row = list["roles"].as_array().unwrap().iter().find(|role| role["name"] == "w").unwrap();
    assert_eq!((&row["open"], &row["free"]), (&json!(false), &json!(0)));
    assert!(row["closed"].as_str().unwrap().starts_with("closed: 'w'"), "{row}");
    save(&house, "");
    assert_eq!(daemon.post("/v1/charter/reload", &json!({})).0, 200);
    open_gate(&house);
    assert_eq!(reply(&daemon, &turn), "done\n");
}

#[test]
fn a_decision_is_explained_before_and_after_and_a_broken_rubric_is_shown() {
    let house = house();
    let daemon = house.start();
    let task = json!({ "prompt": "secret", "files": ["src/a.rs"] });
    let (status, routed) = daemon.post("/v1/route", &task);
    assert_eq!(status, 200, "{routed}");
    let words: Vec<(&str, &str)> = routed["asked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["rubric"].as_str().unwrap(), one["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(words, [("broken", "failed"), ("has files", "decided")], "{routed}");
    assert!(routed["asked"][0]["said"].as_str().unwrap().starts_with("team.lua:11: "), "{routed}");
    assert_eq!((&routed["to"]["role"], &routed["generation"]), (&json!("v"), &json!(1)));

    let (_, turn) = daemon.post("/v1/send", &json!({ "to": "auto", "prompt": "secret", "files": ["src/a.rs"] }));
    assert_eq!((&turn["to"]["role"], &turn["because"]), (&json!("v"), &json!("it is about src/a.rs")), "{turn}");
    assert_eq!((&turn["routed"]["rubric"], &turn["routed"]["asked"]), (&json!("has files"), &routed["asked"]));
    let trace = house.fleetd(&["trace", turn["id"].as_str().unwrap(), "--state", "state"]).output().unwrap();
    let trace = String::from_utf8(trace.stdout).unwrap();
    assert!(trace.contains("about src/a.rs"), "{trace}");
    assert!(
        trace.contains("- broken (skipped): team.lua:11: ") && trace.contains("- has files: v: it is about"),
        "{trace}"
    );

    let (_, charter) = daemon.get("/v1/charter");
    let rows = &charter["rubrics"];
    assert_eq!((&rows[0]["failed"], &rows[0]["place"]), (&json!(2), &json!("team.lua:11")), "{charter}");
    assert_eq!((&rows[1]["decided"], &rows[2]["asked"]), (&json!(2), &json!(0)), "{charter}");
    let (_, health) = daemon.get("/healthz");
    let degraded = health["degraded"].to_string();
    assert!(degraded.contains("rubric 'broken' was skipped 2 of 2 times, the last time at team.lua:11"), "{degraded}");
    let (_, metrics) = daemon.get("/metrics");
    let metrics = metrics.as_str().unwrap();
    assert!(metrics.contains("fleetd_rubric_skipped{rubric=\"broken\"} 2"), "{metrics}");
    assert!(metrics.contains("fleetd_endpoint_max_busy{endpoint=\"llm\"} 1"), "{metrics}");
    let (status, refused) = daemon.post("/v1/route", &json!({ "prompt": "x", "files": ["a\nb"] }));
    assert_eq!((status, &refused["kind"]), (400, &json!("invalid")), "{refused}");
    open_gate(&house);
    reply(&daemon, &turn);
}
