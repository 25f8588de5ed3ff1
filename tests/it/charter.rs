//! The charter through its port: rubrics, recipes, replay, reload, with an engine in memory.
//! No daemon and no worker: whoever needs a process to answer belongs into `live` or `kill`.

mod broken;
mod fake;
mod faults;
mod flood;
mod handlers;
mod hang;
mod saves;
mod together;

use std::fs;
use std::path::Path;
use std::time::Duration;

use fake::{FakeJournal, House, free, loud};
use fleetd::engine::ports::Policy;
use fleetd::fleet::refusal::Refusal;
use fleetd::fleet::routing::Verdict;
use fleetd::fleet::run::{Run, RunEffect, RunInput, RunOutcome, StepRequest};
use fleetd::fleet::team::{Address, Task};
use fleetd::fleet::time::Time;
use serde_json::json;

const TEAM: &str = r#"
fleet.profile("echo", { launcher = "exec", command = { "cat" } })
fleet.role("w-a", { profiles = { "echo" }, max_busy = 2 })
fleet.role("w-b", { profiles = { "echo" } })
fleet.route("bulk goes to a", function(task, team)
  if task.kind == "bulk" and team.roles["w-a"].free > 0 then return { role = "w-a", because = "a is free" } end
end)
fleet.route("otherwise", function() return { role = "w-b" } end)
"#;

const SHOUT: &str = r#"
fleet.recipe("shout", { input = { parts = "string[]" }, deadline = "5m" }, function(job, run)
  local replies = run:each(job.parts, function(part, n)
    if n == 2 then run:sleep("1s") end
    return run:send { to = "w-a", prompt = part }
  end)
  local found, missing = run:split(replies)
  run:progress("%d found", #found)
  local last = run:send { prompt = "rank " .. #found, kind = "bulk" }
  local texts = {}
  for n, reply in ipairs(found) do texts[n] = reply.text end
  return { texts = texts, last = last.text, drawn = run:random(1, 6), at = run:now() }
end)
"#;

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = dir.join(".new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, path).unwrap();
}

async fn house() -> (tempfile::TempDir, House) {
    let dir = tempfile::tempdir().unwrap();
    let charter = dir.path().join("charter");
    write(&charter.join("x"), "../team.lua", TEAM);
    write(&charter, "recipes/shout.lua", SHOUT);
    let state = dir.path().join("state");
    fs::create_dir_all(&state).unwrap();
    let house = House::open(charter, state, FakeJournal::default(), None).await;
    assert_eq!(house.charter.status().error, None);
    (dir, house)
}

fn task(kind: Option<&str>) -> Task {
    Task {
        prompt: "x".to_owned(),
        kind: kind.map(str::to_owned),
        files: Vec::new(),
        from: "operator".to_owned(),
        urgent: false,
        now: Time(0),
    }
}

#[tokio::test]
async fn rubrics_are_asked_in_order_and_say_why() {
    let (_dir, house) = house().await;
    let routed = house.charter.route(task(Some("bulk")), free(&["w-a", "w-b"])).await.unwrap();
    assert_eq!(routed.to, Address::Role("w-a".into()));
    assert_eq!((routed.because.as_str(), routed.rubric.as_str()), ("a is free", "bulk goes to a"));
    let routed = house.charter.route(task(None), free(&["w-a", "w-b"])).await.unwrap();
    assert_eq!(routed.because, "otherwise");
    assert_eq!(routed.asked[0].said, "nothing");
    assert_eq!(routed.generation, 1);
}

#[tokio::test]
async fn a_broken_rubric_is_counted_until_a_save_mends_it() {
    let (dir, house) = house().await;
    let broken = "fleet.route('bulk goes to a', function(task) return task.kind.x.y end)
fleet.route('otherwise', function() return { role = 'w-b' } end)";
    let team = TEAM.split("fleet.route").next().unwrap();
    write(&dir.path().join("charter/x"), "../team.lua", &format!("{team}{broken}"));
    house.charter.reload().await.unwrap();
    for _ in 0..3 {
        let routed = house.charter.route(task(Some("secret")), free(&["w-a", "w-b"])).await.unwrap();
        assert_eq!((routed.rubric.as_str(), routed.asked[0].verdict), ("otherwise", Verdict::Failed));
        assert!(routed.asked[0].said.starts_with("team.lua:5: "), "{}", routed.asked[0].said);
    }
    let status = house.charter.status();
    let rows = &status.rubrics;
    assert_eq!((status.rubric_errors, rows.len()), (3, 2));
    assert_eq!((rows[0].asked, rows[0].decided, rows[0].failed), (3, 0, 3));
    assert_eq!(rows[0].place.as_deref(), Some("team.lua:5"));
    assert_eq!((rows[1].asked, rows[1].decided, rows[1].failed), (3, 3, 0));
    write(&dir.path().join("charter/x"), "../team.lua", TEAM);
    house.charter.reload().await.unwrap();
    let rows = house.charter.status().rubrics;
    assert_eq!((rows[0].rubric.as_str(), rows[0].asked, rows[0].failed), ("bulk goes to a", 0, 0));
}

#[tokio::test]
async fn a_recipe_fans_out_and_gathers() {
    let (_dir, mut house) = house().await;
    house.start(1, "shout", json!({"parts": ["x", "y", "z"]}));
    let end = house.finish(loud).await;
    assert_eq!(end.outcome, RunOutcome::Done, "{:?}", end.why);
    assert_eq!(end.value["texts"], json!(["X", "Y", "Z"]));
    assert_eq!(end.value["last"], "RANK 3");
    assert_eq!(end.value["at"], json!(1_700_000_000_000_u64));
    let paths: Vec<&str> = house.submitted.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "each#1[1].send#1",
            "each#1[2].sleep#1",
            "each#1[3].send#1",
            "each#1[2].send#1",
            "progress#1",
            "send#1",
            "random#1",
            "now#1"
        ]
    );
}

