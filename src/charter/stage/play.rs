//! One run on the stage, with the runs below it: what is due happens in the order of its virtual time, until its recipe has
//! ended. What its bounds do to a run is in `bounds`.
//! What a scripted worker does in its turn is in `turns`.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::turns::{REPLY, Scripted, TOO_SLOW};
use super::{Played, Stage, ending};
use crate::charter::error::CharterError;
use crate::charter::runs::Runs;
use crate::charter::testing::in_time;
use crate::fleet::bounds::{Closing, ended};
use crate::fleet::children::{came_to, check_depth};
use crate::fleet::envelope::Usage;
use crate::fleet::ids::{RunId, StepPath, TurnId};
use crate::fleet::refusal::Refusal;
use crate::fleet::run::{FinishedStep, Run, RunEnd, RunInput, Step, StepCommand, StepRecipe, StepRequest};
use crate::fleet::time::Time;
use crate::fleet::turn::Outcome;

/// How many steps a run on the stage may take: virtual time has no end of its own.
const MOST_STEPS: usize = 20_000;

/// A run that is being played, with the runs below it.
pub(super) struct Play<'s, 'w> {
    pub(super) stage: &'s mut Stage<'w>,
    root: RunId,
    runs: Runs,
    inputs: VecDeque<RunInput>,
    /// What will happen, and when; the number keeps the order of equals.
    pub(super) due: BTreeMap<(Time, u64), Due>,
    order: u64,
    pub(super) playing: BTreeMap<RunId, Playing>,
    over: Vec<Played>,
    /// The turns that have not ended.
    pub(super) turns: BTreeMap<TurnId, Scripted>,
}

/// One run that has not ended.
pub(super) struct Playing {
    pub(super) played: Played,
    /// The step that began it, unless the test did.
    parent: Option<Arc<Step>>,
    /// How many turns it and the runs below it sent, and what those took that have ended.
    pub(super) sent: u64,
    pub(super) usage: Option<Usage>,
    /// How it will end, once it reached a bound.
    pub(super) closing: Option<Closing>,
}

/// One thing that will happen.
pub(super) enum Due {
    /// A step is answered.
    Answer(Arc<Step>, Value),
    /// A worker asks.
    Ask(TurnId, String),
    /// A worker hears the answer to what it asked.
    Hear(TurnId, String),
    /// A worker gets a turn that waited for its role to open.
    Hand(TurnId),
    /// A turn ends by itself.
    End(TurnId, Outcome, String),
    /// The time of a turn is over.
    Timeout(TurnId),
    /// The time of a run is over.
    Deadline(RunId),
    /// A run that reached a bound is ended by force.
    Force(RunId),
}

impl<'s, 'w> Play<'s, 'w> {
    pub(super) fn new(stage: &'s mut Stage<'w>) -> Play<'s, 'w> {
        Play {
            stage,
            root: RunId(0),
            runs: Runs::default(),
            inputs: VecDeque::new(),
            due: BTreeMap::new(),
            order: 0,
            playing: BTreeMap::new(),
            over: Vec::new(),
            turns: BTreeMap::new(),
        }
    }

    /// Plays a run to its end; gives back what it came to, and every run that came to its own end.
    pub(super) fn play(mut self, run: Run, job: Value) -> Result<(RunEnd, Vec<Played>), CharterError> {
        self.root = run.id;
        self.begin_run(run, job, None);
        loop {
            self.code_goes_on()?;
            while let Some(input) = self.inputs.pop_front() {
                in_time(self.stage.until)?;
                match input {
                    RunInput::Ended { run, end } => {
                        if let Some(end) = self.run_ended(run, end, true) {
                            return Ok((end, self.over));
                        }
                    }
                    input => self.reached(input)?,
                }
            }
            // A run that was begun, or whose step was answered by the end of another, goes on first.
            if self.runs.next().is_some() {
                continue;
            }
            let Some(((at, _), due)) = self.due.pop_first() else {
                return Err(CharterError::plain(format!("{} waits for something that never comes", self.root)));
            };
            self.stage.goes_on_at(at);
            match due {
                Due::Answer(step, value) => self.finish((*step).clone(), value),
                Due::Ask(turn, question) => self.asks(turn, question)?,
                Due::Hear(turn, answer) => self.hears(turn, answer)?,
                Due::Hand(turn) => self.handed(turn)?,
                Due::End(turn, outcome, text) => self.ended(turn, outcome, text)?,
                Due::Timeout(turn) => self.times_out(turn, TOO_SLOW)?,
                Due::Deadline(run) => self.deadline(run),
                Due::Force(run) => {
                    if let Some(end) = self.forced(run) {
                        return Ok((end, self.over));
                    }
                }
            }
        }
    }

