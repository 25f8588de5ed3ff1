//! A fleet on a stage: a clock in the hand, a small charter, and short words for what callers and launchers do.
//!
//! For the tests of `fleet/` only; no engine, no store, no process comes in here.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::envelope::{Envelope, Exit, Finish};
use fleetd::fleet::ids::{MessageId, RunId, Ticket, TurnId};
use fleetd::fleet::input::{Answer, Call, Effect, Input, RunCall, SendCall, Sighting, Step, WorkEffect};
use fleetd::fleet::record::Record;
use fleetd::fleet::refusal::{Refusal, RefusalKind};
use fleetd::fleet::run::{RunEffect, RunEnd, RunInput, RunOutcome, StepRequest, StepSend};
use fleetd::fleet::team::{Address, Generation, Profile, RecipeSpec, Role, Team};
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Outcome, Priority, Turn};
use fleetd::fleet::{Fleet, Limits};

/// A fleet on a stage.
pub struct Stage {
    pub fleet: Fleet,
    pub now: Time,
    pub last: Step,
    pub envelopes: BTreeMap<TurnId, Arc<Envelope>>,
    /// The last row of every turn, also of those that were collected.
    pub rows: BTreeMap<TurnId, Arc<Turn>>,
    limits: Limits,
    answers: BTreeMap<Ticket, Result<Answer, Refusal>>,
    tickets: u64,
}

impl Stage {
    /// Returns a fleet under a charter with the role `w` (processes, so many busy at once) and `s` (sessions, one).
    pub fn with(max_busy: u32) -> Stage {
        let mut stage = Stage::bare();
        stage.step(Input::Team(team(1, max_busy)));
        stage
    }

    /// Returns a fleet whose role `s` has so many sessions, with a changed profile and under changed limits.
    pub fn sessions(max_busy: u32, profile: impl FnOnce(&mut Profile), limits: impl FnOnce(&mut Limits)) -> Stage {
        let mut stage = Stage::bare();
        limits(&mut stage.limits);
        stage.fleet = Fleet::new(stage.limits.clone());
        stage.step(Input::Team(sessions(1, max_busy, profile)));
        stage
    }

    /// Returns a fleet without a charter.
    pub fn bare() -> Stage {
        Stage {
            limits: Limits::default(),
            fleet: Fleet::new(Limits::default()),
            now: Time(1_000_000),
            last: Step::default(),
            envelopes: BTreeMap::new(),
            rows: BTreeMap::new(),
            answers: BTreeMap::new(),
            tickets: 0,
        }
    }

    /// Takes one input.
    pub fn step(&mut self, input: Input) -> &Step {
        let step = self.fleet.step(self.now, input);
        for record in &step.records {
            match record {
                Record::Envelope(envelope) => {
                    let before = self.envelopes.insert(envelope.turn, envelope.clone());
                    assert_eq!(before, None, "a turn has one envelope");
                }
                Record::Turn(turn) => drop(self.rows.insert(turn.id, turn.clone())),
                _ => {}
            }
        }
        for (ticket, answer) in &step.answers {
            let before = self.answers.insert(*ticket, answer.clone());
            assert_eq!(before, None, "a ticket is answered once");
        }
        self.last = step;
        &self.last
    }

    /// Lets time pass and the timers fire.
    pub fn after(&mut self, span: Span) -> &Step {
        self.now = self.now + span;
        self.step(Input::Tick)
    }

    /// Makes a call that may wait; its answer is taken by `told`.
    pub fn calls(&mut self, caller: Caller, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.step(Input::Call { ticket, caller, call });
        ticket
    }

    /// Returns what a waiting caller was told, if anything yet.
    pub fn told(&mut self, ticket: Ticket) -> Option<Result<Answer, Refusal>> {
        self.answers.remove(&ticket)
    }

    /// Makes a call as the leader that is answered at once.
    pub fn leader(&mut self, call: Call) -> Result<Answer, Refusal> {
        self.at_once(Caller::Leader, call)
    }