#[tokio::test]
async fn a_crash_at_any_step_ends_in_the_same_value_and_sends_nothing_twice() {
    let (dir, mut whole) = house().await;
    whole.start(1, "shout", json!({"parts": ["x", "y", "z"]}));
    let end = whole
        .finish(|request| match request {
            StepRequest::Value(_) => json!(4),
            other => loud(other),
        })
        .await;
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    for crash in 0..=whole.submitted.len() {
        let journal = FakeJournal::default();
        let mut first = House::open(charter.clone(), state.clone(), journal.clone(), None).await;
        let run = first.start(1, "shout", json!({"parts": ["x", "y", "z"]}));
        for _ in 0..crash {
            let input = first.input().await;
            let RunInput::Step { path, request, .. } = &input else {
                panic!("ended early");
            };
            first.submitted.push((path.to_string(), (**request).clone()));
            let value = match &**request {
                StepRequest::Value(_) => json!(4),
                other => loud(other),
            };
            first.answer(&input, value);
        }
        let before = first.submitted.clone();
        drop(first);
        let generation = run.generation.clone();
        let mut second = House::open(charter.clone(), state.clone(), journal, Some(generation)).await;
        second.resume(&run);
        let again = second
            .finish(|request| match request {
                StepRequest::Value(_) => json!(4),
                other => loud(other),
            })
            .await;
        assert_eq!(again, end, "crash after {crash} steps");
        for (path, _) in &second.submitted {
            assert!(before.iter().all(|(old, _)| old != path), "{path} was finished and came again");
        }
        assert_eq!(before.len() + second.submitted.len(), whole.submitted.len());
    }
}

