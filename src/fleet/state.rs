//! The fleet: everything that is true, in persistent maps.
//!
//! A clone costs nothing, so the engine can publish one after each commit and fall back to the one before when a
//! commit fails. Rows are changed through `put_*`, which records them: what is not recorded is not durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet, Vector};
use serde_json::Value;

use super::budget::Budget;
use super::caller::Sender;
use super::ids::{Key, MessageId, QuestionId, RoleName, RunId, StepPath, Ticket, TurnId, WorkerName};
use super::input::{Answer, Effect, Input, Step};
use super::load::Lately;
use super::mail::{Message, Question};
use super::nudge::Nudge;
use super::pause::Pause;
use super::queue::Queue;
use super::record::{Event, KeyUse, Record};
use super::refusal::Refusal;
use super::run::{Run, Step as RunStep};
use super::seat::Seat;
use super::starts::Starts;
use super::team::Team;
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::Turn;
use super::waits::{Subject, Wait};
use super::worker::{Worker, WorkerState};

/// Notes of a charter at most; each is bounded by the size of a step's value.
pub const MOST_NOTES: usize = 1_000;

/// Bounds that the operator sets; everything else is fixed here.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Living workers at most.
    pub max_workers: usize,
    /// Length of a prompt, a question or an answer at most, in bytes.
    pub max_prompt_bytes: usize,
    /// Runs under way at most.
    pub max_runs: usize,
    /// Steps of one run at most.
    pub max_steps: usize,
    /// Programs that commands of runs may start.
    pub commands: Vec<String>,
    /// How long keys are known and shown replies are kept.
    pub key_ttl: Span,
    /// How long what happened while nobody looked may take to be reported after a restart, before a deadline that passed
    /// meanwhile ends a turn under way.
    pub evidence: Span,
    /// How long an interrupted worker may take to become idle before it is stopped.
    pub grace: Span,
    /// How long a worker that started by itself stays idle, unless its profile says otherwise.
    pub idle_ttl: Span,
    /// How long a seat that is held by a token stays taken without being used.
    pub seat_ttl: Span,
    /// How long after the start of a session the next one is started at the earliest.
    pub start_stagger: Span,
    /// Bytes of memory that must be available when a session is started; 0 = nobody looks.
    pub memory_floor: u64,
    /// How many workers may be busy on an endpoint, by its name; none = as many as one likes.
    pub endpoints: BTreeMap<String, Option<u32>>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_workers: 64,
            max_prompt_bytes: 1 << 20,
            max_runs: 10_000,
            max_steps: 20_000,
            commands: Vec::new(),
            key_ttl: Span::days(7),
            evidence: Span::seconds(5),
            grace: Span::seconds(10),
            idle_ttl: Span::minutes(5),
            seat_ttl: Span::minutes(10),
            start_stagger: Span(500),
            memory_floor: 0,
            endpoints: BTreeMap::new(),
        }
    }
}

