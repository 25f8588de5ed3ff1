//! Answers that go well: whole and streamed, by the steps of a turn, one conversation apart from the other.
//! What goes wrong is in `trouble.rs`.

use fleetd_model::Model;
use serde_json::{Value, json};

use super::client::{Talk, said};

#[test]
fn each_request_of_a_turn_takes_the_next_step_and_a_new_prompt_begins_anew() {
    let model = Model::start().unwrap();
    let mut talk = Talk::new(&model, "a");
    let called = talk.say("[fleet turn t1]\nTOOL:mcp__fleet__ask:{\"text\":\"colour?\"}\nSAY:it is {{result}}\n-- end");
    assert_eq!(called.1["stop_reason"], "tool_use");
    assert_eq!(called.1["content"][0]["name"], "mcp__fleet__ask");
    assert_eq!(called.1["content"][0]["input"], json!({"text": "colour?"}));
    let answer = talk.give("blue");
    assert_eq!((said(&answer), &answer.1["stop_reason"]), ("it is blue", &json!("end_turn")));
    assert_eq!(said(&talk.ask()), "The script is over.");
    assert_eq!(said(&talk.say("[fleet turn t2]\nSAY:next")), "next");
    assert_eq!(said(&talk.say("[fleet turn t3]\nSAY:next")), "next");
    assert_eq!(said(&Talk::new(&model, "b").say("hello")), "There is no script in the prompt.");
}

#[test]
fn words_that_an_agent_adds_do_not_hide_the_script() {
    let model = Model::start().unwrap();
    let mut talk = Talk::new(&model, "a");
    talk.say("SAY:part && STOP:max_tokens\nSAY:rest");
    assert_eq!(said(&talk.say("Output token limit hit. Go on.")), "rest");
    talk.messages.push(json!({"role": "system", "content": "SAY:slipped in\nby somebody"}));
    assert_eq!(said(&talk.ask()), "slipped in");
}

#[test]
fn conversations_with_the_same_words_are_apart() {
    let model = Model::start().unwrap();
    let (mut one, mut two) = (Talk::new(&model, "one"), Talk::new(&model, "two"));
    for step in ["first", "second"] {
        assert_eq!(said(&one.say("SAY:first\nSAY:second")), "first", "{step}: a prompt said again is a new one");
        assert_eq!(said(&one.ask()), "second");
    }
    assert_eq!(said(&two.say("SAY:first\nSAY:second")), "first");
}

#[test]
fn titles_and_summaries_take_no_step() {
    let model = Model::start().unwrap();
    let mut talk = Talk::new(&model, "a");
    talk.say("SAY:one\nSAY:two");
    let summary = talk.say("Your task is to create a detailed summary of the conversation so far.");
    assert!(said(&summary).starts_with("<summary>"), "{summary:?}");
    let mut talk = Talk::new(&model, "a");
    talk.messages.push(json!({"role": "user", "content": "SAY:one\nSAY:two"}));
    assert_eq!(said(&talk.ask()), "two");
}

#[test]
fn a_stream_says_the_same_in_pieces() {
    let model = Model::start().unwrap();
    let prompt =
        "THINK:hm && SAY:two words && TOOL:A:{\"x\":1} && TOOL:B:{} && USAGE:in=3,out=4,cache_read=5 && MODEL:other";
    let events = Talk::new(&model, "a").stream(prompt);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        (names[0], names[names.len() - 2], names[names.len() - 1]),
        ("message_start", "message_delta", "message_stop")
    );
    assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
    let start = &events[0].1["message"];
    assert_eq!((&start["model"], &start["usage"]["cache_read_input_tokens"]), (&json!("other"), &json!(5)));
    let blocks: Vec<&Value> = of(&events, "content_block_start").map(|data| &data["content_block"]["type"]).collect();
    assert_eq!(blocks, ["thinking", "text", "tool_use", "tool_use"]);
    let indexes: Vec<&Value> = of(&events, "content_block_stop").map(|data| &data["index"]).collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
    let text: String = of(&events, "content_block_delta").filter_map(|data| data["delta"]["text"].as_str()).collect();
    assert_eq!(text, "two words");
    let inputs = of(&events, "content_block_delta").filter_map(|data| data["delta"]["partial_json"].as_str());
    assert_eq!(inputs.collect::<Vec<_>>(), ["{\"x\":1}", "{}"]);
    let end = &events[events.len() - 2].1;
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&json!("tool_use"), &json!(4)));
}

#[test]
fn an_empty_answer_is_whole() {
    let model = Model::start().unwrap();
    let events = Talk::new(&model, "a").stream("EMPTY");
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["message_start", "message_delta", "message_stop"]);
}

#[test]
fn no_two_answers_have_the_same_ids() {
    let model = Model::start().unwrap();
    let mut talk = Talk::new(&model, "a");
    let (one, two) = (talk.say("TIMES:2 && TOOL:A:{} && TOOL:A:{}"), talk.give("x"));
    let mut ids = Vec::new();
    for answer in [&one.1, &two.1] {
        ids.extend([&answer["id"], &answer["content"][0]["id"], &answer["content"][1]["id"]].map(Value::to_string));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "{ids:?}");
}

fn of<'a>(events: &'a [(String, Value)], name: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |(of, _)| of == name).map(|(_, data)| data)
}
