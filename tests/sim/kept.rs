//! A step costs what it touches, and not what lies in mailboxes and queues: a fleet in which nothing is kept is timed
//! beside one in which very much is. Only what walks through all of it is found, not what is a little slow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{RunId, Ticket, TurnId};
use fleetd::fleet::input::{Answer, Call, Effect, Input, RunCall, SendCall, Sighting, Step, WorkEffect};
use fleetd::fleet::run::{RunEnd, RunInput, RunOutcome, StepRequest, StepSend};
use fleetd::fleet::team::Address;
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::Priority;
use fleetd::fleet::{Fleet, Limits};
use serde_json::Value;

use super::charter::team;
use super::host::finish_of;
use super::schedule::CharterPlan;

/// How much is kept of each kind.
const KEPT: usize = 30_000;

/// How often each thing is done; the fastest counts, whatever else the machine does.
const TIMES: usize = 40;

/// Returns what takes far longer where much is kept, with both times.
pub fn slower() -> Vec<String> {
    let (empty, full) = (timed(0), timed(KEPT));
    let pairs = empty.into_iter().zip(full);
    let slow = pairs.filter(|((_, empty), (_, full))| *full > 20 * (*empty).max(Duration::from_micros(10)));
    slow.map(|((what, empty), (_, full))| format!("{what}: {empty:?}, where much is kept {full:?}")).collect()
}

fn timed(kept: usize) -> Vec<(&'static str, Duration)> {
    let mut kept = House::with(kept);
    let mut all = vec![
        ("a message and its reply", kept.fastest(|_| (), |house, ()| _ = house.replied())),
        (
            "a look into the mailbox",
            kept.fastest(|_| (), |house, ()| drop(house.call(Call::Poll { after: None, limit: 10, until: None }))),
        ),
        ("a reply that is collected", kept.fastest(House::replied, House::collected)),
        (
            "a wait",
            kept.fastest(House::replied, |house, turn| {
                let until = house.now + Span::seconds(9);
                house.call(Call::WaitTurn { turn, until });
            }),
        ),
        ("the end of a run", kept.fastest(House::run_with_a_turn, House::run_ends)),
        ("a snapshot", kept.fastest(|_| (), |house, ()| drop(house.fleet.clone()))),
    ];
    kept.call(Call::Pause);
    for _ in 0..kept.kept {
        kept.send(Priority::Normal);
    }
    all.push((
        "a message where many wait",
        kept.fastest(
            |_| (),
            |house, ()| {
                let turn = house.send(Priority::Normal);
                let turn = house.fleet.turn(turn).expect("it was accepted").clone();
                house.fleet.view_turn(&turn, house.now);
            },
        ),
    ));
    all.push((
        "one that is taken back where many wait",
        kept.fastest(
            |house| house.send(Priority::Normal),
            |house, turn| {
                house.call(Call::CancelTurn(turn));
            },
        ),
    ));
    all.push((
        "a run that is cancelled where many wait",
        kept.fastest(House::run_with_a_turn, |house, run| {
            house.call(Call::CancelRun(run));
        }),
    ));
    // No worker is free, and each message is a moment at which one could have become so.
    kept.call(Call::Unpause);
    for _ in 0..kept.kept {
        kept.send(Priority::Now);
    }
    all.push(("an urgent message where many wait", kept.fastest(|_| (), |house, ()| _ = house.send(Priority::Now))));
    all
}

struct House {
    fleet: Fleet,
    now: Time,
    tickets: u64,
    kept: usize,
}

impl House {
    fn with(kept: usize) -> House {
        let plan = CharterPlan { w_busy: 3, s_busy: 1, swapped: false, narrow: false, changed: false, flipped: false };
        let mut team = (*team(plan, 1)).clone();
        team.handlers.clear();
        team.roles.get_mut(&"w".into()).expect("it is there").max_waiting = u32::MAX;
        let mut house = House { fleet: Fleet::new(Limits::default()), now: Time(1_000_000), tickets: 0, kept };
        house.step(Input::Team(Arc::new(team)));
        for n in 0..kept {
            house.replied();
            if n % 100 == 0 {
                let run = house.run_with_a_turn();
                house.run_ends(run);
            }
        }
        house
    }

    fn step(&mut self, input: Input) -> Step {
        self.now.0 += 1;
        self.fleet.step(self.now, input)
    }

    fn call(&mut self, call: Call) -> Answer {
        self.tickets += 1;
        let step = self.step(Input::Call { ticket: Ticket(self.tickets), caller: Caller::Operator, call });
        let answer = step.answers.into_iter().next().expect("it is answered at once").1;
        answer.expect("it is not refused")
    }

    fn send(&mut self, priority: Priority) -> TurnId {
        let send = SendCall {
            to: Address::Role("w".into()),
            because: None,
            routed: None,
            prompt: "do it".into(),
            kind: None,
            files: Vec::new(),
            priority,
            shape: None,
            deadline: Some(Span::days(1)),
            key: None,
        };
        match self.call(Call::Send(send)) {
            Answer::Accepted(turn) => turn.id,
            other => panic!("a send was answered with {other:?}"),
        }
    }

    fn replied(&mut self) -> TurnId {
        let turn = self.send(Priority::Normal);
        let worker = self.fleet.turn(turn).and_then(|turn| turn.worker.clone()).expect("a worker is free");
        let finish = Box::new(finish_of(turn, true));
        self.step(Input::Seen(Sighting::Finished { worker, turn, finish, idle: true }));
        turn
    }

    fn collected(&mut self, turn: TurnId) {
        let message = self.fleet.turn(turn).and_then(|turn| turn.message).expect("it waits");
        self.call(Call::Ack(vec![message]));
    }

    fn run_with_a_turn(&mut self) -> RunId {
        let call = RunCall { recipe: "program".into(), job: Arc::new(Value::Null), deadline: None, key: None };
        let Answer::Started(run) = self.call(Call::StartRun(call)) else { panic!("a run is started") };
        let send = StepSend {
            to: Some(Address::Role("w".into())),
            because: None,
            prompt: "part".into(),
            kind: None,
            files: Vec::new(),
            routed: None,
            deadline: None,
            timeout: None,
            retries: 0,
            priority: Priority::Normal,
            shape: None,
            on_ask: false,
        };
        self.step(Input::Run(RunInput::Step {
            run: run.id,
            path: "send#1".into(),
            verb: "send",
            hash: "0".into(),
            what: "a part".into(),
            at: "program.lua:1".into(),
            request: Box::new(StepRequest::Send(send)),
        }));
        run.id
    }

    /// Its turn is open by now, so its end ends that too; its worker is told, and is free again.
    fn run_ends(&mut self, run: RunId) {
        let end = RunEnd { outcome: RunOutcome::Done, why: None, value: Value::Null };
        let step = self.step(Input::Run(RunInput::Ended { run, end }));
        let told = step.effects.into_iter().find_map(|effect| match effect {
            Effect::Work(WorkEffect::Interrupt(worker, _)) => Some(worker.name.clone()),
            _ => None,
        });
        if let Some(worker) = told {
            self.step(Input::Seen(Sighting::Idle { worker }));
        }
    }

    fn fastest<T>(&mut self, ready: impl Fn(&mut House) -> T, act: impl Fn(&mut House, T)) -> Duration {
        let once = |house: &mut House| {
            let with = ready(house);
            let began = Instant::now();
            act(house, with);
            began.elapsed()
        };
        (0..TIMES).map(|_| once(self)).min().unwrap_or_default()
    }
}
