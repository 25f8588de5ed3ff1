//! The store through its port: what is written is what is read, after a restart as well, and old things go.
//! Refusals, a full disk and crashes are in the files beside it.

use std::sync::Arc;

use fleetd::engine::ports::{Journal, JournalError, Sessions};
use fleetd::fleet::budget::Budget;
use fleetd::fleet::caller::Sender;
use fleetd::fleet::ids::{Key, MessageId, QuestionId, RunId, StepPath, TurnId, WorkerName};
use fleetd::fleet::life::{Life, Renewal};
use fleetd::fleet::mail::{About, Asker, Message, Question};
use fleetd::fleet::pause::Pause;
use fleetd::fleet::record::{KeyUse, Made, Record};
use fleetd::fleet::seat::{Seat, Sitter};
use fleetd::fleet::team::Profile;
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::{Turn, TurnState};
use fleetd::fleet::worker::{Process, Worker, WorkerState};
use serde_json::json;

use crate::store_rows::{Place, ended, envelope, event, life, run, step, turn};

fn worker(name: &str) -> Worker {
    let profile: Profile = serde_json::from_value(json!({ "name": "upper", "launcher": "exec" })).unwrap();
    Worker {
        name: WorkerName::from(name),
        role: "upper".into(),
        profile: Arc::new(profile),
        generation: 3,
        state: WorkerState::Blocked("a dialog".into()),
        since: Time(5),
        turn: Some(TurnId(1)),
        elastic: true,
        process: None,
        turns: 2,
        session: 7,
        born: 0,
        late: None,
        cut: None,
        life: Life {
            ordered: true,
            turns: 3,
            tokens: 9,
            renewal: Some(Renewal::Fresh(Some(TurnId(8)))),
            up: None,
            tree: Some(4),
            knows: vec!["src/main.rs".into()],
            barred: None,
        },
    }
}

fn budget() -> Budget {
    let worker = worker("upper-1");
    let failures = vec![Time(1), Time(3)];
    Budget { profile: worker.profile, failures, worker: worker.name, why: "no".into(), until: Some(Time(9)) }
}

fn message(id: u64) -> Message {
    Message {
        id: MessageId(id),
        to: Sender::Leader,
        at: Time(7),
        about: About::Reply(TurnId(1)),
        shown: false,
        expires: None,
    }
}

fn question(id: u64) -> Question {
    let asker = Asker::Step { run: RunId(9), path: StepPath::from("ask_leader#1") };
    Question {
        id: QuestionId(id),
        asker,
        to: Sender::Leader,
        text: "which?".into(),
        at: Time(8),
        answer: None,
        message: MessageId(4),
        request: Some(Key::from("s/1")),
    }
}

fn key(key: &str) -> KeyUse {
    KeyUse {
        sender: Sender::Run(RunId(9)),
        key: Key::from(key),
        body: "00ff".into(),
        made: Made::Turn(TurnId(1)),
        born: 0,
        at: Time(9),
    }
}

fn seat() -> Seat {
    Seat { sitter: Sitter::Process(Process { pid: 12, start: 34 }), since: Time(5), until: None }
}

#[test]
fn a_session_is_kept_until_it_is_dropped_or_old() {
    let place = Place::new();
    let store = place.open();
    let save =
        |id: &str, at, row: Option<&str>| place.wait(store.save_session(id.into(), Time(at), row.map(Into::into)));
    save("a", 10, Some("one")).unwrap();
    save("a", 20, Some("two")).unwrap();
    save("b", 10, Some("old")).unwrap();
    save("c", 30, Some("dropped")).unwrap();
    save("c", 31, None).unwrap();
    place.wait(store.prune(Time(15), Vec::new())).unwrap();
    let read = |id: &str| place.wait(store.session(id.into())).unwrap();
    assert_eq!(read("a").as_deref(), Some("two"));
    assert_eq!((read("b"), read("c"), read("d")), (None, None, None));
}

