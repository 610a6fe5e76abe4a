//! Anthropic's Messages: how a request is read, and how an answer is written.

use serde_json::{Value, json};

use super::dialect::{Asked, History, Reply, named_event, pieces, texts};
use super::scenario::{Call, Turn};

pub(super) fn asked(body: &Value) -> Asked {
    let mut history = History::default();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "assistant" {
            history.answers += 1;
        } else {
            texts(&message["content"], "text").for_each(|text| history.hear(text));
        }
    }
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        is_streamed: body["stream"] == true,
        history,
    }
}

pub(super) fn document(reply: &Reply<'_>) -> Value {
    let content: Vec<Value> = blocks(reply);
    json!({
        "id": format!("msg_{:08}", reply.number), "type": "message", "role": "assistant", "model": reply.model,
        "content": content, "stop_reason": stop_reason(reply.turn), "stop_sequence": null,
        "usage": usage(reply.turn, reply.turn.usage.output),
    })
}

pub(super) fn events(reply: &Reply<'_>) -> Vec<String> {
    let mut message = document(reply);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"] = usage(reply.turn, 1);
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        events.extend(block_events(index, block));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(reply.turn), "stop_sequence": null },
        "usage": { "output_tokens": reply.turn.usage.output },
    }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(named_event).collect()
}

fn block_events(index: usize, mut block: Value) -> Vec<Value> {
    let delta =
        |delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let deltas: Vec<Value> = if block["type"] == "text" {
        let text = block["text"].take();
        block["text"] = json!("");
        let text_delta = |piece| delta(json!({ "type": "text_delta", "text": piece }));
        pieces(text.as_str().unwrap_or_default()).map(text_delta).collect()
    } else {
        let input = block["input"].take().to_string();
        block["input"] = json!({});
        let json_delta =
            |piece| delta(json!({ "type": "input_json_delta", "partial_json": piece }));
        pieces(&input).map(json_delta).collect()
    };
    let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
    let stop = json!({ "type": "content_block_stop", "index": index });
    std::iter::once(start).chain(deltas).chain([stop]).collect()
}

fn blocks(reply: &Reply<'_>) -> Vec<Value> {
    let said =
        (!reply.turn.say.is_empty()).then(|| json!({ "type": "text", "text": reply.turn.say }));
    let calls = reply.turn.calls.iter().enumerate().map(|(index, call)| {
        let (name, input) = tool(call);
        let id = format!("toolu_{:08}_{index}", reply.number);
        json!({ "type": "tool_use", "id": id, "name": name, "input": input })
    });
    said.into_iter().chain(calls).collect()
}

/// The tool of Claude Code that does it.
fn tool(call: &Call) -> (&str, Value) {
    match call {
        Call::Write { path, content } => {
            ("Write", json!({ "file_path": path, "content": content }))
        }
        Call::Run(command) => {
            ("Bash", json!({ "command": command, "description": "What the scenario says" }))
        }
        Call::Tool { name, arguments } => (name, arguments.clone()),
    }
}

fn stop_reason(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() { "end_turn" } else { "tool_use" }
}

/// What was read from a cache is not counted as input here.
fn usage(turn: &Turn, output: u64) -> Value {
    json!({
        "input_tokens": turn.usage.input.saturating_sub(turn.usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": turn.usage.cached,
        "output_tokens": output,
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