    fn begin_run(&mut self, run: Run, job: Value, parent: Option<Arc<Step>>) {
        self.stage.say(format!("{} {} begins", run.id, run.recipe));
        let inputs = &mut self.inputs;
        self.runs.start(self.stage.world, &run, &job, Vec::new(), &mut |input| inputs.push_back(input));
        if let Some(at) = run.deadline {
            self.add(at, Due::Deadline(run.id));
        }
        let id = run.id;
        let played = Played { run, job, end: None, journal: Vec::new(), reached: HashSet::new() };
        self.playing.insert(id, Playing { played, parent, sent: 0, usage: None, closing: None });
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

    /// A run has ended, by its code or by force; returns how, if it is the one that the test began.
    pub(super) fn run_ended(&mut self, id: RunId, end: RunEnd, by_its_code: bool) -> Option<RunEnd> {
        let mut playing = self.playing.remove(&id)?;
        self.runs.drop(id);
        for child in self.below(id) {
            self.playing.remove(&child);
            self.runs.drop(child);
        }
        self.forget(|_, _| false);
        playing.played.end = by_its_code.then(|| end.clone());
        let end = ended(playing.closing.as_ref(), end);
        self.stage.say(format!("{id} ends as {}", ending(&end)));
        let recipe = playing.played.run.recipe.clone();
        self.over.push(playing.played);
        match playing.parent {
            None => Some(end),
            Some(step) => {
                self.finish((*step).clone(), came_to(id, &recipe, None, &end));
                None
            }
        }
    }

    /// Returns a run and those above it.
    pub(super) fn up_from(&self, run: RunId) -> Vec<RunId> {
        let mut up = vec![run];
        while let Some(step) = up.last().and_then(|run| self.playing.get(run)?.parent.as_ref()) {
            up.push(step.run);
        }
        up
    }

    /// Returns the runs below a run.
    pub(super) fn below(&self, run: RunId) -> Vec<RunId> {
        let mut below: Vec<RunId> = self.playing.keys().copied().collect();
        below.retain(|other| *other != run && self.up_from(*other).contains(&run));
        below
    }

    /// The code reached a step.
    fn reached(&mut self, input: RunInput) -> Result<(), CharterError> {
        let RunInput::Step { run, path, verb, hash, what, at, request } = input else { return Ok(()) };
        let Some(playing) = self.playing.get_mut(&run) else { return Ok(()) };
        if playing.played.reached.len() >= MOST_STEPS {
            let why = format!("{run} took more than {MOST_STEPS} steps");
            return Err(CharterError::read(&self.stage.world.sources, &format!("{at}: {why}")));
        }
        playing.played.reached.insert(path.clone());
        let of = if run == self.root { String::new() } else { format!("{run} ") };
        self.stage.say(format!("{of}{path} {what}"));
        let asked = matches!(&*request, StepRequest::Send(send) if send.on_ask).then_some(0);
        let step = Step { hash, what, asked, ..Step::begun(run, path.clone(), verb, at, self.stage.now) };
        if let Err(refusal) = self.answer(step, *request)? {
            let inputs = &mut self.inputs;
            // Here no run sleeps.
            let _ = self.runs.refuse(run, path, refusal, &mut |input| inputs.push_back(input));
        }
        Ok(())
    }

    /// Decides when a step will be answered and with what.
    fn answer(&mut self, step: Step, request: StepRequest) -> Result<Result<(), Refusal>, CharterError> {
        let now = self.stage.now;
        let over = self.is_over(step.run);
        let (at, value) = match request {
            StepRequest::Send(send) => return self.send(step, send),
            StepRequest::Recipe(wanted) => return Ok(self.child(step, wanted)),
            StepRequest::Command(wanted) => match self.closed(step.run) {
                Some(value) => (now, value),
                None => (now + REPLY, self.command(&step, &wanted)?),
            },
            StepRequest::Sleep(_) | StepRequest::Ask(_) if over => (now, Value::Null),
            StepRequest::Sleep(span) => (now + span, Value::Null),
            StepRequest::Now => (now, json!(now.0 as f64 / 1000.0)),
            StepRequest::Value(value) => (now, value),
            StepRequest::Note { name, value: Some(Value::Null) } => {
                self.stage.notes.remove(&name);
                (now, Value::Null)
            }
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
                self.take_back_below(step.run, &format!("{}[", step.path));
                (now, Value::Null)
            }
        };
        self.add(at, Due::Answer(Arc::new(step), value));
        Ok(Ok(()))
    }

