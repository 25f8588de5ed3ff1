//! The real engine over a journal that can be made to fail: nothing is told or done that is not stored, nothing that
//! was seen is forgotten, and callers are refused with the reason. No file and no process is involved.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use fleetd::engine::ports::{Boxed, CharterStatus, Clock, Files, Journal, JournalError, Launchers, Policy};
use fleetd::engine::requests::{Origin, SendRequest, Waited};
use fleetd::engine::{Handle, Ports, build};
use fleetd::fleet::caller::Caller;
use fleetd::fleet::difference::Difference;
use fleetd::fleet::envelope::{Envelope, Finish};
use fleetd::fleet::events::FleetEvent;
use fleetd::fleet::hours::{Between, Days, Hours, WallClock, Window};
use fleetd::fleet::ids::{RecipeName, RunId, TurnId};
use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::record::{Event, Record, Saved};
use fleetd::fleet::refusal::{Refusal, RefusalKind};
use fleetd::fleet::run::{FinishedStep, Run, RunEffect, Step};
use fleetd::fleet::team::{Generation, Profile, Role, Routed, Task, Team, TeamLoad};
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Outcome, Turn};
use fleetd::fleet::{Fleet, Limits};
use serde_json::Value;
use tokio::sync::mpsc;

/// A journal that remembers what it stored, and can be full.
#[derive(Default)]
struct Disk {
    full: AtomicBool,
    stored: Mutex<Vec<Record>>,
}

fn now<T: Send + 'static>(value: T) -> Boxed<Result<T, JournalError>> {
    Box::pin(async { Ok(value) })
}

impl Disk {
    fn envelopes(&self) -> usize {
        self.stored.lock().unwrap().iter().filter(|record| matches!(record, Record::Envelope(_))).count()
    }
}

impl Journal for Disk {
    fn commit(&self, records: Vec<Record>) -> Boxed<Result<(), JournalError>> {
        if self.full.load(Ordering::SeqCst) {
            return Box::pin(async { Err(JournalError::Full("no space left on the disk".into())) });
        }
        self.stored.lock().unwrap().extend(records);
        now(())
    }
    fn load(&self) -> Boxed<Result<Saved, JournalError>> {
        now(Saved::default())
    }
    fn prompt(&self, _: TurnId) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        now(None)
    }
    fn envelope(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        let stored = self.stored.lock().unwrap();
        now(stored.iter().find_map(|record| match record {
            Record::Envelope(envelope) if envelope.turn == turn => Some(envelope.clone()),
            _ => None,
        }))
    }
    fn late(&self, _: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    fn turn(&self, _: TurnId) -> Boxed<Result<Option<Turn>, JournalError>> {
        now(None)
    }
    fn run(&self, _: RunId) -> Boxed<Result<Option<Run>, JournalError>> {
        now(None)
    }
    fn runs(&self, _: usize) -> Boxed<Result<Vec<Run>, JournalError>> {
        now(Vec::new())
    }
    fn job(&self, _: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        now(None)
    }
    fn run_value(&self, _: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        now(None)
    }
    fn finished_steps(&self, _: RunId) -> Boxed<Result<Vec<FinishedStep>, JournalError>> {
        now(Vec::new())
    }
    fn steps(&self, _: RunId) -> Boxed<Result<Vec<Step>, JournalError>> {
        now(Vec::new())
    }
    fn events(&self, _: TurnId) -> Boxed<Result<Vec<Event>, JournalError>> {
        now(Vec::new())
    }
    fn save_sources(&self, _: String, _: Arc<str>) -> Boxed<Result<(), JournalError>> {
        now(())
    }
    fn sources(&self, _: String) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        now(None)
    }
    fn prune(&self, _: Time, _: Vec<TurnId>) -> Boxed<Result<u64, JournalError>> {
        now(0)
    }
}

/// Passes every order on to the test.
struct Orders(mpsc::Sender<WorkEffect>);