#[test]
fn everything_written_is_read_back_after_a_restart() {
    let place = Place::new();
    let (open, settled) = (turn(1, TurnState::Queued, 10), turn(2, TurnState::Settled, 11));
    let records = vec![
        Record::Next(40),
        Record::Generation(3),
        Record::Turn(Arc::new(settled.clone())),
        Record::Turn(Arc::new(open.clone())),
        Record::Turn(Arc::new(turn(3, TurnState::Collected, 12))),
        Record::Worker(Arc::new(worker("upper-1"))),
        Record::Worker(Arc::new(worker("upper-2"))),
        Record::WorkerGone("upper-2".into()),
        Record::Message(Arc::new(message(4))),
        Record::Message(Arc::new(message(5))),
        Record::MessageGone(MessageId(5)),
        Record::Question(Arc::new(question(6))),
        Record::Question(Arc::new(question(7))),
        Record::QuestionGone(QuestionId(7)),
        Record::Run(Arc::new(run(9, "h1"))),
        Record::Run(Arc::new(ended(run(10, "h1"), 50, false))),
        Record::Run(Arc::new(ended(run(11, "h1"), 50, true))),
        Record::Step(Arc::new(step(9, "send#1", None))),
        Record::Step(Arc::new(step(10, "send#1", Some(0)))),
        Record::Key(Arc::new(key("kept"))),
        Record::Key(Arc::new(key("gone"))),
        Record::KeyGone(Sender::Run(RunId(9)), Key::from("gone")),
        Record::Parked("upper".into(), Some(Time(77))),
        Record::Parked("lower".into(), Some(Time(78))),
        Record::Parked("lower".into(), None),
        Record::Seat(Some(Arc::new(seat()))),
        Record::Budget("upper".into(), Some(Arc::new(budget()))),
        Record::Budget("lower".into(), Some(Arc::new(budget()))),
        Record::Budget("lower".into(), None),
        Record::Paused(Some(Pause { since: Time(4), by: Sender::Leader })),
        Record::Paused(None),
        Record::Paused(Some(Pause { since: Time(5), by: Sender::Operator })),
        Record::Draft(TurnId(1), Some("first".into())),
        Record::Draft(TurnId(1), Some("so far".into())),
        Record::Draft(TurnId(2), Some("over".into())),
        Record::Draft(TurnId(2), None),
        Record::Note("last".into(), Some(Arc::new(json!({ "b": 1, "a": [null, "ü\u{0}"] })))),
        Record::Note("gone".into(), Some(Arc::new(json!(1)))),
    ];
    let store = place.open();
    place.wait(store.commit(records)).unwrap();
    place.wait(store.commit(vec![Record::Note("gone".into(), None)])).unwrap();
    let before = place.wait(store.load()).unwrap();
    drop(store);
    let store = place.open();
    let saved = place.wait(store.load()).unwrap();
    assert_eq!(saved, before, "a restart changes nothing");

    assert_eq!((saved.next, saved.generation), (40, 3));
    assert_eq!(saved.turns, [open, settled], "in the order of their ids, without the collected one");
    assert_eq!(saved.workers, [worker("upper-1")]);
    assert_eq!(saved.messages, [message(4)]);
    assert_eq!(saved.questions, [question(6)]);
    assert_eq!(saved.runs, [run(9, "h1"), ended(run(10, "h1"), 50, false)]);
    assert_eq!(saved.steps, [step(9, "send#1", None)], "steps of ended runs are not needed");
    assert_eq!(saved.keys, [key("kept")]);
    assert_eq!(saved.parked, [("upper".into(), Time(77))]);
    assert_eq!(saved.seat, Some(seat()));
    assert_eq!(saved.budgets, [("upper".into(), budget())]);
    assert_eq!(saved.paused, Some(Pause { since: Time(5), by: Sender::Operator }));
    assert_eq!(saved.drafts, [(TurnId(1), "so far".into())]);
    assert_eq!(saved.notes.len(), 1);
    assert_eq!(*saved.notes[0].1, json!({ "b": 1, "a": [null, "ü\u{0}"] }));
    assert_eq!(saved.notes[0].1.to_string(), r#"{"b":1,"a":[null,"ü\u0000"]}"#, "the order of keys is kept");

    let old = place.wait(store.turn(TurnId(3))).unwrap().unwrap();
    assert_eq!(old.state, TurnState::Collected, "history is still there to be asked for");
    let runs: Vec<u64> = place.wait(store.runs(2)).unwrap().iter().map(|run| run.id.0).collect();
    assert_eq!(runs, [11, 10], "the newest first");
    assert_eq!(place.wait(store.run(RunId(9))).unwrap(), Some(run(9, "h1")));
    assert_eq!(place.wait(store.run(RunId(99))).unwrap(), None);
}

#[test]
fn texts_lie_beside_the_rows_and_come_back_byte_for_byte() {
    let place = Place::new();
    let store = place.open();
    let long: Arc<str> = format!("\u{0}\r\n'{}'\u{1F600}", "x".repeat(1 << 20)).into();
    let mut reply = envelope(1, &long);
    reply.data = Some(json!({ "n": 1.5 }));
    place
        .wait(store.commit(vec![
            Record::Prompt(TurnId(1), long.clone()),
            Record::Envelope(Arc::new(reply.clone())),
            Record::Job(RunId(2), Arc::new(json!(["a", 1]))),
            Record::RunValue(RunId(2), Arc::new(json!(null))),
        ]))
        .unwrap();
    assert_eq!(place.wait(store.prompt(TurnId(1))).unwrap(), Some(long));
    assert_eq!(place.wait(store.prompt(TurnId(2))).unwrap(), None);
    assert_eq!(place.wait(store.envelope(TurnId(1))).unwrap().as_deref(), Some(&reply));
    assert_eq!(place.wait(store.job(RunId(2))).unwrap().as_deref(), Some(&json!(["a", 1])));
    assert_eq!(place.wait(store.run_value(RunId(2))).unwrap().as_deref(), Some(&json!(null)));
    assert_eq!(place.wait(store.run_value(RunId(3))).unwrap(), None);
}

#[test]
fn steps_keep_the_order_in_which_they_began_and_the_order_in_which_they_finished() {
    let place = Place::new();
    let store = place.open();
    // The first one is written three times, in one commit and in a later one.
    place
        .wait(store.commit(vec![
            Record::Step(Arc::new(step(1, "a", None))),
            Record::Step(Arc::new(step(1, "b", None))),
            Record::Step(Arc::new(step(1, "c", None))),
            Record::Step(Arc::new(step(2, "a", Some(0)))),
            Record::Step(Arc::new(step(1, "a", Some(1)))),
            Record::StepValue(RunId(1), StepPath::from("a"), Arc::new(json!("second"))),
        ]))
        .unwrap();
    place
        .wait(store.commit(vec![
            Record::Step(Arc::new(step(1, "b", Some(0)))),
            Record::StepValue(RunId(1), StepPath::from("b"), Arc::new(json!("first"))),
        ]))
        .unwrap();
    let began: Vec<String> =
        place.wait(store.steps(RunId(1))).unwrap().iter().map(|step| step.path.to_string()).collect();
    assert_eq!(began, ["a", "b", "c"]);
    let finished = place.wait(store.finished_steps(RunId(1))).unwrap();
    let finished: Vec<_> = finished.iter().map(|f| (f.step.seq, f.value.as_str().unwrap())).collect();
    assert_eq!(finished, [(Some(0), "first"), (Some(1), "second")]);
}

#[test]
fn of_several_writes_of_one_row_the_last_counts_and_every_event_is_kept() {
    let place = Place::new();
    let store = place.open();
    let mut records = vec![Record::Worker(Arc::new(worker("back"))), Record::WorkerGone("back".into())];
    records.push(Record::Worker(Arc::new(worker("back"))));
    records.push(Record::Worker(Arc::new(worker("gone"))));
    records.push(Record::WorkerGone("gone".into()));
    for state in [TurnState::Queued, TurnState::Handed, TurnState::Submitted] {
        records.push(Record::Turn(Arc::new(turn(1, state, 10))));
        records.push(event(1, 10, &format!("{state:?}")));
    }
    records.push(event(2, 10, "another turn"));
    place.wait(store.commit(records)).unwrap();
    let saved = place.wait(store.load()).unwrap();
    assert_eq!(saved.workers, [worker("back")]);
    assert_eq!(saved.turns, [turn(1, TurnState::Submitted, 10)]);
    let what: Vec<String> = place.wait(store.events(TurnId(1))).unwrap().into_iter().map(|event| event.what).collect();
    assert_eq!(what, ["Queued", "Handed", "Submitted"]);
}

#[test]
fn requests_are_stored_in_the_order_of_the_calls_even_when_nobody_waits_for_them() {
    let place = Place::new();
    let store = place.open();
    for n in 1..=200 {
        // Asked for and dropped: a caller that goes away takes nothing with it.
        drop(store.commit(vec![Record::Next(n)]));
    }
    drop(store);
    let store = place.open();
    assert_eq!(place.wait(store.load()).unwrap().next, 200);
}

#[test]
fn many_callers_share_commits_and_each_gets_its_own_answer() {
    let place = Place::new();
    let store = place.open();
    let commits: Vec<_> = (1..=2_000).map(|id| store.commit(life(id, 10, "text"))).collect();
    place.wait(async {
        for commit in commits {
            commit.await.unwrap();
        }
    });
    assert!(place.wait(store.turn(TurnId(2_000))).unwrap().is_some());
    assert_eq!(place.wait(store.events(TurnId(1_234))).unwrap().len(), 2);
}

#[test]
fn a_step_that_is_gone_is_as_if_it_had_never_begun_though_it_was_finished() {
    let place = Place::new();
    let store = place.open();
    let path = StepPath::from("send#1");
    let finished = |seq: u64, value: i32| {
        let step = Record::Step(Arc::new(step(20, "send#1", Some(seq))));
        vec![step, Record::StepValue(RunId(20), path.clone(), Arc::new(json!(value)))]
    };
    place.wait(store.commit(finished(0, 1))).unwrap();
    place.wait(store.commit(vec![Record::StepGone(RunId(20), path.clone())])).unwrap();
    assert_eq!(place.wait(store.finished_steps(RunId(20))).unwrap(), []);
    assert_eq!(place.wait(store.steps(RunId(20))).unwrap(), []);
    place.wait(store.commit(finished(0, 2))).unwrap();
    let [again] = &place.wait(store.finished_steps(RunId(20))).unwrap()[..] else { panic!("it is there again") };
    assert_eq!(*again.value, json!(2));
}

#[test]
fn pruning_drops_old_collected_things_with_their_texts_and_nothing_else() {
    let place = Place::new();
    let store = place.open();
    let retry = Turn { prompt_of: TurnId(1), retry_of: Some(TurnId(1)), ..turn(4, TurnState::Queued, 100) };
    let mut records = life(1, 100, "old, but a retry needs its prompt");
    records.extend(life(2, 100, "old"));
    records.extend(life(3, 900, "young"));
    records.extend([
        Record::Turn(Arc::new(retry.clone())),
        event(4, 100, "old event of an open turn"),
        Record::Run(Arc::new(ended(run(20, "h0"), 100, true))),
        Record::Job(RunId(20), Arc::new(json!(1))),
        Record::RunValue(RunId(20), Arc::new(json!(1))),
        Record::Step(Arc::new(step(20, "a", Some(0)))),
        Record::StepValue(RunId(20), StepPath::from("a"), Arc::new(json!(1))),
        Record::Run(Arc::new(ended(run(21, "h1"), 100, false))),
        Record::Run(Arc::new(run(22, "used"))),
    ]);
    place.wait(store.commit(records)).unwrap();
    place.wait(store.save_sources("used".into(), "of an open run".into())).unwrap();
    place.wait(store.save_sources("h1".into(), "of one that ended and is kept, and may go on".into())).unwrap();
    place.wait(store.save_sources("h0".into(), "of one that is dropped".into())).unwrap();
    for n in 0..25 {
        place.wait(store.save_sources(format!("s{n}"), "text".into())).unwrap();
    }
    let dropped = place.wait(store.prune(Time(500), Vec::new())).unwrap();
    assert_eq!(dropped, 3, "two turns and a run");

    assert_eq!(place.wait(store.turn(TurnId(1))).unwrap(), None);
    assert!(place.wait(store.prompt(TurnId(1))).unwrap().is_some(), "the retry's prompt");
    assert_eq!(place.wait(store.prompt(TurnId(2))).unwrap(), None);
    assert_eq!(place.wait(store.envelope(TurnId(2))).unwrap(), None);
    assert_eq!(place.wait(store.events(TurnId(2))).unwrap(), []);
    assert!(place.wait(store.turn(TurnId(3))).unwrap().is_some());
    assert!(place.wait(store.envelope(TurnId(3))).unwrap().is_some());
    assert_eq!(place.wait(store.events(TurnId(3))).unwrap().len(), 2);
    assert_eq!(place.wait(store.events(TurnId(4))).unwrap().len(), 1);
    assert_eq!(place.wait(store.run(RunId(20))).unwrap(), None);
    assert_eq!(place.wait(store.job(RunId(20))).unwrap(), None);
    assert_eq!(place.wait(store.run_value(RunId(20))).unwrap(), None);
    assert_eq!(place.wait(store.finished_steps(RunId(20))).unwrap(), []);
    assert_eq!(place.wait(store.steps(RunId(20))).unwrap(), []);
    assert_eq!(place.wait(store.runs(10)).unwrap().len(), 2, "an uncollected run stays, whatever its age");
    assert!(place.wait(store.sources("used".into())).unwrap().is_some());
    assert!(place.wait(store.sources("h1".into())).unwrap().is_some());
    assert_eq!(place.wait(store.sources("h0".into())).unwrap(), None);
    assert_eq!(place.wait(store.sources("s0".into())).unwrap(), None);
    assert!(place.wait(store.sources("s24".into())).unwrap().is_some());

    let collected = Turn { state: TurnState::Collected, ..retry };
    place.wait(store.commit(vec![Record::Turn(Arc::new(collected))])).unwrap();
    place.wait(store.prune(Time(500), Vec::new())).unwrap();
    assert_eq!(place.wait(store.prompt(TurnId(1))).unwrap(), None, "the last that needed it is gone");
}

#[test]
fn a_turn_whose_reply_is_still_to_be_read_outlives_its_time() {
    let place = Place::new();
    let store = place.open();
    let lives = (1..=1_200).flat_map(|id| life(id, 10 + id % 7, "text"));
    place.wait(store.commit(lives.collect())).unwrap();
    let keep: Vec<TurnId> = (1..=1_200).filter(|id| id % 2 == 0).map(TurnId).collect();
    place.wait(store.prune(Time(100), keep)).unwrap();
    let has = |id| place.wait(store.envelope(TurnId(id))).unwrap().is_some();
    assert_eq!((1..=1_200).filter(|id| has(*id)).collect::<Vec<_>>(), (2..=1_200).step_by(2).collect::<Vec<_>>());
    place.wait(store.prune(Time(100), vec![TurnId(8)])).unwrap();
    assert_eq!((1..=1_200).filter(|id| has(*id)).collect::<Vec<_>>(), [8]);
}

#[test]
fn the_file_does_not_grow_while_as_much_goes_as_comes() {
    let place = Place::new();
    let store = place.open();
    let text = "x".repeat(300);
    let mut sizes = Vec::new();
    for round in 0..4u64 {
        let at = 1_000 * (round + 1);
        let lives = (0..2_500).map(|n| store.commit(life(round * 2_500 + n, at, &text)));
        let lives: Vec<_> = lives.collect();
        for life in lives {
            place.wait(life).unwrap();
        }
        place.wait(store.prune(Time(at + 1), Vec::new())).unwrap();
        sizes.push(std::fs::metadata(place.file()).unwrap().len());
    }
    // A tenth of room for pages that are not quite full.
    assert!(sizes[3] <= sizes[0] * 11 / 10, "{sizes:?}");
    let wal = std::fs::metadata(place.dir.path().join("fleet.db-wal")).unwrap().len();
    assert!(wal <= 16 << 20, "the write-ahead file is {wal} bytes");
    assert_eq!(place.wait(store.load()).unwrap().turns, []);
}

#[test]
fn a_store_whose_file_was_taken_away_takes_nothing_before_it_is_back() {
    let place = Place::new();
    let store = place.open();
    place.wait(store.commit(life(1, 10, "text"))).unwrap();
    let commit = |id| place.wait(store.commit(life(id, 10, "text")));
    for name in ["fleet.db", "fleet.db-wal"] {
        let (here, aside) = (place.dir.path().join(name), place.dir.path().join("aside"));
        std::fs::rename(&here, &aside).unwrap();
        let says = |what: &str| format!("{} was {what} while fleetd has it open, ", here.display());
        let JournalError::Failed(why) = commit(2).unwrap_err() else { panic!("the disk has room") };
        assert!(why.contains(&says("moved or removed")), "{why}");
        std::fs::copy(&aside, &here).unwrap();
        let JournalError::Failed(why) = commit(2).unwrap_err() else { panic!("the disk has room") };
        assert!(why.contains(&says("replaced")), "{why}");
        std::fs::rename(&aside, &here).unwrap();
        commit(2).unwrap();
    }
    drop(store);
    assert!(place.wait(place.open().prompt(TurnId(2))).unwrap().is_some(), "what was accepted is there");
}

#[test]
fn who_reads_for_long_stops_no_commit() {
    let place = Place::new();
    let store = place.open();
    place.wait(store.commit(life(1, 10, "text"))).unwrap();
    let reader = rusqlite::Connection::open(place.file()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM turns;").unwrap();
    place.wait(store.commit(life(2, 10, "text"))).unwrap();
    let began = std::time::Instant::now();
    // The last thing that it does is to cut the write-ahead file, and that must wait for the reader or for another time.
    place.wait(store.prune(Time(5), Vec::new())).unwrap();
    place.wait(store.commit(life(3, 10, "text"))).unwrap();
    assert!(began.elapsed() < std::time::Duration::from_millis(1_500), "{:?}", began.elapsed());
}
