//! The real fleet around the real executor: workers that ask and end when they like, a leader that answers, time that
//! passes, and a daemon that dies between any two inputs. Only tests; the launchers and the store are a few lines here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::questions::RECIPE;
use crate::charter::runs::Runs;
use crate::charter::sources::Sources;
use crate::charter::world::World;
use crate::fleet::caller::Caller;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::{RunId, StepPath, Ticket, TurnId};
use crate::fleet::input::{Answer, Asked, Call, Effect, Input, RunCall, Sighting, WorkEffect};
use crate::fleet::mail::About;
use crate::fleet::record::Record;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::run::{FinishedStep, Run, RunEffect, RunInput, RunOutcome, Step};
use crate::fleet::team::Generation;
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::{Outcome, Turn};
use crate::fleet::{Fleet, Limits};

struct House<'w> {
    world: &'w World,
    fleet: Fleet,
    now: Time,
    runs: Runs,
    /// What the code reached and the fleet has not heard of yet; it dies with the daemon.
    inbox: VecDeque<RunInput>,
    steps: BTreeMap<StepPath, Arc<Step>>,
    values: BTreeMap<StepPath, Arc<Value>>,
    /// The question and the turn of every call of a worker that waits.
    asking: BTreeMap<Ticket, (TurnId, &'static str)>,
    answers: BTreeMap<(TurnId, &'static str), Arc<str>>,
    tickets: u64,
    seen: BTreeMap<&'static str, usize>,
}

impl<'w> House<'w> {
    fn new(world: &'w World, runs: Runs) -> House<'w> {
        let mut house = House {
            world,
            fleet: Fleet::new(Limits::default()),
            now: Time(1_000),
            runs,
            inbox: VecDeque::new(),
            steps: BTreeMap::new(),
            values: BTreeMap::new(),
            asking: BTreeMap::new(),
            answers: BTreeMap::new(),
            tickets: 0,
            seen: BTreeMap::new(),
        };
        house.input(Input::Team(Arc::clone(&world.team)));
        let run = RunCall { recipe: "r".into(), job: Arc::new(json!({})), deadline: None, key: None };
        house.call(Caller::Leader, Call::StartRun(run));
        house
    }

    fn call(&mut self, caller: Caller, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.input(Input::Call { ticket, caller, call });
        ticket
    }

    fn input(&mut self, input: Input) {
        let step = self.fleet.step(self.now, input);
        for record in step.records {
            match record {
                Record::Step(step) => drop(self.steps.insert(step.path.clone(), step)),
                Record::StepValue(_, path, value) => {
                    let before = self.values.insert(path.clone(), value);
                    assert_eq!(before, None, "{path} was finished twice");
                }
                _ => {}
            }
        }
        self.act(step.effects);
        for (ticket, answer) in step.answers {
            let Some((turn, text)) = self.asking.remove(&ticket) else { continue };
            match answer {
                Ok(Answer::Answered(question)) => {
                    let answer = question.answer.clone().expect("it is answered");
                    let first = self.answers.entry((turn, text)).or_insert_with(|| answer.clone());
                    assert_eq!(*first, answer, "{turn} was answered twice on '{text}'");
                    *self.seen.entry("answered").or_default() += 1;
                }
                Err(refusal) if refusal.kind == RefusalKind::Conflict => {
                    *self.seen.entry("withdrawn").or_default() += 1;
                }
                other => panic!("a worker that asked was told {other:?}"),
            }
        }
    }

    fn act(&mut self, effects: Vec<Effect>) {
        let mut interrupted = Vec::new();
        for effect in effects {
            match effect {
                Effect::Run(RunEffect::Start { run }) => self.starts(&run),
                Effect::Run(RunEffect::Answer(id, step)) => {
                    if !self.runs.answer(id, step) {
                        *self.seen.entry("sleep").or_default() += 1;
                        let run = self.fleet.run(id).expect("it is under way").clone();
                        self.starts(&run);
                    }
                }
                Effect::Run(RunEffect::Refuse { path, refusal, .. }) => panic!("{path} was refused: {refusal}"),
                Effect::Run(RunEffect::Drop(run)) => self.runs.drop(run),
                Effect::Work(WorkEffect::Interrupt(worker, turn)) => interrupted.push((worker, turn)),
                Effect::Work(_) | Effect::Event(_) => {}
            }
        }
        let inbox = &mut self.inbox;
        while self.runs.slice(self.world, &mut || 7, &mut |input| inbox.push_back(input)) {}
        for (worker, turn) in interrupted {
            self.ends(worker.name.clone(), turn, Outcome::Failed);
        }
    }

    fn starts(&mut self, run: &Run) {
        let (finished, inbox) = (self.finished(), &mut self.inbox);
        self.runs.start(self.world, run, &json!({}), finished, &mut |input| inbox.push_back(input));
    }

    fn finished(&self) -> Vec<FinishedStep> {
        let finished = self.values.iter().map(|(path, value)| {
            let step = Arc::clone(&self.steps[path]);
            FinishedStep { step, value: Arc::clone(value) }
        });
        let mut finished: Vec<FinishedStep> = finished.collect();
        finished.sort_by_key(|done| done.step.seq);
        finished
    }

    fn ends(&mut self, worker: crate::fleet::ids::WorkerName, turn: TurnId, outcome: Outcome) {
        let finish = Box::new(Finish { text: format!("of {turn}").into(), ..Finish::without_reply(outcome, "") });
        self.input(Input::Seen(Sighting::Finished { worker, turn, finish, idle: true }));
    }

    fn at_work(&self) -> Vec<Arc<Turn>> {
        self.fleet.turns().filter(|turn| turn.state.is_in_flight()).cloned().collect()
    }

    fn asks(&mut self, turn: &Turn, text: &'static str) {
        let Some(name) = turn.worker.clone() else { return };
        let until = self.now + Span::days(9);
        // The ticket is known before the answer may come.
        self.asking.insert(Ticket(self.tickets + 1), (turn.id, text));
        self.call(
            Caller::Worker { name, via_child: false },
            Call::Ask { turn: Some(turn.id), text: text.into(), until, request: None },
        );
    }

    fn leader_answers(&mut self) {
        let about = self.fleet.messages().find_map(|message| match message.about {
            About::Question(id) => Some(id),
            _ => None,
        });
        if let Some(question) = about {
            *self.seen.entry("of the leader").or_default() += 1;
            let text = format!("the leader on {question}").into();
            self.call(Caller::Leader, Call::Answer { question: Asked::Question(question), text });
        }
    }

    fn dies(&mut self) {
        *self.seen.entry("death").or_default() += 1;
        self.runs = self.runs.anew();
        self.inbox.clear();
        self.asking.clear();
        self.fleet = Fleet::restore(self.fleet.saved(), Limits::default());
        let orders = self.fleet.resume(self.now);
        self.act(orders);
        self.input(Input::Team(Arc::clone(&self.world.team)));
    }

    fn heard(&mut self) {
        if let Some(input) = self.inbox.pop_front() {
            self.input(Input::Run(input));
        }
    }

    fn outcome(&self) -> Option<(RunOutcome, Option<String>)> {
        let run = self.fleet.run(RunId(1))?;
        run.outcome.map(|outcome| (outcome, run.why.clone()))
    }
}

#[test]
fn whoever_dies_and_whenever_each_question_has_one_answer_and_the_run_ends() {
    let sources = Arc::new(Sources::from_files([("r.lua", RECIPE)]));
    let world = World::load(sources, Generation::default(), Arc::default()).expect("loads");
    let mut seen = BTreeMap::<&str, usize>::new();
    for seed in 1..=240u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        // Every other one has an executor that holds no run that waits: each answer begins it again from its journal.
        let mut house = House::new(&world, if seed % 2 == 0 { Runs::default() } else { Runs::holding(0) });
        for _ in 0..120 {
            let at_work = house.at_work();
            let turn = at_work.get(draw(at_work.len().max(1))).cloned();
            match (draw(12), turn) {
                (0..4, _) => house.heard(),
                (4..7, Some(turn)) => house.asks(&turn, ["x", "y", "z"][draw(3)]),
                (7, Some(turn)) => {
                    let outcome = [Outcome::Replied, Outcome::Failed][draw(2)];
                    house.ends(turn.worker.clone().expect("somebody has it"), turn.id, outcome);
                }
                (8, Some(turn)) if draw(3) == 0 => drop(house.call(Caller::Leader, Call::CancelTurn(turn.id))),
                (9, _) => house.leader_answers(),
                (10, _) => {
                    house.now = house.now + Span::seconds(2);
                    house.input(Input::Tick);
                }
                (11, _) if draw(2) == 0 => house.dies(),
                _ => {}
            }
        }
        for _ in 0..2_000 {
            match house.inbox.is_empty() {
                false => house.heard(),
                true if house.outcome().is_some() => break,
                true => {
                    house.now = house.now + Span::seconds(2);
                    house.input(Input::Tick);
                    house.leader_answers();
                    if let Some(turn) = house.at_work().first() {
                        house.ends(turn.worker.clone().expect("somebody has it"), turn.id, Outcome::Replied);
                    }
                }
            }
        }
        assert_eq!(house.outcome(), Some((RunOutcome::Done, None)), "seed {seed}");
        assert!(house.asking.is_empty(), "seed {seed}: {:?} still wait", house.asking);
        for (what, n) in house.seen {
            *seen.entry(what).or_default() += n;
        }
    }
    assert!(seen.len() == 5 && seen.values().all(|n| *n > 40), "each must be seen: {seen:?}");
}
