//! The charter through its port: rubrics, recipes, replay, reload, with an engine in memory.

mod fake;

use std::fs;
use std::path::Path;
use std::time::Duration;

use fake::{FakeJournal, House, free, loud};
use fleetd::engine::ports::Policy;
use fleetd::fleet::run::{RunInput, RunOutcome};
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
            fleetd::fleet::run::StepRequest::Value(_) => json!(4),
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
                fleetd::fleet::run::StepRequest::Value(_) => json!(4),
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
                fleetd::fleet::run::StepRequest::Value(_) => json!(4),
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