impl Launchers for Orders {
    fn carry_out(&self, order: WorkEffect) {
        self.0.try_send(order).unwrap();
    }
}

/// A charter that decides nothing, and says of itself what the test lets it say.
struct Silent(Arc<Mutex<CharterStatus>>);

impl Policy for Silent {
    fn route(&self, _: Task, _: TeamLoad) -> Boxed<Result<Routed, Refusal>> {
        Box::pin(async { Err(Refusal::invalid("nobody routes here")) })
    }
    fn check_job(&self, _: &RecipeName, _: &Value) -> Result<(), Refusal> {
        Ok(())
    }
    fn run(&self, _: RunEffect) {}
    fn event(&self, _: FleetEvent) {}
    fn status(&self) -> CharterStatus {
        self.0.lock().unwrap().clone()
    }
    fn difference(&self, _: Option<Files>) -> Boxed<Difference> {
        Box::pin(async { Difference::default() })
    }
    fn reload(&self) -> Boxed<Result<CharterStatus, Refusal>> {
        Box::pin(async { Ok(CharterStatus::default()) })
    }
}

/// Time since the test began, and a clock on the wall that can be set.
struct Since(std::time::Instant, Arc<AtomicI64>);

impl Clock for Since {
    fn now(&self) -> Time {
        Time(1_000_000 + self.0.elapsed().as_millis() as u64)
    }

    fn wall(&self) -> Time {
        Time(self.now().0.saturating_add_signed(self.1.load(Ordering::SeqCst)))
    }

    fn trusted(&self) -> Duration {
        Duration::from_millis(50)
    }
}

struct Bench {
    handle: Handle,
    disk: Arc<Disk>,
    orders: mpsc::Receiver<WorkEffect>,
    ahead: Arc<AtomicI64>,
    charter: Arc<Mutex<CharterStatus>>,
}

async fn bench() -> Bench {
    let disk = Arc::new(Disk::default());
    let (sender, orders) = mpsc::channel(64);
    let ahead = Arc::new(AtomicI64::new(0));
    let charter = Arc::default();
    let (handle, engine) = build(
        Fleet::new(Limits::default()),
        Ports {
            journal: disk.clone(),
            launchers: Arc::new(Orders(sender)),
            policy: Arc::new(Silent(Arc::clone(&charter))),
            clock: Arc::new(Since(std::time::Instant::now(), ahead.clone())),
        },
    );
    tokio::spawn(engine);
    let profile = Profile {
        name: "p".into(),
        about: None,
        launcher: "exec".into(),
        command: vec!["true".into()],
        cwd: None,
        env: BTreeMap::new(),
        timeout: None,
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
        name: "w".into(),
        about: None,
        profiles: vec!["p".into()],
        max_busy: 1,
        max_workers: None,
        max_waiting: 10,
        hours: None,
    };
    let team = Team {
        generation: Generation { number: 1, hash: "one".into() },
        profiles: BTreeMap::from([("p".into(), profile)]),
        roles: BTreeMap::from([("w".into(), role)]),
        ..Team::default()
    };
    handle.take_team(Arc::new(team)).await;
    handle.in_force(1).await;
    Bench { handle, disk, orders, ahead, charter }
}

fn message() -> SendRequest {
    SendRequest { role: Some("w".into()), prompt: "hello".into(), ..SendRequest::default() }
}

fn finished(order: &WorkEffect) -> Sighting {
    let WorkEffect::Hand(worker, turn) = order else { panic!("a hand was expected: {order:?}") };
    let finish = Finish {
        outcome: Outcome::Replied,
        why: None,
        text: "HELLO".into(),
        ..Finish::without_reply(Outcome::Replied, "")
    };
    Sighting::Finished { worker: worker.name.clone(), turn: turn.id, finish: Box::new(finish), idle: true }
}