    /// Makes a call as the operator that is answered at once.
    pub fn operator(&mut self, call: Call) -> Result<Answer, Refusal> {
        self.at_once(Caller::Operator, call)
    }

    fn at_once(&mut self, caller: Caller, call: Call) -> Result<Answer, Refusal> {
        let ticket = self.calls(caller, call);
        self.told(ticket).expect("this call is answered at once")
    }

    /// Waits for a turn as the leader, a minute at most.
    pub fn leader_waits(&mut self, turn: TurnId) -> Ticket {
        let until = self.now + Span::minutes(1);
        self.calls(Caller::Leader, Call::WaitTurn { turn, until })
    }

    // === sends ===

    /// Sends to a role or a worker as the leader.
    pub fn send(&mut self, to: &str) -> TurnId {
        self.sends(send_to(to)).expect("it is accepted")
    }

    /// Sends as the leader, and may be refused.
    pub fn sends(&mut self, send: SendCall) -> Result<TurnId, Refusal> {
        self.leader(Call::Send(send)).map(|answer| match answer {
            Answer::Accepted(turn) => turn.id,
            other => panic!("a send was answered with {other:?}"),
        })
    }

    // === launchers ===

    pub fn seen(&mut self, sighting: Sighting) -> &Step {
        self.step(Input::Seen(sighting))
    }

    pub fn up(&mut self, worker: &str) -> &Step {
        self.seen(Sighting::Up { worker: worker.into() })
    }

    pub fn gone(&mut self, worker: &str) -> &Step {
        let session = self.fleet.worker(&worker.into()).map_or(0, |worker| worker.session);
        self.seen(Sighting::Gone { worker: worker.into(), session, why: "killed".to_string() })
    }

    /// The worker that has a turn took it.
    pub fn taken(&mut self, turn: TurnId) -> &Step {
        let worker = self.row(turn).worker.clone().expect("somebody has it");
        self.seen(Sighting::Taken { worker, turn, process: None })
    }

    /// The worker that has a turn ended it and is idle.
    pub fn ends(&mut self, turn: TurnId, outcome: Outcome) -> &Step {
        let worker = self.row(turn).worker.clone().expect("somebody has it");
        self.seen(Sighting::Finished { worker, turn, finish: Box::new(finish(outcome)), idle: true })
    }

    pub fn replies(&mut self, turn: TurnId) -> &Step {
        self.ends(turn, Outcome::Replied)
    }

    // === looking ===

    /// Returns the last row of a turn, also of a collected one.
    pub fn row(&self, turn: TurnId) -> Arc<Turn> {
        self.rows.get(&turn).cloned().expect("the turn was accepted")
    }

    /// Returns the states that a turn went through.
    pub fn receipt(&self, turn: TurnId) -> String {
        let row = self.row(turn);
        let words = row.receipt.iter().map(|stamp| format!("{:?}", stamp.state).to_lowercase());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns why a turn waits.
    pub fn waits(&self, turn: TurnId) -> String {
        self.fleet.why_it_waits(&self.row(turn), self.now).unwrap_or_default()
    }

    /// Returns the state of a worker in a word, or `none`.
    pub fn worker(&self, name: &str) -> &str {
        self.fleet.worker(&name.into()).map_or("none", |worker| worker.state.word())
    }

    /// Returns the last step's orders in words.
    pub fn orders(&self) -> Vec<String> {
        orders(&self.last.effects)
    }

    /// Returns the turns handed in the last step.
    pub fn handed(&self) -> Vec<TurnId> {
        let handed = self.last.effects.iter().filter_map(|effect| match effect {
            Effect::Work(WorkEffect::Hand(_, turn)) => Some(turn.id),
            _ => None,
        });
        handed.collect()
    }

    /// Returns what lies in the leader's mailbox after a cursor.
    pub fn mail(&mut self, after: Option<MessageId>, limit: usize) -> (Vec<MessageId>, bool) {
        match self.leader(Call::Poll { after, limit, until: None }) {
            Ok(Answer::Mail { messages, more }) => (messages.iter().map(|message| message.id).collect(), more),
            other => panic!("a poll was answered with {other:?}"),
        }
    }

    /// The daemon dies and comes back with what was recorded; returns the orders that it gives again.
    pub fn restart(&mut self) -> Vec<String> {
        let (resumed, team) = self.restart_before_charter();
        if let Some(team) = team {
            self.step(Input::Team(team));
        }
        resumed
    }

    /// The same, and its charter is not read yet: that is returned, too.
    pub fn restart_before_charter(&mut self) -> (Vec<String>, Option<Arc<Team>>) {
        let team = self.fleet.team().cloned();
        self.fleet = Fleet::restore(self.fleet.saved(), self.limits.clone());
        (orders(&self.fleet.resume(self.now)), team)
    }
}

// === runs, played by hand ===

impl Stage {
    /// Starts a run as the leader.
    pub fn runs(&mut self, deadline: Option<Span>) -> RunId {
        let call = RunCall { recipe: "r".into(), job: Arc::new(serde_json::json!({})), deadline, key: None };
        match self.leader(Call::StartRun(call)) {
            Ok(Answer::Started(run)) => run.id,
            other => panic!("a start was answered with {other:?}"),
        }
    }

