//! Runs that sleep: how many are held, what wakes one, and that all come to their end although their memory would never be
//! enough for them together. Only tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::charter::runs::Runs;
use crate::charter::sources::Sources;
use crate::charter::world::World;
use crate::fleet::caller::Sender;
use crate::fleet::ids::{RunId, StepPath};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, Step};
use crate::fleet::team::Generation;
use crate::fleet::time::Time;

/// Each holds some 8 MiB while it waits, and a VM has 64 for all.
const HOLDERS: &str = r#"
fleet.profile("p", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "p" } })
fleet.recipe("r", {}, function(job, run)
  local held = {}
  -- Equal texts are held once, so these differ.
  for n = 1, 8 do held[n] = run.id .. string.rep(tostring(n), 1024 * 1024) end
  run:sleep("1h")
  run:note("seen", #held)
  return #held
end)
"#;

/// A house of runs whose steps are answered by hand.
struct House<'w> {
    world: &'w World,
    runs: Runs,
    journal: BTreeMap<RunId, Vec<FinishedStep>>,
    open: BTreeMap<RunId, Step>,
    ended: BTreeMap<RunId, RunEnd>,
    woken: usize,
}

impl<'w> House<'w> {
    fn new(world: &'w World, runs: Runs) -> House<'w> {
        House { world, runs, journal: BTreeMap::new(), open: BTreeMap::new(), ended: BTreeMap::new(), woken: 0 }
    }

    fn start(&mut self, id: RunId) {
        let run = Run::begun(id, "r".into(), Sender::Operator, Generation::default(), Time(0));
        let journal = self.journal.entry(id).or_default().clone();
        let mut inputs = Vec::new();
        self.runs.start(self.world, &run, &json!({}), journal, &mut |input| inputs.push(input));
        self.go_on(inputs);
    }

    fn go_on(&mut self, mut inputs: Vec<RunInput>) {
        while self.runs.slice(self.world, &mut || 7, &mut |input| inputs.push(input)) {}
        for input in inputs {
            match input {
                RunInput::Ended { run, end } => drop(self.ended.insert(run, end)),
                RunInput::Step { run, path, verb, hash, what, at, .. } => {
                    let step = Step { hash, what, ..Step::begun(run, path, verb, at, Time(0)) };
                    self.open.insert(run, step);
                }
            }
        }
    }

    fn answer(&mut self, id: RunId) {
        let step = self.open.remove(&id).expect("it waits");
        let journal = self.journal.entry(id).or_default();
        let step = Arc::new(Step { seq: Some(journal.len() as u64), ..step });
        let done = FinishedStep { step, value: Arc::new(json!(null)) };
        journal.push(done.clone());
        if !self.runs.answer(id, done) {
            self.woken += 1;
            self.start(id);
        }
        self.go_on(Vec::new());
    }
}

fn world(text: &str) -> World {
    World::load(Arc::new(Sources::from_files([("r.lua", text)])), Generation::default(), Arc::default()).expect("loads")
}

#[test]
fn what_waits_sleeps_before_a_run_has_to_end_for_the_room_it_takes() {
    let world = world(HOLDERS);
    let mut house = House::new(&world, Runs::holding(1_000));
    for n in 1..=20 {
        house.start(RunId(n));
    }
    assert!(house.ended.is_empty(), "none had to end: {:?}", house.ended);
    for _ in 0..2 {
        for n in 1..=20 {
            house.answer(RunId(n));
        }
    }
    assert!(house.woken > 20, "all of them would never have fitted: {}", house.woken);
    for n in 1..=20 {
        let end = &house.ended[&RunId(n)];
        assert_eq!((end.outcome, &end.value), (RunOutcome::Done, &json!(8)), "r{n}: {:?}", end.why);
    }
}

#[test]
fn only_so_many_are_held_and_the_others_are_woken_once_by_what_comes() {
    let world = world(&HOLDERS.replace("1024 * 1024", "1"));
    let mut house = House::new(&world, Runs::holding(2));
    for n in 1..=5 {
        house.start(RunId(n));
    }
    let path = || StepPath::from("sleep#1");
    let refuse = |house: &mut House<'_>, n| {
        house.runs.refuse(RunId(n), path(), Refusal::invalid("no"), &mut |_| panic!("r{n} is not held"))
    };
    assert!(!refuse(&mut house, 1), "it sleeps");
    assert!(refuse(&mut house, 1), "whoever starts it again was told");
    house.runs.drop(RunId(2));
    assert!(refuse(&mut house, 2), "what was dropped is not woken");
    for n in [5, 4, 3] {
        house.answer(RunId(n));
    }
    assert_eq!(house.woken, 1, "the last two to come to rest were held");
    house.start(RunId(1));
    house.answer(RunId(1));
    assert_eq!(house.open[&RunId(1)].path, StepPath::from("note#1"), "it goes on");
}
