//! A store in memory that folds records as the real one does: rows are replaced, gone rows go, and what is read back
//! is what the next start would read.
//!
//! Texts are kept too, and writing one twice is noticed: prompts, envelopes and values are written once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleetd::fleet::budget::Budget;
use fleetd::fleet::caller::Sender;
use fleetd::fleet::envelope::Envelope;
use fleetd::fleet::ids::{Key, MessageId, QuestionId, RoleName, RunId, StepPath, TurnId, WorkerName};
use fleetd::fleet::mail::{Message, Question};
use fleetd::fleet::pause::Pause;
use fleetd::fleet::record::{KeyUse, Record, Saved};
use fleetd::fleet::run::{FinishedStep, Run, Step};
use fleetd::fleet::seat::Seat;
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::{Turn, TurnState};
use fleetd::fleet::worker::Worker;
use serde_json::Value;

/// What was committed.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    pub next: u64,
    pub generation: u64,
    pub turns: BTreeMap<TurnId, Arc<Turn>>,
    pub prompts: BTreeSet<TurnId>,
    pub envelopes: BTreeMap<TurnId, Arc<Envelope>>,
    pub workers: BTreeMap<WorkerName, Arc<Worker>>,
    pub messages: BTreeMap<MessageId, Arc<Message>>,
    pub questions: BTreeMap<QuestionId, Arc<Question>>,
    pub runs: BTreeMap<RunId, Arc<Run>>,
    pub jobs: BTreeMap<RunId, Arc<Value>>,
    pub run_values: BTreeSet<RunId>,
    pub steps: BTreeMap<(RunId, StepPath), Arc<Step>>,
    pub step_values: BTreeMap<(RunId, StepPath), Arc<Value>>,
    pub keys: BTreeMap<(Sender, Key), Arc<KeyUse>>,
    pub notes: BTreeMap<Arc<str>, Arc<Value>>,
    pub parked: BTreeMap<RoleName, Time>,
    pub seat: Option<Arc<Seat>>,
    pub drafts: BTreeMap<TurnId, Arc<str>>,
    pub budgets: BTreeMap<RoleName, Arc<Budget>>,
    pub paused: Option<Pause>,
    pub late: BTreeMap<TurnId, Option<Arc<Envelope>>>,
}

impl Journal {
    /// Writes one record; the error says what was written twice.
    pub fn write(&mut self, record: &Record) -> Result<(), String> {
        let once = |fresh: bool, what: String| if fresh { Ok(()) } else { Err(format!("{what} was written twice")) };
        match record {
            Record::Next(next) => self.next = *next,
            Record::Generation(number) => self.generation = *number,
            Record::Turn(turn) => drop(self.turns.insert(turn.id, turn.clone())),
            Record::Prompt(id, _) => return once(self.prompts.insert(*id), format!("the prompt of {id}")),
            Record::Envelope(envelope) => {
                let id = envelope.turn;
                let before = self.envelopes.insert(id, envelope.clone());
                return once(before.is_none(), format!("the envelope of {id}"));
            }
            Record::Worker(worker) => drop(self.workers.insert(worker.name.clone(), worker.clone())),
            Record::WorkerGone(name) => drop(self.workers.remove(name)),
            Record::Message(message) => drop(self.messages.insert(message.id, message.clone())),
            Record::MessageGone(id) => drop(self.messages.remove(id)),
            Record::Question(question) => drop(self.questions.insert(question.id, question.clone())),
            Record::QuestionGone(id) => drop(self.questions.remove(id)),
            Record::Run(run) => drop(self.runs.insert(run.id, run.clone())),
            Record::Job(id, job) => {
                let before = self.jobs.insert(*id, job.clone());
                return once(before.is_none(), format!("the job of {id}"));
            }
            Record::RunValue(id, _) => return once(self.run_values.insert(*id), format!("the value of {id}")),
            Record::Step(step) => drop(self.steps.insert((step.run, step.path.clone()), step.clone())),
            Record::StepGone(run, path) => drop(self.steps.remove(&(*run, path.clone()))),
            Record::StepValue(run, path, value) => {
                let before = self.step_values.insert((*run, path.clone()), value.clone());
                return once(before.is_none(), format!("the value of step {path} of {run}"));
            }
            Record::Key(used) => drop(self.keys.insert((used.sender, used.key.clone()), used.clone())),
            Record::KeyGone(sender, key) => drop(self.keys.remove(&(*sender, key.clone()))),
            Record::Note(name, Some(value)) => drop(self.notes.insert(name.clone(), value.clone())),
            Record::Note(name, None) => drop(self.notes.remove(name)),
            Record::Parked(role, Some(until)) => drop(self.parked.insert(role.clone(), *until)),
            Record::Parked(role, None) => drop(self.parked.remove(role)),
            Record::Seat(seat) => self.seat = seat.clone(),
            Record::Draft(turn, Some(text)) => drop(self.drafts.insert(*turn, text.clone())),
            Record::Draft(turn, None) => drop(self.drafts.remove(turn)),
            Record::Budget(role, Some(budget)) => drop(self.budgets.insert(role.clone(), budget.clone())),
            Record::Budget(role, None) => drop(self.budgets.remove(role)),
            Record::Paused(pause) => self.paused = pause.clone(),
            Record::Late(id, late) => {
                let before = self.late.insert(*id, late.clone());
                return once(before.is_none() || late.is_none(), format!("the late reply to {id}"));
            }
            Record::Event(_) => {}
        }
        Ok(())
    }

    /// Returns what the next start reads.
    pub fn saved(&self) -> Saved {
        let open = |run: &RunId| self.runs.get(run).is_some_and(|run| run.outcome.is_none());
        let turns = self.turns.values().filter(|turn| turn.state != TurnState::Collected);
        let runs = self.runs.values().filter(|run| !run.collected);
        Saved {
            next: self.next.max(1),
            generation: self.generation,
            turns: turns.map(|turn| (**turn).clone()).collect(),
            workers: self.workers.values().map(|worker| (**worker).clone()).collect(),
            messages: self.messages.values().map(|message| (**message).clone()).collect(),
            questions: self.questions.values().map(|question| (**question).clone()).collect(),
            runs: runs.map(|run| (**run).clone()).collect(),
            steps: self.steps.values().filter(|step| open(&step.run)).map(|step| (**step).clone()).collect(),
            keys: self.keys.values().map(|used| (**used).clone()).collect(),
            notes: self.notes.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            parked: self.parked.iter().map(|(role, until)| (role.clone(), *until)).collect(),
            budgets: self.budgets.iter().map(|(role, budget)| (role.clone(), (**budget).clone())).collect(),
            paused: self.paused.clone(),
            seat: self.seat.as_deref().cloned(),
            drafts: self.drafts.iter().map(|(turn, text)| (*turn, text.clone())).collect(),
        }
    }

    /// Returns the finished steps of a run with their values, in the order in which they were finished.
    pub fn finished_steps(&self, run: RunId) -> Vec<FinishedStep> {
        let of_run = self.steps.range((run, StepPath::from(""))..).take_while(|((of, _), _)| *of == run);
        let finished = of_run.filter(|(_, step)| step.seq.is_some());
        let mut steps: Vec<FinishedStep> = finished
            .filter_map(|(key, step)| {
                Some(FinishedStep { step: step.clone(), value: self.step_values.get(key)?.clone() })
            })
            .collect();
        steps.sort_by_key(|finished| finished.step.seq);
        steps
    }
}
