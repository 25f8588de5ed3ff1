//! A corpus of hostile scripts (`tests/data/hostile/`) against a real daemon: each ends within its limit and is told
//! why, while the same daemon answers every route and keeps fifty runs going.
//! What is expected of a script stands in its first lines; `corpus` reads them. One script a file, one fault a script.

mod corpus;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Daemon, House, PATIENCE, agent};
use corpus::{Place, Script, corpus};

/// What goes on beside the scripts. A steady run goes round until the note is there.
const TEAM: &str = r#"
fleet.profile("echo", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "echo" }, max_busy = 4 })
fleet.route("everything", function() return { role = "w", because = "nothing else was said" } end)
fleet.recipe("steady", {}, function(job, run)
  local rounds = 0
  repeat
    run:sleep("500ms")
    rounds = rounds + 1
  until run:note("enough")
  return { rounds = rounds, text = run:send({ to = "w", prompt = "run " .. run.id }).text }
end)
fleet.recipe("enough", {}, function(job, run) run:note("enough", true) end)
fleet.recipe("fire", { input = { why = "string" } }, function(job, run) return run:fail(job.why) end)
"#;
const RUNS: usize = 50;
/// How many routes must have been answered in the end.
const ROUTES: usize = 200;

/// How long a script may take with everything around it, on a machine that does other things: its limit is 50 ms as a
/// rubric or a handler, 100 ms as a recipe, 500 ms at the load, and 5 s for all tests of a charter.
fn longest(place: Place) -> Duration {
    Duration::from_secs(match place {
        Place::Rubric | Place::Handler => 4,
        Place::Recipe => 8,
        Place::Load => 25,
    })
}

#[test]
fn the_corpus_is_as_large_as_it_is_said_to_be() {
    let scripts = corpus();
    assert!(scripts.len() >= 100, "{} scripts", scripts.len());
    for place in [Place::Load, Place::Rubric, Place::Recipe, Place::Handler] {
        assert!(scripts.iter().any(|script| script.place == place), "none is {place:?}");
    }
}

#[test]
fn nothing_that_is_loaded_stops_the_daemon() {
    let house = House::new(&[("team.lua", TEAM)]);
    let fleet = Fleet::start(&house);
    let mut faults = Faults::default();
    for script in corpus().iter().filter(|script| script.place == Place::Load) {
        let began = Instant::now();
        house.write(&script.file(), &script.text);
        let (status, refused) = fleet.daemon.post("/v1/charter/reload", &json!({}));
        let said = if status == 400 { refused["message"].as_str().unwrap() } else { "ok" };
        faults.expect(script, said, began);
        std::fs::remove_file(house.charter().join(script.file())).unwrap();
    }
    let (status, charter) = fleet.daemon.post("/v1/charter/reload", &json!({}));
    assert_eq!((status, &charter["generation"]["number"]), (200, &json!(1)), "{charter}");
    fleet.end();
    faults.are_none();
}

#[test]
fn nothing_that_runs_stops_the_daemon() {
    let house = House::new(&[("team.lua", TEAM)]);
    for script in corpus().iter().filter(|script| script.place != Place::Load) {
        house.write(&script.file(), &script.text);
    }
    let fleet = Fleet::start(&house);
    let mut faults = Faults::default();
    for script in corpus() {
        let began = Instant::now();
        let said = match script.place {
            Place::Load => continue,
            Place::Rubric => rubric_says(&fleet.daemon, &script),
            Place::Recipe => recipe_says(&fleet.daemon, &script),
            Place::Handler => handler_says(&fleet.daemon, &script),
        };
        faults.expect(&script, &said, began);
    }
    let (_, charter) = fleet.daemon.get("/v1/charter");
    assert_eq!((&charter["generation"]["number"], charter.get("error")), (&json!(1), None), "{charter}");
    assert!(charter["rubric_errors"].as_u64() > Some(30) && charter["handler_errors"].as_u64() > Some(3), "{charter}");
    fleet.end();
    faults.are_none();
}

/// Asks the rubrics and returns what the hostile one said; whatever it was, the last one decides.
fn rubric_says(daemon: &Daemon, script: &Script) -> String {
    let (status, routed) = daemon.post("/v1/route", &json!({ "prompt": "x", "kind": script.name }));
    assert_eq!((status, &routed["to"]["role"]), (200, &json!("w")), "{}: {routed}", script.name);
    let asked = routed["asked"].as_array().unwrap();
    let said = asked.iter().find(|one| one["rubric"] == script.name.as_str()).expect("it was asked");
    said["said"].as_str().unwrap().to_string()
}

