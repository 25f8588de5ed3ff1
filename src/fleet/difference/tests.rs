//! What is told of two charters, in words: every kind of thing, new, changed and removed.
//! How rubrics that moved are told is tested beside `order`.

use serde_json::json;

use super::*;
use crate::fleet::hours::Days;

fn team(change: impl FnOnce(&mut Value)) -> Team {
    let mut team = json!({
        "generation": {"number": 1, "hash": "x"},
        "profiles": {"p": {"name": "p", "launcher": "exec", "command": ["cat"], "timeout": "30000ms", "env": {"KEY": "secret"}}},
        "roles": {"w": {"name": "w", "profiles": ["p"], "max_busy": 6, "max_waiting": 100}},
        "recipes": {"r": {"name": "r", "input": {"properties": {"a": {"type": "string"}}}, "at": "r.lua:1"}},
        "rubrics": ["one", "two", "three"],
        "handlers": ["run_ended"],
    });
    change(&mut team);
    serde_json::from_value(team).expect("a team")
}

fn words(change: impl FnOnce(&mut Value)) -> Vec<String> {
    between(&team(|_| ()), &team(change)).into_iter().map(|change| change.words).collect()
}

#[test]
fn the_same_is_no_difference_wherever_it_stands() {
    assert!(words(|team| team["recipes"]["r"]["at"] = "other.lua:9".into()).is_empty());
    assert!(words(|team| team["generation"]["number"] = 7.into()).is_empty());
}

#[test]
fn a_lowered_cap_says_what_it_does_and_a_raised_one_needs_no_words() {
    assert_eq!(
        words(|team| team["roles"]["w"]["max_busy"] = 3.into()),
        ["role 'w': max_busy 6 → 3; what is busy goes on, and nothing more starts before fewer than 3 are"]
    );
    assert_eq!(words(|team| team["roles"]["w"]["max_busy"] = 9.into()), ["role 'w': max_busy 6 → 9"]);
}

#[test]
fn another_first_profile_says_what_goes_and_what_comes() {
    let mut old = team(|_| ());
    old.roles.get_mut(&"w".into()).expect("there").profiles = vec!["p".into(), "q".into()];
    let mut new = old.clone();
    new.roles.get_mut(&"w".into()).expect("there").profiles = vec!["q".into(), "p".into()];
    let said = &between(&old, &new)[0].words;
    assert!(said.ends_with("finishes what it has and goes, and the next ones are of 'q'"), "{said}");
}

#[test]
fn shapes_are_told() {
    let mut new = team(|_| ());
    new.shapes.insert("find".into(), json!({"type": "object"}));
    assert_eq!(between(&team(|_| ()), &new)[0].words, "shape 'find' is new");
    assert!(between(&new, &team(|_| ()))[0].words.starts_with("shape 'find' is removed"));
    let mut other = new.clone();
    other.shapes.insert("find".into(), json!({"type": "string"}));
    let said = &between(&new, &other)[0].words;
    assert_eq!(said, "shape 'find': type \"object\" → \"string\"; it counts for what is sent from then on");
}

#[test]
fn what_is_new_or_gone_says_what_becomes_of_what_runs() {
    let none = Team { generation: team(|_| ()).generation, ..Team::default() };
    let said = |changes: Vec<Change>| changes.into_iter().map(|change| change.words).collect::<Vec<_>>();
    assert_eq!(
        said(between(&team(|_| ()), &none)),
        [
            "profile 'p' is removed: its workers finish what they have and go",
            "role 'w' is removed: its workers finish what they have and go, and nothing can be sent to it any more",
            "rubric 'one' is removed",
            "rubric 'two' is removed",
            "rubric 'three' is removed",
            "recipe 'r' is removed: its runs go on with the files they began with",
            "nothing handles run_ended any more",
        ]
    );
    let new = said(between(&none, &team(|_| ())));
    assert_eq!(new[..3], ["profile 'p' is new", "role 'w' is new", "rubric 'one' is new: it is asked as number 1"]);
    assert_eq!(new.last().map(String::as_str), Some("run_ended is handled from then on"));
}

#[test]
fn fields_are_shown_as_authors_write_them_and_no_value_of_a_variable_is() {
    let changed = words(|team| {
        let profile = &mut team["profiles"]["p"];
        profile["timeout"] = "90000ms".into();
        profile["command"] = json!(["cat", "-u"]);
        profile["env"] = json!({"KEY": "other", "NEW": "x"});
        profile["model"] = "m".into();
    });
    let [words] = &changed[..] else { panic!("{changed:?}") };
    for part in ["command { \"cat\" } → { \"cat\", \"-u\" }", "timeout 30s → 1m30s", "model nothing → \"m\""] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(words.contains("env differs in KEY, NEW") && !words.contains("secret"), "{words}");
    assert!(words.ends_with("; it counts for workers that start from then on"), "{words}");
}

#[test]
fn hours_are_told_as_they_are_written() {
    let hours = |windows: Value, closes: bool| json!({"windows": windows, "closes": closes, "clock": {"zone": "UTC", "offset": 0, "changes": []}});
    let all = json!(Days::ALL);
    let night = hours(json!([{"between": {"from": 1320, "to": 360}, "days": all, "max_busy": null}]), true);
    let changed = words(|team| {
        team["roles"]["w"]["hours"] = night;
        team["roles"]["w"]["max_workers"] = 9.into();
    });
    let [said] = &changed[..] else { panic!("{changed:?}") };
    for part in ["between nothing → 22:00-06:00 UTC", "max_workers nothing → 9"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let weekend = json!(Days::parse("sat-sun").expect("days"));
    let caps = hours(
        json!([{"between": {"from": 1320, "to": 360}, "days": all, "max_busy": 12}, {"between": null, "days": weekend, "max_busy": 0}]),
        false,
    );
    assert_eq!(
        words(|team| {
            team["roles"]["w"]["max_busy"] = 0.into();
            team["roles"]["w"]["hours"] = caps;
        }),
        [
            "role 'w': max_busy 6 → 0, hours nothing → 22:00-06:00: 12, sat-sun: 0 UTC; it counts for what is handed out from then on, and what is busy goes on"
        ]
    );
}

#[test]
fn the_input_of_a_recipe_is_told_by_its_fields() {
    let changed = words(|team| team["recipes"]["r"]["input"]["properties"]["b"] = json!({"type": "integer"}));
    assert_eq!(changed, ["recipe 'r': input differs in b; its runs go on as they began"]);
}
