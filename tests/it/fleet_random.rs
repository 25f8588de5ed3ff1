//! Random inputs, as mad as they come: sightings that nobody could have seen, answers to nothing, clocks that stand.
//!
//! The simulation in `tests/sim.rs` plays whole worlds; here nothing has to make sense, and the rules hold anyway.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::hours::{Between, Days, Hours, WallClock, Window};
use fleetd::fleet::ids::{Key, MessageId, QuestionId, Ticket, TurnId};
use fleetd::fleet::input::{Asked, Call, Effect, Input, Keyed, SendCall, Sighting, Step, WorkEffect};
use fleetd::fleet::mail::About;
use fleetd::fleet::record::Record;
use fleetd::fleet::team::Team;
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Outcome, Priority, TurnState};
use fleetd::fleet::worker::{Worker, WorkerState};
use fleetd::fleet::{Fleet, Limits};
use proptest::prelude::*;

use super::fleet_stage::{finish, send_to, team};

fn sender() -> impl Strategy<Value = Caller> {
    prop_oneof![Just(Caller::Leader), Just(Caller::Operator)]
}

fn address() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("w"), 2 => Just("s"), 1 => Just("w-1"), 1 => Just("s-1"), 1 => Just("nobody")]
}

fn worker() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("w-1"), Just("w-2"), Just("w-3"), Just("s-1"), Just("s-2"), Just("x-9")]
}

fn id() -> impl Strategy<Value = u64> {
    1..40_u64
}

fn call() -> impl Strategy<Value = Call> {
    let until = (0..90_u64).prop_map(|seconds| Time(1_000_000 + seconds * 1000));
    let deadline = prop::option::weighted(0.3, (0..40_u64).prop_map(Span::seconds));
    let key = prop::option::weighted(0.3, ((0..3_u8), (0..2_u8)));
    prop_oneof![
        6 => (address(), any::<bool>(), deadline, key).prop_map(|(to, urgent, deadline, key)| Call::Send(SendCall {
            priority: if urgent { Priority::Now } else { Priority::Normal },
            deadline,
            key: key.map(|(key, body)| Keyed { key: Key::from(format!("k{key}")), body: format!("{to}{body}"), request: None }),
            ..send_to(to)
        })),
        1 => (id(), until.clone()).prop_map(|(id, until)| Call::WaitTurn { turn: TurnId(id), until }),
        1 => id().prop_map(|id| Call::CancelTurn(TurnId(id))),
        1 => (prop::option::of(id()), 1..5_usize, prop::option::of(until.clone())).prop_map(|(after, limit, until)| {
            Call::Poll { after: after.map(MessageId), limit, until }
        }),
        1 => prop::collection::vec(id().prop_map(MessageId), 1..4).prop_map(Call::Ack),
        1 => (id(), any::<bool>()).prop_map(|(id, by_turn)| {
            let question = if by_turn { Asked::Turn(TurnId(id)) } else { Asked::Question(QuestionId(id)) };
            Call::Answer { question, text: "yes".into() }
        }),
        1 => any::<bool>().prop_map(|s| Call::Spawn { role: if s { "s" } else { "w" }.into(), profile: None, key: None }),
        1 => any::<bool>().prop_map(|on| if on { Call::Pause } else { Call::Unpause }),
        1 => (worker(), any::<bool>()).prop_map(|(name, kill)| Call::Stop { worker: name.into(), kill }),
    ]
}

fn sighting() -> impl Strategy<Value = Sighting> {
    let outcome = prop_oneof![
        4 => Just(Outcome::Replied),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::TimedOut),
        1 => Just(Outcome::Unknown)
    ];
    prop_oneof![
        2 => worker().prop_map(|name| Sighting::Up { worker: name.into() }),
        1 => worker().prop_map(|name| Sighting::NotUp { worker: name.into(), why: "no".to_string() }),
        4 => (worker(), id()).prop_map(|(name, id)| {
            Sighting::Taken { worker: name.into(), turn: TurnId(id), process: None }
        }),
        6 => (worker(), id(), outcome, any::<bool>()).prop_map(|(name, id, outcome, idle)| Sighting::Finished {
            worker: name.into(),
            turn: TurnId(id),
            finish: Box::new(finish(outcome)),
            idle,
        }),
        2 => worker().prop_map(|name| Sighting::Idle { worker: name.into() }),
        1 => prop::option::of(0..1_000_u64).prop_map(|mib| Sighting::Memory { available: mib.map(|mib| mib << 20) }),
        1 => worker().prop_map(|name| Sighting::Blocked { worker: name.into(), why: "?".to_string() }),
        1 => (worker(), 0..40_u64).prop_map(|(name, session)| {
            let session = if name.starts_with('s') { session } else { 0 };
            Sighting::Gone { worker: name.into(), session, why: "dead".to_string() }
        }),
    ]
}

