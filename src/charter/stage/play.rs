//! One run on the stage: what is due happens in the order of its virtual time, until the recipe has ended.
//! What a scripted worker does in its turn is in `turns`.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::turns::{REPLY, Scripted};
use super::{Played, Stage};
use crate::charter::error::CharterError;
use crate::charter::runs::Runs;
use crate::charter::testing::in_time;
use crate::fleet::ids::{StepPath, TurnId};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, RunOutcome, Step, StepRequest};
use crate::fleet::time::Time;

/// How many steps a run on the stage may take: virtual time has no end of its own.
const MOST_STEPS: usize = 20_000;

/// A run that is being played.
pub(super) struct Play<'s, 'w> {
    pub(super) stage: &'s mut Stage<'w>,
    pub(super) run: &'s Run,
    runs: Runs,
    inputs: VecDeque<RunInput>,
    /// What will happen, and when; the number keeps the order of equals.
    due: BTreeMap<(Time, u64), Due>,
    order: u64,
    played: Played,
    /// The turns that scripted workers are at.
    pub(super) turns: BTreeMap<TurnId, Scripted>,
}

/// One thing that will happen.
pub(super) enum Due {
    /// A step is answered.
    Answer(Arc<Step>, Value),
    /// A worker asks.
    Ask(TurnId, String),
    /// A worker hears the answer to what it asked.
    Hear(TurnId, String),
    /// The time of a turn is over.
    Timeout(TurnId),
}

impl<'s, 'w> Play<'s, 'w> {
    pub(super) fn new(stage: &'s mut Stage<'w>, run: &'s Run) -> Play<'s, 'w> {
        Play {
            stage,
            run,
            runs: Runs::default(),
            inputs: VecDeque::new(),
            due: BTreeMap::new(),
            order: 0,
            played: Played {
                end: RunEnd {
                    outcome: RunOutcome::TimedOut,
                    why: Some("its deadline passed".to_owned()),
                    value: Value::Null,
                },
                journal: Vec::new(),
                reached: HashSet::new(),
            },
            turns: BTreeMap::new(),
        }
    }

    /// Plays the run to its end.
    pub(super) fn play(mut self, job: &Value) -> Result<Played, CharterError> {
        let inputs = &mut self.inputs;
        self.runs.start(self.stage.world, self.run, job, Vec::new(), &mut |input| inputs.push_back(input));
        loop {
            self.code_goes_on()?;
            while let Some(input) = self.inputs.pop_front() {
                in_time(self.stage.until)?;
                if let RunInput::Ended { end, .. } = input {
                    self.played.end = end;
                    return Ok(self.played);
                }
                self.reached(input)?;
            }
            let Some(((at, _), due)) = self.due.pop_first() else {
                return Err(CharterError::plain(format!("{} waits for something that never comes", self.run.id)));
            };
            self.stage.now = self.stage.now.max(at);
            if self.run.deadline.is_some_and(|deadline| self.stage.now > deadline) {
                return Ok(self.played);
            }
            match due {
                Due::Answer(step, value) => self.finish((*step).clone(), value),
                Due::Ask(turn, question) => self.asks(turn, question)?,
                Due::Hear(turn, answer) => self.hears(turn, answer)?,
                Due::Timeout(turn) => self.times_out(turn)?,
            }
        }
    }

    fn code_goes_on(&mut self) -> Result<(), CharterError> {
        let (world, inputs) = (self.stage.world, &mut self.inputs);
        let mut drawn = self.stage.drawn;
        while self.runs.slice(world, &mut || xorshift(&mut drawn), &mut |input| inputs.push_back(input)) {
            in_time(self.stage.until)?;
        }
        self.stage.drawn = drawn;
        Ok(())
    }

