//! The same for workers that ask: whenever a question comes, is answered or is over, a crash after any step changes
//! nothing, no step is handed in twice, and each answer is the one that was given before.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::run;
use crate::charter::runs::Runs;
use crate::charter::sources::Sources;
use crate::charter::world::World;
use crate::fleet::asked::{ANSWER, ASKED, OVER, asked_path, over_path, send_of};
use crate::fleet::ids::{QuestionId, RunId, StepPath};
use crate::fleet::run::{FinishedStep, RunEnd, RunInput, RunOutcome, Step, StepRequest};
use crate::fleet::team::Generation;
use crate::fleet::time::Time;

/// Functions that share a log with the parts, take steps, ask on, answer, leave, break, and one part that breaks.
pub(super) const RECIPE: &str = r#"
fleet.profile("p", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "p" }, max_busy = 3 })
fleet.recipe("r", {}, function(job, run)
  local log = {}
  local function answers(name)
    return function(question)
      table.insert(log, name .. " " .. question.text)
      if #log % 4 == 1 then return name .. #log end
      if #log % 4 == 2 then
        local reply = run:send { to = "w", prompt = name .. "?" .. #log, on_ask = function(inner)
          table.insert(log, "inner " .. inner.text)
          run:sleep("1s")
          return "inner" .. #log
        end }
        table.insert(log, "heard " .. #reply.text)
        return name .. "!" .. #log
      end
      if #log % 4 == 3 then error("boom") end
      run:now()
    end
  end
  local ok = pcall(run.each, run, { 1, 2, 3 }, function(n)
    table.insert(log, run:send({ to = "w", prompt = "a" .. n .. #log, on_ask = answers("f" .. n) }).text)
    if n == 2 then error("broken") end
    table.insert(log, run:send({ to = "w", prompt = "b" .. n .. #log, on_ask = answers("g" .. n) }).text)
  end)
  run:send { to = "w", prompt = "end " .. tostring(ok), on_ask = answers("h") }
  return log
end)
"#;

/// A run under way, with what its journal has and what is open.
struct Course<'w> {
    world: &'w World,
    runs: Runs,
    journal: Vec<FinishedStep>,
    open: Vec<(Step, StepRequest)>,
    /// The hash of every step that was handed in.
    submitted: BTreeMap<StepPath, String>,
    end: Option<RunEnd>,
}

impl<'w> Course<'w> {
    fn begin(world: &'w World, journal: &[FinishedStep]) -> Course<'w> {
        let mut inputs = Vec::new();
        let mut runs = Runs::default();
        runs.start(world, &run(), &json!({}), journal.to_vec(), &mut |input| inputs.push(input));
        let journal = journal.to_vec();
        let mut course = Course { world, runs, journal, open: Vec::new(), submitted: BTreeMap::new(), end: None };
        course.go_on(inputs);
        course
    }

    fn go_on(&mut self, mut inputs: Vec<RunInput>) {
        while self.runs.slice(self.world, &mut || 7, &mut |input| inputs.push(input)) {}
        for input in inputs {
            match input {
                RunInput::Ended { end, .. } => self.end = Some(end),
                RunInput::Step { path, verb, hash, what, at, request, .. } => {
                    let before = self.submitted.insert(path.clone(), hash.clone());
                    assert_eq!(before, None, "{path} came twice");
                    self.open.push((Step { hash, what, at, ..step(path, verb) }, *request));
                }
            }
        }
    }

    fn finish(&mut self, step: Step, value: Value) {
        let seq = Some(self.journal.len() as u64);
        let done = FinishedStep { step: Arc::new(Step { seq, ..step }), value: Arc::new(value) };
        self.journal.push(done.clone());
        assert!(self.runs.answer(RunId(1), done), "it is held");
        self.go_on(Vec::new());
    }

    /// Does again what the journal of the first course has next.
    fn follow(&mut self, next: &FinishedStep) {
        let at = self.open.iter().position(|(step, _)| step.path == next.step.path);
        match (next.step.verb.as_str(), at) {
            (ASKED | OVER, _) => self.finish((*next.step).clone(), (*next.value).clone()),
            (_, Some(at)) => {
                let (step, _) = self.open.remove(at);
                self.finish(step, (*next.value).clone());
            }
            _ => panic!("{} is not reached again", next.step.path),
        }
    }
}

fn step(path: StepPath, verb: &str) -> Step {
    Step::begun(RunId(1), path, verb, "r.lua:1".to_owned(), Time(0))
}

/// What the fleet knows of the questions of a run.
#[derive(Default)]
struct Questions {
    asked: BTreeMap<StepPath, u32>,
    open: BTreeSet<StepPath>,
    over: Vec<StepPath>,
}

impl Questions {
    fn ask(&mut self, course: &mut Course<'_>, send: &StepPath) {
        let n = self.asked.entry(send.clone()).or_default();
        *n += 1;
        let path = asked_path(send, *n);
        self.open.insert(path.clone());
        let question = Some(QuestionId(course.journal.len() as u64));
        let value = json!({"text": format!("q{n}"), "id": question, "turn": "t1", "worker": "w-1"});
        course.finish(Step { question, ..step(path, ASKED) }, value);
    }

    /// A send ends: what was asked in its turn is over first, and so is all that is done for it.
    fn end_with(&mut self, course: &mut Course<'_>, send: &StepPath) {
        let of_send: Vec<StepPath> =
            self.open.iter().filter(|path| send_of(path).as_ref() == Some(send)).cloned().collect();
        for path in of_send {
            let below = |other: &StepPath| other.as_str().starts_with(&format!("{path}."));
            self.open.retain(|other| *other != path && !below(other));
            self.over.push(path.clone());
            course.open.retain(|(step, _)| !below(&step.path));
            course.finish(step(over_path(&path), OVER), Value::Null);
        }
    }

    /// A step that is handed in for a question that is over is not taken.
    fn forget_late_ones(&self, course: &mut Course<'_>) {
        let late = |path: &StepPath| self.over.iter().any(|over| path.as_str().starts_with(&format!("{over}.")));
        course.open.retain(|(step, _)| !late(&step.path));
    }
}

/// Plays the recipe once, by a number that decides what happens next.
fn whole(world: &World, seed: u64) -> Course<'_> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut course = Course::begin(world, &[]);
    let mut questions = Questions::default();
    while course.end.is_none() {
        questions.forget_late_ones(&mut course);
        let at = draw(course.open.len());
        let (step, request) = course.open[at].clone();
        let few = questions.asked.get(&step.path).is_none_or(|n| *n < 2);
        if matches!(&request, StepRequest::Send(send) if send.on_ask && few) && draw(2) == 0 {
            questions.ask(&mut course, &step.path);
            continue;
        }
        questions.end_with(&mut course, &step.path);
        course.open.retain(|(other, _)| other.path != step.path);
        if step.verb == ANSWER {
            questions.open.retain(|path| !step.path.as_str().starts_with(&format!("{path}.")));
        }
        let value = match step.verb.as_str() {
            "send" => json!({"ok": true, "text": step.what}),
            _ => Value::Null,
        };
        course.finish(step, value);
    }
    course
}

#[test]
fn a_crash_at_any_step_changes_nothing_of_what_is_asked_and_answered() {
    let sources = Arc::new(Sources::from_files([("r.lua", RECIPE)]));
    let world = World::load(sources, Generation::default(), Arc::default()).expect("loads");
    let mut ends = HashSet::new();
    let mut seen = BTreeMap::<&str, usize>::new();
    for seed in 1..=25u64 {
        let whole = whole(&world, seed);
        let end = whole.end.as_ref().expect("it ended");
        assert_eq!(end.outcome, RunOutcome::Done, "seed {seed}: {:?}", end.why);
        ends.insert(end.value.to_string());
        for verb in [ASKED, ANSWER, OVER] {
            *seen.entry(verb).or_default() += whole.journal.iter().filter(|done| done.step.verb == verb).count();
        }
        for crash in 0..=whole.journal.len() {
            let kept = &whole.journal[..crash];
            let mut again = Course::begin(&world, kept);
            for next in &whole.journal[crash..] {
                again.follow(next);
            }
            assert_eq!(again.end.as_ref(), Some(end), "seed {seed}, crash after {crash}");
            let finished: HashSet<&StepPath> = kept.iter().map(|done| &done.step.path).collect();
            for (path, hash) in &again.submitted {
                assert!(!finished.contains(path), "seed {seed}, crash after {crash}: {path} came again");
                assert_eq!(whole.submitted.get(path), Some(hash), "seed {seed}, crash after {crash}: {path}");
            }
        }
    }
    assert!(ends.len() > 20, "the order must matter, else this shows nothing: {}", ends.len());
    assert!(seen.len() == 3 && seen.values().all(|n| *n > 20), "each must be seen: {seen:?}");
}

#[test]
fn an_answer_that_differs_from_its_record_ends_the_run() {
    let recipe = RECIPE.replace("#log % 4 == 1 then return", "true then return");
    let load = |text: &str| {
        let sources = Arc::new(Sources::from_files([("r.lua", text)]));
        World::load(sources, Generation::default(), Arc::default()).expect("loads")
    };
    let (first, changed) = (load(&recipe), load(&recipe.replace("return name .. #log", "return 'other'")));
    let mut course = Course::begin(&first, &[]);
    let mut questions = Questions::default();
    questions.ask(&mut course, &"each#1[1].send#1".into());
    let at = course.open.iter().position(|(step, _)| step.verb == ANSWER).expect("it is answered");
    let (answer, _) = course.open.remove(at);
    course.finish(answer, Value::Null);
    let end = Course::begin(&changed, &course.journal).end.expect("it ends");
    assert_eq!(
        end.why.as_deref(),
        Some(
            "divergence: the journal says that each#1[1].send#1.asked#1.answer#1 was run:answer (f11) at r.lua:24, \
             but the code came to run:answer (other) at r.lua:24"
        )
    );
    // A question that comes where the code has no function is no less a divergence.
    let mut course = Course::begin(&first, &[]);
    questions.ask(&mut course, &"send#7".into());
    let why = course.end.and_then(|end| end.why).unwrap_or_default();
    assert!(why.starts_with("divergence: the journal says that send#7.asked#1 was asked in send#7"), "{why}");
}
