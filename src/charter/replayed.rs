//! Replay under every order of answers: a recipe whose parts share state takes the same course from any crash on.
//! Only tests: the steps are answered by hand from a journal that is a list, so no fleet and no clock come in.

mod asleep;
mod fleet;
mod questions;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::runs::Runs;
use super::sources::Sources;
use super::world::World;
use crate::fleet::caller::Sender;
use crate::fleet::ids::{RunId, StepPath};
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, Step};
use crate::fleet::team::Generation;
use crate::fleet::time::Time;

/// Parts that write into one log, wait in turns, nest, and of which one fails and is caught.
const RECIPE: &str = r#"
fleet.profile("p", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "p" } })
fleet.recipe("r", {}, function(job, run)
  local log = {}
  local function said(text)
    table.insert(log, run:send({ to = "w", prompt = text .. #log }).text)
  end
  local ok = pcall(run.each, run, { 1, 2, 3 }, function(n)
    said("a" .. n)
    run:each({ 1, 2 }, function(m)
      said(n .. "." .. m)
      if n == 2 and m == 1 then error("boom") end
      said("b" .. n .. m)
    end)
  end)
  said("end " .. tostring(ok))
  return log
end)
"#;

fn run() -> Run {
    Run::begun(RunId(1), "r".into(), Sender::Operator, Generation::default(), Time(0))
}

struct Course {
    end: RunEnd,
    journal: Vec<FinishedStep>,
    submitted: HashSet<StepPath>,
}

/// Runs the recipe from a journal on; `choose` says which of the open steps is answered next.
fn course(
    world: &World,
    mut runs: Runs,
    journal: &[FinishedStep],
    mut choose: impl FnMut(usize, &[Step]) -> usize,
) -> Course {
    let mut inputs = Vec::new();
    let mut open: Vec<Step> = Vec::new();
    let mut course = Course {
        end: RunEnd { outcome: RunOutcome::Cancelled, why: None, value: json!(null) },
        journal: journal.to_vec(),
        submitted: HashSet::new(),
    };
    runs.start(world, &run(), &json!({}), journal.to_vec(), &mut |input| inputs.push(input));
    let mut woken = false;
    loop {
        while runs.slice(world, &mut || 7, &mut |input| inputs.push(input)) {}
        for input in inputs.drain(..) {
            match input {
                RunInput::Ended { end, .. } => {
                    course.end = end;
                    return course;
                }
                RunInput::Step { path, verb, hash, what, at, .. } => {
                    // One that began again comes to its open steps again.
                    let is_new = course.submitted.insert(path.clone());
                    assert!(is_new || woken, "{path} came twice");
                    if !is_new {
                        continue;
                    }
                    open.push(Step { hash, what, ..Step::begun(RunId(1), path, verb, at, Time(0)) });
                }
            }
        }
        let seq = course.journal.len();
        let step = open.remove(choose(seq, &open));
        let value = json!({"ok": true, "text": step.what});
        let done = FinishedStep { step: Arc::new(Step { seq: Some(seq as u64), ..step }), value: Arc::new(value) };
        course.journal.push(done.clone());
        woken = !runs.answer(RunId(1), done);
        if woken {
            runs.start(world, &run(), &json!({}), course.journal.clone(), &mut |input| inputs.push(input));
        }
    }
}

#[test]
fn a_crash_at_any_step_under_any_order_of_answers_changes_nothing() {
    let sources = Arc::new(Sources::from_files([("r.lua", RECIPE)]));
    let world = World::load(sources, Generation::default(), Arc::default()).expect("loads");
    let mut ends = HashSet::new();
    for seed in 1..=40u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let whole = course(&world, Runs::default(), &[], |_, open| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % open.len()
        });
        assert_eq!(whole.end.outcome, RunOutcome::Done, "{:?}", whole.end.why);
        ends.insert(whole.end.value.to_string());
        for crash in 0..=whole.journal.len() {
            let kept = &whole.journal[..crash];
            // After the crash the world answers in the order in which it answered the first time.
            let runs = if crash % 2 == 0 { Runs::default() } else { Runs::holding(0) };
            let again = course(&world, runs, kept, |seq, open| {
                let next = &whole.journal[seq].step.path;
                open.iter().position(|step| step.path == *next).expect("it is reached again")
            });
            assert_eq!(again.end, whole.end, "seed {seed}, crash after {crash}");
            let finished: HashSet<&StepPath> = kept.iter().map(|done| &done.step.path).collect();
            assert!(again.submitted.iter().all(|path| !finished.contains(path)), "seed {seed}, crash after {crash}");
        }
    }
    assert!(ends.len() > 10, "the order of answers must matter, else this shows nothing: {}", ends.len());
}
