//! What launchers make of profiles, and where their mistakes and those of profiles are shown.
//! The launchers inside the program are checked against what was recorded of the real ones in tests of their own.

use std::sync::Arc;

use super::*;
use crate::charter::error::CharterErrors;
use crate::charter::sources::Sources;
use crate::fleet::plan::Drive;
use crate::fleet::team::{Generation, Profile};

fn load(text: &str) -> Result<World, CharterErrors> {
    World::load(Arc::new(Sources::from_files([("a.lua", text)])), Generation::default(), Arc::default())
}

fn refused(text: &str) -> String {
    load(text).map(drop).expect_err("it is wrong").to_string()
}

fn profile(text: &str) -> Profile {
    let world = load(&format!("{text}\nfleet.role('w', {{ profiles = {{ 'p' }} }})")).expect("it loads");
    world.team.profiles[&"p".into()].clone()
}

fn plan(text: &str) -> Arc<Plan> {
    profile(text).plan.expect("it has a plan")
}

#[test]
fn each_profile_has_the_plan_of_its_launcher() {
    let exec = profile("fleet.profile('p', { launcher = 'exec', command = { 'tr', 'a-z', 'A-Z' } })");
    let plan = exec.plan.clone().expect("it has a plan");
    assert_eq!((plan.drive, &plan.argv), (Drive::Turn, &exec.command));
    assert!(!exec.has_session());
    let typed = profile("fleet.profile('p', { launcher = 'typed', command = { 'x' }, typing = { quiet = '5s' } })");
    assert!(typed.has_session());
    assert_eq!(typed.typing().quiet.to_string(), "5s");
}

#[test]
fn a_charter_adds_launchers_and_overrides_those_that_there_are() {
    let own = plan(
        "fleet.launcher('exec', { takes = { 'model' } }, function(worker)\n\
           return { drive = 'typed', argv = { 'agent', worker.model, worker.home .. '/x' }, lists_tools = true }\n\
         end)\n\
         fleet.profile('p', { launcher = 'exec', model = 'big' })",
    );
    assert_eq!(own.argv, ["agent", "big", "@{fleet.home}/x"]);
    assert!(own.lists_tools && own.has_session());
    let twice = "fleet.launcher('mine', function() end)\nfleet.launcher('mine', function() end)";
    assert!(
        refused(twice).starts_with("a.lua:2: launcher 'mine' was already declared at a.lua:1"),
        "{}",
        refused(twice)
    );
}

#[test]
fn mistakes_are_shown_where_they_are_made() {
    const ROLE: &str = "fleet.role('w', { profiles = { 'p' } })\n";
    let told = |text: &str| refused(&format!("{ROLE}{text}"));
    let missing = told("fleet.profile('p', { launcher = 'exec' })");
    let said = "a.lua:2: profile 'p': field 'command' is missing: a worker needs a program to start";
    assert!(missing.starts_with(said), "{missing}");
    let extra = told("fleet.profile('p', {\n  launcher = 'exec', command = { 'x' },\n  model = 'big' })");
    let said = "a.lua:4: profile 'p': field 'model': the launcher 'exec' has no use for it; it takes command";
    assert!(extra.starts_with(said), "{extra}");
    let tree = told("fleet.profile('p', { launcher = 'exec', command = { 'x' },\n worktree = true })");
    let said = "a.lua:3: profile 'p': field 'worktree': a worker of the launcher 'exec' is a new process for each turn";
    assert!(tree.starts_with(said), "{tree}");
    let option = told(
        "fleet.launcher('mine', { options = { allow = 'what it may do' } }, function() end)\n\
         fleet.profile('p', { launcher = 'mine', options = { alow = {} } })",
    );
    assert!(option.contains("there is no option 'alow'; did you mean 'allow'? valid: allow"), "{option}");
    let broken = told(
        "fleet.launcher('mine', function(worker)\n  return { drive = 'typed', argv = { worker.nothing.more } }\nend)\n\
         fleet.profile('p', { launcher = 'mine' })",
    );
    assert!(
        broken.starts_with("a.lua:3: launcher 'mine': the plan for profile 'p': attempt to index nil with 'more'"),
        "{broken}"
    );
    let wrong = told(
        "fleet.launcher('mine', function(worker) return { drive = 'typed', argv = 'x' } end)\n\
         fleet.profile('p', { launcher = 'mine' })",
    );
    let said = "a.lua:2: launcher 'mine': the plan for profile 'p': field 'argv': expected a list of texts, got a text";
    assert!(wrong.starts_with(said), "{wrong}");
    let said = told(
        "fleet.launcher('mine', function(worker) error('choose a model', 0) end)\n\
         fleet.profile('p', { launcher = 'mine' })",
    );
    assert!(said.starts_with("a.lua:2: launcher 'mine': the plan for profile 'p': choose a model"), "{said}");
    let endless =
        told("fleet.launcher('mine', function() while true do end end)\nfleet.profile('p', { launcher = 'mine' })");
    assert!(endless.contains("ran for more than 50 ms"), "{endless}");
    let waits =
        told("fleet.launcher('mine', function(worker) worker.argv = 1 end)\nfleet.profile('p', { launcher = 'mine' })");
    assert!(waits.contains("readonly"), "a launcher sees frozen tables: {waits}");
}