fn recipe_says(daemon: &Daemon, script: &Script) -> String {
    let (status, ended) = daemon.post("/v1/run", &json!({ "recipe": script.name, "wait": "60s" }));
    assert_eq!(status, 200, "{}: {ended}", script.name);
    ended["why"].as_str().unwrap_or("ok").to_string()
}

fn handler_says(daemon: &Daemon, script: &Script) -> String {
    let before = daemon.get("/v1/charter").1["handler_errors"].clone();
    let fire = json!({ "recipe": "fire", "job": { "why": script.name }, "wait": "60s" });
    let (status, ended) = daemon.post("/v1/run", &fire);
    assert_eq!((status, &ended["outcome"]), (200, &json!("failed")), "{ended}");
    crate::support::until("the handler's error", || {
        let (_, charter) = daemon.get("/v1/charter");
        let is_new = charter["handler_errors"] != before;
        is_new.then(|| charter["handler_error"].as_str().unwrap().to_string())
    })
}

/// A daemon that is asked for routes all the time, and has fifty runs going.
struct Fleet {
    daemon: Daemon,
    runs: Vec<String>,
    enough: Arc<AtomicBool>,
    asker: JoinHandle<usize>,
}

impl Fleet {
    fn start(house: &House) -> Fleet {
        let daemon = house.start();
        let start = |_| {
            let (_, begun) = daemon.post("/v1/run", &json!({ "recipe": "steady" }));
            begun["id"].as_str().unwrap_or_else(|| panic!("not begun: {begun}")).to_string()
        };
        let runs = (0..RUNS).map(start).collect();
        let enough = Arc::new(AtomicBool::new(false));
        let asker = std::thread::spawn({
            let (url, enough) = (daemon.url.clone(), Arc::clone(&enough));
            move || ask_until(&url, &enough)
        });
        Fleet { daemon, runs, enough, asker }
    }

    /// Ends the runs, and sees that nothing that was asked or begun got lost.
    fn end(self) {
        self.enough.store(true, Ordering::Relaxed);
        let answered = self.asker.join().expect("every route was answered rightly");
        assert!(answered >= ROUTES, "only {answered} routes were asked");
        let (status, ended) = self.daemon.post("/v1/run", &json!({ "recipe": "enough", "wait": "60s" }));
        assert_eq!((status, &ended["outcome"]), (200, &json!("done")), "{ended}");
        for run in &self.runs {
            let (status, ended) = self.daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
            assert_eq!((status, &ended["outcome"]), (200, &json!("done")), "{ended}");
            assert_eq!(ended["value"]["text"], format!("run {run}"), "{ended}");
            // As slow as the machine may be: it went on while others hung.
            assert!(ended["value"]["rounds"].as_u64() > Some(2), "it stood still: {ended}");
        }
    }
}

/// Asks for a route again and again; each must be answered, and rightly. Returns how many there were.
fn ask_until(url: &str, enough: &AtomicBool) -> usize {
    let agent = agent();
    let (mut answered, began) = (0, Instant::now());
    while !enough.load(Ordering::Relaxed) || (answered < ROUTES && began.elapsed() < PATIENCE) {
        let asked = agent.post(format!("{url}/v1/route")).send_json(json!({ "prompt": "x", "kind": "calm" }));
        let mut answer = asked.expect("answered");
        let routed: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        assert_eq!((answer.status().as_u16(), &routed["rubric"]), (200, &json!("everything")), "{routed}");
        answered += 1;
    }
    answered
}

/// What did not come as it was expected, of all scripts.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    /// Notes what is wrong unless a text says what the script expects, within its time and at a reasonable length.
    fn expect(&mut self, script: &Script, said: &str, began: Instant) {
        let (name, took) = (&script.name, began.elapsed());
        if !script.says.iter().any(|wanted| said.contains(&wanted.replace("FILE", &script.file()))) {
            self.0.push(format!("{name}: expected one of {:?}, got: {said}", script.says));
        }
        if said.len() > 8 * 1024 {
            self.0.push(format!("{name}: {} bytes of error", said.len()));
        }
        if took > longest(script.place) {
            self.0.push(format!("{name} took {took:?}"));
        }
    }

    fn are_none(&self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}