    /// A command ends as the test says.
    fn command(&mut self, step: &Step, wanted: &StepCommand) -> Result<Value, CharterError> {
        let Some(function) = self.stage.commands.clone() else {
            let why = "the run starts a command; script it with t.command(function(argv) … end)";
            return Err(self.stage.at(step, why.to_owned()));
        };
        let (word, text) = self.stage.call(&function, wanted.command.argv.clone())?;
        let ok = word == "replied";
        if word == "wrong" {
            return Err(self.stage.at(step, text));
        }
        let mut value = json!({"ok": ok, "outcome": word, "text": if ok { &text } else { "" }, "from": {}, "exit": {"code": i32::from(!ok)}});
        if !ok {
            (value["error"], value["why"]) = (json!(word), json!(text));
        }
        Ok(value)
    }

    fn child(&mut self, step: Step, wanted: StepRecipe) -> Result<(), Refusal> {
        let now = self.stage.now;
        if let Some(value) = self.closed(step.run) {
            self.add(now, Due::Answer(Arc::new(step), value));
            return Ok(());
        }
        let Some(above) = self.playing.get(&step.run).map(|playing| playing.played.run.clone()) else { return Ok(()) };
        let up = self.up_from(step.run);
        let names = up.iter().rev().filter_map(|run| Some(self.playing.get(run)?.played.run.recipe.clone()));
        check_depth(&wanted.recipe, above.depth, names)?;
        self.stage.runs += 1;
        let id = RunId(self.stage.runs);
        let run = Run {
            deadline: wanted.deadline.map(|span| now + span).into_iter().chain(above.deadline).min(),
            budget: wanted.budget,
            depth: above.depth + 1,
            ..Run::begun(id, wanted.recipe, above.owner, above.generation, now)
        };
        self.begin_run(run, (*wanted.job).clone(), Some(Arc::new(step)));
        Ok(())
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
        let Some(playing) = self.playing.get_mut(&step.run) else { return };
        let (run, journal) = (step.run, &mut playing.played.journal);
        let step = Arc::new(Step { seq: Some(journal.len() as u64), ..step });
        let done = FinishedStep { step, value: Arc::new(value) };
        journal.push(done.clone());
        let _ = self.runs.answer(run, done);
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

    /// Takes back everything of a run that is under way below a step for which nobody waits now.
    pub(super) fn take_back_below(&mut self, run: RunId, prefix: &str) {
        let below = |of: RunId, path: &StepPath| of == run && path.as_str().starts_with(prefix);
        let children = self
            .playing
            .iter()
            .filter(|(_, playing)| playing.parent.as_ref().is_some_and(|step| below(step.run, &step.path)));
        let children: Vec<RunId> = children.map(|(run, _)| *run).collect();
        for child in children {
            for run in self.playing.keys().copied().collect::<Vec<_>>() {
                if self.up_from(run).contains(&child) {
                    self.runs.drop(run);
                    self.playing.remove(&run);
                }
            }
        }
        self.forget(|of, path| below(of, path));
    }

    /// Takes back what is under way for steps for which nobody waits, and for runs that are gone.
    pub(super) fn forget(&mut self, gone: impl Fn(RunId, &StepPath) -> bool) {
        let playing = &self.playing;
        let gone = |step: &Step| gone(step.run, &step.path) || !playing.contains_key(&step.run);
        self.turns.retain(|_, turn| !gone(turn.step()));
        let turns = &self.turns;
        self.due.retain(|_, due| match due {
            Due::Answer(step, _) => !gone(step),
            Due::Ask(turn, _) | Due::Hear(turn, _) | Due::Hand(turn) | Due::End(turn, ..) | Due::Timeout(turn) => {
                turns.contains_key(turn)
            }
            Due::Deadline(run) | Due::Force(run) => playing.contains_key(run),
        });
    }
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