#[derive(Clone, Debug)]
enum Event {
    Call(Caller, Call),
    Ask(&'static str, u64),
    Leave(u64),
    Seen(Sighting),
    Charter(Caps),
    Pass(u64),
    /// The clock on the wall is so many milliseconds ahead.
    Wall(i64),
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (sender(), call()).prop_map(|(caller, call)| Event::Call(caller, call)),
        1 => (worker(), id()).prop_map(|(name, id)| Event::Ask(name, id)),
        1 => id().prop_map(Event::Leave),
        12 => sighting().prop_map(Event::Seen),
        1 => caps().prop_map(Event::Charter),
        2 => prop_oneof![3 => 0..20_000_u64, 1 => 0..(8 * 86_400_000_u64)].prop_map(Event::Pass),
        1 => (0..7_200_000_i64).prop_map(|ahead| Event::Wall(ahead - 3_600_000)),
        1 => Just(Event::Restart),
    ]
}

/// What a save changes.
#[derive(Clone, Copy, Debug)]
struct Caps {
    busy: u32,
    workers: Option<u32>,
    /// Whether role `w` is open only in the first 20 minutes of each hour.
    hours: bool,
}

fn caps() -> impl Strategy<Value = Caps> {
    (1..4_u32, prop::option::weighted(0.3, 1..4_u32), prop::bool::weighted(0.2))
        .prop_map(|(busy, workers, hours)| Caps { busy, workers, hours })
}

/// Both roles are on one endpoint, on which two may be busy.
fn capped(number: u64, caps: Caps) -> Arc<Team> {
    let mut team = (*team(number, caps.busy)).clone();
    for profile in team.profiles.values_mut() {
        profile.endpoint = Some("llm".into());
    }
    for role in team.roles.values_mut() {
        role.max_workers = caps.workers;
    }
    if caps.hours {
        let window = |hour: u16| Window {
            between: Some(Between { from: hour * 60, to: hour * 60 + 20 }),
            days: Days::ALL,
            max_busy: None,
        };
        let hours = Hours { windows: (0..24).map(window).collect(), closes: true, clock: WallClock::default() };
        team.roles.get_mut(&"w".into()).expect("it is there").hours = Some(Arc::new(hours));
    }
    Arc::new(team)
}

fn limits() -> Limits {
    let endpoints = BTreeMap::from([("llm".to_owned(), Some(2))]);
    Limits { memory_floor: 512 << 20, endpoints, ..Limits::default() }
}

/// The fleet with what must be remembered to judge it.
struct Judge {
    fleet: Fleet,
    now: Time,
    ahead: i64,
    generation: u64,
    caps: Caps,
    tickets: u64,
    answered: BTreeSet<Ticket>,
    accepted: BTreeSet<TurnId>,
    enveloped: BTreeSet<TurnId>,
    prompts: BTreeSet<TurnId>,
    shown: BTreeMap<MessageId, Time>,
    about: BTreeMap<MessageId, About>,
}

impl Judge {
    fn new() -> Judge {
        let mut judge = Judge {
            fleet: Fleet::new(limits()),
            now: Time(1_000_000),
            ahead: 0,
            generation: 0,
            caps: Caps { busy: 2, workers: None, hours: false },
            tickets: 0,
            answered: BTreeSet::new(),
            accepted: BTreeSet::new(),
            enveloped: BTreeSet::new(),
            prompts: BTreeSet::new(),
            shown: BTreeMap::new(),
            about: BTreeMap::new(),
        };
        judge.happen(Event::Charter(judge.caps));
        judge
    }

