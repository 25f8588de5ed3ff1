//! The dialect of `POST /v1/messages`: what stands in a request, and what a step comes to on the wire, streamed or
//! whole. Nothing is sent here, and no time passes.

use serde_json::{Map, Value, json};

use crate::acts::Act;
use crate::conversation::Asked;
use crate::script::{Part, Step, Usage};

/// The path that asks for an answer.
pub const PATH: &str = "/v1/messages";
/// The path that asks how many tokens a request has.
pub const COUNT_PATH: &str = "/v1/messages/count_tokens";

/// How an agent asks for the summary of a conversation, which is no prompt of anybody.
const ASKS_FOR_A_SUMMARY: &str = "detailed summary of the conversation";

/// Returns what a request asks, in the conversation of this session and agent.
pub fn asked(conversation: String, body: &Value) -> Asked {
    let mut asked = Asked { conversation, ..Asked::default() };
    for message in messages(body).filter(|message| message["role"] != "assistant") {
        asked.told.extend(texts(&message["content"]).map(str::to_owned));
        let results: Vec<String> =
            blocks(&message["content"], "tool_result").map(|block| joined(&block["content"])).collect();
        if !results.is_empty() {
            asked.result = results.join("\n");
        }
    }
    if body["output_config"]["format"].is_object() {
        asked.beside = Some(r#"{"title":"Scripted"}"#.to_owned());
    } else if asked.told.last().is_some_and(|text| text.contains(ASKS_FOR_A_SUMMARY)) {
        asked.beside = Some("<summary>A summary by the scripted model.</summary>".to_owned());
    }
    asked
}

/// Returns all text of a request.
pub fn all_text(body: &Value) -> String {
    let mut parts: Vec<String> = texts(&body["system"]).map(str::to_owned).collect();
    for message in messages(body) {
        parts.extend(texts(&message["content"]).map(str::to_owned));
        parts.extend(blocks(&message["content"], "tool_result").map(|block| joined(&block["content"])));
    }
    parts.join("\n")
}

/// Returns the names of the tools that the model may call.
pub fn tools(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

/// Returns an error as this dialect writes it.
pub fn error(status: u16, text: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": text}})
}

/// Returns the answer as one message. `id` is unlike that of any other answer.
pub fn whole(step: &Step, asked_for: &str, id: &str) -> Value {
    let mut message = head(step, asked_for, id);
    message["content"] = step.parts.iter().enumerate().filter_map(|(n, part)| block(part, id, n)).collect();
    message["stop_reason"] = json!(stop_reason(step));
    message
}

/// Returns the answer as the events of a stream, with the waits between them.
pub fn stream(step: &Step, asked_for: &str, id: &str) -> Vec<Act> {
    let mut start = head(step, asked_for, id);
    // What is said is counted at the end.
    start["usage"]["output_tokens"] = json!(0);
    let mut acts = vec![event("message_start", json!({"message": start}))];
    let (mut index, mut pace) = (0, None);
    for (n, part) in step.parts.iter().enumerate() {
        match part {
            Part::Sleep(time) => acts.push(Act::Wait(*time)),
            Part::Pace(time) => pace = Some(*time),
            Part::Stall | Part::Hang => acts.push(Act::Stall),
            Part::Cut => acts.push(Act::Cut),
            Part::Error { status, text } => {
                acts.push(event("error", error(*status, text)));
                return acts;
            }
            _ => {}
        }
        let Some(block) = block(part, id, n) else { continue };
        acts.push(event("content_block_start", json!({"index": index, "content_block": begun(&block)})));
        for delta in deltas(&block) {
            acts.push(event("content_block_delta", json!({"index": index, "delta": delta})));
            acts.extend(pace.map(Act::Wait));
        }
        acts.push(event("content_block_stop", json!({"index": index})));
        index += 1;
    }
    let delta = json!({"stop_reason": stop_reason(step), "stop_sequence": null});
    acts.push(event("message_delta", json!({"delta": delta, "usage": usage(step)})));
    acts.push(event("message_stop", json!({})));
    acts
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body["messages"].as_array().into_iter().flatten()
}

fn blocks<'a>(content: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    content.as_array().into_iter().flatten().filter(move |block| block["type"] == kind)
}

/// The texts of a content, which is a string or blocks.
fn texts(content: &Value) -> impl Iterator<Item = &str> {
    content.as_str().into_iter().chain(blocks(content, "text").filter_map(|block| block["text"].as_str()))
}

fn joined(content: &Value) -> String {
    texts(content).collect::<Vec<_>>().join("\n")
}

fn head(step: &Step, asked_for: &str, id: &str) -> Value {
    let named =
        step.parts.iter().find_map(|part| if let Part::Model(name) = part { Some(name.as_str()) } else { None });
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": named.unwrap_or(asked_for),
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(step),
    })
}

fn usage(step: &Step) -> Value {
    let given = step.parts.iter().find_map(|part| if let Part::Usage(usage) = part { Some(*usage) } else { None });
    let Usage { input, output, cache_read, cache_write } = given.unwrap_or_default();
    json!({
        "input_tokens": input, "output_tokens": output,
        "cache_creation_input_tokens": cache_write, "cache_read_input_tokens": cache_read,
    })
}

fn stop_reason(step: &Step) -> &str {
    let given =
        step.parts.iter().find_map(|part| if let Part::Stop(reason) = part { Some(reason.as_str()) } else { None });
    let calls = step.parts.iter().any(|part| matches!(part, Part::Tool { .. }));
    given.unwrap_or(if calls { "tool_use" } else { "end_turn" })
}

/// The content block that a part comes to; most come to none.
fn block(part: &Part, id: &str, n: usize) -> Option<Value> {
    match part {
        Part::Say(text) => Some(json!({"type": "text", "text": text})),
        Part::Think(text) => Some(json!({"type": "thinking", "thinking": text, "signature": "scripted"})),
        Part::Tool { name, input } => {
            Some(json!({"type": "tool_use", "id": format!("toolu_{id}_{n}"), "name": name, "input": input}))
        }
        _ => None,
    }
}

/// A block as it stands before its deltas.
fn begun(block: &Value) -> Value {
    let mut begun = block.clone();
    for field in ["text", "thinking", "signature"] {
        if begun[field].is_string() {
            begun[field] = json!("");
        }
    }
    if begun["input"].is_object() {
        begun["input"] = json!(Map::new());
    }
    begun
}

fn deltas(block: &Value) -> Vec<Value> {
    let words = |field: &str| block[field].as_str().unwrap_or_default().split_inclusive(' ');
    match block["type"].as_str() {
        Some("text") => words("text").map(|word| json!({"type": "text_delta", "text": word})).collect(),
        Some("thinking") => {
            let said = words("thinking").map(|word| json!({"type": "thinking_delta", "thinking": word}));
            said.chain([json!({"type": "signature_delta", "signature": block["signature"]})]).collect()
        }
        _ => vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})],
    }
}

fn event(name: &str, fields: Value) -> Act {
    let mut data = json!({"type": name});
    if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
        data.extend(fields);
    }
    Act::Send(format!("event: {name}\ndata: {data}\n\n"))
}
