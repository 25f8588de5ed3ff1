//! What rubrics are shown, what is made of what they say, and what happens to one that is broken.
//! Asked here without a daemon; that a broken one is counted is shown in `tests/it/charter`.

use std::sync::Arc;

use serde_json::json;

use super::super::sources::Sources;
use super::super::testing::all_free;
use super::*;
use crate::fleet::load::Used;
use crate::fleet::load::{EndpointLoad, WorkerLoad};
use crate::fleet::team::Generation;
use crate::fleet::time::Time;

const TEAM: &str = "fleet.profile('p', { launcher = 'exec', command = { 'cat' }, endpoint = 'llm' })
fleet.role('w-a', { profiles = { 'p' }, max_busy = 2, max_workers = 3 })
fleet.role('w-b', { profiles = { 'p' } })\n";

fn world(routes: &str) -> World {
    let sources = Sources::from_files([("team.lua", TEAM), ("routes.lua", routes)]);
    World::load(Arc::new(sources), Generation { number: 7, hash: String::new() }, Arc::default()).expect("it loads")
}

fn load(world: &World) -> TeamLoad {
    let mut load = all_free(&world.team);
    let knows = vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()];
    let worker =
        WorkerLoad { role: "w-a".into(), state: "ready".into(), free: true, turns: 4, knows, ..WorkerLoad::default() };
    Arc::make_mut(&mut load.workers).insert("w-a-1".into(), Arc::new(worker));
    let used = Used { turns: 3, input: 900, output: 70, cost: 0.25 };
    let busy = EndpointLoad { max_busy: Some(4), busy: 3, free: Some(1), recent_failures: 2, used };
    load.endpoints.insert("llm".into(), busy);
    load.roles.get_mut(&"w-a".into()).expect("it is there").used = used;
    load
}

/// Returns what the rubrics of a file say, each as verdict and words.
fn said(routes: &str) -> Vec<(Verdict, String)> {
    let world = world(routes);
    let files = vec!["src/b.rs".to_owned()];
    let task = Task { prompt: "secret".into(), files, from: "leader".into(), now: Time(5_000), ..Task::default() };
    ask(&world, &task, &load(&world)).asked.into_iter().map(|one| (one.verdict, one.said)).collect()
}

#[test]
fn a_rubric_sees_the_task_and_how_the_team_stands() {
    let words = said(
        "fleet.route('shown', function(task, team)
  local a, llm, one = team.roles['w-a'], team.endpoints.llm, team.workers['w-a-1']
  local seen = { task.files[1], task.now, a.free, a.max_workers, a.open, a.used.input, llm.max_busy, llm.free,
    llm.used.cost, llm.recent_failures, one.role, one.free, one.turns, one.knows[2], team.workers['w-a-2'] == nil }
  local words = {}
  for n, value in ipairs(seen) do words[n] = tostring(value) end
  return { role = 'w-a', because = table.concat(words, ' ') }
end)",
    );
    let seen = "w-a: src/b.rs 5 2 3 true 900 4 1 0.25 2 w-a true 4 src/b.rs true";
    assert_eq!(words, [(Verdict::Decided, seen.to_owned())]);
}

#[test]
fn why_a_rubric_decided_so_is_kept_short() {
    let world = world("fleet.route('quotes', function(task) return { role = 'w-a', because = task.prompt } end)");
    let task = Task { prompt: "long ".repeat(200_000), ..Task::default() };
    let routed = ask(&world, &task, &load(&world)).routed.expect("it decides");
    assert_eq!(routed.because.chars().count(), 201, "with the sign that it was longer");
    assert!(routed.asked[0].said.len() < 300);
}

