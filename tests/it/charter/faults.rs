//! What a charter must not be able to do to the fleet: hang it, starve its other runs, or slip in by a restart.
//! The ordinary life of a charter is tested one floor up; here each test brings one fault about.

use std::fs;
use std::time::Duration;

use fleetd::engine::ports::Policy;
use fleetd::fleet::ids::RunId;
use fleetd::fleet::run::{RunInput, RunOutcome, StepRequest};
use fleetd::fleet::team::Address;
use serde_json::json;

use super::fake::{FakeJournal, House, PATIENCE, free, loud};
use super::{hang, house, task, write};

/// Its code does not come back: the log that it writes to holds its thread.
const HANG: &str = r#"
fleet.recipe("hang", {}, function(job, run)
  run:sleep("1s")
  print("hang")
end)
"#;

const CALM: &str = r#"
fleet.recipe("calm", {}, function(job, run)
  run:sleep("1s")
  return "calm"
end)
"#;

async fn only_the_run_that_hangs_is_lost(reloaded: bool) {
    hang::at("hang");
    let (dir, mut house) = house().await;
    let charter = dir.path().join("charter");
    house.team().await;
    write(&charter, "calm.lua", CALM);
    house.team().await;
    write(&charter, "hang.lua", HANG);
    house.team().await;
    house.start(1, "calm", json!({}));
    let _calm = house.input().await;
    house.start(2, "hang", json!({}));
    let hang = house.input().await;
    if reloaded {
        write(&charter, "more.lua", "-- another generation\n");
        house.team().await;
    }
    house.answer(&hang, json!(null));
    let (mut lost, mut again) = (false, None);
    while !lost || again.is_none() {
        match house.input().await {
            RunInput::Ended { run, end } => {
                assert_eq!((run, end.outcome), (RunId(2), RunOutcome::Failed));
                assert_eq!(end.why.as_deref(), Some("charter_stuck: its code did not come back for 2 s"));
                lost = true;
            }
            step => again = Some(step),
        }
    }
    house.answer(&again.expect("it was waited for"), json!(null));
    let RunInput::Ended { run, end } = house.input().await else { panic!("it should end") };
    assert_eq!((run, end.value), (RunId(1), json!("calm")));
    house.charter.route(task(None), free(&["w-a", "w-b"])).await.expect("rubrics are asked again");
}

#[tokio::test]
async fn of_a_stuck_charter_only_the_run_that_hangs_is_lost() {
    only_the_run_that_hangs_is_lost(false).await;
}

#[tokio::test]
async fn a_generation_that_is_not_in_force_is_watched_too() {
    only_the_run_that_hangs_is_lost(true).await;
}

#[tokio::test]
async fn rubrics_that_hang_again_are_put_aside_for_the_generation_before_them() {
    hang::at("hang");
    let (dir, mut house) = house().await;
    let charter = dir.path().join("charter");
    house.team().await;
    let asked = |house: &House| house.charter.route(task(Some("bulk")), free(&["w-a", "w-b"]));
    write(
        &charter,
        "a.lua",
        "fleet.route('hangs', function(task) if task.kind == 'bulk' then print('hang') end end)\n",
    );
    assert_eq!(house.team().await.generation.number, 2);
    let _ = asked(&house).await.expect_err("it hangs");
    // The same files in a new VM: whoever does not meet the fault is answered.
    let routed = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Ok(routed) = house.charter.route(task(None), free(&["w-a", "w-b"])).await {
                return routed;
            }
        }
    });
    assert_eq!(routed.await.expect("it is loaded anew").generation, 2);
    let _ = asked(&house).await.expect_err("it hangs again");
    let team = house.team().await;
    assert_eq!((team.generation.number, team.rubrics.len()), (3, 2));
    let status = house.charter.status();
    let why = "generation 2 is put aside: its code did not come back for 2 s, twice; the one before it is in force until its files change";
    assert_eq!((status.last_good, status.error.as_deref()), (true, Some(why)));
    assert_eq!(asked(&house).await.expect("it answers").because, "a is free");

    // The files as they lie are not taken again by themselves, other ones are.
    write(&charter, "a.lua", "-- nothing hangs any more\n");
    assert_eq!(house.team().await.generation.number, 4);
    assert_eq!(house.charter.status().error, None);
}