/// Everything that is true of one fleet.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(super) limits: Arc<Limits>,
    pub(super) team: Option<Arc<Team>>,
    pub(super) next: u64,
    pub(super) turns: OrdMap<TurnId, Arc<Turn>>,
    pub(super) queues: OrdMap<RoleName, Queue>,
    /// When a role was last handed something: who waited longest for a shared endpoint goes first. Not recorded.
    pub(super) served: OrdMap<RoleName, u64>,
    pub(super) workers: OrdMap<WorkerName, Arc<Worker>>,
    pub(super) messages: OrdMap<(Sender, MessageId), Arc<Message>>,
    pub(super) questions: OrdMap<QuestionId, Arc<Question>>,
    pub(super) runs: OrdMap<RunId, Arc<Run>>,
    /// Those that have not ended, each behind the run directly above it.
    pub(super) open_runs: OrdSet<(Option<RunId>, RunId)>,
    pub(super) steps: OrdMap<(RunId, StepPath), Arc<RunStep>>,
    pub(super) keys: OrdMap<(Sender, Key), Arc<KeyUse>>,
    pub(super) notes: OrdMap<Arc<str>, Arc<Value>>,
    pub(super) waits: OrdMap<Ticket, Wait>,
    pub(super) watched: OrdSet<(Subject, Ticket)>,
    pub(super) timers: OrdSet<(Time, Timer)>,
    pub(super) idle_timed: OrdSet<WorkerName>,
    pub(super) resting: OrdMap<WorkerName, Time>,
    pub(super) parked: OrdMap<RoleName, Time>,
    pub(super) budgets: OrdMap<RoleName, Arc<Budget>>,
    pub(super) paused: Option<Pause>,
    /// Sessions that wait for their start, in the order in which they were wanted.
    pub(super) to_start: OrdSet<(u64, WorkerName)>,
    /// Workers on their way to a fresh session.
    pub(super) ending: OrdSet<WorkerName>,
    pub(super) starts: Starts,
    pub(super) acted: Vector<Time>,
    pub(super) lately: Lately,
    pub(super) draining: bool,
    pub(super) seat: Option<Arc<Seat>>,
    pub(super) drafts: OrdMap<TurnId, Arc<str>>,
    /// What lies in the leader's mailbox and was shown to nobody yet.
    pub(super) unread: OrdSet<MessageId>,
    pub(super) nudge: Nudge,
    /// Which turn asks again for an earlier one.
    pub(super) amended: OrdMap<TurnId, TurnId>,
    /// How far the clock on the wall is ahead, in milliseconds; told anew after each start.
    pub(super) wall_ahead: i64,
}

/// What one step has come to so far, and the moment it happens at.
#[derive(Debug)]
pub(super) struct Cx {
    pub now: Time,
    pub out: Step,
}

impl Cx {
    pub fn record(&mut self, record: Record) {
        self.out.records.push(record);
    }

    pub fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    pub fn answer(&mut self, ticket: Ticket, answer: Result<Answer, Refusal>) {
        self.out.answers.push((ticket, answer));
    }

    pub fn event(&mut self, event: Event) {
        self.out.records.push(Record::Event(event));
    }
}

impl Fleet {
    /// Returns a fleet in which nothing has happened yet.
    pub fn new(limits: Limits) -> Fleet {
        Fleet {
            limits: Arc::new(limits),
            team: None,
            next: 1,
            turns: OrdMap::new(),
            queues: OrdMap::new(),
            served: OrdMap::new(),
            workers: OrdMap::new(),
            messages: OrdMap::new(),
            questions: OrdMap::new(),
            runs: OrdMap::new(),
            open_runs: OrdSet::new(),
            steps: OrdMap::new(),
            keys: OrdMap::new(),
            notes: OrdMap::new(),
            waits: OrdMap::new(),
            watched: OrdSet::new(),
            timers: OrdSet::new(),
            idle_timed: OrdSet::new(),
            resting: OrdMap::new(),
            parked: OrdMap::new(),
            budgets: OrdMap::new(),
            paused: None,
            to_start: OrdSet::new(),
            ending: OrdSet::new(),
            starts: Starts::default(),
            acted: Vector::new(),
            lately: Lately::default(),
            draining: false,
            seat: None,
            drafts: OrdMap::new(),
            unread: OrdSet::new(),
            nudge: Nudge::default(),
            amended: OrdMap::new(),
            wall_ahead: 0,
        }
    }

    /// Takes one input at one moment and returns what must be stored, and what may be done and told after that.
    pub fn step(&mut self, now: Time, input: Input) -> Step {
        let mut cx = Cx { now, out: Step::default() };
        let next = self.next;
        // What the last daemon left is put right before anything else: its evidence is not heard yet, so what is overdue
        // waits for it, and nothing is handed out.
        let is_before_all = matches!(input, Input::Reap);
        if !is_before_all {
            self.fire_timers(&mut cx);
        }
        match input {
            Input::Call { ticket, caller, call } => self.call(&mut cx, ticket, &caller, call),
            Input::Leave(ticket) => self.leave(ticket),
            Input::Seen(sighting) => self.seen(&mut cx, sighting),
            Input::Team(team) => self.take_team(&mut cx, team),
            Input::Run(input) => self.run_input(&mut cx, input),
            Input::Act(action) => self.act(&mut cx, action),
            Input::Tick => {}
            Input::Wall(ahead) => self.wall_moved(ahead),
            Input::Drain => self.draining = true,
            Input::SeatGone(process) => self.seat_gone(&mut cx, process),
            Input::Reap => self.reap(&mut cx),
        }
        if !is_before_all {
            self.dispatch(&mut cx);
        }
        self.time_nudge(now);
        if self.next != next {
            cx.record(Record::Next(self.next));
        }
        cx.out
    }