    fn happen(&mut self, event: Event) {
        let input = match event {
            Event::Call(caller, call) => self.call(caller, call),
            Event::Ask(name, id) => {
                let until = self.now + Span::seconds(20);
                let caller = Caller::Worker { name: name.into(), via_child: false };
                self.call(caller, Call::Ask { turn: Some(TurnId(id)), text: "which?".into(), until, request: None })
            }
            Event::Leave(ticket) => Input::Leave(Ticket(ticket)),
            Event::Seen(sighting) => Input::Seen(sighting),
            Event::Charter(caps) => {
                self.generation += 1;
                self.caps = caps;
                Input::Team(capped(self.generation, caps))
            }
            Event::Pass(ms) => {
                self.now.0 += ms;
                Input::Tick
            }
            Event::Wall(ahead) => {
                self.ahead = ahead;
                Input::Wall(ahead)
            }
            Event::Restart => {
                self.ahead = 0;
                let saved = self.fleet.saved();
                self.fleet = Fleet::restore(saved.clone(), limits());
                let mut again = self.fleet.saved();
                again.generation = saved.generation;
                assert_eq!(again, saved, "what was saved is what is restored");
                Input::Team(capped(self.generation, self.caps))
            }
        };
        let acks = match &input {
            Input::Call { call: Call::Ack(ids), .. } => ids.clone(),
            _ => Vec::new(),
        };
        let lived: BTreeSet<_> = self.fleet.workers().map(|worker| worker.name.clone()).collect();
        let step = self.fleet.step(self.now, input);
        self.judge(&step, &acks);
        let is_new = |worker: &Worker| !lived.contains(&worker.name) && !matches!(worker.state, WorkerState::Failed(_));
        for worker in self.fleet.workers().filter(|worker| is_new(worker)) {
            let of_role = self.fleet.workers().filter(|other| other.role == worker.role);
            let living = of_role.filter(|other| !matches!(other.state, WorkerState::Failed(_))).count();
            let most = self.caps.workers.map_or(usize::MAX, |most| most as usize);
            assert!(living <= most, "{} was started as number {living} of {most}", worker.name);
        }
    }

    fn call(&mut self, caller: Caller, call: Call) -> Input {
        self.tickets += 1;
        Input::Call { ticket: Ticket(self.tickets), caller, call }
    }

    fn judge(&mut self, step: &Step, acks: &[MessageId]) {
        for record in &step.records {
            self.record(record, acks);
        }
        for (ticket, _) in &step.answers {
            assert!(self.answered.insert(*ticket), "{ticket} is answered once");
        }
        for turn in self.fleet.turns() {
            if turn.state.is_in_flight() {
                let name = turn.worker.as_ref().expect("somebody has it");
                let has = self.fleet.worker(name).and_then(|worker| worker.turn);
                assert_eq!(has, Some(turn.id), "a worker has one turn, and each turn in flight its worker");
            }
            assert_eq!(turn.state.is_settled(), self.enveloped.contains(&turn.id), "settled is enveloped: {turn:?}");
        }
        for effect in &step.effects {
            let Effect::Work(WorkEffect::Hand(worker, turn)) = effect else { continue };
            assert_eq!(self.fleet.paused(), None, "nothing is handed out in a pause");
            assert!(self.prompts.contains(&turn.prompt_of), "the prompt of what is handed is recorded");
            let on_it = self.fleet.workers().filter(|other| other.is_occupied() && other.profile.endpoint.is_some());
            assert!(on_it.count() <= 2, "{} was handed although its endpoint was full", turn.id);
            let role = self.fleet.team().and_then(|team| team.roles.get(&worker.role));
            let wall = Time(self.now.0.saturating_add_signed(self.ahead));
            let cap = role.map_or(0, |role| role.cap(wall) as usize);
            assert!(cap > 0, "{} was handed outside of its hours", turn.id);
            assert!(cap <= if worker.role.as_str() == "w" { self.caps.busy as usize } else { 1 });
            let busy = self.fleet.workers().filter(|other| other.role == worker.role && other.is_occupied()).count();
            assert!(busy <= cap, "{} was handed as number {busy} of {cap}", turn.id);
            let earlier = self.fleet.turns().find(|other| {
                let same = (other.sender, &other.to, other.priority) == (turn.sender, &turn.to, turn.priority);
                other.state == TurnState::Queued && same && other.id < turn.id
            });
            assert_eq!(earlier, None, "{} was handed before it", turn.id);
        }
        let late = self.fleet.turns().find(|turn| {
            !turn.state.is_settled() && turn.deadline.is_some_and(|at| at <= self.now) && turn.since() < self.now
        });
        assert_eq!(late, None, "deadlines are kept");
    }

