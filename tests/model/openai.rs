//! The dialect of `POST /v1/chat/completions`: what stands in a request, and what a step comes to on the wire, streamed or
//! whole. Nothing is sent here, and no time passes.

use serde_json::{Map, Value, json};

use crate::acts::Act;
use crate::conversation::Asked;
use crate::script::{Part, Step, Usage};

/// The path that asks for an answer.
pub const PATH: &str = "/v1/chat/completions";

/// The reason at the end that stands for none at all: some endpoints leave it out.
const NO_REASON: &str = "none";

/// How agents ask for the summary of a conversation, which is no prompt of anybody.
const ASKS_FOR_A_SUMMARY: [&str; 3] =
    ["summary of the conversation", "continuing our conversation", "anchored summary"];

/// Returns what a request asks, in the conversation of this session.
pub fn asked(conversation: String, body: &Value) -> Asked {
    let mut asked = Asked { conversation, ..Asked::default() };
    let mut results = Vec::new();
    for message in messages(body) {
        match message["role"].as_str() {
            Some("user") => {
                asked.told.extend(texts(&message["content"]).map(str::to_owned));
                results.clear();
            }
            // Those of one step stand in a row.
            Some("tool") => results.extend(texts(&message["content"]).map(str::to_owned)),
            Some("assistant") => results.clear(),
            _ => {}
        }
        if !results.is_empty() {
            asked.result = results.join("\n");
        }
    }
    let last = asked.told.last();
    if last.is_some_and(|text| ASKS_FOR_A_SUMMARY.iter().any(|words| text.contains(words))) {
        asked.beside = Some("A summary by the scripted model.".to_owned());
    }
    asked
}

/// Returns all text of a request.
pub fn all_text(body: &Value) -> String {
    messages(body).flat_map(|message| texts(&message["content"])).collect::<Vec<_>>().join("\n")
}

/// Returns the names of the tools that the model may call.
pub fn tools(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

/// Returns an error as this dialect writes it.
pub fn error(status: u16, text: &str) -> Value {
    let kind = if status < 500 { "invalid_request_error" } else { "server_error" };
    json!({"error": {"message": text, "type": kind, "param": null, "code": status.to_string()}})
}

/// Returns the answer as one piece. `id` is unlike that of any other answer.
pub fn whole(step: &Step, asked_for: &str, id: &str) -> Value {
    let said: Vec<&str> = step
        .parts
        .iter()
        .filter_map(|part| if let Part::Say(text) = part { Some(text.as_str()) } else { None })
        .collect();
    let calls: Vec<Value> = step.parts.iter().enumerate().filter_map(|(n, part)| call(part, id, n)).collect();
    let mut message = json!({"role": "assistant", "content": said.join("")});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut answer = head(step, asked_for, id, "chat.completion");
    answer["choices"] = json!([{"index": 0, "message": message, "finish_reason": reason(step)}]);
    answer["usage"] = usage(step);
    answer
}

/// Returns the answer as the events of a stream, with the waits between them.
pub fn stream(step: &Step, asked_for: &str, id: &str) -> Vec<Act> {
    let chunk = |delta: Value, reason: Value| {
        let mut chunk = head(step, asked_for, id, "chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        event(&chunk)
    };
    let mut acts = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let (mut index, mut pace) = (0, None);
    for (n, part) in step.parts.iter().enumerate() {
        match part {
            Part::Sleep(time) => acts.push(Act::Wait(*time)),
            Part::Pace(time) => pace = Some(*time),
            Part::Stall | Part::Hang => acts.push(Act::Stall),
            Part::Cut => acts.push(Act::Cut),
            Part::Error { status, text } => {
                acts.push(event(&error(*status, text)));
                return acts;
            }
            Part::Say(text) | Part::Think(text) => {
                let field = if matches!(part, Part::Say(_)) { "content" } else { "reasoning_content" };
                for word in text.split_inclusive(' ') {
                    acts.push(chunk(Value::Object(Map::from_iter([(field.to_owned(), json!(word))])), Value::Null));
                    acts.extend(pace.map(Act::Wait));
                }
            }
            _ => {}
        }
        if let Some(mut call) = call(part, id, n) {
            call["index"] = json!(index);
            index += 1;
            acts.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        }
    }
    if !reason(step).is_null() {
        acts.push(chunk(json!({}), reason(step)));
    }
    let mut last = head(step, asked_for, id, "chat.completion.chunk");
    (last["choices"], last["usage"]) = (json!([]), usage(step));
    acts.extend([event(&last), Act::Send("data: [DONE]\n\n".to_owned())]);
    acts
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body["messages"].as_array().into_iter().flatten()
}

/// The texts of a content, which is a string or pieces.
fn texts(content: &Value) -> impl Iterator<Item = &str> {
    let pieces = content.as_array().into_iter().flatten().filter_map(|piece| piece["text"].as_str());
    content.as_str().into_iter().chain(pieces)
}

fn head(step: &Step, asked_for: &str, id: &str, object: &str) -> Value {
    let named =
        step.parts.iter().find_map(|part| if let Part::Model(name) = part { Some(name.as_str()) } else { None });
    json!({"id": format!("chatcmpl-{id}"), "object": object, "created": 1, "model": named.unwrap_or(asked_for)})
}

/// What is read from a cache is a part of the prompt here.
fn usage(step: &Step) -> Value {
    let given = step.parts.iter().find_map(|part| if let Part::Usage(usage) = part { Some(*usage) } else { None });
    let Usage { input, output, cache_read, cache_write } = given.unwrap_or_default();
    let prompt = input + cache_read + cache_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": cache_read},
    })
}

fn reason(step: &Step) -> Value {
    let given =
        step.parts.iter().find_map(|part| if let Part::Stop(reason) = part { Some(reason.as_str()) } else { None });
    let calls = step.parts.iter().any(|part| matches!(part, Part::Tool { .. }));
    match given {
        Some(NO_REASON) => Value::Null,
        Some(given) => json!(given),
        None => json!(if calls { "tool_calls" } else { "stop" }),
    }
}

fn call(part: &Part, id: &str, n: usize) -> Option<Value> {
    let Part::Tool { name, input } = part else { return None };
    let arguments = Value::Object(input.clone()).to_string();
    Some(
        json!({"id": format!("call_{id}_{n}"), "type": "function", "function": {"name": name, "arguments": arguments}}),
    )
}

fn event(value: &Value) -> Act {
    Act::Send(format!("data: {value}\n\n"))
}