    /// Returns when the next `Tick` is due, if anything is timed at all.
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.get_min().map(|(at, _)| *at)
    }

    /// Returns a record that changes nothing: what is stored already, to see whether the store takes anything.
    pub fn probe(&self) -> Record {
        Record::Next(self.next)
    }

    /// Returns the charter in force.
    pub fn team(&self) -> Option<&Arc<Team>> {
        self.team.as_ref()
    }

    // === rows ===

    pub(super) fn fresh(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    pub(super) fn put_turn(&mut self, cx: &mut Cx, turn: Turn) -> Arc<Turn> {
        let turn = Arc::new(turn);
        self.turns.insert(turn.id, turn.clone());
        cx.record(Record::Turn(turn.clone()));
        turn
    }

    pub(super) fn put_worker(&mut self, cx: &mut Cx, worker: Worker) -> Arc<Worker> {
        let worker = Arc::new(worker);
        self.tell_worker(cx, self.workers.get(&worker.name).map(|before| &**before), &worker);
        self.set_worker(worker.clone());
        cx.record(Record::Worker(worker.clone()));
        worker
    }

    /// Holds a worker's row, and what is found by it, without recording it.
    pub(super) fn set_worker(&mut self, worker: Arc<Worker>) {
        if let Some(before) = self.workers.get(&worker.name) {
            self.to_start.remove(&(before.session, before.name.clone()));
        }
        if worker.state == WorkerState::Starting && !worker.life.ordered {
            self.to_start.insert((worker.session, worker.name.clone()));
        }
        match worker.life.is_ending() && worker.state != WorkerState::Gone {
            true => drop(self.ending.insert(worker.name.clone())),
            false => drop(self.ending.remove(&worker.name)),
        }
        self.workers.insert(worker.name.clone(), worker);
    }

    pub(super) fn put_run(&mut self, cx: &mut Cx, run: Run) -> Arc<Run> {
        let run = Arc::new(run);
        self.keep_run(run.clone());
        cx.record(Record::Run(run.clone()));
        run
    }

    /// Keeps a run's row, which is recorded already or will be.
    pub(super) fn keep_run(&mut self, run: Arc<Run>) {
        let place = (run.parent.as_ref().map(|at| at.run), run.id);
        match run.outcome {
            None => drop(self.open_runs.insert(place)),
            Some(_) => drop(self.open_runs.remove(&place)),
        }
        self.runs.insert(run.id, run);
    }

    pub(super) fn put_step(&mut self, cx: &mut Cx, step: RunStep) -> Arc<RunStep> {
        let step = Arc::new(step);
        self.steps.insert((step.run, step.path.clone()), step.clone());
        cx.record(Record::Step(step.clone()));
        step
    }

    pub(super) fn put_question(&mut self, cx: &mut Cx, question: Question) -> Arc<Question> {
        let question = Arc::new(question);
        self.questions.insert(question.id, question.clone());
        cx.record(Record::Question(question.clone()));
        question
    }

    pub(super) fn drop_question(&mut self, cx: &mut Cx, id: QuestionId) {
        if let Some(question) = self.questions.remove(&id) {
            cx.record(Record::QuestionGone(id));
            self.drop_message(cx, question.to, question.message);
        }
    }

    pub(super) fn put_message(&mut self, cx: &mut Cx, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        if message.to == Sender::Leader && !message.shown {
            self.unread.insert(message.id);
        } else {
            self.unread.remove(&message.id);
        }
        self.messages.insert((message.to, message.id), message.clone());
        cx.record(Record::Message(message.clone()));
        message
    }

    pub(super) fn drop_message(&mut self, cx: &mut Cx, to: Sender, id: MessageId) -> Option<Arc<Message>> {
        let message = self.messages.remove(&(to, id))?;
        self.unread.remove(&id);
        cx.record(Record::MessageGone(id));
        Some(message)
    }
}