#[test]
fn what_a_rubric_sees_is_frozen_and_the_same_for_the_next_one() {
    let words = said(
        "fleet.route('task', function(task) task.prompt = 'x' end)
fleet.route('files', function(task) table.insert(task.files, 'x') end)
fleet.route('role', function(_, team) team.roles['w-a'].free = 9 end)
fleet.route('worker', function(_, team) team.workers['w-a-1'].knows[1] = 'x' end)
fleet.route('reads', function(task, team)
  return { role = 'w-a', because = task.prompt .. #task.files .. team.roles['w-a'].free .. team.workers['w-a-1'].knows[1] }
end)",
    );
    for (n, (verdict, why)) in words[..4].iter().enumerate() {
        assert_eq!(*verdict, Verdict::Failed);
        assert!(why.starts_with(&format!("routes.lua:{}: ", n + 1)) && why.contains("readonly"), "{why}");
    }
    assert_eq!(words[4], (Verdict::Decided, "w-a: secret12src/a.rs".to_owned()));
}

#[test]
fn a_broken_rubric_is_skipped_and_says_where_and_what_would_be_right() {
    let words = said(
        "fleet.route('loops', function() while true do end end)
fleet.route('no role', function() return { role = 'w-c' } end)
fleet.route('no worker', function() return { worker = 'w-a-9' } end)
fleet.route('both', function() return { role = 'w-a', worker = 'w-a-1' } end)
fleet.route('misspelt', function(_, team) return team.roles['w-aa'] end)
fleet.route('no endpoint', function(_, team) return team.endpoints.lm end)
fleet.route('nothing', function() end)
fleet.route('works', function() return { worker = 'w-a-1' } end)",
    );
    let verdicts: Vec<Verdict> = words.iter().map(|(verdict, _)| *verdict).collect();
    let failed = Verdict::Failed;
    let (stopped, nothing, decided) = (Verdict::Stopped, Verdict::Nothing, Verdict::Decided);
    assert_eq!(verdicts, [stopped, failed, failed, failed, failed, failed, nothing, decided]);
    let begins = [
        "routes.lua:1: ",
        "routes.lua:2: there is no role 'w-c'; did you mean 'w-a'?; valid: w-a, w-b",
        "routes.lua:3: there is no worker 'w-a-9'; did you mean 'w-a-1'?",
        "routes.lua:4: a rubric's answer names a role or a worker, not both",
        "routes.lua:5: there is no role `w-aa`; did you mean `w-a`?",
        "routes.lua:6: there is no endpoint `lm`; did you mean `llm`?",
        "nothing",
        "w-a-1: works",
    ];
    for ((_, word), begin) in words.iter().zip(begins) {
        assert!(word.starts_with(begin), "wanted {begin}, got {word}");
    }
}

#[test]
fn a_test_says_how_the_team_stands_and_a_misspelt_field_is_a_mistake() {
    let routes = "fleet.route('free', function(task, team)
  if team.roles['w-a'].free == 0 then return { role = 'w-b', because = 'a is full' } end
  for name, worker in pairs(team.workers) do
    if worker.knows[1] == task.files[1] then return { worker = name } end
  end
end)
fleet.route('otherwise', function() return { role = 'w-a' } end)";
    let team = |told: serde_json::Value| super::super::standing::with(all_free(&world(routes).team), &told);
    let full = team(json!({"roles": {"w-a": {"busy": 2}}})).expect("it can be");
    assert_eq!(full.roles[&"w-a".into()].free, 0);
    let known = team(json!({"workers": {"w-a-1": {"knows": ["x"]}}, "endpoints": {"llm": {"max_busy": 4, "busy": 1}}}));
    let known = known.expect("it can be");
    assert_eq!((known.workers[&"w-a-1".into()].role.as_str(), known.endpoints["llm"].free), ("w-a", Some(3)));
    for (told, why) in [
        (json!({"role": {}}), "the team: unknown field 'role'; did you mean 'roles'?"),
        (json!({"roles": {"w-c": {}}}), "there is no role 'w-c'"),
        (json!({"roles": {"w-a": {"fre": 0}}}), "role 'w-a' of the team: unknown field 'fre'; did you mean 'free'?"),
        (json!({"endpoints": {"lm": {}}}), "there is no endpoint 'lm'"),
        (json!({"workers": {"x-1": {}}}), "there is no role of worker 'x-1' 'x'"),
        (
            json!({"workers": {"w-a-1": {"knows": "x"}}}),
            "worker 'w-a-1' of the team: field 'knows': expected a list of texts",
        ),
        (json!({"roles": {"w-a": {"used": {"turns": -1}}}}), "role 'w-a' of the team: field 'used': field 'turns'"),
    ] {
        let said = team(told.clone()).expect_err("it cannot be");
        assert!(said.starts_with(why), "{told}: {said}");
    }
}