    /// The code reached a step.
    fn reached(&mut self, input: RunInput) -> Result<(), CharterError> {
        let RunInput::Step { path, verb, hash, what, at, request, .. } = input else { return Ok(()) };
        if self.played.reached.len() >= MOST_STEPS {
            let why = format!("{} took more than {MOST_STEPS} steps", self.run.id);
            return Err(CharterError::read(&self.stage.world.sources, &format!("{at}: {why}")));
        }
        self.played.reached.insert(path.clone());
        self.stage.say(format!("{path} {what}"));
        let asked = matches!(&*request, StepRequest::Send(send) if send.on_ask).then_some(0);
        let step = Step { hash, what, asked, ..self.step(path.clone(), verb, at) };
        if let Err(refusal) = self.answer(step, *request)? {
            let inputs = &mut self.inputs;
            self.runs.refuse(self.run.id, path, refusal, &mut |input| inputs.push_back(input));
        }
        Ok(())
    }

    /// Returns a step of this run that begins now.
    pub(super) fn step(&self, path: StepPath, verb: &str, at: String) -> Step {
        Step::begun(self.run.id, path, verb, at, self.stage.now)
    }

    /// Decides when a step will be answered and with what.
    fn answer(&mut self, step: Step, request: StepRequest) -> Result<Result<(), Refusal>, CharterError> {
        let now = self.stage.now;
        let (at, value) = match request {
            StepRequest::Send(send) => return self.send(step, send),
            StepRequest::Sleep(span) => (now + span, Value::Null),
            StepRequest::Now => (now, json!(now.0 as f64 / 1000.0)),
            StepRequest::Value(value) => (now, value),
            StepRequest::Note { name, value: Some(value) } => {
                self.stage.notes.insert(name, value.clone());
                (now, value)
            }
            StepRequest::Note { name, value: None } => (now, self.stage.notes.get(&name).cloned().unwrap_or_default()),
            StepRequest::Progress(_) => (now, Value::Null),
            StepRequest::Ask(question) => {
                let answer = self.owner_answers(&step, "the run", &question)?;
                (now + REPLY, Value::from(answer))
            }
            StepRequest::Answer(answer) => (now, self.answered(answer)?),
            StepRequest::GiveUp(_) => {
                self.take_back_below(Some(&format!("{}[", step.path)));
                (now, Value::Null)
            }
        };
        self.add(at, Due::Answer(Arc::new(step), value));
        Ok(Ok(()))
    }

    /// Asks whoever the test lets answer for the owner of the run.
    pub(super) fn owner_answers(&self, step: &Step, who: &str, question: &str) -> Result<String, CharterError> {
        let Some(function) = self.stage.answers.clone() else {
            let why = format!("{who} asked '{question}'; script the answer with t.answer(function(question) … end)");
            return Err(self.stage.at(step, why));
        };
        let (word, text) = self.stage.call(&function, question)?;
        match word.as_str() {
            "replied" => Ok(text),
            _ => Err(self.stage.at(step, format!("the question '{question}' was not answered: {text}"))),
        }
    }

    /// Finishes a step now.
    pub(super) fn finish(&mut self, step: Step, value: Value) {
        let step = Arc::new(Step { seq: Some(self.played.journal.len() as u64), ..step });
        let done = FinishedStep { step, value: Arc::new(value) };
        self.played.journal.push(done.clone());
        self.runs.answer(self.run.id, done);
    }

    /// Notes what will happen; returns under which key it can be taken back.
    pub(super) fn add(&mut self, at: Time, due: Due) -> (Time, u64) {
        self.order += 1;
        self.due.insert((at, self.order), due);
        (at, self.order)
    }

    /// Takes back something that was to happen.
    pub(super) fn take_back(&mut self, key: (Time, u64)) {
        self.due.remove(&key);
    }

    /// Takes back what is under way for turns that are gone, and everything below a step for which nobody waits now.
    pub(super) fn take_back_below(&mut self, prefix: Option<&str>) {
        let below = |step: &Step| prefix.is_some_and(|prefix| step.path.as_str().starts_with(prefix));
        self.turns.retain(|_, turn| !below(turn.step()));
        let turns = &self.turns;
        self.due.retain(|_, due| match due {
            Due::Answer(step, _) => !below(step),
            Due::Ask(turn, _) | Due::Hear(turn, _) | Due::Timeout(turn) => turns.contains_key(turn),
        });
    }
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
