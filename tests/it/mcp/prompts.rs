//! The charter's recipes as prompts, and telling clients that their lists have changed.
//! What a recipe does is the charter's, and tested there.

use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::{TEAM, house, house_at_a_port, local};

fn names(client: &Client) -> Vec<String> {
    let listed = client.ask("prompts/list", json!({}));
    let prompts = listed["result"]["prompts"].as_array().unwrap_or_else(|| panic!("no prompts: {listed}"));
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_recipe_is_a_prompt_with_its_jobs_fields_as_arguments() {
    let house = house();
    let daemon = house.start();
    for client in [Client::new(local(&daemon)), Client::stateless(local(&daemon))] {
        let listed = client.ask("prompts/list", json!({}))["result"]["prompts"].clone();
        let prompt = &listed[0];
        assert_eq!((&prompt["name"], &prompt["description"]), (&json!("shout"), &json!("Says a word in capitals.")));
        let arguments = prompt["arguments"].as_array().unwrap().iter();
        let arguments: Vec<_> = arguments.map(|one| (one["name"].as_str().unwrap(), one["required"].clone())).collect();
        assert!(arguments.contains(&("word", json!(true))), "{prompt}");
        assert!(arguments.contains(&("times", json!(false))), "{prompt}");

        let given = json!({ "name": "shout", "arguments": { "word": "hello", "times": "3" } });
        let got = client.ask("prompts/get", given);
        let message = &got["result"]["messages"][0];
        let text = message["content"]["text"].as_str().unwrap_or_else(|| panic!("{got}"));
        assert_eq!(message["role"], "user");
        assert!(text.contains(r#"{"word":"hello","times":3}"#) && text.contains("fleet_run"), "{text}");
        let got = client.ask("prompts/get", json!({ "name": "shout" }));
        assert!(
            got["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("still needs word"),
            "{got}"
        );
    }
}

/// A client can only give texts; what they mean, the recipe's fields say.
#[test]
fn an_argument_is_read_as_its_field_wants_it() {
    let house = house();
    let input =
        r#"{ issue = "string", parts = "string[]?", most = "integer?", whole = "boolean?", tags = "integer[]?" }"#;
    let recipe = format!("{TEAM}\nfleet.recipe('typed', {{ input = {input} }}, function() end)\n");
    house.write("team.lua", &recipe);
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let said = |arguments: Value| {
        let got = client.ask("prompts/get", json!({ "name": "typed", "arguments": arguments }));
        got["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_else(|| panic!("{got}")).to_owned()
    };
    for (given, wanted) in [
        (json!({ "issue": "4711" }), r#"{"issue":"4711"}"#),
        (json!({ "issue": "true" }), r#"{"issue":"true"}"#),
        (json!({ "issue": "null" }), r#"{"issue":"null"}"#),
        (json!({ "issue": "1e3" }), r#"{"issue":"1e3"}"#),
        (json!({ "issue": "x", "parts": "src/a.rs" }), r#"{"issue":"x","parts":["src/a.rs"]}"#),
        (json!({ "issue": "x", "parts": "7" }), r#"{"issue":"x","parts":["7"]}"#),
        (json!({ "issue": "x", "parts": "[\"a\",\"b\"]" }), r#"{"issue":"x","parts":["a","b"]}"#),
        (json!({ "issue": "x", "most": "7", "whole": "false" }), r#"{"issue":"x","most":7,"whole":false}"#),
        (json!({ "issue": "x", "tags": "[1,2]" }), r#"{"issue":"x","tags":[1,2]}"#),
    ] {
        let text = said(given.clone());
        assert!(text.contains(&format!("job {wanted}.")) && !text.contains("not taken"), "{given}: {text}");
    }
    let text = said(json!({ "issue": "x", "most": "seven" }));
    assert!(text.contains("It is not taken so:") && text.contains("'most'"), "{text}");
}

#[test]
fn a_wrong_prompt_or_argument_is_refused_by_name() {
    let house = house();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    for (params, wanted) in [
        (json!({ "name": "shuot" }), "there is no prompt 'shuot'"),
        (json!({ "name": "shuot" }), "did you mean 'shout'?"),
        (json!({ "name": "shout", "arguments": { "wrod": "x" } }), "there is no argument 'wrod'"),
        (json!({ "name": "shout", "arguments": { "wrod": "x" } }), "did you mean 'word'?"),
    ] {
        let error = &client.ask("prompts/get", params.clone())["error"];
        assert_eq!(error["code"], -32602, "{params}: {error}");
        assert!(error["message"].as_str().unwrap().contains(wanted), "{params}: {error}");
    }
}

#[test]
fn who_may_run_nothing_has_no_prompts() {
    let house = house();
    let daemon = house.start();
    let leader = Client::other(local(&daemon));
    let second = Client::new(local(&daemon));
    assert_eq!((names(&leader).len(), names(&second).len()), (1, 1), "the seat is free");
    leader.good("fleet_list", json!({}));
    assert_eq!((names(&leader).len(), names(&second).len()), (1, 0));
    let error = &second.ask("prompts/get", json!({ "name": "shout" }))["error"];
    assert_eq!(error["code"], -32602, "{error}");
}

/// The team with one recipe more.
fn whispering() -> String {
    format!("{TEAM}\nfleet.recipe(\"whisper\", {{}}, function() end)\n")
}

/// Reads on until both lists were said to have changed.
fn both_changed(listening: &mut Answer) {
    let mut changed = std::collections::BTreeSet::new();
    while changed.len() < 2 {
        let said = listening.message().expect("the stream goes on").message;
        changed.extend(said["method"].as_str().filter(|method| method.ends_with("list_changed")).map(String::from));
    }
    assert!(changed.contains("notifications/tools/list_changed"), "{changed:?}");
    assert!(changed.contains("notifications/prompts/list_changed"), "{changed:?}");
}

#[test]
fn who_listens_is_told_when_the_charter_or_the_seat_changes() {
    let house = house();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    let mut listening = client.listen(None);
    both_changed(&mut listening);
    let stateless = Client::stateless(local(&daemon));
    let wanted: Value = json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let mut subscribed = stateless.start("subscriptions/listen", wanted).fine();
    subscribed.message().unwrap();

    house.write("team.lua", &whispering());
    assert_eq!(daemon.post("/v1/charter/reload", &json!({})).0, 200);
    both_changed(&mut listening);
    both_changed(&mut subscribed);
    assert_eq!(names(&client), ["shout", "whisper"]);

    let leader = Client::other(local(&daemon));
    leader.good("fleet_list", json!({}));
    both_changed(&mut listening);
    both_changed(&mut subscribed);
    assert_eq!(client.menu(), ["fleet_whoami"]);
    drop(leader);
    both_changed(&mut listening);
    assert_eq!(client.menu().len(), 15);
}

#[test]
fn who_listens_again_looks_anew_at_what_changed_while_the_daemon_was_away() {
    let house = house_at_a_port();
    let daemon = house.start();
    let client = Client::new(local(&daemon));
    both_changed(&mut client.listen(None));
    daemon.kill();
    house.write("team.lua", &whispering());
    let _daemon = house.start();
    both_changed(&mut client.listen(None));
    assert_eq!(names(&client), ["shout", "whisper"]);
}