#[tokio::test]
async fn a_bad_save_changes_nothing_and_a_good_one_decides_the_next_task() {
    let (dir, mut house) = house().await;
    house.team().await;
    let charter = dir.path().join("charter");
    write(&charter, "routes.lua", "fleet.recpie('x')\n");
    let refused = house.charter.reload().await.expect_err("it has a mistake");
    assert_eq!(refused.message, "routes.lua:1: no `recpie`; did you mean `recipe`?\n  1 | fleet.recpie('x')");
    let status = house.charter.status();
    assert_eq!((status.generation.number, status.rejected), (1, 1));
    assert_eq!(status.error.as_deref(), Some(refused.message.as_str()));
    let routed = house.charter.route(task(None), free(&["w-a", "w-b"])).await.unwrap();
    assert_eq!(routed.generation, 1);

    fs::remove_file(charter.join("routes.lua")).unwrap();
    write(&charter, "a.lua", "fleet.route('all to a', function() return { role = 'w-a' } end)\n");
    let team = tokio::time::timeout(Duration::from_secs(20), house.team()).await.expect("noticed");
    assert_eq!(team.generation.number, 2);
    assert_eq!(team.rubrics[0], "all to a");
    assert_eq!(house.charter.status().error, None);
}

#[tokio::test]
async fn a_run_waits_for_a_store_that_cannot_be_read_for_a_moment() {
    let (_dir, mut house) = house().await;
    house.team().await;
    house.journal.0.lock().unwrap().unreadable = 2;
    house.start(1, "shout", json!({"parts": ["x"]}));
    let end = house.finish(loud).await;
    assert_eq!((end.outcome, &end.value["texts"]), (RunOutcome::Done, &json!(["X"])), "{:?}", end.why);
    assert_eq!(house.journal.0.lock().unwrap().unreadable, 0);
}

#[tokio::test]
async fn a_run_goes_on_with_the_files_it_began_with() {
    let (dir, mut house) = house().await;
    house.team().await;
    let charter = dir.path().join("charter");
    let run = house.start(1, "shout", json!({"parts": ["x"]}));
    let first = house.input().await;
    write(&charter, "recipes/shout.lua", "fleet.recipe('shout', {}, function() return 'new' end)\n");
    assert_eq!(house.team().await.generation.number, 2);
    // The new files decide for new runs, the old ones for the old run.
    house.start(2, "shout", json!({}));
    let RunInput::Ended { run: ended, end } = house.input().await else { panic!("it has no steps") };
    assert_eq!((ended.0, end.value), (2, json!("new")));
    let RunInput::Step { request, .. } = &first else { panic!("the first is a send") };
    house.answer(&first, loud(request));
    let next = house.input().await;
    assert!(matches!(&next, RunInput::Step { verb: "progress", .. }), "{next:?}");

    // After a restart the old files are only in the journal.
    let (state, journal) = (dir.path().join("state"), house.journal.clone());
    let last = house.charter.status().generation;
    drop(house);
    let mut second = House::open(charter, state, journal, Some(last)).await;
    assert_eq!(second.charter.status().generation.number, 2);
    second.resume(&run);
    let end = second.finish(loud).await;
    assert_eq!((end.outcome, &end.value["texts"]), (RunOutcome::Done, &json!(["X"])), "{:?}", end.why);
}

#[tokio::test]
async fn a_step_that_does_not_match_its_record_ends_the_run_and_names_both_sides() {
    let (dir, mut house) = house().await;
    let run = house.start(1, "shout", json!({"parts": ["x"]}));
    let first = house.input().await;
    let RunInput::Step { request, .. } = &first else { panic!("the first is a send") };
    house.answer(&first, loud(request));
    let journal = house.journal.clone();
    drop(house);
    {
        let mut memory = journal.0.lock().unwrap();
        let steps = memory.finished.get_mut(&run.id).unwrap();
        let changed = fleetd::fleet::run::Step {
            hash: "00".to_owned(),
            what: "to w-a: something else".to_owned(),
            at: "recipes/shout.lua:9".to_owned(),
            ..(*steps[0].step).clone()
        };
        steps[0].step = std::sync::Arc::new(changed);
    }
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    let mut second = House::open(charter, state, journal, None).await;
    second.resume(&run);
    let RunInput::Ended { end, .. } = second.input().await else { panic!("it should end at once") };
    assert_eq!(end.outcome, RunOutcome::Failed);
    assert_eq!(
        end.why.as_deref(),
        Some(
            "divergence: the journal says that each#1[1].send#1 was run:send (to w-a: something else) at recipes/shout.lua:9, but the code came to run:send (to w-a: x) at recipes/shout.lua:5"
        )
    );
}