    fn record(&mut self, record: &Record, acks: &[MessageId]) {
        match record {
            Record::Prompt(id, _) => assert!(self.prompts.insert(*id), "a prompt is recorded once"),
            Record::Turn(turn) => drop(self.accepted.insert(turn.id)),
            Record::Envelope(envelope) => {
                assert!(self.accepted.contains(&envelope.turn), "an envelope is for an accepted turn");
                assert!(self.enveloped.insert(envelope.turn), "{} has one envelope", envelope.turn);
            }
            Record::Message(message) => {
                self.about.insert(message.id, message.about.clone());
                if message.shown {
                    self.shown.entry(message.id).or_insert(self.now);
                }
            }
            Record::MessageGone(id) => {
                let question = matches!(self.about.get(id), Some(About::Question(_)));
                let old = self.shown.get(id).is_some_and(|at| *at + Span::days(7) <= self.now);
                assert!(question || old || acks.contains(id), "{id} went without an ack");
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_the_rules_hold(events in prop::collection::vec(event(), 1..120)) {
        let mut judge = Judge::new();
        for event in events {
            judge.happen(event);
        }
    }

    #[test]
    fn a_fan_out_costs_another_sender_one_turn_at_most(
        fan_out in 1..500_usize,
        ended_before in 0..50_usize,
        cap in 1..4_u32,
    ) {
        let mut fleet = Fleet::new(Limits::default());
        let mut big = (*team(1, cap)).clone();
        big.roles.get_mut(&"w".into()).expect("it is there").max_waiting = 1_000;
        fleet.step(Time(1), Input::Team(big.into()));
        let mut flying: Vec<(fleetd::fleet::ids::WorkerName, TurnId)> = Vec::new();
        let send = |fleet: &mut Fleet, n: u64, caller: Caller| {
            fleet.step(Time(1), Input::Call { ticket: Ticket(n), caller, call: Call::Send(send_to("w")) })
        };
        for n in 0..fan_out {
            flying.extend(handed(&send(&mut fleet, n as u64, Caller::Leader)));
        }
        let end_one = |fleet: &mut Fleet, flying: &mut Vec<_>| {
            let (worker, turn): (fleetd::fleet::ids::WorkerName, TurnId) = flying.remove(0);
            let finish = Box::new(finish(Outcome::Replied));
            let step = fleet.step(Time(1), Input::Seen(Sighting::Finished { worker, turn, finish, idle: true }));
            let next = handed(&step);
            flying.extend(next.clone());
            next
        };
        for _ in 0..ended_before.min(fan_out - 1) {
            end_one(&mut fleet, &mut flying);
        }
        let mut given = handed(&send(&mut fleet, 1_000, Caller::Operator));
        let mine = fleet.turns().map(|turn| turn.id).max().expect("it was accepted");
        flying.extend(given.clone());
        while !given.iter().any(|(_, turn)| *turn == mine) {
            given.extend(end_one(&mut fleet, &mut flying));
        }
        prop_assert!(given.len() <= 2, "{} turns went before it", given.len() - 1);
    }
}

fn handed(step: &Step) -> Vec<(fleetd::fleet::ids::WorkerName, TurnId)> {
    let handed = step.effects.iter().filter_map(|effect| match effect {
        Effect::Work(WorkEffect::Hand(worker, turn)) => Some((worker.name.clone(), turn.id)),
        _ => None,
    });
    handed.collect()
}