#[test]
fn the_secrets_of_an_endpoint_are_markers_for_lua() {
    let text = "fleet.launcher('mine', { takes = { 'endpoint' } }, function(worker)\n\
                  return { drive = 'typed', argv = { 'x' }, env = { U = worker.endpoint.url, K = worker.endpoint.key } }\n\
                end)\n\
                fleet.profile('p', { launcher = 'mine', endpoint = 'local-llm' })";
    let plan = plan(text);
    assert_eq!(plan.env["U"], "@{fleet.endpoint.url}");
    assert_eq!(plan.env["K"], "@{fleet.endpoint.key}");
    assert_eq!(plan.endpoint.as_deref(), Some("local-llm"));
}

#[test]
fn fleetds_own_launchers_name_an_address_by_its_marker_and_only_with_an_endpoint() {
    let world = load("fleet.route('r', function() end)").expect("it loads");
    let names = |wanted: fn(&Launcher) -> bool| -> Vec<String> {
        world.registry.borrow().launchers.iter().filter(|one| wanted(one)).map(|one| one.name.clone()).collect()
    };
    assert!(names(|one| !one.shipped || one.about.is_none()).is_empty());
    let with_model = names(|one| one.takes.iter().any(|field| field == "model"));
    assert!(with_model.len() >= 2, "{with_model:?}");
    for name in with_model {
        let of = |more: &str| plan(&format!("fleet.profile('p', {{ launcher = '{name}', model = 'm'{more} }})"));
        let holds = |plan: &Plan, marker: &str| plan.env.values().any(|value| value == marker);
        let (with, without) = (of(", endpoint = 'e'"), of(""));
        assert!(holds(&with, "@{fleet.endpoint.url}") && holds(&with, "@{fleet.endpoint.key}"), "{name}");
        let text = serde_json::to_string(&*without).expect("JSON");
        assert!(!text.contains("endpoint"), "{name} without an endpoint: {text}");
        assert!(with.shows_ends() && with.has_session() && with.guard.is_some(), "{name}");
        let key = serde_json::to_string(&(&with.argv, &with.files)).expect("JSON");
        assert!(!key.contains("endpoint.key"), "{name} puts the key where others see it");
    }
}

#[test]
fn the_guard_of_a_worker_knows_every_name_that_takes_a_leader_off_its_subscription() {
    let leaders: Value = serde_json::from_str(include_str!("../../../lua/leaders.json")).expect("it is JSON");
    for leader in leaders.as_array().expect("a list") {
        let (name, settings) = (leader["leader"].as_str().expect("a name"), &leader["settings"]);
        let of = |more: &str| plan(&format!("fleet.profile('p', {{ launcher = '{name}'{more} }})")).guard.clone();
        let guard = of("").expect("it has a guard");
        let keys = |table: &Value| table.as_object().expect("a table").keys().cloned().collect::<Vec<_>>();
        let variables = [keys(&leader["variables"]), keys(&leader["switches"])].concat();
        let begins = keys(&leader["switches_that_begin_with"]).into_iter().map(|begin| format!("{begin}*"));
        let table = settings["variables_in"].as_str().expect("a name");
        let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(str::to_owned);
        let proxies = proxies.iter().flat_map(|name| [name.clone(), name.to_lowercase()]);
        let variables = variables.into_iter().chain(begins).chain(proxies).map(|name| format!("{table}.{name}"));
        for name in keys(&settings["keys"]).into_iter().chain(variables) {
            assert!(guard.names.contains(&name), "{name}: {:?}", guard.names);
        }
        // Without an endpoint it reads the user's own settings; with one, those in its private folder alone.
        let own = settings["files"].as_array().expect("a list").iter().find(|file| file["home"].is_string());
        let own = own.expect("the user has settings");
        let at_home = format!("@{{fleet.user_home}}/{}", own["home"].as_str().expect("a path"));
        assert!(guard.files.contains(&at_home), "{:?}", guard.files);
        let moved = of(&format!(", env = {{ {} = '/there' }}", settings["config_dir"].as_str().expect("a name")));
        let there = format!("/there/{}", own["config"].as_str().expect("a path"));
        assert!(moved.expect("it has a guard").files.contains(&there));
        let with = of(", endpoint = 'e'").expect("it has a guard");
        assert!(with.files.iter().all(|file| !file.contains("user_home")), "{:?}", with.files);
    }
}

#[test]
fn what_is_known_of_a_leaders_screen_is_what_its_launcher_reads_by() {
    let screens: Value = serde_json::from_str(include_str!("../../../lua/screens.json")).expect("it is JSON");
    for screen in screens.as_array().expect("a list") {
        let name = screen["program"].as_str().expect("a name");
        let plan = plan(&format!("fleet.profile('p', {{ launcher = '{name}' }})"));
        let typing = serde_json::to_value(plan.typing.as_deref().expect("it is typed to")).expect("JSON");
        for word in ["prompt", "placeholder", "busy", "dialog", "near"] {
            assert_eq!(screen[word], typing[word], "{name}: {word}");
        }
    }
}