/// Returns whether this process has a thread of the VM of a generation.
fn has_vm(generation: u64) -> bool {
    let name = format!("charter-{generation}\n");
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok()).any(|comm| comm == name)
}

#[tokio::test]
async fn a_run_that_is_resumed_where_it_failed_goes_on_and_is_let_go_when_it_is_cancelled() {
    let (dir, mut house) = house().await;
    house.team().await;
    let charter = dir.path().join("charter");
    let broken = "fleet.recipe('job', {}, function(job, run)\n  run:sleep(1)\n  error('boom')\nend)\n";
    write(&charter, "job.lua", broken);
    house.team().await;
    let run = house.start(1, "job", json!({}));
    assert_eq!(house.finish(loud).await.outcome, RunOutcome::Failed);
    write(&charter, "job.lua", &broken.replace("error('boom')", "run:sleep(2) run:now() return 7"));
    let team = house.team().await;
    // No order for another run comes between.
    let mended = std::sync::Arc::new(Run { generation: team.generation.clone(), ..(*run).clone() });
    let before = house.journal.0.lock().unwrap().finished[&run.id].clone();
    house.resume(&mended);
    let end = house.finish(loud).await;
    assert_eq!((end.outcome, end.value), (RunOutcome::Done, json!(7)), "{:?}", end.why);

    // And one that is cancelled: nothing else holds its VM once other files are in force.
    house.journal.0.lock().unwrap().finished.insert(run.id, before);
    house.resume(&mended);
    let waits = house.input().await;
    assert!(matches!(&waits, RunInput::Step { path, .. } if path.as_str() == "sleep#2"), "{waits:?}");
    write(&charter, "job.lua", broken);
    house.team().await;
    house.answer(&waits, json!(null));
    assert!(matches!(house.input().await, RunInput::Step { path, .. } if path.as_str() == "now#1"));
    assert!(has_vm(team.generation.number));
    house.charter.run(RunEffect::Drop(run.id));
    let gone = async {
        while has_vm(team.generation.number) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(fake::PATIENCE, gone).await.expect("its VM ends with its last run");
}

#[tokio::test]
async fn a_broken_charter_starts_with_the_last_good_copy_or_degraded() {
    let (dir, house) = house().await;
    drop(house);
    let charter = dir.path().join("charter");
    write(&charter, "broken.lua", "local x = = 1\n");
    let state = dir.path().join("state");
    let house = House::open(charter.clone(), state, FakeJournal::default(), None).await;
    let status = house.charter.status();
    assert!(status.last_good, "{status:?}");
    assert!(status.error.as_deref().is_some_and(|error| error.starts_with("broken.lua:1: ")), "{status:?}");
    house.charter.route(task(None), free(&["w-a", "w-b"])).await.expect("the copy answers");
    drop(house);

    let nowhere = dir.path().join("empty-state");
    fs::create_dir_all(&nowhere).unwrap();
    let mut house = House::open(charter.clone(), nowhere, FakeJournal::default(), None).await;
    assert_eq!(house.charter.status().generation.number, 0);
    let refused = house.charter.route(task(None), free(&[])).await.expect_err("nothing is in force");
    assert!(refused.to_string().contains("broken.lua:1: "), "{refused}");
    fs::remove_file(charter.join("broken.lua")).unwrap();
    assert_eq!(house.team().await.generation.number, 1);
}

#[tokio::test]
async fn a_directory_that_is_not_there_yet_is_waited_for_with_the_last_good_copy() {
    let (dir, house) = house().await;
    drop(house);
    let (charter, state, away) = (dir.path().join("charter"), dir.path().join("state"), dir.path().join("away"));
    fs::rename(&charter, &away).unwrap();
    let mut house = House::open(charter.clone(), state, FakeJournal::default(), None).await;
    let status = house.charter.status();
    assert!(
        status.last_good && status.error.is_some_and(|error| error.starts_with("cannot read the charter directory"))
    );
    house.charter.route(task(None), free(&["w-a", "w-b"])).await.expect("the copy answers");
    write(&away, "more.lua", "fleet.role('late', { profiles = { 'echo' } })\n");
    fs::rename(&away, &charter).unwrap();
    while !house.team().await.roles.contains_key(&"late".into()) {}
    assert_eq!(house.charter.status().error, None);
}

#[tokio::test]
async fn a_number_names_one_charter_also_after_a_kill_between_the_copy_and_the_store() {
    let (dir, house) = house().await;
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    let first = house.charter.status().generation;
    write(&charter, "more.lua", "-- another one\n");
    house.charter.reload().await.unwrap();
    let second = house.charter.status().generation;
    drop(house);
    // The engine had not committed the second one.
    let stored = Some(fleetd::fleet::team::Generation { hash: String::new(), ..first.clone() });
    let house = House::open(charter.clone(), state.clone(), FakeJournal::default(), stored.clone()).await;
    assert_eq!((first.number, house.charter.status().generation), (1, second));
    drop(house);
    write(&charter, "more.lua", "-- a third one\n");
    let house = House::open(charter, state, FakeJournal::default(), stored).await;
    assert_eq!(house.charter.status().generation.number, 3);
}

#[tokio::test]
async fn each_reason_for_which_files_cannot_be_read_is_a_refusal_of_its_own() {
    let (dir, house) = house().await;
    let file = dir.path().join("charter/more.lua");
    let mut refused = Vec::new();
    for (bytes, times) in [(&b""[..], 1), (b"\xff", 2), (b"-- \0", 3)] {
        // Not in place: whoever looks in between would find it empty.
        fs::write(dir.path().join("charter/.bytes"), bytes).unwrap();
        fs::rename(dir.path().join("charter/.bytes"), &file).unwrap();
        for _ in 0..2 {
            refused.push(house.charter.reload().await.expect_err("it cannot be read").message);
        }
        assert_eq!(house.charter.status().rejected, times);
    }
    refused.dedup();
    assert_eq!(refused.len(), 3, "{refused:?}");
}

#[tokio::test]
async fn a_save_that_fails_its_tests_is_not_taken_over() {
    let (dir, house) = house().await;
    let charter = dir.path().join("charter");
    write(
        &charter,
        "tests/a.lua",
        "fleet.test('bulk', function(t)\n  t.equal(t.route({ kind = 'bulk' }).role, 'w-b')\nend)\n",
    );
    let refused = house.charter.reload().await.expect_err("the test is wrong");
    assert_eq!(
        refused.message,
        "tests/a.lua:2: test 'bulk' failed: wanted \"w-b\", got \"w-a\"\n  2 |   t.equal(t.route({ kind = 'bulk' }).role, 'w-b')"
    );
    assert_eq!(house.charter.status().generation.number, 1);
}

#[tokio::test]
async fn a_directory_that_is_replaced_as_a_whole_is_noticed() {
    let (dir, mut house) = house().await;
    house.team().await;
    let (charter, beside) = (dir.path().join("charter"), dir.path().join("next"));
    write(
        &beside,
        "only.lua",
        "fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\nfleet.role('w', { profiles = { 'p' } })\n",
    );
    fs::rename(&charter, dir.path().join("old")).unwrap();
    fs::rename(&beside, &charter).unwrap();
    let team = loop {
        let team = house.team().await;
        if team.roles.len() == 1 {
            break team;
        }
    };
    assert!(team.roles.contains_key(&"w".into()));
}

#[tokio::test]
async fn handlers_are_called_and_their_actions_go_up() {
    let (dir, mut house) = house().await;
    house.team().await;
    let text = "fleet.on('worker_gone', function(event)\n  return { action = 'tell_leader', text = event.worker .. ' is gone' }\nend)\n\
                fleet.on('charter_loaded', function(event)\n  return { action = 'tell_leader', text = 'generation ' .. event.generation }\nend)\n";
    write(&dir.path().join("charter"), "hooks.lua", text);
    house.team().await;
    let mut said = Vec::new();
    house.charter.event(fleetd::fleet::events::FleetEvent::WorkerGone {
        worker: "w-a-1".into(),
        role: "w-a".into(),
        why: "it died".to_owned(),
    });
    while said.len() < 2 {
        if let fleetd::charter::Upward::Act(fleetd::fleet::acts::Action::TellLeader { text }) = house.next().await {
            said.push(text);
        }
    }
    assert_eq!(said, ["generation 2", "w-a-1 is gone"]);
}

#[tokio::test]
async fn a_refused_step_is_an_error_at_its_line_and_stays_one_in_a_replay() {
    let (dir, mut house) = house().await;
    house.team().await;
    let text = "fleet.recipe('careful', {}, function(job, run)\n\
                local ok, why = pcall(function() return run:send { to = 'w-z-9', prompt = 'x' } end)\n\
                local after = run:send { to = 'w-a', prompt = 'after' }\n\
                return { ok, why, after.text }\nend)\n";
    write(&dir.path().join("charter"), "careful.lua", text);
    house.team().await;
    let run = house.start(1, "careful", json!({}));
    let first = house.input().await;
    let RunInput::Step { path, .. } = &first else { panic!("the first is a send") };
    let refusal = Refusal::unknown("worker", "w-z-9", ["w-a-1"]);
    house.charter.run(RunEffect::Refuse { run: run.id, path: path.clone(), refusal: refusal.clone() });
    // The refusal becomes the step's value in the journal, under the same path and hash.
    let again = house.input().await;
    let RunInput::Step { path: second, request, .. } = &again else { panic!("it is journaled") };
    assert_eq!(second, path);
    let StepRequest::Refused(value) = &**request else { panic!("as one that was refused: {request:?}") };
    house.answer(&again, value.clone());
    let after = house.input().await;
    assert!(matches!(&after, RunInput::Step { path, .. } if path.as_str() == "send#2"), "{after:?}");
    let journal = house.journal.clone();
    let last = house.charter.status().generation;
    drop(house);
    let (charter, state) = (dir.path().join("charter"), dir.path().join("state"));
    let mut second = House::open(charter, state, journal, Some(last)).await;
    second.resume(&run);
    let end = second.finish(loud).await;
    let why = format!("careful.lua:2: run:send: {refusal}");
    assert_eq!((end.outcome, end.value), (RunOutcome::Done, json!([false, why, "AFTER"])));
    assert_eq!(second.submitted.len(), 1);

    // What cannot even be recorded ends the run.
    second.start(2, "careful", json!({}));
    let first = second.input().await;
    let RunInput::Step { run, path, .. } = &first else { panic!("the first is a send") };
    for _ in 0..2 {
        second.charter.run(RunEffect::Refuse { run: *run, path: path.clone(), refusal: refusal.clone() });
    }
    let _journaled = second.input().await;
    let RunInput::Ended { end, .. } = second.input().await else { panic!("it should end") };
    assert_eq!((end.outcome, end.why), (RunOutcome::Failed, Some(why)));
}