#[tokio::test]
async fn a_send_that_cannot_be_stored_is_refused_with_the_reason_and_nothing_is_done() {
    let mut bench = bench().await;
    bench.disk.full.store(true, Ordering::SeqCst);
    let refusal =
        bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect_err("the disk is full");
    assert_eq!(refusal.kind, RefusalKind::Unavailable);
    assert!(refusal.message.contains("no space left"), "{refusal}");
    assert!(bench.orders.try_recv().is_err(), "nothing may be done for it");
    assert_eq!(bench.handle.fleet().turns().count(), 0);
    assert!(bench.handle.degraded()[0].contains("no space left"), "{:?}", bench.handle.degraded());

    bench.disk.full.store(false, Ordering::SeqCst);
    let turn = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect("there is room again");
    assert!(matches!(bench.orders.recv().await, Some(WorkEffect::Hand(_, handed)) if handed.id == turn.turn.id));
    assert_eq!(bench.handle.degraded(), Vec::<String>::new());
}

#[tokio::test]
async fn a_handler_that_failed_lately_is_told_with_its_place() {
    let bench = bench().await;
    let failed = |at: Time| {
        *bench.charter.lock().unwrap() = CharterStatus {
            handler_errors: 2,
            handler_place: Some("hooks.lua:3".to_owned()),
            handler_failed_at: Some(at),
            ..CharterStatus::default()
        };
        bench.handle.degraded()
    };
    let now = bench.handle.now();
    let told = "handlers failed 2 times, the last time at hooks.lua:3; fleetd charter status says why";
    assert_eq!(failed(now), [told]);
    assert_eq!(failed(Time(now.0 - 600_001)), Vec::<String>::new(), "ten minutes are over");
}

#[tokio::test]
async fn what_was_seen_while_the_disk_was_full_is_stored_when_there_is_room_and_the_waiting_caller_is_answered() {
    let mut bench = bench().await;
    let turn = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect("accepted").turn.id;
    let order = bench.orders.recv().await.expect("it is handed out");
    let handle = bench.handle.clone();
    let waiting = tokio::spawn(async move { handle.wait_turn(&Caller::Operator, turn, Span::minutes(10)).await });
    // The wait is registered once the fleet shows it; a wait needs no record, so no commit tells of it.
    while bench.handle.fleet().waiting_callers() == 0 {
        tokio::task::yield_now().await;
    }

    bench.disk.full.store(true, Ordering::SeqCst);
    bench.handle.seen(finished(&order)).await;
    let refused = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await;
    assert!(refused.is_err());
    assert!(!waiting.is_finished(), "nothing is told that is not stored");
    assert_eq!(bench.disk.envelopes(), 0);

    // A wait needs no record, so it is possible on a full disk too.
    let looked = bench.handle.wait_turn(&Caller::Operator, turn, Span(0)).await.expect("looking needs no room");
    assert!(matches!(looked, Waited::Open(_)), "{looked:?}");

    bench.disk.full.store(false, Ordering::SeqCst);
    let answered = waiting.await.expect("it ends").expect("it is answered");
    assert!(matches!(answered, Waited::Settled(envelope) if &*envelope.text == "HELLO"));
    assert_eq!(bench.disk.envelopes(), 1, "once");
}

#[tokio::test]
async fn a_caller_that_goes_away_ends_its_wait_and_not_the_turn() {
    let mut bench = bench().await;
    let turn = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect("accepted").turn.id;
    let order = bench.orders.recv().await.expect("it is handed out");
    let handle = bench.handle.clone();
    let waiting = tokio::spawn(async move { handle.wait_turn(&Caller::Operator, turn, Span::minutes(10)).await });
    while bench.handle.fleet().waiting_callers() == 0 {
        tokio::task::yield_now().await;
    }
    waiting.abort();
    while bench.handle.fleet().waiting_callers() != 0 {
        tokio::task::yield_now().await;
    }
    bench.handle.seen(finished(&order)).await;
    let waited = bench.handle.wait_turn(&Caller::Operator, turn, Span::minutes(1)).await.expect("it goes on");
    assert!(matches!(waited, Waited::Settled(_)), "{waited:?}");
}