    /// The code of a run reaches a step.
    pub fn reach(&mut self, run: RunId, path: &str, request: StepRequest) -> &Step {
        self.step(Input::Run(RunInput::Step {
            run,
            path: path.into(),
            verb: "verb",
            hash: path.to_string(),
            what: "the step".to_string(),
            at: "r.lua:2".to_string(),
            request: Box::new(request),
        }))
    }

    /// The code of a run ends.
    pub fn code_ends(&mut self, run: RunId, outcome: RunOutcome, value: serde_json::Value) -> &Step {
        self.step(Input::Run(RunInput::Ended { run, end: RunEnd { outcome, why: None, value } }))
    }

    /// Returns what steps of a run the last step answered, and with what.
    pub fn answered(&self, run: RunId) -> Vec<(String, serde_json::Value)> {
        let answers = self.last.effects.iter().filter_map(|effect| match effect {
            Effect::Run(RunEffect::Answer(of, done)) if *of == run => {
                Some((done.step.path.to_string(), (*done.value).clone()))
            }
            _ => None,
        });
        answers.collect()
    }

    /// Returns the value with which a run ended in the last step.
    pub fn value_of(&self, run: RunId) -> Option<serde_json::Value> {
        self.last.records.iter().find_map(|record| match record {
            Record::RunValue(of, value) if *of == run => Some((**value).clone()),
            _ => None,
        })
    }
}

/// Returns a send of a run to a role.
pub fn part(to: &str, deadline: Option<Span>, retries: u32) -> StepRequest {
    StepRequest::Send(StepSend {
        to: Some(Address::Role(to.into())),
        because: None,
        prompt: "part".into(),
        kind: None,
        files: Vec::new(),
        routed: None,
        deadline,
        timeout: None,
        retries,
        priority: Priority::Normal,
        shape: None,
        on_ask: false,
    })
}

/// Returns orders in words.
pub fn orders(effects: &[Effect]) -> Vec<String> {
    let words = effects.iter().map(|effect| match effect {
        Effect::Work(WorkEffect::Start(worker)) => format!("start {}", worker.name),
        Effect::Work(WorkEffect::Hand(worker, turn)) => format!("hand {} to {}", turn.id, worker.name),
        Effect::Work(WorkEffect::Interrupt(worker, turn)) => format!("interrupt {turn} at {}", worker.name),
        Effect::Work(WorkEffect::Stop(worker)) => format!("stop {}", worker.name),
        Effect::Work(WorkEffect::Watch(worker)) => format!("watch {}", worker.name),
        Effect::Work(WorkEffect::Replied(worker, turn)) => format!("{} replied to {turn}", worker.name),
        Effect::Work(WorkEffect::Nudge(leader, n)) => format!("tell process {} of {n}", leader.pid),
        Effect::Work(WorkEffect::Forget(turn)) => format!("forget {turn}"),
        Effect::Work(WorkEffect::Pause(true)) => "type nothing".to_string(),
        Effect::Work(WorkEffect::Pause(false)) => "type again".to_string(),
        Effect::Work(WorkEffect::Memory) => "read the memory".to_string(),
        Effect::Run(order) => match order {
            fleetd::fleet::run::RunEffect::Start { run } => format!("start {}", run.id),
            fleetd::fleet::run::RunEffect::Answer(run, step) => format!("answer {} of {run}", step.step.path),
            fleetd::fleet::run::RunEffect::Refuse { path, refusal, .. } => {
                format!("refuse {path}: {}", refusal.message)
            }
            fleetd::fleet::run::RunEffect::Drop(run) => format!("drop {run}"),
        },
        Effect::Event(event) => format!("event {}", event.word()),
    });
    words.collect()
}

/// Returns a plain send; an address with a number at its end is a worker's.
pub fn send_to(to: &str) -> SendCall {
    let worker = to.rsplit('-').next().is_some_and(|end| end.parse::<u32>().is_ok());
    SendCall {
        to: if worker { Address::Worker(to.into()) } else { Address::Role(to.into()) },
        because: None,
        routed: None,
        prompt: "do it".into(),
        kind: None,
        files: Vec::new(),
        priority: Priority::Normal,
        shape: None,
        deadline: None,
        key: None,
    }
}

/// Returns an ending as a launcher reports it.
pub fn finish(outcome: Outcome) -> Finish {
    let ok = outcome == Outcome::Replied;
    Finish {
        text: "done".into(),
        why: (!ok).then(|| "exit 1".to_string()),
        exit: Some(Exit::Code(i32::from(!ok))),
        ..Finish::without_reply(outcome, "")
    }
}

/// Returns the charter of a generation with a cap for role `w`; role `s` has sessions and a cap of one.
pub fn team(number: u64, max_busy: u32) -> Arc<Team> {
    let mut team = Team { generation: Generation { number, hash: format!("{number:064x}") }, ..Team::default() };
    for (role, launcher, max_busy) in [("w", "exec", max_busy), ("s", "typed", 1)] {
        let profile = Profile {
            name: format!("p{role}").into(),
            about: None,
            launcher: launcher.to_string(),
            command: vec!["cat".to_string()],
            cwd: None,
            env: BTreeMap::new(),
            timeout: Some(Span::seconds(30)),
            idle_ttl: None,
            context_cap: None,
            restarts: None,
            grants: Default::default(),
            typing: None,
            model: None,
            endpoint: None,
            plan: None,
            worktree: None,
        };
        let role = Role {
            name: role.into(),
            about: None,
            profiles: vec![profile.name.clone()],
            max_busy,
            max_workers: None,
            max_waiting: 3,
            hours: None,
        };
        team.profiles.insert(profile.name.clone(), profile);
        team.roles.insert(role.name.clone(), role);
    }
    let recipe = RecipeSpec {
        name: "r".into(),
        about: None,
        input: serde_json::Value::Null,
        deadline: None,
        budget: None,
        at: "r.lua:1".into(),
    };
    team.recipes.insert(recipe.name.clone(), recipe);
    Arc::new(team)
}

/// Returns the charter of a generation whose role `s` has so many sessions, of a changed profile.
pub fn sessions(number: u64, max_busy: u32, profile: impl FnOnce(&mut Profile)) -> Arc<Team> {
    let mut team = (*team(number, 1)).clone();
    profile(team.profiles.get_mut(&"ps".into()).expect("it is there"));
    let role = team.roles.get_mut(&"s".into()).expect("it is there");
    (role.max_busy, role.max_waiting) = (max_busy, 100);
    Arc::new(team)
}

/// Returns the kind of a refusal.
pub fn kind<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> RefusalKind {
    answer.expect_err("it is refused").kind
}