#[tokio::test]
async fn a_vm_whose_memory_is_full_for_good_is_replaced() {
    let (dir, mut house) = house().await;
    let charter = dir.path().join("charter");
    house.team().await;
    let text = "local held = {}\nfleet.route('hoards', function(task)\n  if task.kind ~= 'hoard' then return nil end\n  \
                for _ = 1, 3 do held[#held + 1] = string.rep(string.char(64 + #held), 4e6) end\nend)\n";
    write(&charter, "a.lua", text);
    house.team().await;
    house.start(1, "shout", json!({"parts": ["x"]}));
    let first = house.input().await;
    let mut said = String::from("nothing");
    while said == "nothing" {
        let routed = house.charter.route(task(Some("hoard")), free(&["w-a", "w-b"])).await;
        said = routed.expect("the next one answers").asked[0].said.clone();
    }
    assert!(said.starts_with("a.lua:4: out of memory"), "{said}");
    // Its runs go on in a new VM, from their journal.
    let again = house.input().await;
    assert_eq!(format!("{again:?}"), format!("{first:?}"));
    let RunInput::Step { request, .. } = &again else { panic!("the first is a send") };
    house.answer(&again, loud(request));
    let end = house.finish(loud).await;
    assert_eq!((end.outcome, &end.value["texts"]), (RunOutcome::Done, &json!(["X"])), "{:?}", end.why);
}

#[tokio::test]
async fn a_send_waits_for_the_rubrics_and_holds_nobody_up() {
    let (dir, mut first) = house().await;
    let charter = dir.path().join("charter");
    first.team().await;
    let text = "fleet.recipe('auto', {}, function(job, run)\n  run:progress('go')\n  return run:send({ prompt = 'x' }).text\nend)\n";
    write(&charter, "auto.lua", text);
    first.team().await;
    let run = first.start(1, "auto", json!({}));
    let (journal, last) = (first.journal.clone(), first.charter.status().generation);
    drop(first);

    // Nothing is in force, but the old files are in the journal.
    write(&charter, "broken.lua", "local x = = 1\n");
    let state = dir.path().join("empty-state");
    fs::create_dir_all(&state).unwrap();
    let mut house = House::open(charter.clone(), state, journal, Some(last)).await;
    house.resume(&run);
    let progress = house.input().await;
    house.answer(&progress, json!(null));
    house.start(2, "auto", json!({}));
    let other = house.input().await;
    assert!(matches!(&other, RunInput::Step { run, verb: "progress", .. } if run.0 == 2), "{other:?}");

    fs::remove_file(charter.join("broken.lua")).unwrap();
    let send = house.input().await;
    let RunInput::Step { run, request, .. } = &send else { panic!("the send was given up: {send:?}") };
    let StepRequest::Send(asked) = &**request else { panic!("the send was refused: {request:?}") };
    assert_eq!((run.0, &asked.to), (1, &Some(Address::Role("w-b".into()))));
    house.answer(&send, loud(request));
    let RunInput::Ended { end, .. } = house.input().await else { panic!("it should end") };
    assert_eq!((end.outcome, end.value), (RunOutcome::Done, json!("X")));
}

#[tokio::test]
async fn a_charter_that_failed_its_tests_does_not_come_into_force_by_a_restart() {
    let (dir, first) = house().await;
    drop(first);
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    write(
        &charter,
        "tests/a.lua",
        "fleet.test('bulk', function(t)\n  t.equal(t.route({ kind = 'bulk' }).role, 'w-b')\nend)\n",
    );
    for _ in 0..2 {
        let house = House::open(charter.clone(), state.clone(), FakeJournal::default(), None).await;
        let status = house.charter.status();
        assert!(status.last_good, "{status:?}");
        let error = status.error.expect("it says why");
        assert!(error.starts_with("tests/a.lua:2: test 'bulk' failed"), "{error}");
    }
    // A copy that nobody can read is as good as none: what lies there is better than nothing.
    fs::write(state.join("charter-last-good.json"), "{").unwrap();
    let house = House::open(charter, state, FakeJournal::default(), None).await;
    let status = house.charter.status();
    assert_eq!((status.last_good, status.error), (false, None));
    tokio::time::timeout(Duration::from_secs(5), house.charter.route(task(None), free(&["w-a", "w-b"])))
        .await
        .expect("in time")
        .expect("it is in force");
}

#[tokio::test]
async fn a_rubric_that_is_too_late_is_counted_and_named() {
    let go = hang::held_at("held");
    let (dir, mut house) = house().await;
    house.team().await;
    let slow = "fleet.route('slow', function(task)\n  print('held')\n  while true do end\nend)\n";
    write(&dir.path().join("charter"), "a.lua", slow);
    assert_eq!(house.team().await.generation.number, 2);
    let refused = house.charter.route(task(None), free(&["w-a", "w-b"])).await.expect_err("it is too late");
    assert_eq!(refused.message, "the charter did not answer within 2 s");
    go.send(()).unwrap();
    let rows = tokio::time::timeout(PATIENCE, async {
        loop {
            let status = house.charter.status();
            if status.rubric_errors > 0 {
                return status.rubrics;
            }
            tokio::task::yield_now().await;
        }
    });
    let rows = rows.await.expect("it is counted");
    assert_eq!((rows[0].rubric.as_str(), rows[0].failed, rows[0].place.as_deref()), ("slow", 1, Some("a.lua:3")));
    assert!(rows[0].failed_at.is_some(), "so that it is told at every door");
}