/// Brings a charter into force in which so many are busy at once, between these hours.
async fn save_hours(bench: &Bench, between: &str, max_busy: u32) {
    let mut team = (**bench.handle.fleet().team().expect("it is there")).clone();
    team.generation.number += 1;
    let between = Some(Between::parse(between).expect("valid"));
    let windows = vec![Window { between, days: Days::ALL, max_busy: None }];
    let hours = Hours { windows, closes: true, clock: WallClock::default() };
    let role = team.roles.get_mut(&"w".into()).expect("it is there");
    (role.hours, role.max_busy) = (Some(Arc::new(hours)), max_busy);
    let number = team.generation.number;
    bench.handle.take_team(Arc::new(team)).await;
    bench.handle.in_force(number).await;
}

/// The engine's own timers stand still while a machine sleeps, so it must look.
#[tokio::test]
async fn a_role_opens_though_nobody_tells_that_the_machine_slept() {
    let mut bench = bench().await;
    save_hours(&bench, "12:00-13:00", 1).await;
    let turn = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect("accepted").turn.id;
    assert!(bench.orders.try_recv().is_err(), "it is 00:16");
    bench.ahead.store(12 * 3_600_000, Ordering::SeqCst);
    let order = tokio::time::timeout(Duration::from_secs(20), bench.orders.recv()).await;
    assert!(matches!(order, Ok(Some(WorkEffect::Hand(_, handed))) if handed.id == turn), "it is 12:16");
}

/// Until a charter has hours nobody looks at the wall between two batches, so it is looked at with the batch itself.
#[tokio::test]
async fn the_first_hours_that_are_saved_go_by_the_clock_as_it_is_after_the_machine_slept() {
    let mut bench = bench().await;
    let first = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect("accepted").turn.id;
    let order = bench.orders.recv().await;
    assert!(matches!(order, Some(WorkEffect::Hand(_, handed)) if handed.id == first));
    let waiting = bench.handle.send(&Caller::Operator, message(), &Origin::default()).await.expect("accepted").turn.id;
    bench.ahead.store(12 * 3_600_000, Ordering::SeqCst);
    save_hours(&bench, "00:00-01:00", 2).await;
    assert!(bench.orders.try_recv().is_err(), "it is 12:16, and not 00:16");
    assert_eq!(bench.handle.fleet().turn(waiting).expect("it waits").worker, None);
}

#[tokio::test]
async fn a_repeated_call_gets_its_turn_whatever_was_saved_meanwhile() {
    let bench = bench().await;
    let team = bench.handle.fleet().team().cloned().unwrap();
    let shaped = |number: u64, shapes: &[(&str, Value)]| {
        let shapes = shapes.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
        let generation = Generation { number, hash: number.to_string() };
        Arc::new(Team { generation, shapes, ..(*team).clone() })
    };
    let word = serde_json::json!({"type": "object", "properties": {"word": {"type": "string"}}});
    bench.handle.take_team(shaped(2, &[("finding", word)])).await;
    bench.handle.in_force(2).await;
    let request = SendRequest { schema: Some("finding".into()), key: Some("k".into()), ..message() };
    let first = bench.handle.send(&Caller::Leader, request.clone(), &Origin::default()).await.unwrap();
    bench.handle.take_team(shaped(3, &[])).await;
    bench.handle.in_force(3).await;
    let again = bench.handle.send(&Caller::Leader, request.clone(), &Origin::default()).await.unwrap();
    assert_eq!(again.turn.id, first.turn.id);
    let other = SendRequest { key: Some("other".into()), ..request };
    let refused = bench.handle.send(&Caller::Leader, other, &Origin::default()).await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Invalid, "a new one is judged by what is in force");
}
